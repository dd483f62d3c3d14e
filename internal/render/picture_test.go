package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
)

func earner(label string, value int64) PictureRow {
	return PictureRow{Label: label, Value: big.NewInt(value), Number: strings.Replace(fmt.Sprint(value), "-", "−", 1),
		Share: fmt.Sprint(value%100, "%")}
}

func times(values ...int64) func(int) []PictureTime {
	return func(most int) (all []PictureTime) {
		for i, v := range values[max(len(values)-most, 0):] {
			all = append(all, PictureTime{fmt.Sprintf("%d May", i+1), fmt.Sprint(v, " EUR"), big.NewInt(v), "day", i == len(values)-1})
		}
		return all
	}
}

func drawn(t *testing.T, o Options, p Picture) string {
	t.Helper()
	var b strings.Builder
	if err := p.Text(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in %s", part, text)
		}
	}
}

func TestPictureOnATerminal(t *testing.T) {
	p := Picture{Title: "October 2026", Note: "compared with September, 12 resellers", Remarks: []string{"A remark."},
		Groups: []PictureGroup{
			{Total: PictureRow{Label: "USD", Number: "340.85", Change: "▲ 35.8%", Sign: 1}, Times: times(0, 8, 4, -8, 1),
				Rows: []PictureRow{
					{Label: "Station Games", Value: big.NewInt(12511), Number: "125.11", Change: "▲ 69%", Sign: 1, Share: "37%"},
					{Label: "River Shop", Value: big.NewInt(7470), Number: "74.70", Change: "  new", Share: "22%"},
					{Label: "North\x1b", Value: big.NewInt(-1), Number: "−0.01", Hollow: true, Share: "<0.1%"},
					{Label: "10 others", Number: "32.42", Share: "9%"}}},
			{Total: PictureRow{Label: "JPY", Number: "25432", Change: "▼ 27.4%", Sign: -1}},
			{Total: PictureRow{Label: "EUR"}, Rows: []PictureRow{
				{Label: "North\x1b", Value: big.NewInt(5), Number: "0.05", Hollow: true}}},
		}}
	// 60 columns less the labels (15), the numbers (6), the changes (7), the shares (5), and what separates them
	// (3 times 3, and 1) leave 17 for the bars: 20 halves of 34 for 7,470 of 12,511.
	want := `October 2026   compared with September, 12 resellers

USD               340.85   ▲ 35.8%   ▁█▅▔▂
  Station Games   125.11   ▲ 69%     ━━━━━━━━━━━━━━━━━ 37%
  River Shop       74.70     new     ━━━━━━━━━━ 22%
  North\x1b        −0.01             ╶ <0.1%
  10 others        32.42             9%
JPY               25 432   ▼ 27.4%

EUR
  North\x1b         0.05

Over time: 5 days, from 1 May to 5 May; the last is not
whole.
A remark.
`
	equal(t, drawn(t, Options{Width: 60}, p), want)
	has(t, drawn(t, Options{Width: 60, Color: true}, p), "\x1b[1mOctober 2026\x1b[0m", "\x1b[1mUSD\x1b[0m",
		"\x1b[32m▲ 69%\x1b[0m", "\x1b[31m▼ 27.4%\x1b[0m", "\x1b[31m╶\x1b[0m", "\x1b[34m━━━━━━━━━━\x1b[0m 22%",
		"\x1b[2m10 others\x1b[0m")
	// A narrower screen has no bars, then lines of their own for the labels.
	has(t, drawn(t, Options{Width: 45}, p), "\n  Station Games   125.11   ▲ 69%     37%\n")
	has(t, drawn(t, Options{Width: 36}, p), "\n  Station Games\n     125.11   ▲ 69%     ━━━━━━ 37%\n")
}

