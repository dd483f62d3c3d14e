package render

import (
	"cmp"
	"fmt"
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
	"emoji":     {"😀", "👍🏽", "🇩🇪", "🇯🇵", "👨\u200d👩\u200d👧", "❤\ufe0f", "👩🏽\u200d🍳", "a", `\u200d`},
	"combining": {"e\u0301", "a\u0308\u0323", "o\u0302\u0301", "n\u0303", " ", "g\u030a"},
}

// text returns a text of a script, with its invisible characters, of at least the given number of characters.
func text(script string, count int) (text string, seen []string) {
	for len(seen) < count {
		seen = append(seen, scripts[script]...)
	}
	return strings.NewReplacer(`\u200d`, "\u200d").Replace(strings.Join(seen, "")), seen
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
	header := []string{"ID", "ORDER ID", "STATUS", "AMOUNT", "SINCE", "LABEL"}
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
				}
				head, _, _ := strings.Cut(transfersAsText(t, Options{Width: limit}, rows...), "7c9e6679")
				if got, want := strings.Join(strings.Fields(head), " "), strings.Join(header, " "); got != want {
					t.Errorf("%s, %d columns: the header is %q", script, limit, got)
				}
				if oneLine := strings.Count(head, "\n") == 1; oneLine != (limit >= 100) {
					t.Errorf("%s, %d columns: a header of one line: %v\n%s", script, limit, oneLine, head)
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
		for _, shorten := range []func(string, int) string{Cut, cut} {
			for limit := 2; limit < width(Safe(text)); limit++ {
				got := shorten(Safe(text), limit)
				begin, end, cut := strings.Cut(got, "…")
				if !cut || width(got) > limit {
					t.Fatalf("%s, %d columns: %q", script, limit, got)
				}
				if !slices.ContainsFunc(rangeTo(len(seen)), func(n int) bool {
					return strings.TrimRight(strings.Join(seen[:n], ""), " ") == strings.TrimRight(begin, " ")
				}) {
					t.Errorf("%s, %d columns: a character is cut at the end of %q", script, limit, begin)
				}
				if !slices.ContainsFunc(rangeTo(len(seen)), func(n int) bool {
					return strings.TrimLeft(strings.Join(seen[n:], ""), " ") == end
				}) {
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

// One long value takes no column away, and nothing that may not be cut is cut.
func TestOneLongValue(t *testing.T) {
	long := realistic(strings.Repeat("very long ", 12)+"label", "")
	longStatus := realistic("North shop", "")
	longStatus.status = strings.Repeat("Awaiting", 8)[:60]
	longOrder := realistic("North shop", "")
	longOrder.order = strings.Repeat("foreign-", 25)
	for name, row := range map[string]transfer{"label": long, "status": longStatus, "order id": longOrder} {
		columns := []string{"id", "order_id", "status", "amount", "label"}
		got := transfersAsText(t, Options{Width: 80, Columns: columns}, row, realistic("South shop", ""))
		head, _, _ := strings.Cut(got, "7c9e6679")
		if strings.Join(strings.Fields(head), " ") != "ID ORDER ID STATUS AMOUNT LABEL" {
			t.Errorf("a long %s changes the header to %q", name, head)
		}
		for _, value := range []string{row.order, row.status, "202611230001", "Processing", "South shop",
			"12 345 678.901234 UsdtTrc20"} {
			if !strings.Contains(got, value) {
				t.Errorf("with a long %s, %q is not whole:\n%s", name, value, got)
			}
		}
	}
}

// Ids, times and texts give way in the order of the package documentation. Then a row takes a second line.
func TestTableGivesWay(t *testing.T) {
	view := View[transfer]{Columns: []Column[transfer]{
		{Name: "id", Cell: func(r transfer) Cell { return ID(r.id) }},
		{Name: "since", Cell: func(r transfer) Cell { return Time(r.since) }},
		{Name: "why", Cell: func(r transfer) Cell { return Text(r.why) }},
	}}
	row := realistic("", strings.Repeat("x", 30))
	short := func(n int) string { return row.why[:n/2] + "…" + row.why[:n-n/2-1] }
	for _, test := range []struct {
		limit int
		want  string
	}{
		{0, row.id + "  2026-11-23T11:54:32Z  " + row.why},
		{90, row.id + "  2026-11-23T11:54:32Z  " + row.why},
		{89, "7c9e6679  2026-11-23T11:54:32Z  " + row.why},
		{62, "7c9e6679  2026-11-23T11:54:32Z  " + row.why},
		{61, "7c9e6679  2026-11-23 11:54  " + row.why},
		{58, "7c9e6679  2026-11-23 11:54  " + row.why},
		{57, "7c9e6679  2026-11-23 11:54  " + short(29)},
		{40, "7c9e6679  2026-11-23 11:54  " + short(12)},
		{39, "7c9e6679  2026-11-23 11:54\n  " + row.why},
		{30, "7c9e6679  2026-11-23 11:54\n  " + short(28)},
		{25, "7c9e6679\n  2026-11-23 11:54\n  " + short(23)},
	} {
		var b strings.Builder
		if err := view.List(&b, Options{Width: test.limit, NoHeaders: true}, each([]transfer{row})); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want+"\n" {
			t.Errorf("%d columns:\ngot  %swant %s", test.limit, b.String(), test.want)
		}
	}
}

// A text that may not be cut and is wider than the terminal is broken between words, and a word is not.
func TestWholeTextsAreWrapped(t *testing.T) {
	view := View[string]{Columns: []Column[string]{
		{Name: "n", Cell: func(string) Cell { return Int(12345) }},
		{Name: "why", Whole: true, Cell: Text},
	}}
	var b strings.Builder
	text := "the answer got lost on the way back " + strings.Repeat("x", 25)
	if err := view.List(&b, Options{Width: 20}, each([]string{text, "short", ""})); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "    N\n  WHY\n12345\n  the answer got\n  lost on the way\n  back\n  "+strings.Repeat("x", 25)+
		"\n12345\n  short\n12345\n")
}

// On a terminal, columns without any text are left out, unless they are named.
func TestEmptyColumns(t *testing.T) {
	rows := []payment{{id: "a", amount: Amount(5, "USD", 2)}, {id: "b", amount: Amount(5, "USD", 2)}}
	columns := []string{"id", "to", "title"}
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Width: 80}, "ID  ORDER ID    AMOUNT  DONE"},
		{Options{}, "ID  ORDER ID  TO    AMOUNT  TITLE  DONE"},
		{Options{Width: 80, Columns: columns}, "ID  TO  TITLE"},
	} {
		got, _, _ := strings.Cut(list(t, test.o, rows...), "\n")
		equal(t, got, test.want)
	}
	equal(t, list(t, Options{Width: 80}), "ID  ORDER ID  TO  AMOUNT  TITLE  DONE\n")
	counts := View[[2]int]{Columns: []Column[[2]int]{
		{Name: "rows", Cell: func(n [2]int) Cell { return Count(n[0]) }},
		{Name: "lost", Cell: func(n [2]int) Cell { return Count(n[1]) }},
	}}
	for limit, want := range map[int]string{0: "ROWS  LOST\n   3     0\n", 80: "ROWS\n   3\n"} {
		var b strings.Builder
		if err := counts.List(&b, Options{Width: limit}, each([][2]int{{3, 0}})); err != nil {
			t.Fatal(err)
		}
		equal(t, b.String(), want)
	}
}

