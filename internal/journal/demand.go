package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Demand is how many persons must approve what is sent for an account. The journal remembers the strictest
// one that any profile has demanded, until a person ends it.
type Demand struct {
	Persons int64
	// Above has the totals, by unit, up to which nobody must approve. In other units, everything must be
	// approved.
	Above     map[string]int64
	Approvers string // path of the file of those who may approve; empty: any file
	Digest    string // of its content
	At        time.Time
	User      string
	Host      string
	Reason    string // why a person has set it; empty: a profile demands it
	Number    int64  // of its record; 0: there is none
}

// Need returns how many persons must approve a send with these totals, which are by unit.
func (d Demand) Need(totals map[string]int64) int64 {
	for unit, minor := range totals {
		if most, found := d.Above[strings.ToLower(unit)]; !found || minor > most {
			return d.Persons
		}
	}
	return 0
}

// with returns the demand that is as strict as both. The file of the approvers may change if it stays in its
// place, which only its administrator can write, and a file in another place counts if it has the same content.
// Nothing can be sent with other approvers. So they change nothing, or anybody could stop all payments.
func (d Demand) with(now Demand) Demand {
	switch {
	case now.Persons == 0 || d.foreign(now):
		return d
	case d.Persons == 0:
		return now
	}
	both := d.strictest(now)
	if d.Approvers == "" || d.Approvers == now.Approvers {
		both.Approvers, both.Digest = now.Approvers, now.Digest
	}
	return both
}

// foreign reports whether two demands name different approvers.
func (d Demand) foreign(o Demand) bool {
	return d.Approvers != "" && o.Approvers != "" && d.Approvers != o.Approvers && d.Digest != o.Digest
}

// strictest returns the numbers that are as strict as both, with the approvers of d.
func (d Demand) strictest(o Demand) Demand {
	both := Demand{Persons: max(d.Persons, o.Persons), Above: map[string]int64{}, Approvers: d.Approvers,
		Digest: d.Digest}
	for unit, minor := range d.Above {
		if other, found := o.Above[unit]; found {
			both.Above[unit] = min(minor, other)
		}
	}
	return both
}

// joined returns the demand of an account that is one with another, with the approvers of d. If they named
// different approvers, no file is that of both, so nothing can be sent until a person decides.
func (d Demand) joined(o Demand) Demand {
	switch {
	case o.Persons == 0:
		return d
	case d.Persons == 0:
		return o
	}
	both := d.strictest(o)
	switch {
	case d.Approvers == "", o.contested():
		both.Approvers, both.Digest = o.Approvers, o.Digest
	case d.foreign(o) && !d.contested():
		both.Approvers, both.Digest = d.Approvers+" and "+o.Approvers, ""
	}
	return both
}

// contested reports whether a demand comes from two that named different approvers.
func (d Demand) contested() bool { return d.Approvers != "" && d.Digest == "" }

func (d Demand) equal(o Demand) bool {
	return d.Persons == o.Persons && d.Approvers == o.Approvers && d.Digest == o.Digest && maps.Equal(d.Above, o.Above)
}

const demandColumns = `id, persons, above, approvers, approvers_digest, at, user_name, host, reason`

func scanDemand(scan func(...any) error) (d Demand, err error) {
	var above, at string
	if err = scan(&d.Number, &d.Persons, &above, &d.Approvers, &d.Digest, &at, &d.User, &d.Host, &d.Reason); err != nil {
		return d, err
	}
	d.At = unstamp(at)
	return d, json.Unmarshal([]byte(above), &d.Above)
}

func demandOf(q querier, account int64) (Demand, error) {
	d, err := scanDemand(q.row(`SELECT `+demandColumns+` FROM demands WHERE account = ?1 ORDER BY id DESC LIMIT 1`,
		account).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Demand{}, nil
	}
	return d, err
}

