package journal

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
	"example.com/till/pkg/payout/order"
)

func btc(most int64) map[api.Currency]int64 {
	return map[api.Currency]int64{unitOf("crypto:btc"): most}
}

// sums are the totals of a send.
func sums(totals map[api.Currency]int64) map[api.Currency]api.Sum {
	sums := map[api.Currency]api.Sum{}
	for unit, minor := range totals {
		sums[unit] = api.SumOf(minor)
	}
	return sums
}

func TestNeed(t *testing.T) {
	d := Demand{Persons: 2, Above: map[api.Currency]int64{unitOf("crypto:btc"): 10, unitOf("fiat:eur"): 500}}
	for name, c := range map[string]struct {
		totals map[api.Currency]int64
		want   int64
	}{
		"nothing":          {nil, 0},
		"the most":         {btc(10), 0},
		"one more":         {btc(11), 2},
		"in capitals":      {map[api.Currency]int64{unitOf("crypto:BTC"): 10}, 0},
		"another unit":     {map[api.Currency]int64{unitOf("fiat:usd"): 1}, 2},
		"the same code":    {map[api.Currency]int64{unitOf("fiat:btc"): 1}, 2},
		"two units":        {map[api.Currency]int64{unitOf("crypto:btc"): 10, unitOf("fiat:eur"): 500}, 0},
		"one unit too big": {map[api.Currency]int64{unitOf("crypto:btc"): 1, unitOf("fiat:eur"): 501}, 2},
	} {
		if got := d.Need(sums(c.totals)); got != c.want {
			t.Errorf("%s: %d persons, want %d", name, got, c.want)
		}
	}
}

// TestStrictest checks that a demand with another one is never less strict than either, except that a file of
// approvers may change in its place.
func TestStrictest(t *testing.T) {
	in := func(persons, above int64, approvers string) Demand { // the file's name and, after a blank, its digest
		d := Demand{Persons: persons, Above: btc(above)}
		d.Approvers, d.Digest, _ = strings.Cut(approvers, " ")
		if above < 0 {
			d.Above = nil
		}
		return d
	}
	ours := in(2, 5, "/a a1")
	for name, c := range map[string]struct{ old, now, want Demand }{
		"the first":                 {Demand{}, ours, ours},
		"none":                      {ours, Demand{}, ours},
		"more persons":              {in(1, 5, ""), in(2, 5, ""), in(2, 5, "")},
		"fewer persons":             {in(2, 5, ""), in(1, 5, ""), in(2, 5, "")},
		"a lower total":             {in(2, 5, ""), in(2, 4, ""), in(2, 4, "")},
		"a higher total":            {in(2, 5, ""), in(2, 6, ""), in(2, 5, "")},
		"a new total":               {in(2, -1, ""), in(2, 6, ""), in(2, 0, "")},
		"no total":                  {in(2, 5, ""), in(2, -1, ""), in(2, -1, "")},
		"a changed file":            {in(2, -1, "/a a1"), in(2, -1, "/a a2"), in(2, -1, "/a a2")},
		"another file":              {in(2, -1, "/a a1"), in(2, -1, "/b b1"), in(2, -1, "/a a1")},
		"a looser demand of others": {ours, in(1, 9, "/b b1"), ours},
		"a person's number":         {in(2, -1, ""), in(2, -1, "/b b1"), in(2, -1, "/b b1")},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.old.with(c.now)
			for _, totals := range []map[api.Currency]int64{btc(1), btc(4), btc(5), btc(6), {unitOf("fiat:eur"): 1}} {
				totals := sums(totals)
				if got.Need(totals) < max(c.old.Need(totals), c.now.Need(totals)) {
					t.Errorf("for %v, %d persons must approve, and before it were %d and %d", totals, got.Need(totals),
						c.old.Need(totals), c.now.Need(totals))
				}
				if got.Need(totals) != c.want.Need(totals) {
					t.Errorf("for %v, %d persons must approve, want %d", totals, got.Need(totals), c.want.Need(totals))
				}
			}
			if got.Approvers != c.want.Approvers || got.Digest != c.want.Digest {
				t.Errorf("the approvers are in %s (%s), want %s (%s)", got.Approvers, got.Digest, c.want.Approvers, c.want.Digest)
			}
		})
	}
}

func demanded(t *testing.T, j *book, a order.Account) int64 {
	t.Helper()
	d, err := j.of(a).Demand(t.Context(), Demand{})
	must(t, err)
	return d.Persons
}

