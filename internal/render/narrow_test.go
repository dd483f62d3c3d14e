package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

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

// planned is a row of a plan with what money depends on, and notes in any script.
type planned struct {
	id, order, status, code, address, memo, note string
	amount                                       Cell
}

var plan = View[planned]{Columns: []Column[planned]{
	{Name: "order_id", Cell: func(r planned) Cell { return Word(r.order) }},
	{Name: "currency", Whole: true, Cell: func(r planned) Cell { return Own(r.code) }},
	{Name: "amount", CodeIn: "currency", Cell: func(r planned) Cell { return r.amount }},
	{Name: "address", Whole: true, Cell: func(r planned) Cell { return Own(r.address) }},
	{Name: "memo", Whole: true, Cell: func(r planned) Cell { return Own(r.memo) }},
	{Name: "status", Cell: func(r planned) Cell { return Word(r.status) }},
	{Name: "id", Cell: func(r planned) Cell { return ID(r.id) }},
	{Name: "since", Cell: func(planned) Cell { return Time("2026-11-23T11:54:32Z") }},
	{Name: "label", Cell: func(r planned) Cell { return Label(r.id, r.note) }},
	{Name: "note", Cell: func(r planned) Cell { return Note(r.note) }},
}}

func rowsOfAPlan(t *rapid.T) []planned {
	var (
		codes     = []string{"Btc", "Eth", "Ltc", "Usd", "KWD", "JPY", "Xlr", "UsdtErc20", "UsdtTrc20"}
		decimals  = []int{8, 18, 8, 2, 3, 0, 7, 6, -1}
		addresses = []string{"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "DE89370400440532013000",
			"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"}
		notes = []string{"", "Harbour Books 409", "a\u202eb\x1b[2J", strings.Repeat("very long ", 30)}
	)
	for script := range scripts {
		note, _ := text(script, 125)
		notes = append(notes, note)
	}
	slices.Sort(notes)
	rows := make([]planned, rapid.IntRange(1, 5).Draw(t, "rows"))
	for i := range rows {
		c := rapid.IntRange(0, len(codes)-1).Draw(t, "currency")
		rows[i] = planned{id: fmt.Sprintf("%08d-7425-40de-944b-e07fc1f90ae7", i),
			order: fmt.Sprint(rapid.Int64Range(1, 1<<53-1).Draw(t, "order")), code: codes[c],
			status:  strings.Repeat("Awaiting", rapid.IntRange(1, 7).Draw(t, "status")),
			amount:  Amount(rapid.Int64Range(0, 1e15).Draw(t, "amount"), codes[c], decimals[c]),
			address: rapid.SampledFrom(addresses).Draw(t, "address"),
			memo:    rapid.StringMatching(`([0-9A-Za-z]{1,28})?`).Draw(t, "memo"),
			note:    rapid.SampledFrom(notes).Draw(t, "note"),
		}
	}
	return rows
}

