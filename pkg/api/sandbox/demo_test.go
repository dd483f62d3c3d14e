package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestDemoHasEverything checks that the demo has something of everything.
func TestDemoHasEverything(t *testing.T) {
	d := newBox(t, sandbox.WithSeed("demo")).get("/sandbox/dump")
	merchant := at(t, d, "merchant_id")
	kinds := map[string]bool{}
	for _, v := range at(t, d, "invoices").([]any) {
		kinds[fmt.Sprint("invoice ", at(t, v, "account") == merchant, at(t, v, "phase"))] = true
		kinds["month "+at(t, v, "created").(string)[:7]] = true
		kinds["currency "+at(t, v, "currency").(string)] = true
	}
	for _, w := range at(t, d, "withdrawals").([]any) {
		all := at(t, w, "statuses").([]any)
		kinds[fmt.Sprint("withdrawal ", at(t, w, "account") == merchant, at(t, all[len(all)-1], "status"))] = true
	}
	for _, v := range at(t, d, "invites").([]any) {
		kinds[fmt.Sprint("invite ", at(t, v, "redeemed"))] = true
	}
	// 6 of invoices in 7 months and 6 currencies, 5 of withdrawals and 1 of resellers', 2 of invites
	failIf(t, len(kinds) != 27 || len(at(t, d, "resellers").([]any)) != 4, "it has %v", slices.Sorted(maps.Keys(kinds)))
	must(t, second(sandbox.New(sandbox.WithSeed("demo"), set("withdrawal_flow", "Only"))))
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