// TestDemandIsRemembered checks that a demand moves with its account and is copied, and that only a person
// ends it.
func TestDemandIsRemembered(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		office := order.Account{Address: shop.Address, Name: "office"}
		if n := demanded(t, j, shop); n != 0 {
			t.Fatalf("a new account demands %d", n)
		}
		d := Demand{Persons: 2, Above: btc(5), Approvers: "/a", Digest: "a1"}
		for range 2 {
			mustDo(t)(j.Demand(t.Context(), d))
		}
		other := open()
		if n := demanded(t, other, shop); n != 2 {
			t.Errorf("another process remembers %d", n)
		}
		if n := demanded(t, j, office); n != 0 {
			t.Errorf("another account demands %d", n)
		}
		must(t, j.Rename(t.Context(), shop, office))
		if old, now := demanded(t, open(), shop), demanded(t, open(), office); old != 0 || now != 2 {
			t.Errorf("after the rename, the old name demands %d and the new one %d", old, now)
		}
		copied := filepath.Join(t.TempDir(), "copy.db")
		must(t, j.Copy(t.Context(), copied))
		copy := mustOpenFile(t, copied)
		defer copy.Close()
		if n := demanded(t, copy, office); n != 2 {
			t.Errorf("the copy remembers %d", n)
		}
		// A person's decision is recorded, even if it changes nothing.
		l := open().of(office)
		d.Reason = "it stays"
		must(t, l.SetDemand(t.Context(), d))
		if all, err := l.Demands(t.Context()); err != nil || len(all) != 2 || all[1].Reason != "it stays" {
			t.Errorf("recorded is %+v, %v", all, err)
		}
		// A person ends it.
		if err := l.SetDemand(t.Context(), Demand{}); err == nil {
			t.Error("there is no reason")
		}
		must(t, l.SetDemand(t.Context(), Demand{Reason: "sold"}))
		if n := demanded(t, open(), office); n != 0 {
			t.Errorf("after a person has ended it, it is %d", n)
		}
		all, err := l.Demands(t.Context())
		if last := all[len(all)-1]; err != nil || last.Reason != "sold" || last.User != "ann" || last.At.IsZero() {
			t.Errorf("recorded is %+v, %v", all, err)
		}
	})
}

var (
	annApproves = approval.Approval{Principal: "ann", Key: "ssh-ed25519 AAAA", Fingerprint: "SHA256:ann", Signature: "by ann"}
	bobApproves = approval.Approval{Principal: "bob", Key: "ssh-ed25519 BBBB", Fingerprint: "SHA256:bob", Signature: "by bob"}
)

// TestApprovalsOfARun checks that a run has its approvals when it begins, and gets new ones when it goes on.
func TestApprovalsOfARun(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		ann, bob, again := annApproves, bobApproves, annApproves
		again.Signature = "by ann again"
		r := Run{Name: "cafe", Digest: "sha256:cafe1", Required: 1, Approvals: []approval.Approval{ann}}
		mustBegin(t, j, r, row("1"))
		r.Required, r.Approvals = 2, []approval.Approval{again, bob}
		mustBegin(t, j, r, row("1"))
		r.Required, r.Approvals = 0, nil
		mustBegin(t, j, r, row("1"))
		l := open().Ledger
		got, err := l.Approvals(t.Context(), "cafe")
		for i := range got {
			if got[i].Seen.IsZero() || got[i].User != "ann" {
				t.Errorf("recorded is %+v", got[i])
			}
			got[i].Seen, got[i].User, got[i].Host = ann.Seen, "", ""
		}
		if err != nil || !reflect.DeepEqual(got, []approval.Approval{ann, bob}) {
			t.Errorf("the approvals are %+v, %v", got, err)
		}
		if runs, err := l.Runs(t.Context()); err != nil || len(runs) != 1 || runs[0].Required != 2 {
			t.Errorf("the runs are %+v, %v", runs, err)
		}
	})
}

// TestConsentOfAnAttempt checks that an attempt has the approvals that counted when it was claimed, whatever
// is approved or demanded later.
func TestConsentOfAnAttempt(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		l := j.Ledger
		ann, bob, rows := annApproves, bobApproves, numbered(6)
		send := func(place int, required int64, approvals ...approval.Approval) {
			t.Helper()
			run := mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe1", Required: required, Approvals: approvals}, rows...)
			c := rowClaims(t, l, run)[place]
			c.Consent = run.Consent
			mustDo(t)(l.Claim(t.Context(), c))
		}
		send(0, 0)
		send(1, 1, ann)
		send(2, 2, ann, bob)
		send(3, 1, ann, bob)
		send(4, 1, bob)
		mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe1", Required: 1, Approvals: []approval.Approval{bob}}, rows...)
		l = open().Ledger
		consents, err := l.Consents(t.Context())
		if err != nil || len(consents) != 4 {
			t.Fatalf("there are the consents %+v, %v", consents, err)
		}
		for i, want := range []string{"", "1 ann", "2 ann bob", "1 ann bob", "1 bob", ""} {
			o, err := l.Order(t.Context(), rows[i].OrderID)
			must(t, err)
			got := ""
			for _, c := range consents {
				if c.Number == o.Last().Consent {
					got = fmt.Sprint(c.Required)
					for _, a := range c.Approvals {
						got += " " + a.Principal
					}
				}
			}
			if got != want {
				t.Errorf("order %s was approved by %q, want %q", rows[i].OrderID, got, want)
			}
		}
	})
}