func TestSmallBarsStayVisible(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	for value, want := range map[*big.Int]int{huge: 1000, new(big.Int).Rsh(huge, 1): 500, big.NewInt(1): 1,
		big.NewInt(math.MinInt64): 1, {}: 0, nil: 0} {
		if got := length(value, huge, 1000); got != want {
			t.Errorf("%v is %d long, not %d", value, got, want)
		}
	}
	if length(huge, new(big.Int), 1000) != 0 {
		t.Error("a bar without a scale is drawn")
	}
	html := onPage(t, PictureGroup{Times: times(0, 90_000_000, 1, -1),
		Rows: []PictureRow{earner("far ahead", 90_000_000), earner("small", 70), earner("below", -1), earner("none", 0)}})
	has(t, html, `<rect width="100.00%"`, `<rect width="1.00%"`, `<tr class="less"><th scope="row"><bdi>below</bdi>`,
		`<td class="n">−1</td>`, `y="9800" width="16" height="100"><title>3 May`,
		`<rect class="less hollow" x="60" y="9900" width="16" height="100"><title>4 May: -1 EUR`,
		`<div class="most">90<span>000</span><span>000</span> EUR`,
		`<div class="least">−1 EUR</div>`, `<span>1 May</span><span>4 May</span>`)
	if n := strings.Count(html, "<rect"); n != 6 {
		t.Errorf("%d bars are drawn", n)
	}
}

