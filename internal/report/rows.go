package report

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Row is what a group has earned in one currency, in its minor unit.
type Row struct {
	ID, Label       string // of the reseller, where rows are grouped by it
	Period          string // 2026-05-03, 2026-W18 or 2026-05, where rows are grouped by one
	Currency        string // as in an amount
	Decimals        int    // money.Unknown where they are
	Invoices        int64  // how many
	Volume, Rebates *big.Int
	Share           *big.Int // of all rebates in the currency, in tenths of a percent; nil where there are none
	Last            string   // the newest created, as it was written; empty where none could be read

	// What follows is nil where nothing is compared. Change is that of the rebates, in tenths of a percent, nil from nothing.
	PreviousVolume, PreviousRebates, Change *big.Int
}

// Rows returns the rows of the query, in the order of its groups: resellers by label, periods by time, currencies by code.
// By resellers alone, or where only the top is wanted, it is the currency and then the larger rebates first.
func (r *Report) Rows() []Row {
	rows := r.makeRows(r.rows, r.query.unit(), r.query.has(ByReseller))
	ranked := r.query.Top > 0 || len(r.query.By) == 1 && r.query.By[0] == ByReseller
	slices.SortFunc(rows, func(a, b Row) int {
		if ranked {
			return byRank(a, b)
		}
		order := 0
		for _, group := range append(slices.Clone(r.query.By), ByCurrency) {
			switch {
			case group == ByReseller:
				order = cmp.Or(order, bySeller(a, b))
			case group == ByCurrency:
				order = cmp.Or(order, byCode(a, b))
			default:
				order = cmp.Or(order, strings.Compare(a.Period, b.Period))
			}
		}
		return cmp.Or(order, byRank(a, b))
	})
	if r.query.Top > 0 {
		rows = top(rows, r.query.Top)
	}
	return rows
}

// Sellers returns a row for each reseller and currency, whatever the query groups by, the largest rebates first.
func (r *Report) Sellers() []Row {
	rows := r.makeRows(r.bySeller, "", true)
	slices.SortFunc(rows, byRank)
	return rows
}

// Totals returns a row for each currency.
func (r *Report) Totals() []Row {
	rows := r.makeRows(r.totals(), "", false)
	slices.SortFunc(rows, byCode)
	return rows
}

func (r *Report) totals() map[key]*figure {
	totals := map[key]*figure{}
	for k, f := range r.bySeller {
		t := entry(totals, key{currency: k.currency})
		t.invoices += f.invoices
		t.volume.plus(f.volume)
		t.rebates.plus(f.rebates)
		for i := range t.before {
			t.before[i].plus(f.before[i])
		}
		t.seen(f.last)
	}
	return totals
}

// Rebates returns all rebates in the currency with that code, in any case.
func (r *Report) Rebates(code string) *big.Int {
	for _, total := range r.Totals() {
		if fold(total.Currency) == fold(code) {
			return total.Rebates
		}
	}
	return new(big.Int)
}

// AllTime returns what the service counts, a reseller each, by label.
func (r *Report) AllTime() []Standing {
	all := slices.Clone(r.sellers)
	slices.SortFunc(all, func(a, b Standing) int { return bySeller(Row{ID: a.ID, Label: a.Label}, Row{ID: b.ID, Label: b.Label}) })
	return all
}

// Differences returns where the service's totals are not the sums, by label.
func (r *Report) Differences() []Difference {
	var all []Difference
	for _, d := range r.differ {
		d.Currency, d.Decimals = r.units[d.unit].code, r.units[d.unit].decimals
		all = append(all, d.Difference)
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(bySeller(Row{ID: a.ID, Label: a.Label}, Row{ID: b.ID, Label: b.Label}), byCode(Row{Currency: a.Currency}, Row{Currency: b.Currency}), strings.Compare(a.What, b.What))
	})
	return all
}

