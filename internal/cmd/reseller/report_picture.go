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

// pictureRows is how many rows of a currency a picture has if --top does not say it. The others are added up.
const pictureRows = 10

// picture returns the report as a picture: a group for each currency.
func (p *reporting) picture() render.Picture {
	made := render.Picture{Title: p.monthText(p.span), Note: p.noteText()}
	for _, total := range p.report.Totals() {
		made.Groups = append(made.Groups, p.group(total))
	}
	if len(made.Groups) == 0 {
		made.Remarks = append(made.Remarks, p.noRebates())
	}
	if lacks := p.failedNames(); len(lacks) > 0 {
		made.Remarks = append(made.Remarks, "Not read, and missing here: "+strings.Join(lacks, ", ")+".")
	}
	earned := map[string]bool{}
	for _, r := range p.report.Sellers() {
		if r.Rebates.Sign() != 0 {
			earned[r.ID] = true
		}
	}
	if n := len(p.report.AllTime()) - len(earned); n > 0 && len(made.Groups) > 0 {
		made.Remarks = append(made.Remarks, cmdutil.CountOf(n, "reseller")+" earned nothing"+p.inCurrency()+".")
	}
	if lack := p.undated(); lack != "" {
		made.Remarks = append(made.Remarks, lack+".")
	}
	if len(made.Groups) > 0 || p.timed() {
		made.Remarks = append(made.Remarks, zoneSentence)
	}
	return made
}

// noteText says what the figures are compared with, and of how many resellers they are.
func (p *reporting) noteText() string {
	text := cmdutil.CountOf(p.resellers, "reseller")
	if n := len(p.failed) + p.unread; n > 0 {
		text = fmt.Sprintf("%d of %s", p.resellers-n, text)
	}
	if p.compare {
		before := p.report.Previous
		name := p.monthText(before)
		if before.From.Year() == p.span.From.Year() {
			name = strings.TrimSuffix(name, before.From.Format(" 2006"))
		}
		text = "compared with " + name + ", " + text
	}
	return text
}

// group returns the rows of one currency, the largest first. Rows over time stay in their order.
func (p *reporting) group(total report.Row) render.PictureGroup {
	g := render.PictureGroup{Total: pictureRow(unitText(total), total),
		Times: func(most int) []render.PictureTime { return p.times(total, most) }}
	g.Total.Change, g.Total.Share = changeText(total, true), ""
	rows := p.pictured(total)
	most := pictureRows
	switch {
	case p.Cmd.Flags().Changed("top") || p.timedRows():
		most = p.top
	case len(rows) == most+1: // the others are more than one
		most++
	}
	if most == 0 || most > len(rows) {
		most = len(rows)
	}
	labels := p.labels()
	for _, r := range rows[:most] {
		row := pictureRow(r.Label, r)
		row.Apart, row.Value, row.Hollow = labels.Apart(r.ID, r.Label), r.Rebates, p.span.Running(p.now)
		if p.timedRows() {
			row.Label, row.Apart, row.Hollow = strings.TrimSpace(r.Period+" "+r.Partial), "", r.Partial != ""
		}
		g.Rows = append(g.Rows, row)
	}
	if others := rows[most:]; len(others) > 0 {
		g.Rows = append(g.Rows, pictureRow(cmdutil.CountOf(len(others), "other"), sumOf(others)))
	}
	if len(rows) == 1 { // it is the total
		g.Total, g.Rows[0].Share = render.PictureRow{Label: g.Total.Label}, ""
	}
	return g
}

func pictureRow(label string, r report.Row) render.PictureRow {
	row := render.PictureRow{Label: label, Number: numberText(r.Rebates, r.Decimals), Change: changeText(r, false),
		Sign: changeSign(r)}
	if !r.Mixed {
		row.Share = shareText(r.Rebates, r.Whole)
	}
	return row
}

// times returns what was earned in one currency over time, in at most so many periods.
func (p *reporting) times(total report.Row, most int) (times []render.PictureTime) {
	unit, points := p.report.Timeline(total.Currency, most)
	for _, point := range points {
		times = append(times, render.PictureTime{Label: axisText(point.Begin, unit), Unit: string(unit),
			Value: point.Rebates, Hollow: point.Partial != "",
			Number: money.FormatSum(point.Rebates, total.Currency, total.Decimals)})
	}
	return times
}

// sumOf adds up the rebates of rows of one currency, now and before.
func sumOf(rows []report.Row) report.Row {
	sum := report.Row{Rebates: new(big.Int), Decimals: rows[0].Decimals, Whole: rows[0].Whole, Mixed: rows[0].Mixed}
	for _, r := range rows {
		sum.Rebates.Add(sum.Rebates, r.Rebates)
		if r.PreviousRebates != nil {
			sum.PreviousRebates = new(big.Int).Add(r.PreviousRebates, cmp.Or(sum.PreviousRebates, new(big.Int)))
		}
	}
	if before := sum.PreviousRebates; before != nil {
		sum.Change = report.Tenths(new(big.Int).Sub(sum.Rebates, before), new(big.Int).Abs(before))
	}
	return sum
}

