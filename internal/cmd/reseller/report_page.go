package reseller

import (
	"cmp"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
)

// accountText names the account that the report is about.
func (p *reporting) accountText() string {
	if at, err := url.Parse(p.BaseURL); p.Profile == "" && p.Account == "default" && err == nil && at.Host != "" {
		return at.Host
	}
	return p.Account
}

// pageView is the view of the table of one currency. name returns what a reseller is called.
func (p *reporting) pageView(name func(id, label string) string) render.View[report.Row] {
	v := p.people(render.Map(p.view, func(r report.Row) report.Row {
		if at, _, ok := report.ParseWritten(r.Last); ok {
			r.Last = at.Format(time.DateOnly)
		}
		r.Label, r.Currency, r.Decimals = name(r.ID, r.Label), "", max(r.Decimals, 0) // the heading has the unit
		return r
	}))
	v.Columns = slices.DeleteFunc(v.Columns, func(c render.Column[report.Row]) bool { return c.Name == "currency" })
	first := slices.IndexFunc(v.Columns, func(c render.Column[report.Row]) bool { return c.Name == "invoices" })
	slices.SortStableFunc(v.Columns[max(first, 0):], func(a, b render.Column[report.Row]) int { // a phone shows what comes first
		return cmp.Compare(beforeOthers(b.Name), beforeOthers(a.Name))
	})
	for i, c := range v.Columns { // a page has room for more than a terminal
		v.Columns[i].Extra = c.Name == "id" || c.Name == "previous_volume"
	}
	return v
}

// beforeOthers orders the figures of a table on a page.
func beforeOthers(column string) int {
	return slices.Index([]string{"share", "change", "rebates"}, column)
}

// page returns the report for a browser: large figures, charts and tables.
func (p *reporting) page() render.Page {
	now := p.IO.Now().In(p.TimeZone)
	page := render.Page{
		Title: p.titleText(),
		Lead:  []string{p.noteText() + ". Made on " + now.Format("2006-01-02 at 15:04 MST") + "."},
	}
	if lack := p.undated(); lack != "" {
		page.Lead = append(page.Lead, lack+".")
	}
	for _, f := range p.failed {
		page.Alerts = append(page.Alerts, f.text())
	}
	labels := p.labels()
	name := func(id, label string) string { return strings.TrimSpace(label + " " + labels.Apart(id, label)) }
	o := p.Render
	o.Columns = nil
	v := p.pageView(name)
	rows := map[string][]report.Row{}
	for _, r := range p.view.Sorted(slices.Collect(p.report.Rows()), o) {
		rows[r.Currency] = append(rows[r.Currency], r)
	}
	for i, total := range p.report.Totals() {
		page.Tiles = append(page.Tiles, tile(total, i))
		s := p.chartSection(total)
		if !p.onlyTotals() {
			s.Table = v.Page(o, rows[total.Currency])
		}
		page.Sections = append(page.Sections, s)
	}
	if len(page.Sections) == 0 {
		page.Lead = append(page.Lead, p.noRebates())
	} else if p.flags.top > 0 {
		page.Lead = append(page.Lead, fmt.Sprintf("A table has at most %s, by rebates. The totals have all.",
			cmdutil.CountOf(p.flags.top, "row")))
	}
	if shown := p.shownStandings(); len(shown) > 0 {
		for i, standing := range shown {
			shown[i].Label = name(standing.ID, standing.Label)
		}
		page.Sections = append(page.Sections, allTimeSection(standingView(p.Money).Page(o, shown)))
	}
	if differ := p.report.Differences(); len(differ) > 0 {
		for i, d := range differ {
			differ[i].Label = name(d.ID, d.Label)
		}
		page.Sections = append(page.Sections, render.Section{
			Title: fmt.Sprintf("Where the service counts otherwise: %s", cmdutil.CountOf(len(differ), "sum")), Folded: true,
			Note:  "Sums of the single invoices over all time that are not what the service itself counts. The figures above are made of the single invoices.",
			Table: disagreementView().Page(o, differ),
		})
	}
	page.Notes = p.pageNotes()
	return page
}

func (p *reporting) pageNotes() []string {
	notes := []string{
		"A day is that of an invoice's creation as the service wrote it. The service's interface does not show in which time zone.",
		"A share is that of all rebates in the currency. Sums are exact; percentages are rounded."}
	unknown := func(r report.Row) bool { return r.Decimals == money.Unknown }
	if slices.ContainsFunc(p.report.Totals(), unknown) {
		notes = append(notes, "A minor unit is a currency's smallest unit. The number of the currency's decimals is not known.")
	}
	for _, codes := range p.report.Spellings() {
		notes = append(notes, spellingText(codes)+".")
	}
	return notes
}

// chartSection returns the section of one currency, without its table.
func (p *reporting) chartSection(total report.Row) render.Section {
	s := render.Section{Title: total.Currency}
	if total.Decimals == money.Unknown {
		s.Title += ", minor units"
	}
	group := p.group(total)
	if len(group.Rows) == 1 { // it is the table
		group.Total.Number, group.Rows = group.Rows[0].Number, nil
	}
	s.Group = &group
	return s
}

// allTimeSection returns the section of a table whose first column names the resellers.
func allTimeSection(table *render.PageTable) render.Section {
	for _, row := range table.Rows {
		for i := range row[1:] {
			row[1+i].Class = "list"
		}
	}
	return render.Section{
		Title: "All time, as the service counts", Folded: true, Table: table,
		Note: "These figures are the service's own. They are not limited to any period.",
	}
}

// onlyTotals reports whether the rows are the totals.
func (p *reporting) onlyTotals() bool { return len(p.by) == 1 && p.by[0] == report.ByCurrency }

// disagreementView is for the page, which has room for every difference.
func disagreementView() render.View[report.Difference] {
	type row = report.Difference
	amount := func(name string, value func(row) *big.Int) render.Column[row] {
		return render.Column[row]{Name: name, CodeIn: "currency",
			Cell: func(r row) render.Cell { return render.BigAmount(value(r), r.Currency, r.Decimals) }}
	}
	return render.View[row]{Columns: []render.Column[row]{
		render.Field("label", "", render.Text, func(r row) string { return r.Label }),
		render.Field("of", "", render.Own, func(r row) string { return r.What }),
		render.Field("currency", "", render.Text, func(r row) string { return r.Currency }),
		amount("single_invoices", func(r row) *big.Int { return r.Sum }),
		amount("service", func(r row) *big.Int { return r.Service }),
		amount("service_less_invoices", func(r row) *big.Int { return new(big.Int).Sub(r.Service, r.Sum) }),
	}}
}

// tile shows the total of a currency, and leads to its section.
func tile(total report.Row, section int) render.Tile {
	t := render.Tile{Section: section, Label: "Rebates in " + unitText(total.Currency, total.Decimals),
		Number: numberText(total.Rebates, total.Decimals)}
	t.Details = append(t.Details, render.PageText{Text: "volume " + numberText(total.Volume, total.Decimals)},
		render.PageText{Text: cmdutil.CountOf(int(total.Invoices), "invoice")})
	if change := strings.TrimSpace(changeText(total, true)); change != "" {
		t.Details = append(t.Details, render.PageText{Text: change + " from " + numberText(total.PreviousRebates, total.Decimals),
			Class: render.ChangeClass(changeSign(total))})
	}
	return t
}
