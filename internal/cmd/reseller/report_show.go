package reseller

import (
	"bytes"
	"encoding/json"
	"iter"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
)

// rowAmount returns a column of amounts in the currency of the row. In a table, the currency code has its own
// column, so that amounts are short.
func rowAmount(name, about string, value func(report.Row) *big.Int) render.Column[report.Row] {
	return render.Column[report.Row]{Name: name, About: about, Amount: true, CodeIn: "currency",
		Cell: func(r report.Row) render.Cell {
			if value(r) == nil {
				return render.Cell{}
			}
			return render.BigAmount(value(r), r.Currency, r.Decimals)
		}}
}

// view is the view of the report's rows. For people, it has no shares of figures of both signs, which say
// nothing, and words where a percentage cannot be.
func (p *reporting) view(people bool) render.View[report.Row] {
	type row = report.Row
	volume, rebates := func(r row) *big.Int { return r.Volume }, func(r row) *big.Int { return r.Rebates }
	same := func(r row) row { return r }
	sellers := resellerColumns(func(r row) namedReseller { return namedReseller{r.ID, r.Label} })
	currency := render.Field("currency", "currency of the row", render.Text, func(r row) string { return r.Currency })
	v := render.View[row]{Again: true, JSON: render.Encoded(func(r row) figuresJSON { return newFigures(r, p.by) })}
	if p.byInvoice() {
		v.ID = func(r row) string { return r.Invoice }
		v.Columns = append(sellers,
			render.Field("invoice", "the service's id of the invoice", render.ID, func(r row) string { return r.Invoice }),
			render.Field("created", "when it was made; the service gives no time zone", render.Time,
				func(r row) string { return r.Last }),
			rowAmount("paid", "what was paid", volume), rowAmount("rebate", "the rebate on it", rebates), currency)
		return v.Whole("currency")
	}
	if p.bySeller() {
		v.ID = func(r row) string { return r.ID }
		v.Columns = sellers
	}
	if i := slices.IndexFunc(p.by, report.Group.Timed); i >= 0 { // the sort key is the first column
		v.Columns = slices.Insert(v.Columns, i*len(v.Columns),
			render.Field("period", "day, week or month of the row", render.Own, func(r row) string {
				if people {
					return strings.TrimSpace(r.Period + " " + r.Partial)
				}
				return r.Period
			}))
	}
	v.Columns = append(v.Columns, currency,
		render.Field("invoices", "number of invoices in the row", render.Int, func(r row) int64 { return r.Invoices }),
		rowAmount("volume", "volume of these invoices", volume),
		rowAmount("rebates", "rebates on these invoices", rebates))
	if p.compare {
		v.Columns = append(v.Columns,
			rowAmount("previous_volume", "volume in the period before", func(r row) *big.Int { return r.PreviousVolume }),
			rowAmount("previous_rebates", "rebates in the period before", func(r row) *big.Int { return r.PreviousRebates }),
			render.Field("change", "change of the rebates since the period before", func(r row) render.Cell {
				if people && isNew(r) {
					return render.Change(nil).Said(newHere)
				}
				return render.Change(r.Change)
			}, same))
	}
	v.Columns = append(v.Columns,
		render.Field("share", "share of all rebates in the currency", func(r row) render.Cell {
			switch {
			case people && r.Mixed:
				return render.Cell{}
			case people && shareText(r.Rebates, r.Whole) == tinyShare:
				return render.Percent(r.Share).Said(tinyShare)
			}
			return render.Percent(r.Share)
		}, same),
		render.Field("last", "when the newest of the invoices was made", render.Time, func(r row) string { return r.Last }))
	if p.compare {
		v = v.Extra("volume", "previous_volume", "share")
	}
	return v.Extra("last").Whole("currency")
}

// foot returns the totals as rows of the table. It returns none if the rows are grouped only by currency,
// because they are the totals then.
func (p *reporting) foot() []report.Row {
	if p.onlyTotals() {
		return nil
	}
	totals := p.report.Totals()
	name := "Total"
	if p.top > 0 {
		name = "Total of all"
	}
	for i := range totals {
		if p.bySeller() && !p.by[0].Timed() || p.byInvoice() {
			totals[i].Label, totals[i].Last = name, ""
		} else {
			totals[i].Period = name
		}
	}
	return totals
}

