package render

import (
	"bufio"
	"fmt"
	"io"
	"math/big"
	"strings"
)

// Picture shows at a glance what was earned: a group for each currency, and in it a row for each who earned
// it. A terminal, a page and a file show the same rows in the same order.
type Picture struct {
	Title, Note string
	Groups      []PictureGroup
	Remarks     []string // below
}

// PictureGroup is what was earned in one currency.
type PictureGroup struct {
	Total PictureRow                   // its label is the currency; without a number if there is one row
	Rows  []PictureRow                 // of one scale
	Times func(most int) []PictureTime // periods without a gap, at most so many; nil: none
}

// PictureRow is the share of one who earned.
type PictureRow struct {
	Label  string
	Apart  string   // distinguishes it from others with the same label, and is never cut
	Value  *big.Int // the length of the bar; nil: it has none
	Hollow bool     // its period is not over or not whole, so the bar is an outline

	Number string // the amount without its unit
	Change string // since the period before, such as ▲ 35.8%
	Sign   int    // of the change
	Share  string
}

// PictureTime is a period, and what was earned in it.
type PictureTime struct {
	Label, Number string
	Value         *big.Int
	Unit          string // day, week, month or year
	Hollow        bool   // it is not over or not whole
}

// name returns the whole label.
func (r PictureRow) name() string { return strings.TrimSpace(r.Label + " " + r.Apart) }

// largest returns the largest of some amounts, without regard to signs.
func largest[T any](all []T, value func(T) *big.Int) *big.Int {
	most := new(big.Int)
	for _, one := range all {
		if v := value(one); v != nil && v.CmpAbs(most) > 0 {
			most.Abs(v)
		}
	}
	return most
}

// most returns the largest amount of a row. A single row compares nothing, so it has no bar.
func (g PictureGroup) most() *big.Int {
	if len(g.Rows) == 1 {
		return new(big.Int)
	}
	return largest(g.Rows, func(r PictureRow) *big.Int { return r.Value })
}

// length returns the length of a bar, if that of the largest value is full. A value that is not zero is visible.
func length(value, most *big.Int, full int) int {
	if value == nil || value.Sign() == 0 || most.Sign() == 0 {
		return 0
	}
	n := new(big.Int).Abs(value)
	n.Mul(n, big.NewInt(int64(2*full)))
	n.Add(n, most).Quo(n, new(big.Int).Lsh(most, 1)) // round to the nearest
	return max(int(n.Int64()), 1)
}

