package journal

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// Versions of the schema that an older journal may have, named by what came with them.
const (
	withRuns         = 2
	withAttemptTable = 4
	withApprovals    = 6
	withDemandNumber = 7
	withConsents     = 8
)

// upgraded is an order of an older journal, and what it is after the journal was updated.
type upgraded struct {
	id, withdrawal string
	state          order.State
	sender         int64
	attempts       []order.Ending
	events         []string
	run            bool // whether it is a row of the run
}

func toUpgrade() []upgraded {
	return []upgraded{
		{"paid", "w1", order.Accepted, 0, []order.Ending{order.WasAccepted},
			[]string{eventPlanned, eventSending, eventAnswered}, true},
		{"open", "", order.Unknown, 0, []order.Ending{order.WasUncertain}, []string{eventSending, eventAnswered}, true},
		{"waits", "", order.Planned, 0, nil, []string{eventPlanned}, true},
		{"left", "", order.Planned, 0, []order.Ending{order.SaidNothing}, []string{eventSending, eventAnswered}, false},
		{"refused", "", order.Rejected, 0, []order.Ending{order.WasRejected}, []string{eventSending, eventAnswered}, false},
		{"died", "", order.Sending, 77, []order.Ending{order.UnderWay}, []string{eventSending}, false},
	}
}

func (u upgraded) content() order.Content {
	return order.Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", int64(100+len(u.id))),
		Address: "bc1q" + u.id, Memo: ""}
}

// insert inserts a row into a table of any version, and returns the row's number.
func insert(t *tx, table string, row map[string]any) (id int64) {
	columns := slices.Sorted(maps.Keys(row))
	var args []any
	var marks []string
	for i, c := range columns {
		args, marks = append(args, row[c]), append(marks, fmt.Sprintf("?%d", i+1))
	}
	query := fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, table, strings.Join(columns, ", "), strings.Join(marks, ", "))
	if slices.Contains([]string{"accounts", "orders", "events", "runs", "demands", "approvals", "consents"}, table) {
		return one[int64](t, query+" RETURNING id", args...)
	}
	t.exec(query, args...)
	return 0
}

// fill writes what a till of that version would have written.
func fill(t *tx, version int) {
	account := insert(t, "accounts",
		map[string]any{"address": shop.Address, "name": shop.Name, "created": t.now, "merchant": "m1"})
	by := func(more map[string]any) map[string]any {
		row := map[string]any{"user_name": "ann", "host": "till1"}
		maps.Copy(row, more)
		return row
	}
	key := by(map[string]any{"fingerprint": "key1", "account": account, "noted": t.now, "how": "used"})
	if version >= withAttemptTable {
		key["answered"] = t.now
	}
	insert(t, "keys", key)
	var run int64
	if version >= withRuns {
		run = insert(t, "runs", by(map[string]any{"account": account, "name": "0badc0de", "digest": "sha256:0badc0de",
			"plan":  "staff.plan",
			"batch": "may", "paid_before": 0, "began": t.now}))
	}
	for place, u := range toUpgrade() {
		u.fill(t, version, account, run, place)
	}
	if version < withApprovals {
		return
	}
	t.exec("UPDATE runs SET approvals = 2")
	demand := insert(t, "demands",
		by(map[string]any{"account": account, "at": t.now, "persons": 2, "above": `{"crypto:btc":5}`, "approvers": "/a",
			"approvers_digest": "a1", "reason": ""}))
	if version >= withDemandNumber {
		t.exec("UPDATE accounts SET demand = ?1", demand)
	}
	for _, name := range []string{"bob", "cleo"} {
		insert(t, "approvals", by(map[string]any{"run_id": run, "principal": name, "public_key": "ssh-ed25519 AAAA",
			"fingerprint": "SHA256:" + name, "signature": "sig", "seen": t.now}))
	}
	if version < withConsents {
		return
	}
	consent := insert(t, "consents", map[string]any{"run_id": run, "required": 2})
	t.exec("INSERT INTO consent_approvals (consent, approval) SELECT ?1, id FROM approvals", consent)
	t.exec("UPDATE attempts SET demand = ?1", demand)
	t.exec("UPDATE attempts SET consent = ?1 WHERE order_row IN (SELECT order_row FROM run_rows)", consent)
}