// What money depends on is whole, and on one line, in a table of any width: amounts, codes, addresses, memos,
// order ids and statuses. No line is wider than the terminal, which may draw the letters of a flag apart, and
// no column is left out.
func TestMoneyIsNeverCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rowsOfAPlan(t)
		for _, limit := range []int{60, 80, 100, 120, 0} {
			got := show(t, plan, Options{Width: limit}, rows...)
			lines := strings.Split(got, "\n")
			for _, line := range append(lines, strings.Split(showOne(t, plan, Options{Width: limit}, rows[0]), "\n")...) {
				if wide := max(Width(line), uniseg.StringWidth(line)); limit > 0 && wide > limit || strings.HasSuffix(line, " ") {
					t.Errorf("%d columns of %d in %q", wide, limit, line)
				}
			}
			if limit == 0 && strings.Contains(got, ellipsis) {
				t.Errorf("cut in a pipe:\n%s", got)
			}
			at := 0
			for _, c := range plan.Columns {
				name := strings.ToUpper(strings.ReplaceAll(c.Name, "_", " "))
				if n := strings.Index(got[at:], name); n >= 0 {
					at += n
				} else if c.Name != "memo" && c.Name != "note" {
					t.Errorf("there is no column %s", name)
				}
			}
			for _, r := range rows {
				number, _ := r.amount.amount()
				if limit > 0 {
					number = Group(number)
				}
				rest := lines
				for i, value := range []string{r.order, r.code, number, r.address, r.memo, r.status} {
					n := slices.IndexFunc(rest, func(line string) bool {
						return i == 0 && strings.HasPrefix(line+" ", value+" ") || i > 0 && strings.Contains(" "+line+" ", " "+value+" ")
					})
					if n < 0 {
						t.Fatalf("%d columns: %q of order %s is not in\n%s", limit, value, r.order, got)
					}
					rest = rest[n:]
				}
			}
		}
	})
	for limit := 1; limit < 40; limit++ { // printing ends even on a very narrow terminal
		show(t, payments, Options{Width: limit}, payment{id: "日本", title: "e\u0301 日本 x"})
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for script := range scripts {
		text, seen := text(script, 20)
		begins, ends := map[string]bool{}, map[string]bool{}
		for n := range len(seen) + 1 {
			begins[strings.TrimRight(strings.Join(seen[:n], ""), " ")] = true
			ends[strings.TrimLeft(strings.Join(seen[n:], ""), " ")] = true
		}
		for limit := 2; limit < Width(Safe(text)); limit++ {
			for _, got := range []string{Cut(Safe(text), limit), cut(Safe(text), limit)} {
				begin, end, found := strings.Cut(got, ellipsis)
				if !found || Width(got) > limit || !begins[begin] || !ends[end] {
					t.Errorf("%s, %d columns: %q", script, limit, got)
				}
			}
		}
	}
}

// Ids, times and texts give way in the order of the package documentation. Then a row takes a second line.
func TestTableGivesWay(t *testing.T) {
	view := View[string]{Columns: []Column[string]{{Name: "id", Cell: ID}, {Name: "since",
		Cell: func(string) Cell { return Time("2026-11-23T11:54:32Z") }},
		{Name: "why", Cell: func(string) Cell { return Note(strings.Repeat("x", 30)) }}}}
	id, x := "7c9e6679-7425-40de-944b-e07fc1f90ae7", func(n int) string { return strings.Repeat("x", n) }
	for limit, want := range map[int]string{
		0:  id + "  2026-11-23T11:54:32Z  " + x(30),
		90: id + "  2026-11-23T11:54:32Z  " + x(30),
		89: "7c9e6679  2026-11-23T11:54:32Z  " + x(30),
		61: "7c9e6679  2026-11-23 11:54  " + x(30),
		57: "7c9e6679  2026-11-23 11:54  " + x(14) + "…" + x(14),
		39: "7c9e6679  2026-11-23 11:54\n  " + x(30),
		30: "7c9e6679  2026-11-23 11:54\n  " + x(14) + "…" + x(13),
		25: "7c9e6679\n  2026-11-23 11:54\n  " + x(11) + "…" + x(11),
	} {
		equal(t, show(t, view, Options{Width: limit, NoHeaders: true}, id), want+"\n")
	}
}

// A text that may not be cut and is wider than the terminal is broken between words, and a word is not.
func TestWholeTextsAreWrapped(t *testing.T) {
	view := View[string]{Columns: []Column[string]{
		{Name: "n", Cell: func(string) Cell { return Int(12345) }}, {Name: "why", Whole: true, Cell: Text}}}
	long := strings.Repeat("x", 25)
	equal(t, show(t, view, Options{Width: 20}, "the answer got lost on the way back "+long, "short", ""),
		"    N\n  WHY\n12345\n  the answer got\n  lost on the way\n  back\n  "+long+"\n12345\n  short\n12345\n")
}

// A text that may not be cut is broken in its column, between words.
func TestTextsAreBrokenInTheirColumn(t *testing.T) {
	view := View[string]{Columns: []Column[string]{{Name: "to", Cell: Own},
		{Name: "why", Cell: func(string) Cell { return Text("nobody answered") }}}}
	equal(t, show(t, view, Options{Width: 33}, "bc1qar0srrr7xfkvy5, 1 234.50 JPY"),
		"TO                   WHY\nbc1qar0srrr7xfkvy5,  nobody\n1 234.50 JPY         answered\n")
}