// describe says in words what a group shows, for people who cannot see it.
func (g PictureGroup) describe() string {
	var texts []string
	for _, r := range append([]PictureRow{g.Total}, g.Rows...) {
		text := r.name()
		for i, more := range []string{r.Number, r.Change, r.Share} {
			if more != "" {
				text += []string{": ", ", ", ", "}[i] + strings.TrimSpace(more)
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ") + "."
}

const (
	noTerminal   = 80 // the width of a picture without a terminal
	widestLabel  = 32
	narrowLabel  = 20
	widestBar    = 40
	shortestBar  = 4
	pictureGap   = "   "
	pictureInset = "  " // before the labels of a group
)

// columns are the widths of a picture's columns on a terminal. Without bar, there is no room for bars.
type columns struct {
	label, number, change, share, bar int
	below                             bool // the figures are below the labels
}

// fit chooses the widths. Labels are cut before bars get short, unless two would be alike.
func (p Picture) fit(limit int) (c columns) {
	for _, g := range p.Groups {
		for i, r := range append([]PictureRow{g.Total}, g.Rows...) {
			label := width(Safe(r.name()))
			if i > 0 {
				label += len(pictureInset)
			}
			c.label, c.number = max(c.label, label), max(c.number, width(r.number()))
			c.change, c.share = max(c.change, width(r.Change)), max(c.share, width(r.Share))
		}
	}
	behind := c.behind()
	whole := c.label
	c.label = min(whole, widestLabel, max(limit-behind-len(pictureGap)-2*shortestBar, narrowLabel))
	for c.label < whole && p.alike(c.label-len(pictureInset)) {
		c.label++
	}
	if c.below = c.label+behind > limit; c.below {
		c.label = len(pictureInset)
		for _, column := range []*int{&c.share, &c.change} { // rather than a number
			if c.label+c.behind() > limit {
				*column = 0
			}
		}
		behind = c.behind()
	}
	between := 1 // a bar and its share
	if c.share == 0 {
		between = len(pictureGap)
	}
	if c.bar = min(limit-c.label-behind-between, widestBar); c.bar < shortestBar {
		c.bar = 0
	}
	return c
}

// behind is the width of what is behind the labels, without bars.
func (c columns) behind() int {
	n := len(pictureGap) + c.number
	for _, wide := range []int{c.change, c.share} {
		if wide > 0 {
			n += len(pictureGap) + wide
		}
	}
	return n
}

// alike reports whether two different labels are the same in so many columns.
func (p Picture) alike(limit int) bool {
	return alike(func(yield func(string, string) bool) {
		for _, g := range p.Groups {
			for _, r := range g.Rows {
				if !yield(r.Label, r.Apart) {
					return
				}
			}
		}
	}, limit)
}

// number returns the number as a terminal shows it.
func (r PictureRow) number() string { return Group(Safe(r.Number)) }

// Text draws the picture on a terminal, or in a pipe. It is readable without colour.
func (p Picture) Text(w io.Writer, o Options) error {
	limit := o.Width
	if limit <= 0 {
		limit = noTerminal
	}
	paint, c := o.painter(), p.fit(limit)
	title := Wrap(Safe(p.Title), limit)
	for i, line := range title {
		title[i] = paint.mark(Bold, line)
	}
	switch note := Safe(p.Note); {
	case note == "":
	case len(title) == 1 && width(Safe(p.Title))+len(pictureGap)+width(note) <= limit:
		title[0] += pictureGap + note
	default:
		title = append(title, Wrap(note, limit)...)
	}
	lines := title
	for i, g := range p.Groups {
		if i == 0 || len(g.Rows) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, c.line(paint, g.Total, true, c.spark(paint, g, limit), limit)...)
		most := g.most()
		for _, r := range g.Rows {
			lines = append(lines, c.line(paint, r, false, c.flat(paint, r, most), limit)...)
		}
	}
	remarks := p.Remarks
	if text := p.scale(c, limit); text != "" {
		remarks = append([]string{text}, remarks...)
	}
	for i, text := range remarks {
		if i == 0 {
			lines = append(lines, "")
		}
		for _, line := range Wrap(Safe(text), limit) {
			lines = append(lines, paint.mark(Dim, line))
		}
	}
	return printLines(w, lines)
}

// line returns the line of a row, or its two lines.
func (c columns) line(p painter, r PictureRow, head bool, end string, limit int) (lines []string) {
	inset, as := pictureInset, Plain
	switch {
	case head:
		inset, as = "", Bold
	case r.Value == nil:
		as = Dim
	}
	var line string
	if c.below {
		for _, part := range Wrap(Safe(r.name()), limit-len(inset)) {
			lines = append(lines, inset+p.mark(as, part))
		}
		line = spaces(c.label)
	} else {
		name := labelled(r.Label, r.Apart, c.label-len(inset))
		line = inset + p.mark(as, name) + spaces(c.label-len(inset)-width(name))
	}
	line += pictureGap + spaces(c.number-width(r.number())) + p.mark(as, r.number())
	if c.change > 0 {
		line += pictureGap + p.mark(signStyle(r.Sign), r.Change) + spaces(c.change-width(r.Change))
	}
	if end != "" {
		line += pictureGap + end
	}
	return append(lines, strings.TrimRight(line, " "))
}

// flat returns the bar and the share of a row. Half of a character is the least that a bar has.
func (c columns) flat(p painter, r PictureRow, most *big.Int) string {
	full, half, as := "━", "╸", Blue
	if r.Hollow {
		full, half = "─", "╴"
	}
	bar := ""
	if c.bar > 0 && r.Value != nil {
		if r.Value.Sign() < 0 { // without colour, it must not look like a gain
			if full, half, as = "╍", "╺", Red; r.Hollow {
				full, half = "╌", "╶"
			}
		}
		halves := length(r.Value, most, 2*c.bar)
		bar = strings.Repeat(full, halves/2) + strings.Repeat(half, halves%2)
	}
	if c.share == 0 {
		return p.mark(as, bar)
	}
	return strings.TrimSpace(p.mark(as, bar) + " " + Safe(r.Share))
}

// times returns the periods of a group that there is room for, if there is anything in them.
func (c columns) times(g PictureGroup, limit int) (times []PictureTime, most *big.Int) {
	c.share = 0
	room := limit - c.label - c.behind() - len(pictureGap)
	if g.Times == nil || room < shortestBar {
		return nil, nil
	}
	times = g.Times(min(room, widestBar))
	most = largest(times, func(t PictureTime) *big.Int { return t.Value })
	if len(times) < 2 || most.Sign() == 0 {
		return nil, nil
	}
	return times, most
}

// scale says which periods the characters of spark are.
func (p Picture) scale(c columns, limit int) string {
	for _, g := range p.Groups {
		if times, _ := c.times(g, limit); times != nil {
			n := len(times)
			text := fmt.Sprintf("Over time: %d %ss, from %s to %s", n, times[0].Unit, times[0].Label, times[n-1].Label)
			switch first, last := times[0].Hollow, times[n-1].Hollow; {
			case first && last:
				text += "; the first and the last are not whole"
			case first:
				text += "; the first is not whole"
			case last:
				text += "; the last is not whole"
			}
			return text + "."
		}
	}
	return ""
}

// spark returns what was earned over time, a character for each period.
func (c columns) spark(p painter, g PictureGroup, limit int) string {
	times, most := c.times(g, limit)
	if times == nil {
		return ""
	}
	var line strings.Builder
	for _, t := range times {
		shape := []rune("▁▂▃▄▅▆▇█")[length(t.Value, most, 7)]
		if t.Value.Sign() < 0 {
			shape = '▔'
		}
		line.WriteRune(shape)
	}
	return p.mark(Blue, line.String())
}

// Heading writes lines above a table, with a free line below them.
func Heading(w io.Writer, o Options, texts ...string) error {
	var lines []string
	for i, text := range append(texts, "") {
		for _, line := range Wrap(Safe(text), o.Width) {
			if i == 0 {
				line = o.painter().mark(Bold, line)
			}
			lines = append(lines, line)
		}
	}
	return printLines(w, lines)
}

func printLines(w io.Writer, lines []string) error {
	return output(w, func(out *bufio.Writer) error {
		for _, line := range lines {
			lineWriter{out}.print(line) // out keeps its first error
		}
		return nil
	})
}
