package render

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// Page is a document for a browser, for paper or for a screen on the wall. It is one file that loads nothing
// and runs nothing. Its policy allows its own style, named by hash, and forbids everything else. Every text
// in it is escaped, and invisible characters are made visible as in a table.
type Page struct {
	Title    string
	Lead     []string // lines under the title
	Alerts   []string // what a reader must not miss
	Tiles    []Tile
	Sections []Section
	Notes    []string // small print
}

// Tile is a number that people read from across the room. It is a link to a section.
type Tile struct {
	Label, Number string
	Details       []PageText
	Section       int // its index in Sections
}

// PageText is a text or a cell of a table, with its meaning: up, down, list (of numbers) or none.
type PageText struct{ Text, Class string }

// Section is a part of a page, with charts, a table, or both.
type Section struct {
	Title, Note string
	Charts      []Chart
	Table       *PageTable
	Folded      bool // only the title is shown until a reader opens it; while it is closed, it is not printed
}

// PageTable is a table of rows of any type. View.Page makes it.
type PageTable struct {
	Head []PageText
	Rows [][]PageText
}

// page returns the table. It leaves out a column without any value, unless all were named.
func (g grid) page(all bool) *PageTable {
	t := &PageTable{}
	numeric, filled := make([]bool, len(g.fields)), make([]bool, len(g.fields))
	for row := range g.people(Options{}) {
		texts := make([]PageText, len(row))
		for i, c := range row {
			texts[i] = pageText(c)
			numeric[i] = numeric[i] || c.numeric()
			filled[i] = filled[i] || texts[i].Text != ""
		}
		t.Rows = append(t.Rows, texts)
	}
	for i, f := range g.fields {
		head := PageText{Text: heading(f.name)}
		if numeric[i] {
			head.Class = "n"
		}
		t.Head = append(t.Head, head)
	}
	for i := len(filled) - 1; i >= 0; i-- {
		if filled[i] || all {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for n, row := range t.Rows {
			t.Rows[n] = slices.Delete(row, i, i+1)
		}
	}
	return t
}

func heading(name string) string {
	name = strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(name[:1]) + name[1:]
}

func pageText(c Cell) PageText {
	text := PageText{Text: c.short()}
	switch {
	case c.numeric():
		text.Class = "n"
		if c.signed && c.sign() != 0 {
			text.Class += " " + ChangeClass(c.sign())
		}
	case len(text.Text) <= oneLine && !strings.Contains(text.Text, " "):
		text.Class = "whole"
	}
	return text
}

// oneLine is the longest code or time that is not broken into lines, in bytes.
const oneLine = 24

// ChangeClass returns the Class of a text about growth or decline.
func ChangeClass(sign int) string {
	switch {
	case sign > 0:
		return "up"
	case sign < 0:
		return "down"
	}
	return ""
}

// longNumber is the digits of a number before its point, if there are enough of them to group.
var longNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[ +-])[0-9]{4,}`)
})

// digits returns HTML of text with the digits of its numbers in groups of three. The style draws the groups
// apart: a reader who copies a number, or searches for it, gets and needs no spaces.
func digits(text string) template.HTML {
	return template.HTML(grouped(template.HTMLEscapeString(Safe(text)), "<span>", "</span>"))
}

// grouped puts something before and after every group of three digits, except the first of a number.
func grouped(text, before, after string) string {
	return longNumber().ReplaceAllStringFunc(text, func(number string) string {
		at := strings.IndexAny(number, "0123456789")
		at += (len(number)-at-1)%3 + 1
		parts := number[:at]
		for ; at < len(number); at += 3 {
			parts += before + number[at:at+3] + after
		}
		return parts
	})
}

// tip returns a text that cannot have a style, such as that of a tooltip, with narrow spaces between groups
// of digits.
func tip(text string) string { return grouped(Safe(text), "\u202f", "") }

var dateOrMonth = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}(-[0-9]{2})?\b`)
})

// dates returns HTML of text in which no date is broken into lines.
func dates(text string) template.HTML {
	return template.HTML(dateOrMonth().ReplaceAllString(template.HTMLEscapeString(Safe(text)), `<span>$0</span>`))
}

// HTML returns the text, escaped, with its digits grouped if it is a number or a list of them. Of a long
// label it shows the beginning and the end, where the id may be. The title has all of it.
func (t PageText) HTML() template.HTML {
	if whole := Safe(t.Text); t.Class == "" && width(whole) > longLabel {
		const end = longLabel / 3
		return template.HTML(`<span title="` + template.HTMLEscapeString(whole) + `">` + template.HTMLEscapeString(
			strings.TrimSpace(head(whole, longLabel-1-end))+ellipsis+strings.TrimSpace(tail(whole, end))) + "</span>")
	}
	if t.Class == "list" || t.Class == "n" || strings.HasPrefix(t.Class, "n ") {
		return digits(t.Text)
	}
	return template.HTML(template.HTMLEscapeString(Safe(t.Text)))
}