func onPage(t *testing.T, g PictureGroup) string {
	t.Helper()
	html, err := Page{Sections: []Section{{Title: "T", Group: &g}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(html), "<body>")
	return body
}

// TestPicturesAgree checks that a terminal, a page and a file say the same in the same order.
func TestPicturesAgree(t *testing.T) {
	hollow := earner("South", 56789)
	hollow.Hollow, hollow.Change, hollow.Sign = true, "▼ 9%", -1
	g := PictureGroup{Total: PictureRow{Label: "EUR", Number: "1234567"}, Times: times(1, 2, 3),
		Rows: []PictureRow{earner("North", 1234567), hollow, {Label: "2 others", Number: "5", Share: "3%"}}}
	p := Picture{Title: "October 2026", Note: "12 resellers", Groups: []PictureGroup{g}}
	svg := string(p.SVG())
	for name, text := range map[string]string{"terminal": drawn(t, Options{}, p), "page": onPage(t, g), "file": svg} {
		for _, tag := range []string{"<span>", "</span>", `<tspan dx="2.4">`, "</tspan>"} {
			text = strings.ReplaceAll(text, tag, "")
		}
		if name == "terminal" {
			text = strings.NewReplacer("1 234 567", "1234567", "56 789", "56789").Replace(text)
		}
		at := 0
		for _, part := range []string{"North", "1234567", "67%", "South", "56789", "▼ 9%", "89%", "2 others", "5", "3%"} {
			n := strings.Index(text[at:], part)
			if n < 0 {
				t.Fatalf("%s: there is no %q after %q", name, part, text[:at])
			}
			at += n
		}
	}
	has(t, svg, `<rect class="bar" x="584" y="146" width="288" height="14" rx="3"/>`,
		`<rect class="hollow" x="584" y="174" width="13" height="14" rx="3"/>`, `class="down">▼ 9%</text>`, `class="soft">3%</text>`,
		`class="end">1<tspan dx="2.4">234</tspan><tspan dx="2.4">567</tspan></text>`, `>October 2026</text>`,
		"<desc id=\"desc\">EUR: 1234567; North: 1234567, 67%; South: 56789, ▼ 9%, 89%; 2 others: 5, 3%.</desc>")
	hollow.Value = big.NewInt(-1) // also below zero
	has(t, onPage(t, PictureGroup{Rows: []PictureRow{hollow}}), `<tr class="less hollow">`)
	has(t, onPage(t, g), `<tr class="hollow"><th scope="row"><bdi>South</bdi>`, `<td class="down">▼ 9%</td>`, `<tr class="rest">`)
}

// TestFileOfAPicture checks its height, and that labels that would be alike have lines of their own.
func TestFileOfAPicture(t *testing.T) {
	g := PictureGroup{Total: PictureRow{Label: "EUR"}, Times: times(1, 2)}
	for i := range 12 {
		g.Rows = append(g.Rows, earner(fmt.Sprintf("A shop with a long name, the %d of all, in a long street", i), 5))
	}
	p := Picture{Groups: []PictureGroup{g}}
	svg := string(p.SVG())
	var wide, tall int
	if _, err := fmt.Sscanf(svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"`, &wide, &tall); err != nil || tall > 1000 {
		t.Errorf("it is %d high: %v", tall, err)
	}
	has(t, svg, `y="134" class="">`+g.Rows[0].Label+"</text>")
	p.Groups[0].Rows = g.Rows[:1]
	has(t, string(p.SVG()), "<title>"+g.Rows[0].Label+"</title>A shop with a long…l, in a long street")
}

// TestPictureFits checks that no line is too wide, that no number is cut, and that no two labels are alike.
func TestPictureFits(t *testing.T) {
	labels := map[string]func(int) string{
		"short":  func(i int) string { return fmt.Sprint("Shop ", i) },
		"begins": func(i int) string { return fmt.Sprintf("%d is the number of a shop with a name far too long", i) },
		"middle": func(i int) string { return fmt.Sprintf("A shop with a long name, the %d of all, in a long street", i) },
		"same":   func(i int) string { return "The same label, which is a rather long one" },
	}
	for script := range scripts {
		long, _ := text(script, 40)
		labels[script] = func(i int) string { return fmt.Sprint(long, i) }
	}
	for name, label := range labels {
		for _, rows := range []int{1, 12, 120} {
			g := PictureGroup{Times: times(make([]int64, 400)...),
				Total: PictureRow{Label: "Unit", Number: "123456789.12345678", Change: "▲ 35.8%"}}
			for i := range rows {
				r := earner(label(i), int64(1000/(i+1)-3))
				if name == "same" {
					r.Apart = fmt.Sprintf("%08x", i)
				}
				g.Rows = append(g.Rows, r)
			}
			p := Picture{Title: "May 2026", Note: "compared with April, and with nothing else", Groups: []PictureGroup{g, g}}
			for _, limit := range []int{0, 40, 60, 80, 120} {
				got := drawn(t, Options{Width: limit}, p)
				seen, label := map[string]bool{}, "" // of the row, which may have several lines
				for line := range strings.SplitSeq(got, "\n") {
					if w := Width(line); limit > 0 && w > limit {
						t.Fatalf("%s, %d rows, %d columns: %d wide: %s", name, rows, limit, w, line)
					}
					if !strings.HasPrefix(line, " ") {
						clear(seen)
					}
					part, figures, _ := strings.Cut(strings.TrimPrefix(line, "  "), "   ")
					if label += part; figures == "" {
						continue
					}
					if seen[label] {
						t.Fatalf("%s, %d rows, %d columns: two rows are alike: %s", name, rows, limit, line)
					}
					seen[label], label = true, ""
				}
				if strings.Count(got, "123 456 789.12345678") != 2 {
					t.Fatalf("%s, %d rows, %d columns: a total is not whole: %s", name, rows, limit, got)
				}
			}
		}
	}
	// Labels in two groups are told apart as those in one are.
	group := func(city string) PictureGroup {
		return PictureGroup{Rows: []PictureRow{earner("x", 1),
			earner("Nordlicht Handelsgesellschaft "+city+" mbH und Co", 2)}}
	}
	p := Picture{Groups: []PictureGroup{group("Bremen"), group("Berlin")}}
	lines := strings.Split(drawn(t, Options{Width: 80}, p), "\n")
	if lines[4] == lines[8] || !strings.Contains(lines[4], "Nordlicht") {
		t.Errorf("two resellers look alike:\n%s", strings.Join(lines, "\n"))
	}
}

// With any text, the file and the page are well-formed, and have only the expected elements.
func TestPicturesEscapeText(t *testing.T) {
	const nasty = "]]></text></title></style><script>alert(1)</script>\"' onload=x \x1b\u202e\ufffe{{.}}"
	g := PictureGroup{Total: PictureRow{Label: nasty, Number: nasty}, Rows: []PictureRow{{Label: nasty, Apart: nasty,
		Value: big.NewInt(5), Number: nasty, Change: nasty, Share: nasty}, earner("x", 1)},
		Times: func(int) []PictureTime {
			return []PictureTime{{nasty, nasty, big.NewInt(5), "day", false}, {nasty, nasty, big.NewInt(-3), "day", false}}
		}}
	svg := Picture{Title: nasty, Note: nasty, Groups: []PictureGroup{g}, Remarks: []string{nasty, ""}}.SVG()
	seen := map[string]int{}
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok {
			seen[start.Name.Local]++
			for _, a := range start.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" || a.Name.Local == "href" {
					t.Errorf("there is <%s %s>", start.Name.Local, a.Name.Local)
				}
			}
		}
	}
	if seen["desc"] != 1 || seen["style"] != 1 || seen["rect"] < 5 || seen["script"] > 0 {
		t.Errorf("the picture has %v", seen)
	}
	html, err := Page{Title: nasty, Lead: []string{nasty}, Alerts: []string{nasty}, Notes: []string{nasty},
		Tiles: []Tile{{Label: nasty, Number: nasty, Details: []PageText{{Text: nasty, Class: "up"}}}},
		Sections: []Section{{Title: nasty, Note: nasty, Folded: true, Group: &g,
			Table: payments.Page(Options{}, []payment{{id: nasty, title: nasty, to: nasty}})}},
	}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "\x1b", "\u202e", "\"' onload", "style=", "ZgotmplZ"} {
		if at := strings.Index(string(html), bad); at >= 0 {
			t.Errorf("there is %q: %s", bad, html[max(at-60, 0):at+60])
		}
	}
	if n := strings.Count(string(html), "&lt;script&gt;"); n < 12 {
		t.Errorf("the text is there %d times", n)
	}
}

// Digits are grouped, and no date is broken into lines.
func TestDigitsAndDates(t *testing.T) {
	for text, want := range map[string]string{
		"123":                          "123",
		"-123456.123456 USD":           "−123<span>456</span>.123456 USD",
		"1234567 minor A1234<":         "1<span>234</span><span>567</span> minor A1234&lt;",
		"+1000.0% from -20000":         "+1<span>000</span>.0% from −20<span>000</span>",
		"0.12345678":                   "0.12345678",
		"\x1b[2J 12345 invoices\u202e": `\x1b[2J 12<span>345</span> invoices\u202e`,
	} {
		equal(t, string(digits(text)), want)
	}
	equal(t, string(dates("<a-b, 2026-11-01 to 2026-12 so far>")),
		"&lt;a-b, <span>2026-11-01</span> to <span>2026-12</span> so far&gt;")
}

// A table on a page has no column that is empty in every row, and no digits of a text are grouped.
func TestPageTable(t *testing.T) {
	v := View[[2]string]{Columns: []Column[[2]string]{
		{Name: "name", Cell: func(r [2]string) Cell { return Text(r[0]) }},
		{Name: "note", Cell: func(r [2]string) Cell { return Text(r[1]) }},
		{Name: "sum", Cell: func([2]string) Cell { return Amount(-123456, "USD", 2) }},
	}}
	const sum = `<td class="n"><bdi>−1<span>234</span>.56 USD</bdi></td></tr>`
	for want, rows := range map[string][][2]string{
		`<bdi>2026</bdi></th>` + sum:               {{"2026"}},
		`<td class="whole"><bdi></bdi></td>` + sum: {{"a"}, {"b", "c"}},
	} {
		html, err := Page{Sections: []Section{{Title: "T", Table: v.Page(Options{}, rows)}}}.HTML()
		if err != nil || !strings.Contains(string(html), want) ||
			rows[len(rows)-1][1] == "" && strings.Contains(string(html), ">Note<") {
			t.Errorf("%v: there is no %s in %s", err, want, html)
		}
	}
}

