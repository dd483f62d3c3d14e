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

// Group is a property that rows are grouped by, in addition to the currency.
type Group string

// These are the groups. Only a Timeline has Year.
const (
	ByReseller Group = "reseller"
	ByCurrency Group = "currency"
	ByDay      Group = "day"
	ByWeek     Group = "week"
	ByMonth    Group = "month"
	ByInvoice  Group = "invoice" // with no other group
	Year       Group = "year"
)

// Groups returns the groups that a query can have.
func Groups() []Group { return []Group{ByReseller, ByCurrency, ByDay, ByWeek, ByMonth, ByInvoice} }

// Timed reports whether the group is a period of time.
func (g Group) Timed() bool { return g == ByDay || g == ByWeek || g == ByMonth }

// Query says what to report.
type Query struct {
	By       []Group // also the order in which rows are sorted; at most one is a period of time
	Span     Span
	Now      time.Time // the present second, as the service would write it; zero if nothing depends on it
	Compare  bool      // whether to count the span before too; both ends of Span must be set
	Currency string    // only sums in this currency, in any case; empty: in all
	Top      int       // only so many rows of each currency, with the largest rebates; 0: all
	Days     bool      // whether Timelines will be called
	Money    money.Registry
}

func (q Query) has(g Group) bool { return slices.Contains(q.By, g) }

// unit returns the period of time that rows are grouped by, or an empty one.
func (q Query) unit() Unit {
	if i := slices.IndexFunc(q.By, Group.Timed); i >= 0 {
		return q.By[i]
	}
	return ""
}

// Report holds the sums so far. It is not safe for concurrent use.
type Report struct {
	query    Query
	whole    Span // that of the query, with the rest of its last week or month
	previous Span
	sellers  []Standing
	codes    map[string]int // as written
	folded   map[string]int
	units    []currency
	rows     groups
	invoices []invoice // if the query groups by them
	bySeller groups
	days     groups
	differ   []difference
	undated  int
}

// currency is a currency under all its spellings.
type currency struct {
	code     string
	decimals int
	known    bool
	others   []string // spellings other than code, if the registry does not know it
}

// key is a group and a currency. A property that the group does not have is 0.
type key struct {
	seller   int32
	begin    date // the first day of the period
	currency int32
}

// invoice is what an invoice has in one currency.
type invoice struct {
	id               string
	seller, currency int32
	created          moment
	amounts          [2]api.Sum // paid, and rebate
}

type figure struct {
	invoices        int64
	volume, rebates api.Sum
	before          *[2]api.Sum // volume and rebates in the span before, if there were any
	last            moment
}

// previous returns the sums of the span before.
func (f *figure) previous() *[2]api.Sum {
	if f.before == nil {
		f.before = new([2]api.Sum)
	}
	return f.before
}

// moment is a time as it was written, its day, and its nanosecond in that day. If it could not be read, text
// is empty.
type moment struct {
	text string
	nano int64
	day  date
}

func momentOf(at time.Time, text string) moment {
	day := dayOf(at)
	return moment{text, int64(at.Sub(day.time())), day}
}

func (m moment) time() time.Time { return m.day.time().Add(time.Duration(m.nano)) }

func (m moment) compare(other moment) int {
	return cmp.Or(cmp.Compare(m.day, other.day), cmp.Compare(m.nano, other.nano), strings.Compare(m.text, other.text))
}

// Standing is what the service itself counts for a reseller over all time.
type Standing struct {
	ID, Label       string
	Invoices        []api.StatusCount
	Volume, Rebates []api.CodeTotal
}

// Difference is a total of the service that differs from the sum of the single invoices over all time.
type Difference struct {
	ID, Label    string
	What         string // volume or rebates
	Currency     string
	Decimals     int
	Sum, Service *big.Int
}

// difference is a Difference whose currency may still get another spelling.
type difference struct {
	Difference
	unit int
}

// New returns an empty report.
func New(q Query) *Report {
	r := &Report{query: q, codes: map[string]int{}, folded: map[string]int{}}
	if q.Compare {
		r.whole, r.previous = q.Span.whole(q.Now), q.Span.Before(q.Now)
	}
	return r
}

// Previous returns the span to compare with. It is open if nothing is compared.
func (r *Report) Previous() Span { return r.previous }

// Undated returns how many invoices are in the sums but in no Timeline, because their time cannot be read.
func (r *Report) Undated() int { return r.undated }

