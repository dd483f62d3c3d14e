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
	Share           *big.Int // of all rebates in the currency, in tenths of a percent; nil if there are none
	Last            string   // the newest creation time, as written; empty if none can be read
	Partial         string   // of a period: so far, or in part, if the span or the present cuts it off

	// These are nil if nothing is compared. Change is that of the rebates, in tenths of a percent, nil if
	// there were none before.
	PreviousVolume, PreviousRebates, Change *big.Int
}

// Rows returns the rows of the query in the order of its groups: resellers by label, periods by time,
// currencies by code. If the query groups by resellers alone, or wants only the top, the order is by currency
// and then by rebates, largest first. There can be as many rows as invoices, so each is made when it is
// needed. Do not call Add meanwhile.
func (r *Report) Rows() iter.Seq[Row] { return r.rowsOf(r.query.Top) }

// AllRows returns the rows of the query without regard to its Top.
func (r *Report) AllRows() iter.Seq[Row] { return r.rowsOf(0) }

func (r *Report) rowsOf(top int) iter.Seq[Row] {
	if r.query.has(ByInvoice) {
		return r.invoiceRows()
	}
	return func(yield func(Row) bool) {
		ranks := r.ranks()
		order := make([]*group, 0, r.rows.count())
		for g := range r.rows.all() {
			order = append(order, g)
		}
		by := r.query.By
		if top > 0 || len(by) == 1 && by[0] == ByReseller {
			by = nil
		}
		slices.SortFunc(order, func(a, b *group) int { return cmp.Or(ranks.compareBy(by, a, b), ranks.compare(a, b)) })
		row := r.maker(r.query.unit(), r.query.has(ByReseller))
		shown := map[int32]int{}
		for _, g := range order {
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
				Volume: i.amounts[0].Big(), Rebates: i.amounts[1].Big()}) {
				return
			}
		}
	}
}

// ranks holds the places of resellers and currencies when they are sorted.
type ranks struct{ sellers, units []int32 }

func (r *Report) ranks() ranks {
	return ranks{
		places(len(r.sellers), func(a, b int32) int { return r.sellers[a].compare(r.sellers[b]) }),
		places(len(r.units), func(a, b int32) int { return compareCodes(r.units[a].code, r.units[b].code) }),
	}
}

// places returns the place that each of n things has in an order.
func places(n int, compare func(a, b int32) int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, compare)
	at := make([]int32, n)
	for place, i := range order {
		at[i] = int32(place)
	}
	return at
}

// compareBy orders by the first of the groups in which two differ.
func (r ranks) compareBy(groups []Group, a, b *group) int {
	for _, by := range groups {
		differ := 0
		switch by {
		case ByReseller:
			differ = cmp.Compare(r.sellers[a.seller], r.sellers[b.seller])
		case ByCurrency:
			differ = cmp.Compare(r.units[a.currency], r.units[b.currency])
		default:
			differ = cmp.Compare(a.begin, b.begin)
		}
		if differ != 0 {
			return differ
		}
	}
	return 0
}

// compare orders by currency, and then by rebates, largest first.
func (r ranks) compare(a, b *group) int {
	return cmp.Or(cmp.Compare(r.units[a.currency], r.units[b.currency]), b.rebates.Compare(a.rebates),
		b.volume.Compare(a.volume),
		cmp.Compare(a.begin, b.begin), cmp.Compare(r.sellers[a.seller], r.sellers[b.seller]))
}

// Sellers returns a row for each reseller and currency, however the query groups. The order is by currency
// and then by rebates, largest first.
func (r *Report) Sellers() []Row {
	order := slices.Collect(r.bySeller.all())
	slices.SortFunc(order, r.ranks().compare)
	return r.made(order, true)
}

// Totals returns a row for each currency.
func (r *Report) Totals() []Row {
	order := slices.Collect(maps.Values(r.totals()))
	slices.SortFunc(order, r.ranks().compare)
	return r.made(order, false)
}

func (r *Report) made(order []*group, sellers bool) []Row {
	row := r.maker("", sellers)
	rows := make([]Row, len(order))
	for i, g := range order {
		rows[i] = row(g)
	}
	return rows
}

