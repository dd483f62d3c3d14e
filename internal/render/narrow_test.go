package render

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// transfer is a row with every kind of cell that a narrow table treats in a way of its own.
type transfer struct {
	id, order, status, since, label, reseller, address, why string
	amount                                                  Cell
}

var transfers = View[transfer]{Columns: []Column[transfer]{
	{Name: "id", Cell: func(r transfer) Cell { return ID(r.id) }},
	{Name: "order_id", Cell: func(r transfer) Cell { return Word(r.order) }},
	{Name: "status", Cell: func(r transfer) Cell { return Word(r.status) }},
	{Name: "amount", Cell: func(r transfer) Cell { return r.amount }},
	{Name: "since", Cell: func(r transfer) Cell { return Time(r.since) }},
	{Name: "label", Cell: func(r transfer) Cell { return Label(r.reseller, r.label) }},
	{Name: "address", Extra: true, Cell: func(r transfer) Cell { return Own(r.address) }},
	{Name: "why", Extra: true, Cell: func(r transfer) Cell { return Text(r.why) }},
}}

func transfersAsText(t *testing.T, o Options, rows ...transfer) string {
	t.Helper()
	var b strings.Builder
	if err := transfers.List(&b, o, each(rows)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// realistic returns a row with values of usual lengths. The order id has 12 characters, the amount 14 digits.
func realistic(label, why string) transfer {
	return transfer{id: "7c9e6679-7425-40de-944b-e07fc1f90ae7", order: "202611230001", status: "Processing",
		amount: Amount(12_345_678_901_234, "UsdtTrc20", 6), since: "2026-11-23T11:54:32Z", label: label, reseller: "r",
		address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", why: why}
}

// scripts has a text for each script, in the characters that a reader sees.
var scripts = map[string][]string{
	"Latin":     strings.Split("Schöne Grüße aus Österreich.", ""),
	"CJK":       strings.Split("日本語のとても長いタイトル、한국어 제목", ""),
	"Arabic":    {"ا", "ل", "عَ", "رَ", "بِ", "يَّ", "ة", " ", "ط", "و", "ي", "ل"},
	"Thai":      {"ที่", "นี่", "ภ", "า", "ษ", "า", "ไ", "ท", "ย", "น้ำ", "ก็"},
	"emoji":     {"😀", "👍🏽", "🇩🇪", "🇯🇵", "👨", `\u200d`, "👩", `\u200d`, "👧", "❤", `\ufe0f`},
	"combining": {"e\u0301", "a\u0308\u0323", "o\u0302\u0301", "n\u0303", " ", "g\u030a"},
}

// text returns a text of a script, with its invisible characters, of at least the given number of characters.
func text(script string, count int) (text string, seen []string) {
	for len(seen) < count {
		seen = append(seen, scripts[script]...)
	}
	return strings.NewReplacer(`\u200d`, "\u200d", `\ufe0f`, "\ufe0f").Replace(strings.Join(seen, "")), seen
}

// drawnApart returns the width of a text on a terminal that draws the letters of a flag, and an emoji and its
// tone, one beside the other.
func drawnApart(text string) (columns int) {
	for _, r := range text {
		switch {
		case r >= '🇦' && r <= '🇿', r >= '\U0001f3fb' && r <= '\U0001f3ff': // a letter of a flag, a tone
			columns += 2
		default:
			columns += uniseg.StringWidth(string(r))
		}
	}
	return columns
}

// The width of a line is measured by another library than the one that laid the table out.
func TestTableOnATerminal(t *testing.T) {
	header := []string{"ID", "ORDER", "STATUS", "AMOUNT", "SINCE", "LABEL"}
	for script := range scripts {
		for _, length := range []int{5, 40, 125} {
			label, seen := text(script, length)
			whole := strings.Join(seen, "")
			rows := []transfer{realistic(label, ""), realistic("plain", "")}
			for _, limit := range []int{60, 80, 100, 120, 200} {
				for _, columns := range [][]string{nil, {"id", "label", "why", "address", "amount"}} {
					name := fmt.Sprintf("%s, %d characters, %d columns, %v", script, length, limit, columns)
					rows[0].why, rows[1].why = whole, strings.Repeat("word ", 30)
					got := transfersAsText(t, Options{Width: limit, Columns: columns}, rows...)
					for line := range strings.Lines(got) {
						line = strings.TrimSuffix(line, "\n")
						if w := max(uniseg.StringWidth(line), drawnApart(line)); w > limit {
							t.Errorf("%s: %d columns in %q", name, w, line)
						}
					}
					if isTable := strings.HasPrefix(got, "ID "); isTable != (limit > 60 || columns != nil) {
						t.Errorf("%s: is a table: %v\n%s", name, isTable, got)
					}
				}
				if limit >= 80 {
					first, _, _ := strings.Cut(transfersAsText(t, Options{Width: limit}, rows...), "\n")
					for _, name := range header {
						if !strings.Contains(first, name) {
							t.Errorf("%s, %d columns: %s is missing in %q", script, limit, name, first)
						}
					}
				}
			}
			// Nothing is cut in a pipe.
			if got := transfersAsText(t, Options{}, rows...); strings.Contains(got, "…") ||
				!strings.Contains(got, whole) || !strings.Contains(got, rows[0].id) || !strings.Contains(got, rows[0].since) {
				t.Errorf("%s, %d characters: cut in a pipe:\n%s", script, length, got)
			}
		}
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for script := range scripts {
		text, seen := text(script, 20)
		for _, middle := range []bool{false, true} {
			for limit := 2; limit < width(Safe(text)); limit++ {
				got := cut(Safe(text), limit, middle)
				begin, end, cut := strings.Cut(got, "…")
				if !cut || width(got) > limit {
					t.Fatalf("%s, %d columns: %q", script, limit, got)
				}
				if !slices.ContainsFunc(rangeTo(len(seen)), func(n int) bool {
					return strings.TrimRight(strings.Join(seen[:n], ""), " ") == strings.TrimRight(begin, " ")
				}) {
					t.Errorf("%s, %d columns: a character is cut at the end of %q", script, limit, begin)
				}
				if !slices.ContainsFunc(rangeTo(len(seen)), func(n int) bool { return strings.Join(seen[n:], "") == end }) {
					t.Errorf("%s, %d columns: a character is cut at the beginning of %q", script, limit, end)
				}
			}
		}
	}
}

// rangeTo returns the numbers from 0 to n.
func rangeTo(n int) []int {
	numbers := make([]int, n+1)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// A long value takes no column away and turns no table upright. The values that a person compares stay whole.
func TestOneLongValue(t *testing.T) {
	long := realistic(strings.Repeat("very long ", 12)+"label", "")
	longStatus := realistic("North shop", "")
	longStatus.status = strings.Repeat("Awaiting", 8)[:60]
	longOrder := realistic("North shop", "")
	longOrder.order = strings.Repeat("foreign-", 25)
	for name, row := range map[string]transfer{"label": long, "status": longStatus, "order id": longOrder} {
		columns := []string{"id", "order_id", "status", "amount", "label"}
		got := transfersAsText(t, Options{Width: 80, Columns: columns}, row, realistic("South shop", ""))
		lines := strings.Split(got, "\n")
		if strings.Join(strings.Fields(lines[0]), " ") != "ID ORDER ID STATUS AMOUNT LABEL" {
			t.Errorf("a long %s changes the header to %q", name, lines[0])
		}
		if want := "7c9e6679  202611230001  Processing"; strings.Join(strings.Fields(lines[2])[:3], "  ") != want {
			t.Errorf("with a long %s, a usual row is %q", name, lines[2])
		}
		if !strings.Contains(lines[2], "12345678.901234 UsdtTrc20") || !strings.Contains(lines[2], "South") {
			t.Errorf("with a long %s, a usual row is %q", name, lines[2])
		}
	}
}

// Texts, ids and times give way in the order of the package documentation, and no earlier than they must.
func TestTableGivesWay(t *testing.T) {
	view := View[transfer]{Columns: []Column[transfer]{
		{Name: "why", Cell: func(r transfer) Cell { return Text(r.why) }},
		{Name: "id", Cell: func(r transfer) Cell { return ID(r.id) }},
		{Name: "since", Cell: func(r transfer) Cell { return Time(r.since) }},
	}}
	row := realistic("", strings.Repeat("x", 40))
	for _, test := range []struct{ limit, why, id, since int }{
		{0, 40, 36, 20},
		{100, 40, 36, 20},
		{99, 39, 36, 20},
		{92, 32, 36, 20},
		{91, 40, 8, 20}, // the id gives more room than the text needs
		{72, 40, 8, 20},
		{64, 32, 8, 20},
		{63, 40, 8, 10},
		{54, 32, 8, 10},
		{53, 31, 8, 10},
		{34, 12, 8, 10},
		{33, 11, 8, 10},
		{27, 5, 8, 10},
	} {
		why := row.why
		if test.why < len(why) {
			why = why[:test.why/2] + "…" + why[:test.why-test.why/2-1]
		}
		var b strings.Builder
		if err := view.List(&b, Options{Width: test.limit, NoHeaders: true}, each([]transfer{row})); err != nil {
			t.Fatal(err)
		}
		want := why + gap + row.id[:test.id] + gap + row.since[:test.since] + "\n"
		if b.String() != want {
			t.Errorf("%d columns:\ngot  %swant %s", test.limit, b.String(), want)
		}
	}
	var b strings.Builder
	if err := view.List(&b, Options{Width: 26}, each([]transfer{row})); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "why ") || !strings.Contains(strings.ReplaceAll(b.String(), "\n       ", ""),
		row.id) {
		t.Errorf("26 columns are too few for a table:\n%s", b.String())
	}
}

// Words are not cut unless they are longer than any word.
func TestWordsStayWhole(t *testing.T) {
	view := View[transfer]{Columns: []Column[transfer]{
		{Name: "why", Cell: func(r transfer) Cell { return Text(r.why) }},
		{Name: "status", Cell: func(r transfer) Cell { return Word(r.status) }},
	}}
	word, long := strings.Repeat("w", 18), strings.Repeat("w", 60)
	for _, test := range []struct {
		status string
		limit  int
		want   string
	}{
		{word, 25, "xx…xx  " + word},
		{long, 80, strings.Repeat("x", 19) + "…" + strings.Repeat("x", 19) + gap + long[:19] + "…" + long[:19]},
		{long, 27, "xx…xx  " + long[:10] + "…" + long[:9]},
	} {
		var b strings.Builder
		row := transfer{why: strings.Repeat("x", 40), status: test.status}
		if err := view.List(&b, Options{Width: test.limit, NoHeaders: true}, each([]transfer{row})); err != nil {
			t.Fatal(err)
		}
		equal(t, b.String(), test.want+"\n")
	}
}

// Of equal columns, the last is shortened first.
func TestLastIDIsShortenedFirst(t *testing.T) {
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	view := View[string]{Columns: []Column[string]{{Name: "id", Cell: ID}, {Name: "withdrawal", Cell: ID}}}
	var b strings.Builder
	if err := view.List(&b, Options{Width: 50, NoHeaders: true}, each([]string{id})); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), id+"  7c9e6679\n")
}

// Only ids of which the beginning is enough are shortened, and only times that begin with a date.
func TestBriefForms(t *testing.T) {
	digest := strings.Repeat("0123abcd", 8)
	for _, test := range []struct {
		cell Cell
		want string // "": none
	}{
		{ID("7c9e6679-7425-40de-944b-e07fc1f90ae7"), "7c9e6679"},
		{ID("7C9E6679-7425-40DE-944B-E07FC1F90AE7"), "7C9E6679"},
		{ID(digest), "0123abcd"},
		{ID("sha256:" + digest), "0123abcd"},
		{ID("100000000001"), ""},
		{ID("wd_" + digest), ""},
		{ID(""), ""},
		{Text("7c9e6679-7425-40de-944b-e07fc1f90ae7"), ""},
		{Time("2026-11-23T11:54:32Z"), "2026-11-23"},
		{Time("2026-11-23 11:54"), "2026-11-23"},
		{Time("23.11.2026 11:54:32"), ""},
		{Time("2026-11-23"), ""},
		{Time(""), ""},
		{Own("2026-11-23T11:54:32Z"), ""},
	} {
		if got, has := test.cell.brief(); has != (test.want != "") || has && got != test.want {
			t.Errorf("the brief form of %q is %q, %v; want %q", test.cell.text, got, has, test.want)
		}
	}
}

// Labels that occur twice, and empty ones, have the beginning of the id, in every format that is not data.
func TestLabelsAreToldApart(t *testing.T) {
	type reseller struct{ id, label string }
	view := View[reseller]{Columns: []Column[reseller]{
		{Name: "label", Cell: func(r reseller) Cell { return Label(r.id, r.label) }},
		{Name: "id", Extra: true, Cell: func(r reseller) Cell { return ID(r.id) }},
	}, Foot: []reseller{{"", "North"}}}
	rows := []reseller{
		{"11111111-7425-40de-944b-e07fc1f90ae7", "North"},
		{"22222222-7425-40de-944b-e07fc1f90ae7", "North"},
		{"22222222-7425-40de-944b-e07fc1f90ae7", "North"}, // in another currency
		{"33333333-7425-40de-944b-e07fc1f90ae7", "East"},
		{"33333333-7425-40de-944b-e07fc1f90ae7", "East"},
		{"44444444-7425-40de-944b-e07fc1f90ae7", ""},
		{"1000000001", "South, at the very end of the long road"},
		{"1000000002", "South, at the very end of the long road"},
	}
	print := func(o Options) string {
		var b strings.Builder
		if err := view.List(&b, o, each(rows)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	end := "──────────────────────────────────────────────────\nNorth\n"
	equal(t, print(Options{}), "LABEL\nNorth 11111111\nNorth 22222222\nNorth 22222222\nEast\nEast\n44444444\n"+
		"South, at the very end of the long road 1000000001\nSouth, at the very end of the long road 1000000002\n"+end)
	equal(t, print(Options{Width: 16}), "LABEL\nNorth 11111111\nNorth 22222222\nNorth 22222222\nEast\nEast\n44444444\n"+
		"Sout… 1000000001\nSout… 1000000002\n────────────────\nNorth\n")
	equal(t, print(Options{Width: 13}), "LABEL\nNor… 11111111\nNor… 22222222\nNor… 22222222\nEast\nEast\n44444444\n"+
		"S… 1000000001\nS… 1000000002\n─────────────\nNorth\n")
	if upright, want := print(Options{Width: 12}),
		"label\n  North\n  11111111\n\nlabel\n  North\n  22222222\n"; !strings.HasPrefix(upright, want) {
		t.Errorf("got  %q\nwant %q at the beginning", upright, want)
	}
	equal(t, print(Options{Format: CSV, Columns: []string{"label"}}), "label\nNorth\nNorth\nNorth\nEast\nEast\n\"\"\n"+
		"\"South, at the very end of the long road\"\n\"South, at the very end of the long road\"\n")
	var b strings.Builder
	if err := view.One(&b, Options{}, rows[0]); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "label  North\n")
	// A chart cuts labels in the same way.
	labels := Labels{}
	for _, r := range rows {
		labels.Add(r.id, r.label)
	}
	for _, r := range []struct {
		reseller
		limit int
		want  string
	}{{rows[0], 14, "North 11111111"}, {rows[0], 12, "No… 11111111"}, {rows[3], 14, "East"}, {rows[5], 14, "44444444"}} {
		bar := Bar{Label: r.label, Apart: labels.Apart(r.id, r.label), Value: new(big.Int)}
		equal(t, bar.label(r.limit), r.want)
	}
}

func TestDefault(t *testing.T) {
	view := payments.Default("memo", "id")
	equal(t, strings.TrimSuffix(header(t, view), "\n"), "ID  MEMO")
	// The original is unchanged, and the view of one thing shows what it showed.
	equal(t, strings.TrimSuffix(header(t, payments), "\n"), "ID  ORDER ID  TO  AMOUNT  TITLE  DONE")
	var b strings.Builder
	if err := view.One(&b, Options{}, first); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), one(t, Options{}, first)+"memo      "+first.memo+"\n")
}

func header[T any](t *testing.T, view View[T]) string {
	t.Helper()
	var b strings.Builder
	if err := view.List(&b, Options{}, each([]T(nil))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// In a record, an id that does not fit next to the name of its column has a line of its own, so that a person
// can copy it. One that is wider than the terminal is broken like other texts.
func TestIDHasItsOwnLine(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123abcd", 8) // 71 characters
	view := View[string]{Columns: []Column[string]{
		{Name: "digest", Cell: ID}, {Name: "long_name", Cell: func(string) Cell { return Own("x") }},
	}}
	for limit, want := range map[int]string{
		0:  "digest     " + digest + "\n",
		82: "digest     " + digest + "\n",
		81: "digest\n" + strings.Repeat(" ", 10) + digest + "\n",
		71: "digest\n" + digest + "\n",
		70: "digest     " + digest[:59] + "\n           " + digest[59:] + "\n",
	} {
		var b strings.Builder
		if err := view.One(&b, Options{Width: limit}, digest); err != nil {
			t.Fatal(err)
		}
		equal(t, b.String(), want+"long name  x\n")
	}
	uuid := "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	wide := View[string]{Columns: []Column[string]{{Name: strings.Repeat("n", 30), Cell: ID}}}
	var b strings.Builder
	if err := wide.One(&b, Options{Width: 37}, uuid); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), strings.Repeat("n", 30)+"\n "+uuid+"\n")
}

// An amount in another currency than its row's has its code.
func TestCodeOfAnotherCurrency(t *testing.T) {
	view := View[Cell]{Columns: []Column[Cell]{
		{Name: "currency", Cell: func(Cell) Cell { return Own("Btc") }},
		{Name: "amount", CodeIn: "currency", Cell: func(c Cell) Cell { return c }},
	}}
	var b strings.Builder
	if err := view.List(&b, Options{NoHeaders: true},
		each([]Cell{Amount(5, "Btc", 2), Amount(2500, "USD", 2)})); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "Btc   0.05\nBtc  25.00 USD\n")
}