// Add adds a reseller's statistics. If the time of a record matters and cannot be read, Add returns an error,
// and the reseller has no rows and no part in the totals: figures that lack an invoice would be wrong. The
// service's own totals, and how they differ from the sum of the invoices, do not depend on any time and are
// kept.
func (r *Report) Add(stats api.ResellerStats) error {
	seller := int32(len(r.sellers))
	r.sellers = append(r.sellers,
		Standing{stats.ID, stats.Label, stats.InvoiceStats, stats.TotalVolume, stats.TotalRebates})
	if r.query.Currency != "" {
		stats = r.only(stats)
	}
	times, err := r.times(stats.InvoiceRebates)
	var all [2]map[int32]*api.Sum // over all time
	all[0], all[1] = map[int32]*api.Sum{}, map[int32]*api.Sum{}
	for i, record := range stats.InvoiceRebates {
		named := make([]int32, 0, 4)
		if err == nil && times[i].text == "" && len(record.PaidAmount)+len(record.Rebate) > 0 {
			r.undated++
		}
		for kind, amounts := range [2]api.CodeAmounts{record.PaidAmount, record.Rebate} {
			for _, amount := range amounts {
				unit := r.currency(amount.Code)
				if first := !slices.Contains(named, unit); err == nil {
					r.count(seller, unit, times[i], kind, amount.Minor, first)
					r.list(seller, unit, record.ID, times[i], kind, amount.Minor, first)
				}
				named = append(named, unit)
				entry(all[kind], unit).Add(amount.Minor)
			}
		}
	}
	r.bySeller.settle()
	if r.query.has(ByReseller) {
		r.rows.settle()
	}
	for kind, totals := range [2][]api.CodeTotal{stats.TotalVolume, stats.TotalRebates} {
		r.compare(seller, [2]string{"volume", "rebates"}[kind], all[kind], totals)
	}
	return err
}

// only returns the statistics without the amounts in other currencies than the query's.
func (r *Report) only(stats api.ResellerStats) api.ResellerStats {
	amounts := func(all api.CodeAmounts) (kept api.CodeAmounts) {
		for _, amount := range all {
			if r.wants(r.currency(amount.Code)) {
				kept = append(kept, amount)
			}
		}
		return kept
	}
	totals := func(all []api.CodeTotal) (kept []api.CodeTotal) {
		for _, total := range all {
			kept = append(kept, api.CodeTotal{Code: total.Code, Amounts: amounts(total.Amounts)})
		}
		return kept
	}
	var records []api.InvoiceRebate
	for _, record := range stats.InvoiceRebates {
		record.PaidAmount, record.Rebate = amounts(record.PaidAmount), amounts(record.Rebate)
		if len(record.PaidAmount)+len(record.Rebate) > 0 {
			records = append(records, record)
		}
	}
	stats.InvoiceRebates = records
	stats.TotalVolume, stats.TotalRebates = totals(stats.TotalVolume), totals(stats.TotalRebates)
	return stats
}

// wants reports whether the query asks for a currency.
func (r *Report) wants(unit int32) bool {
	return r.query.Currency == "" || fold(r.units[unit].code) == fold(r.query.Currency)
}

// Codes returns the currencies that the service has named, sorted. They do not depend on the query.
func (r *Report) Codes() []string {
	var codes []string
	for _, unit := range r.units {
		codes = append(codes, unit.code)
	}
	slices.SortFunc(codes, compareCodes)
	return codes
}

// times returns when the invoices were created. The error is about those whose time matters and cannot be
// read.
func (r *Report) times(records []api.InvoiceRebate) ([]moment, error) {
	times := make([]moment, len(records))
	var first *api.InvoiceRebate
	others := 0
	for i, record := range records {
		at, _, ok := ParseWritten(record.Created)
		switch {
		case ok:
			times[i] = momentOf(at, record.Created)
		case first == nil:
			first = &records[i]
		default:
			others++
		}
	}
	if first == nil || r.query.Span.Open() && r.query.unit() == "" {
		return times, nil
	}
	more := ""
	if others > 0 {
		more = fmt.Sprintf(", and %d more like it", others)
	}
	return nil, fmt.Errorf("the rebate of invoice %s is in no period, because its created is not a date and time: %.60q%s", first.ID, first.Created, more)
}

