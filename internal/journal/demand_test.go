package journal

import (
	"fmt"
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
		"no file of approvers":      {in(2, -1, "/a a1"), in(3, -1, ""), in(3, -1, "/a a1")},
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

// TestDemandIsRemembered checks that a demand stays with its account, whatever its name is, and that only a person
// ends it. A person's decision is recorded, even if it changes nothing.
func TestDemandIsRemembered(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, office := open(), order.Account{Address: shop.Address, Name: "office"}
		wants := func(ofShop, ofOffice int64) {
			t.Helper()
			for a, want := range map[order.Account]int64{shop: ofShop, office: ofOffice} {
				if d, err := open().of(a).Demand(t.Context(), Demand{}); err != nil || d.Persons != want {
					t.Errorf("%s demands %d, %v, want %d", a, d.Persons, err, want)
				}
			}
		}
		wants(0, 0)
		d := Demand{Persons: 2, Above: btc(5), Approvers: "/a", Digest: "a1"}
		for range 2 {
			mustDo(t)(j.Demand(t.Context(), d))
		}
		wants(2, 0)
		must(t, j.of(office).SetDemand(t.Context(), Demand{Reason: "over"})) // so that it is known, and demands nothing
		must(t, j.Rename(t.Context(), shop, office))
		wants(0, 2)
		l := j.of(office)
		d.Reason = "it stays"
		must(t, l.SetDemand(t.Context(), d))
		wants(0, 2)
		if err := l.SetDemand(t.Context(), Demand{}); err == nil {
			t.Error("there is no reason")
		}
		must(t, l.SetDemand(t.Context(), Demand{Reason: "sold"}))
		wants(0, 0)
		all, err := l.Demands(t.Context())
		if err != nil || len(all) != 3 || all[1].Reason != "it stays" || all[2].Reason != "sold" || all[2].User != "ann" ||
			all[2].At.IsZero() || !all[0].equal(Demand{Persons: 2, Above: btc(5), Approvers: "/a", Digest: "a1"}) {
			t.Errorf("recorded is %+v, %v", all, err)
		}
	})
}

var (
	annApproves = approval.Approval{Principal: "ann", Key: "ssh-ed25519 AAAA", Fingerprint: "SHA256:ann", Signature: "by ann"}
	bobApproves = approval.Approval{Principal: "bob", Key: "ssh-ed25519 BBBB", Fingerprint: "SHA256:bob", Signature: "by bob"}
)

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
		send(5, 2, bob, ann)
		send(3, 1, ann, bob)
		send(4, 1, bob)
		mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe1", Required: 1, Approvals: []approval.Approval{bob}}, rows...)
		l = open().Ledger
		consents, err := l.Consents(t.Context())
		if err != nil || len(consents) != 4 {
			t.Fatalf("there are the consents %+v, %v", consents, err)
		}
		for i, want := range []string{"", "1 ann", "2 ann bob", "1 ann bob", "1 bob", "2 ann bob"} {
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