// pictured returns the rows of a currency.
func (p *reporting) pictured(total report.Row) (rows []report.Row) {
	all := slices.Values(p.report.Sellers())
	switch {
	case p.onlyTotals():
		return nil
	case p.timedRows():
		all = p.report.Rows(0)
	}
	for r := range all {
		if r.Currency == total.Currency {
			rows = append(rows, r)
		}
	}
	if p.timedRows() && p.top > 0 {
		slices.SortStableFunc(rows, func(a, b report.Row) int { return b.Rebates.Cmp(a.Rebates) })
	}
	return rows
}

// What is said in the place of a percentage.
const (
	tinyShare = "<0.1%"
	newHere   = "new"
)

func shareText(part, whole *big.Int) string {
	tenths := report.Tenths(part, whole)
	switch {
	case tenths == nil:
		return ""
	case part.Sign() != 0 && new(big.Int).Mul(part, big.NewInt(1000)).CmpAbs(whole) < 0:
		return tinyShare
	case part.CmpAbs(whole) < 0 && tenths.CmpAbs(big.NewInt(995)) >= 0:
		return ">99%" // others have the rest
	}
	return roundText(tenths, 10)
}

// isNew reports whether there were no rebates in the period before.
func isNew(r report.Row) bool {
	return r.Change == nil && r.PreviousRebates != nil && r.Rebates.Sign() != 0
}

// changeText returns the change since the period before, of a total to a tenth of a percent.
func changeText(r report.Row, total bool) string {
	switch {
	case isNew(r):
		return "  " + newHere
	case r.Change == nil:
		return ""
	}
	exact := int64(100) // from which on tenths are left out
	if total {
		exact = 1000
	}
	sign := map[int]string{-1: "▼ ", 0: "  ", 1: "▲ "}[r.Change.Sign()]
	if r.Rebates.Sign() != 0 && r.Change.Sign() < 0 && roundText(r.Change, exact) == "100%" {
		return sign + ">99%" // all of it is not lost
	}
	return sign + roundText(new(big.Int).Abs(r.Change), exact)
}

func changeSign(r report.Row) int {
	if r.Change == nil {
		return 0
	}
	return r.Change.Sign()
}

// roundText returns tenths of a percent, as whole percents from some size on.
func roundText(tenths *big.Int, from int64) string {
	if tenths.CmpAbs(big.NewInt(from)) < 0 {
		return money.Decimal(tenths, 1) + "%"
	}
	whole := new(big.Int).Add(new(big.Int).Abs(tenths), big.NewInt(5))
	return whole.Quo(whole, big.NewInt(10)).String() + "%"
}

// undated says what is missing over time, or returns "".
func (p *reporting) undated() string {
	n, verb := p.report.Undated, "are"
	switch n {
	case 0:
		return ""
	case 1:
		verb = "is"
	}
	return cmdutil.CountOf(n, "invoice") + " without a readable date " + verb + " not in the timelines"
}

// labels tells the resellers with the same label apart.
func (p *reporting) labels() render.Labels {
	labels := render.Labels{}
	for _, standing := range p.report.AllTime() {
		labels.Add(standing.ID, standing.Label)
	}
	return labels
}

// axisText returns the name of a period in a timeline. A week has the name of its Monday.
func axisText(begin time.Time, unit report.Unit) string {
	switch unit {
	case report.Year:
		return begin.Format("2006")
	case report.ByMonth:
		return begin.Format("Jan 2006")
	}
	return begin.Format("2 Jan")
}

// unitText returns the unit of the amounts in a row.
func unitText(r report.Row) string {
	if r.Decimals == money.Unknown {
		return "minor units of " + r.Currency
	}
	return r.Currency
}

// numberText returns an amount without its unit, with the sign for minus that is as wide as a digit.
func numberText(minor *big.Int, decimals int) string {
	text := minor.String()
	if decimals != money.Unknown {
		text = money.Decimal(minor, decimals)
	}
	return strings.Replace(text, "-", "−", 1)
}

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
		if at, ok := report.ParseCreated(r.Last, p.TimeLayout); ok {
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
	name := func(id, label string) string { return strings.Trim(label+" "+labels.Apart(id, label), " ") }
	o := p.Render
	o.Columns = nil
	v := p.pageView(name)
	rows := map[string][]report.Row{}
	for _, r := range p.view(false).Sorted(slices.Collect(p.report.Rows(p.top)), o) {
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
