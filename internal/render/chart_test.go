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

func bar(label string, value int64) Bar {
	return Bar{Label: label, Value: big.NewInt(value), Text: fmt.Sprintf("%d EUR", value), Extra: "1.0%"}
}

func drawn(t *testing.T, o Options, charts ...Chart) string {
	t.Helper()
	var b strings.Builder
	if err := Charts(&b, o, charts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBarsGiveWayToAmounts(t *testing.T) {
	c := Chart{Title: "Earned", Note: "so far",
		Bars: []Bar{bar("North", 160), bar("東京", 80), bar("Small", 1), bar("None\x1b", 0)}}
	// 40 columns less the label (8), the amount (7), the share (4) and the gaps (6) leave 15 for the bar: 120
	// eighths for 160.
	equal(t, drawn(t, Options{Width: 40}, c), "\nEarned  so far\n"+
		"North     ███████████████  160 EUR  1.0%\n"+
		"東京      ███████▌          80 EUR  1.0%\n"+
		"Small     ▏                  1 EUR  1.0%\n"+
		"None\\x1b                     0 EUR  1.0%\n")
	// Narrower: first the unit goes, which the title has; then the bar; then the amount moves below.
	equal(t, drawn(t, Options{Width: 27}, c)[:len("\nEarned  so far\nNorth     ██████  160  1.0%\n")],
		"\nEarned  so far\nNorth     ██████  160  1.0%\n")
	equal(t, drawn(t, Options{Width: 24}, c)[:len("\nEarned  so far\nNorth     160  1.0%\n")],
		"\nEarned  so far\nNorth     160  1.0%\n")
	equal(t, drawn(t, Options{Width: 12}, c),
		"\nEarned\nso far\nNorth\n  160  1.0%\n東京\n  80  1.0%\nSmall\n  1  1.0%\nNone\\x1b\n  0  1.0%\n")
}

// A negative amount is to the left of a line, on the same scale.
func TestBarsBelowZero(t *testing.T) {
	c := Chart{Title: "Earned",
		Bars: []Bar{bar("North", 100), bar("None", 0), bar("South", -50), bar("West", -5), bar("East", -1)}}
	// 15 columns for the bars as above. One is the line and one is spare: 104 eighths for 150.
	equal(t, drawn(t, Options{Width: 37}, c), "\nEarned\n"+
		"North       │████████▋  100 EUR  1.0%\n"+
		"None        │             0 EUR  1.0%\n"+
		"South  ▕████│           -50 EUR  1.0%\n"+
		"West       ▕│            -5 EUR  1.0%\n"+
		"East       ▕│            -1 EUR  1.0%\n")
	c.Bars = c.Bars[2:]
	equal(t, drawn(t, Options{Width: 36}, c), "\nEarned\n"+
		"South  ██████████████│  -50 EUR  1.0%\n"[:0]+
		"South  █████████████│  -50 EUR  1.0%\n"+
		"West              ▕█│   -5 EUR  1.0%\n"+
		"East               ▕│   -1 EUR  1.0%\n")
}

func TestUprightChart(t *testing.T) {
	c := Chart{Title: "Earned", Upright: true, Bars: []Bar{bar("2026-01", 80), bar("2026-02", 0), bar("2026-03", 35)}}
	equal(t, drawn(t, Options{Width: 40}, c), "\nEarned\n"+
		"80 ┤██████████\n"+strings.Repeat("   │██████████\n", 3)+
		"   │██████████              ▄▄▄▄▄▄▄▄▄▄\n"+strings.Repeat("   │██████████              ██████████\n", 3)+
		" 0 ┴────────────────────────────────────\n"+
		"    2026-01     2026-02     2026-03\n"+
		"    80          0           35\n")
	c.Bars[1].Value, c.Bars[1].Text = big.NewInt(-40), "-40 EUR"
	// 64 eighths for 120: 43 above (80) and 21 below (40), and 19 for 35.
	equal(t, drawn(t, Options{Width: 41}, c), "\nEarned\n"+
		" 80 ┤▃▃▃▃▃▃▃▃▃▃\n"+strings.Repeat("    │██████████\n", 2)+
		"    │██████████              ▃▃▃▃▃▃▃▃▃▃\n"+strings.Repeat("    │██████████              ██████████\n", 2)+
		"  0 ┼────────────────────────────────────\n"+
		strings.Repeat("    │            ██████████\n", 2)+
		"-40 ┤            ▀▀▀▀▀▀▀▀▀▀\n"+
		"     2026-01     2026-02     2026-03\n"+
		"     80          -40         35\n")
}

// If not all columns have room, the chart says that the earlier ones are missing.
func TestUprightChartWithoutRoom(t *testing.T) {
	c := Chart{Title: "Earned", Note: "1 left out", Upright: true}
	for i := range 30 {
		c.Bars = append(c.Bars, bar("x", int64(30-i)))
	}
	if got := drawn(t, Options{Width: 24}, c); !strings.HasPrefix(got, "\nEarned\nthe latest only; 1 left\nout\n20 ┤█") {
		t.Errorf("%s", got)
	}
	c.Note = "the latest only"
	if got := drawn(t, Options{Width: 24}, c); !strings.HasPrefix(got, "\nEarned  the latest only\n20 ┤█") {
		t.Errorf("%s", got)
	}
}

// With any width and any number of bars, no line is wider than the screen, and no digit is lost.
func TestChartsFit(t *testing.T) {
	for _, limit := range []int{20, 40, 80, 200} {
		for _, n := range []int{1, 2, 7, 60, 365} {
			c := Chart{Title: strings.Repeat("T ", limit), Note: "a note of its own", Upright: true}
			for i := range n {
				c.Bars = append(c.Bars, bar(fmt.Sprintf("2026-%02d", i), int64(i-n/3)*1_000_003))
			}
			flat := c
			flat.Upright = false
			for line := range strings.Lines(drawn(t, Options{Width: limit}, c, flat)) {
				if got := width(strings.TrimSuffix(line, "\n")); got > limit {
					t.Errorf("%d bars in %d columns: a line is %d wide: %s", n, limit, got, line)
				}
			}
			if text := drawn(t, Options{Width: limit}, flat); !strings.Contains(text, c.Bars[n-1].number()) {
				t.Errorf("%d bars in %d columns: %s is not there", n, limit, c.Bars[n-1].number())
			}
		}
	}
	equal(t, drawn(t, Options{}, Chart{Title: "T", Upright: true}), "\nT\n"+"0 ┤\n"+strings.Repeat("  │\n", 7)+"0 ┴\n\n")
}

func TestSmallBarsStayVisible(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	values := []*big.Int{huge, new(big.Int).Rsh(huge, 1), big.NewInt(1), big.NewInt(math.MinInt64), new(big.Int)}
	c := Chart{}
	for _, v := range values {
		c.Bars = append(c.Bars, Bar{Value: v})
	}
	for i, want := range []int{1000, 500, 1, 1, 0} {
		if got := c.scale().part(values[i], 1000); got != want {
			t.Errorf("bar %d is %d long, not %d", i, got, want)
		}
	}
	for _, test := range []struct {
		bars []int64
		want int
	}{{nil, 0}, {[]int64{0, 5}, 0}, {[]int64{5, -15}, 75}, {[]int64{-5}, 100}, {[]int64{-1, 100000}, 1},
		{[]int64{-100000, 1}, 99}} {
		c := Chart{}
		for _, n := range test.bars {
			c.Bars = append(c.Bars, bar("", n))
		}
		if got := c.scale().zero(100); got != test.want {
			t.Errorf("of %d zero is at %d, not %d", test.bars, got, test.want)
		}
	}
}

// In a picture and on a page, too, a negative amount has a bar on the other side of zero.
func TestSVGAndPageDrawNegativeBars(t *testing.T) {
	c := Chart{Title: "T", Bars: []Bar{bar("up", 30), bar("down", -10)}}
	upright := c
	upright.Upright = true
	svg := string(SVG("t", nil, []Chart{c, upright}))
	// The bars have 960 - 64 - 232 - 224 = 440, from 264 on, and the columns have 180.
	for _, want := range []string{
		`<rect class="bar" x="374" y="126" width="330" height="18" rx="3"/>`,
		`<rect class="bar" x="264" y="156" width="110" height="18" rx="3"/>`,
		`<path class="axis" d="M374 120V180"/>`, ` height="135"><title>up: 30 EUR</title>`,
		` height="45"><title>down: -10 EUR</title>`, `class="soft">-10</text>`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %s in %s", want, svg)
		}
	}
	html, err := Page{Sections: []Section{{Charts: []Chart{c, upright}}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<rect x="25.00%" width="75.00%"`, `<rect x="0.00%" width="25.00%"`, `<line class="zero" x1="25.00%"`,
		`y="0" width="10" height="7500"><title>up`, `y="7500" width="10" height="2500"><title>down`,
		`<path class="zero" d="M0 7500H40">`, `<div class="least">-10</div>`,
	} {
		if !strings.Contains(string(html), want) {
			t.Errorf("there is no %s in %s", want, html)
		}
	}
	c.Bars[1].Value = new(big.Int)
	html, err = Page{Sections: []Section{{Charts: []Chart{c}}}}.HTML()
	if err != nil || strings.Contains(string(html), `class="zero"`) {
		t.Errorf("there is a line at zero where nothing is less: %v", err)
	}
}

// The sum of others is outside the scale and has no bar.
func TestRestHasNoBar(t *testing.T) {
	rest := bar("2 others", 900)
	rest.Rest = true
	c := Chart{Title: "T", Bars: []Bar{bar("North", 100), bar("South", 50), rest}}
	// As above: 37 columns leave 12 for the bar.
	if got := drawn(t, Options{Width: 37, Color: true}, c); !strings.HasSuffix(got,
		"\x1b[2m2 others                900 EUR  1.0%\x1b[0m\n") {
		t.Errorf("the sum of others is not dim: %q", got)
	}
	equal(t, drawn(t, Options{Width: 37}, c), "\nT\n"+
		"North     ████████████  100 EUR  1.0%\n"+
		"South     ██████         50 EUR  1.0%\n"+
		"2 others                900 EUR  1.0%\n")
	svg := string(SVG("t", nil, []Chart{c}))
	if !strings.Contains(svg, ` width="440" height="18"`) || !strings.Contains(svg, ` width="220" height="18"`) ||
		strings.Count(svg, `class="bar"`) != 2 {
		t.Errorf("the bars are not on their own scale: %s", svg)
	}
	html, err := Page{Sections: []Section{{Charts: []Chart{c}}}}.HTML()
	if err != nil || !strings.Contains(string(html), `width="100.00%"`) ||
		!strings.Contains(string(html), `width="50.00%"`) || strings.Count(string(html), "<rect") != 2 {
		t.Errorf("%v: the bars are not on their own scale: %s", err, html)
	}
}

const nasty = "]]></text></title></style><script>alert(1)</script>\"' onload=x \x1b\u202e\ufffe{{.}}"

// With any text, the picture is well-formed, and has only the expected elements.
func TestSVGEscapesText(t *testing.T) {
	c := Chart{Title: nasty, Note: nasty,
		Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty, Extra: nasty}, bar("x", 1)}}
	upright := c
	upright.Upright = true
	text := SVG(nasty, []string{nasty, ""}, []Chart{c, upright})
	allowed := map[string]bool{"svg": true, "title": true, "desc": true, "style": true, "rect": true, "text": true,
		"path": true}
	seen := map[string]int{}
	for dec := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			seen[start.Name.Local]++
			for _, a := range start.Attr {
				if !allowed[start.Name.Local] || strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" ||
					a.Name.Local == "href" {
					t.Errorf("there is <%s %s>", start.Name.Local, a.Name.Local)
				}
			}
		}
	}
	if seen["desc"] != 1 || seen["style"] != 1 || seen["rect"] < 5 {
		t.Errorf("the picture has %v", seen)
	}
}

// A label that is too long has its own frame, which cuts it off before the bar. Its title has the whole
// label.
func TestSVGLabelsAreCut(t *testing.T) {
	svg := string(SVG("t", nil, []Chart{{Bars: []Bar{bar(strings.Repeat("W", 40), 5), bar("x", 1)}}}))
	want := `<svg x="32" y="120" width="224" height="30"><text y="20"><title>` + strings.Repeat("W", 40) + `</title>` +
		strings.Repeat("W", 13) + `…` + strings.Repeat("W", 12) + `</text></svg>`
	if !strings.Contains(svg, want) {
		t.Errorf("there is no %s in %s", want, svg)
	}
}

// Labels below the columns of a picture keep their distance. The margin moves the first and the last one.
func TestSVGLabelsKeepApart(t *testing.T) {
	for n := 2; n <= 60; n++ {
		c := Chart{Upright: true}
		for i := range n {
			c.Bars = append(c.Bars, bar(fmt.Sprintf("2026-W%02d", i), 5))
		}
		last, labels := -svgTick, 0
		for line := range strings.Lines(string(SVG("t", nil, []Chart{c}))) {
			var x, y int
			if _, err := fmt.Sscanf(line, `<text x="%d" y="%d" class="soft middle">`, &x, &y); err != nil {
				continue
			}
			labels++
			if x-last < svgTick {
				t.Errorf("%d columns: a label at %d and one at %d", n, last, x)
			}
			last = x
		}
		if labels < min(n, 4) {
			t.Errorf("%d columns have %d labels", n, labels)
		}
	}
}

func TestPageEscapesText(t *testing.T) {
	page := Page{
		Title: nasty, Lead: []string{nasty}, Alerts: []string{nasty}, Notes: []string{nasty},
		Tiles: []Tile{{Label: nasty, Number: nasty, Details: []PageText{{nasty, "up"}}}},
		Sections: []Section{{Title: nasty, Note: nasty, Folded: true,
			Table: payments.Page(Options{}, []payment{{id: nasty, title: nasty, to: nasty}}),
			Charts: []Chart{{Title: nasty, Note: nasty,
				Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty, Extra: nasty},
					{Label: nasty, Value: big.NewInt(5), Text: nasty}}},
				{Title: nasty, Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty, Extra: nasty}}},
				{Title: nasty, Upright: true, Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty}}}}}},
	}
	text, err := page.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "\x1b", "\u202e", "\"' onload", "style=", "ZgotmplZ"} {
		if at := strings.Index(string(text), bad); at >= 0 {
			t.Errorf("there is %q: %s", bad, text[max(at-60, 0):at+60])
		}
	}
	if n := strings.Count(string(text), "&lt;script&gt;"); n < 12 {
		t.Errorf("the text is there %d times", n)
	}
}

func TestDigitsAreGrouped(t *testing.T) {
	for text, want := range map[string]string{
		"123":                          "123",
		"1234":                         "1<span>234</span>",
		"-123456.123456 USD":           "-123<span>456</span>.123456 USD",
		"1234567 minor A1234<":         "1<span>234</span><span>567</span> minor A1234&lt;",
		"+1000.0% from -20000":         "+1<span>000</span>.0% from -20<span>000</span>",
		"0.12345678":                   "0.12345678",
		"\x1b[2J 12345 invoices\u202e": `\x1b[2J 12<span>345</span> invoices\u202e`,
	} {
		if got := string(digits(text)); got != want {
			t.Errorf("%q became %s, not %s", text, got, want)
		}
	}
}

// A table on a page has no column that is empty in every row, and no digits of a text are grouped.
func TestPageTable(t *testing.T) {
	type row struct{ name, note string }
	v := View[row]{Columns: []Column[row]{
		{Name: "name", Cell: func(r row) Cell { return Text(r.name) }},
		{Name: "note", Cell: func(r row) Cell { return Text(r.note) }},
		{Name: "sum", Cell: func(row) Cell { return Amount(-123456, "USD", 2) }},
	}}
	page := func(rows ...row) string {
		text, err := Page{Sections: []Section{{Title: "T", Table: v.Page(Options{}, rows)}}}.HTML()
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), `<table class="data">`)
		table, _, _ = strings.Cut(table, "</table>")
		return table
	}
	const sum = `<td class="n"><bdi>-1<span>234</span>.56 USD</bdi></td>`
	if got := page(row{name: "2026"}); !strings.Contains(got, `<bdi>2026</bdi></th>`+sum) ||
		strings.Contains(got, "Note") {
		t.Error(got)
	}
	if got := page(row{"a", ""}, row{"b", "c"}); !strings.Contains(got, `>Note</th>`) ||
		!strings.Contains(got, `<td class="whole"><bdi></bdi></td>`+sum) {
		t.Error(got)
	}
}

// A chart with a single bar is a sentence, everywhere. If that bar has others, so are they.
func TestSingleBarIsASentence(t *testing.T) {
	rest := Bar{Rest: true, Label: "2 others", Value: big.NewInt(-90000), Text: "-90000 EUR"}
	for _, test := range []struct {
		upright bool
		rest    []Bar
		text    string // on a terminal
	}{
		{false, nil, "North: 1234 EUR, 1.0%.\n"},
		{true, nil, "North: 1234 EUR, 1.0%.\n"},
		{false, []Bar{rest}, "North: 1234 EUR, 1.0%.\n2 others: -90000 EUR.\n"},
	} {
		c := []Chart{{Title: "Earned", Upright: test.upright, Bars: append([]Bar{bar("North", 1234)}, test.rest...)}}
		equal(t, drawn(t, Options{}, c...), "\nEarned\n"+test.text)
		html, err := Page{Sections: []Section{{Charts: c}}}.HTML()
		if err != nil {
			t.Fatal(err)
		}
		svg := string(SVG("t", nil, c))
		wantHTML := []string{`<p><bdi>North</bdi>: <span class="n">1<span>234</span> EUR</span>, 1.0%.</p>`}
		wantSVG := []string{`>North: 1<tspan dx="2.4">234</tspan> EUR, 1.0%.</text>`}
		if test.rest != nil {
			wantHTML = append(wantHTML,
				`<p class="rest"><bdi>2 others</bdi>: <span class="n">-90<span>000</span> EUR</span>.</p>`)
			wantSVG = append(wantSVG, `class="soft">2 others: -90<tspan dx="2.4">000</tspan> EUR.</text>`)
		}
		for i := range wantHTML {
			if !strings.Contains(string(html), wantHTML[i]) {
				t.Errorf("there is no %s in %s", wantHTML[i], html)
			}
			if !strings.Contains(svg, wantSVG[i]) {
				t.Errorf("there is no %s in %s", wantSVG[i], svg)
			}
		}
		if strings.Contains(string(html), "<rect") || strings.Contains(svg, `class="bar"`) {
			t.Error("a bar that is alone is drawn")
		}
	}
}

// All charts on a terminal begin in the same column: bars after their labels, and columns after their axis.
func TestChartsHaveOneMargin(t *testing.T) {
	flat := Chart{Title: "A", Bars: []Bar{bar("North", 100), bar("South", 50)}}
	wide := Chart{Title: "B", Bars: []Bar{bar("A longer name", 100), bar("South", 50)}}
	upright := Chart{Title: "C", Upright: true, Bars: []Bar{bar("1 May", 7), bar("2 May", 0)}}
	alone := Chart{Title: "D", Bars: []Bar{bar("A name that is longer than all others", 1)}}
	got := drawn(t, Options{Width: 80}, flat, wide, upright, alone)
	for _, want := range []string{"North          █", "South          █", "A longer name  █", "            7 ┤█",
		"            0 ┴─", "               1 May"} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("there is no %q in %s", want, got)
		}
	}
	// A narrow terminal has no room for that.
	if got := drawn(t, Options{Width: 40}, wide, upright); !strings.Contains(got, "\n7 ┤█") {
		t.Error(got)
	}
}

// The last column has a label too: it says where the timeline ends.
func TestLastColumnHasALabel(t *testing.T) {
	for n := 2; n <= 50; n++ {
		c := Chart{Upright: true}
		for i := range n {
			c.Bars = append(c.Bars, bar(fmt.Sprintf("%d.", i+1), 5_000_000_000_000)) // too wide to be below a column
		}
		lines := strings.Split(strings.TrimRight(drawn(t, Options{Width: 70}, c), "\n"), "\n")
		labels := strings.Fields(lines[len(lines)-1])
		if labels[0] != "1." || labels[len(labels)-1] != fmt.Sprintf("%d.", n) {
			t.Errorf("%d columns have the labels %v", n, labels)
		}
	}
}

// On a page and in a picture, a label that is too long is cut, and its title has the whole of it. In a table,
// the end stays, which tells equal labels apart.
func TestLongLabelsAreCut(t *testing.T) {
	long := strings.Repeat("The longest name ", 7) + "<b>"
	type row struct{ label string }
	v := View[row]{Columns: []Column[row]{{Name: "label", Cell: func(r row) Cell { return Text(r.label) }}}}
	c := Chart{Bars: []Bar{{Label: long, Apart: "7c9e6679", Value: big.NewInt(2)}, bar("North", 1), bar("South", 1)}}
	html, err := Page{Sections: []Section{{Charts: []Chart{c},
		Table: v.Page(Options{}, []row{{long + " 7c9e6679"}, {strings.Repeat("書", 20)}, {strings.Repeat("書", 21)}})}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Repeat("The longest name ", 7) + "&lt;b&gt; 7c9e6679"
	for _, want := range []string{
		`<bdi title="` + whole + `"><span>The longest name The longest n…</span> <span>7c9e6679</span></bdi>`,
		`<bdi><span title="` + whole + `">The longest name The longe…&lt;b&gt; 7c9e6679</span></bdi>`,
		`<bdi>` + strings.Repeat("書", 20) + `</bdi>`,
		`">` + strings.Repeat("書", 13) + "…" + strings.Repeat("書", 6) + `</span></bdi>`,
		`<bdi><span>North</span></bdi>`,
	} {
		if !strings.Contains(string(html), want) {
			t.Errorf("there is no %s in %s", want, html)
		}
	}
}

// On a page, a bar next to one that is far longer is still visible, on its side of zero.
func TestSmallBarsAreVisibleOnAPage(t *testing.T) {
	c := Chart{Bars: []Bar{bar("far ahead", 90_000_000), bar("small", 70), bar("below", -1), bar("none", 0)}}
	upright := c
	upright.Upright = true
	html, err := Page{Sections: []Section{{Charts: []Chart{c, upright}}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<rect x="1.00%" width="99.00%"`, `<rect x="1.00%" width="1.00%"`, `<rect x="0.00%" width="1.00%"`,
		`<rect x="1.00%" width="0.00%"`,
		`<line class="zero" x1="1.00%"`, `y="9800" width="10" height="100"><title>small`,
		`y="9900" width="10" height="100"><title>below`,
	} {
		if !strings.Contains(string(html), want) {
			t.Errorf("there is no %s in %s", want, html)
		}
	}
}

// No date in a title is broken into lines.
func TestDatesStayWhole(t *testing.T) {
	for text, want := range map[string]string{
		"Rebates of a-b, 2026-11-01 to 2026-12-01 so far": `Rebates of a-b, <span>2026-11-01</span> to ` +
			`<span>2026-12-01</span> so far`,
		"<2026-11 at 10:00>": `&lt;<span>2026-11</span> at 10:00&gt;`,
	} {
		if got := string(dates(text)); got != want {
			t.Errorf("%q became %s, not %s", text, got, want)
		}
	}
}

// The numbers of a picture have their digits grouped, and so have tooltips, which can have no style.
func TestPicturesGroupDigits(t *testing.T) {
	flat := Chart{Title: "A", Note: "123456 EUR", Bars: []Bar{bar("North", 1000000), bar("South", -2345)}}
	upright := flat
	upright.Upright = true
	svg := string(SVG("t", nil, []Chart{flat, upright}))
	html, err := Page{Sections: []Section{{Charts: []Chart{upright}}}}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`soft end">123<tspan dx="2.4">456</tspan> EUR<`, `end">1<tspan dx="2.4">000</tspan><tspan dx="2.4">000</tspan><`,
		`end">-2<tspan dx="2.4">345</tspan><`,
		`soft">-2<tspan dx="2.4">345</tspan><`, "<title>North: 1\u202f000\u202f000 EUR</title>",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %s in %s", want, svg)
		}
	}
	if want := "<title>South: -2\u202f345 EUR</title>"; !strings.Contains(string(html), want) {
		t.Errorf("there is no %s in %s", want, html)
	}
}

func TestFootAndCodeIn(t *testing.T) {
	type sum struct {
		code  string
		minor int64
	}
	v := View[sum]{
		Columns: []Column[sum]{
			{Name: "code", Cell: func(s sum) Cell { return Text(s.code) }},
			{Name: "amount", Amount: true, CodeIn: "code",
				Cell: func(s sum) Cell { return Amount(s.minor, s.code, map[string]int{"EUR": 2, "X": -1}[s.code]) }},
			{Name: "share", Cell: func(s sum) Cell { return Change(big.NewInt(s.minor)) }},
		},
		Foot: []sum{{"EUR", 300}},
	}
	show := func(o Options) string {
		var b strings.Builder
		if err := v.List(&b, o, each([]sum{{"EUR", 100}, {"EUR", -5}, {"X", 7}})); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	equal(t, show(Options{}), ""+
		"CODE       AMOUNT   SHARE\n"+
		"EUR    1.00        +10.0%\n"+
		"EUR   -0.05         -0.5%\n"+
		"X      7    minor   +0.7%\n"+
		"────  ───────────  ──────\n"+
		"EUR    3.00        +30.0%\n")
	v.Foot = nil
	equal(t, show(Options{Columns: []string{"amount"}, NoHeaders: true}), " 1.00 EUR\n-0.05 EUR\n 7    minor X\n")
	equal(t, show(Options{Format: CSV}),
		"code,amount,amount_minor,amount_currency,share\nEUR,1.00,100,EUR,10.0\nEUR,-0.05,-5,EUR,-0.5\nX,,7,X,0.7\n")
	if painted := show(Options{Color: true}); !strings.Contains(painted, "\x1b[32m+10.0%\x1b[0m") ||
		!strings.Contains(painted, "\x1b[31m-0.5%\x1b[0m") {
		t.Errorf("what grows is green, what shrinks is red: %q", painted)
	}
}

func TestBigAmount(t *testing.T) {
	large, _ := new(big.Int).SetString("-184467440737095516150", 10)
	rows := []payment{{amount: BigAmount(large, "USD", 2)}, {amount: BigAmount(big.NewInt(5), "USD", 2)},
		{amount: BigAmount(new(big.Int).Neg(large), "X", -1)}}
	equal(t, list(t, Options{Format: CSV, Columns: []string{"amount"}, NoHeaders: true, Sort: "amount"}, rows...),
		"-1844674407370955161.50,-184467440737095516150,USD\n0.05,5,USD\n,184467440737095516150,X\n")
	equal(t, list(t, Options{Columns: []string{"amount"}, NoHeaders: true, Sort: "-amount"}, rows[:2]...), ""+
		"                   0.05 USD\n-1844674407370955161.50 USD\n")
	if got := compare(Percent(big.NewInt(5)), Percent(big.NewInt(40))); got >= 0 {
		t.Error("0.5% is not less than 4.0%")
	}
}
