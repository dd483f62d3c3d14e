package report

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// Group is what rows are made of, beside the currency.
type Group string

// The groups. Year is for a Timeline only.
const (
	ByReseller Group = "reseller"
	ByCurrency Group = "currency"
	ByDay      Group = "day"
	ByWeek     Group = "week"
	ByMonth    Group = "month"
	Year       Group = "year"
)

// Groups returns those that a query may have.
func Groups() []Group { return []Group{ByReseller, ByCurrency, ByDay, ByWeek, ByMonth} }

// Timed reports whether the group is a period of time.
func (g Group) Timed() bool { return g == ByDay || g == ByWeek || g == ByMonth }

// Query is what is asked of the statistics.
type Query struct {
	By      []Group // in this order the rows are sorted; at most one of them is a period of time
	Span    Span
	Compare bool // whether the span before is counted too; both ends of Span must be there
	Top     int  // only so many rows of each currency, those with the largest rebates; 0: all
	Days    bool // whether there will be timelines
	Money   money.Registry
}

func (q Query) has(g Group) bool { return slices.Contains(q.By, g) }

// unit is the period of time that rows are grouped by, or empty.
func (q Query) unit() Unit {
	if i := slices.IndexFunc(q.By, Group.Timed); i >= 0 {
		return q.By[i]
	}
	return ""
}

// Report is what has been added up so far. It is not safe for concurrent use.
type Report struct {
	query    Query
	previous Span
	sellers  []Standing
	codes    map[string]int // as written, and folded
	units    []currency
	rows     map[key]*figure
	bySeller map[key]*figure
	days     map[key]*figure
	differ   []difference
	undated  int
}

// currency is one under all its spellings.
type currency struct {
	code     string
	decimals int
	known    bool
}

// key is a group and a currency. What a group does not have is 0.
type key struct {
	seller   int32
	begin    date // of the period
	currency int32
}

type figure struct {
	invoices        int64
	volume, rebates sum
	before          [2]sum // volume and rebates in the span before
	last            moment
}

// moment is a time as it was written. known says that it could be read, since the zero time can be written too.
type moment struct {
	time  time.Time
	text  string
	known bool
}

// Standing is what the service itself counts for a reseller over all time.
type Standing struct {
	ID, Label       string
	Invoices        []api.StatusCount
	Volume, Rebates []api.CodeTotal
}

// Difference is a total of the service's own that is not the sum of the single invoices over all time.
type Difference struct {
	ID, Label    string
	What         string // volume or rebates
	Currency     string
	Decimals     int
	Sum, Service *big.Int
}

// difference is one whose currency may still get another spelling.
type difference struct {
	Difference
	unit int
}

// New returns an empty report.
func New(q Query) *Report {
	r := &Report{query: q, codes: map[string]int{}, rows: map[key]*figure{}, bySeller: map[key]*figure{}, days: map[key]*figure{}}
	if q.Compare {
		r.previous = q.Span.Before()
	}
	return r
}

// Previous returns the span that is compared with; it is open where there is none.
func (r *Report) Previous() Span { return r.previous }

// Undated returns how many invoices are in the sums and in no Timeline, because their time cannot be read.
func (r *Report) Undated() int { return r.undated }

// Add adds a reseller's statistics. Where the time of a record matters and cannot be read, nothing of the reseller is added.
func (r *Report) Add(stats api.ResellerStats) error {
	times := make([]moment, len(stats.InvoiceRebates))
	for i, record := range stats.InvoiceRebates {
		at, _, ok := ParseWritten(record.Created)
		if !ok && (!r.query.Span.Open() || r.query.unit() != "") {
			return fmt.Errorf("the rebate of invoice %s is in no period, because its created is not a date and time: %.60q", record.ID, record.Created)
		}
		times[i] = moment{at, record.Created, ok}
	}
	seller := int32(len(r.sellers))
	r.sellers = append(r.sellers, Standing{stats.ID, stats.Label, stats.InvoiceStats, stats.TotalVolume, stats.TotalRebates})
	var all [2]map[int32]*sum // of all time
	all[0], all[1] = map[int32]*sum{}, map[int32]*sum{}
	for i, record := range stats.InvoiceRebates {
		named := make([]int32, 0, 4)
		if !times[i].known && len(record.PaidAmount)+len(record.Rebate) > 0 {
			r.undated++
		}
		for kind, amounts := range [2]api.CodeAmounts{record.PaidAmount, record.Rebate} {
			for _, amount := range amounts {
				unit := r.currency(amount.Code)
				r.count(seller, unit, times[i], kind, amount.Minor, !slices.Contains(named, unit))
				named = append(named, unit)
				entry(all[kind], unit).add(amount.Minor)
			}
		}
	}
	for kind, totals := range [2][]api.CodeTotal{stats.TotalVolume, stats.TotalRebates} {
		r.compare(seller, [2]string{"volume", "rebates"}[kind], all[kind], totals)
	}
	return nil
}

