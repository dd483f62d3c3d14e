package render

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/rivo/uniseg"
)

func TestTableCutsOnlyTexts(t *testing.T) {
	rows := []payment{
		first,
		second,
		{id: "wd_3", order: -12, to: "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae",
			amount: Amount(15_000, "Eth", 6), title: "日本語\x1b[2J", done: true},
		{id: "wd_4", amount: Amount(-500, "JPY", 0), title: "e\u0301te\u0301"},
		{id: "wd_5"},
	}
	// The amounts take 24 columns: 7 before the point, 7 from it on, the unit.
	equal(t, list(t, Options{}, rows...), ""+
		"ID    ORDER ID  TO                                                            AMOUNT  TITLE          DONE\n"+
		"wd_1      4711  bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq       25.00     USD        Shoes          true\n"+
		"wd_2         9  rXYZ                                        1500000        minor Btc  Hüte           false\n"+
		"wd_3       -12  0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae        0.015000 Eth        日本語\\x1b[2J  true\n"+
		"wd_4         0                                                 -500        JPY        e\u0301te\u0301            false\n"+
		"wd_5         0                                                                                       false\n")
	// A row takes a second line before a text has fewer than 12 columns. What is narrower than that stays
	// whole.
	equal(t, list(t, Options{Width: 77}, rows...), ""+
		"ID    ORDER ID  TO                                AMOUNT  TITLE         DONE\n"+
		"wd_1      4711  bc1qar…f5mdq         25.00     USD        Shoes         true\n"+
		"wd_2         9  rXYZ          1 500 000        minor Btc  Hüte          false\n"+
		"wd_3       -12  0xde0b…97bae          0.015000 Eth        日本語…[2J    true\n"+
		"wd_4         0                     -500        JPY        e\u0301te\u0301           false\n"+
		"wd_5         0                                                          false\n")
}

func TestTableAlignsAmounts(t *testing.T) {
	usd := func(id string, minor int64) payment { return payment{id: id, amount: Amount(minor, "USD", 2)} }
	columns := []string{"id", "amount"}
	equal(t, list(t, Options{Columns: columns}, usd("a", 2500), usd("bb", 100000), usd("c", -5)),
		"ID       AMOUNT\na     25.00 USD\nbb  1000.00 USD\nc     -0.05 USD\n")
	equal(t, list(t, Options{Columns: columns, NoHeaders: true}, usd("a", 2500)), "a  25.00 USD\n")
	equal(t, list(t, Options{Columns: columns, Sort: "-amount"}, usd("a", 1), usd("b", 2)),
		"ID    AMOUNT\nb   0.02 USD\na   0.01 USD\n")
	equal(t, list(t, Options{}), "ID  ORDER ID  TO  AMOUNT  TITLE  DONE\n")
	equal(t, list(t, Options{Width: 20}), "ID  ORDER ID  TO\n  AMOUNT  TITLE\n  DONE\n")
	equal(t, list(t, Options{NoHeaders: true}), "")
	equal(t, list(t, Options{Columns: []string{"history", "memo"}}, both...),
		"HISTORY                    MEMO\nsent 2026-05-02T11:30:00Z  =7\n\n")
	// Amounts without a code, with a known and an unknown unit.
	none := []payment{{amount: Amount(5, "", 2)}, {amount: Amount(7, "", -1)}}
	equal(t, list(t, Options{Columns: []string{"amount"}}, none...), "    AMOUNT\n0.05\n7    minor\n")
	equal(t, list(t, Options{Columns: []string{"amount"}}, none[:1]...), "AMOUNT\n  0.05\n")
	// Next to a text a column begins on the left, and its points still align.
	equal(t, list(t, Options{Columns: []string{"amount", "id"}}, usd("a", 2500), usd("b", 100000),
		payment{id: "c", amount: Text("unknown to us")}),
		"AMOUNT         ID\n  25.00 USD    a\n1000.00 USD    b\nunknown to us  c\n")
	// A code is also text of the service.
	equal(t, list(t, Options{Columns: []string{"amount"}, NoHeaders: true},
		payment{amount: Amount(1, "A\x1b", 0)}), "1 A\\x1b\n")
}