func (u upgraded) fill(t *tx, version int, account, run int64, place int) {
	content := map[string]any{"currency": "crypto:Btc", "unit": "crypto:Btc", "minor": u.content().Amount.Minor,
		"address": u.content().Address, "memo": "", "callback": ""}
	with := func(more map[string]any) map[string]any {
		row := maps.Clone(content)
		maps.Copy(row, more)
		return row
	}
	o := with(map[string]any{"account": account, "order_id": u.id, "state": string(u.state),
		"withdrawal": u.withdrawal, "note": "a note",
		"user_name": "ann", "host": "till1", "created": t.now, "changed": t.now})
	if u.run {
		o["run"] = "0badc0de"
	}
	if len(u.attempts) > 0 {
		o["sent"], o["fingerprint"] = t.now, "key1"
	}
	switch doubt := slices.Contains(u.attempts, order.WasUncertain); {
	case version >= withAttemptTable:
		o["content"], o["payee"], o["shown"] = u.content().Key().String(), payee(u.content().Address), u.withdrawal
	default:
		o["attempt"], o["sender"] = len(u.attempts), u.sender
		if doubt {
			o["doubt"] = 1
			if version >= withRuns {
				o["last_doubt"] = 1
			}
		}
	}
	row := insert(t, "orders", o)
	if version >= withAttemptTable {
		for i, outcome := range u.attempts {
			ended := t.now
			if outcome == order.UnderWay {
				ended = ""
			}
			insert(t, "attempts",
				map[string]any{"order_row": row, "number": i + 1, "sender": u.sender, "began": t.now, "ended": ended,
					"outcome": string(outcome), "decimals": 8})
		}
	}
	for _, what := range u.events {
		withdrawal := ""
		if what == eventAnswered {
			withdrawal = u.withdrawal
		}
		insert(t, "events",
			with(map[string]any{"order_row": row, "at": t.now, "user_name": "ann", "host": "till1", "what": what,
				"state": string(u.state), "withdrawal": withdrawal}))
	}
	if !u.run || version < withRuns {
		return
	}
	r := map[string]any{"run_id": run, "place": place, "order_row": row}
	if version >= withAttemptTable {
		r = with(r)
		r["note"] = "a note"
	}
	insert(t, "run_rows", r)
}

// TestUpgrade checks for each older version that a journal with real rows is updated, that nothing of it
// changes, and that a till of that version then refuses the journal.
func TestUpgrade(t *testing.T) {
	for version := 1; version < len(schema()); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			eachDialect(t, func(t *testing.T, open opener) {
				old := func(o *Options) { o.steps = schema()[:version] }
				j := open(old)
				must(t, j.write(t.Context(), func(tx *tx) error { fill(tx, version); return nil }))
				j.Close()
				checkUpgraded(t, open(), version)
				_, err := Open(t.Context(), placeOf(j), Options{Now: j.options.Now, ownClock: true, steps: schema()[:version]})
				want := fmt.Sprintf("is of a newer version of till (%d, this one knows %d): use that version",
					len(schema()), version)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the older till says %v", err)
				}
				wantState(t, open(), "open", order.Unknown)
			})
		})
	}
}

func checkUpgraded(t *testing.T, j *book, version int) {
	t.Helper()
	for _, u := range toUpgrade() {
		o := wantState(t, j, u.id, u.state)
		var outcomes []order.Ending
		for i, a := range o.Attempts {
			outcomes = append(outcomes, a.Outcome)
			if a.Number != int64(i+1) || o.origins[i].sender != u.sender || a.Began.IsZero() ||
				a.Ended.IsZero() != (a.Outcome == order.UnderWay) {
				t.Errorf("%s has the attempt %+v", u.id, a)
			}
		}
		if o.Content != u.content() || o.ID != u.withdrawal || o.Shown != u.withdrawal ||
			o.Note != "a note" || o.User != "ann" ||
			!slices.Equal(outcomes, u.attempts) || o.Sent.IsZero() != (len(u.attempts) == 0) {
			t.Errorf("%s became %+v", u.id, o)
		}
		var what []string
		for _, e := range story(t, j, u.id) {
			what = append(what, e.What)
		}
		if !slices.Equal(what, u.events) {
			t.Errorf("the history of %s is %q", u.id, what)
		}
	}
	ledger := j.Ledger
	if status, err := ledger.Status(t.Context()); err != nil || status.Merchant != "m1" {
		t.Errorf("the account became %+v, %v", status, err)
	}
	if accounts, err := j.KeyUsedBy(t.Context(), "key1"); err != nil || !slices.Equal(accounts, []order.Account{shop}) {
		t.Errorf("the key is of %v, %v", accounts, err)
	}
	runs, err := ledger.Runs(t.Context())
	if err != nil || len(runs) != min(version-1, 1) {
		t.Fatalf("there are the runs %+v, %v", runs, err)
	}
	for _, r := range runs {
		if r.Name != "0badc0de" || r.Digest != "sha256:0badc0de" || r.Plan != "staff.plan" || r.Batch != "may" ||
			r.Began.IsZero() || r.User != "ann" {
			t.Errorf("the run became %+v", r)
		}
		rows := rowClaims(t, ledger, r)
		if len(rows) != 3 {
			t.Fatalf("its rows are %+v", rows)
		}
		for i, row := range rows {
			if u := toUpgrade()[i]; row.OrderID != u.id || row.Content != u.content() || row.Note != "a note" {
				t.Errorf("row %d became %+v", i, row)
			}
		}
	}
	checkClaims(t, j, checkDemands(t, ledger, version))
}

