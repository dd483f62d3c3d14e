package payout

import (
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

func TestVerifyKey(t *testing.T) {
	change := func(change func(r row)) func(d *desk) {
		return func(d *desk) { d.s.set(func() { change(d.s.rows[0]) }) }
	}
	gets := func(status int, answer string) func(d *desk) {
		return func(d *desk) { d.s.onGet = func(string) (int, string) { return status, answer } }
	}
	for name, tt := range map[string]struct {
		set    func(d *desk)
		rule   string // empty: it is accepted, or the error is the call's own
		says   string
		call   api.Outcome
		status int // of the call's own error
		gets   int
	}{
		"finds it":       {set: func(d *desk) {}, gets: 1},
		"not found":      {set: func(d *desk) { d.s.rows = nil }, rule: RuleKey, says: "does not find", gets: 1},
		"400":            {set: gets(400, envelope), rule: RuleKey, says: "does not find", gets: 1},
		"refused":        {set: gets(401, envelope), call: api.Rejected, status: 401, gets: 1},
		"forbidden":      {set: gets(403, ""), call: api.Rejected, status: 403, gets: 1},
		"rate limited":   {set: gets(429, envelope), call: api.Rejected, status: 429, gets: 1},
		"500":            {set: gets(500, envelope), call: api.Failed, status: 500, gets: 1},
		"404 of a proxy": {set: gets(404, "no"), call: api.Failed, status: 404, gets: 1},
		"HTML":           {set: gets(200, "<p>"), call: api.Failed, status: 200, gets: 1},
		"another id": {set: func(d *desk) {
			d.s.onGet = func(string) (int, string) { r := d.s.rows[0]; r["id"] = "w9"; return 200, asText(r) }
		}, rule: RuleKey, says: "is not order 1", gets: 1},
		"another order": {set: change(func(r row) { r["external_id"], r["external_order_id"] = 2, "2" }), rule: RuleKey,
			says: "is not order 1", gets: 1},
		"fields disagree": {set: change(func(r row) { r["external_id"] = 2 }), rule: RuleKey,
			says: "is not order 1", gets: 1},
		"no order": {set: change(func(r row) { delete(r, "external_id"); delete(r, "external_order_id") }),
			rule: RuleKey, says: "is not order 1", gets: 1},
		"number only":      {set: change(func(r row) { delete(r, "external_order_id") }), gets: 1},
		"another merchant": {set: change(func(r row) { r["merchant_id"] = "m2" }), rule: RuleKey, says: `"m2"`, gets: 1},
		"no merchant":      {set: change(func(r row) { r["merchant_id"] = "" }), rule: RuleKey, says: "merchant", gets: 1},
		"a sandbox's":      {set: func(d *desk) { d.options.AnyKey = true; d.s.rows = nil }},
		"used before":      {set: func(d *desk) { d.key = "key1"; d.s.rows = nil }},
		"of another account": {set: func(d *desk) {
			ok(d.t, d.account(Account{Address: d.s.URL, Name: "kiosk"}).NoteKey(d.t.Context(), "key2", journal.KeyChecked))
		}, rule: RuleAccount, says: "the account kiosk at"},
		"of another address": {set: func(d *desk) {
			ok(d.t, d.account(Account{Address: "http://old.test", Name: "shop"}).
				NoteKey(d.t.Context(), "key2", journal.KeyChecked))
		}, rule: RuleAccount, says: "http://old.test"},
		"of another, and adopted": {set: func(d *desk) {
			for _, a := range []Account{{Address: d.s.URL, Name: "kiosk"}, d.ledger.Account()} {
				ok(d.t, d.account(a).NoteKey(d.t.Context(), "key2", journal.KeyAdopted))
			}
			d.s.rows = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			_, before, _ := d.s.counts()
			d.key = "key2"
			tt.set(d)
			used := d.key
			let := tt.rule == "" && tt.status == 0
			for range 2 { // what was refused is refused again
				err := d.verifyKey(t.Context())
				switch {
				case tt.rule != "":
					if e := wantKind(t, err, Refused, tt.rule); !strings.Contains(e.Msg, tt.says) || e.Hint.IsZero() {
						t.Errorf("%q, %q", e.Msg, e.Hint.String())
					}
				case tt.status != 0:
					wantCall(t, err, tt.call, tt.status)
				case err != nil:
					t.Fatal(err)
				}
				if let {
					break
				}
			}
			_, gets, _ := d.s.counts()
			if want := tt.gets; gets-before != want && (let || gets-before != 2*want) {
				t.Errorf("the newest withdrawal was read %d times", gets-before)
			}
			status, err := d.ledger.Status(t.Context())
			ok(t, err)
			if noted := slices.Contains(status.Keys, used); noted != (let && !d.options.AnyKey) && used != "key1" {
				t.Errorf("the account's keys are %v", status.Keys)
			}
			_, err = d.send(asked("4711"))
			want := 1
			if let {
				want = 2
			} else if err == nil {
				t.Error("it was sent")
			}
			d.s.wantCreates(want)
			// A run, reconciling and resolving check the key too.
			d.bring(asked("10"), outUnknown)
			if !let {
				d.options.Lookup = LookupNever
				if _, err := d.apply(d.plan(nil, due("101")), ApplyOptions{}); err == nil {
					t.Error("a plan was applied")
				}
				d.s.wantCreates(want)
				d.options.Lookup = LookupAuto
				d.options.SettleAfter = 0
				if _, err := d.Reconcile(t.Context(), "10"); err == nil {
					t.Error("it was reconciled")
				}
				d.begins("cafe", "10")
				if _, err := d.ReconcileRun(t.Context(), "cafe"); err == nil {
					t.Error("a run was reconciled")
				}
				if err := d.Check(t.Context(), notSent("10")); err == nil {
					t.Error("it was resolved")
				}
				if _, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{}); err == nil {
					t.Error("it was checked")
				}
				if _, _, lists := d.s.counts(); lists != 4 { // two scans of the first lookup, each of two empty pages
					t.Errorf("the list was asked %d times", lists)
				}
			}
		})
	}
}

// TestVerifyKeyWithoutHistory is about a new key of an account where nothing was accepted.
func TestVerifyKeyWithoutHistory(t *testing.T) {
	for name, tt := range map[string]struct {
		bring func(d *desk)
		let   bool
	}{
		"nothing":    {func(d *desk) {}, true},
		"rejected":   {func(d *desk) { d.bring(asked("10"), outRejected) }, true},
		"never left": {func(d *desk) { d.bring(asked("10"), outNotLeft) }, true},
		"unknown":    {func(d *desk) { d.bring(asked("10"), outUnknown) }, false},
		"being sent": {func(d *desk) { d.sends(asked("10")) }, false},
		"in conflict": {func(d *desk) {
			ok(d.t, errorOf(d.ledger.Settle(d.t.Context(), journal.Evidence{OrderID: "10", Withdrawal: "w9", Differs: "x"})))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tt.bring(d)
			err := d.verifyKey(t.Context())
			if creates, gets, lists := d.s.counts(); creates+gets+lists != 0 {
				t.Error("the service was asked")
			}
			status, _ := d.ledger.Status(t.Context())
			if tt.let {
				if err != nil || len(status.Keys) != 0 { // the first call ties it to the account
					t.Errorf("%v, %v", err, status.Keys)
				}
				return
			}
			wantKind(t, err, Refused, RuleKey)
			if len(status.Keys) != 0 {
				t.Errorf("noted were %v", status.Keys)
			}
		})
	}
}

// TestVerifyKeyWithAnotherProcess checks that open orders that another process has sent with the same new
// key, after verifyKey looked the key up, do not refuse the key. Open orders that were sent with another key
// do.
func TestVerifyKeyWithAnotherProcess(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		if known, err := d.keyKnown(t.Context()); known || err != nil {
			t.Fatal(known, err)
		}
		other := d.another().Sender
		ok(t, other.verifyKey(t.Context()))
		ok(t, errorOf(other.ledger.Claim(t.Context(), other.claim(asked("10")))))
		ok(t, d.verifyNewKey(t.Context()))
		d.key = "key2"
		wantKind(t, d.verifyNewKey(t.Context()), Refused, RuleKey)
	})
}

// TestKeyOfAnotherAccount checks the hint for a key that was used under another name or address.
func TestKeyOfAnotherAccount(t *testing.T) {
	d := newDesk(t)
	ok(t, d.AdoptKey(t.Context(), d.key))
	at := d.Account().Address
	for now, want := range map[Account]string{
		{Address: at, Name: "y"}:              "till journal rename shop y",
		{Address: "http://b.test", Name: "y"}: "till journal rename shop y --base-url " + at + " --to-base-url http://b.test",
	} {
		d.Ledger = &Ledger{d.ledger.Journal().Ledger(now)}
		if got := wantKind(t, d.verifyKey(t.Context()), Refused, RuleAccount).Hint.String(); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q at its end", got, want)
		}
	}
}

// TestVerifyKeyOfAMerchantNamedInIt checks that two merchants whose keys contain their ids are told apart.
func TestVerifyKeyOfAMerchantNamedInIt(t *testing.T) {
	d := usedDesk(t)
	use := func(merchant string) api.Withdrawal {
		client, err := api.New(d.s.URL, api.WithAPIKey("live_"+merchant+"_Zq7wT4"), api.WithRetries(0))
		ok(t, err)
		d.client, d.key = client, client.KeyFingerprint()
		d.s.set(func() { d.s.rows[0]["merchant_id"] = merchant })
		w, err := client.Withdrawals.Get(t.Context(), d.s.rows[0]["id"].(string))
		ok(t, err)
		return w
	}
	ok(t, d.ledger.AdoptMerchant(t.Context(), use("merchant-20261126").MerchantID, "renamed"))
	ok(t, d.verifyKey(t.Context()))
	use("merchant-20261127")
	wantKind(t, d.verifyKey(t.Context()), Refused, RuleKey,
		`"merchant-20261127", where those before it belong to "merchant-20261126"`)
}
