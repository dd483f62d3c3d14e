package render

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
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

// Section is a part of a page, with a group of a picture, a table, or both.
type Section struct {
	Title, Note string
	Group       *PictureGroup
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
	t := &PageTable{Head: make([]PageText, len(g.fields))}
	filled := make([]bool, len(g.fields))
	for row := range g.people(Options{}) {
		texts := make([]PageText, len(row))
		for i, c := range row {
			texts[i] = pageText(c)
			filled[i] = filled[i] || texts[i].Text != ""
			if c.numeric() {
				t.Head[i].Class = "n"
			}
		}
		t.Rows = append(t.Rows, texts)
	}
	for i := len(g.fields) - 1; i >= 0; i-- {
		name := strings.ReplaceAll(g.fields[i].Name, "_", " ")
		if t.Head[i].Text = strings.ToUpper(name[:1]) + name[1:]; filled[i] || all {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for n, row := range t.Rows {
			t.Rows[n] = slices.Delete(row, i, i+1)
		}
	}
	return t
}

func pageText(c Cell) PageText {
	text := PageText{Text: c.short()}
	switch {
	case c.numeric():
		text.Class = "n"
		if c.signed {
			text.Class = strings.TrimSpace("n " + ChangeClass(c.number().Sign()))
		}
	case len(text.Text) <= oneLine && !strings.Contains(text.Text, " "):
		text.Class = "whole"
	}
	return text
}

// oneLine is the longest code or time that is not broken into lines, in bytes.
const oneLine = 24

// ChangeClass returns the Class of a text about growth (1) or decline (-1).
func ChangeClass(sign int) string { return map[int]string{1: "up", -1: "down"}[sign] }

// lazily compiles a pattern when it is first used, because most commands draw no page.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	longNumber  = lazily(`(^|[ +−-])[0-9]{4,}`) // the digits before the point, if there are enough of them to group
	minus       = lazily(`(^|[ +])-([0-9])`)
	dateOrMonth = lazily(`\b[0-9]{4}-[0-9]{2}(-[0-9]{2})?\b`)
)

// digits returns HTML of text with the digits of its numbers in groups of three. The style draws the groups
// apart: a reader who copies a number, or searches for it, gets and needs no spaces.
// Its minus signs are those that are as wide as a digit.
func digits(text string) template.HTML {
	text = minus().ReplaceAllString(text, "$1−$2")
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

// dates returns HTML of text in which no date is broken into lines.
func dates(text string) template.HTML {
	return template.HTML(dateOrMonth().ReplaceAllString(template.HTMLEscapeString(Safe(text)), `<span>$0</span>`))
}

// HTML returns the text, escaped, with its digits grouped if it is a number or a list of them.
func (t PageText) HTML() template.HTML {
	if t.Class == "list" || t.Class == "n" || strings.HasPrefix(t.Class, "n ") {
		return digits(t.Text)
	}
	return template.HTML(template.HTMLEscapeString(Safe(t.Text)))
}

// HTML returns the page.
func (p Page) HTML() ([]byte, error) {
	css := pageCSS + sheetTitle(p.Title)
	hash := sha256.Sum256([]byte(css))
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'"
	t, err := template.New("page").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(css) },
		"policy": func() string { return policy },
		"safe":   Safe,
		"digits": digits,
		"dates":  dates,
		"line":   pageLine,
		"class":  func(r PictureRow) string { return barClass(r.Value, r.Hollow) },
		"up":     ChangeClass,
		"long": func(r PictureRow, g *PictureGroup) string {
			if n := length(r.Value, g.most(), fine); n > 0 {
				n = max(n, visible)
				return fmt.Sprintf("%d.%02d%%", n/100, n%100)
			}
			return ""
		},
	}).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// sheetTitle returns the style that puts a title on every sheet of a print but the first.
func sheetTitle(title string) string {
	var text strings.Builder
	for _, r := range Safe(title) {
		fmt.Fprintf(&text, "\\%06x", r) // any character, as CSS escapes it
	}
	return "@media print { @page { @top-left { content: \"" + text.String() + "\"; font: 8pt sans-serif; } } @page :first { @top-left { content: none; } } }\n"
}

// fine is the largest length of a bar on a page, and visible the least. A browser draws nothing where a bar is
// much smaller than a pixel.
const (
	fine    = 10_000
	visible = fine / 100
)

// line is what was earned over time, in its own units: the browser stretches it to the available space.
type line struct {
	Most, Least, Description string // Least is empty if no amount is below zero
	Width, Height, Zero      int
	Columns                  template.HTML
	First, Last              string
}

// timesShown is how many periods a page and a file show.
const timesShown = 60

func pageLine(g *PictureGroup) *line {
	const slot = 20
	if g.Times == nil {
		return nil
	}
	times := g.Times(timesShown)
	s := scaleOf(times)
	if len(times) < 2 || s.whole.Sign() == 0 {
		return nil
	}
	l := &line{Most: s.mostText, Least: s.leastText, Description: g.describe(), Width: slot * len(times), Height: fine,
		First: times[0].Label, Last: times[len(times)-1].Label}
	columns, zero := s.rects(times, 0, 0, l.Width, fine, visible)
	l.Columns, l.Zero = template.HTML(columns), zero
	return l
}
