package report

import (
	"cmp"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api"
)

// Row is what a group has earned in one currency, in minor units.
type Row struct {
	ID, Label       string // of the reseller, if rows are grouped by it or by invoice
	Invoice         string // its id, if rows are grouped by it
	Period          string // 2026-05-03, 2026-W18 or 2026-05, if rows are grouped by a period
	Currency        string // as in an amount
	Decimals        int    // money.Unknown if unknown
	Invoices        int64  // how many
	Volume, Rebates *big.Int
	Whole           *big.Int // all rebates in the currency
	Share           *big.Int // of the whole, in tenths of a percent; nil if there is none
	Mixed           bool     // rows of the currency have gains and losses, so shares say nothing
	Last            string   // the newest creation time that can be read, or that of the one invoice, as written
	Partial         string   // of a period: so far, or in part, if the span or the present cuts it off

	// These are nil if nothing is compared. Change is that of the rebates, in tenths of a percent, nil if
	// there were none before.
	PreviousVolume, PreviousRebates, Change *big.Int
}

// Rows returns the rows of the query in the order of its groups: resellers by label, periods by time,
// currencies by code. If the query groups by resellers alone, the order is by currency and then by rebates,
// largest first. So it is with top, and only so many rows of each currency are returned. There can be as many
// rows as invoices, so each is made when it is needed. Do not call Add meanwhile.
func (r *Report) Rows(top int) iter.Seq[Row] {
	if r.query.has(ByInvoice) {
		return r.invoiceRows()
	}
	by := r.query.By
	if top > 0 || len(by) == 1 && by[0] == ByReseller {
		by = nil
	}
	return r.made(r.rows, by, top, r.maker(r.query.unit(), r.query.has(ByReseller), r.rows))
}

// made yields the rows of groups, sorted by some properties: the first top of each currency, or all.
func (r *Report) made(all groups, by []Group, top int, row func(*figure) Row) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		shown := map[int32]int{}
		for _, g := range slices.SortedFunc(maps.Values(all), r.order(by)) {
			if shown[g.currency]++; top > 0 && shown[g.currency] > top {
				continue
			}
			if !yield(row(g)) {
				return
			}
		}
	}
}

// invoiceRows yields a row for each invoice and currency, the oldest first.
func (r *Report) invoiceRows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		slices.SortFunc(r.invoices, func(a, b invoice) int {
			return cmp.Or(a.created.compare(b.created), cmp.Compare(a.id, b.id), compareCodes(r.units[a.currency].code, r.units[b.currency].code))
		})
		for _, i := range r.invoices {
			if !yield(Row{ID: r.sellers[i.seller].ID, Label: r.sellers[i.seller].Label, Invoice: i.id, Last: i.created.text,
				Currency: r.units[i.currency].code, Decimals: r.units[i.currency].decimals, Invoices: 1,
				Volume: i.sums[0].Big(), Rebates: i.sums[1].Big()}) {
				return
			}
		}
	}
}

// order returns how rows are sorted: by the groups, then by currency, and then by rebates, largest first.
func (r *Report) order(by []Group) func(a, b *figure) int {
	sellers := places(r.sellers, compareSellers)
	units := places(r.units, func(a, b currency) int { return compareCodes(a.code, b.code) })
	return func(a, b *figure) int {
		seller, unit := sellers[a.seller]-sellers[b.seller], units[a.currency]-units[b.currency]
		for _, g := range by {
			differ := unit
			switch g {
			case ByReseller:
				differ = seller
			case ByCurrency:
			default:
				differ = a.begin.Compare(b.begin)
			}
			if differ != 0 {
				return differ
			}
		}
		return cmp.Or(unit, b.sums[1].Compare(a.sums[1]), b.sums[0].Compare(a.sums[0]), a.begin.Compare(b.begin), seller)
	}
}

// places returns the place that each of some things has in an order.
func places[T any](all []T, compare func(a, b T) int) []int {
	order, at := make([]int, len(all)), make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compare(all[a], all[b]) })
	for place, i := range order {
		at[i] = place
	}
	return at
}

// Sellers returns a row for each reseller and currency, however the query groups. The order is by currency
// and then by rebates, largest first.
func (r *Report) Sellers() []Row {
	return slices.Collect(r.made(r.bySeller, nil, 0, r.maker("", true, r.bySeller)))
}

// Totals returns a row for each currency.
func (r *Report) Totals() []Row {
	return slices.Collect(r.made(r.totals(), nil, 0, r.maker("", false, r.rows)))
}

func (r *Report) totals() groups {
	totals := groups{}
	for k, f := range r.bySeller {
		totals.add(key{currency: k.currency}, *f)
	}
	return totals
}

// Rebates returns all rebates in the currency with this code, in any case.
func (r *Report) Rebates(code string) *big.Int {
	for _, total := range r.Totals() {
		if fold(total.Currency) == fold(code) {
			return total.Rebates
		}
	}
	return new(big.Int)
}

// AllTime returns what the service itself counts for each reseller over all time, without the invoices, sorted
// by label.
func (r *Report) AllTime() []api.ResellerStats {
	return slices.SortedFunc(slices.Values(r.sellers), compareSellers)
}

func compareSellers(a, b api.ResellerStats) int { return CompareLabels(a.Label, a.ID, b.Label, b.ID) }

// CompareLabels orders resellers by label, without regard to case unless nothing else differs.
func CompareLabels(label, id, otherLabel, otherID string) int {
	return cmp.Or(strings.Compare(strings.ToLower(label), strings.ToLower(otherLabel)),
		strings.Compare(label, otherLabel), strings.Compare(id, otherID))
}