func (p *reporting) data() error {
	out := cmdutil.Output[report.Row]{Session: p.Session, View: p.view(p.headed())}
	rows := p.report.Rows(p.top)
	switch lines := p.Render.Format == render.JSONL && p.Render.Filter == nil; {
	case p.Quiet:
		return out.List(eachRow(rows, out.View.ID))
	case !out.Tabular() && !lines:
		view := render.View[reportJSON]{JSON: render.Value[reportJSON]()}
		return cmdutil.Output[reportJSON]{Session: p.Session, View: view}.One(p.document(rows))
	case p.Render.Format != render.Table:
		return out.List(eachRow(rows, nil))
	}
	if !p.NoHeaders {
		out.View.Foot = p.foot()
	}
	if err := p.table(out, rows); err != nil || !p.allTime {
		return err
	}
	return p.standings()
}

// table prints the picture, or the rows with the period above them.
func (p *reporting) table(out cmdutil.Output[report.Row], rows iter.Seq[report.Row]) error {
	if p.drawn() {
		for _, total := range p.report.Totals() {
			if total.Decimals == money.Unknown {
				p.Render.Unknown(total.Currency)
			}
		}
		err := p.picture().Text(p.IO.Out, p.Render)
		p.NoteUnknown()
		return err
	}
	if p.headed() {
		lines := []string{p.periodText()}
		if p.timed() {
			lines = append(lines, zoneSentence)
		}
		if err := render.Heading(p.IO.Out, p.Render, lines...); err != nil {
			return err
		}
		if p.empty() {
			return p.Write(p.noRebates() + "\n")
		}
	}
	return out.List(eachRow(rows, nil))
}

// empty reports whether there are no rows, and every reseller could be read.
func (p *reporting) empty() bool { return len(p.failed) == 0 && len(p.report.Totals()) == 0 }

func (p *reporting) noRebates() string {
	text := "There are no rebates" + p.inCurrency()
	if len(p.failed)+p.unread > 0 {
		text = "What was read has no rebates" + p.inCurrency()
	}
	if !p.span.Open() {
		text += " in this period"
	}
	return text + "."
}

func (p *reporting) inCurrency() string {
	if p.currency == "" {
		return ""
	}
	for _, total := range p.report.Totals() { // in its own spelling
		return " in " + total.Currency
	}
	return " in " + p.currency
}

