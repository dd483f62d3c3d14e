package report_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"

	"example.com/till/internal/report"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"pgregory.net/rapid"
)

// TestSandboxInvoices compares the sums of a sandbox's answers with the invoices that it was set up with. A
// rebate is one percent of a paid invoice, rounded down.
func TestSandboxInvoices(t *testing.T) {
	type invoice struct {
		Account string `json:"account"`
		Title   string `json:"title"`
		Total   string `json:"total"`
		Status  string `json:"status"`
		Created string `json:"created"`
	}
	type seller struct {
		Label string `json:"label"`
	}
	sellers := []seller{{"North"}, {"South"}, {"東"}}
	rapid.Check(t, func(t *rapid.T) {
		var seed struct {
			Resellers []seller  `json:"resellers"`
			Invoices  []invoice `json:"invoices"`
		}
		seed.Resellers = sellers
		type key struct{ label, month, code string }
		volume, rebates, invoices := map[key]int64{}, map[key]int64{}, map[key]int64{}
		for i := range rapid.IntRange(0, 25).Draw(t, "invoices") {
			minor := rapid.Int64Range(1, 99_999_999).Draw(t, "minor")
			status := rapid.SampledFrom([]string{"Paid", "Paid", "Awaiting", "Expired"}).Draw(t, "status")
			label := rapid.SampledFrom(sellers).Draw(t, "reseller").Label
			month := rapid.IntRange(1, 12).Draw(t, "month")
			code := rapid.SampledFrom([]string{"USD", "JPY", "Btc"}).Draw(t, "currency")
			total := map[string]string{
				"USD": fmt.Sprintf("%d.%02d Usd", minor/100, minor%100),
				"JPY": fmt.Sprintf("%d Jpy", minor),
				"Btc": fmt.Sprintf("0.%08d Btc", minor),
			}[code]
			seed.Invoices = append(seed.Invoices,
				invoice{label, fmt.Sprint("Order ", i), total, status, fmt.Sprintf("2025-%02d-28T23:30:00Z", month)})
			if status == "Paid" {
				k := key{label, fmt.Sprintf("2025-%02d", month), code}
				volume[k] += minor
				rebates[k] += minor / 100
				invoices[k]++
			}
		}
		text, err := json.Marshal(seed)
		if err != nil {
			t.Fatal(err)
		}
		box, err := sandbox.New(sandbox.WithSeed("none"))
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		if err := box.Restore(text); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		server := httptest.NewServer(box)
		defer server.Close()
		client, err := api.New(server.URL, api.WithAPIKey(box.Key()))
		if err != nil {
			t.Fatal(err)
		}
		r := report.New(report.Query{By: []report.Group{report.ByReseller, report.ByMonth}})
		ids, err := client.Resellers.IDs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			stats, err := client.Resellers.Stats(t.Context(), id)
			if err == nil {
				err = r.Add(stats)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for row := range r.Rows() {
			k := key{row.Label, row.Period, row.Currency}
			if row.Volume.Int64() != volume[k] || row.Rebates.Int64() != rebates[k] || row.Invoices != invoices[k] {
				t.Errorf("%v: %d invoices, volume %d, rebates %d; want %d, %d, %d", k, row.Invoices, row.Volume, row.Rebates,
					invoices[k], volume[k], rebates[k])
			}
		}
		if len(slices.Collect(r.Rows())) != len(volume) {
			t.Errorf("%d rows, want %d", len(slices.Collect(r.Rows())), len(volume))
		}
		if len(r.AllTime()) != len(sellers) {
			t.Errorf("%d resellers, want %d", len(r.AllTime()), len(sellers))
		}
		if differ := r.Differences(); len(differ) > 0 {
			t.Errorf("the sandbox's totals are said to be others: %v", differ)
		}
	})
}
