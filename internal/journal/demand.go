package journal

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
	"example.com/till/pkg/payout/order"
)

// A Demand is how many persons must approve what is sent for an account. The journal remembers the strictest
// one that any profile has demanded, until a person ends it.
type Demand struct {
	Persons int64
	// Above has the totals, by unit in lower case, up to which no approval is needed. In other units, everything
	// must be approved.
	Above     map[api.Currency]int64
	Approvers string // path of the file of those who may approve; empty: any file
	Digest    string // of its content
	At        time.Time
	User      string
	Host      string
	Reason    string // why a person has set it; empty: a profile demands it
	Number    int64  // of its record; 0: there is none
}

// Need returns how many persons must approve a send with these totals, which are by unit.
func (d Demand) Need(totals map[api.Currency]api.Sum) int64 {
	for unit, minor := range totals {
		if most, found := d.Above[LowerCase(unit)]; !found || minor.Compare(api.SumOf(most)) > 0 {
			return d.Persons
		}
	}
	return 0
}

// with returns the demand that is as strict as both. The file of the approvers may change if it stays in its
// place, which only its administrator can write, and a file in another place counts if it has the same
// content. Nothing can be sent with other approvers. So they change nothing, or anybody could stop all
// payments.
func (d Demand) with(now Demand) Demand {
	others := d.Approvers != "" && now.Approvers != "" && d.Approvers != now.Approvers && d.Digest != now.Digest
	switch {
	case now.Persons == 0 || others:
		return d
	case d.Persons == 0:
		return now
	}
	both := Demand{Persons: max(d.Persons, now.Persons), Above: map[api.Currency]int64{}, Approvers: d.Approvers,
		Digest: d.Digest}
	for unit, minor := range d.Above {
		if other, found := now.Above[unit]; found {
			both.Above[unit] = min(minor, other)
		}
	}
	if d.Approvers == "" || d.Approvers == now.Approvers {
		both.Approvers, both.Digest = now.Approvers, now.Digest
	}
	return both
}

func (d Demand) equal(o Demand) bool {
	return d.Persons == o.Persons && d.Approvers == o.Approvers && d.Digest == o.Digest && maps.Equal(d.Above, o.Above)
}

const demands = `SELECT id, persons, above, approvers, approvers_digest, at, user_name, host, reason FROM demands WHERE account = ?1 ORDER BY id`

func demandFields(d *Demand) []any {
	return []any{&d.Number, &d.Persons, aboveColumn(&d.Above), &d.Approvers, &d.Digest, stamped(&d.At), &d.User, &d.Host, &d.Reason}
}

// aboveColumn is the destination of a column with totals by unit, as JSON.
func aboveColumn(above *map[api.Currency]int64) column {
	return func(value any) error {
		var text []byte
		var totals map[string]int64
		err := orZero(&text)(value)
		if err == nil {
			err = json.Unmarshal(text, &totals)
		}
		*above = make(map[api.Currency]int64, len(totals))
		for unit, minor := range totals {
			(*above)[unitOf(unit)] = minor
		}
		return err
	}
}

// demand returns the demand in force.
func (t *tx) demand(account int64) (d Demand) {
	for d := range each(t, demandFields, demands+` DESC LIMIT 1`, account) {
		return d
	}
	return d
}

func (t *tx) addDemand(a *lockedAccount, d Demand) {
	totals := make(map[string]int64, len(d.Above))
	for unit, minor := range d.Above {
		totals[order.UnitText(unit)] = minor
	}
	above, err := json.Marshal(totals)
	t.fail(err)
	a.demand = one[int64](t, `INSERT INTO demands (account, persons, above, approvers, approvers_digest, at, user_name, host, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id`,
		a.id, d.Persons, string(above), d.Approvers, d.Digest, t.now, t.j.options.User, t.j.options.Host, d.Reason)
	t.exec(`UPDATE accounts SET demand = ?1 WHERE id = ?2`, a.demand, a.id)
}

// Demand records what a profile demands, if that is stricter than what the journal remembers of the account,
// and returns what it remembers then.
func (l *Ledger) Demand(ctx context.Context, now Demand) (Demand, error) {
	remembered, err := l.remembered(ctx)
	if err != nil || remembered.with(now).equal(remembered) {
		return remembered, err
	}
	return l.changeDemand(ctx, func(old Demand) Demand { return old.with(now) })
}

// Remembered returns what Demand would return, and records nothing: its number is that of the demand in force.
func (l *Ledger) Remembered(ctx context.Context, now Demand) (Demand, error) {
	old, err := l.remembered(ctx)
	both := old.with(now)
	both.Number = old.Number
	return both, err
}

