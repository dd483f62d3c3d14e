package report_test

import (
	"net/http/httptest"
	"slices"
	"testing"

	"example.com/till/internal/report"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// TestSandboxInvoices checks that the single invoices of a sandbox make its own totals.
func TestSandboxInvoices(t *testing.T) {
	box, err := sandbox.New(sandbox.WithSeed("demo"))
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
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
	if rows := slices.Collect(r.Rows()); len(ids) == 0 || len(rows) <= len(ids) || len(r.Differences()) > 0 {
		t.Errorf("%d resellers, %d rows, differences: %v", len(ids), len(rows), r.Differences())
	}
}
