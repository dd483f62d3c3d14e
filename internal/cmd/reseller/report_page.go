package reseller

import (
	"fmt"
	"math/big"
	"slices"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
)

// charts returns the bars of the resellers and the timelines, for each currency with any rebates.
func (p *reporting) charts(most int) []render.Chart {
	return append(p.bars(), p.timelines(most)...)
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

// idBeginning is how many characters of an id distinguish resellers with the same label.
const idBeginning = 8

func (p *reporting) bars() []render.Chart {
	most := pageBars
	if p.flags.top > 0 && p.bySeller() {
		most = min(most, p.flags.top)
	}
	var charts []render.Chart
	sellers := p.report.Sellers()
	labels := map[string]int{}
	for _, standing := range p.report.AllTime() {
		labels[standing.Label]++
	}
	apart := func(r report.Row) string {
		if r.Label == "" || labels[r.Label] == 1 || len(r.ID) < idBeginning {
			return ""
		}
		return r.ID[:idBeginning]
	}
	for _, total := range p.report.Totals() {
		c := render.Chart{Title: "Rebates in " + unitText(total.Currency, total.Decimals) + " by reseller",
			Note: sumText(total)}
		rest, count, below := new(big.Int), 0, 0
		for _, r := range sellers {
			switch {
			case r.Currency != total.Currency || r.Rebates.Sign() == 0:
			case len(c.Bars) < most:
				c.Bars = append(c.Bars,
					render.Bar{Label: nameOf(r.ID, r.Label), Apart: apart(r), Value: r.Rebates, Text: sumText(r),
						Extra: percentText(r.Share)})
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
		if len(c.Bars) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

func (p *reporting) timelines(most int) []render.Chart {
	var charts []render.Chart
	for _, line := range p.report.Timelines(most) {
		c := render.Chart{Title: fmt.Sprintf("Rebates in %s by %s", unitText(line.Currency, line.Decimals), line.Unit),
			Upright: true}
		if line.Cut {
			c.Note = "the latest only"
		}
		any := false
		for _, point := range line.Points {
			c.Bars = append(c.Bars,
				render.Bar{Label: point.Period, Value: point.Rebates,
					Text: money.FormatSum(point.Rebates, line.Currency, line.Decimals)})
			any = any || point.Rebates.Sign() != 0
		}
		if any {
			charts = append(charts, c)
		}
	}
	return charts
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

// page returns the report for a browser: large figures, charts and tables.
func (p *reporting) page() render.Page {
	now := p.IO.Now().In(p.TimeZone)
	page := render.Page{
		Title: reportTitle,
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
	for _, total := range p.report.Totals() {
		page.Tiles = append(page.Tiles, tile(total))
	}
	if bars := p.bars(); len(bars) > 0 {
		page.Sections = append(page.Sections, render.Section{Title: "By reseller", Charts: bars})
	}
	if lines := p.timelines(pageTimes); len(lines) > 0 {
		page.Sections = append(page.Sections, render.Section{Title: "Over time", Charts: lines})
	}
	o := p.Render
	o.Columns = nil
	v := p.tableView()
	v.Foot = p.foot()
	rows := v.Sorted(slices.Collect(p.report.Rows()), o)
	table := render.Section{Title: "Figures", Table: v.Page(o, rows)}
	if len(rows) == 0 {
		table.Note, table.Table = noRebates, nil
	}
	if p.flags.top > 0 {
		table.Note = fmt.Sprintf("At most %d rows of each currency, those with the largest rebates.", p.flags.top)
	}
	page.Sections = append(page.Sections, table)
	if shown := p.shownStandings(); len(shown) > 0 {
		page.Sections = append(page.Sections, render.Section{
			Title: "All time, as the service counts",
			Note:  "These figures are the service's own. They are not limited to any period.",
			Table: standingView(p.Money, p.distinct()).Page(o, shown),
		})
	}
	if differ := p.report.Differences(); len(differ) > 0 {
		page.Sections = append(page.Sections, render.Section{
			Title: "Where the service counts otherwise",
			Note:  "Sums of the single invoices over all time that are not what the service itself counts. The figures above are made of the single invoices.",
			Table: disagreementView(p.distinct()).Page(o, differ),
		})
	}
	page.Notes = append(page.Notes,
		"A day is that of an invoice's creation as the service wrote it. The service's interface does not show in which time zone.",
		"A share is that of all rebates in the currency. Sums are exact; percentages are rounded.",
		"An amount with the word minor is in the currency's smallest unit, because the number of its decimals is not known.")
	for _, codes := range p.report.Spellings() {
		page.Notes = append(page.Notes, spellingText(codes)+".")
	}
	return page
}

// disagreementView is for the page, which has room for every difference.
func disagreementView(distinct bool) render.View[report.Difference] {
	type row = report.Difference
	amount := func(value func(row) *big.Int) func(row) render.Cell {
		return func(r row) render.Cell { return render.BigAmount(value(r), r.Currency, r.Decimals) }
	}
	return render.View[row]{Columns: []render.Column[row]{
		{Name: "label", About: "label of the reseller's invite",
			Cell: func(r row) render.Cell { return render.Text(r.Label) }},
		{Name: "id", About: "the service's id of the reseller",
			Extra: distinct, Whole: true, Cell: func(r row) render.Cell { return render.Text(r.ID) }},
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

// tile shows the total of a currency.
func tile(total report.Row) render.Tile {
	t := render.Tile{Label: "Rebates in " + unitText(total.Currency, total.Decimals),
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
