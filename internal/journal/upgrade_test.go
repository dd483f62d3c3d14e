package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
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
	sent := []string{eventSending, eventAnswered}
	return []upgraded{
		{"paid", "w1", order.Accepted, 0, []order.Ending{order.WasAccepted}, append([]string{eventPlanned}, sent...), true},
		{"open", "", order.Unknown, 0, []order.Ending{order.WasUncertain}, sent, true},
		{"waits", "", order.Planned, 0, nil, []string{eventPlanned}, true},
		{"left", "", order.Planned, 0, []order.Ending{order.SaidNothing}, sent, false},
		{"refused", "", order.Rejected, 0, []order.Ending{order.WasRejected}, sent, false},
		{"died", "", order.Sending, 77, []order.Ending{order.UnderWay}, []string{eventSending}, false},
	}
}

func (u upgraded) content() order.Content {
	return order.Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", int64(100+len(u.id))),
		Address: "bc1q" + u.id, Memo: ""}
}

// A filling writes the rows of an older till. Its columns are those that have one value in every table.
type filling struct {
	*tx
	columns map[string]any
}

// insert inserts a row without the columns that its table lacks, and returns the number that it gets.
func (f filling) insert(table string, row map[string]any) (id int64) {
	rows, err := f.rows("SELECT * FROM " + table + " WHERE 1 = 0")
	if err != nil {
		f.fail(err)
		return 0
	}
	columns, err := rows.Columns()
	f.fail(errors.Join(err, rows.Close()))
	var names, marks []string
	var args []any
	for _, c := range columns {
		value, given := row[c]
		if !given {
			value, given = f.columns[c]
		}
		if given {
			names, args = append(names, c), append(args, value)
			marks = append(marks, fmt.Sprint("?", len(args)))
		}
	}
	query := fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, table, strings.Join(names, ", "), strings.Join(marks, ", "))
	if slices.Contains(columns, "id") {
		return one[int64](f.tx, query+" RETURNING id", args...)
	}
	f.exec(query, args...)
	return 0
}

// newFilling makes the shop's account.
func newFilling(t *tx) filling {
	f := filling{t, map[string]any{"user_name": "ann", "host": "till1", "created": t.now, "changed": t.now, "noted": t.now,
		"answered": t.now, "began": t.now, "at": t.now, "seen": t.now, "note": "a note", "currency": "crypto:Btc",
		"unit": "crypto:Btc", "memo": "", "callback": "", "decimals": 8, "paid_before": 0, "reason": ""}}
	shop := map[string]any{"address": shop.Address, "name": shop.Name, "merchant": "m1"}
	f.columns["account"] = f.insert("accounts", shop)
	return f
}

// fill writes what a till of that version would have written.
func fill(t *tx, version int) {
	f := newFilling(t)
	f.insert("keys", map[string]any{"fingerprint": "key1", "how": "used"})
	var run int64
	if version >= withRuns {
		run = f.insert("runs", map[string]any{"name": "0badc0de", "digest": "sha256:0badc0de", "plan": "staff.plan",
			"batch": "may"})
	}
	for place, u := range toUpgrade() {
		u.fill(f, version, run, place)
	}
	if version < withApprovals {
		return
	}
	t.exec("UPDATE runs SET approvals = 2")
	demand := f.insert("demands",
		map[string]any{"persons": 2, "above": `{"crypto:btc":5}`, "approvers": "/a", "approvers_digest": "a1"})
	if version >= withDemandNumber {
		t.exec("UPDATE accounts SET demand = ?1", demand)
	}
	for _, name := range []string{"bob", "cleo"} {
		f.insert("approvals", map[string]any{"run_id": run, "principal": name, "public_key": "ssh-ed25519 AAAA",
			"fingerprint": "SHA256:" + name, "signature": "sig"})
	}
	if version < withConsents {
		return
	}
	consent := f.insert("consents", map[string]any{"run_id": run, "required": 2})
	t.exec("INSERT INTO consent_approvals (consent, approval) SELECT ?1, id FROM approvals", consent)
	t.exec("UPDATE attempts SET demand = ?1", demand)
	t.exec("UPDATE attempts SET consent = ?1 WHERE order_row IN (SELECT order_row FROM run_rows)", consent)
}

