package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

const shopSeed = `{
	"balances": ["1000.00 USD", "1.5 Btc", {"account": "Stated", "amount": "7 Jpy"}],
	"invites": [{"label": "For later"}, {}],
	"resellers": [{"label": "Shop", "api_key": "till_sandbox_shop"}, {"label": "Stated", "invite": "For later"}, {}],
	"invoices": [
		{"account": "Shop", "title": "Order", "total": "25.99 Usd", "status": "Paid", "order_id": 4711, "number": 7},
		{"account": "Shop", "items": [{"name": "Tea", "amount": 300}, {"name": "Pot", "amount": "12.00 Eur"}],
			"paid_at": "2026-05-01T12:00:00+02:00"},
		{"account": "Stated", "currency": "Jpy", "total": 100, "status": "Paid"},
		{"total": "0.00000001 Btc", "status": "Expired"},
		{"total": "1 Xlr"}
	],
	"withdrawals": [
		{"account": "Shop", "amount": "5.00 Usd", "address": "a", "status": "Completed"},
		{"account": "Shop", "amount": "6.00 Eur", "address": "a", "status": "Failed"},
		{"amount": "30.00 Usd", "currency": "Btc", "address": "b", "order_id": 4712, "created": "2026-05-02T08:00:00Z"}
	]
}`

// TestSeedByHand checks that fields that a person leaves out are made up or computed.
func TestSeedByHand(t *testing.T) {
	b := newBox(t, sandbox.WithSeedJSON([]byte(shopSeed)))
	d := b.get("/sandbox/dump")
	shop, stated := at(t, d, "resellers", 0, "id").(string), at(t, d, "resellers", 1, "id").(string)
	for code, want := range map[string]int64{"Usd": 100_000, "Btc": 150_000_000, "Eth": 0, "Jpy": 0} {
		equal(t, b.Balance(code), want, "the merchant's balance in %s", code)
	}
	same(t, b.get("/api/reseller/balance?id="+shop), `{"Crypto":{},"Fiat":{"USD":2099,"EUR":1500}}`)
	same(t, b.get("/api/reseller/balance?id="+stated), `{"Crypto":{},"Fiat":{"JPY":7}}`)
	stats := b.get("/api/reseller/stats?id=" + shop)
	same(t, at(t, stats, "label"), `"Shop"`)
	same(t, at(t, stats, "total_volume"), `{"USD":{"USD":2599},"EUR":{"EUR":1500}}`)
	same(t, at(t, stats, "total_rebates"), `{"USD":{"USD":25},"EUR":{"EUR":15}}`)
	same(t, b.get("/api/reseller/rebate/currency?id="+stated+"&currency=Jpy"), `{"Jpy":{"Fiat":{"JPY":1}}}`)
	same(t, at(t, b.get("/api/reseller/invite?id="+stated), "label"), `"Stated"`)
	var labels []string
	for _, v := range at(t, d, "invites").([]any) {
		labels = append(labels, fmt.Sprint(at(t, v, "label"), at(t, v, "redeemed")))
	}
	equal(t, strings.Join(labels, ","), "For latertrue,Invite 2false,Shoptrue,Reseller 3true", "the invites")
	seen := b.ok(b.sendAs("till_sandbox_shop", "POST", listPath, everything))
	same(t, at(t, seen, "total"), "2")
	invoices := map[any]any{}
	for _, v := range at(t, d, "invoices").([]any) {
		invoices[at(t, v, "title")] = v
	}
	equal(t, len(invoices), 5, "invoices")
	for _, c := range [][3]string{
		{"Order", "order_id", `"4711"`}, {"Order", "items", `[{"name":"Order","amount":"2599"}]`},
		{"Order", "created", `"2026-05-03T10:00:00Z"`}, {"Order", "paid_at", `"2026-05-03T10:00:00Z"`},
		{"Invoice 2", "paid_at", `"2026-05-01T10:00:00Z"`}, {"Invoice 2", "created", `"2026-05-01T10:00:00Z"`},
		{"Invoice 3", "phase", "1"}, {"Invoice 4", "phase", "2"}, {"Invoice 4", "total", "1"},
		{"Invoice 5", "phase", "0"}, {"Invoice 5", "total", "10000000"},
	} {
		same(t, at(t, invoices[c[0]], c[1]), c[2])
	}
	same(t, at(t, d, "withdrawals", 0, "debit"), "50000") // 30 dollars at 60000
	same(t, at(t, d, "withdrawals", 0, "statuses"), `[{"status":"New","at":"2026-05-02T08:00:00Z"}]`)
	same(t, at(t, d, "withdrawals", 1, "statuses", 2), `{"status":"Completed","at":"2026-05-03T10:00:00Z"}`)
	same(t, at(t, d, "withdrawals", 2, "statuses", 2, "status"), `"Failed"`)
}