// checkClaims checks that an upgraded journal keeps what is open from being sent, and nothing else.
func checkClaims(t *testing.T, j *book, demand int64) {
	t.Helper()
	open := toUpgrade()[1].content()
	for name, c := range map[string]struct {
		claim   Claim
		refused Kind // empty: it is not refused
	}{
		"an unknown order":              {Claim{OrderID: "open", Content: open, Demand: demand}, Exists},
		"the content of one":            {Claim{OrderID: "again", Content: open, Demand: demand}, Duplicate},
		"a demand that is not in force": {Claim{OrderID: "less", Content: coffee, Demand: demand + 1}, DemandChanged},
		"another order":                 {Claim{OrderID: "new", Content: tea, Demand: demand}, ""},
	} {
		c.claim.Key = "key1"
		_, err := j.Claim(t.Context(), c.claim)
		if c.refused == "" && err != nil || c.refused != "" && !errors.Is(err, c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkDemands checks that an account demands the approvals that it did in the older journal, and returns the
// number of the demand.
func checkDemands(t *testing.T, l *Ledger, version int) int64 {
	t.Helper()
	demands, err := l.Demands(t.Context())
	must(t, err)
	approvals, err := l.Approvals(t.Context(), "0badc0de")
	must(t, err)
	now, err := l.Demand(t.Context(), Demand{})
	must(t, err)
	if version < withApprovals {
		if len(demands)+len(approvals) > 0 || now.Persons != 0 {
			t.Errorf("it demands %+v, and has the approvals %+v", demands, approvals)
		}
		return 0
	}
	if len(demands) != 1 || now.Persons != 2 || now.Approvers != "/a" || now.Digest != "a1" ||
		!reflect.DeepEqual(now.Above, btc(5)) {
		t.Errorf("it demands %+v", demands)
	}
	if len(approvals) != 2 || approvals[0].Principal != "bob" || approvals[0].Fingerprint != "SHA256:bob" ||
		approvals[0].Signature != "sig" || approvals[0].Seen.IsZero() {
		t.Errorf("its approvals are %+v", approvals)
	}
	checkConsent(t, l, now.Number)
	return now.Number
}

// checkConsent checks that the attempts of an older journal have the approvals that its record proves.
func checkConsent(t *testing.T, l *Ledger, demand int64) {
	t.Helper()
	consents, err := l.Consents(t.Context())
	if err != nil || len(consents) != 1 || consents[0].Required != 2 || len(consents[0].Approvals) != 2 {
		t.Fatalf("its consents are %+v, %v", consents, err)
	}
	for id, want := range map[string]int64{"paid": consents[0].Number, "open": consents[0].Number, "refused": 0} {
		o, err := l.Order(t.Context(), id)
		if last := o.Last(); err != nil || last.Consent != want || last.Demand != demand {
			t.Errorf("%s has the attempt %+v, %v", id, last, err)
		}
	}
}

// TestUpgradeProvesConsent checks that an attempt of an older journal has no approvals if the record does not
// prove that they counted.
func TestUpgradeProvesConsent(t *testing.T) {
	for name, change := range map[string]string{
		"approved later":     "UPDATE approvals SET seen = '9'",
		"too few at first":   "UPDATE approvals SET seen = '9' WHERE principal = 'cleo'",
		"demand has changed": "UPDATE demands SET at = '9'",
	} {
		t.Run(name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, open opener) {
				j := open(func(o *Options) { o.steps = schema()[:withDemandNumber] })
				err := j.write(t.Context(), func(tx *tx) error {
					fill(tx, withDemandNumber)
					tx.exec(change)
					return nil
				})
				must(t, err)
				j.Close()
				o, err := open().Order(t.Context(), "paid")
				if err != nil || o.Last().Consent != 0 {
					t.Errorf("it has the attempt %+v, %v", o.Last(), err)
				}
			})
		})
	}
}
