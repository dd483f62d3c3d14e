package report

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// Group is a property that rows are grouped by, in addition to the currency.
type Group string

// These are the groups. Only a timeline has Year.
const (
	ByReseller Group = "reseller"
	ByCurrency Group = "currency"
	ByDay      Group = "day"
	ByWeek     Group = "week"
	ByMonth    Group = "month"
	ByInvoice  Group = "invoice" // with no other group
	Year       Group = "year"
)

// Groups returns the names of the groups that a query can have.
func Groups() []string {
	return []string{string(ByReseller), string(ByCurrency), string(ByDay), string(ByWeek), string(ByMonth), string(ByInvoice)}
}

// Timed reports whether the group is a period of time.
func (g Group) Timed() bool { return g == ByDay || g == ByWeek || g == ByMonth }

// Query says what to report.
type Query struct {
	By       []Group // also the order in which rows are sorted; at most one is a period of time
	Span     Span
	Now      time.Time // the present second, as the service would write it; zero if nothing depends on it
	Compare  bool      // whether to count the span before too; both ends of Span must be set
	Currency string    // only sums in this currency, in any case; empty: in all
	Layout   string    // of times that are not written as usual
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
	Previous Span // to compare with; open if nothing is compared
	Undated  int  // how many invoices are in the sums but in no timeline, because their time cannot be read

	query    Query
	whole    Span                // that of the query, with the rest of its last week or month
	sellers  []api.ResellerStats // without their invoices
	codes    map[string]int32    // the index in units of a code, folded
	units    []currency
	rows     groups
	invoices []invoice // if the query groups by them
	bySeller groups
	days     groups
	differ   []Difference
}

// currency is a currency under all its spellings.
type currency struct {
	code     string
	decimals int
	known    bool
}

// key is a group and a currency. A property that the group does not have is zero.
type key struct {
	seller, currency int32
	begin            time.Time // of the period
}

// groups holds figures by their key.
type groups map[key]*figure

func (g groups) add(k key, f figure) {
	if g[k] == nil {
		g[k] = &figure{key: k}
	}
	g[k].add(f)
}

// invoice is what an invoice has in one currency.
type invoice struct {
	id               string
	seller, currency int32
	created          moment
	dated            bool // whether the time could be read
	sums             sums
}

// sums are a volume and rebates.
type sums [2]api.Sum

func (s *sums) plus(o sums) {
	s[0].Plus(o[0])
	s[1].Plus(o[1])
}

type figure struct {
	key
	invoices int64
	sums     sums
	before   sums   // in the span before
	last     moment // of those that can be read
}

func (f *figure) add(o figure) {
	f.invoices += o.invoices
	f.sums.plus(o.sums)
	f.before.plus(o.before)
	if o.last.compare(f.last) > 0 {
		f.last = o.last
	}
}

// moment is a time and how it was written.
type moment struct {
	text string
	time time.Time
}

func (m moment) compare(o moment) int {
	return cmp.Or(m.time.Compare(o.time), strings.Compare(m.text, o.text))
}

// Difference is a total of the service that differs from the sum of the single invoices over all time.
type Difference struct {
	ID, Label    string
	What         string // volume or rebates
	Currency     string
	Decimals     int
	Sum, Service *big.Int

	unit int // the index of the currency, which may still get another spelling
}

// New returns an empty report.
func New(q Query) *Report {
	r := &Report{query: q, codes: map[string]int32{}, rows: groups{}, bySeller: groups{}, days: groups{}}
	if q.Compare {
		r.whole, r.Previous = q.Span.whole(q.Now), q.Span.Before(q.Now)
	}
	return r
}

// Add adds a reseller's statistics. If the time of a record matters and cannot be read, Add returns an error,
// and the reseller has no rows and no part in the totals: figures that lack an invoice would be wrong. The
// service's own totals, and how they differ from the sum of the invoices, do not depend on any time and are
// kept.
func (r *Report) Add(stats api.ResellerStats) error {
	seller := int32(len(r.sellers))
	r.sellers = append(r.sellers, api.ResellerStats{ID: stats.ID, Label: stats.Label, InvoiceStats: stats.InvoiceStats,
		TotalVolume: stats.TotalVolume, TotalRebates: stats.TotalRebates})
	parts, err := r.parts(seller, stats.InvoiceRebates)
	all := map[int32]sums{} // over all time
	for _, part := range parts {
		sum := all[part.currency]
		sum.plus(part.sums)
		all[part.currency] = sum
		if err == nil {
			r.count(part)
		}
	}
	for kind, totals := range [2][]api.CodeTotal{stats.TotalVolume, stats.TotalRebates} {
		r.compare(stats, kind, all, totals)
	}
	return err
}