// TestCutLabelsDiffer checks that no two labels in a table are alike, neither those that differ only in the
// middle, which is cut, nor equal ones whose ids begin alike.
func TestCutLabelsDiffer(t *testing.T) {
	for _, labels := range [][]string{
		{"Acme International Eastern Trading Company Limited", "Acme International Western Trading Company Limited"},
		{"同じ名前の非常に長い東京文具販売株式会社新宿支店第一営業部", "同じ名前の非常に長い東京文具販売株式会社渋谷支店第一営業部"},
		{"Twin", "Twin", "Twin", "", "a longer name"},
	} {
		v := View[string]{Columns: []Column[string]{
			{Name: "label", Cell: func(label string) Cell { return Cell{} }},
			{Name: "rebate", Amount: true, Cell: func(string) Cell { return Amount(1234567890, "EUR", 2) }}}}
		n := -1
		v.Columns[0].Cell = func(label string) Cell {
			n++
			return Label(fmt.Sprint("7c9e6679-7425-40de-944b-e07fc1f9000", n%len(labels)), label)
		}
		for wide := 12; wide < 100; wide++ {
			seen := map[string]bool{}
			for row := range strings.SplitSeq(show(t, v, Options{Width: wide, NoHeaders: true}, labels...), "EUR\n") {
				if row = strings.TrimSpace(row); seen[row] {
					t.Errorf("%d columns: two rows are alike: %s", wide, row)
				}
				seen[row] = true
			}
		}
	}
}

// A code is not repeated where another column has it, and a foot is below a rule.
func TestFootAndCodeIn(t *testing.T) {
	v := View[Cell]{
		Columns: []Column[Cell]{
			{Name: "code", Cell: func(c Cell) Cell { return Text(strings.TrimPrefix(c.text, "other ")) }},
			{Name: "amount", Amount: true, CodeIn: "code", Cell: func(c Cell) Cell { return c }},
			{Name: "share", Cell: func(c Cell) Cell { return Change(c.number()) }},
		},
		Foot: []Cell{Amount(300, "EUR", 2)},
	}
	rows := []Cell{Amount(100, "EUR", 2), Amount(-5, "EUR", 2), Amount(7, "X", -1), Amount(1, "other X", 0)}
	equal(t, show(t, v, Options{}, rows[:3]...), ""+
		"CODE       AMOUNT   SHARE\n"+
		"EUR    1.00        +10.0%\n"+
		"EUR   -0.05         -0.5%\n"+
		"X      7    minor   +0.7%\n"+
		"────  ───────────  ──────\n"+
		"EUR    3.00        +30.0%\n")
	has(t, show(t, v, Options{Color: true}, rows...), "\x1b[32m+10.0%\x1b[0m", "\x1b[31m-0.5%\x1b[0m")
	v.Foot = nil
	equal(t, show(t, v, Options{Columns: []string{"amount"}, NoHeaders: true}, rows[:3]...),
		" 1.00 EUR\n-0.05 EUR\n 7    minor X\n")
	equal(t, show(t, v, Options{Columns: []string{"code", "amount"}, NoHeaders: true}, rows[3]), "X  1 other X\n")
	equal(t, show(t, v, Options{Format: CSV}, rows[:3]...),
		"code,amount,amount_minor,amount_currency,share\nEUR,1.00,100,EUR,10.0\nEUR,-0.05,-5,EUR,-0.5\nX,,7,X,0.7\n")
	// Amounts and shares may be larger than an int64.
	large, _ := new(big.Int).SetString("-184467440737095516150", 10)
	rows = []Cell{BigAmount(large, "USD", 2), BigAmount(big.NewInt(5), "USD", 2),
		BigAmount(new(big.Int).Neg(large), "X", -1)}
	equal(t, show(t, v, Options{Format: CSV, NoHeaders: true, Sort: "-share"}, rows...), ""+
		"X,,184467440737095516150,X,18446744073709551615.0\nUSD,0.05,5,USD,0.5\n"+
		"USD,-1844674407370955161.50,-184467440737095516150,USD,-18446744073709551615.0\n")
	equal(t, show(t, v, Options{Columns: []string{"amount"}, NoHeaders: true, Sort: "-amount"}, rows[:2]...),
		"                   0.05 USD\n-1844674407370955161.50 USD\n")
}