func (l *Ledger) remembered(ctx context.Context) (Demand, error) {
	t := l.j.read(ctx)
	return t.demand(l.number(t)), t.err
}

// SetDemand records that a person has decided what the account demands.
func (l *Ledger) SetDemand(ctx context.Context, d Demand) error {
	if d.Reason = keepable(d.Reason); d.Reason == "" {
		return errors.New("a decision about approvals needs a reason")
	}
	_, err := l.changeDemand(ctx, func(Demand) Demand { return d })
	return err
}

// changeDemand records a change of the demand, and returns what the account demands then.
func (l *Ledger) changeDemand(ctx context.Context, change func(Demand) Demand) (now Demand, err error) {
	err = l.change(ctx, func(t *tx, a *lockedAccount) error {
		old := t.demand(a.id)
		now = change(old)
		if now.Number == 0 && (now.Reason != "" || !now.equal(old)) { // a decision is recorded even if it changes nothing
			t.addDemand(a, now)
		}
		now = t.demand(a.id)
		return nil
	})
	return now, err
}

// Demands returns everything that the account has demanded, the oldest first.
func (l *Ledger) Demands(ctx context.Context) ([]Demand, error) {
	return allOf(ctx, l, demandFields, demands)
}

// approve records the approvals of a run that are new, and returns the number of the consent that they make;
// 0 if no approval was needed.
func (t *tx) approve(run int64, r Run) (consent int64) {
	var ids []int64
	for _, a := range r.Approvals {
		t.exec(`INSERT INTO approvals (run_id, principal, public_key, fingerprint, signature, seen, user_name, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (run_id, fingerprint) DO NOTHING`, run, a.Principal, a.Key, a.Fingerprint, a.Signature, t.now,
			t.j.options.User, t.j.options.Host)
		ids = append(ids, one[int64](t, `SELECT id FROM approvals WHERE run_id = ?1 AND fingerprint = ?2`, run, a.Fingerprint))
	}
	if r.Required == 0 {
		return 0
	}
	slices.Sort(ids)
	return t.consent(run, r.Required, ids)
}

// consent returns the number of the run's last consent if that is the same, and otherwise of a new one. The
// numbers of the approvals are sorted.
func (t *tx) consent(run, required int64, approvals []int64) (number int64) {
	for last := range each(t, pair[int64], `SELECT id, required FROM consents WHERE run_id = ?1 ORDER BY id DESC LIMIT 1`, run) {
		if last[1] == required {
			number = last[0]
		}
	}
	if number != 0 && slices.Equal(approvals, all(t, only[int64], `SELECT approval FROM consent_approvals WHERE consent = ?1 ORDER BY approval`, number)) {
		return number
	}
	number = one[int64](t, `INSERT INTO consents (run_id, required) VALUES (?1, ?2) RETURNING id`, run, required)
	for _, id := range approvals {
		t.exec(`INSERT INTO consent_approvals (consent, approval) VALUES (?1, ?2)`, number, id)
	}
	return number
}

// Consents returns the consents of all runs of the account, the oldest first.
func (l *Ledger) Consents(ctx context.Context) (consents []approval.Consent, err error) {
	type row struct {
		approval.Consent
		approval approval.Approval
	}
	rows, err := allOf(ctx, l, func(r *row) []any {
		return append(approvalFields(&r.approval), &r.Number, &r.Required, &r.Run, &r.Digest)
	}, `SELECT `+approvalColumns+`, consents.id, required, runs.name, digest FROM consents JOIN runs ON runs.id = consents.run_id
		JOIN consent_approvals ON consent = consents.id JOIN approvals ON approvals.id = approval WHERE account = ?1 ORDER BY consents.id, approvals.id`)
	for _, r := range rows {
		if n := len(consents); n == 0 || consents[n-1].Number != r.Number {
			consents = append(consents, r.Consent)
		}
		last := &consents[len(consents)-1]
		last.Approvals = append(last.Approvals, r.approval)
	}
	return consents, err
}

const approvalColumns = `principal, public_key, fingerprint, signature, seen, approvals.user_name, approvals.host`

func approvalFields(a *approval.Approval) []any {
	return []any{&a.Principal, &a.Key, &a.Fingerprint, &a.Signature, stamped(&a.Seen), &a.User, &a.Host}
}

// Approvals returns the approvals of a run, in the order in which they were recorded.
func (l *Ledger) Approvals(ctx context.Context, run string) ([]approval.Approval, error) {
	return allOf(ctx, l, approvalFields, `SELECT `+approvalColumns+` FROM approvals JOIN runs ON runs.id = run_id
		WHERE account = ?1 AND name = ?2 ORDER BY approvals.id`, run)
}