// HTML returns the page.
func (p Page) HTML() ([]byte, error) {
	hash := sha256.Sum256([]byte(pageCSS))
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'"
	t, err := template.New("page").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(pageCSS) },
		"policy": func() string { return policy },
		"safe":   Safe,
		"digits": digits,
		"dates":  dates,
		"tip":    tip,
		"alone":  Chart.alone,
		"bars":   pageBars,
		"line":   pageLine,
	}).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

type pageBar struct {
	Label, Number, Extra string
	Apart                string // tells the label apart, and is never cut
	Whole                string // the label, if it is cut
	Text                 string // the amount with its unit
	Rest                 bool
	From, Percent        string // of the available width
	Zero                 string // the position of zero, if there are negative amounts
}

// longLabel is the most columns that a label takes.
const longLabel = 40

// fine is the largest length of a bar on a page.
const fine = 10_000

// visible is the least length of a bar on a page. A browser draws nothing where a bar is much smaller than a
// pixel.
const visible = fine / 100

// pageZero returns the position of zero on a page. Each side that has amounts has room for a visible bar.
func (s scale) pageZero() int {
	zero := s.zero(fine)
	if s.least.Sign() < 0 {
		zero = max(zero, visible)
	}
	if s.most.Sign() > 0 {
		zero = min(zero, fine-visible)
	}
	return zero
}

// pageSpan is like span, but a value that is not zero is visible.
func (s scale) pageSpan(value *big.Int) (from, length int) {
	zero, length := s.pageZero(), s.part(value, fine)
	if length > 0 {
		length = max(length, visible)
	}
	if value.Sign() < 0 {
		length = min(length, zero)
		return zero - length, length
	}
	return zero, min(length, fine-zero)
}

func pageBars(c Chart) []pageBar {
	bars := make([]pageBar, len(c.Bars))
	percent := func(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }
	s := c.scale()
	zero := s.pageZero()
	for i, b := range c.Bars {
		from, n := s.pageSpan(b.drawn())
		room := longLabel
		if b.Apart != "" {
			room -= 1 + width(b.Apart)
		}
		bars[i] = pageBar{Label: Cut(Safe(b.Label), room), Apart: b.Apart, Number: b.number(), Text: b.Text,
			Extra: b.Extra, Rest: b.Rest, From: percent(from), Percent: percent(n)}
		if bars[i].Label != Safe(b.Label) {
			bars[i].Whole = b.name()
		}
		if zero > 0 {
			bars[i].Zero = percent(zero)
		}
	}
	return bars
}

// line is an upright chart in its own units: the browser stretches it to the available space.
type line struct {
	Most, Least, Description string // Least is empty if no amount is below zero
	Width, Height, Zero      int
	Columns                  []lineColumn
	Labels                   []string
	Each                     bool // every column has a label; otherwise the first, middle and last
}

type lineColumn struct {
	X, Y, Thick, Tall int
	Title             string
}

func pageLine(c Chart) line {
	const slot = 20
	thick := slot * 3 / 4
	s := c.scale()
	l := line{Description: c.describe(), Width: slot * len(c.Bars), Height: fine, Zero: fine - s.pageZero()}
	l.Most, _, l.Least, _ = c.axis()
	if len(c.Bars) <= fewColumns { // each with its label in the middle
		thick = slot / 2
		l.Each = true
	}
	for i, b := range c.Bars {
		from, tall := s.pageSpan(b.Value)
		l.Columns = append(l.Columns,
			lineColumn{i*slot + (slot-thick)/2, fine - from - tall, thick, tall, b.Label + ": " + b.Text})
		if l.Each || i == 0 || i == len(c.Bars)/2 || i == len(c.Bars)-1 {
			l.Labels = append(l.Labels, b.Label)
		}
	}
	return l
}

// fewColumns is the largest number of columns that all have a label on a small screen.
const fewColumns = 6

// describe says in words what the chart shows, for people who cannot see it.
func (c Chart) describe() string {
	texts := make([]string, len(c.Bars))
	for i, b := range c.Bars {
		texts[i] = b.name() + ": " + b.Text
	}
	return c.Title + ". " + strings.Join(texts, ", ") + "."
}