// A row takes as many lines as its cells need.
func TestRowsOfSeveralLines(t *testing.T) {
	equal(t, list(t, Options{Width: 40}, append(both, payment{id: "wd_3", amount: Amount(1, "USD", 2)})...), ""+
		"ID    ORDER ID  TO\n"+
		"                  AMOUNT  TITLE  DONE\n"+
		"wd_1      4711  bc1qar0srrr7…9gtzzwf5mdq\n"+
		"         25.00 USD        Shoes  true\n"+
		"wd_2         9  rXYZ\n"+
		"  1 500 000    minor Btc  Hüte   false\n"+
		"wd_3         0\n"+
		"          0.01 USD               false\n")
}

func TestOneShowsEachFieldOnItsOwnLine(t *testing.T) {
	equal(t, one(t, Options{}, first), `id        wd_1
order id  4711
to        bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
amount    25.00 USD
title     Shoes
done      true
history   created  2026-05-01T10:00:00Z
          sent     2026-05-02T11:30:00Z
`)
	equal(t, one(t, Options{Columns: []string{"memo", "amount", "history"}}, second),
		"memo\namount   1500000 minor Btc\nhistory\n")
	equal(t, one(t, Options{Columns: []string{"id", "history"}, NoHeaders: true}, first),
		"wd_1\ncreated  2026-05-01T10:00:00Z\nsent     2026-05-02T11:30:00Z\n")
	equal(t, one(t, Options{Columns: []string{"title"}, Width: 30},
		payment{title: "one two three four five six seven\n"}),
		"title  one two three four five\n       six seven\\n\n")
	equal(t, one(t, Options{Columns: []string{"order_id", "title"}, Width: 20},
		payment{order: 7, title: "日本語日本語日本語日本"}),
		"order id\n  7\ntitle\n  日本語日本語日本語\n  日本\n")
	equal(t, one(t, Options{Columns: []string{"title"}}, payment{title: "a\x1b]0;x\x07\u202eb"}),
		`title  a\x1b]0;x\x07\u202eb`+"\n")
	record := View[string]{Columns: []Column[string]{{Name: "balance",
		Cell: func(s string) Cell { return JSONText([]byte(s)) }}}}
	var b strings.Builder
	record.One(&b, Options{}, "{\n \"Btc\": 1.50, \"t\": \"\u202e\U000e0001\"}")
	equal(t, b.String(), `balance  {"Btc":1.50,"t":"\u202e\udb40\udc01"}`+"\n")
}