func TestGroup(t *testing.T) {
	for number, want := range map[string]string{
		"": "", "0": "0", "123": "123", "1234": "1 234", "-123": "-123", "-1234": "-1 234",
		"1234567.123456": "1 234 567.123456", "48000.00 UsdtErc20": "48 000.00 UsdtErc20",
		"1500000 minor Btc": "1 500 000 minor Btc", "0.00012345 Btc": "0.00012345 Btc",
	} {
		equal(t, Group(number), want)
	}
}

// On a terminal, the digits of amounts in a text are grouped, and elsewhere they are not.
func TestSumsAreGrouped(t *testing.T) {
	view := View[[]string]{Columns: []Column[[]string]{{Name: "sums", Cell: Sums}}}
	for limit, want := range map[int]string{0: "1234.50 USD, 12345 JPY\n", 80: "1 234.50 USD, 12 345 JPY\n"} {
		var b strings.Builder
		if err := view.List(&b, Options{Width: limit, NoHeaders: true}, each([][]string{{"1234.50 USD", "12345 JPY"}})); err != nil {
			t.Fatal(err)
		}
		equal(t, b.String(), want)
	}
}

// Only ids of which the beginning is enough are shortened, and only times with a date.
func TestBriefForms(t *testing.T) {
	digest := strings.Repeat("0123abcd", 8)
	for _, test := range []struct {
		cell Cell
		want string // "": the whole text
	}{
		{ID("7c9e6679-7425-40de-944b-e07fc1f90ae7"), "7c9e6679"},
		{ID("7C9E6679-7425-40DE-944B-E07FC1F90AE7"), "7C9E6679"},
		{ID(digest), "0123abcd"},
		{ID("sha256:" + digest), "0123abcd"},
		{ID("100000000001"), ""},
		{ID("wd_" + digest), ""},
		{ID(""), ""},
		{Text("7c9e6679-7425-40de-944b-e07fc1f90ae7"), ""},
		{Time("2026-11-23T11:54:32Z"), "2026-11-23 11:54"},
		{Time("2026-11-23 11:54:32"), "2026-11-23 11:54"},
		{Time("2026-11-23 11:54"), ""},
		{Time("23.11.2026 11:54:32"), ""},
		{Time("2026-11-23"), ""},
		{Time(""), ""},
		{Own("2026-11-23T11:54:32Z"), ""},
	} {
		if got := test.cell.brief(formTime); got != cmp.Or(test.want, test.cell.text) {
			t.Errorf("the brief form of %q is %q; want %q", test.cell.text, got, test.want)
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
		"So…ad 1000000001\nSo…ad 1000000002\n────────────────\nNorth\n")
	equal(t, print(Options{Width: 13}), "LABEL\nNo…h 11111111\nNo…h 22222222\nNo…h 22222222\nEast\nEast\n44444444\n"+
		"S… 1000000001\nS… 1000000002\n─────────────\nNorth\n")
	equal(t, print(Options{Format: CSV, Columns: []string{"label"}}), "label\nNorth\nNorth\nNorth\nEast\nEast\n\"\"\n"+
		"\"South, at the very end of the long road\"\n\"South, at the very end of the long road\"\n")
	var b strings.Builder
	if err := view.One(&b, Options{}, rows[0]); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), "label  North\n")
	// A picture cuts labels in the same way.
	labels := Labels{}
	for _, r := range rows {
		labels.Add(r.id, r.label)
	}
	for _, r := range []struct {
		reseller
		limit int
		want  string
	}{{rows[0], 14, "North 11111111"}, {rows[0], 12, "N…h 11111111"}, {rows[3], 14, "East"}, {rows[5], 14, "44444444"}} {
		equal(t, labelled(r.label, labels.Apart(r.id, r.label), r.limit), r.want)
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
// can copy it.
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
		70: "digest\n" + digest + "\n",
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
