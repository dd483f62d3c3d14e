package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/big"
	"slices"
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
func (r PictureRow) name() string { return strings.Trim(r.Label+" "+r.Apart, " ") }

// most returns the largest amount of a row, without regard to signs. A single row compares nothing, so it has
// no bar.
func (g PictureGroup) most() *big.Int {
	most := new(big.Int)
	for _, r := range g.Rows {
		if len(g.Rows) > 1 && r.Value != nil && r.Value.CmpAbs(most) > 0 {
			most.Abs(r.Value)
		}
	}
	return most
}

// scale is the scale of what was earned over time: the largest amounts above and below zero, their texts,
// and both together.
type scale struct {
	most, least, whole  *big.Int
	mostText, leastText string
}

func scaleOf(times []PictureTime) scale {
	s := scale{most: new(big.Int), least: new(big.Int)}
	for _, t := range times {
		if t.Value.Cmp(s.most) >= 0 {
			s.most, s.mostText = t.Value, t.Number
		}
		if below := new(big.Int).Neg(t.Value); below.Cmp(s.least) > 0 {
			s.least, s.leastText = below, t.Number
		}
	}
	s.whole = new(big.Int).Add(s.most, s.least)
	return s
}

// rects draws periods as columns on a line for zero, for a page or a file, in a field of so many units. A
// column is at least thin. zero is the place of the line.
func (s scale) rects(times []PictureTime, left, top, wide, tall, thin int) (svg string, zero int) {
	long := func(value *big.Int) int {
		if n := length(value, s.whole, tall); n > 0 {
			return max(n, thin)
		}
		return 0
	}
	above := tall - long(s.least)
	var b strings.Builder
	for i, t := range times {
		x, next := left+wide*i/len(times), left+wide*(i+1)/len(times)
		y, n := top+above, long(t.Value)
		if t.Value.Sign() < 0 {
			n = min(n, tall-above)
		} else {
			n = min(n, above)
			y -= n
		}
		if n > 0 {
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`+"\n",
				cmp.Or(barClass(t.Value, t.Hollow), "bar"), x, y, max((next-x)*4/5, 1), n, escapeXML(t.tip()))
		}
	}
	return b.String(), top + above
}

// barClass returns how a bar looks: less below zero, and hollow if its period is not whole. What is added up
// has none.
func barClass(value *big.Int, hollow bool) string {
	switch {
	case value == nil:
		return "rest"
	case value.Sign() < 0 && hollow:
		return "less hollow"
	case value.Sign() < 0:
		return "less"
	case hollow:
		return "hollow"
	}
	return ""
}

// tip returns the text of a tooltip. It cannot have a style, so groups of digits have narrow spaces between
// them.
func (t PictureTime) tip() string {
	return Safe(t.Label) + ": " + grouped(Safe(t.Number), "\u202f", "")
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
	painter
	limit                             int // of the terminal
	label, number, change, share, bar int
	below                             bool   // the figures are below the labels
	names                             []name // of the rows
}

// fit chooses the widths. Labels are cut before bars get short, unless two would be alike.
func (p Picture) fit(limit int) columns {
	c, whole := columns{limit: limit}, 0
	for _, g := range p.Groups {
		for i, r := range append([]PictureRow{g.Total}, g.Rows...) {
			whole = max(whole, Width(Safe(r.name()))+min(i, 1)*len(pictureInset))
			c.number = max(c.number, Width(r.number()))
			c.change, c.share = max(c.change, Width(r.Change)), max(c.share, Width(r.Share))
		}
		for _, r := range g.Rows {
			c.names = append(c.names, name{r.Label, r.Apart})
		}
	}
	c.label = min(whole, widestLabel, max(c.room()-len(pictureGap)-2*shortestBar, narrowLabel))
	for c.label < whole && alike(c.names, c.label-len(pictureInset)) {
		c.label++
	}
	if c.below = c.room() < 0; c.below {
		c.label = len(pictureInset)
		for _, column := range []*int{&c.share, &c.change} { // rather than a number
			if c.room() < 0 {
				*column = 0
			}
		}
	}
	between := 1 // a bar and its share
	if c.share == 0 {
		between = len(pictureGap)
	}
	if c.bar = min(c.room()-between, widestBar); c.bar < shortestBar {
		c.bar = 0
	}
	return c
}

// room returns how many columns are left behind the labels and figures.
func (c columns) room() int {
	room := c.limit - c.label - len(pictureGap) - c.number
	for _, wide := range []int{c.change, c.share} {
		if wide > 0 {
			room -= len(pictureGap) + wide
		}
	}
	return room
}

// number returns the number as a terminal shows it.
func (r PictureRow) number() string { return Group(Safe(r.Number)) }

// Text draws the picture on a terminal, or in a pipe. It is readable without colour.
func (p Picture) Text(w io.Writer, o Options) error {
	c := p.fit(cmp.Or(max(o.Width, 0), noTerminal))
	c.painter = o.painter()
	lines := c.wrap(Bold, p.Title, c.limit)
	if len(lines) == 1 && Width(Safe(p.Title+pictureGap+p.Note)) <= c.limit {
		lines[0] += pictureGap + Safe(p.Note)
	} else if p.Note != "" {
		lines = append(lines, c.wrap(Plain, p.Note, c.limit)...)
	}
	remarks, scaled := p.Remarks, false
	for i, g := range p.Groups {
		if i == 0 || len(g.Rows) > 0 {
			lines = append(lines, "")
		}
		times := c.times(g)
		if len(times) > 0 && !scaled {
			remarks, scaled = append([]string{scaleText(times)}, remarks...), true
		}
		lines = append(lines, c.line(g.Total, true, c.spark(times))...)
		most := g.most()
		for _, r := range g.Rows {
			lines = append(lines, c.line(r, false, c.flat(r, most))...)
		}
	}
	if len(remarks) > 0 {
		lines = append(lines, "")
	}
	for _, text := range remarks {
		lines = append(lines, c.wrap(Dim, text, c.limit)...)
	}
	return printLines(w, lines)
}

// line returns the line of a row, or its two lines.
func (c columns) line(r PictureRow, head bool, end string) (lines []string) {
	inset, as := pictureInset, Plain
	switch {
	case head:
		inset, as = "", Bold
	case r.Value == nil:
		as = Dim
	}
	label := ""
	if c.below {
		for _, part := range c.wrap(as, r.name(), c.limit-len(inset)) {
			lines = append(lines, inset+part)
		}
	} else {
		label = name{r.Label, r.Apart}.in(c.label - len(inset))
	}
	line := inset + c.mark(as, label) + spaces(c.label-len(inset)-Width(label)) +
		pictureGap + spaces(c.number-Width(r.number())) + c.mark(as, r.number())
	if c.change > 0 {
		line += pictureGap + c.mark(signStyle(r.Sign), r.Change) + spaces(c.change-Width(r.Change))
	}
	return append(lines, line+pictureGap+end)
}

// flat returns the bar and the share of a row. Half of a character is the least that a bar has. Without
// colour, a loss must not look like a gain.
func (c columns) flat(r PictureRow, most *big.Int) string {
	shape, as := []string{"━╸", "─╴", "╍╺", "╌╶"}, Blue
	if r.Value != nil && r.Value.Sign() < 0 {
		shape, as = shape[2:], Red
	}
	if r.Hollow {
		shape = shape[1:]
	}
	full, half := shape[0][:len("━")], shape[0][len("━"):]
	halves := length(r.Value, most, 2*c.bar)
	if c.bar == 0 {
		halves = 0
	}
	bar := c.mark(as, strings.Repeat(full, halves/2)+strings.Repeat(half, halves%2))
	if c.share == 0 {
		return bar
	}
	return strings.TrimSpace(bar + " " + Safe(r.Share))
}

// times returns the periods of a group that there is room for, if there is anything in them.
func (c columns) times(g PictureGroup) []PictureTime {
	c.share = 0
	room := c.room() - len(pictureGap)
	if g.Times == nil || room < shortestBar {
		return nil
	}
	times := g.Times(min(room, widestBar))
	if len(times) < 2 || scaleOf(times).whole.Sign() == 0 {
		return nil
	}
	return times
}

// scaleText says which periods the characters of spark are.
func scaleText(times []PictureTime) string {
	first, last := times[0], times[len(times)-1]
	text := fmt.Sprintf("Over time: %d %ss, from %s to %s", len(times), first.Unit, first.Label, last.Label)
	switch {
	case first.Hollow && last.Hollow:
		text += "; the first and the last are not whole"
	case first.Hollow:
		text += "; the first is not whole"
	case last.Hollow:
		text += "; the last is not whole"
	}
	return text + "."
}

// spark returns what was earned over time, a character for each period.
func (c columns) spark(times []PictureTime) string {
	s := scaleOf(times)
	most := slices.MaxFunc([]*big.Int{s.most, s.least}, (*big.Int).Cmp)
	var line strings.Builder
	for _, t := range times {
		shape := []rune("▁▂▃▄▅▆▇█")[length(t.Value, most, 7)]
		if t.Value.Sign() < 0 {
			shape = '▔'
		}
		line.WriteRune(shape)
	}
	return c.mark(Blue, line.String())
}

// Heading writes lines above a table, with a free line below them.
func Heading(w io.Writer, o Options, texts ...string) error {
	var lines []string
	as := Bold
	for _, text := range append(texts, "") {
		lines = append(lines, o.painter().wrap(as, text, o.Width)...)
		as = Plain
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