func (t *tx) addDemand(account int64, d Demand) error {
	above, err := json.Marshal(d.Above)
	if err != nil {
		return err
	}
	err = t.row(`INSERT INTO demands (account, persons, above, approvers, approvers_digest, at, user_name, host, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id`,
		account, d.Persons, string(above), d.Approvers, d.Digest, t.now, t.j.options.User, t.j.options.Host, d.Reason).Scan(&d.Number)
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE accounts SET demand = ?1 WHERE id = ?2`, d.Number, account); err != nil {
		return err
	}
	if a, found := t.locked[account]; found { // a claim in the same commit must see it
		a.demand = d.Number
		t.locked[account] = a
	}
	return nil
}

// Demand records what a profile demands, if that is stricter than what the journal remembers of the account,
// and returns what it remembers then.
func (l *Ledger) Demand(ctx context.Context, now Demand) (remembered Demand, err error) {
	remembered, err = l.remembered(ctx)
	if err != nil || remembered.with(now).equal(remembered) {
		return remembered, err
	}
	return l.changeDemand(ctx, func(old Demand) Demand { return old.with(now) })
}

// Remembered returns what Demand would return, and records nothing.
func (l *Ledger) Remembered(ctx context.Context, now Demand) (Demand, error) {
	old, err := l.remembered(ctx)
	return old.with(now), err
}

func (l *Ledger) remembered(ctx context.Context) (Demand, error) {
	account, err := l.number(ctx)
	if err != nil {
		return Demand{}, err
	}
	d, err := demandOf(l.j.read(ctx), account)
	return d, l.j.failed(err)
}

// SetDemand records that a person has decided what the account demands. The decision is about the merchant, and
// so about each account of it.
func (l *Ledger) SetDemand(ctx context.Context, d Demand) error {
	if d.Reason = keepable(d.Reason); d.Reason == "" {
		return errors.New("a decision about approvals needs a reason")
	}
	_, err := l.changeDemand(ctx, func(Demand) Demand { return d })
	return err
}

// changeDemand records a change of the demand, and returns what the account demands then.
func (l *Ledger) changeDemand(ctx context.Context, change func(Demand) Demand) (now Demand, err error) {
	if err := l.Enter(ctx); err != nil {
		return Demand{}, err
	}
	err = l.j.write(ctx, func(t *tx) error {
		account, err := t.lock(l)
		if err != nil {
			return err
		}
		old, err := demandOf(t, account)
		if err != nil {
			return err
		}
		if now = change(old); now.Reason != "" {
			err = t.decideDemand(account, now)
		} else if !now.equal(old) {
			if err = t.addDemand(account, now); err == nil {
				err = t.shareDemands(account)
			}
		}
		if err == nil {
			now, err = demandOf(t, account)
		}
		return err
	})
	return now, err
}

// decideDemand records a person's decision for all accounts of the merchant.
func (t *tx) decideDemand(account int64, d Demand) error {
	others, err := t.sameMerchant(account)
	for _, id := range append(others, account) {
		if err == nil {
			err = t.addDemand(id, d)
		}
	}
	return err
}

// inheritDemand adds what an account has demanded to another one, which takes its name. Otherwise a new name
// would end a demand without a reason.
func (t *tx) inheritDemand(from, to int64) error {
	theirs, err := demandOf(t, from)
	if err != nil {
		return err
	}
	ours, err := demandOf(t, to)
	if err != nil || ours.joined(theirs).equal(ours) {
		return err
	}
	return t.addDemand(to, ours.joined(theirs))
}

// sameMerchant returns the other accounts that are known to be the same merchant's, also by way of a third one.
func (t *tx) sameMerchant(account int64) ([]int64, error) {
	all := []int64{account}
	for i := 0; i < len(all); i++ {
		more, err := t.alike(all[i])
		if err != nil {
			return nil, err
		}
		for _, id := range more {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all[1:], nil
}

// alike returns the other accounts of which the service has shown the same merchant at the same address, or with
// which a key of the account was used.
func (t *tx) alike(account int64) ([]int64, error) {
	return collect(t, func(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) },
		`SELECT other.id FROM accounts own JOIN accounts other ON other.id <> own.id WHERE own.id = ?1 AND (own.merchant <> '' AND other.merchant = own.merchant AND other.address = own.address
			OR EXISTS (SELECT 1 FROM keys mine JOIN keys theirs ON theirs.fingerprint = mine.fingerprint WHERE mine.account = own.id AND theirs.account = other.id)) ORDER BY other.id`, account)
}

// MayShareDemand reports whether another account at the same address demands something, and may be the same
// merchant's: the service has not shown yet whose this account is.
func (l *Ledger) MayShareDemand(ctx context.Context) (bool, error) {
	n := 0
	err := l.j.read(ctx).row(`SELECT count(*) FROM accounts other JOIN demands ON demands.id = other.demand
		WHERE other.address = ?1 AND other.name <> ?2 AND other.merchant <> '' AND persons > 0
			AND NOT EXISTS (SELECT 1 FROM accounts own WHERE own.address = ?1 AND own.name = ?2 AND own.merchant <> '')`,
		l.account.Address, l.account.Name).Scan(&n)
	return n > 0, l.j.failed(err)
}

// shareDemands makes all accounts of a merchant demand what any of them demands. At the service they are one, so
// another name or key must not end a demand.
func (t *tx) shareDemands(account int64) error {
	others, err := t.sameMerchant(account)
	for _, from := range others {
		if err == nil {
			err = t.inheritDemand(from, account)
		}
	}
	for _, to := range others {
		if err == nil {
			err = t.inheritDemand(account, to)
		}
	}
	return err
}

// leaveDemand makes an account in the place of one that was renamed, if that demanded approvals. Otherwise a
// profile that demands none could send under the old name.
func (t *tx) leaveDemand(renamed int64, old Account) error {
	d, err := demandOf(t, renamed)
	if err != nil || d.Persons == 0 {
		return err
	}
	var id int64
	if err := t.row(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, ?3) RETURNING id`, old.Address,
		old.Name, t.now).Scan(&id); err != nil {
		return err
	}
	return t.addDemand(id, d)
}

// Demands returns everything that the account has demanded, the oldest first.
func (l *Ledger) Demands(ctx context.Context) ([]Demand, error) {
	account, err := l.number(ctx)
	if err != nil || account == 0 {
		return nil, err
	}
	demands, err := collect(l.j.read(ctx), func(rows *sql.Rows) (Demand, error) { return scanDemand(rows.Scan) },
		`SELECT `+demandColumns+` FROM demands WHERE account = ?1 ORDER BY id`, account)
	return demands, l.j.failed(err)
}