func entry[K comparable, V any](m map[K]*V, k K) *V {
	v := m[k]
	if v == nil {
		v = new(V)
		m[k] = v
	}
	return v
}

// count adds one amount, of a volume (0) or of rebates (1), wherever it belongs. first says that the record has not been
// counted in this currency yet.
func (r *Report) count(seller, unit int32, at moment, kind int, minor int64, first bool) {
	period := r.query.unit()
	k := key{currency: unit}
	if r.query.has(ByReseller) {
		k.seller = seller
	}
	day := dayOf(at.time)
	if r.query.Span.contains(at.time) {
		if period != "" {
			k.begin = day.begin(period)
		}
		r.now(r.rows, k, at, kind, minor, first)
		r.now(r.bySeller, key{seller: seller, currency: unit}, at, kind, minor, first)
		if r.query.Days && at.known {
			r.now(r.days, key{begin: day, currency: unit}, at, kind, minor, first)
		}
		return
	}
	if !r.query.Compare || !r.previous.contains(at.time) {
		return
	}
	entry(r.bySeller, key{seller: seller, currency: unit}).before[kind].add(minor)
	if period != "" {
		// It stands beside the period at the same place, if there is one.
		n := dayOf(*r.previous.From).begin(period).steps(period, day.begin(period))
		k.begin = dayOf(*r.query.Span.From).begin(period).step(period, n)
		if !k.begin.time().Before(*r.query.Span.To) {
			return
		}
	}
	entry(r.rows, k).before[kind].add(minor)
}

func (r *Report) now(to map[key]*figure, k key, at moment, kind int, minor int64, first bool) {
	f := entry(to, k)
	if first {
		f.invoices++
	}
	if kind == 0 {
		f.volume.add(minor)
	} else {
		f.rebates.add(minor)
	}
	f.seen(at)
}

func (f *figure) seen(at moment) {
	if at.known && (!f.last.known || cmp.Or(at.time.Compare(f.last.time), strings.Compare(at.text, f.last.text)) > 0) {
		f.last = at
	}
}

// currency returns the number of the currency that a code is of.
func (r *Report) currency(code string) int32 {
	if i, ok := r.codes[code]; ok {
		return int32(i)
	}
	folded := fold(code)
	i, ok := r.codes[folded]
	if !ok {
		i = len(r.units)
		unit := currency{code: code, decimals: money.Unknown}
		if e, known := r.query.Money.Lookup(code); known {
			unit = currency{e.Amount(0).Code, e.Decimals, true}
		}
		r.units = append(r.units, unit)
		r.codes[folded] = i
	}
	if u := &r.units[i]; !u.known && code < u.code { // of the spellings, the one that does not depend on who came first
		u.code = code
	}
	r.codes[code] = i
	return int32(i)
}

// fold is for ASCII alone: a letter that only looks like one of them makes another code.
func fold(code string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, code)
}

// compare notes where the service's totals are others than the sums.
func (r *Report) compare(seller int32, what string, sums map[int32]*sum, totals []api.CodeTotal) {
	service := map[int32]*sum{}
	for _, total := range totals {
		for _, amount := range total.Amounts {
			entry(service, r.currency(amount.Code)).add(amount.Minor)
		}
	}
	for unit := range r.units {
		mine, theirs := entry(sums, int32(unit)), entry(service, int32(unit))
		if *mine != *theirs {
			r.differ = append(r.differ, difference{Difference{
				ID: r.sellers[seller].ID, Label: r.sellers[seller].Label, What: what, Sum: mine.big(), Service: theirs.big(),
			}, unit})
		}
	}
}
