package reseller

import (
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

// charts returns the bars of the resellers and the timelines, for each currency with any rebates.
func (p *reporting) charts(most int) []render.Chart {
	var charts []render.Chart
	for _, kind := range []map[string]render.Chart{p.bars(pictureBars), p.timelines(most)} {
		for _, total := range p.report.Totals() {
			if c, ok := kind[total.Currency]; ok {
				charts = append(charts, c)
			}
		}
	}
	return charts
}

// undated says what is missing in the timelines, or returns "".
func (p *reporting) undated() string {
	switch n := p.report.Undated(); n {
	case 0:
		return ""
	case 1:
		return "1 invoice without a readable date is not in the timelines"
	default:
		return fmt.Sprintf("%d invoices without a readable date are not in the timelines", n)
	}
}

// labels tells the resellers with the same label apart.
func (p *reporting) labels() render.Labels {
	labels := render.Labels{}
	for _, standing := range p.report.AllTime() {
		labels.Add(standing.ID, standing.Label)
	}
	return labels
}

// bars returns the chart of the resellers for each currency with any rebates. At most so many of them have a
// bar; the others are added up.
func (p *reporting) bars(most int) map[string]render.Chart {
	if p.flags.top > 0 && p.bySeller() {
		most = min(most, p.flags.top)
	}
	charts := map[string]render.Chart{}
	sellers := p.report.Sellers()
	labels := p.labels()
	for _, total := range p.report.Totals() {
		c := render.Chart{Title: "Rebates in " + unitText(total.Currency, total.Decimals) + " by reseller",
			Note: sumText(total)}
		rest, count, below := new(big.Int), 0, 0
		for _, r := range sellers {
			switch {
			case r.Currency != total.Currency || r.Rebates.Sign() == 0:
			case len(c.Bars) < most:
				b := render.Bar{Label: r.Label, Apart: labels.Apart(r.ID, r.Label), Value: r.Rebates, Text: sumText(r),
					Extra: percentText(r.Share)}
				if b.Label == "" {
					b.Label, b.Apart = b.Apart, ""
				}
				c.Bars = append(c.Bars, b)
			default:
				rest.Add(rest, r.Rebates)
				count++
				below += (1 - r.Rebates.Sign()) / 2
			}
		}
		if count > 0 {
			label := fmt.Sprintf("%d others", count)
			if count == 1 {
				label = "1 other"
			}
			if below > 0 {
				label += fmt.Sprintf(", %d below 0", below)
			}
			c.Bars = append(c.Bars,
				render.Bar{Rest: true, Label: label, Value: rest, Text: money.FormatSum(rest, total.Currency, total.Decimals)})
		}
		if len(c.Bars) == 1 {
			c.Note = "" // it is the sum
		}
		if len(c.Bars) > 0 {
			charts[total.Currency] = c
		}
	}
	return charts
}

// timelines returns the timeline of each currency with any rebates.
func (p *reporting) timelines(most int) map[string]render.Chart {
	charts := map[string]render.Chart{}
	for _, line := range p.report.Timelines(most) {
		c := render.Chart{Title: fmt.Sprintf("Rebates in %s by %s", unitText(line.Currency, line.Decimals), line.Unit),
			Upright: true}
		if line.Cut {
			c.Note = "the latest only"
		}
		any := false
		for _, point := range line.Points {
			c.Bars = append(c.Bars,
				render.Bar{Label: axisText(point.Begin, line.Unit), Value: point.Rebates,
					Text: money.FormatSum(point.Rebates, line.Currency, line.Decimals)})
			any = any || point.Rebates.Sign() != 0
		}
		if any {
			charts[line.Currency] = c
		}
	}
	return charts
}

// axisText returns the name of a period below a column of a timeline. A week has the name of its Monday.
func axisText(begin time.Time, unit report.Unit) string {
	switch unit {
	case report.Year:
		return begin.Format("2006")
	case report.ByMonth:
		return begin.Format("Jan 2006")
	}
	return begin.Format("2 Jan")
}

// unitText returns the unit of amounts in a currency.
func unitText(code string, decimals int) string {
	if decimals == money.Unknown {
		return "minor units of " + code
	}
	return code
}

// numberText returns an amount without its unit.
func numberText(minor *big.Int, decimals int) string {
	if decimals == money.Unknown {
		return minor.String()
	}
	return money.Decimal(minor, decimals)
}

func sumText(r report.Row) string { return money.FormatSum(r.Rebates, r.Currency, r.Decimals) }

func percentText(tenths *big.Int) string {
	if tenths == nil {
		return ""
	}
	return money.Decimal(tenths, 1) + "%"
}

// accountText names the account that the report is about.
func (p *reporting) accountText() string {
	if at, err := url.Parse(p.BaseURL); p.Profile == "" && p.Account == "default" && err == nil && at.Host != "" {
		return at.Host
	}
	return p.Account
}

// pageView is the view of the table of one currency. name returns what a reseller is called.
func (p *reporting) pageView(name func(id, label string) string) render.View[report.Row] {
	v := render.Map(p.view, func(r report.Row) report.Row {
		if at, _, ok := report.ParseWritten(r.Last); ok {
			r.Last = at.Format(time.DateOnly)
		}
		r.Label, r.Currency, r.Decimals = name(r.ID, r.Label), "", max(r.Decimals, 0) // the heading has the unit
		return r
	})
	v.Columns = slices.DeleteFunc(v.Columns, func(c render.Column[report.Row]) bool { return c.Name == "currency" })
	for i, c := range v.Columns { // a page has room for more than a terminal
		v.Columns[i].Extra = c.Name == "id" || c.Name == "previous_volume"
	}
	return v
}

// page returns the report for a browser: large figures, charts and tables.
func (p *reporting) page() render.Page {
	now := p.IO.Now().In(p.TimeZone)
	page := render.Page{
		Title: fmt.Sprintf("%s of %s, %s", reportTitle, p.accountText(), p.spanText(p.span)),
		Lead: []string{
			"Period: " + p.periodText() + ".",
			fmt.Sprintf("%s. Made on %s.", cmdutil.CountOf(p.resellers-len(p.failed), "reseller"),
				now.Format("2006-01-02 at 15:04 MST")),
		},
	}
	if lack := p.undated(); lack != "" {
		page.Lead = append(page.Lead, lack+".")
	}
	for _, f := range p.failed {
		page.Alerts = append(page.Alerts,
			fmt.Sprintf("%s could not be read, and its figures are missing: %s", nameOf(f.ID, f.label), f.Error))
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
	bars, lines := p.bars(pageBars), p.timelines(pageTimes)
	for i, total := range p.report.Totals() {
		page.Tiles = append(page.Tiles, tile(total, i))
		s := render.Section{Title: total.Currency}
		if total.Decimals == money.Unknown {
			s.Title += ", minor units"
		}
		for _, kind := range []map[string]render.Chart{bars, lines} {
			if c, ok := kind[total.Currency]; ok {
				if !c.Upright {
					c.Note = "" // the total is in the tile
				}
				s.Charts = append(s.Charts, c)
			}
		}
		if !p.onlyTotals() {
			s.Table = v.Page(o, rows[total.Currency])
		} else if len(s.Charts) == 0 {
			s.Note = p.noRebates()
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
		table := standingView(p.Money).Page(o, shown)
		for _, row := range table.Rows {
			for i := range row[1:] {
				row[1+i].Class = "list"
			}
		}
		page.Sections = append(page.Sections, render.Section{
			Title: "All time, as the service counts", Folded: true, Table: table,
			Note: "These figures are the service's own. They are not limited to any period.",
		})
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
	page.Notes = append(page.Notes,
		"A day is that of an invoice's creation as the service wrote it. The service's interface does not show in which time zone.",
		"A share is that of all rebates in the currency. Sums are exact; percentages are rounded.")
	unknown := func(r report.Row) bool { return r.Decimals == money.Unknown }
	if slices.ContainsFunc(p.report.Totals(), unknown) {
		page.Notes = append(page.Notes,
			"A minor unit is a currency's smallest unit. The number of the currency's decimals is not known.")
	}
	for _, codes := range p.report.Spellings() {
		page.Notes = append(page.Notes, spellingText(codes)+".")
	}
	return page
}

// onlyTotals reports whether the rows are the totals.
func (p *reporting) onlyTotals() bool { return len(p.by) == 1 && p.by[0] == report.ByCurrency }

// disagreementView is for the page, which has room for every difference.
func disagreementView() render.View[report.Difference] {
	type row = report.Difference
	amount := func(value func(row) *big.Int) func(row) render.Cell {
		return func(r row) render.Cell { return render.BigAmount(value(r), r.Currency, r.Decimals) }
	}
	return render.View[row]{Columns: []render.Column[row]{
		{Name: "label", About: "label of the reseller's invite",
			Cell: func(r row) render.Cell { return render.Text(r.Label) }},
		{Name: "of", About: "what is compared: volume or rebates",
			Cell: func(r row) render.Cell { return render.Own(r.What) }},
		{Name: "currency", About: "currency of the sums",
			Cell: func(r row) render.Cell { return render.Text(r.Currency) }},
		{Name: "single_invoices", About: "sum of the single invoices",
			CodeIn: "currency", Cell: amount(func(r row) *big.Int { return r.Sum })},
		{Name: "service", About: "total that the service counts",
			CodeIn: "currency", Cell: amount(func(r row) *big.Int { return r.Service })},
		{Name: "service_less_invoices", About: "total of the service less that sum", CodeIn: "currency",
			Cell: amount(func(r row) *big.Int { return new(big.Int).Sub(r.Service, r.Sum) })},
	}}
}

// tile shows the total of a currency, and leads to its section.
func tile(total report.Row, section int) render.Tile {
	t := render.Tile{Section: section, Label: "Rebates in " + unitText(total.Currency, total.Decimals),
		Number: numberText(total.Rebates, total.Decimals)}
	t.Details = append(t.Details, render.PageText{Text: "volume " + numberText(total.Volume, total.Decimals)},
		render.PageText{Text: cmdutil.CountOf(int(total.Invoices), "invoice")})
	switch {
	case total.PreviousRebates == nil:
	case total.Change == nil:
		t.Details = append(t.Details, render.PageText{Text: "nothing before"})
	default:
		sign := total.Change.Sign()
		text := percentText(total.Change)
		if sign > 0 {
			text = "+" + text
		}
		t.Details = append(t.Details,
			render.PageText{Text: text + " from " + numberText(total.PreviousRebates, total.Decimals),
				Class: render.ChangeClass(sign)})
	}
	return t
}