// Differences returns where the service's totals differ from the sums, sorted by label.
func (r *Report) Differences() []Difference {
	all := slices.Clone(r.differ)
	for i := range all {
		all[i].Currency, all[i].Decimals = r.units[all[i].unit].code, r.units[all[i].unit].decimals
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(CompareLabels(a.Label, a.ID, b.Label, b.ID),
			compareCodes(a.Currency, b.Currency), strings.Compare(a.What, b.What))
	})
	return all
}

// maker returns a function that makes rows of groups. all has the groups that have shares of a total.
func (r *Report) maker(unit Unit, sellers bool, all groups) func(*figure) Row {
	whole, signs := map[int32]*big.Int{}, map[[2]int32]bool{} // a currency, and a sign that its groups have
	for _, total := range r.totals() {
		whole[total.currency] = total.sums[1].Big()
	}
	for _, g := range all {
		signs[[2]int32{g.currency, int32(g.sums[1].Compare(api.Sum{}))}] = true
	}
	return func(g *figure) Row {
		row := Row{
			Currency: r.units[g.currency].code, Decimals: r.units[g.currency].decimals,
			Invoices: g.invoices, Volume: g.sums[0].Big(), Rebates: g.sums[1].Big(), Last: g.last.text,
			Whole: whole[g.currency], Mixed: signs[[2]int32{g.currency, 1}] && signs[[2]int32{g.currency, -1}],
		}
		if sellers {
			row.ID, row.Label = r.sellers[g.seller].ID, r.sellers[g.seller].Label
		}
		if unit != "" {
			row.Period, row.Partial = unit.name(g.begin), r.partial(unit, g.begin)
		}
		row.Share = Tenths(row.Rebates, row.Whole)
		if r.query.Compare {
			row.PreviousVolume, row.PreviousRebates = g.before[0].Big(), g.before[1].Big()
			row.Change = Tenths(new(big.Int).Sub(row.Rebates, row.PreviousRebates),
				new(big.Int).Abs(row.PreviousRebates))
		}
		return row
	}
}

// Tenths returns part of whole in tenths of a percent, rounded half away from zero, or nil if whole is 0.
func Tenths(part, whole *big.Int) *big.Int {
	if whole.Sign() == 0 {
		return nil
	}
	size := new(big.Int).Abs(whole)
	n := new(big.Int).Abs(part)
	n.Mul(n, big.NewInt(2000)).Add(n, size)
	n.Quo(n, size.Lsh(size, 1))
	if part.Sign() != whole.Sign() {
		n.Neg(n)
	}
	return n
}

// partial says whether a period is whole.
func (r *Report) partial(unit Unit, begin time.Time) string {
	end, span := unit.Step(begin, 1), r.query.Span
	switch now := r.query.Now; {
	case !now.IsZero() && end.After(now) && (span.To.IsZero() || span.Running(now)):
		return "so far"
	case begin.Before(span.From), !span.To.IsZero() && end.After(span.To):
		return "in part"
	}
	return ""
}

func compareCodes(a, b string) int {
	return cmp.Or(strings.Compare(fold(a), fold(b)), strings.Compare(a, b))
}

// Point is one period of a timeline.
type Point struct {
	Begin   time.Time // midnight of its first day, in UTC
	Rebates *big.Int
	Partial string // as that of a Row
}

// Timeline returns what was earned in a currency over time, in periods without a gap, at most so many: the
// latest ones. All currencies have the same periods. They end with the query's span or with today, whatever
// comes first, even if nothing was earned lately. The unit is that of the query, or one that suits the time. If
// it gives too many periods, the next larger unit that gives few enough is used.
func (r *Report) Timeline(code string, most int) (unit Unit, points []Point) {
	if len(r.days) == 0 {
		return "", nil
	}
	first, last := r.timelineEnds(most)
	unit = r.query.unit()
	switch days := ByDay.steps(first, last); {
	case unit != "":
	case days < 45:
		unit = ByDay
	case days < 210:
		unit = ByWeek
	default:
		unit = ByMonth
	}
	units := []Unit{ByDay, ByWeek, ByMonth, Year}
	for unit != Year && unit.count(first, last) > most {
		unit = units[slices.Index(units, unit)+1]
	}
	n := min(unit.count(first, last), most)
	begin := unit.Step(unit.Begin(last), 1-n)
	of, sums := r.codes[fold(code)], make([]api.Sum, n)
	for _, g := range r.days {
		if i := unit.steps(begin, unit.Begin(g.begin)); i >= 0 && g.currency == of {
			sums[i].Plus(g.sums[1])
		}
	}
	for i, sum := range sums {
		at := unit.Step(begin, i)
		points = append(points, Point{at, sum.Big(), r.partial(unit, at)})
	}
	return unit, points
}

// timelineEnds returns the first and last day of the timelines. They begin with the span, unless it has more
// than so many months.
func (r *Report) timelineEnds(most int) (first, last time.Time) {
	days := slices.SortedFunc(maps.Keys(r.days), func(a, b key) int { return a.begin.Compare(b.begin) })
	first, last = days[0].begin, days[len(days)-1].begin
	span, now := r.query.Span, r.query.Now
	running := span.Open() || span.Running(now)
	switch {
	case !span.To.IsZero() && !running:
		last = dayOf(span.To.Add(-time.Nanosecond))
	case running && !now.IsZero() && now.After(last):
		last = dayOf(now)
	}
	if !span.From.IsZero() && ByMonth.count(dayOf(span.From), last) <= most {
		first = dayOf(span.From)
	}
	return first, last
}