// parts returns what each invoice has in each currency that the query asks for. The error is about the invoices
// whose time matters and cannot be read.
func (r *Report) parts(seller int32, records []api.InvoiceRebate) (parts []invoice, err error) {
	var unread []api.InvoiceRebate
	timed := !r.query.Span.Open() || r.query.unit() != ""
	for _, record := range records {
		at, ok := ParseCreated(record.Created, r.query.Layout)
		part := invoice{id: record.ID, seller: seller, created: moment{record.Created, at}, dated: ok}
		first := len(parts)
		parts = r.appendParts(parts, part, record)
		switch counts := len(parts) > first; {
		case ok:
		case timed && (counts || r.query.Currency == ""):
			unread = append(unread, record)
		case counts:
			r.Undated++
		}
	}
	if len(unread) == 0 {
		return parts, nil
	}
	return parts, Unread("the rebate of invoice "+unread[0].ID, unread[0].Created, len(unread))
}

// appendParts appends a copy of part for each currency of an invoice that the query asks for, with its sums.
func (r *Report) appendParts(parts []invoice, part invoice, record api.InvoiceRebate) []invoice {
	first := len(parts)
	for kind, amounts := range [2]api.CodeAmounts{record.PaidAmount, record.Rebate} {
		for _, amount := range amounts {
			if part.currency = r.currency(amount.Code); !r.wants(part.currency) {
				continue
			}
			i := first
			for i < len(parts) && parts[i].currency != part.currency {
				i++
			}
			if i == len(parts) {
				parts = append(parts, part)
			}
			parts[i].sums[kind].Add(amount.Minor)
		}
	}
	return parts
}

// count adds a part of an invoice to every sum that it belongs to.
func (r *Report) count(part invoice) {
	k, unit, at := key{currency: part.currency}, r.query.unit(), part.created.time
	seller := key{seller: part.seller, currency: part.currency}
	if r.query.has(ByReseller) {
		k = seller
	}
	var f figure
	switch {
	case r.query.Span.Contains(at):
		f = figure{invoices: 1, sums: part.sums}
		if part.dated {
			f.last = part.created
			r.days.add(key{currency: part.currency, begin: dayOf(at)}, f)
		}
		if r.query.has(ByInvoice) {
			r.invoices = append(r.invoices, part)
		}
	case r.query.Compare && r.Previous.Contains(at):
		f = figure{before: part.sums}
		at = r.whole.shift(at, 1)
	default:
		return
	}
	if unit != "" {
		k.begin = unit.Begin(at)
	}
	r.rows.add(k, f)
	r.bySeller.add(seller, f)
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

// currency returns the index of a code's currency in units. If the registry does not know it, its code is the
// first spelling of the service in the order of bytes, which does not depend on the order of the records.
func (r *Report) currency(code string) int32 {
	i, ok := r.codes[fold(code)]
	if !ok {
		i = int32(len(r.units))
		unit := currency{code: code, decimals: money.Unknown}
		if e, known := r.query.Money.Lookup(code); known {
			unit = currency{code: e.Amount(0).Code, decimals: e.Decimals, known: true}
		}
		r.units = append(r.units, unit)
		r.codes[fold(code)] = i
	}
	if u := &r.units[i]; !u.known {
		u.code = min(u.code, code)
	}
	return i
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

// compare records where the service's totals, of volume (0) or rebates (1), differ from the sums.
func (r *Report) compare(stats api.ResellerStats, kind int, all map[int32]sums, totals []api.CodeTotal) {
	service := map[int32]api.Sum{}
	for _, total := range totals {
		for _, amount := range total.Amounts {
			unit := r.currency(amount.Code)
			sum := service[unit]
			sum.Add(amount.Minor)
			service[unit] = sum
		}
	}
	for unit := range r.units {
		mine, theirs := all[int32(unit)][kind], service[int32(unit)]
		if mine != theirs && r.wants(int32(unit)) {
			r.differ = append(r.differ, Difference{ID: stats.ID, Label: stats.Label, What: [2]string{"volume", "rebates"}[kind],
				Sum: mine.Big(), Service: theirs.Big(), unit: unit})
		}
	}
}
