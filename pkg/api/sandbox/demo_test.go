package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestDemoHasEverything checks that the demo has something of everything.
func TestDemoHasEverything(t *testing.T) {
	b := newBox(t, sandbox.WithSeed("demo"), set("zero_amounts", "show"))
	d := b.get("/sandbox/dump")
	merchant := at(t, d, "merchant_id")
	type kind struct {
		merchant bool
		phase    string
	}
	kinds, months, currencies := map[kind]int{}, map[string]bool{}, map[string]bool{}
	for _, v := range at(t, d, "invoices").([]any) {
		kinds[kind{at(t, v, "account") == merchant, fmt.Sprint(at(t, v, "phase"))}]++
		created := at(t, v, "created").(string)
		months[created[:7]] = true
		currencies[at(t, v, "currency").(string)] = true
		for key, when := range v.(map[string]any) {
			if at, err := time.Parse(time.RFC3339, fmt.Sprint(when)); err == nil &&
				(at.After(start) || key != "created" && at.Before(start.AddDate(0, -7, 0))) {
				t.Errorf("%s is %v", key, when)
			}
		}
	}
	failIf(t, len(kinds) != 6 || len(months) != 7 || !currencies["Jpy"] || !currencies["Btc"] || !currencies["Eth"],
		"invoices %v in %v and %v", kinds, months, currencies)
	statuses, ofResellers := map[any]int{}, 0
	for _, w := range at(t, d, "withdrawals").([]any) {
		if at(t, w, "account") != merchant {
			ofResellers++
			continue
		}
		all := at(t, w, "statuses").([]any)
		statuses[at(t, all[len(all)-1], "status")]++
		failIf(t, at(t, all[len(all)-1], "at").(string) > start.Format(time.RFC3339),
			"a status from the future: %v", all)
	}
	failIf(t, len(statuses) != 5 || ofResellers != 1, "withdrawals %v, and %d of resellers", statuses, ofResellers)
	open := 0
	for _, v := range at(t, d, "invites").([]any) {
		failIf(t, at(t, v, "created").(string) > start.Format(time.RFC3339), "an invite from the future: %v", v)
		if at(t, v, "redeemed") == false {
			open++
		}
	}
	resellers := at(t, d, "resellers").([]any)
	failIf(t, open != 1 || len(resellers) != 4,
		"%d invites are open, and there are %d resellers", open, len(resellers))
	for _, r := range resellers {
		failIf(t, at(t, r, "created").(string) > "2025-11-01T09:00:00Z", "a reseller came after its invoices: %v", r)
	}
	if _, err := sandbox.New(sandbox.WithSeed("demo"), set("withdrawal_flow", "Only")); err != nil {
		t.Error(err)
	}
}

// TestDemoIsRecent checks that the demo has the same invoices and withdrawals in the last seven days at any
// time, that they are also those of the current month, and that nothing comes later.
func TestDemoIsRecent(t *testing.T) {
	// The amounts of demoSellers with n from 0 and the month 6: cents * (7 + n) in Usd, by the rates, rounded
	// up; a rebate is one percent of an invoice, rounded down. Of the six invoices of Harbour Books, the last
	// has expired.
	want := map[string]string{
		"Harbour Books":   `{"Btc":[2,1470001,14699],"USD":[3,132300,1323]}`,
		"Nordlicht Audio": `{"EUR":[2,185186,1851],"UsdtTrc20":[2,2250000000,22500000]}`,
		"Kiosk am Eck":    `{"EUR":[2,12501,124]}`,
		"東京文具店":           `{"Eth":[1,48000000,480000],"JPY":[2,42986,429]}`,
	}
	const written = "2006-01-02T15:04:05"
	for _, now := range []string{
		"2026-05-01T00:00:00Z", "2026-05-01T00:00:01Z", "2026-05-01T13:20:07Z", "2026-05-02T23:59:59Z",
		"2026-05-06T23:59:59Z",
		"2026-05-07T00:00:00Z", "2026-05-15T12:00:00Z", "2026-05-31T23:59:59Z", "2026-03-01T08:00:00Z",
		"2026-02-28T23:00:00Z",
		"2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z",
		"2027-01-03T04:05:06Z",
	} {
		t.Run(now, func(t *testing.T) {
			at0, err := time.Parse(time.RFC3339, now)
			must(t, err)
			b := newBox(t, sandbox.WithSeed("demo"), sandbox.WithClock(func() time.Time { return at0 }))
			week, month, last := at0.AddDate(0, 0, -7).Format(written), now[:7]+"-01T00:00:00", at0.Format(written)
			got := map[string]string{}
			for _, from := range []string{week, month} {
				for _, id := range b.get("/api/resellers/ids").([]any) {
					stats := b.get("/api/reseller/stats?id=" + id.(string))
					sums := map[string][3]int64{}
					for _, v := range at(t, stats, "invoice_rebates").(map[string]any) {
						if created := at(t, v, "created").(string); created < from {
							continue
						} else if created > last {
							t.Errorf("an invoice of %s", created)
						}
						for code, minor := range at(t, v, "paid_amount").(map[string]any) {
							sum := sums[code]
							for i, n := range []any{"1", minor, at(t, v, "rebate", code)} {
								more, err := strconv.ParseInt(fmt.Sprint(n), 10, 64)
								must(t, err)
								sum[i] += more
							}
							sums[code] = sum
						}
					}
					text, err := json.Marshal(sums)
					must(t, err)
					got[at(t, stats, "label").(string)] = string(text)
				}
				failIf(t, !maps.Equal(got, want), "from %s: %v", from, got)
				filter := fmt.Sprintf(`{"from":%q,"to":%q,"currencies":[],"tags":[]}`, from, last)
				same(t, at(t, b.post(listPath, filter), "total"), "5")
			}
			same(t, at(t, b.post(listPath, everything), "total"), "5")
			text := dumped(t, b)
			for _, when := range regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`).FindAllString(string(text), -1) {
				failIf(t, when > `"`+now+`"`, "the demo has the time %s", when)
			}
			if err := b.Restore(text); err != nil {
				t.Error(err)
			}
		})
	}
}
