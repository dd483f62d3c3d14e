package render

import (
	"bufio"
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

const (
	gap      = "  " // between two columns, and before what is below the first line of a row
	ellipsis = "…"

	tight        = 12 // to which a text is cut before its row takes a second line
	comfortable  = 8  // half of the fewest columns for the value of a record, and the fewest for the label of a bar
	leastOfLabel = 2  // the fewest columns of a label in front of the beginning of an id
)

// keptSize is how much memory a table may use to keep rows that it measures before it prints the first. A
// longer table, which may have no end, is laid out by these rows: a later cell that is wider sticks out.
const keptSize = 8 << 20

// table measures the rows before it prints the first. It does not keep rows that it can go through again.
func (g grid) table(out *bufio.Writer, o Options, foot grid, again bool) error {
	t := &tableWriter{out: out, options: o, painter: o.painter()}
	for i, f := range g.fields {
		l := &columnLayout{index: i, uncut: f.Whole, labels: Labels{}}
		if !o.NoHeaders {
			l.header = strings.ToUpper(strings.ReplaceAll(f.Name, "_", " "))
		}
		t.columns = append(t.columns, l)
	}
	rows := g.people(o)
	var kept, sums [][]Cell // kept: to print when the table is laid out
	count, size, laid := 0, 0, false
	broken := visit(rows, func(row []Cell) (err error) {
		if count++; laid {
			return t.row(row)
		}
		if t.measure(row); !again {
			kept, size = append(kept, slices.Clone(row)), size+sizeOf(row)
		}
		if laid = size >= keptSize; laid {
			err, kept = t.layOut(kept, false), nil
		}
		return err
	})
	if broken != nil && count == 0 {
		return broken
	}
	if broken == nil {
		visit(foot.people(o), func(row []Cell) error {
			sums = append(sums, slices.Clone(row))
			t.measure(row)
			return nil
		})
	}
	var err error
	if !laid {
		err = t.layOut(kept, count > 0)
	}
	if err == nil && again {
		err = visit(rows, t.row) // which ends with the same error, if any
	}
	if err == nil && len(sums) > 0 {
		err = t.foot(sums)
	}
	return cmp.Or(err, t.flush(), broken)
}

// visit calls a function for each row, until there is an error.
func visit(rows iter.Seq2[[]Cell, error], do func([]Cell) error) error {
	for row, err := range rows {
		if err == nil {
			err = do(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sizeOf returns the approximate memory of a row.
func sizeOf(row []Cell) (size int) {
	for _, c := range row {
		size += 80 + len(c.text) + 64*len(c.steps)
	}
	return size
}

// tableWriter measures rows and then prints them as a table. It gives tablewriter parts that are as wide as
// the whole table, so that a long table is never in memory as a whole.
type tableWriter struct {
	out     *bufio.Writer
	options Options
	painter painter
	columns []*columnLayout
	lines   [][]*columnLayout // the columns on each line of a row
	part    []string          // lines that are not printed yet
}

// partRows is how many rows of a table are laid out together.
const partRows = 200

func (t *tableWriter) measure(row []Cell) {
	for _, l := range t.columns {
		l.measure(row[l.index])
	}
}

// layOut ends the measuring. It decides the widths of the columns, and prints the header and the kept rows. If
// all rows are measured, it leaves out the columns that are empty.
func (t *tableWriter) layOut(kept [][]Cell, all bool) error {
	for _, l := range t.columns {
		l.measured()
	}
	if all && t.options.Width > 0 && len(t.options.Columns) == 0 {
		t.columns = slices.DeleteFunc(t.columns, func(l *columnLayout) bool { return !l.filled && l.index > 0 })
	}
	t.fit()
	for _, l := range t.columns {
		l.settle()
	}
	for i := range t.lines {
		header := t.line(i, func(l *columnLayout) string {
			return l.pad(t.painter.mark(Bold, l.header), Width(l.header))
		})
		if !t.options.NoHeaders {
			t.part = append(t.part, header)
		}
	}
	for _, row := range kept {
		if err := t.row(row); err != nil {
			return err
		}
	}
	return nil
}

// fit decides what is cut and how many lines a row takes, in the order that the package documentation states.
func (t *tableWriter) fit() {
	for _, brief := range []form{formPlain, formID, formTime} {
		for _, l := range t.columns {
			l.brief = brief
			l.width = l.natural()
		}
		if t.pack(); len(t.lines) == 1 && t.room(t.lines[0]) >= 0 {
			return
		}
	}
	for _, l := range t.columns {
		l.width = l.least()
	}
	t.pack()
	for _, line := range t.lines {
		for room := t.room(line); room > 0; room-- {
			narrowed := slices.DeleteFunc(slices.Clone(line), func(l *columnLayout) bool { return l.width == l.natural() })
			if len(narrowed) == 0 {
				break
			}
			slices.MinFunc(narrowed, func(a, b *columnLayout) int { return a.width - b.width }).width++
		}
		if room := t.room(line); room < 0 {
			line[0].width = max(line[0].width+room, 1)
		}
	}
}

// pack puts the columns on as many lines as they take.
func (t *tableWriter) pack() {
	t.lines = nil
	for _, l := range t.columns {
		last := len(t.lines) - 1
		if last < 0 || t.room(t.lines[last]) < l.width+len(gap) {
			t.lines = append(t.lines, nil)
			last++
		}
		t.lines[last] = append(t.lines[last], l)
	}
}

// room returns how many columns of the terminal a line leaves.
func (t *tableWriter) room(line []*columnLayout) int {
	if t.options.Width <= 0 {
		return math.MaxInt
	}
	room := t.options.Width + len(gap)
	for _, l := range line {
		room -= l.width + len(gap)
	}
	if len(t.lines) > 0 && line[0] != t.lines[0][0] {
		room -= len(gap)
	}
	return room
}

// row adds the lines of a row. Lines without any text are left out, except the first.
func (t *tableWriter) row(row []Cell) error {
	for i, line := range t.lines {
		height := 1
		for _, l := range line {
			l.shown = l.show(t.painter, row[l.index])
			height = max(height, len(l.shown))
		}
		for n := range height {
			text := t.line(i, func(l *columnLayout) string {
				if n < len(l.shown) {
					return l.shown[n]
				}
				return spaces(l.width)
			})
			if i > 0 && strings.TrimSpace(text) == "" {
				continue
			}
			if err := t.add(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// foot prints rows below a rule.
func (t *tableWriter) foot(rows [][]Cell) error {
	err := t.add(t.line(0, func(l *columnLayout) string {
		return t.painter.mark(Dim, strings.Repeat("─", l.width))
	}))
	for _, row := range rows {
		err = cmp.Or(err, t.row(row))
	}
	return err
}

// add adds a line to the part, and prints the part if it is large enough.
func (t *tableWriter) add(line string) error {
	t.part = append(t.part, line)
	if len(t.part) < partRows {
		return nil
	}
	return t.flush()
}

// indent returns what is before a line of a row.
func (t *tableWriter) indent(line int) string { return strings.Repeat(gap, min(line, 1)) }

// line returns a line of a row, with the gaps between the cells.
func (t *tableWriter) line(i int, text func(*columnLayout) string) string {
	var cells []string
	for _, l := range t.lines[i] {
		cells = append(cells, text(l))
	}
	return t.indent(i) + strings.Join(cells, gap)
}

// flush prints a part. tablewriter draws no lines and does not change the
// lines, which are cells of one column.
func (t *tableWriter) flush() error {
	if len(t.part) == 0 {
		return nil
	}
	twwidth.SetCondition(characters()) // forgets the texts of earlier parts
	table := tablewriter.NewTable(lineWriter{t.out},
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithPadding(tw.Padding{Overwrite: true}),
		tablewriter.WithTrimSpace(tw.Off),
	)
	err := table.Bulk(t.part)
	if err == nil {
		err = table.Render()
	}
	if err == nil {
		_, err = t.out.Write(nil) // tablewriter ignores the errors of lineWriter
	}
	t.part = nil
	return unwritable(err)
}

// upright is how one thing is printed: a line for each property and a line for each step of a history. It cuts
// nothing: a long text continues on the next line, and what is to be copied has a line of its own.
type upright struct {
	painter painter
	room    int  // of the terminal; 0: no limit
	left    int  // the columns before a value
	stacked bool // whether values are below their labels
}

func (g grid) upright(out *bufio.Writer, o Options) error {
	u := upright{painter: o.painter(), room: o.Width}
	labels := make([]string, len(g.fields))
	for i, f := range g.fields {
		if !o.NoHeaders {
			labels[i] = strings.ReplaceAll(f.Name, "_", " ")
			u.left = max(u.left, Width(labels[i])+len(gap))
		}
	}
	if u.room > 0 && u.room-u.left < 2*comfortable && !o.NoHeaders { // no room next to the labels
		u.stacked, u.left = true, len(gap)
	}
	return visit(g.people(o), func(row []Cell) error {
		for i, c := range row {
			for _, line := range u.lines(labels[i], c, g.fields[i].Whole) {
				lineWriter{out}.print(line) // out keeps its first error
			}
		}
		return nil
	})
}

// lines returns the lines of one property.
func (u upright) lines(label string, c Cell, whole bool) (lines []string) {
	before, indent := u.painter.mark(Bold, label)+spaces(u.left-Width(label)), spaces(u.left)
	if u.stacked {
		lines, before = u.painter.wrap(Bold, label, u.room), indent
	}
	values, text := u.values(c), c.short()
	if one := whole || c.form == formID || c.form == formWord; one && len(values) > 1 && !strings.Contains(text, " ") {
		indent = spaces(min(u.left, u.room-Width(text)))
		if values = []string{"", text}; u.stacked {
			values, before = values[1:], indent
		}
	}
	for _, value := range values {
		lines = append(lines, before+value)
		before = indent
	}
	return lines
}

// values returns a whole value, on as many lines as it takes.
func (u upright) values(c Cell) (lines []string) {
	limit := 0
	if u.room > 0 {
		limit = max(u.room-u.left, 1)
	}
	switch {
	case c.kind == kindAmount:
		number, _ := c.amount()
		return []string{strings.TrimSuffix(number+" "+u.painter.unit(c), " ")}
	case c.numeric() || c.form == formBool:
		return []string{u.painter.tint(c, c.short())}
	case c.kind != kindHistory || len(c.steps) == 0:
		return Wrap(c.short(), limit)
	}
	status := 0
	for _, s := range c.steps {
		status = max(status, Width(Safe(s.Status)))
	}
	for _, s := range c.steps {
		line := Safe(s.Status) + spaces(status-Width(Safe(s.Status))) + gap + Safe(s.At)
		lines = append(lines, Wrap(strings.TrimRight(line, " "), limit)...)
	}
	return lines
}

// lineWriter drops the spaces at the end of each line. tablewriter writes one line at a time.
type lineWriter struct{ w *bufio.Writer }

func (l lineWriter) Write(p []byte) (int, error) {
	return len(p), l.print(strings.TrimSuffix(string(p), "\n"))
}

func (l lineWriter) print(line string) error {
	_, err := l.w.WriteString(strings.TrimRight(line, " ") + "\n")
	return err
}

// spaces returns n spaces, or none if n is negative: a cell may be wider now than when it was measured.
func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }
