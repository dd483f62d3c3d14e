package render

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
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
	equal(t, list(t, Options{Width: 20}), "ID  ORDER ID  TO\n  AMOUNT  TITLE\n  DONE\n")
	equal(t, list(t, Options{NoHeaders: true}), "")
	equal(t, list(t, Options{Columns: []string{"history", "memo"}}, both...),
		"HISTORY                    MEMO\nsent 2026-05-02T11:30:00Z  =7\n\n")
	// Amounts without a code, with a known and an unknown unit, and with a code of the service.
	none := []payment{{amount: Amount(5, "", 2)}, {amount: Amount(7, "", -1)}, {amount: Amount(1, "A\x1b", 0)}}
	equal(t, list(t, Options{Columns: columns[1:]}, none...), "    AMOUNT\n0.05\n7    minor\n1    A\\x1b\n")
	// Next to a text a column begins on the left, and its points still align.
	equal(t, list(t, Options{Columns: []string{"amount", "id"}}, usd("a", 2500), usd("b", 100000),
		payment{id: "c", amount: Text("unknown to us")}),
		"AMOUNT         ID\n  25.00 USD    a\n1000.00 USD    b\nunknown to us  c\n")
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
	equal(t, one(t, Options{Columns: []string{"title"}, Width: 30}, payment{title: "one two three four five six\x1b\n"}),
		"title  one two three four five\n       six\\x1b\\n\n")
	equal(t, one(t, Options{Columns: []string{"order_id", "title"}, Width: 20},
		payment{order: 7, title: "日本語日本語日本語日本"}),
		"order id\n  7\ntitle\n  日本語日本語日本語\n  日本\n")
	record := View[string]{Columns: []Column[string]{{Name: "balance",
		Cell: func(s string) Cell { return JSONText([]byte(s)) }}}}
	equal(t, showOne(t, record, Options{}, "{\n \"Btc\": 1.50, \"t\": \"\u202e\U000e0001\"}"),
		`balance  {"Btc":1.50,"t":"\u202e\udb40\udc01"}`+"\n")
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
	for _, o := range []Options{{}, {Width: 30}, {Width: 70}, {Format: JSON}, {Format: CSV}, {Format: YAML}} {
		want := list(t, o, both...)
		o.Color = true
		equal(t, strip.Replace(list(t, o, both...)), want)
	}
}

// Columns are aligned, in any script and locale, on a terminal that draws the letters of a flag, and an emoji
// and its tone, one beside the other.
func TestTableAlignsWideText(t *testing.T) {
	twwidth.SetCondition(&runewidth.Condition{EastAsianWidth: true}) // as tablewriter does in some locales
	var rows []payment
	for _, title := range []string{"🇩🇪", "👍🏽 x", "日本語", "e\u0301te\u0301", "Ελλάδα", "😀 x", "\u202e", "Ж🇩🇪"} {
		rows = append(rows, payment{title: title, done: true})
	}
	for range 2 {
		equal(t, list(t, Options{Columns: []string{"title", "done"}, NoHeaders: true}, rows...), ""+
			"🇩🇪    true\n👍🏽 x  true\n日本語  true\ne\u0301te\u0301     true\n"+
			"Ελλάδα  true\n😀 x    true\n\\u202e  true\nЖ🇩🇪   true\n")
	}
}

// A long table is printed in parts that look like one table: the widest cells are in the last row.
func TestLongTable(t *testing.T) {
	const count, sums = 2*partRows + 1, 1 + 123456/partRows + 2 + 11 // the width of the first two columns
	v := View[int]{Columns: []Column[int]{
		{Name: "name", Cell: func(n int) Cell { return Text(strings.Repeat("x", 1+n/partRows)) }},
		{Name: "sum", Amount: true, Cell: func(n int) Cell { return Amount(int64(n), "EUR", 2) }},
		{Name: "change", Cell: func(n int) Cell { return Change(big.NewInt(int64(n - 600))) }},
		{Name: "end", Cell: func(n int) Cell { return Bool(n%2 == 0) }},
	}, Foot: []int{123456}}
	var rows []int
	for n := range count {
		rows = append(rows, n)
	}
	for _, o := range []Options{{}, {Color: true}, {NoHeaders: true}} {
		for _, v.Again = range []bool{false, true} {
			lines := strings.Split(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(show(t, v, o, rows...), ""), "\n")
			if o.NoHeaders {
				lines = append([]string{"NAME"}, lines...)
			}
			if len(lines) != count+4 || Width(lines[count+1]) != sums+2+9+2+5 {
				t.Fatalf("%d lines, with a rule of %q", len(lines), lines[len(lines)-3])
			}
			for i, line := range lines[1 : count+1] {
				end := fmt.Sprintf(" %d.%02d EUR", i/100, i%100)
				if strings.Index(line, end)+len(end) != sums || line[sums+2+9:] != fmt.Sprintf("  %v", i%2 == 0) {
					t.Fatalf("line %d ends otherwise: %q", i, line[max(len(line)-60, 0):])
				}
			}
		}
	}
}

