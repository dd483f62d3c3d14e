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

// titleText names the account and the period, for a page and a file of its own.
func (p *reporting) titleText() string {
	account := p.Account
	if at, err := url.Parse(p.BaseURL); p.Profile == "" && account == "default" && err == nil && at.Host != "" {
		account = at.Host
	}
	return fmt.Sprintf("Rebates of %s, %s", account, p.monthText(p.span))
}

// pageView is the view of the table of one currency. name returns what a reseller is called.
func (p *reporting) pageView(name func(id, label string) string) render.View[report.Row] {
	v := render.Map(p.view(true), func(r report.Row) report.Row {
		if at, _, ok := report.ParseWritten(r.Last); ok {
			r.Last = at.Format(time.DateOnly)
		}
		r.Label, r.Currency, r.Decimals = name(r.ID, r.Label), "", max(r.Decimals, 0) // the heading has the unit
		return r
	}).Without("currency")
	first := slices.IndexFunc(v.Columns, func(c render.Column[report.Row]) bool { return c.Name == "invoices" })
	order := []string{"share", "change", "rebates"} // of what comes first, the last: a phone shows that
	slices.SortStableFunc(v.Columns[max(first, 0):], func(a, b render.Column[report.Row]) int {
		return cmp.Compare(slices.Index(order, b.Name), slices.Index(order, a.Name))
	})
	for i, c := range v.Columns { // a page has room for more than a terminal
		v.Columns[i].Extra = c.Name == "id" || c.Name == "previous_volume"
	}
	return v
}

// page returns the report for a browser: large figures, charts and tables.
func (p *reporting) page() render.Page {
	now := p.IO.Now().In(p.TimeZone)
	page := render.Page{
		Title: p.titleText(),
		Lead:  []string{p.noteText() + ". Made on " + now.Format("2006-01-02 at 15:04 MST") + "."},
		Notes: []string{
			"A day is that of an invoice's creation as the service wrote it. The service's interface does not show in which time zone.",
			"A share is that of all rebates in the currency. Sums are exact; percentages are rounded."},
	}
	if lack := p.undated(); lack != "" {
		page.Lead = append(page.Lead, lack+".")
	}
	for _, f := range p.failed {
		page.Alerts = append(page.Alerts, f.name+" could not be read, and its figures are missing: "+f.Error)
	}
	labels := p.labels()
	name := func(id, label string) string { return strings.TrimSpace(label + " " + labels.Apart(id, label)) }
	o := p.Render
	o.Columns = nil
	v := p.pageView(name)
	rows := map[string][]report.Row{}
	for _, r := range p.view(false).Sorted(slices.Collect(p.report.Rows()), o) {
		rows[r.Currency] = append(rows[r.Currency], r)
	}
	unknown := false
	for i, total := range p.report.Totals() {
		unknown = unknown || total.Decimals == money.Unknown
		page.Tiles = append(page.Tiles, tile(total, i))
		s := p.chartSection(total)
		if !p.onlyTotals() {
			s.Table = v.Page(o, rows[total.Currency])
		}
		page.Sections = append(page.Sections, s)
	}
	if len(page.Sections) == 0 {
		page.Lead = append(page.Lead, p.noRebates())
	} else if p.top > 0 {
		page.Lead = append(page.Lead, fmt.Sprintf("A table has at most %s, by rebates. The totals have all.",
			cmdutil.CountOf(p.top, "row")))
	}
	page.Sections = append(page.Sections, p.serviceSections(o, name)...)
	if unknown {
		page.Notes = append(page.Notes, "A minor unit is a currency's smallest unit. The number of the currency's decimals is not known.")
	}
	for _, codes := range p.report.Spellings() {
		page.Notes = append(page.Notes, spellingText(codes)+".")
	}
	return page
}

// tile shows the total of a currency, and leads to its section.
func tile(total report.Row, section int) render.Tile {
	t := render.Tile{Section: section, Label: "Rebates in " + unitText(total),
		Number: numberText(total.Rebates, total.Decimals),
		Details: []render.PageText{{Text: "volume " + numberText(total.Volume, total.Decimals)},
			{Text: cmdutil.CountOf(int(total.Invoices), "invoice")}}}
	if change := strings.TrimSpace(changeText(total, true)); change != "" {
		t.Details = append(t.Details, render.PageText{Text: change + " from " + numberText(total.PreviousRebates, total.Decimals),
			Class: render.ChangeClass(changeSign(total))})
	}
	return t
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

// serviceSections returns what the service itself counts, and where that differs from the sums.
func (p *reporting) serviceSections(o render.Options, name func(id, label string) string) (all []render.Section) {
	if shown := p.shownStandings(); len(shown) > 0 {
		for i, standing := range shown {
			shown[i].Label = name(standing.ID, standing.Label)
		}
		table := standingView(p.Money).Page(o, shown)
		for _, row := range table.Rows {
			for i := range row[1:] { // the first names the reseller
				row[1+i].Class = "list"
			}
		}
		all = append(all, render.Section{Title: "All time, as the service counts", Folded: true, Table: table,
			Note: "These figures are the service's own. They are not limited to any period."})
	}
	differ := p.report.Differences()
	if len(differ) == 0 {
		return all
	}
	type row = report.Difference
	amount := func(name string, value func(row) *big.Int) render.Column[row] {
		return render.Column[row]{Name: name, CodeIn: "currency",
			Cell: func(r row) render.Cell { return render.BigAmount(value(r), r.Currency, r.Decimals) }}
	}
	view := render.View[row]{Columns: []render.Column[row]{
		render.Field("label", "", render.Text, func(r row) string { return name(r.ID, r.Label) }),
		render.Field("of", "", render.Own, func(r row) string { return r.What }),
		render.Field("currency", "", render.Text, func(r row) string { return r.Currency }),
		amount("single_invoices", func(r row) *big.Int { return r.Sum }),
		amount("service", func(r row) *big.Int { return r.Service }),
		amount("service_less_invoices", func(r row) *big.Int { return new(big.Int).Sub(r.Service, r.Sum) }),
	}}
	return append(all, render.Section{
		Title: fmt.Sprintf("Where the service counts otherwise: %s", cmdutil.CountOf(len(differ), "sum")), Folded: true,
		Note:  "Sums of the single invoices over all time that are not what the service itself counts. The figures above are made of the single invoices.",
		Table: view.Page(o, differ),
	})
}