// On a terminal, columns without any text and counts of nothing are left out, unless they are named.
func TestEmptyColumns(t *testing.T) {
	view := View[string]{Columns: []Column[string]{{Name: "id", Cell: Text},
		{Name: "to", Cell: func(string) Cell { return Text("") }},
		{Name: "lost", Cell: func(string) Cell { return Count(0) }}, {Name: "n", Cell: func(string) Cell { return Int(0) }}}}
	const all = "ID  TO  LOST  N\na          0  0\n"
	equal(t, show(t, view, Options{Width: 80}, "a"), "ID  N\na   0\n")
	equal(t, show(t, view, Options{}, "a"), all)
	equal(t, show(t, view, Options{Width: 80, Columns: []string{"id", "to", "lost", "n"}}, "a"), all)
	equal(t, show(t, view, Options{Width: 80}), "ID  TO  LOST  N\n")
}

// Only ids of which the beginning is enough are shortened, and only times with a date.
func TestBriefForms(t *testing.T) {
	digest := strings.Repeat("0123abcd", 8)
	for _, cell := range []Cell{ID("7C9E6679-7425-40DE-944B-E07FC1F90AE7"), ID(digest), ID("sha256:" + digest)} {
		equal(t, cell.brief(formTime), strings.TrimPrefix(cell.text, "sha256:")[:8])
	}
	equal(t, Time("2026-11-23T11:54:32").brief(formTime), "2026-11-23 11:54")
	for _, cell := range []Cell{ID("100000000001"), ID(""), Text(digest), Time("23.11.2026 11:54:32"), Own("2026-11-23T11:54:32Z")} {
		equal(t, cell.brief(formTime), cell.text)
	}
}

// Labels that occur twice, and empty ones, have the beginning of the id, in every format that is not data.
func TestLabelsAreToldApart(t *testing.T) {
	type reseller struct{ id, label string }
	view := View[reseller]{Columns: []Column[reseller]{
		{Name: "label", Cell: func(r reseller) Cell { return Label(r.id, r.label) }},
		{Name: "id", Extra: true, Cell: func(r reseller) Cell { return ID(r.id) }},
	}, Foot: []reseller{{"", "North"}}}
	const rest, south = "-7425-40de-944b-e07fc1f90ae7", "South, at the very end of the long road"
	rows := []reseller{{"11111111" + rest, "North"}, {"22222222" + rest, "North"}, {"33333333" + rest, "East"},
		{"33333333" + rest, "East"}, {"44444444" + rest, ""}, {"1000000001", south}, {"1000000002", south}}
	for limit, want := range map[int]string{
		0:  "North 11111111\nNorth 22222222\nEast\nEast\n44444444\n" + south + " 1000000001\n" + south + " 1000000002\n",
		16: "North 11111111\nNorth 22222222\nEast\nEast\n44444444\nSo…ad 1000000001\nSo…ad 1000000002\n",
		13: "No…h 11111111\nNo…h 22222222\nEast\nEast\n44444444\nS… 1000000001\nS… 1000000002\n",
	} {
		equal(t, show(t, view, Options{Width: limit}, rows...),
			"LABEL\n"+want+strings.Repeat("─", cmp.Or(limit, 50))+"\nNorth\n")
	}
	equal(t, show(t, view, Options{Format: CSV, Columns: []string{"label"}}, rows[1:5]...),
		"label\nNorth\nEast\nEast\n\"\"\n")
	equal(t, showOne(t, view, Options{}, rows[0]), "label  North\n")
}

// In a record, an id that does not fit next to the name of its column has a line of its own, so that a person
// can copy it.
func TestIDHasItsOwnLine(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123abcd", 8) // 71 characters
	view := View[string]{Columns: []Column[string]{
		{Name: "digest", Cell: ID}, {Name: "long_name", Cell: func(string) Cell { return Own("x") }}}}
	for limit, want := range map[int]string{
		0: "digest     " + digest, 82: "digest     " + digest, 81: "digest\n" + strings.Repeat(" ", 10) + digest,
		71: "digest\n" + digest, 70: "digest\n" + digest,
	} {
		equal(t, showOne(t, view, Options{Width: limit}, digest), want+"\nlong name  x\n")
	}
	wide := View[string]{Columns: []Column[string]{{Name: strings.Repeat("n", 30), Cell: ID}}}
	equal(t, showOne(t, wide, Options{Width: 37}, digest[:37]), strings.Repeat("n", 30)+"\n"+digest[:37]+"\n")
}