func (r *Report) totals() map[int32]*group {
	totals := map[int32]*group{}
	for g := range r.bySeller.all() {
		t := entry(totals, g.currency)
		t.currency = g.currency
		t.invoices += g.invoices
		t.volume.Plus(g.volume)
		t.rebates.Plus(g.rebates)
		if g.before != nil {
			t.previous()[0].Plus(g.before[0])
			t.previous()[1].Plus(g.before[1])
		}
		t.seen(g.last)
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

// AllTime returns what the service counts for each reseller, sorted by label.
func (r *Report) AllTime() []Standing {
	all := slices.Clone(r.sellers)
	slices.SortFunc(all, Standing.compare)
	return all
}

// compare orders by label, without regard to case unless nothing else differs.
func (s Standing) compare(other Standing) int {
	return cmp.Or(strings.Compare(strings.ToLower(s.Label), strings.ToLower(other.Label)),
		strings.Compare(s.Label, other.Label), strings.Compare(s.ID, other.ID))
}

// Differences returns where the service's totals differ from the sums, sorted by label.
func (r *Report) Differences() []Difference {
	var all []Difference
	for _, d := range r.differ {
		d.Currency, d.Decimals = r.units[d.unit].code, r.units[d.unit].decimals
		all = append(all, d.Difference)
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(Standing{ID: a.ID, Label: a.Label}.compare(Standing{ID: b.ID, Label: b.Label}),
			compareCodes(a.Currency, b.Currency), strings.Compare(a.What, b.What))
	})
	return all
}

// maker returns a function that makes rows of groups.
func (r *Report) maker(unit Unit, sellers bool) func(*group) Row {
	whole := map[int32]*big.Int{}
	for unit, total := range r.totals() {
		whole[unit] = total.rebates.Big()
	}
	return func(g *group) Row {
		row := Row{
			Currency: r.units[g.currency].code, Decimals: r.units[g.currency].decimals,
			Invoices: g.invoices, Volume: g.volume.Big(), Rebates: g.rebates.Big(), Last: g.last.text,
		}
		if sellers {
			row.ID, row.Label = r.sellers[g.seller].ID, r.sellers[g.seller].Label
		}
		if unit != "" {
			row.Period, row.Partial = g.begin.name(unit), r.partial(unit, g.begin)
		}
		row.Share = Tenths(row.Rebates, whole[g.currency])
		if r.query.Compare {
			before := [2]api.Sum{}
			if g.before != nil {
				before = *g.before
			}
			row.PreviousVolume, row.PreviousRebates = before[0].Big(), before[1].Big()
			row.Change = Tenths(new(big.Int).Sub(row.Rebates, row.PreviousRebates),
				new(big.Int).Abs(row.PreviousRebates))
		}
		return row
	}
}

// partial says whether a period is whole.
func (r *Report) partial(unit Unit, begin date) string {
	end, span := begin.step(unit, 1).time(), r.query.Span
	switch now := r.query.Now; {
	case !now.IsZero() && end.After(now) && (span.To == nil || span.Running(now)):
		return "so far"
	case span.From != nil && begin.time().Before(*span.From), span.To != nil && end.After(*span.To):
		return "in part"
	}
	return ""
}

func compareCodes(a, b string) int {
	return cmp.Or(strings.Compare(fold(a), fold(b)), strings.Compare(a, b))
}

// Spellings returns the spellings of each currency that the registry does not know and the service writes in
// more than one way. The first is the one in the rows.
func (r *Report) Spellings() [][]string {
	var all [][]string
	for i, unit := range r.units {
		if len(unit.others) > 0 && r.wants(int32(i)) {
			all = append(all, append([]string{unit.code}, slices.Sorted(slices.Values(unit.others))...))
		}
	}
	slices.SortFunc(all, func(a, b []string) int { return compareCodes(a[0], b[0]) })
	return all
}

// Timeline is what was earned in one currency over time, in periods without a gap.
type Timeline struct {
	Currency string
	Decimals int
	Unit     Unit
	Points   []Point
	Cut      bool // whether earlier periods are left out because there are too many
}

// Point is one period of a Timeline.
type Point struct {
	Period  string
	Begin   time.Time // midnight of its first day, in UTC
	Rebates *big.Int
	Partial string // as that of a Row
}

// Timelines returns a Timeline for each currency, all over the same time, each with at most so many periods.
// They end with the query's span or with today, whatever comes first, even if nothing was earned lately. The
// unit is that of the query, or one that suits the time. If it gives too many periods, the next larger unit
// that gives few enough is used.
func (r *Report) Timelines(most int) []Timeline {
	if r.days.count() == 0 || most < 1 {
		return nil
	}
	first, last := r.timelineEnds(most)
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
	for unit != Year && count(unit, first, last) > most {
		unit = units[slices.Index(units, unit)+1]
	}
	n := count(unit, first, last)
	cut := n > most
	if cut {
		n = most
	}
	begin := last.begin(unit).step(unit, 1-n)
	values := map[int32][]api.Sum{}
	for g := range r.days.all() {
		points := values[g.currency]
		if points == nil {
			points = make([]api.Sum, n)
			values[g.currency] = points
		}
		if i := begin.steps(unit, g.begin.begin(unit)); i >= 0 {
			points[i].Plus(g.rebates)
		}
	}
	var all []Timeline
	for _, unitOf := range slices.Sorted(maps.Keys(values)) {
		line := Timeline{Currency: r.units[unitOf].code, Decimals: r.units[unitOf].decimals, Unit: unit, Cut: cut}
		for i, s := range values[unitOf] {
			at := begin.step(unit, i)
			line.Points = append(line.Points, Point{at.name(unit), at.time(), s.Big(), r.partial(unit, at)})
		}
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b Timeline) int { return compareCodes(a.Currency, b.Currency) })
	return all
}

// count returns how many periods there are from one day to another.
func count(unit Unit, first, last date) int {
	return 1 + first.begin(unit).steps(unit, last.begin(unit))
}

// timelineEnds returns the first and last day of the timelines. They begin with the span, unless it has more
// than so many months.
func (r *Report) timelineEnds(most int) (first, last date) {
	started := false
	for g := range r.days.all() {
		if !started {
			first, last, started = g.begin, g.begin, true
		}
		first, last = min(first, g.begin), max(last, g.begin)
	}
	span, now := r.query.Span, r.query.Now
	running := span.Open() || span.Running(now)
	switch {
	case span.To != nil && !running:
		last = dayOf(span.To.Add(-time.Nanosecond))
	case running && !now.IsZero():
		last = max(last, dayOf(now))
	}
	if span.From != nil && count(ByMonth, dayOf(*span.From), last) <= most {
		first = dayOf(*span.From)
	}
	return first, last
}