// eachRow returns the rows or, with id, the first of each id.
func eachRow(rows iter.Seq[report.Row], id func(report.Row) string) iter.Seq2[report.Row, error] {
	return func(yield func(report.Row, error) bool) {
		seen := map[string]bool{}
		for r := range rows {
			if id != nil {
				if seen[id(r)] {
					continue
				}
				seen[id(r)] = true
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// standings prints how many invoices have each status. The service counts them over all time, so they have a
// separate table and cannot be mistaken for figures of the period.
func (p *reporting) standings() error {
	v := standingView(p.Money).Without("volume", "rebates") // they equal the sums; remarks lists exceptions
	v = v.Whole("invoices")                                 // a truncated status is useless
	o := p.Render
	o.Sort, o.Columns = "", nil
	shown := p.shownStandings()
	if len(shown) == 0 {
		return nil
	}
	heading := strings.Join(render.Wrap("Invoices by status, of all time, as the service counts them:", o.Width), "\n")
	if err := p.Write("\n" + heading + "\n"); err != nil {
		return err
	}
	return v.List(p.IO.Out, o, cmdutil.Each(shown))
}

// shownStandings returns all resellers or, with --top, those that have a row.
func (p *reporting) shownStandings() []api.ResellerStats {
	all := p.report.AllTime()
	if p.top == 0 || !p.bySeller() {
		return all
	}
	shown := map[string]bool{}
	for r := range p.report.Rows(p.top) {
		shown[r.ID] = true
	}
	return slices.DeleteFunc(all, func(standing api.ResellerStats) bool { return !shown[standing.ID] })
}

// standingView is for tables of all columns, so none needs a meaning.
func standingView(m money.Registry) render.View[api.ResellerStats] {
	type row = api.ResellerStats
	totals := func(all []api.CodeTotal) render.Cell {
		var texts []string
		for _, total := range all {
			for _, amount := range total.Amounts {
				texts = append(texts, money.FormatSum(big.NewInt(amount.Minor), amount.Code, m.Decimals(amount.Code)))
			}
		}
		return render.Text(strings.Join(texts, ", "))
	}
	return render.View[row]{Columns: []render.Column[row]{
		{Name: "label", Cell: func(r row) render.Cell { return render.Label(r.ID, r.Label) }},
		render.Field("invoices", "", render.Text, func(r row) string { return countLine(r.InvoiceStats) }),
		render.Field("volume", "", totals, func(r row) []api.CodeTotal { return r.TotalVolume }),
		render.Field("rebates", "", totals, func(r row) []api.CodeTotal { return r.TotalRebates }),
	}}
}

const zoneSentence = "Days are as the service wrote them: its interface does not show their time zone."

func (p *reporting) periodText() string {
	text := p.spanText(p.span)
	if p.compare {
		text += ", compared with " + p.spanText(p.report.Previous)
	}
	return text
}

// spanText describes a period as a month, as days or as times. A period that is not over ends today.
func (p *reporting) spanText(span report.Span) string {
	soFar := ""
	if span.Running(p.now) {
		soFar, span = " so far", span.SoFar(p.now)
	}
	text := func(end time.Time, back time.Duration) string {
		switch {
		case end.IsZero():
			return ""
		case end.Equal(report.ByDay.Begin(end)):
			return end.Add(-back).Format(time.DateOnly)
		}
		return end.Add(-back).Format("2006-01-02 15:04")
	}
	first, last := text(span.From, 0), text(span.To, time.Nanosecond)
	switch {
	case span.Open():
		return "all time"
	case first == "":
		return "until " + last + soFar
	case last == "":
		return "from " + first
	case first == last:
		return first + soFar
	case span.From.Equal(report.ByMonth.Begin(span.From)) && span.To.Equal(report.ByMonth.Step(span.From, 1)):
		return span.From.Format("2006-01") + soFar
	}
	return first + " to " + last + soFar
}

// monthText names a month, and describes any other period as spanText does.
func (p *reporting) monthText(span report.Span) string {
	running := span.Running(p.now)
	if span.From.IsZero() || span.To.IsZero() && !running {
		return p.spanText(span)
	}
	month, last := report.ByMonth.Begin(span.From), p.now
	if !span.To.IsZero() {
		last = span.To.Add(-time.Nanosecond)
	}
	whole := span.To.Equal(report.ByMonth.Step(month, 1)) || running && span.Unit == report.ByMonth
	switch {
	case !whole || !span.From.Equal(month) || !report.ByMonth.Begin(last).Equal(month):
		return p.spanText(span)
	case running:
		return month.Format("January 2006") + " so far"
	}
	return month.Format("January 2006")
}

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
		ID      string                      `json:"id"`
		Label   string                      `json:"label"`
		Stats   objectJSON[api.StatusCount] `json:"invoice_stats" schema:"object"`
		Volume  objectJSON[api.CodeTotal]   `json:"total_volume" schema:"object"`
		Rebates objectJSON[api.CodeTotal]   `json:"total_rebates" schema:"object"`
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

// objectJSON is an object of entries in the service's order. Each entry alone is an object with one key.
type objectJSON[T any] []T

func (o objectJSON[T]) MarshalJSON() ([]byte, error) {
	entries := make([][]byte, len(o))
	for i, entry := range o {
		text := render.Encode(entry)
		entries[i] = text[1 : len(text)-1]
	}
	return slices.Concat([]byte("{"), bytes.Join(entries, []byte(",")), []byte("}")), nil
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
		doc.AllTime = append(doc.AllTime, standingJSON{s.ID, s.Label, s.InvoiceStats, s.TotalVolume, s.TotalRebates})
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