func (r *Report) makeRows(figures map[key]*figure, unit Unit, sellers bool) []Row {
	whole := map[int32]*big.Int{}
	for k, f := range r.totals() {
		whole[k.currency] = f.rebates.big()
	}
	rows := make([]Row, 0, len(figures))
	for k, f := range figures {
		row := Row{
			Currency: r.units[k.currency].code, Decimals: r.units[k.currency].decimals,
			Invoices: f.invoices, Volume: f.volume.big(), Rebates: f.rebates.big(), Last: f.last.text,
		}
		if sellers {
			row.ID, row.Label = r.sellers[k.seller].ID, r.sellers[k.seller].Label
		}
		if unit != "" {
			row.Period = k.begin.name(unit)
		}
		row.Share = tenths(row.Rebates, whole[k.currency])
		if r.query.Compare {
			row.PreviousVolume, row.PreviousRebates = f.before[0].big(), f.before[1].big()
			row.Change = tenths(new(big.Int).Sub(row.Rebates, row.PreviousRebates), new(big.Int).Abs(row.PreviousRebates))
		}
		rows = append(rows, row)
	}
	return rows
}

func bySeller(a, b Row) int {
	return cmp.Or(strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), strings.Compare(a.Label, b.Label), strings.Compare(a.ID, b.ID))
}

func byCode(a, b Row) int {
	return cmp.Or(strings.Compare(fold(a.Currency), fold(b.Currency)), strings.Compare(a.Currency, b.Currency))
}

func byRank(a, b Row) int {
	return cmp.Or(byCode(a, b), b.Rebates.Cmp(a.Rebates), b.Volume.Cmp(a.Volume), strings.Compare(a.Period, b.Period), bySeller(a, b))
}

// top keeps the first n rows of each currency. The rows are sorted by rank.
func top(rows []Row, n int) []Row {
	seen := map[string]int{}
	return slices.DeleteFunc(rows, func(row Row) bool {
		seen[row.Currency]++
		return seen[row.Currency] > n
	})
}

// Timeline is what was earned in one currency over time, in periods without a gap.
type Timeline struct {
	Currency string
	Decimals int
	Unit     Unit
	Points   []Point
	Cut      bool // whether there were more periods than wanted, and the earlier ones are left out
}

// Point is one period of a Timeline.
type Point struct {
	Period  string
	Rebates *big.Int
}

// Timelines returns one for each currency, all over the same time, of at most so many periods. Their unit is that of the
// query, or one that suits the time, or else the next larger one that is few enough.
func (r *Report) Timelines(most int) []Timeline {
	if len(r.days) == 0 || most < 1 {
		return nil
	}
	first, last := r.firstAndLast()
	units := []Unit{ByDay, ByWeek, ByMonth, Year}
	unit := r.query.unit()
	switch days := last - first; {
	case unit != "":
	case days < 45:
		unit = ByDay
	case days < 210:
		unit = ByWeek
	default:
		unit = ByMonth
	}
	count := func(first, last date) int { return 1 + first.begin(unit).steps(unit, last.begin(unit)) }
	for unit != Year && count(first, last) > most {
		unit = units[slices.Index(units, unit)+1]
	}
	from, to := first, last // beyond what there is, as far as was asked for
	if span := r.query.Span; span.From != nil {
		from = dayOf(*span.From)
	}
	if span := r.query.Span; span.To != nil {
		to = dayOf(span.To.Add(-time.Nanosecond))
	}
	if count(from, to) <= most {
		first, last = from, to
	}
	n := count(first, last)
	cut := n > most
	if cut {
		n = most
	}
	begin := last.begin(unit).step(unit, 1-n)
	values := map[int32][]sum{}
	for k, f := range r.days {
		points := values[k.currency]
		if points == nil {
			points = make([]sum, n)
			values[k.currency] = points
		}
		if i := begin.steps(unit, k.begin.begin(unit)); i >= 0 {
			points[i].plus(f.rebates)
		}
	}
	var all []Timeline
	for _, unitOf := range slices.Sorted(maps.Keys(values)) {
		line := Timeline{Currency: r.units[unitOf].code, Decimals: r.units[unitOf].decimals, Unit: unit, Cut: cut}
		for i, s := range values[unitOf] {
			line.Points = append(line.Points, Point{begin.step(unit, i).name(unit), s.big()})
		}
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b Timeline) int { return byCode(Row{Currency: a.Currency}, Row{Currency: b.Currency}) })
	return all
}

func (r *Report) firstAndLast() (first, last date) {
	started := false
	for k := range r.days {
		if !started {
			first, last, started = k.begin, k.begin, true
		}
		first, last = min(first, k.begin), max(last, k.begin)
	}
	return first, last
}
