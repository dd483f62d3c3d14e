package render

import (
	"bufio"
	"cmp"
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

const (
	gap      = "  " // between two columns
	ellipsis = "…"

	// A column with texts is narrowed to these widths, one after the other: see fit.
	roomy    = 32
	tight    = 12
	bearable = 5 // which cuts headers too

	comfortable  = 8  // the fewest columns for the label of a bar, and half of those for the value of a record
	longestWord  = 20 // the most columns of a Word that is never cut
	leastOfLabel = 2  // the fewest columns of a label in front of the beginning of an id
)

// keptSize is how much memory a table may use to keep rows that it measures before it prints the first. A
// longer table, which may have no end, is laid out by these rows: a later cell that is wider sticks out.
const keptSize = 8 << 20

// table measures the rows before it prints the first. It does not keep rows that it can go through again.
func (g grid) table(out *bufio.Writer, o Options, foot grid, again bool) error {
	t := &tableWriter{out: out, options: o, painter: o.painter(), names: g.names()}
	for _, f := range g.fields {
		t.columns = append(t.columns, &columnLayout{
			header: strings.ToUpper(strings.ReplaceAll(f.name, "_", " ")), whole: f.whole, labels: Labels{},
		})
	}
	rows, take := g.people(), t.keep
	if again {
		take = t.measure
	}
	count := 0
	broken := visit(rows, func(row []Cell) error {
		count++
		return take(row)
	})
	if broken != nil && count == 0 {
		return broken
	}
	var sums [][]Cell
	if broken == nil {
		visit(foot.people(), func(row []Cell) error {
			sums = append(sums, slices.Clone(row))
			return t.measure(row)
		})
	}
	err := t.layOut()
	if err == nil && again {
		err = visit(rows, t.row) // which ends with the same error, if any
	}
	if err == nil && len(sums) > 0 {
		err = t.foot(sums)
	}
	return cmp.Or(err, t.end(), broken)
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
func sizeOf(row []Cell) int {
	size := len(row) * int(unsafe.Sizeof(Cell{}))
	for _, c := range row {
		size += len(c.text)
		for _, s := range c.steps {
			size += int(unsafe.Sizeof(s)) + len(s.Status) + len(s.At)
		}
	}
	return size
}

// tableWriter measures rows and then prints them as a table. It gives tablewriter parts that are as wide as
// the whole table, so that a long table is never in memory as a whole.
type tableWriter struct {
	out     *bufio.Writer
	options Options
	painter painter
	names   []string
	columns []*columnLayout

	kept [][]Cell // rows to print when the table is laid out
	size int      // of kept
	laid bool

	upright bool // the terminal is too narrow: the rows are printed one below the other
	rows    int
	part    [][]string // the cells of rows that are not printed yet
	begun   bool
}

// partRows is how many rows of a table are laid out together.
const partRows = 200

func (t *tableWriter) measure(row []Cell) error {
	for i, l := range t.columns {
		l.measure(row[i])
	}
	return nil
}

// keep measures a row and keeps it until there are enough rows to lay out the table. It prints later rows at
// once.
func (t *tableWriter) keep(row []Cell) error {
	if t.laid {
		return t.row(row)
	}
	t.measure(row)
	t.kept, t.size = append(t.kept, slices.Clone(row)), t.size+sizeOf(row)
	if t.size < keptSize {
		return nil
	}
	return t.layOut()
}

// layOut ends the measuring. It decides the widths of the columns, and prints the kept rows.
func (t *tableWriter) layOut() error {
	if t.laid {
		return nil
	}
	t.laid = true
	for _, l := range t.columns {
		l.measured(!t.options.NoHeaders)
	}
	t.upright = !t.fit()
	for _, row := range t.kept {
		if err := t.row(row); err != nil {
			return err
		}
	}
	t.kept = nil
	return nil
}

// excess returns by how much the columns are wider than the terminal, if there is one.
func (t *tableWriter) excess() int {
	if t.options.Width <= 0 {
		return 0
	}
	excess := len(gap)*(len(t.columns)-1) - t.options.Width
	for _, l := range t.columns {
		excess += l.width
	}
	return excess
}

// fit decides the widths of the columns, in the order that the package documentation states. It reports
// whether the table is no wider than the terminal.
func (t *tableWriter) fit() bool {
	if t.narrow(roomy) {
		return true
	}
	columns := slices.Clone(t.columns)
	slices.Reverse(columns)
	slices.SortStableFunc(columns, func(a, b *columnLayout) int { return b.long - a.long })
	for _, l := range columns {
		if l.long > l.short {
			l.brief = true
			if t.narrow(roomy) {
				return true
			}
		}
	}
	if t.narrow(tight) {
		return true
	}
	for _, l := range columns {
		l.amounts.loose = true
	}
	return t.narrow(tight) || t.narrow(bearable)
}

// narrow gives the columns the widths of their cells, and then narrows those with texts, the widest first,
// until the table is no wider than the terminal. No text gets fewer columns than limit. Unless the limit is
// bearable, no header is cut.
func (t *tableWriter) narrow(limit int) bool {
	floors := make([]int, len(t.columns))
	for i, l := range t.columns {
		l.width = max(l.least(), l.text, width(l.header))
		floors[i] = max(l.least(), limit)
		if limit > bearable {
			floors[i] = max(floors[i], width(l.header))
		}
	}
	for excess := t.excess(); excess > 0; excess-- {
		var widest *columnLayout
		for i, l := range t.columns {
			if l.width > floors[i] && (widest == nil || l.width > widest.width) {
				widest = l
			}
		}
		if widest == nil {
			return false
		}
		widest.width--
	}
	return true
}

func (t *tableWriter) row(row []Cell) error {
	if t.upright {
		if t.rows++; t.rows > 1 {
			t.out.WriteByte('\n')
		}
		whole := slices.Clone(row)
		for i, l := range t.columns {
			whole[i] = l.apart(row[i])
		}
		return writeUpright(t.out, t.painter, t.names, whole, t.options)
	}
	return t.line(func(i int, l *columnLayout) string { return l.show(t.painter, row[i]) })
}

// foot prints rows below a rule.
func (t *tableWriter) foot(rows [][]Cell) error {
	var err error
	if !t.upright {
		err = t.line(func(_ int, l *columnLayout) string { return t.painter.mark(dim, strings.Repeat("─", l.width)) })
	}
	for _, row := range rows {
		err = cmp.Or(err, t.row(row))
	}
	return err
}

// line adds a line to the part, and prints the part if it is large enough.
func (t *tableWriter) line(text func(int, *columnLayout) string) error {
	t.part = append(t.part, t.cells(text))
	if len(t.part) < partRows {
		return nil
	}
	return t.flush()
}

// cells returns the cells of a line, with the gaps between them.
func (t *tableWriter) cells(text func(int, *columnLayout) string) []string {
	cells := make([]string, len(t.columns))
	for i, l := range t.columns {
		if cells[i] = text(i, l); i < len(cells)-1 {
			cells[i] += gap
		}
	}
	return cells
}

// flush prints a part. Only the first part has a header. tablewriter draws no lines and does not change the
// cells, which have the width of their column.
func (t *tableWriter) flush() error {
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Overwrite: true}},
	}
	twwidth.SetCondition(characters()) // and forget the texts of earlier parts
	table := tablewriter.NewTable(lineWriter{t.out},
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithHeaderConfig(cell),
		tablewriter.WithRowConfig(cell),
		tablewriter.WithTrimSpace(tw.Off),
	)
	if !t.begun && !t.options.NoHeaders {
		table.Header(t.cells(func(_ int, l *columnLayout) string {
			name := cut(l.header, l.width, false)
			return l.pad(t.painter.mark(bold, name), width(name))
		}))
	}
	t.begun = true
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

