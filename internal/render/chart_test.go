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

func TestBars(t *testing.T) {
	c := Chart{Title: "Earned", Note: "so far", Bars: []Bar{bar("North", 160), bar("東京", 80), bar("Small", 1), bar("None", 0), bar("Back\x1b", -5)}}
	// 40 columns less the label (8), the amount (7), the share (4) and the gaps (6) are 15 for the bar: 120 eighths for 160.
	equal(t, drawn(t, Options{Width: 40}, c), "\nEarned  so far\n"+
		"North     ███████████████  160 EUR  1.0%\n"+
		"東京      ███████▌          80 EUR  1.0%\n"+
		"Small     ▏                  1 EUR  1.0%\n"+
		"None                         0 EUR  1.0%\n"+
		"Back\\x1b                    -5 EUR  1.0%\n")
	equal(t, drawn(t, Options{Width: 24}, c)[:len("\nEarned  so far\nNorth     160 EUR  1.0%\n")], "\nEarned  so far\nNorth     160 EUR  1.0%\n")
}

func TestUprightChart(t *testing.T) {
	c := Chart{Title: "Earned", Upright: true, Bars: []Bar{bar("2026-01", 80), bar("2026-02", 0), bar("2026-03", 35)}}
	equal(t, drawn(t, Options{Width: 40}, c), "\nEarned\n"+
		"80 ┤██████████\n"+strings.Repeat("   │██████████\n", 3)+
		"   │██████████              ▄▄▄▄▄▄▄▄▄▄\n"+strings.Repeat("   │██████████              ██████████\n", 3)+
		" 0 ┴────────────────────────────────────\n"+
		"    2026-01     2026-02     2026-03\n"+
		"    80          0           35\n")
}

// However wide the screen and however many bars, no line is wider than the screen, and no digit is lost.
func TestChartsFit(t *testing.T) {
	for _, limit := range []int{30, 80, 200} {
		for _, n := range []int{1, 2, 7, 60, 365} {
			c := Chart{Title: strings.Repeat("T", limit), Note: "note", Upright: true}
			for i := range n {
				c.Bars = append(c.Bars, bar(fmt.Sprintf("2026-%02d", i), int64(i)*1_000_003))
			}
			flat := c
			flat.Upright = false
			for line := range strings.Lines(drawn(t, Options{Width: limit}, c, flat)) {
				if got := width(strings.TrimSuffix(line, "\n")); got > limit {
					t.Errorf("%d bars in %d columns: a line is %d wide: %s", n, limit, got, line)
				}
			}
			if text := drawn(t, Options{Width: limit}, flat); !strings.Contains(text, c.Bars[n-1].Text) {
				t.Errorf("%d bars in %d columns: %s is not there", n, limit, c.Bars[n-1].Text)
			}
		}
	}
	equal(t, drawn(t, Options{}, Chart{Title: "T", Upright: true}), "\nT\n"+"0 ┤\n"+strings.Repeat("  │\n", 7)+"0 ┴\n\n")
}

func TestChartPart(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	c := Chart{Bars: []Bar{{Value: huge}, {Value: new(big.Int).Rsh(huge, 1)}, {Value: big.NewInt(1)}, {Value: big.NewInt(math.MinInt64)}}}
	for i, want := range []int{1000, 500, 1, 0} {
		if got := c.part(c.Bars[i], 1000); got != want {
			t.Errorf("bar %d is %d long, not %d", i, got, want)
		}
	}
}

const nasty = "]]></text></title></style><script>alert(1)</script>\"' onload=x \x1b\u202e\ufffe{{.}}"

// Whatever a text is, the picture is well-formed, and has no element that it should not have.
func TestSVG(t *testing.T) {
	c := Chart{Title: nasty, Note: nasty, Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty, Extra: nasty}, bar("x", 1)}}
	upright := c
	upright.Upright = true
	text := SVG(nasty, nasty, []Chart{c, upright})
	allowed := map[string]bool{"svg": true, "title": true, "desc": true, "style": true, "rect": true, "text": true, "path": true}
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
				if !allowed[start.Name.Local] || strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" || a.Name.Local == "href" {
					t.Errorf("there is <%s %s>", start.Name.Local, a.Name.Local)
				}
			}
		}
	}
	if seen["desc"] != 1 || seen["style"] != 1 || seen["rect"] < 5 {
		t.Errorf("the picture has %v", seen)
	}
}

// Labels below the columns of a picture keep their distance, the first two and the last two too, which the margin moves.
func TestSVGLabelsKeepApart(t *testing.T) {
	for n := 1; n <= 60; n++ {
		c := Chart{Upright: true}
		for i := range n {
			c.Bars = append(c.Bars, bar(fmt.Sprintf("2026-W%02d", i), 5))
		}
		last, labels := -svgTick, 0
		for line := range strings.Lines(string(SVG("t", "", []Chart{c}))) {
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

func TestPage(t *testing.T) {
	v := View[payment]{Columns: payments.Columns, Foot: []payment{{id: "sum", amount: Amount(3, "USD", 2)}}}
	page := Page{
		Title: nasty, Lead: []string{nasty}, Alerts: []string{nasty}, Notes: []string{nasty},
		Tiles:    []Tile{{Label: nasty, Number: nasty, Details: []PageText{{nasty, "up"}}}},
		Sections: []Section{{Title: nasty, Note: nasty, Table: v.Page(Options{}, []payment{{id: nasty, title: nasty, to: nasty}}), Charts: []Chart{{Title: nasty, Note: nasty, Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty, Extra: nasty}}}, {Title: nasty, Upright: true, Bars: []Bar{{Label: nasty, Value: big.NewInt(5), Text: nasty}}}}}},
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
	if !strings.Contains(string(text), `<th scope="row" class="whole"><bdi>sum</bdi></th>`) || !strings.Contains(string(text), "0.03 USD") {
		t.Error("the foot is not there")
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
			{Name: "amount", Amount: true, CodeIn: "code", Cell: func(s sum) Cell { return Amount(s.minor, s.code, map[string]int{"EUR": 2, "X": -1}[s.code]) }},
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
	equal(t, show(Options{Format: CSV}), "code,amount,amount_minor,amount_currency,share\nEUR,1.00,100,EUR,10.0\nEUR,-0.05,-5,EUR,-0.5\nX,,7,X,0.7\n")
	if painted := show(Options{Color: true}); !strings.Contains(painted, "\x1b[32m+10.0%\x1b[0m") || !strings.Contains(painted, "\x1b[31m-0.5%\x1b[0m") {
		t.Errorf("what grows is green, what shrinks is red: %q", painted)
	}
}

func TestBigAmount(t *testing.T) {
	large, _ := new(big.Int).SetString("-184467440737095516150", 10)
	rows := []payment{{amount: BigAmount(large, "USD", 2)}, {amount: BigAmount(big.NewInt(5), "USD", 2)}, {amount: BigAmount(new(big.Int).Neg(large), "X", -1)}}
	equal(t, list(t, Options{Format: CSV, Columns: []string{"amount"}, NoHeaders: true, Sort: "amount"}, rows...),
		"-1844674407370955161.50,-184467440737095516150,USD\n0.05,5,USD\n,184467440737095516150,X\n")
	equal(t, list(t, Options{Columns: []string{"amount"}, NoHeaders: true, Sort: "-amount"}, rows[:2]...), ""+
		"                   0.05 USD\n-1844674407370955161.50 USD\n")
	if got := compare(Percent(big.NewInt(5)), Percent(big.NewInt(40))); got >= 0 {
		t.Error("0.5% is not less than 4.0%")
	}
}
