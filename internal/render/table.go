package render

import (
	"bufio"
	"cmp"
	"io"
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
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

// listTable measures the rows before it prints the first. It does not keep rows that it can go through again.
func (b bound) listTable(out *bufio.Writer, o Options, rows iter.Seq[error]) error {
	columns := b.pick(o.Columns, func(c column) bool { return !c.extra })
	t := &tableWriter{out: out, options: o, painter: newPainter(o.Color), names: names(columns)}
	for i, c := range columns {
		t.columns = append(t.columns, &columnLayout{
			header: strings.ToUpper(strings.ReplaceAll(c.name, "_", " ")), column: i, whole: c.whole, labels: Labels{},
		})
	}
	count := 0
	rowSource := func(take func(row []Cell) error) error {
		for err := range rows {
			if err == nil {
				count++
				err = take(cells(columns))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	first := t.keep
	if b.again {
		first = t.measure
	}
	broken := rowSource(first)
	if broken != nil && count == 0 {
		return broken
	}
	var foot [][]Cell
	if broken == nil {
		for range b.foot {
			foot = append(foot, cells(columns))
			t.measure(foot[len(foot)-1])
		}
	}
	err := t.layOut()
	if err == nil && b.again {
		err = rowSource(t.row) // which ends with the same error, if any
	}
	if err == nil && len(foot) > 0 {
		err = t.foot(foot)
	}
	return cmp.Or(err, t.end(), broken)
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

func (b bound) oneTable(out *bufio.Writer, o Options, rows iter.Seq[error]) error {
	columns := b.pick(o.Columns, func(c column) bool { return !c.extra || c.detail })
	for err := range rows {
		if err == nil {
			err = writeUpright(out, newPainter(o.Color), names(columns), cells(columns), o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cells returns the cells of the current row.
func cells(columns []column) []Cell {
	row := make([]Cell, len(columns))
	for i, c := range columns {
		row[i] = c.cell()
	}
	for i, c := range columns {
		if c.codeIn != "" {
			code := slices.IndexFunc(columns, func(other column) bool { return other.name == c.codeIn })
			row[i].bare = code >= 0 && row[code].text == row[i].text
		}
	}
	return row
}

func names(columns []column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.name
	}
	return all
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
	for _, l := range t.columns {
		l.measure(row[l.column])
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
	t.kept, t.size = append(t.kept, row), t.size+sizeOf(row)
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
		for _, l := range t.columns {
			whole[l.column] = l.apart(row[l.column])
		}
		return writeUpright(t.out, t.painter, t.names, whole, t.options)
	}
	return t.line(func(l *columnLayout) string { return l.show(t.painter, row[l.column]) })
}

// foot prints rows below a rule.
func (t *tableWriter) foot(rows [][]Cell) error {
	var err error
	if !t.upright {
		err = t.line(func(l *columnLayout) string { return t.painter.mark(dim, strings.Repeat("─", l.width)) })
	}
	for _, row := range rows {
		err = cmp.Or(err, t.row(row))
	}
	return err
}

// line adds a line to the part.
func (t *tableWriter) line(text func(*columnLayout) string) error {
	t.part = append(t.part, t.cells(text))
	if len(t.part) < partRows {
		return nil
	}
	return t.flush()
}

// cells returns the cells of a line, with the gaps between them.
func (t *tableWriter) cells(text func(*columnLayout) string) []string {
	cells := make([]string, len(t.columns)) // a new slice, because tablewriter keeps it
	for i, l := range t.columns {
		if cells[i] = text(l); i < len(cells)-1 {
			cells[i] += gap
		}
	}
	return cells
}

// flush prints a part. Only the first part has a header.
func (t *tableWriter) flush() error {
	table := newTable(lineWriter{t.out, t.painter})
	if !t.begun && !t.options.NoHeaders {
		table.Header(t.cells(func(l *columnLayout) string {
			name := cut(l.header, l.width, false)
			return l.pad(t.painter.mark(bold, name), width(name))
		}))
	}
	t.begun = true
	for _, cells := range t.part {
		if err := table.Append(cells); err != nil {
			return unwritable(err)
		}
	}
	t.part = t.part[:0]
	if err := table.Render(); err != nil {
		return unwritable(err)
	}
	// tablewriter ignores write errors while it renders: return the one that occurred
	_, err := t.out.Write(nil)
	return unwritable(err)
}

func (t *tableWriter) end() error {
	if t.upright || t.begun && len(t.part) == 0 { // a table without rows is only its header
		return nil
	}
	return t.flush()
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
	lines := lineWriter{out, p}
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

// newTable returns a tablewriter that draws no lines and does not change its cells, which have the width of their
// column.
func newTable(out io.Writer) *tablewriter.Table {
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Overwrite: true}},
	}
	twwidth.SetCondition(characters()) // and forget the texts of earlier parts
	return tablewriter.NewTable(out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Lines:      tw.LinesNone,
				Separators: tw.SeparatorsNone,
			},
		})),
		tablewriter.WithHeaderConfig(cell),
		tablewriter.WithRowConfig(cell),
		tablewriter.WithTrimSpace(tw.Off),
	)
}

// filler is a character of one column that no cell has, because Safe shows it in another way.
const filler = "\ufff0"

// lineWriter finishes the lines of a table: it drops the filler and the spaces at their end, and puts colour where the
// painter marked it. tablewriter writes one line at a time and ignores errors: the buffer below keeps them.
type lineWriter struct {
	w       io.Writer
	painter painter
}

func (l lineWriter) Write(p []byte) (int, error) {
	return len(p), l.print(strings.TrimSuffix(strings.ReplaceAll(string(p), filler, ""), "\n"))
}

func (l lineWriter) print(line string) error {
	_, err := io.WriteString(l.w, l.painter.paint(strings.TrimRight(line, " "))+"\n")
	return err
}

// spaces returns n spaces, or none if n is negative: a cell may be wider now than when it was measured.
func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// painter adds colour to cells with a meaning: headers and labels are bold, the word minor is dim, true and
// growth are green, false and decline are red, and the bars of a chart are blue. During the layout, control
// characters mark the coloured text, because tablewriter adds to the escape sequences of a terminal. They
// take no room, and they do not occur elsewhere, because all text is escaped. A nil painter adds no colour.
type painter map[rune]lipgloss.Style

const (
	bold rune = iota + 1
	dim
	green
	red
	blue
	end
)

func newPainter(color bool) painter {
	if !color {
		return nil
	}
	// The profile and the background are set, so that termenv does not query the terminal.
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	return painter{
		bold:  r.NewStyle().Bold(true),
		dim:   r.NewStyle().Faint(true),
		green: r.NewStyle().Foreground(lipgloss.Color("2")),
		red:   r.NewStyle().Foreground(lipgloss.Color("1")),
		blue:  r.NewStyle().Foreground(lipgloss.Color("4")),
	}
}

func (p painter) mark(style rune, s string) string {
	if p == nil || s == "" {
		return s
	}
	return string(style) + s + string(end)
}

// paint replaces the marks in a line.
func (p painter) paint(line string) string {
	if p == nil {
		return line
	}
	var b strings.Builder
	for {
		from := strings.IndexFunc(line, func(r rune) bool { return r < end })
		if from < 0 {
			return b.String() + line
		}
		text, rest, _ := strings.Cut(line[from+1:], string(end))
		b.WriteString(line[:from] + p[rune(line[from])].Render(text))
		line = rest
	}
}

// tint colours the text of a cell by its value.
func (p painter) tint(c Cell, text string) string {
	switch {
	case c.kind == kindBool && c.n != 0, c.signed && c.sign() > 0:
		return p.mark(green, text)
	case c.kind == kindBool, c.signed && c.sign() < 0:
		return p.mark(red, text)
	}
	return text
}

func (p painter) unit(c Cell) string {
	_, unit := c.amount()
	if c.decimals >= 0 {
		return unit
	}
	return p.mark(dim, minorWord) + strings.TrimPrefix(unit, minorWord)
}

func (p painter) amount(c Cell) string {
	number, _ := c.amount()
	return strings.TrimSuffix(number+" "+p.unit(c), " ")
}