// TestSeedOfBalances checks that without balances the merchant holds the same as in a fresh sandbox, that stated
// balances count as they are, and that those left out are computed, except from a dump, which is complete.
func TestSeedOfBalances(t *testing.T) {
	const sold = `"invoices":[{"total":"5.00 Usd","status":"Paid"}]`
	const withdrawn = `"withdrawals":[{"address":"a","amount":`
	for seed, want := range map[string]int64{
		`{}`: 100_000_000, `{"balances":[]}`: 0, `{"balances":["1 Btc"],` + sold + `}`: 0, `{"balances":["0 Usd"],` + sold + `}`: 0,
		`{"balances":[],"invoices":[{"total":"5.00 Usd","status":"Paid"},{"total":"1.00 Usd"}]}`: 500,
		`{"balances":[],` + sold + `,` + withdrawn + `"4.00 Usd"}]}`:                             100,
		`{"balances":["9.00 Usd"],` + sold + `,` + withdrawn + `"4.00 Usd"}]}`:                   900,
		`{"balances":[],` + sold + `,` + withdrawn + `"8.00 Usd","status":"Failed"}]}`:           500,
		`{"balances":[{"book":"volume","code":"Usd","delta":500}],` + sold + `}`:                 500,
		`{"format":"till-sandbox/1",` + sold + `}`:                                               0,
	} {
		equal(t, newBox(t, sandbox.WithSeedJSON([]byte(seed))).Balance("Usd"), want, "%s", seed)
	}
}

