package render

import (
	"bufio"
	"io"
	"math/big"
	"slices"
	"strings"
)

// Chart is a drawing of amounts that have one unit.
type Chart struct {
	Title   string
	Note    string // next to the title, such as the sum
	Bars    []Bar
	Upright bool // columns next to each other, for a sequence in time; otherwise bars below each other
}

// Bar is one amount in a Chart.
type Bar struct {
	Label string
	Apart string   // distinguishes it from others with the same label, and is never cut
	Value *big.Int // the length of the bar; a negative one goes to the other side of zero
	Text  string   // the amount as text
	Extra string   // after the amount, such as the share
	Rest  bool     // the sum of what has no bar of its own: it has none either, and is outside the scale
}

// label returns the label in at most limit columns.
func (b Bar) label(limit int) string { return labelled(b.Label, b.Apart, limit) }

// name returns the whole label.
func (b Bar) name() string {
	if b.Apart == "" {
		return b.Label
	}
	return b.Label + " " + b.Apart
}

// drawn returns the value that the length of the bar shows.
func (b Bar) drawn() *big.Int {
	if b.Rest {
		return new(big.Int)
	}
	return b.Value
}

// scale is the scale of a chart's bars: the least and the largest amount, with zero between them.
type scale struct{ least, most, whole *big.Int }

func (c Chart) scale() scale {
	s := scale{new(big.Int), new(big.Int), new(big.Int)}
	for _, b := range c.Bars {
		if b.drawn().Cmp(s.least) < 0 {
			s.least = b.Value
		}
		if b.drawn().Cmp(s.most) > 0 {
			s.most = b.Value
		}
	}
	s.whole.Sub(s.most, s.least)
	return s
}

// part returns the length of a bar, on either side of zero, if the whole scale has the length full.
func (s scale) part(value *big.Int, full int) int {
	if value.Sign() == 0 {
		return 0
	}
	n := new(big.Int).Abs(value)
	n.Mul(n, big.NewInt(int64(2*full)))
	n.Add(n, s.whole).Quo(n, new(big.Int).Lsh(s.whole, 1)) // round to the nearest
	return max(int(n.Int64()), 1)                          // a value that is not zero is visible
}

// zero returns the position of zero, if the whole scale has the length full.
func (s scale) zero(full int) int {
	return min(s.part(s.least, full), full-s.most.Sign())
}

// span returns the beginning and the length of a bar, if the whole scale has the length full.
func (s scale) span(value *big.Int, full int) (from, length int) {
	zero := s.zero(full)
	length = s.part(value, full)
	if value.Sign() < 0 {
		return zero - length, length
	}
	return zero, min(length, full-zero)
}

// noTerminal is the width of a chart without a terminal.
const noTerminal = 80

// Heading writes lines above a table or charts, with a free line below them.
func Heading(w io.Writer, o Options, texts ...string) error {
	var lines []string
	for i, text := range append(texts, "") {
		for _, line := range Wrap(Safe(text), o.Width) {
			if i == 0 {
				line = o.painter().mark(bold, line)
			}
			lines = append(lines, line)
		}
	}
	return printLines(w, lines)
}

// oneMargin is the least width of a terminal on which all charts begin in the same column.
const oneMargin = 60

// Charts draws charts as text, below each other, with one left margin. They are readable without colour.
func Charts(w io.Writer, o Options, charts []Chart) error {
	limit := o.Width
	if limit <= 0 {
		limit = noTerminal
	}
	margin := 0
	for _, c := range charts {
		if limit >= oneMargin {
			margin = max(margin, c.margin(limit))
		}
	}
	var lines []string
	for _, c := range charts {
		lines = append(append(lines, ""), c.lines(o.painter(), limit, margin)...)
	}
	return printLines(w, lines)
}

