package render

import (
	"math"
	"strings"
)

// columnLayout is one column of a table. It measures all of its cells, and after the layout shows them one by
// one.
type columnLayout struct {
	header string
	index  int  // of its cells in a row
	uncut  bool // no cell of it is cut
	filled bool // whether a cell has a text
	brief  form // formID: ids are shown in brief; formTime: times too
	width  int  // of the printed column

	letters int      // the most columns of a label in it
	shown   []string // the lines of its cell in the row that is printed

	// The widest cells. The widths of amounts and of labels are known when all of them are.
	rigid           int               // what is on one line and never cut
	texts           [formTime + 1]int // the others, by the brief forms that are used
	short           int               // the brief forms themselves
	amounts         amounts
	labels          Labels
	names           []name // the labels, when all are known
	numbers, others bool
}

// measure makes room for a cell. Amounts become blocks of equal width with aligned decimal points.
func (l *columnLayout) measure(c Cell) {
	l.numbers = l.numbers || c.numeric()
	l.others = l.others || !c.numeric() && c.kind != kindEmpty
	switch c.kind {
	case kindAmount:
		l.filled = true
		l.amounts.measure(c)
		return
	case kindLabel:
		l.filled = true
		id, label := c.label()
		l.labels.Add(id, label)
		return
	}
	text := c.short()
	l.filled = l.filled || text != "" && (c.form != formCount || c.n != 0)
	wide := Width(text)
	switch {
	case l.uncut || !c.elastic() || c.form == formWord:
		l.rigid = max(l.rigid, wide)
		return
	case !l.cuts(c) && wide > l.rigid: // it may be broken between words
		for word := range strings.SplitSeq(WrapWords(text, tight, 0), "\n") {
			l.rigid = max(l.rigid, Width(word))
		}
	}
	shortens := c.form == formID || c.form == formTime
	for brief := range l.texts {
		if shortens {
			wide = Width(c.brief(form(brief)))
		}
		l.texts[brief] = max(l.texts[brief], wide)
	}
	if shortens {
		l.short = max(l.short, wide)
	}
}

// cuts reports whether a cell may be cut.
func (l *columnLayout) cuts(c Cell) bool { return !l.uncut && c.form >= formID && c.form <= formNote }

// measured ends the measuring of the cells: the labels are known.
func (l *columnLayout) measured() {
	for label, ids := range l.labels {
		for _, id := range ids {
			n := l.labels.name(id, label)
			whole := Width(n.in(math.MaxInt))
			for brief := range l.texts {
				l.texts[brief] = max(l.texts[brief], whole)
			}
			if n.apart != "" {
				l.rigid = max(l.rigid, min(whole, leastOfLabel+1+Width(n.apart)))
			}
			l.names = append(l.names, n)
		}
	}
}

// whole returns the width of what the column never cuts.
func (l *columnLayout) whole() int { return max(l.rigid, l.amounts.width()) }

// least returns the width down to which the column is narrowed before a row takes a second line.
func (l *columnLayout) least() int {
	least := min(l.natural(), max(l.whole(), l.short, tight, Width(l.header)))
	for least < l.natural() && alike(l.names, least) {
		least++
	}
	return least
}

// settle decides where labels are cut. In more columns, some may be alike that are not in fewer.
func (l *columnLayout) settle() {
	for l.letters = l.width; l.letters > l.least() && alike(l.names, l.letters); {
		l.letters--
	}
	if l.width < l.least() { // of the terminal: a label takes more lines
		l.letters = math.MaxInt
	}
}

// natural returns the width of the column with all its texts whole.
func (l *columnLayout) natural() int { return max(l.whole(), l.texts[l.brief], Width(l.header)) }

// show returns the lines of a cell, each as wide as the column.
func (l *columnLayout) show(p painter, c Cell) (lines []string) {
	switch narrow := l.width < l.natural(); {
	case c.kind == kindAmount:
		return []string{l.pad(l.amounts.block(p, c), l.amounts.width())}
	case c.kind == kindLabel:
		lines = Wrap(l.labels.name(c.label()).in(l.letters), l.width)
	case narrow && l.cuts(c):
		lines = []string{cut(c.brief(l.brief), l.width)}
	case narrow && c.elastic():
		lines = strings.Split(WrapWords(c.short(), l.width, 0), "\n")
	default:
		lines = []string{c.brief(l.brief)}
	}
	for i, line := range lines {
		lines[i] = l.pad(p.tint(c, line), Width(line))
	}
	return lines
}

// pad fills a text of the given width up to the width of the column.
func (l *columnLayout) pad(text string, wide int) string {
	if l.numbers && !l.others { // numbers are on the right
		return spaces(l.width-wide) + text
	}
	return text + spaces(l.width-wide)
}

// amounts holds the widths of the parts of the amounts in one column: before the decimal point, from the
// decimal point on, and the unit.
type amounts struct {
	whole, fraction, unit int
}

func (a *amounts) measure(c Cell) {
	number, unit := c.amount()
	whole, _, _ := strings.Cut(number, ".")
	a.whole = max(a.whole, len(whole))
	a.fraction = max(a.fraction, len(number)-len(whole))
	a.unit = max(a.unit, Width(unit))
}

func (a amounts) width() int {
	return a.whole + a.fraction + min(a.unit, 1) + a.unit
}

func (a amounts) block(p painter, c Cell) string {
	number, unit := c.amount()
	whole, _, _ := strings.Cut(number, ".")
	block := spaces(a.whole-len(whole)) + number + spaces(a.fraction-len(number)+len(whole))
	if a.unit == 0 {
		return block
	}
	return block + " " + p.unit(c) + spaces(a.unit-Width(unit))
}

// Labels tells apart things with the same label.
type Labels map[string]map[string]string // the ids of a label's things, by what is shown of an id

// Add adds a thing. Adding it again changes nothing.
func (l Labels) Add(id, label string) {
	if l[label] == nil {
		l[label] = map[string]string{}
	}
	shown := beginningOf(id)
	if other, taken := l[label][shown]; taken && other != id {
		shown = Safe(id)
	}
	l[label][shown] = id
}

// longestID is the most columns of an id next to a label.
const longestID = 20

func beginningOf(id string) string {
	if begin, ok := beginning(id); ok {
		return begin
	}
	return cut(Safe(id), longestID)
}

// Apart returns the beginning of a thing's id if others have the same label, or if the label is empty. Else
// it returns "". Of an id that begins as the one of another such thing does, it returns all.
func (l Labels) Apart(id, label string) string {
	if label != "" && len(l[label]) < 2 {
		return ""
	}
	if shown := beginningOf(id); l[label][shown] == id || l[label][Safe(id)] != id {
		return shown
	}
	return Safe(id)
}

// name is a label and what tells it apart.
type name struct{ label, apart string }

func (l Labels) name(id, label string) name { return name{label, l.Apart(id, label)} }

// alike reports whether two different names are the same in so many columns.
func alike(names []name, limit int) bool {
	seen := map[string]name{}
	for _, n := range names {
		text := n.in(limit)
		if other, ok := seen[text]; ok && other != n {
			return true
		}
		seen[text] = n
	}
	return false
}

// in returns the name in at most limit columns. It cuts the label only.
func (n name) in(limit int) string {
	label, apart := Safe(n.label), Safe(n.apart)
	switch {
	case apart == "":
		return cut(label, limit)
	case label == "":
		return apart
	}
	return cut(label, max(limit-Width(apart)-1, 1)) + " " + apart
}
