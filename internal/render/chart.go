package render

import (
	"bufio"
	"io"
	"math/big"
	"strings"
)

// Chart is a picture of amounts that have one unit.
type Chart struct {
	Title   string
	Note    string // beside the title, such as the sum
	Bars    []Bar
	Upright bool // columns side by side, for what follows one another in time; otherwise bars below one another
}

// Bar is one amount in a Chart.
type Bar struct {
	Label string
	Apart string   // tells it from others with the same label, and is never cut
	Value *big.Int // how long the bar is; what is less than nothing has none
	Text  string   // the amount, for reading
	Extra string   // behind it, such as the share
}

// label is the label in so many columns.
func (b Bar) label(limit int) string {
	if b.Apart == "" {
		return cut(Safe(b.Label), limit, false)
	}
	apart := " " + Safe(b.Apart)
	return cut(Safe(b.Label), max(limit-width(apart), 1), false) + apart
}

// name is all of the label.
func (b Bar) name() string {
	if b.Apart == "" {
		return b.Label
	}
	return b.Label + " " + b.Apart
}

// part is how long a bar is when the longest is full.
func (c Chart) part(b Bar, full int) int {
	most := new(big.Int)
	for _, other := range c.Bars {
		if other.Value.Cmp(most) > 0 {
			most = other.Value
		}
	}
	if b.Value.Sign() <= 0 {
		return 0
	}
	n := new(big.Int).Mul(b.Value, big.NewInt(int64(2*full)))
	n.Add(n, most).Quo(n, new(big.Int).Lsh(most, 1)) // to the nearest
	return max(int(n.Int64()), 1)                    // what is there can be seen
}

// noTerminal is how wide a chart is where there is no terminal.
const noTerminal = 80

// Charts draws charts as text, below one another. They need no colour to be read.
func Charts(w io.Writer, o Options, charts []Chart) error {
	return output(w, oneBuffer, func(out *bufio.Writer) error {
		p := newPainter(o.Color)
		lines := &lineWriter{w: out, painter: p}
		for _, c := range charts {
			drawn := c.lines(p, o.Width)
			for _, line := range append([]string{""}, drawn...) {
				if err := lines.print(line); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (c Chart) lines(p painter, limit int) []string {
	if limit <= 0 {
		limit = noTerminal
	}
	title := p.mark(bold, Safe(c.Title))
	if c.Note != "" {
		if note := Safe(c.Note); width(Safe(c.Title))+len(gap)+width(note) <= limit {
			title += gap + note
		}
	}
	if c.Upright {
		return append([]string{title}, c.columns(p, limit)...)
	}
	return append([]string{title}, c.bars(p, limit)...)
}

const (
	longestLabel = 32 // columns that the label of a bar has at most
	longestBar   = 100
	shortestBar  = 4
)

// bars draws one bar a line: the label, the bar, the amount.
func (c Chart) bars(p painter, limit int) []string {
	label, text, extra := 0, 0, 0
	for _, b := range c.Bars {
		label = max(label, width(Safe(b.name())))
		text = max(text, width(Safe(b.Text)))
		extra = max(extra, width(Safe(b.Extra)))
	}
	label = min(label, longestLabel, max(limit/3, comfortable))
	for _, b := range c.Bars {
		label = max(label, width(b.label(label)))
	}
	behind := text
	if extra > 0 {
		behind += len(gap) + extra
	}
	full := min(limit-label-behind-2*len(gap), longestBar)
	var lines []string
	for _, b := range c.Bars {
		name := b.label(label)
		line := name + strings.Repeat(" ", label-width(name)) + gap
		if full >= shortestBar {
			bar := blocks(c.part(b, 8*full))
			line += p.mark(blue, bar) + strings.Repeat(" ", full-width(bar)) + gap
		}
		line += strings.Repeat(" ", text-width(Safe(b.Text))) + Safe(b.Text)
		if extra > 0 {
			line += gap + strings.Repeat(" ", extra-width(Safe(b.Extra))) + Safe(b.Extra)
		}
		lines = append(lines, line)
	}
	return lines
}

// blocks is a bar of so many eighths of a column.
func blocks(eighths int) string {
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

const (
	columnHeight = 8
	widestColumn = 12
)

// columns draws an upright chart, with the largest amount at the axis. Under the columns are their labels, and the amounts
// where all of them have room.
func (c Chart) columns(p painter, limit int) []string {
	top, zero := c.largest(), "0"
	axis := max(width(top), width(zero))
	slot := min((limit-axis-2)/max(len(c.Bars), 1), widestColumn)
	if slot < 1 { // no room for all: the later ones
		c.Bars = c.Bars[len(c.Bars)-max(min(limit-axis-2, len(c.Bars)), 0):]
		slot = 1
	}
	thick := max(slot-1, 1)
	if slot > 6 {
		thick = slot - 2
	}
	var lines []string
	for row := columnHeight; row > 0; row-- {
		line := strings.Repeat(" ", axis) + " │"
		if row == columnHeight {
			line = strings.Repeat(" ", axis-width(top)) + top + " ┤"
		}
		for _, b := range c.Bars {
			eighths := min(max(c.part(b, 8*columnHeight)-8*(row-1), 0), 8)
			block := " "
			if eighths > 0 {
				block = string([]rune("▁▂▃▄▅▆▇█")[eighths-1])
			}
			line += p.mark(blue, strings.Repeat(block, thick)) + strings.Repeat(" ", slot-thick)
		}
		lines = append(lines, line)
	}
	lines = append(lines, strings.Repeat(" ", axis-width(zero))+zero+" ┴"+strings.Repeat("─", slot*len(c.Bars)))
	under := strings.Repeat(" ", axis+2)
	lines = append(lines, under+c.below(slot, limit-axis-2, func(b Bar) string { return Safe(b.Label) }))
	widest := 0
	for _, b := range c.Bars {
		widest = max(widest, width(b.number()))
	}
	if len(c.Bars) > 0 && widest+len(gap) <= slot {
		lines = append(lines, under+c.below(slot, limit-axis-2, Bar.number))
	}
	return lines
}

func (c Chart) largest() string {
	text, most := "0", new(big.Int)
	for _, b := range c.Bars {
		if b.Value.Cmp(most) > 0 {
			text, most = b.number(), b.Value
		}
	}
	return text
}

// number is the text of an amount without its unit, which the title has.
func (b Bar) number() string {
	number, _, _ := strings.Cut(Safe(b.Text), " ")
	return number
}

// below writes texts under the columns, leaving out those that have no room.
func (c Chart) below(slot, limit int, text func(Bar) string) string {
	line, used := "", 0
	for i, b := range c.Bars {
		t := text(b)
		if at := i * slot; at >= used && at+width(t) <= limit {
			line += strings.Repeat(" ", at-width(line)) + t
			used = at + width(t) + len(gap)
		}
	}
	return line
}
