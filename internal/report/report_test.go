package report

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	north = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	south = "8c9e6679-7425-40de-944b-e07fc1f90ae7"
)

// one returns the record of an invoice. A tenth of what was paid is the rebate.
func one(created, code string, paid int64) api.InvoiceRebate {
	return api.InvoiceRebate{ID: created, Created: created, PaidAmount: api.CodeAmounts{{Code: code, Minor: paid}},
		Rebate: api.CodeAmounts{{Code: code, Minor: paid / 10}}}
}

func added(t *testing.T, q Query, all ...api.ResellerStats) *Report {
	t.Helper()
	r := New(q)
	for _, stats := range all {
		must(t, r.Add(stats))
	}
	return r
}

// brief formats each row as a line.
func brief(rows iter.Seq[Row]) []string {
	lines := []string{}
	for r := range rows {
		line := fmt.Sprintf("%s %s %s n=%d volume=%d rebates=%d share=%v last=%s", r.Label, r.Period, r.Currency, r.Invoices,
			r.Volume, r.Rebates, r.Share, r.Last)
		if r.PreviousRebates != nil {
			line += fmt.Sprintf(" before=%d/%d change=%v", r.PreviousVolume, r.PreviousRebates, r.Change)
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func totals(r *Report) []string { return brief(slices.Values(r.Totals())) }

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func written(t *testing.T, text string) time.Time {
	t.Helper()
	at, rest, ok := ParseWritten(text)
	if !ok || rest != "" {
		t.Fatalf("%q is not a time", text)
	}
	return at
}

func span(t *testing.T, from, to string) Span {
	t.Helper()
	return Span{From: written(t, from), To: written(t, to)}
}

// TestCurrenciesAreNeverAdded checks that a record counts once in each currency that it names, and that
// different currencies are never added.
func TestCurrenciesAreNeverAdded(t *testing.T) {
	record := api.InvoiceRebate{
		ID: "i", Created: "2026-05-03T10:00:00",
		PaidAmount: api.CodeAmounts{{Code: "Doge", Minor: 500}, {Code: "USD", Minor: 100}, {Code: "usd", Minor: 1}},
		Rebate: api.CodeAmounts{{Code: "DOGE", Minor: 5}, {Code: "Usdt", Minor: 7}, {Code: "ＵＳＤ", Minor: 9},
			{Code: "USK", Minor: 1}, {Code: "US\u212a", Minor: 2}},
	}
	want := []string{
		"DOGE n=1 volume=500 rebates=5 share=1000 last=2026-05-03T10:00:00",
		"USD n=1 volume=101 rebates=0 share=<nil> last=2026-05-03T10:00:00",
		"Usdt n=1 volume=0 rebates=7 share=1000 last=2026-05-03T10:00:00",
		"USK n=1 volume=0 rebates=1 share=1000 last=2026-05-03T10:00:00",
		"US\u212a n=1 volume=0 rebates=2 share=1000 last=2026-05-03T10:00:00",
		"ＵＳＤ n=1 volume=0 rebates=9 share=1000 last=2026-05-03T10:00:00",
	}
	r := added(t, Query{By: []Group{ByCurrency}},
		api.ResellerStats{ID: north, InvoiceRebates: []api.InvoiceRebate{record}})
	same(t, "rows", brief(r.Rows(0)), want)
	for row := range r.Rows(0) {
		if known := row.Currency == "USD"; (row.Decimals == 2) != known || (row.Decimals == money.Unknown) == known {
			t.Errorf("%s has %d decimals", row.Currency, row.Decimals)
		}
	}
	if got := r.Rebates("doge").Int64(); got != 5 {
		t.Errorf("of doge there are %d", got)
	}
	if got := r.Rebates("CHF"); got.Sign() != 0 {
		t.Errorf("of CHF there are %d", got)
	}
}

// TestCurrency checks that a report on one currency has the sums of that currency in a report on all, in
// every part. The service's own figures stay as they are.
func TestCurrency(t *testing.T) {
	shop := api.ResellerStats{
		ID: north, Label: "N", InvoiceRebates: []api.InvoiceRebate{
			{ID: "both", Created: "2026-05-03T10:00:00",
				PaidAmount: api.CodeAmounts{{Code: "Usd", Minor: 100}, {Code: "EUR", Minor: 7}},
				Rebate:     api.CodeAmounts{{Code: "EUR", Minor: 3}, {Code: "USD", Minor: 10}}},
			one("soon", "EUR", 50), one("2026-05-04", "Doge", 50), one("2026-05-04", "DOGE", 50), one("2026-05-04", "doge", 50),
		},
		TotalVolume: []api.CodeTotal{{Code: "all",
			Amounts: api.CodeAmounts{{Code: "USD", Minor: 101}, {Code: "EUR", Minor: 56}}}},
	}
	r := added(t, Query{By: []Group{ByDay}, Currency: "uSd"}, shop) // the unreadable time is that of euros
	const usd = "USD n=1 volume=100 rebates=10 share=1000 last=2026-05-03T10:00:00"
	same(t, "rows", brief(r.Rows(0)), []string{"2026-05-03 " + usd})
	same(t, "totals", totals(r), []string{usd})
	same(t, "sellers", brief(slices.Values(r.Sellers())), []string{"N " + usd})
	for code, want := range map[string]int64{"USD": 10, "EUR": 0, "DOGE": 0} {
		_, points := r.Timeline(code, 60)
		same(t, "the timeline of "+code, points[0].Rebates.Int64(), want)
	}
	same(t, "undated", r.Undated, 0)
	same(t, "codes", r.Codes(), []string{"DOGE", "EUR", "USD"})
	same(t, "all time", r.AllTime()[0].TotalVolume[0].Amounts, shop.TotalVolume[0].Amounts)
	if d := r.Differences(); len(d) != 2 || d[0].Currency != "USD" || d[0].Service.Sign() != 0 ||
		d[1].Service.Int64() != 101 {
		t.Errorf("the differences are %v", d)
	}
}

func TestTenths(t *testing.T) {
	for _, test := range []struct {
		part, whole int64
		want        string
	}{
		{1, 3, "333"}, {2, 3, "667"}, {1, 2000, "1"}, {1, 2001, "0"}, {-1, 2000, "-1"}, {-1, 3, "-333"},
		{1, -4, "-250"}, {-1, -4, "250"},
		{0, 5, "0"}, {5, 0, "<nil>"}, {math.MaxInt64, 1, "9223372036854775807000"},
	} {
		if got := Tenths(big.NewInt(test.part), big.NewInt(test.whole)).String(); got != test.want {
			t.Errorf("%d of %d: %s, want %s", test.part, test.whole, got, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	shop := api.ResellerStats{ID: north, Label: "N", InvoiceRebates: []api.InvoiceRebate{
		one("2026-05-01T00:00:00", "EUR", 300), one("2026-05-31T23:59:59.9", "EUR", 100),
		one("2026-04-01T00:00:00", "EUR", 1000), one("2026-04-30T23:59:59", "EUR", 600),
		one("2026-03-31T23:59:59", "EUR", 1), one("2026-06-01T00:00:00", "EUR", 1),
		one("2026-04-15T00:00:00", "USD", 50), one("2026-05-15T00:00:00", "JPY", 50),
	}}
	may := span(t, "2026-05-01T00:00", "2026-06-01T00:00")
	// A day is compared with the same day of the month before; the 31st has none.
	r := added(t, Query{By: []Group{ByDay}, Span: may, Compare: true}, shop)
	same(t, "days", brief(r.Rows(0)), []string{
		"2026-05-01 EUR n=1 volume=300 rebates=30 share=750 last=2026-05-01T00:00:00 before=1000/100 change=-700",
		"2026-05-15 JPY n=1 volume=50 rebates=5 share=1000 last=2026-05-15T00:00:00 before=0/0 change=<nil>",
		"2026-05-15 USD n=0 volume=0 rebates=0 share=<nil> last= before=50/5 change=-1000",
		"2026-05-30 EUR n=0 volume=0 rebates=0 share=0 last= before=600/60 change=-1000",
		"2026-05-31 EUR n=1 volume=100 rebates=10 share=250 last=2026-05-31T23:59:59.9 before=0/0 change=<nil>",
	})

	// April has no 31st: the 31st of March is compared with the last day of April, so that rows and totals
	// agree.
	april := span(t, "2026-04-01T00:00", "2026-05-01T00:00")
	r = added(t, Query{By: []Group{ByDay}, Span: april, Compare: true},
		api.ResellerStats{ID: north, InvoiceRebates: []api.InvoiceRebate{one("2026-03-31T08:00:00", "EUR", 70)}})
	same(t, "days", brief(r.Rows(0)),
		[]string{"2026-04-30 EUR n=0 volume=0 rebates=0 share=<nil> last= before=70/7 change=-1000"})
	same(t, "totals", totals(r), []string{"EUR n=0 volume=0 rebates=0 share=<nil> last= before=70/7 change=-1000"})

	// Ten days are compared with the ten days before them, regardless of months and weeks.
	ten := span(t, "2026-02-03T00:00", "2026-02-13T00:00")
	paid := api.ResellerStats{ID: north,
		InvoiceRebates: []api.InvoiceRebate{one("2026-01-31T08:00:00", "EUR", 500), one("2026-02-02T23:00:00", "EUR", 300),
			one("2026-02-05T00:00:00", "EUR", 100)}}
	r = added(t, Query{By: []Group{ByWeek}, Span: ten, Compare: true}, paid)
	same(t, "weeks", brief(r.Rows(0)), []string{
		"2026-W06 EUR n=1 volume=100 rebates=10 share=1000 last=2026-02-05T00:00:00 before=0/0 change=<nil>",
		"2026-W07 EUR n=0 volume=0 rebates=0 share=0 last= before=800/80 change=-1000",
	})
}

// TestRunningSpan checks what a span is compared with while it is not over: the same number of days, from the
// beginning of the week or months before, if it was given in weeks or months.
func TestRunningSpan(t *testing.T) {
	for _, test := range []struct {
		from, to string
		unit     Unit
		now      string
		running  bool
		want     string
	}{
		// A month, on its days. It does not matter whether its end or today was given as the end.
		{"2026-11-01", "2026-12-01", ByMonth, "2026-11-23T12:00", true, "2026-10-01T00:00:00 2026-10-23T23:59:59"},
		{"2026-11-01", "2026-12-01", ByMonth, "2026-11-30T23:59:58", true, "2026-10-01T00:00:00 2026-10-30T23:59:59"},
		// Once it is over, it is a whole month.
		{"2026-11-01", "2026-12-01", ByMonth, "2026-12-01T00:00", false, "2026-10-01T00:00:00 2026-10-31T23:59:59"},
		{"2026-11-01", "2026-11-23", ByMonth, "2026-11-23T12:00", false, "2026-10-10T00:00:00 2026-10-31T23:59:59"},
		// The month before is shorter.
		{"2026-03-01", "2026-04-01", ByMonth, "2026-03-31T12:00", true, "2026-02-01T00:00:00 2026-02-28T23:59:59"},
		// A year.
		{"2026-01-01", "2027-01-01", ByMonth, "2026-11-23T12:00", true, "2025-01-01T00:00:00 2025-11-23T23:59:59"},
		// A week begins on a Monday. 2026-11-23 is one.
		{"2026-11-23", "2026-11-30", ByWeek, "2026-11-23T12:00", true, "2026-11-16T00:00:00 2026-11-16T23:59:59"},
		{"2026-11-16", "2026-11-26", ByWeek, "2026-11-25T12:00", true, "2026-11-02T00:00:00 2026-11-11T23:59:59"},
		{"2026-11-23", "2026-11-30", ByWeek, "2026-11-30T00:00", false, "2026-11-16T00:00:00 2026-11-22T23:59:59"},
		// Days, also the first of a month.
		{"2026-11-01", "2026-11-24", "", "2026-11-23T12:00", true, "2026-10-09T00:00:00 2026-10-31T23:59:59"},
		// Without a unit, whole months are still months.
		{"2026-11-01", "2026-12-01", "", "2026-11-23T12:00", true, "2026-10-01T00:00:00 2026-10-23T23:59:59"},
		// A time of day, and an age, whose end is the present second.
		{"2026-11-23T08:00", "2026-11-23T18:00", "", "2026-11-23T12:00", true, "2026-11-22T22:00:00 2026-11-23T07:59:59"},
		{"2026-11-16T12:00:01", "2026-11-23T12:00:01", "", "2026-11-23T12:00", false,
			"2026-11-09T12:00:01 2026-11-16T12:00:00"},
		// At no time in particular.
		{"2026-03-01", "2026-04-01", "", "0001-01-01", false, "2026-02-01T00:00:00 2026-02-28T23:59:59"},
		{"2026-05-03", "2026-05-10", "", "0001-01-01", false, "2026-04-26T00:00:00 2026-05-02T23:59:59"},
		{"2026-05-01", "2026-06-02", "", "0001-01-01", false, "2026-03-30T00:00:00 2026-04-30T23:59:59"},
		{"2026-05-03T10:00:00.25", "2026-05-03T11:00:00.75", "", "0001-01-01", false,
			"2026-05-03T08:59:59 2026-05-03T10:00:00"},
	} {
		s := span(t, test.from, test.to)
		s.Unit = test.unit
		now := written(t, test.now)
		if got := s.Running(now); got != test.running {
			t.Errorf("%s to %s, at %s: running is %v", test.from, test.to, test.now, got)
		}
		from, to := s.Before(now).Bounds()
		if got := from + " " + to; got != test.want {
			t.Errorf("%s to %s by %q, at %s: %s, want %s", test.from, test.to, test.unit, test.now, got, test.want)
		}
	}
	now := written(t, "2026-11-23T12:00")
	for want, s := range map[string]Span{
		"all time": {}, "from": {From: now}, "until": {To: now.AddDate(0, 0, 1)}, "past": {To: now},
		"future": {From: now.AddDate(0, 0, 1)},
	} {
		if got := s.Running(now); got != (want == "from" || want == "until") {
			t.Errorf("%s is running: %v", want, got)
		}
	}
}

// TestCompareRunning checks that nothing counts before or after the days that are compared, and that the rows
// add up to the totals, although the month before is longer.
func TestCompareRunning(t *testing.T) {
	shop := api.ResellerStats{ID: north, InvoiceRebates: []api.InvoiceRebate{
		one("2026-02-01T00:00:00", "EUR", 10), one("2026-02-28T23:59:59", "EUR", 200),
		one("2026-03-01T00:00:00", "EUR", 1000), one("2026-03-31T11:59:59", "EUR", 4000),
	}}
	march := span(t, "2026-03-01", "2026-04-01")
	march.Unit = ByMonth
	q := Query{By: []Group{ByDay}, Span: march, Compare: true, Now: written(t, "2026-03-31T12:00")}
	r := added(t, q, shop)
	same(t, "31 March", totals(r),
		[]string{"EUR n=2 volume=5000 rebates=500 share=1000 last=2026-03-31T11:59:59 before=210/21 change=22810"})
	same(t, "days", brief(r.Rows(0)), []string{
		"2026-03-01 EUR n=1 volume=1000 rebates=100 share=200 last=2026-03-01T00:00:00 before=10/1 change=99000",
		"2026-03-28 EUR n=0 volume=0 rebates=0 share=0 last= before=200/20 change=-1000",
		"2026-03-31 EUR n=1 volume=4000 rebates=400 share=800 last=2026-03-31T11:59:59 before=0/0 change=<nil>",
	})
	// The end is today, not the month's: a day still has its own day before.
	q.Span.To, q.Now = written(t, "2026-03-31"), written(t, "2026-03-30T12:00")
	same(t, "until 30 March", brief(added(t, q, shop).Rows(0)), []string{
		"2026-03-01 EUR n=1 volume=1000 rebates=100 share=1000 last=2026-03-01T00:00:00 before=10/1 change=99000",
		"2026-03-28 EUR n=0 volume=0 rebates=0 share=0 last= before=200/20 change=-1000",
	})
}

// TestUnreadableCreated checks that a reseller with an unreadable time gets no figures by period. The
// service's own totals have no period, and are kept. Sums that do not fit into an int64 are exact.
func TestUnreadableCreated(t *testing.T) {
	shop := api.ResellerStats{
		ID: north, Label: "N", InvoiceRebates: []api.InvoiceRebate{one("2026-05-03T10:00:00", "EUR", math.MaxInt64),
			one("1746266400", "EUR", math.MaxInt64), one("soon", "EUR", 0)},
		InvoiceStats: []api.StatusCount{{Status: "Paid", Count: 3}},
		TotalVolume:  []api.CodeTotal{{Code: "EUR", Amounts: api.CodeAmounts{{Code: "EUR", Minor: 405}}}},
	}
	for _, q := range []Query{{By: []Group{ByMonth}},
		{By: []Group{ByReseller}, Span: Span{From: written(t, "2026-01-01")}}} {
		r := New(q)
		err := r.Add(shop)
		if err == nil || !strings.HasSuffix(err.Error(), `time of creation cannot be read: "1746266400", and 1 more like it`) {
			t.Errorf("%v: %v", q.By, err)
		}
		if rows := append(slices.Collect(r.Rows(0)), append(r.Totals(), r.Sellers()...)...); len(rows) > 0 {
			t.Errorf("%v: something was counted: %v", q.By, rows)
		}
		if all := r.AllTime(); len(all) != 1 || len(all[0].InvoiceStats) != 1 || len(all[0].TotalVolume) != 1 {
			t.Errorf("%v: of all time there is %v", q.By, all)
		}
		if differ := r.Differences(); len(differ) != 2 || differ[1].Sum.String() != "18446744073709551614" ||
			differ[1].Service.Int64() != 405 {
			t.Errorf("%v: the differences are %v", q.By, differ)
		}
	}
	r := added(t, Query{By: []Group{ByReseller}}, shop)
	same(t, "rows", brief(r.Rows(0)), []string{
		"N EUR n=3 volume=18446744073709551614 rebates=1844674407370955160 share=1000 last=2026-05-03T10:00:00"})
	same(t, "undated", r.Undated, 2)
	at, _ := ParseCreated("03.05.2026 01:30 +0200", "02.01.2006 15:04 -0700")
	same(t, "in a layout", at, written(t, "2026-05-03T01:30:00"))
	at, _ = ParseCreated("2026-03-05 01:30:00", "2006-02-01 15:04:05")
	same(t, "in an odd one", at, written(t, "2026-05-03T01:30:00"))
}

func TestParseWritten(t *testing.T) {
	const layout = "2006-01-02T15:04:05.999999999"
	for text, want := range map[string]string{
		"2026-05-03T10:00:00":            "2026-05-03T10:00:00 ",
		"2026-05-03 10:00":               "2026-05-03T10:00:00 ",
		"2026-05-03t10:00:00.5":          "2026-05-03T10:00:00.5 ",
		"2026-05-03T10:00:00,1234567891": "2026-05-03T10:00:00.123456789 ",
		"2026-05-03":                     "2026-05-03T00:00:00 ",
		"2026-05-03T10:00:00+02:00":      "2026-05-03T10:00:00 +02:00",
		"2026-03-29T02:30:00":            "2026-03-29T02:30:00 ", // an hour that does not exist in Berlin
		"2024-02-29T00:00:00":            "2024-02-29T00:00:00 ",
		"2016-12-31T23:59:60":            "2016-12-31T23:59:59.999999999 ",
		"2016-12-31T23:59:60.5":          "2016-12-31T23:59:59.999999999 ",
		"0001-01-01T00:00:00":            "0001-01-01T00:00:00 ",
		"2026-05-03T10:00:00.":           "2026-05-03T10:00:00 .",
		"2026-02-29T00:00:00":            "", "2026-13-01": "", "2026-00-01": "", "2026-05-00": "", "2026-05-32": "",
		"": "", "2026-05": "",
		"2026-05-03T24:00:00": "", "2026-05-03T10:60:00": "", "2026-05-03T10:00:61": "", "2026-05-03T1:00": "",
		"03.05.2026": "", "1746266400": "",
		"２026-05-03": "", "2026-05-03T": "", "2026-05-03Z": "", "-026-05-03": "", "2026-05-03\x0010:00": "",
	} {
		at, rest, ok := ParseWritten(text)
		got := ""
		if ok {
			got = at.Format(layout) + " " + rest
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzParseWritten(f *testing.F) {
	for _, text := range []string{"2026-05-03T10:00:00", "2026-05-03 10:00:00.123Z", "2026-12-31", "0000-01-01T00:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, rest, ok := ParseWritten(text)
		if !ok {
			return
		}
		if !strings.HasSuffix(text, rest) {
			t.Errorf("%q does not end in %q", text, rest)
		}
		if again, _, ok := ParseWritten(at.Format("2006-01-02T15:04:05.000000000")); at.Year() >= 0 && at.Year() <= 9999 &&
			(!ok || !again.Equal(at)) {
			t.Errorf("%q is %s, and that is %s", text, at, again)
		}
	})
}

// TestPeriodsHaveNoGaps checks that the periods of a unit follow one another without a gap, and have the
// standard library's names.
func TestPeriodsHaveNoGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := time.Unix(24*60*60*rapid.Int64Range(-700_000, 2_900_000).Draw(t, "day"), 0).UTC()
		unit := rapid.SampledFrom([]Unit{ByDay, ByWeek, ByMonth, Year}).Draw(t, "unit")
		begin := unit.Begin(day)
		next := unit.Step(begin, 1)
		if begin.After(day) || !next.After(day) || unit.Begin(next) != next || unit.steps(begin, next) != 1 ||
			unit.Step(next, -1) != begin {
			t.Fatalf("%s is in the %s from %s, after which comes %s", day, unit, begin, next)
		}
		if before := day.AddDate(0, 0, -1); unit.name(unit.Begin(before)) == unit.name(begin) != (begin != day) {
			t.Fatalf("%s is in %s, and the day before in %s", day, unit.name(begin), unit.name(unit.Begin(before)))
		}
	})
}

func TestTimelines(t *testing.T) {
	shop := api.ResellerStats{ID: north, InvoiceRebates: []api.InvoiceRebate{
		one("2026-05-03T10:00:00", "EUR", 300), one("2026-05-06T10:00:00", "EUR", 100), one("2026-05-06T11:00:00", "EUR", 10),
		one("2026-05-04T10:00:00", "USD", 50),
	}}
	lines := func(q Query, most int) (all []string) {
		r := added(t, q, shop)
		for _, code := range r.Codes() {
			unit, points := r.Timeline(code, most)
			text := fmt.Sprintf("%s by %s:", code, unit)
			for _, point := range points {
				text += fmt.Sprintf(" %s=%d", unit.name(point.Begin), point.Rebates)
			}
			if points != nil {
				all = append(all, text)
			}
		}
		return all
	}
	by := []Group{ByReseller}
	same(t, "days", lines(Query{By: by}, 60), []string{
		"EUR by day: 2026-05-03=30 2026-05-04=0 2026-05-05=0 2026-05-06=11",
		"USD by day: 2026-05-03=0 2026-05-04=5 2026-05-05=0 2026-05-06=0"})
	same(t, "the days of the span",
		lines(Query{By: by, Span: span(t, "2026-05-02T00:00", "2026-05-07T00:00")}, 60), []string{
			"EUR by day: 2026-05-02=0 2026-05-03=30 2026-05-04=0 2026-05-05=0 2026-05-06=11",
			"USD by day: 2026-05-02=0 2026-05-03=0 2026-05-04=5 2026-05-05=0 2026-05-06=0"})
	same(t, "a span that is too long",
		lines(Query{By: by, Span: span(t, "1990-01-01T00:00", "2026-05-07T00:00")}, 60)[:1], []string{
			"EUR by day: 2026-05-03=30 2026-05-04=0 2026-05-05=0 2026-05-06=11"})
	from := func(text string) Span { return Span{From: written(t, text)} }
	now := written(t, "2026-05-08T12:00")
	same(t, "until today", lines(Query{By: by, Now: now}, 60)[:1], []string{
		"EUR by day: 2026-05-03=30 2026-05-04=0 2026-05-05=0 2026-05-06=11 2026-05-07=0 2026-05-08=0"})
	same(t, "a span without an end", lines(Query{By: by, Now: now, Span: from("2026-05-05")}, 60), []string{
		"EUR by day: 2026-05-05=0 2026-05-06=11 2026-05-07=0 2026-05-08=0",
		"USD by day: 2026-05-05=0 2026-05-06=0 2026-05-07=0 2026-05-08=0"})
	same(t, "as grouped", lines(Query{By: []Group{ByMonth}}, 60),
		[]string{"EUR by month: 2026-05=41", "USD by month: 2026-05=5"})
	same(t, "no room for days", lines(Query{By: by}, 3),
		[]string{"EUR by week: 2026-W18=30 2026-W19=11", "USD by week: 2026-W18=0 2026-W19=5"})
	shop.InvoiceRebates = append(shop.InvoiceRebates, one("1815-06-18T00:00:00", "EUR", 9990))
	same(t, "the latest years", lines(Query{By: by}, 2),
		[]string{"EUR by year: 2025=0 2026=41", "USD by year: 2025=0 2026=5"})
	if _, got := New(Query{}).Timeline("EUR", 60); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func entry[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

// TestSumsProperty compares rows and totals with sums that are made in another way: times are compared as
// texts, and amounts are added as big integers, one row at a time.
func TestSumsProperty(t *testing.T) {
	type key struct{ id, period, code string }
	type sum struct {
		sums     [2]big.Int // volume and rebates
		invoices map[string]bool
	}
	codes := []string{"EUR", "Eur", "USD", "Btc", "BTC", "Doge"}
	week := func(at time.Time) string {
		year, week := at.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	}
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		by := rapid.SampledFrom([]Group{ByReseller, ByCurrency, ByDay, ByWeek, ByMonth}).Draw(t, "by")
		q := Query{By: []Group{by}, Compare: rapid.Bool().Draw(t, "compare")}
		first, last := "0", "9"
		if q.Compare || rapid.Bool().Draw(t, "a span") { // March and April, before them January and February
			q.Span = Span{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
			first, last = "2026-03", "2026-05"
		}
		rows, before, totals := map[key]*sum{}, map[string]*big.Int{}, map[string]*big.Int{} // before, totals: rebates
		var shops []api.ResellerStats
		for i := range random.IntN(4) {
			shop := api.ResellerStats{ID: fmt.Sprint(i), Label: []string{"A", "B", "A", ""}[i]}
			for n := range random.IntN(30) {
				at := time.Date(2026, time.Month(1+random.IntN(6)), 1+random.IntN(28), random.IntN(24), 0,
					random.IntN(60), 0, time.UTC)
				record := api.InvoiceRebate{ID: fmt.Sprint(i, n), Created: at.Format("2006-01-02T15:04:05")}
				for range random.IntN(5) {
					amount := api.CodeAmount{Code: codes[random.IntN(len(codes))], Minor: int64(random.Uint64()) >> random.IntN(64)}
					kind, minor, code := random.IntN(2), big.NewInt(amount.Minor), strings.ToLower(amount.Code)
					of := []*api.CodeAmounts{&record.PaidAmount, &record.Rebate}[kind]
					*of = append(*of, amount)
					within := record.Created >= first && record.Created < last
					if all := map[bool]map[string]*big.Int{true: totals, false: before}[within]; kind == 1 && record.Created < last {
						entry(all, code).Add(entry(all, code), minor)
					}
					if !within {
						continue
					}
					row := entry(rows, key{map[Group]string{ByReseller: shop.ID}[by],
						map[Group]string{ByDay: record.Created[:10], ByMonth: record.Created[:7], ByWeek: week(at)}[by], code})
					row.sums[kind].Add(&row.sums[kind], minor)
					if row.invoices == nil {
						row.invoices = map[string]bool{}
					}
					row.invoices[record.ID] = true
				}
				shop.InvoiceRebates = append(shop.InvoiceRebates, record)
			}
			shops = append(shops, shop)
		}
		random.Shuffle(len(shops), func(i, j int) { shops[i], shops[j] = shops[j], shops[i] })
		r := New(q)
		for _, shop := range shops {
			must(t, r.Add(shop))
		}
		count, earlier := 0, map[string]*big.Int{}
		for row := range r.Rows(0) {
			code := strings.ToLower(row.Currency)
			if q.Compare {
				entry(earlier, code).Add(entry(earlier, code), row.PreviousRebates)
			}
			want := entry(rows, key{row.ID, row.Period, code})
			if count += min(int(row.Invoices), 1); row.Invoices != int64(len(want.invoices)) ||
				row.Volume.Cmp(&want.sums[0]) != 0 || row.Rebates.Cmp(&want.sums[1]) != 0 {
				t.Fatalf("%v; want %v", row, want)
			}
		}
		maps.DeleteFunc(rows, func(_ key, s *sum) bool { return len(s.invoices) == 0 })
		if count != len(rows) {
			t.Fatalf("%d rows with invoices, want %d", count, len(rows))
		}
		for _, total := range r.Totals() {
			code := strings.ToLower(total.Currency)
			if want := entry(totals, code); total.Rebates.Cmp(want) != 0 || q.Compare &&
				(total.PreviousRebates.Cmp(entry(before, code)) != 0 || total.PreviousRebates.Cmp(entry(earlier, code)) != 0) {
				t.Fatalf("%v; want %v, and %v before", total, want, entry(before, code))
			}
		}
	})
}
