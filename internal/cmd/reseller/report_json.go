package reseller

import (
	"encoding/json"
	"iter"
	"math/big"
	"strings"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
)

// The JSON of a report. A row omits the keys of groups that it does not have. A key without a value is null.
type (
	reportJSON struct {
		Period   spanJSON         `json:"period"`
		Previous *spanJSON        `json:"previous,omitempty"`
		Rows     []figuresJSON    `json:"rows"`
		Totals   []figuresJSON    `json:"totals"`
		AllTime  []standingJSON   `json:"all_time"`
		Failed   []failedReseller `json:"failed"`
	}
	spanJSON struct {
		From  *string `json:"from"`
		To    *string `json:"to"`
		SoFar bool    `json:"so_far,omitempty"` // it is not over
	}
	standingJSON struct {
		ID      string     `json:"id"`
		Label   string     `json:"label"`
		Stats   countsJSON `json:"invoice_stats" schema:"object"`
		Volume  totalsJSON `json:"total_volume" schema:"object"`
		Rebates totalsJSON `json:"total_rebates" schema:"object"`
	}
	figuresJSON struct {
		ID           *string      `json:"id,omitempty"`
		Label        *string      `json:"label,omitempty"`
		Invoice      *string      `json:"invoice,omitempty"`
		Period       *string      `json:"period,omitempty"`
		Currency     string       `json:"currency"`
		Invoices     int64        `json:"invoices"`
		Volume       *string      `json:"volume" schema:"decimal"`
		VolumeMinor  *big.Int     `json:"volume_minor"`
		Rebates      *string      `json:"rebates" schema:"decimal"`
		RebatesMinor *big.Int     `json:"rebates_minor"`
		Share        *json.Number `json:"share"`
		Last         *string      `json:"last"`
		*comparedJSON
	}
	comparedJSON struct {
		Volume  *big.Int     `json:"previous_volume_minor"`
		Rebates *big.Int     `json:"previous_rebates_minor"`
		Change  *json.Number `json:"change"`
	}
)

// countsJSON and totalsJSON are objects with their keys in the service's order.
type (
	countsJSON []api.StatusCount
	totalsJSON []api.CodeTotal
)

func (c countsJSON) MarshalJSON() ([]byte, error) {
	return object(c, func(c api.StatusCount) (string, any) { return c.Status, c.Count }), nil
}

func (t totalsJSON) MarshalJSON() ([]byte, error) {
	return object(t, func(t api.CodeTotal) (string, any) { return t.Code, t.Amounts }), nil
}

func object[T any](items []T, entry func(T) (string, any)) []byte {
	parts := make([]string, len(items))
	for i, item := range items {
		key, value := entry(item)
		parts[i] = string(render.Encode(key)) + ":" + string(render.Encode(value))
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func (p *reporting) document(rows iter.Seq[report.Row]) reportJSON {
	span := func(span report.Span) spanJSON {
		from, to := span.Bounds()
		return spanJSON{textOrNull(from), textOrNull(to), span.Running(p.now)}
	}
	doc := reportJSON{Period: span(p.span), Rows: []figuresJSON{}, Totals: []figuresJSON{},
		AllTime: []standingJSON{}, Failed: append([]failedReseller{}, p.failed...)}
	if p.compare {
		doc.Previous = new(span(p.report.Previous))
	}
	for r := range rows {
		doc.Rows = append(doc.Rows, newFigures(r, p.by))
	}
	for _, r := range p.report.Totals() {
		doc.Totals = append(doc.Totals, newFigures(r, nil))
	}
	for _, s := range p.report.AllTime() {
		doc.AllTime = append(doc.AllTime, standingJSON{s.ID, s.Label, s.Invoices, s.Volume, s.Rebates})
	}
	return doc
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func percentOrNull(tenths *big.Int) *json.Number {
	if tenths == nil {
		return nil
	}
	return new(json.Number(money.Decimal(tenths, 1)))
}

func newFigures(r report.Row, by []report.Group) figuresJSON {
	figures := figuresJSON{
		Currency: r.Currency, Invoices: r.Invoices,
		Volume: views.Decimal(r.Volume, r.Decimals), VolumeMinor: r.Volume,
		Rebates: views.Decimal(r.Rebates, r.Decimals), RebatesMinor: r.Rebates,
		Share: percentOrNull(r.Share), Last: textOrNull(r.Last),
	}
	for _, g := range by {
		switch g {
		case report.ByInvoice:
			figures.ID, figures.Label, figures.Invoice = &r.ID, &r.Label, &r.Invoice
		case report.ByReseller:
			figures.ID, figures.Label = &r.ID, &r.Label
		case report.ByDay, report.ByWeek, report.ByMonth:
			figures.Period = &r.Period
		}
	}
	if r.PreviousRebates != nil {
		figures.comparedJSON = &comparedJSON{r.PreviousVolume, r.PreviousRebates, percentOrNull(r.Change)}
	}
	return figures
}