func TestColorChangesNoText(t *testing.T) {
	const bold, dim, green, red, off = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[0m"
	columns := []string{"amount", "done", "title"}
	equal(t, list(t, Options{Columns: columns, Color: true}, both...), ""+
		"              "+bold+"AMOUNT"+off+"  "+bold+"DONE"+off+"   "+bold+"TITLE"+off+"\n"+
		"     25.00 USD        "+green+"true"+off+"   Shoes\n"+
		"1500000    "+dim+"minor"+off+" Btc  "+red+"false"+off+"  Hüte\n")
	equal(t, one(t, Options{Columns: columns, Color: true}, second), ""+
		bold+"amount"+off+"  1500000 "+dim+"minor"+off+" Btc\n"+
		bold+"done"+off+"    "+red+"false"+off+"\n"+
		bold+"title"+off+"   Hüte\n")
	equal(t, one(t, Options{Columns: []string{"done"}, Color: true, Width: 10}, first),
		bold+"done"+off+"\n  "+green+"true"+off+"\n")
	// Colour changes nothing else, and does not change the other formats at all.
	strip := strings.NewReplacer(bold, "", dim, "", green, "", red, "", off, "")
	for _, w := range []int{0, 30, 70, 120} {
		equal(t, strip.Replace(list(t, Options{Color: true, Width: w}, both...)), list(t, Options{Width: w}, both...))
	}
	for _, f := range []Format{JSON, JSONL, CSV, YAML} {
		equal(t, list(t, Options{Color: true, Format: f}, both...), list(t, Options{Format: f}, both...))
	}
}

// Tables of every kind of text fit, keep their numbers whole, and stay aligned. A different library measures
// the width than the one that laid the table out.
func TestTableFits(t *testing.T) {
	texts := []string{
		"", "x", "wd_000123", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "日本語のとても長いタイトルです本当に", "한국어 제목 이것은 깁니다",
		"Schöne Grüße aus Österreich und noch viel mehr", strings.Repeat("e\u0301", 60),
		"हिन्दी में एक लंबा शीर्षक", "שלום עולם", "\x1b[31mred\u202e", strings.Repeat("界", 100),
		"العربية نص طويل جدا جدا", strings.Repeat("word ", 40),
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string { return texts[random.IntN(len(texts))] }
	codes := []string{"USD", "Btc", "Xlr", ""}
	var columns []string
	for _, c := range payments.Columns {
		columns = append(columns, c.Name)
	}
	for _, limit := range []int{40, 80, 200} {
		for range 300 {
			rows := make([]payment, 1+random.IntN(5))
			for i := range rows {
				rows[i] = payment{id: text(), to: text(), title: text(), order: random.Int64N(1e6), memo: text(),
					done:   random.IntN(2) == 0,
					amount: Amount(random.Int64N(1e9), codes[random.IntN(len(codes))], random.IntN(9)-1),
					steps:  []Step{{text(), "2026-05-01T10:00:00Z"}}}
			}
			got := list(t, Options{Width: limit, Columns: columns}, rows...)
			got += one(t, Options{Width: limit}, rows[0])
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if w := uniseg.StringWidth(line); w > limit {
					t.Errorf("%d columns in a terminal of %d: %q", w, limit, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("spaces at the end of %q", line)
				}
			}
			for _, row := range rows {
				number, _ := row.amount.amount()
				if !strings.Contains(got, Group(number)) || !strings.Contains(got, fmt.Sprint(row.order)) {
					t.Errorf("%s or %d was cut in\n%s", number, row.order, got)
				}
			}
		}
	}
	// Printing ends even on a very narrow terminal.
	for limit := 1; limit < 40; limit++ {
		list(t, Options{Width: limit}, payment{id: "日本", title: "e\u0301 日本 x"})
	}
}

// Columns are aligned on a terminal that draws the letters of a flag, and an emoji and its tone, one beside
// the other.
func TestTableAlignsWhatIsDrawnApart(t *testing.T) {
	rows := []payment{{title: "🇩🇪", done: true}, {title: "👍🏽 x", done: true}, {title: "日本語", done: true},
		{title: "plain", done: true}}
	equal(t, list(t, Options{Columns: []string{"title", "done"}, NoHeaders: true}, rows...), ""+
		"🇩🇪    true\n"+
		"👍🏽 x  true\n"+
		"日本語  true\n"+
		"plain   true\n")
}

// The locale may say that some characters of other scripts, too, are as wide as East Asian ones.
func TestTableIgnoresTheLocale(t *testing.T) {
	rows := []payment{{title: "Ж🇩🇪", done: true}, {title: "plain", done: true}}
	twwidth.SetCondition(&runewidth.Condition{EastAsianWidth: true}) // as tablewriter does with such a locale
	for range 2 {
		equal(t, list(t, Options{Columns: []string{"title", "done"}, NoHeaders: true}, rows...),
			"Ж🇩🇪  true\nplain  true\n")
	}
}

func TestTableAlignsWideText(t *testing.T) {
	rows := []payment{{title: "日本語", done: true}, {title: "e\u0301te\u0301", done: true},
		{title: "Ελλάδα", done: true}, {title: "😀 x", done: true}, {title: "\u202e", done: true}}
	for line := range strings.Lines(list(t, Options{Columns: []string{"title", "done"}, NoHeaders: true}, rows...)) {
		before, _, _ := strings.Cut(line, "true")
		if got := uniseg.StringWidth(before); got != 8 {
			t.Errorf("the second column begins at %d in %q", got, line)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		in     string
		limit  int
		middle bool
		want   string
	}{
		{"abcdef", 6, true, "abcdef"},
		{"abcdefg", 6, true, "abc…fg"},
		{"abcdefg", 5, true, "ab…fg"},
		{"abcdefg", 3, true, "a…g"},
		{"abcdefg", 2, true, "a…"},
		{"abcdefg", 1, true, "…"},
		{"abcdefg", 0, true, ""},
		{"abcdefg", 5, false, "abcd…"},
		{"ab cdefg", 5, true, "ab…fg"},
		{"ab cdefg", 4, true, "ab…g"},
		{"Harbour Books 409", 11, true, "Harbo…s 409"},
		{"Harbour Books 409", 8, true, "Harb…409"},
		{"Harbour Books 409", 5, false, "Harb…"},
		{"日本語日本語", 7, true, "日…本語"},
		{"日本語日本語", 6, true, "日…語"},
		{"日本語日本語", 4, false, "日…"},
		{"e\u0301e\u0301e\u0301e\u0301e\u0301", 4, true, "e\u0301e\u0301…e\u0301"},
		{"🇩🇪🇫🇷🇯🇵", 9, false, "🇩🇪🇫🇷…"}, // a terminal may show the two letters of a flag
		{"🇩🇪🇫🇷🇯🇵", 8, false, "🇩🇪…"},
		{`ab\u200dcd`, 9, false, `ab\u200d…`},
		{`ab\u200dcd`, 8, false, `ab…`},
		{`ab\u200dcd`, 9, true, `ab…cd`},
		{`a\path`, 4, false, `a\p…`},
	} {
		shorten := Cut
		if test.middle {
			shorten = cut
		}
		if got := shorten(test.in, test.limit); got != test.want {
			t.Errorf("%q in %d columns, in the middle %v: got %q, want %q", test.in, test.limit, test.middle, got, test.want)
		}
	}
}

func TestExtremes(t *testing.T) {
	rows := []payment{{amount: Amount(math.MinInt64, "USD", 2)}, {amount: Amount(math.MaxInt64, "Eth", 18)},
		{amount: Amount(0, "X", 30)}}
	equal(t, list(t, Options{Columns: []string{"amount"}, NoHeaders: true}, rows...), ""+
		"-92233720368547758.08                             USD\n"+
		"                 9.223372036854775807             Eth\n"+
		"                 0.000000000000000000000000000000 X\n")
}

var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// A long table is printed in parts that look like one table: the widest cells are in the last row. Rows that
// can be made again are not kept.
func TestLongTable(t *testing.T) {
	type row struct{ n int }
	v := View[row]{
		Columns: []Column[row]{
			{Name: "name", Cell: func(r row) Cell { return Text(strings.Repeat("x", 1+r.n/partRows)) }},
			{Name: "sum", Amount: true, Cell: func(r row) Cell { return Amount(int64(r.n), "EUR", 2) }},
			{Name: "change", Cell: func(r row) Cell { return Change(big.NewInt(int64(r.n - 600))) }},
			{Name: "end", Cell: func(r row) Cell { return Bool(r.n%2 == 0) }},
		},
		Foot: []row{{123456}},
	}
	const count = 2*partRows + 1
	times := 0
	rows := func(yield func(row, error) bool) {
		times++
		for n := range count {
			if !yield(row{n}, nil) {
				return
			}
		}
	}
	for _, o := range []Options{{}, {Color: true}, {NoHeaders: true}} {
		for _, v.Again = range []bool{false, true} {
			times = 0
			var b strings.Builder
			if err := v.List(&b, o, rows); err != nil {
				t.Fatal(err)
			}
			if again := times == 2; again != v.Again {
				t.Errorf("the rows were made %d times", times)
			}
			lines := strings.Split(strings.TrimSuffix(escapeSequence.ReplaceAllString(b.String(), ""), "\n"), "\n")
			if o.NoHeaders {
				lines = append([]string{"NAME"}, lines...)
			}
			if len(lines) != count+3 {
				t.Fatalf("%d lines", len(lines))
			}
			const sums = 1 + 123456/partRows + 2 + 11 // the first two columns
			wide := width(lines[count+1])
			for i, line := range lines[1 : count+1] {
				end := fmt.Sprintf(" %d.%02d EUR", i/100, i%100)
				if at := strings.Index(line, end); at+len(end) != sums || wide != sums+2+9+2+5 ||
					line[sums+2+9:] != map[bool]string{true: "  true", false: "  false"}[i%2 == 0] {
					t.Fatalf("line %d, above a rule of %d, ends otherwise: %q", i, wide, line[max(len(line)-60, 0):])
				}
			}
		}
	}
}

// A table keeps no rows that it can go through again.
func TestTableInLittleMemory(t *testing.T) {
	const rows, size = 20_000, 1 << 10
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, passes, most := heap(), 0, uint64(0)
	view := payments
	view.Again = true
	err := view.List(io.Discard, Options{Columns: []string{"id", "title"}}, func(yield func(payment, error) bool) {
		passes++
		for i := range rows {
			if !yield(payment{id: fmt.Sprint(i), title: strings.Repeat("x", size)}, nil) {
				return
			}
			if i == rows-1 {
				most = max(most, heap()-min(before, heap()))
			}
		}
	})
	if err != nil || passes != 2 || most > rows*size/4 {
		t.Errorf("%d bytes were kept in %d passes: %v", most, passes, err)
	}
}

// A file can change between the two passes. The widths from the first pass then no longer fit, but the table
// is printed anyway, up to the error that reports the change.
func TestTableOfRowsThatChange(t *testing.T) {
	broken := errors.New("it was changed")
	small := []payment{{id: "a", amount: Amount(1, "USD", 2)}}
	for _, width := range []int{0, 8} {
		passes := 0
		view := payments
		view.Again = true
		var b strings.Builder
		err := view.List(&b, Options{Columns: []string{"id", "amount"}, Width: width},
			func(yield func(payment, error) bool) {
				if passes++; passes == 1 {
					each(small)(yield)
					return
				}
				if yield(payment{id: "abc", amount: Amount(123456, "Doge", 4)}, nil) &&
					yield(payment{amount: Text("none")}, nil) {
					yield(payment{}, broken)
				}
			})
		if err != broken || !strings.Contains(b.String(), "12.3456 Doge") || !strings.Contains(b.String(), "none") {
			t.Errorf("%q: %v", b.String(), err)
		}
	}
	view := payments
	view.Again = true
	var b strings.Builder
	if err := view.List(&b, Options{}, breaking(t)); err == nil || b.Len() > 0 {
		t.Errorf("%q: %v", b.String(), err)
	}
}

// A table that may have no end is printed before all of its rows arrive. It keeps only the rows that it
// measures.
func TestTableWithoutEnd(t *testing.T) {
	const size, rows = 1 << 10, 12_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, first := heap(), 0
	var kept uint64
	written := &counter{}
	broken := errors.New("a signal")
	err := payments.List(written, Options{Columns: []string{"title", "id"}}, func(yield func(payment, error) bool) {
		for i := range rows {
			if !yield(payment{id: fmt.Sprint(i), title: strings.Repeat("x", size)}, nil) {
				return
			}
			if written.lines > 0 && first == 0 {
				first = i
			}
		}
		kept = heap() - min(before, heap())
		yield(payment{}, broken)
	})
	if err != broken || written.lines != 1+rows {
		t.Errorf("%d lines, %v", written.lines, err)
	}
	if first == 0 || first > keptSize/size || kept > keptSize/2 {
		t.Errorf("the first line came with row %d, and %d bytes were kept at the end", first, kept)
	}
}

// A table stops at the first write error, even if its rows have no end.
func TestTableWithoutEndOrReader(t *testing.T) {
	rows := 0
	err := payments.List(&full{}, Options{Columns: []string{"title", "id"}}, func(yield func(payment, error) bool) {
		for ; rows < 20_000; rows++ {
			if !yield(payment{id: fmt.Sprint(rows), title: strings.Repeat("x", 1<<10)}, nil) {
				return
			}
		}
	})
	if failed := (*WriteError)(nil); !errors.As(err, &failed) || rows > keptSize/(1<<10) {
		t.Errorf("%d rows were read: %v", rows, err)
	}
}

// counter counts lines.
type counter struct{ lines int }

func (c *counter) Write(p []byte) (int, error) {
	c.lines += strings.Count(string(p), "\n")
	return len(p), nil
}

func TestStyledLines(t *testing.T) {
	const red, off = "\x1b[31m", "\x1b[0m"
	equal(t, Styled(Red, "much longer\nx", false), red+"much longer"+off+"\n"+red+"x"+off)
	equal(t, Styled(Plain, "a\nb", true), "a\nb")
}

// TestColoursOfTheTheme checks that every style is bold, dim or one of the colours that themes keep legible
// on their background. No fixed colour is legible on black, on dark grey, on white and on cream; yellow and
// white are not even so in most light themes.
func TestColoursOfTheTheme(t *testing.T) {
	legible := regexp.MustCompile("^\x1b\\[(1|2|31|32|34|35)mtext\x1b\\[0m$")
	for style, s := range (Options{Color: true}).painter() {
		if style == RedGround {
			s = s.Reverse(false)
		}
		if got := s.Render("text"); !legible.MatchString(got) {
			t.Errorf("style %d: %q", style, got)
		}
	}
	for _, style := range []Style{Bold, Dim, Green, Red, Blue} {
		if got := (Options{}).painter().mark(style, "text"); got != "text" {
			t.Errorf("without colour: %q", got)
		}
	}
}

// TestContrast checks that the colours of bars and signs can be told from common backgrounds, as WCAG 2.1
// computes it.
func TestContrast(t *testing.T) {
	luminance := func(rgb [3]float64) float64 {
		for i, c := range rgb {
			if c /= 255; c <= 0.03928 {
				rgb[i] = c / 12.92
			} else {
				rgb[i] = math.Pow((c+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2]
	}
	for _, number := range []string{green256, red256, blue256} {
		n, err := strconv.Atoi(number)
		if err != nil || n < 16 || n > 231 {
			t.Fatalf("%s is no colour of the cube", number)
		}
		steps := []float64{0, 95, 135, 175, 215, 255}
		colour := luminance([3]float64{steps[(n-16)/36], steps[(n-16)/6%6], steps[(n-16)%6]})
		for name, rgb := range map[string][3]float64{"black": {}, "white": {255, 255, 255}, "Solarized dark": {0, 43, 54},
			"Solarized light": {253, 246, 227}} {
			ground := luminance(rgb)
			if contrast := (max(colour, ground) + 0.05) / (min(colour, ground) + 0.05); contrast < 3 {
				t.Errorf("%s on %s has a contrast of %.2f", number, name, contrast)
			}
		}
	}
	o := Options{Color: true, Colors256: true}
	for style, want := range map[Style]string{Green: "38;5;29", Red: "38;5;167", Blue: "38;5;32"} {
		if got := o.painter().mark(style, "x"); got != "\x1b["+want+"mx\x1b[0m" {
			t.Errorf("style %d is %q", style, got)
		}
	}
}