// TestSeedRefused checks that each message names the place of the mistake.
func TestSeedRefused(t *testing.T) {
	const sold, withdrawn = `{"invoices":[{"total":"1 Jpy",`, `{"withdrawals":[{"address":"a","amount":"1 Btc",`
	for _, c := range [][2]string{
		{``, "line 1"}, {"{\n\"a\":1,\n}", "line 3"}, {`[]`, "an object"}, {`null`, "an object"},
		{"{}{}", "line 1"}, {"\xff", "UTF-8"},
		{`{"more":1}`, "more is not a field here; the fields are format, merchant_id"},
		{`{"format":"x"}`, "format is \"x\""}, {`{"balances":{}}`, "balances must be an array"},
		{`{"balances":["1.5"]}`, "balances[0]"}, {`{"balances":[5]}`, "balances[0] names no currency"},
		{`{"balances":["1 Usd","-1 Usd"]}`, "balances[1]"}, {`{"balances":["1 btc"]}`, "balances[0]"},
		{`{"balances":["0.001 Usd"]}`, "at most 2 decimals"},
		{`{"balances":["1 Usd","2 USD"]}`, "balances[1] is the balance in Usd"},
		{`{"balances":["99999999999999999999 Usd"]}`, "int64"},
		{`{"balances":[{"amount":"1 Usd","account":"nobody"}]}`, "balances[0].account is \"nobody\""},
		{`{"balances":[null]}`, "balances[0]"},
		{`{"balances":[{"book":"volumes","amount":"1 Usd"}]}`, "balances[0].book"}, {`{"invites":[{"redeemed":1}]}`, "redeemed"},
		{`{"resellers":[{"label":"a"},{"label":""}]}`, "resellers[1].label"},
		{`{"resellers":[{"label":"a","lable":"b"}]}`,
			"resellers[0].lable is not a field here; the fields are id, label, invite"},
		{`{"resellers":[{"label":"a","label":"b"}]}`, "resellers[0].label is given twice"},
		{`{"resellers":[{"api_key":"real"}]}`, "resellers[0].api_key"},
		{`{"resellers":[{"api_key":"till_sandbox_test"}]}`, "resellers[0].api_key is not this reseller's alone"},
		{`{"resellers":[{"api_key":"till_sandbox_a"},{"api_key":"till_sandbox_a"}]}`, "resellers[1].api_key"},
		{`{"resellers":[{"invite":"none"}]}`, "resellers[0].invite"},
		{`{"resellers":[{"label":"a"},{"label":"a"}],"invoices":[{"account":"a","total":"1 Jpy"}]}`,
			"invoices[0].account is \"a\", which is the label of several"},
		{`{"invoices":[{"title":"a"}]}`, "invoices[0].total is missing"},
		{`{"invoices":[{"total":5}]}`, "invoices[0].currency"},
		{`{"invoices":[{"total":25.00}]}`, "invoices[0].total is 25.00"},
		{`{"invoices":[{"items":[]}]}`, "invoices[0].items"},
		{`{"invoices":[{"items":[{"name":"a","amount":"1 Jpy"},{"name":"b","amount":"1 Usd"}]}]}`,
			"invoices[0].items[1].amount is in Usd"},
		{`{"invoices":[{"items":[{"name":"a","amount":"1 Jpy"}],"total":2}]}`,
			"invoices[0].total is 2 minor units, and the items add up to 1"},
		{`{"invoices":[{"items":[{"name":"a","amount":"1 Jpy","sum":2}]}]}`, "invoices[0].items[0].sum"},
		{`{"balances":[],"invoices":[{"total":"9223372036854775807 Jpy","status":"Paid"},` +
			`{"total":"1 Jpy","status":"Paid"}]}`, "int64"},
		{sold + `"status":"paid"}]}`, "Awaiting or Paid or Expired"},
		{sold + `"status":"Paid","phase":1}]}`, "invoices[0].status"},
		{sold + `"status":"Awaiting","paid_at":"2026-05-03T10:00:00Z"}]}`, "invoices[0].paid_at"},
		{sold + `"created":"2026-05-03"}]}`, "invoices[0].created"},
		{sold + `"created":"9999-12-31T23:59:59-01:00"}]}`, "invoices[0].created"},
		{`{"invoices":[{"total":"100 Jpy","status":"Paid","rebate":1}]}`, "invoices[0].rebate"},
		{`{"withdrawals":[{"amount":"1 Jpy"}]}`, "withdrawals[0].address is missing"},
		{`{"withdrawals":[{"address":"a","amount":"0 Jpy"}]}`, "withdrawals[0].amount"},
		{withdrawn + `"currency":"Ltc"}]}`, "withdrawals[0].amount is in Btc"},
		{withdrawn + `"status":"Gone"}]}`, "withdrawals[0].status"},
		{withdrawn + `"order_id":"x"}]}`, "withdrawals[0].order_id"},
		{withdrawn + `"statuses":[{"status":"New","when":1}]}]}`, "withdrawals[0].statuses[0].when"},
		{withdrawn + `"statuses":[{"status":"New"}],"status":"New"}]}`, "withdrawals[0].statuses"},
		{`{"balances":[],"withdrawals":[{"address":"a","amount":"1 Btc"}]}`, "take 100000000 minor units of Btc more"},
		{`{"swaps":[{"withdrawal":"x","from":"Btc","taken":1,"to":"Usd","given":1}]}`, "swaps[0].withdrawal"},
		{`{"merchant_id":"m"}`, "merchant_id"}, {`{"clock_ahead_seconds":99999999999}`, "clock_ahead_seconds"},
	} {
		_, err := sandbox.New(sandbox.WithSeedJSON([]byte(c[0])), sandbox.WithKey("till_sandbox_test"))
		if err == nil {
			t.Errorf("%s was taken", c[0])
		} else if !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v does not say %q", c[0], err, c[1])
		}
	}
}

// TestSeedFollowsSettings checks that the statuses of a seed are those in the settings.
func TestSeedFollowsSettings(t *testing.T) {
	b := newBox(t, set("invoice_statuses", "Open,Done,Late"), set("withdrawal_flow", "A>B>C,A>C"),
		set("rebate_percent", "10"),
		sandbox.WithSeedJSON([]byte(`{"resellers":[{"label":"S"}],"invoices":[{"account":"S","total":"1.00 Usd",`+
			`"status":"Done"}],"withdrawals":[{"amount":"1 Btc","address":"a","status":"C"}]}`)))
	d := b.get("/sandbox/dump")
	same(t, at(t, d, "invoices", 0, "rebate"), "10")
	got := at(t, d, "withdrawals", 0, "statuses").([]any)
	failIf(t, len(got) != 2, "the shortest way from A to C: %v", got)
}

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