func printLines(w io.Writer, lines []string) error {
	return output(w, oneBuffer, func(out *bufio.Writer) error {
		for _, line := range lines {
			if err := (lineWriter{out}).print(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// margin returns the width of what is to the left of the bars: their labels, or the texts at the axis.
func (c Chart) margin(limit int) int {
	switch {
	case c.alone():
		return 0
	case c.Upright:
		_, _, _, wide := c.axis()
		return wide
	}
	return c.widest(func(b Bar) string { return b.label(c.longest(limit)) })
}

// alone reports whether the chart has one bar to draw. It compares nothing, so it is a sentence.
func (c Chart) alone() bool {
	bars := 0
	for _, b := range c.Bars {
		if !b.Rest {
			bars++
		}
	}
	return bars == 1
}

// sentence says what the bar would show.
func (b Bar) sentence(limit int) string {
	text := b.label(limit) + ": " + Safe(b.Text)
	if b.Extra != "" {
		text += ", " + Safe(b.Extra)
	}
	return text + "."
}

// lines returns the lines of the chart. Its margin is at least the given one.
func (c Chart) lines(p painter, limit, margin int) []string {
	margin = max(margin, c.margin(limit))
	if room := c.room(limit, margin); c.Upright && len(c.Bars) > room {
		c.Bars = c.Bars[len(c.Bars)-room:]
		c.Note = strings.TrimSuffix("the latest only; "+strings.TrimPrefix(c.Note, "the latest only"), "; ")
	}
	lines := Wrap(Safe(c.Title), limit)
	for i, line := range lines {
		lines[i] = p.mark(bold, line)
	}
	switch note := Safe(c.Note); {
	case note == "":
	case len(lines) == 1 && width(Safe(c.Title))+len(gap)+width(note) <= limit:
		lines[0] += gap + note
	default:
		lines = append(lines, Wrap(note, limit)...)
	}
	switch {
	case c.alone():
		for _, b := range c.Bars {
			for _, line := range Wrap(b.sentence(longLabel), limit) {
				if b.Rest {
					line = p.mark(dim, line)
				}
				lines = append(lines, line)
			}
		}
		return lines
	case c.Upright:
		return append(lines, c.columns(p, limit, margin)...)
	}
	return append(lines, c.bars(p, limit, margin)...)
}

const (
	longestLabel = 32 // the most columns for the label of a bar
	longestBar   = 100
	shortestBar  = 4
)

// widest returns the width of the widest text of a bar.
func (c Chart) widest(text func(Bar) string) int {
	widest := 0
	for _, b := range c.Bars {
		widest = max(widest, width(text(b)))
	}
	return widest
}

// longest returns how many columns a label may have.
func (c Chart) longest(limit int) int {
	return min(c.widest(func(b Bar) string { return Safe(b.name()) }), longestLabel, max(limit/3, comfortable))
}

// bars draws one bar a line: the label, the bar, the amount. If a line is too wide, bars omits the unit of
// the amounts, which the title has, then the bars. Then it puts the amount below the label.
func (c Chart) bars(p painter, limit, label int) []string {
	text := c.widest(func(b Bar) string { return Safe(b.Text) })
	number := c.widest(Bar.number)
	extra := c.widest(func(b Bar) string { return Safe(b.Extra) })
	longest := c.longest(limit)
	behind := text
	if extra > 0 {
		behind += len(gap) + extra
	}
	short := limit-label-behind-2*len(gap) < shortestBar
	if short {
		behind += number - text
		text = number
	}
	full := min(limit-label-behind-2*len(gap), longestBar)
	drawn, below := full >= shortestBar, label+len(gap)+behind > limit
	var lines []string
	s := c.scale()
	for _, b := range c.Bars {
		amount := Safe(b.Text)
		if short {
			amount = b.number()
		}
		if below {
			lines = append(lines, b.label(limit))
			if b.Extra != "" {
				amount += gap + Safe(b.Extra)
			}
			for _, line := range Wrap(amount, limit-len(gap)) {
				lines = append(lines, gap+line)
			}
			continue
		}
		name := b.label(longest)
		line := name + spaces(label-width(name)) + gap
		if drawn {
			line += s.flat(p, b.drawn(), full) + gap
		}
		line += spaces(text-width(amount)) + amount
		if extra > 0 {
			line += gap + spaces(extra-width(Safe(b.Extra))) + Safe(b.Extra)
		}
		if b.Rest {
			line = p.mark(dim, strings.TrimRight(line, " "))
		}
		lines = append(lines, line)
	}
	return lines
}

// flat returns a bar in full columns. If the scale has negative amounts, zero is a line, and their bars are
// to its left.
func (s scale) flat(p painter, value *big.Int, full int) string {
	zero, left, eighths := "", 0, 8*full
	if s.least.Sign() < 0 {
		full-- // the line
		zero, eighths = "│", 8*(full-s.most.Sign())
		left = (s.part(s.least, eighths) + 7) / 8 // each side may have a partly filled column
	}
	before, after := "", blocks(s.part(value, eighths))
	if value.Sign() < 0 {
		before, after = blocksBack(s.part(value, eighths)), ""
	}
	return spaces(left-width(before)) + p.mark(blue, before) + zero + p.mark(blue, after) +
		spaces(full-left-width(after))
}

// blocks returns a bar of the given number of eighths of a column.
func blocks(eighths int) string {
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

// blocksBack returns a bar that grows to the left. Unicode has fewer characters for that.
func blocksBack(eighths int) string {
	return strings.TrimSpace(string([]rune(" ▕▕▕▐▐▐▐")[eighths%8])) + strings.Repeat("█", eighths/8)
}

const (
	columnHeight = 8
	widestColumn = 12
)

// axis returns the texts at the upper end of the axis, at zero and at its lower end, and their width. If no
// amount is below zero, least is empty.
func (c Chart) axis() (most, zero, least string, wide int) {
	zero = "0"
	most = zero
	for s, i := c.scale(), 0; i < len(c.Bars); i++ {
		switch b := c.Bars[i]; {
		case b.Value.Sign() > 0 && b.Value.Cmp(s.most) == 0:
			most = b.number()
		case b.Value.Sign() < 0 && b.Value.Cmp(s.least) == 0:
			least = b.number()
		}
	}
	return most, zero, least, max(width(most), width(zero), width(least))
}

// room returns how many columns an upright chart can have.
func (c Chart) room(limit, margin int) int { return max(limit-margin-2, 0) }

// columns draws an upright chart, with the ends of the axis to the left. The labels are below the columns,
// and so are the amounts if there is room for all of them.
func (c Chart) columns(p painter, limit, axis int) []string {
	top, zero, bottom, _ := c.axis()
	room := c.room(limit, axis)
	slot := max(min(room/max(len(c.Bars), 1), widestColumn), 1)
	thick := max(slot-1, 1)
	if slot > 6 {
		thick = slot - 2
	}
	s := c.scale()
	above, below := (s.part(s.most, 8*columnHeight)+7)/8, (s.part(s.least, 8*columnHeight)+7)/8
	if above+below == 0 {
		above = columnHeight
	}
	atAxis := func(text, line string) string { return spaces(axis-width(text)) + text + " " + line }
	// side returns the lines of the columns on one side of zero, starting at zero.
	side := func(sign, height int, shapes, end string) (lines []string) {
		for far := range height {
			text, line := "", "│"
			if far == height-1 {
				text, line = end, "┤"
			}
			for _, b := range c.Bars {
				eighths := 0
				if b.Value.Sign() == sign {
					eighths = min(max(s.part(b.Value, 8*columnHeight)-8*far, 0), 8)
				}
				part := strings.Repeat(string([]rune(shapes)[eighths]), thick)
				if eighths > 0 {
					part = p.mark(blue, part)
				}
				line += part + spaces(slot-thick)
			}
			lines = append(lines, atAxis(text, line))
		}
		return lines
	}
	lines := side(1, above, " ▁▂▃▄▅▆▇█", top)
	slices.Reverse(lines)
	corner := "┴"
	if below > 0 {
		corner = "┼"
	}
	lines = append(lines, atAxis(zero, corner+strings.Repeat("─", slot*len(c.Bars))))
	lines = append(lines, side(-1, below, " ▔▔▔▀▀▀▀█", bottom)...)
	under := spaces(axis + 2)
	lines = append(lines, under+c.below(slot, room, func(b Bar) string { return Safe(b.Label) }))
	if len(c.Bars) > 0 && c.widest(Bar.number)+len(gap) <= slot {
		lines = append(lines, under+c.below(slot, room, Bar.number))
	}
	return lines
}

// number returns the amount without its unit, which the title has.
func (b Bar) number() string {
	number, _, _ := strings.Cut(Safe(b.Text), " ")
	return number
}

// below returns texts under the columns. It omits those that have no room, but never the last.
func (c Chart) below(slot, limit int, text func(Bar) string) string {
	if len(c.Bars) == 0 {
		return ""
	}
	end := text(c.Bars[len(c.Bars)-1])
	last := max(min((len(c.Bars)-1)*slot, limit-width(end)), 0)
	line, used := "", 0
	for i, b := range c.Bars[:len(c.Bars)-1] {
		t := text(b)
		if at := i * slot; at >= used && at+width(t)+len(gap) <= last {
			line += spaces(at-width(line)) + t
			used = at + width(t) + len(gap)
		}
	}
	return line + spaces(last-width(line)) + end
}
