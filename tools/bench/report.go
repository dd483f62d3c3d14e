package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

const (
	resellers     = 500
	rebatesOfEach = 2000
	reportWidth   = 8 // resellers at a time, on both sides
	reportPairs   = 5
)

func numbered(i int) string { return fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", i) }

// serveStats answers for all resellers. Each has the same number of invoices that earned a rebate. An answer
// costs little more than copying it.
func serveStats([]string) {
	body, ids := statsTemplate()
	bodies := sync.Pool{New: func() any { b := bytes.Clone(body); return &b }}
	var all strings.Builder
	for i := range resellers {
		fmt.Fprintf(&all, `,"%s":{"id":"%[1]s","invite_info":{"invite":"%[1]s","label":"Shop %[2]d"},"rebates":{}}`,
			numbered(i), i)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/resellers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{"+all.String()[1:]+"}")
	})
	mux.HandleFunc("GET /api/reseller/stats", func(w http.ResponseWriter, r *http.Request) {
		text := bodies.Get().(*[]byte)
		defer bodies.Put(text)
		copy((*text)[ids:], r.URL.Query().Get("id"))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(*text)))
		w.Write(*text)
	})
	untilStdinCloses(mux)
}

// statsTemplate returns an answer, and the place of the reseller's id in it.
func statsTemplate() (body []byte, id int) {
	var b strings.Builder
	b.WriteString(`{"id":"`)
	id = b.Len()
	fmt.Fprintf(&b, `%s","label":"Shop","invoice_stats":{"Awaiting":12,"Paid":%d},"invoice_rebates":{`, numbered(0),
		rebatesOfEach)
	codes := []string{"USD", "EUR", "Btc"}
	volume := map[string]int64{}
	for i := range rebatesOfEach {
		if i > 0 {
			b.WriteByte(',')
		}
		code, paid := codes[i%len(codes)], int64(100*i+100)
		volume[code] += paid
		fmt.Fprintf(&b,
			`"%s":{"id":"%[1]s","paid_amount":{"%[2]s":%[3]d},"rebate":{"%[2]s":%[4]d},"created":"2026-%02[5]d-%02[6]dT10:00:00"}`,
			numbered(i), code, paid, paid/100, 1+i%12, 1+i%28)
	}
	totals := func(scale int64) string {
		var parts []string
		for _, code := range codes {
			parts = append(parts, fmt.Sprintf(`"%s":{"%[1]s":%d}`, code, volume[code]/scale))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	fmt.Fprintf(&b, `},"total_volume":%s,"total_rebates":%s}`, totals(1), totals(100))
	return []byte(b.String()), id
}

// plainStats is the statistics without the strictness of the SDK.
type plainStats struct {
	ID             string                      `json:"id"`
	Label          string                      `json:"label"`
	InvoiceStats   map[string]int64            `json:"invoice_stats"`
	InvoiceRebates map[string]plainRebate      `json:"invoice_rebates"`
	TotalVolume    map[string]map[string]int64 `json:"total_volume"`
	TotalRebates   map[string]map[string]int64 `json:"total_rebates"`
}

type plainRebate struct {
	ID         string           `json:"id"`
	PaidAmount map[string]int64 `json:"paid_amount"`
	Rebate     map[string]int64 `json:"rebate"`
	Created    string           `json:"created"`
}

// fetchStats fetches and decodes the same answers and does nothing with them.
func fetchStats(args []string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: reportWidth}}
	ctx := context.Background()
	var all map[string]struct{}
	check(exchange(ctx, client, http.MethodGet, args[0]+"/api/resellers", nil, &all))
	ids := slices.Collect(maps.Keys(all))
	together(reportWidth, len(ids), func(_, number int) error {
		var stats plainStats
		err := exchange(ctx, client, http.MethodGet, args[0]+"/api/reseller/stats?id="+ids[number], nil, &stats)
		if err == nil && len(stats.InvoiceRebates) != rebatesOfEach {
			err = fmt.Errorf("%d rebates", len(stats.InvoiceRebates))
		}
		return err
	})
}

// resellerReport compares the report with a program that fetches and decodes the same answers with the same
// concurrency.
func resellerReport(b *bench) []row {
	server := b.helper("-serve-stats")
	defer server.stop()
	till := command(environment(server.url), b.till, "reseller", "report", "--by", "reseller", "--by", "month",
		"-o", "csv",
		"--concurrency", fmt.Sprint(reportWidth))
	ratio := pairs(reportPairs, till.run, command(nil, b.self, "-fetch-stats", server.url).run)
	what := fmt.Sprintf("reseller report, %d resellers with %d rebates", resellers, rebatesOfEach)
	return []row{
		{what: what + " / fetching and decoding the same, wall time", got: ratio, unit: "x", limit: 1.5, atMost: true,
			detail: fmt.Sprintf("median of %d pairs, %d at a time", reportPairs, reportWidth)},
		{what: what + ", peak memory", got: till.peak, unit: " MiB", limit: 64, atMost: true,
			detail: fmt.Sprintf("largest of %d runs", reportPairs+1)},
	}
}