func (u upgraded) fill(f filling, version int, run int64, place int) {
	f.columns["minor"], f.columns["address"] = u.content().Amount.Minor, u.content().Address
	o := map[string]any{"order_id": u.id, "state": string(u.state), "withdrawal": u.withdrawal, "shown": u.withdrawal,
		"content": u.content().Key().String(), "payee": fmt.Sprintf("%x", sha256.Sum256([]byte(u.content().Address)))[:32],
		"attempt": len(u.attempts), "sender": u.sender} // the last two until there was a table of attempts
	if u.run {
		o["run"] = "0badc0de"
	}
	if len(u.attempts) > 0 {
		o["sent"], o["fingerprint"] = f.now, "key1"
	}
	if slices.Contains(u.attempts, order.WasUncertain) {
		o["doubt"], o["last_doubt"] = 1, 1
	}
	row := f.insert("orders", o)
	for i, outcome := range u.attempts {
		if version < withAttemptTable {
			break
		}
		ended := f.now
		if outcome == order.UnderWay {
			ended = ""
		}
		f.insert("attempts", map[string]any{"order_row": row, "number": i + 1, "sender": u.sender, "ended": ended,
			"outcome": string(outcome)})
	}
	for _, what := range u.events {
		e := map[string]any{"order_row": row, "what": what, "state": string(u.state)}
		if what == eventAnswered {
			e["withdrawal"] = u.withdrawal
		}
		f.insert("events", e)
	}
	if u.run && version >= withRuns {
		f.insert("run_rows", map[string]any{"run_id": run, "place": place, "order_row": row})
	}
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
				want := fmt.Sprintf("is of a newer version of till (%d, this one knows %d): use that", len(schema()), version)
				wantErr(t, "the older till", Broken, want)(
					Open(t.Context(), placeOf(j), Options{Now: j.options.Now, ownClock: true, steps: schema()[:version]}))
				wantState(t, open(), "open", order.Unknown)
			})
		})
	}
}

// TestUpgradeOfIBANs checks that a payment is found that an older till has recorded with another spelling of an IBAN.
func TestUpgradeOfIBANs(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, c := open(func(o *Options) { o.steps = schema()[:len(schema())-1] }), claim("1")
		c.Currency, c.Amount, c.Address = api.FiatCurrency("EUR"), api.FiatAmount("EUR", 5), "de89370400440532013000"
		mustFinish(t, j, mustClaim(t, j, c), unknown)
		must(t, j.write(t.Context(), func(t *tx) error { t.exec(`UPDATE orders SET content = 'old'`); return nil }))
		j.Close()
		c.OrderID, c.Address = "2", strings.ToUpper(c.Address)
		wantErr(t, "in capitals", Duplicate)(open().Claim(t.Context(), c))
	})
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
		if o.Content != u.content() || o.ID != u.withdrawal || o.Shown != u.withdrawal || o.Note != "a note" ||
			o.User != "ann" || !slices.Equal(outcomes, u.attempts) || o.Sent.IsZero() != (len(u.attempts) == 0) {
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
	if status, err := j.Status(t.Context()); err != nil || status.Merchant != "m1" {
		t.Errorf("the account became %+v, %v", status, err)
	}
	wantUsers(t, j, "key1", shop)
	runs, err := j.Runs(t.Context())
	if err != nil || len(runs) != min(version-1, 1) {
		t.Fatalf("there are the runs %+v, %v", runs, err)
	}
	for _, r := range runs {
		if r.Name != "0badc0de" || r.Digest != "sha256:0badc0de" || r.Plan != "staff.plan" || r.Batch != "may" ||
			r.Began.IsZero() || r.User != "ann" {
			t.Errorf("the run became %+v", r)
		}
		rows := rowClaims(t, j.Ledger, r)
		if len(rows) != 3 {
			t.Fatalf("its rows are %+v", rows)
		}
		for i, row := range rows {
			if u := toUpgrade()[i]; row.OrderID != u.id || row.Content != u.content() || row.Note != "a note" {
				t.Errorf("row %d became %+v", i, row)
			}
		}
	}
	checkClaims(t, j, checkDemands(t, j.Ledger, version))
}

// checkClaims checks that an upgraded journal keeps what is open from being sent, and nothing else.
func checkClaims(t *testing.T, j *book, demand int64) {
	t.Helper()
	open := toUpgrade()[1].content()
	for id, c := range map[string]struct {
		content order.Content
		demand  int64
		refused error
	}{
		"open":               {open, demand, Exists},
		"the same content":   {open, demand, Duplicate},
		"not what is needed": {coffee, demand + 1, DemandChanged},
		"new":                {tea, demand, nil},
	} {
		wantErr(t, id, c.refused)(j.Claim(t.Context(), Claim{Row: Row{OrderID: id, Content: c.content}, Demand: c.demand, Key: "key1"}))
	}
	if paid, err := j.Paid(t.Context(), []string{"bc1qpaid"}); err != nil || !paid["bc1qpaid"] {
		t.Errorf("paid were %v, %v", paid, err)
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
				must(t, j.write(t.Context(), func(tx *tx) error { fill(tx, withDemandNumber); tx.exec(change); return nil }))
				j.Close()
				o, err := open().Order(t.Context(), "paid")
				if err != nil || o.Last().Consent != 0 {
					t.Errorf("it has the attempt %+v, %v", o.Last(), err)
				}
			})
		})
	}
}