func entry[K comparable, V any](m map[K]*V, k K) *V {
	v := m[k]
	if v == nil {
		v = new(V)
		m[k] = v
	}
	return v
}

// count adds one amount, of a volume (0) or of rebates (1), to every sum that it belongs to. first says that
// the record has not counted in this currency yet.
func (r *Report) count(seller, unit int32, at moment, kind int, minor int64, first bool) {
	period := r.query.unit()
	k := key{currency: unit}
	if r.query.has(ByReseller) {
		k.seller = seller
	}
	if r.within(at) {
		if period != "" {
			k.begin = at.day.begin(period)
		}
		r.rows.at(k).now(at, kind, minor, first)
		r.bySeller.at(key{seller: seller, currency: unit}).now(at, kind, minor, first)
		if r.query.Days && at.text != "" {
			r.days.at(key{begin: at.day, currency: unit}).now(at, kind, minor, first)
		}
		return
	}
	if !r.query.Compare || !r.previous.Contains(at.time()) {
		return
	}
	r.bySeller.at(key{seller: seller, currency: unit}).previous()[kind].Add(minor)
	if period != "" {
		k.begin = dayOf(r.whole.shift(at.time(), 1)).begin(period)
	}
	r.rows.at(k).previous()[kind].Add(minor)
}

func (r *Report) within(at moment) bool {
	return r.query.Span.Open() || r.query.Span.Contains(at.time())
}

// list adds an amount of an invoice, of a volume (0) or of rebates (1), to the rows of a query by invoices.
func (r *Report) list(seller, unit int32, id string, at moment, kind int, minor int64, first bool) {
	if !r.query.has(ByInvoice) || !r.within(at) {
		return
	}
	if first {
		r.invoices = append(r.invoices, invoice{id: id, seller: seller, currency: unit, created: at})
	}
	for i := len(r.invoices) - 1; i >= 0; i-- { // its rows are the last ones
		if r.invoices[i].currency == unit {
			r.invoices[i].amounts[kind].Add(minor)
			return
		}
	}
}

func (f *figure) now(at moment, kind int, minor int64, first bool) {
	if first {
		f.invoices++
	}
	if kind == 0 {
		f.volume.Add(minor)
	} else {
		f.rebates.Add(minor)
	}
	f.seen(at)
}

func (f *figure) seen(at moment) {
	if at.text != "" && (f.last.text == "" || at.compare(f.last) > 0) {
		f.last = at
	}
}

// Spell adds a spelling of a code by the service. For a currency that is not known, the caller should pass
// every spelling of the service to Spell or Add, even if some statistics cannot be read: the spellings decide
// which one the rows have.
func (r *Report) Spell(code string) { r.currency(code) }

// currency returns the index of a code's currency in units.
func (r *Report) currency(code string) int32 {
	if i, ok := r.codes[code]; ok {
		return int32(i)
	}
	folded := fold(code)
	i, ok := r.folded[folded]
	if !ok {
		i = len(r.units)
		unit := currency{code: code, decimals: money.Unknown}
		if e, known := r.query.Money.Lookup(code); known {
			unit = currency{code: e.Amount(0).Code, decimals: e.Decimals, known: true}
		}
		r.units = append(r.units, unit)
		r.folded[folded] = i
	}
	if u := &r.units[i]; !u.known && code != u.code {
		if code < u.code { // choose a spelling that does not depend on the order
			u.code, code = code, u.code
		}
		u.others = append(u.others, code)
	}
	r.codes[code] = i
	return int32(i)
}

// fold folds only ASCII letters: a letter that looks like one of them makes another code.
func fold(code string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, code)
}

// compare records where the service's totals differ from the sums.
func (r *Report) compare(seller int32, what string, sums map[int32]*api.Sum, totals []api.CodeTotal) {
	service := map[int32]*api.Sum{}
	for _, total := range totals {
		for _, amount := range total.Amounts {
			entry(service, r.currency(amount.Code)).Add(amount.Minor)
		}
	}
	for unit := range r.units {
		mine, theirs := entry(sums, int32(unit)), entry(service, int32(unit))
		if *mine != *theirs {
			r.differ = append(r.differ, difference{Difference{
				ID: r.sellers[seller].ID, Label: r.sellers[seller].Label, What: what, Sum: mine.Big(),
				Service: theirs.Big(),
			}, unit})
		}
	}
}