// A table keeps no rows that it can go through again. Of rows that it cannot, which may have no end, it keeps
// only those that it measures, and it stops at the first error of its output.
func TestTableInLittleMemory(t *testing.T) {
	const rows, size = 20_000, 1 << 10
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	view := payments
	for _, view.Again = range []bool{true, false} {
		before, passes, first, kept := heap(), 0, 0, uint64(0)
		var lines counter
		err := view.List(&lines, Options{Columns: []string{"id", "title"}}, func(yield func(payment, error) bool) {
			passes++
			for i := range rows {
				if !yield(payment{id: fmt.Sprint(i), title: strings.Repeat("x", size)}, nil) {
					return
				}
				if lines > 0 && first == 0 {
					first = i
				}
			}
			kept = max(kept, heap()-min(before, heap()))
		})
		if err != nil || lines != 1+rows || kept > keptSize/2 || view.Again != (passes == 2) ||
			!view.Again && (first == 0 || first > keptSize/size) {
			t.Errorf("again %v: %d bytes were kept in %d passes, row %d came first: %v", view.Again, kept, passes, first, err)
		}
	}
	read := 0
	err := payments.List(&full{}, Options{}, func(yield func(payment, error) bool) {
		for ; read < rows && yield(payment{title: strings.Repeat("x", size)}, nil); read++ {
		}
	})
	if failed := (*WriteError)(nil); !errors.As(err, &failed) || read > keptSize/size {
		t.Errorf("%d rows were read: %v", read, err)
	}
}

// counter counts lines.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(strings.Count(string(p), "\n"))
	return len(p), nil
}

// A file can change between the two passes. The widths from the first pass then no longer fit, but the table
// is printed anyway, up to the error that reports the change.
func TestTableOfRowsThatChange(t *testing.T) {
	view := payments
	view.Again = true
	for _, width := range []int{0, 8} {
		passes := 0
		var b strings.Builder
		err := view.List(&b, Options{Columns: []string{"id", "amount"}, Width: width}, func(yield func(payment, error) bool) {
			if passes++; passes == 1 {
				yield(payment{id: "a", amount: Amount(1, "USD", 2)}, nil)
				return
			}
			breaking(t, payment{id: "abc", amount: Amount(123456, "Doge", 4)}, payment{amount: Text("none")})(yield)
		})
		if err != errBroken || !strings.Contains(b.String(), "12.3456 Doge") || !strings.Contains(b.String(), "none") {
			t.Errorf("%q: %v", b.String(), err)
		}
	}
}

// TestStyles checks the codes of the colours. Those of the sixteen are what themes keep legible: yellow and white are
// not. The three of the 256 have a contrast of 3 or more, as WCAG 2.1 computes it, on black, white and Solarized.
func TestStyles(t *testing.T) {
	for number, want := range map[string]Style{green256: Green, red256: Red, blue256: Blue} {
		equal(t, (Options{Color: true, Colors256: true}).painter().mark(want, "x"), "\x1b[38;5;"+number+"mx\x1b[0m")
	}
	for style, want := range map[Style]string{Bold: "1", Dim: "2", Green: "32", Red: "31", Blue: "34", RedGround: "7;31"} {
		equal(t, Options{Color: true}.Styled(style, "x\nlonger"), "\x1b["+want+"mx\x1b[0m\n\x1b["+want+"mlonger\x1b[0m")
		equal(t, (Options{}).painter().mark(style, "text"), "text")
	}
}
