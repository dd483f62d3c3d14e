package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	type stats struct {
		Label          string
		InvoiceRebates map[string]struct {
			Created    string
			PaidAmount map[string]int64 `json:"paid_amount"`
			Rebate     map[string]int64
		} `json:"invoice_rebates"`
	}
	for _, now := range []string{
		"2026-05-01T00:00:00Z", "2026-05-01T00:00:01Z", "2026-05-01T13:20:07Z", "2026-05-06T23:59:59Z",
		"2026-05-07T00:00:00Z", "2026-05-31T23:59:59Z", "2026-03-01T08:00:00Z", "2026-02-28T23:00:00Z",
		"2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z", "2026-12-31T23:59:59Z", "2027-01-03T04:05:06Z",
	} {
		t.Run(now, func(t *testing.T) {
			today, err := time.Parse(time.RFC3339, now)
			must(t, err)
			b := newBox(t, sandbox.WithSeed("demo"), sandbox.WithClock(func() time.Time { return today }))
			last := today.Format(written)
			for _, from := range []string{today.AddDate(0, 0, -7).Format(written), now[:7] + "-01T00:00:00"} {
				got := map[string]string{}
				for _, id := range b.get("/api/resellers/ids").([]any) {
					var s stats
					text := b.send("GET", "/api/reseller/stats?id="+id.(string), "").Body.String()
					must(t, json.Unmarshal([]byte(text), &s))
					sums := map[string][3]int64{}
					for _, v := range s.InvoiceRebates {
						for code, minor := range v.PaidAmount {
							if sum := sums[code]; v.Created >= from {
								sums[code] = [3]int64{sum[0] + 1, sum[1] + minor, sum[2] + v.Rebate[code]}
							}
						}
					}
					line, err := json.Marshal(sums)
					must(t, err)
					got[s.Label] = string(line)
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
			must(t, b.Restore(text))
		})
	}
}