func (t *tableWriter) end() error {
	if t.upright || t.begun && len(t.part) == 0 { // a table without rows is only its header
		return nil
	}
	return t.flush()
}

// upright prints one thing, a line for each field.
func (g grid) upright(out *bufio.Writer, o Options) error {
	return visit(g.people(), func(row []Cell) error { return writeUpright(out, o.painter(), g.names(), row, o) })
}

// writeUpright prints one thing, a line for each property and a line for each step of a history. It cuts
// nothing: a long value continues on the next line.
func writeUpright(out *bufio.Writer, p painter, names []string, row []Cell, o Options) error {
	labels := make([]string, len(names))
	left := 0
	for i, name := range names {
		labels[i] = strings.ReplaceAll(name, "_", " ")
		left = max(left, width(labels[i]))
	}
	if o.NoHeaders {
		left = -len(gap)
	}
	right := 0 // the most columns for a value; 0: no limit
	stacked := false
	if o.Width > 0 {
		right = o.Width - left - len(gap)
		if right < 2*comfortable && !o.NoHeaders { // no room next to the labels: put the values below them
			stacked, right = true, max(o.Width-len(gap), 1)
		}
	}
	lines := lineWriter{out}
	for i, c := range row {
		before, indent := "", ""
		switch {
		case stacked:
			for _, part := range Wrap(labels[i], o.Width) {
				if err := lines.print(p.mark(bold, part)); err != nil {
					return err
				}
			}
			before, indent = gap, gap
		case !o.NoHeaders:
			before, indent = p.mark(bold, labels[i])+spaces(left-width(labels[i]))+gap, spaces(left)+gap
		}
		values := valueLines(p, c, right)
		if wide := width(c.short()); c.form == formID && len(values) > 1 && wide <= o.Width {
			// to be copied, it has a line of its own
			values = []string{"", c.short()}
			indent = spaces(min(width(indent), o.Width-wide))
			if stacked {
				values, before = values[1:], indent
			}
		}
		for _, line := range values {
			if err := lines.print(before + line); err != nil {
				return err
			}
			before = indent
		}
	}
	return nil
}

// valueLines returns a whole value, on as many lines as it takes.
func valueLines(p painter, c Cell, limit int) []string {
	switch c.kind {
	case kindAmount:
		return []string{p.amount(c)}
	case kindBool, kindPercent, kindInt:
		return []string{p.tint(c, c.short())}
	case kindHistory:
		if len(c.steps) == 0 {
			return []string{""}
		}
		status := 0
		for _, s := range c.steps {
			status = max(status, width(Safe(s.Status)))
		}
		var lines []string
		for _, s := range c.steps {
			line := Safe(s.Status) + spaces(status-width(Safe(s.Status))) + gap + Safe(s.At)
			lines = append(lines, Wrap(strings.TrimRight(line, " "), limit)...)
		}
		return lines
	}
	return Wrap(c.short(), limit)
}

// filler is a character of one column that no cell has, because Safe shows it in another way.
const filler = "\ufff0"

// lineWriter drops the filler and the spaces at the end of each line. tablewriter writes one line at a time.
type lineWriter struct{ w *bufio.Writer }

func (l lineWriter) Write(p []byte) (int, error) {
	return len(p), l.print(strings.TrimSuffix(strings.ReplaceAll(string(p), filler, ""), "\n"))
}

func (l lineWriter) print(line string) error {
	_, err := l.w.WriteString(strings.TrimRight(line, " ") + "\n")
	return err
}

// spaces returns n spaces, or none if n is negative: a cell may be wider now than when it was measured.
func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }
