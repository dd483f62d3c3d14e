package payout

import (
	"cmp"
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
	noted := func(a Account) func(d *desk) {
		return func(d *desk) {
			a.Address = cmp.Or(a.Address, d.s.URL)
			ok(d.t, d.account(a).NoteKey(d.t.Context(), "key2", journal.KeyChecked))
		}
	}
	const other, not = "refused/" + RuleKey, "is not order 1"
	for name, tt := range map[string]struct {
		set  func(d *desk)
		want string // the error; empty: it is accepted
		says string
		gets int
	}{
		"finds it":       {set: func(*desk) {}, gets: 1},
		"not found":      {set: func(d *desk) { d.s.rows = nil }, want: other, says: "does not find", gets: 1},
		"refused":        {set: gets(401, envelope), want: "rejected", gets: 1},
		"404 of a proxy": {set: gets(404, "no"), want: "read failed", gets: 1},
		"another id": {set: func(d *desk) {
			d.s.onGet = func(string) (int, string) { r := d.s.rows[0]; r["id"] = "w9"; return 200, asText(r) }
		}, want: other, says: not, gets: 1},
		"another order":    {set: change(func(r row) { r.named("2") }), want: other, says: not, gets: 1},
		"fields disagree":  {set: change(func(r row) { r["external_id"] = 2 }), want: other, says: not, gets: 1},
		"no order":         {set: change(func(r row) { r.named("") }), want: other, says: not, gets: 1},
		"another merchant": {set: change(func(r row) { r["merchant_id"] = "m2" }), want: other, says: `"m2"`, gets: 1},
		"no merchant":      {set: change(func(r row) { r["merchant_id"] = "" }), want: other, says: "merchant", gets: 1},
		"a sandbox's":      {set: func(d *desk) { d.options.AnyKey = true; d.s.rows = nil }},
		"used before":      {set: func(d *desk) { d.key = "key1"; d.s.rows = nil }},
		"of another account": {set: noted(Account{Name: "kiosk"}), want: "refused/" + RuleAccount,
			says: "the account kiosk at"},
		"of another address": {set: noted(Account{Address: "http://old.test", Name: "shop"}),
			want: "refused/" + RuleAccount, says: "http://old.test"},
		"of another, and adopted": {set: func(d *desk) {
			noted(Account{Name: "kiosk"})(d)
			ok(d.t, d.ledger.NoteKey(d.t.Context(), "key2", journal.KeyAdopted))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := usedDesk(t)
			_, before, _ := d.s.counts()
			d.key = "key2"
			tt.set(d)
			used, let := d.key, tt.want == ""
			wantErr(t, d.verifyKey(t.Context()), tt.want, tt.says)
			if _, gets, _ := d.s.counts(); gets-before != tt.gets {
				t.Errorf("the newest withdrawal was read %d times", gets-before)
			}
			status, err := d.ledger.Status(t.Context())
			ok(t, err)
			if noted := slices.Contains(status.Keys, used); noted != (let && !d.options.AnyKey) && used != "key1" {
				t.Errorf("the account's keys are %v", status.Keys)
			}
			if let {
				d.mustSend("4711")
				d.s.wantCreates(2)
				return
			}
			// What was refused is refused again, whoever asks.
			d.bring(asked("10"), outUnknown)
			d.begins("cafe", "10")
			d.options.Lookup, d.options.SettleAfter = LookupNever, 0
			for asks, err := range map[string]error{
				"send":          errorOf(d.send(asked("4711"))),
				"apply":         errorOf(d.apply(d.plan(nil, due("101")), ApplyOptions{})),
				"reconcile":     errorOf(d.Reconcile(t.Context(), "10")),
				"reconcile run": errorOf(d.ReconcileRun(t.Context(), "cafe")),
				"resolve":       d.Check(t.Context(), notSent("10")),
				"live":          errorOf(d.Live(t.Context(), Filter{Run: "cafe"})),
				"check":         errorOf(d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})),
			} {
				if err == nil {
					t.Errorf("%s: the key was accepted", asks)
				}
			}
			d.s.wantCreates(1)
			if _, _, lists := d.s.counts(); lists != 4 { // two scans of the first lookup, each of two empty pages
				t.Errorf("the list was asked %d times", lists)
			}
		})
	}
}

// TestVerifyKeyWithoutHistory is about a new key of an account where nothing was accepted.
func TestVerifyKeyWithoutHistory(t *testing.T) {
	for way, want := range map[string]string{"new": "", "rejected": "", "never left": "", "unknown": "refused/" + RuleKey,
		"being sent": "refused/" + RuleKey, "conflict": "refused/" + RuleKey} {
		t.Run(way, func(t *testing.T) {
			d := newDesk(t)
			ways[way](d, asked("10"))
			wantErr(t, d.verifyKey(t.Context()), want)
			if creates, gets, lists := d.s.counts(); creates+gets+lists != 0 {
				t.Error("the service was asked")
			}
			if status, _ := d.ledger.Status(t.Context()); len(status.Keys) != 0 { // the first call ties it to the account
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
	for _, wrong := range []string{"", "key1", "0123456789ABCDEF", "01234567-89abcde"} {
		wantKind(t, d.AdoptKey(t.Context(), wrong), Invalid, "")
	}
	d.key = "0123456789abcdef"
	ok(t, d.AdoptKey(t.Context(), d.key))
	at := d.Account().Address
	for now, want := range map[Account]string{
		{Address: at, Name: "y"}:              "till journal rename shop y",
		{Address: "http://b.test", Name: "y"}: "till journal rename shop y --base-url " + at + " --to-base-url http://b.test",
	} {
		d.Ledger = &Ledger{d.ledger.Journal().Ledger(now)}
		_, err := d.applier(d.plan(nil, due("1")), ApplyOptions{}).Preview(t.Context())
		if got := wantKind(t, err, Refused, RuleAccount).Hint.String(); !strings.HasSuffix(got, want) {
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
	wantKind(t, errorOf(d.Live(t.Context(), Filter{})), Refused, RuleKey,
		`"merchant-20261127", where those before it belong to "merchant-20261126"`)
}
