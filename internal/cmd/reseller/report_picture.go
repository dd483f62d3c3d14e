package reseller

import (
	"cmp"
	"fmt"
	"math/big"
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
		earned[r.ID] = true
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
		if before.From != nil && before.From.Year() == p.span.From.Year() {
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

// pictureRow returns the texts of a row.
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
		sum.Change = report.Tenths(new(big.Int).Sub(sum.Rebates, before), before)
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
		all = p.report.AllRows()
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

// shareText returns a part of the whole in percent.
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
