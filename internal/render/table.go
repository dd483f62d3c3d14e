package render

import (
	"bufio"
	"cmp"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

	// A column of text is cut down to its header or to comfortable before the
	// headers are touched, and to bearable after that. A terminal that is too
	// narrow even then gets the rows upright, one below the other.
	comfortable = 8
	bearable    = 5
)

// keptSize is how much memory the rows of a table may take that are kept to measure them before the first is printed. A
// table that is longer, and may have no end, is laid out by these rows: a later cell that is wider sticks out.
const keptSize = 8 << 20

// listTable measures the rows before it prints the first. Rows that can be gone through again are not kept for that.
func (v View[T]) listTable(out *bufio.Writer, o Options, items iter.Seq2[T, error]) error {
	columns := v.pick(o.Columns, func(c Column[T]) bool { return !c.Extra })
	eachRow := func(row func([]Cell) error) error {
		for item, err := range items {
			if err == nil {
				err = row(cells(columns, item))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	grid := make([]*stripe, len(columns))
	for i, c := range columns {
		grid[i] = newStripe(c.Name, i)
	}
	var kept [][]Cell
	var t printer // once the table is laid out
	begin := func() error {
		t = v.layOut(out, o, columns, grid)
		for _, row := range kept {
			if err := t.row(row); err != nil {
				return err
			}
		}
		kept = nil
		return nil
	}
	body, size := 0, 0
	broken := eachRow(func(row []Cell) error {
		body++
		if t != nil {
			return t.row(row)
		}
		measure(grid, row)
		if v.Again {
			return nil
		}
		kept, size = append(kept, row), size+sizeOf(row)
		if size < keptSize {
			return nil
		}
		return begin()
	})
	if broken != nil && body == 0 {
		return broken
	}
	var foot [][]Cell
	if broken == nil {
		for _, item := range v.Foot {
			foot = append(foot, cells(columns, item))
			measure(grid, foot[len(foot)-1])
		}
	}
	var err error
	if t == nil {
		err = begin()
		if err == nil && v.Again {
			err = eachRow(t.row) // which ends with broken once more
		}
	}
	if err == nil && len(foot) > 0 {
		err = t.foot(foot)
	}
	return cmp.Or(err, t.end(), broken)
}

// layOut ends the measuring: it decides how wide the columns are, and returns what prints the rows.
func (v View[T]) layOut(out *bufio.Writer, o Options, columns []Column[T], grid []*stripe) printer {
	for i, c := range columns {
		grid[i].lay(o.NoHeaders)
		grid[i].elastic = grid[i].elastic && !c.Whole
		grid[i].wide = c.Wide && len(o.Columns) == 0
	}
	p := newPainter(o.Color)
	grid = dropWide(slices.Clone(grid), o.Width)
	if !fit(grid, o.Width) {
		return &uprightPrinter{out: out, painter: p, names: names(columns), options: o}
	}
	return &gridPrinter{out: out, painter: p, grid: grid, bare: o.NoHeaders}
}

func measure(grid []*stripe, row []Cell) {
	for i, s := range grid {
		s.measure(row[i])
	}
}

// sizeOf is about how much memory a row takes.
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

func (v View[T]) oneTable(out *bufio.Writer, o Options, item T) error {
	columns := v.pick(o.Columns, func(c Column[T]) bool { return !c.Extra || c.Detail })
	return writeUpright(out, newPainter(o.Color), names(columns), cells(columns, item), o)
}

func cells[T any](columns []Column[T], item T) []Cell {
	row := make([]Cell, len(columns))
	for i, c := range columns {
		row[i] = c.Cell(item)
		row[i].bare = c.CodeIn != "" && slices.ContainsFunc(columns, func(other Column[T]) bool { return other.Name == c.CodeIn })
	}
	return row
}

func names[T any](columns []Column[T]) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.Name
	}
	return all
}

// stripe is one column of a table. It has seen all of its cells when it is laid out, and shows them one by one.
type stripe struct {
	header  string
	column  int // its place in a row
	right   bool
	width   int // as wide as this it is printed
	content int // the widest cell
	elastic bool
	wide    bool // left out where it does not fit

	amounts         amounts
	numbers, others bool
}

func newStripe(name string, column int) *stripe {
	return &stripe{header: strings.ToUpper(strings.ReplaceAll(name, "_", " ")), column: column}
}

// measure makes room for a cell. Amounts become blocks of equal width with the
// decimal points below each other.
func (s *stripe) measure(c Cell) {
	if c.kind == kindAmount {
		s.amounts.measure(c)
	} else {
		s.content = max(s.content, width(c.short()))
	}
	s.numbers = s.numbers || c.numeric()
	s.others = s.others || !c.numeric() && c.kind != kindEmpty
	s.elastic = s.elastic || c.elastic() && c.short() != ""
}

// lay is called when all cells were measured.
func (s *stripe) lay(bare bool) {
	s.content = max(s.content, s.amounts.width())
	s.right = s.numbers && !s.others
	// A number between texts keeps the whole column from being cut.
	s.elastic = s.elastic && !s.numbers
	s.width = s.content
	if !bare {
		s.width = max(s.width, width(s.header))
	}
}

// show returns a cell as wide as the column.
func (s *stripe) show(p painter, c Cell) string {
	var text string
	var wide int
	switch c.kind {
	case kindAmount:
		text, wide = s.amounts.block(p, c), s.amounts.width()
	case kindPercent:
		text, wide = p.percent(c), width(c.short())
	case kindBool:
		text, wide = p.truth(c), width(c.short())
	default:
		text = c.short()
		if s.elastic {
			text = cut(text, s.width, true)
		}
		wide = width(text)
	}
	space := spaces(s.width - wide)
	if s.right {
		return space + text
	}
	return text + space
}

// dropWide leaves out, from the right, the columns that are only for wide terminals, until the others have room.
func dropWide(grid []*stripe, limit int) []*stripe {
	for i := len(grid) - 1; i >= 0 && limit > 0 && overhang(grid, limit) > 0; i-- {
		if grid[i].wide {
			grid = slices.Delete(grid, i, i+1)
		}
	}
	return grid
}

// overhang is by how much the columns are wider than limit.
func overhang(grid []*stripe, limit int) int {
	excess := len(gap)*(len(grid)-1) - limit
	for _, s := range grid {
		excess += s.width
	}
	return excess
}

// fit narrows the columns until the table is no wider than limit, the widest
// first. It reports whether it could; a limit of 0 is none.
func fit(grid []*stripe, limit int) bool {
	if limit <= 0 {
		return true
	}
	excess := overhang(grid, limit)
	narrow := func(floor func(*stripe) int) {
		for ; excess > 0; excess-- {
			var widest *stripe
			for _, s := range grid {
				if s.width > floor(s) && (widest == nil || s.width > widest.width) {
					widest = s
				}
			}
			if widest == nil {
				return
			}
			widest.width--
		}
	}
	narrow(func(s *stripe) int {
		if !s.elastic {
			return s.width
		}
		return max(width(s.header), comfortable)
	})
	narrow(func(s *stripe) int {
		if !s.elastic {
			return max(s.content, min(bearable, width(s.header)))
		}
		return bearable
	})
	return excess <= 0
}

// printer prints the rows of a table that was measured.
type printer interface {
	row([]Cell) error
	foot(rows [][]Cell) error // below a rule
	end() error
}

// gridPrinter prints rows as a table. It gives them to tablewriter in parts, each
// of which has the whole width of the columns, so that a long table is never in
// memory as a whole.
type gridPrinter struct {
	out     *bufio.Writer
	painter painter
	grid    []*stripe
	bare    bool

	table *tablewriter.Table // the part that is being filled; nil: none was begun
	parts int
	rows  int // in the part
}

// partRows is how many rows of a table are laid out together.
const partRows = 200

// begin begins a part, of which only the first has a header.
func (g *gridPrinter) begin() {
	aligns := make([]tw.Align, len(g.grid))
	header := make([]string, len(g.grid))
	for i, s := range g.grid {
		aligns[i] = tw.AlignLeft
		if s.right {
			aligns[i] = tw.AlignRight
		}
		header[i] = g.painter.mark(bold, cut(s.header, s.width, false))
	}
	g.table, g.rows = newTable(&lineWriter{w: g.out, painter: g.painter}, aligns), 0
	if g.parts++; g.parts == 1 && !g.bare {
		g.table.Header(header)
	}
}

func (g *gridPrinter) append(cells []string) error {
	if g.table == nil {
		g.begin()
	}
	if err := g.table.Append(cells); err != nil {
		return unwritable(err)
	}
	if g.rows++; g.rows < partRows {
		return nil
	}
	return g.render()
}

func (g *gridPrinter) render() error {
	t := g.table
	g.table = nil
	if err := t.Render(); err != nil {
		return unwritable(err)
	}
	_, err := g.out.Write(nil) // what went wrong while it rendered, of which tablewriter takes no notice
	return unwritable(err)
}

func (g *gridPrinter) row(row []Cell) error {
	cells := make([]string, len(g.grid)) // tablewriter keeps it
	for i, s := range g.grid {
		cells[i] = s.show(g.painter, row[s.column])
	}
	return g.append(cells)
}

func (g *gridPrinter) foot(rows [][]Cell) error {
	rule := make([]string, len(g.grid))
	for i, s := range g.grid {
		rule[i] = g.painter.mark(dim, strings.Repeat("─", s.width))
	}
	err := g.append(rule)
	for _, row := range rows {
		if err == nil {
			err = g.row(row)
		}
	}
	return err
}

func (g *gridPrinter) end() error {
	if g.parts == 0 { // a table without rows is its header
		g.begin()
	}
	if g.table == nil {
		return nil
	}
	return g.render()
}

// uprightPrinter prints rows upright, one below the other.
type uprightPrinter struct {
	out     *bufio.Writer
	painter painter
	names   []string
	options Options
	rows    int
}

func (u *uprightPrinter) row(row []Cell) error {
	if u.rows++; u.rows > 1 {
		u.out.WriteByte('\n')
	}
	return writeUpright(u.out, u.painter, u.names, row, u.options)
}

func (u *uprightPrinter) foot(rows [][]Cell) error {
	for _, row := range rows {
		if err := u.row(row); err != nil {
			return err
		}
	}
	return nil
}

func (u *uprightPrinter) end() error { return nil }

// writeUpright prints one thing, a line for each property and a line for each
// step of a history. Nothing is cut: what is too long goes on below.
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
	right := 0 // how wide a value may be; 0: as it likes
	stacked := false
	if o.Width > 0 {
		right = o.Width - left - len(gap)
		if right < 2*comfortable && !o.NoHeaders { // no room beside the labels: put the values below them
			stacked, right = true, max(o.Width-len(gap), 1)
		}
	}
	lines := &lineWriter{w: out, painter: p}
	t := newTable(lines, []tw.Align{tw.AlignLeft, tw.AlignLeft})
	for i, c := range row {
		label := p.mark(bold, labels[i])
		if stacked {
			for _, part := range Wrap(labels[i], o.Width) {
				if err := lines.print(p.mark(bold, part)); err != nil {
					return err
				}
			}
		}
		for _, line := range valueLines(p, c, right) {
			var err error
			switch {
			case stacked:
				err = lines.print(gap + line)
			case o.NoHeaders:
				err = lines.print(line)
			default:
				err = t.Append([]string{label, line})
			}
			label = ""
			if err != nil {
				return unwritable(err)
			}
		}
	}
	if stacked || o.NoHeaders || len(row) == 0 {
		return nil
	}
	return unwritable(t.Render())
}

// valueLines returns a value in full, on as many lines as it takes.
func valueLines(p painter, c Cell, limit int) []string {
	switch c.kind {
	case kindAmount:
		return []string{p.amount(c)}
	case kindBool:
		return []string{p.truth(c)}
	case kindPercent:
		return []string{p.percent(c)}
	case kindInt:
		return []string{c.short()}
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
			line := Safe(s.Status) + strings.Repeat(" ", status-width(Safe(s.Status))) + gap + Safe(s.At)
			lines = append(lines, Wrap(strings.TrimRight(line, " "), limit)...)
		}
		return lines
	}
	return Wrap(c.short(), limit)
}

// newTable returns a tablewriter without any lines, that takes its cells as they
// are. It measures characters by the same rules on every machine, whatever the
// locale there says about East Asian ones.
func newTable(out io.Writer, aligns []tw.Align) *tablewriter.Table {
	padding := make([]tw.Padding, len(aligns))
	for i := range padding {
		padding[i] = tw.Padding{Right: gap, Overwrite: true}
	}
	if len(padding) > 0 {
		padding[len(padding)-1].Right = ""
	}
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: aligns},
		Padding:    tw.CellPadding{PerColumn: padding},
	}
	return tablewriter.NewTable(out,
		tablewriter.WithEastAsian(tw.Off),
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
		tablewriter.WithTrimTab(tw.Off),
		tablewriter.WithTrimLine(tw.Off),
	)
}

// lineWriter finishes the lines of a table: it drops the spaces at their end and
// puts colour where the painter marked it. tablewriter writes a line at a time,
// and takes no notice of errors: the buffer below keeps them.
type lineWriter struct {
	w       io.Writer
	painter painter
}

func (l *lineWriter) Write(p []byte) (int, error) {
	return len(p), l.print(strings.TrimSuffix(string(p), "\n"))
}

func (l *lineWriter) print(line string) error {
	_, err := io.WriteString(l.w, l.painter.paint(strings.TrimRight(line, " "))+"\n")
	return err
}

// amounts is how wide the parts of the amounts in one column are: before the
// decimal point, from it on, and the unit.
type amounts struct{ whole, fraction, unit int }

func (a *amounts) measure(c Cell) {
	number, unit := c.amount()
	whole, fraction := splitDecimal(number)
	a.whole = max(a.whole, len(whole))
	a.fraction = max(a.fraction, len(fraction))
	a.unit = max(a.unit, width(unit))
}

func (a amounts) width() int {
	if a.unit == 0 {
		return a.whole + a.fraction
	}
	return a.whole + a.fraction + 1 + a.unit
}

func (a amounts) block(p painter, c Cell) string {
	number, unit := c.amount()
	whole, fraction := splitDecimal(number)
	block := spaces(a.whole-len(whole)) + number + spaces(a.fraction-len(fraction))
	if a.unit == 0 {
		return block
	}
	return block + " " + p.unit(c) + spaces(a.unit-width(unit))
}

// spaces are none where there should be fewer: a cell may have come to be wider than it was when it was measured.
func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

func splitDecimal(number string) (whole, fraction string) {
	if point := strings.IndexByte(number, '.'); point >= 0 {
		return number[:point], number[point:]
	}
	return number, ""
}

// painter colours what means something: headers and labels are bold, the word
// minor is dim, true and what has grown are green, false and what has shrunk
// are red, and the bars of a chart are blue. While a table is laid out, what
// will be coloured is between control characters, which take no room and,
// all text being escaped, occur nowhere else.
type painter struct{ styles map[rune]lipgloss.Style }

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
		return painter{}
	}
	// The profile and the background are set, so that the terminal is not asked.
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	return painter{map[rune]lipgloss.Style{
		bold:  r.NewStyle().Bold(true),
		dim:   r.NewStyle().Faint(true),
		green: r.NewStyle().Foreground(lipgloss.Color("2")),
		red:   r.NewStyle().Foreground(lipgloss.Color("1")),
		blue:  r.NewStyle().Foreground(lipgloss.Color("4")),
	}}
}

func (p painter) mark(style rune, s string) string {
	if p.styles == nil || s == "" {
		return s
	}
	return string(style) + s + string(end)
}

// paint replaces the marks in a line.
func (p painter) paint(line string) string {
	if p.styles == nil {
		return line
	}
	var b strings.Builder
	for {
		from := strings.IndexFunc(line, func(r rune) bool { return r < end })
		if from < 0 {
			return b.String() + line
		}
		text, rest, _ := strings.Cut(line[from+1:], string(end))
		b.WriteString(line[:from] + p.styles[rune(line[from])].Render(text))
		line = rest
	}
}

func (p painter) truth(c Cell) string {
	if c.n != 0 {
		return p.mark(green, c.short())
	}
	return p.mark(red, c.short())
}

func (p painter) percent(c Cell) string {
	switch {
	case c.signed && c.sign() > 0:
		return p.mark(green, c.short())
	case c.signed && c.sign() < 0:
		return p.mark(red, c.short())
	}
	return c.short()
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

// width is how many columns of a terminal a text takes.
func width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return twwidth.WidthWithOptions(s, twwidth.Options{})
		}
	}
	return len(s)
}

// Cut shortens a text to a width, by its end.
func Cut(s string, limit int) string { return cut(s, limit, false) }

// cut shortens a text to a width. A text of one word is an id, an address or a
// time, and both its ends tell it from others: those lose their middle. Other
// text loses its end.
func cut(s string, limit int, middle bool) string {
	if width(s) <= limit {
		return s
	}
	if limit <= 1 {
		return ellipsis[:min(limit, 1)*len(ellipsis)]
	}
	room := limit - 1
	if !middle || strings.ContainsFunc(s, unicode.IsSpace) {
		return strings.TrimRight(head(s, room), " ") + ellipsis
	}
	begin := head(s, room-room/2)
	return begin + ellipsis + tail(s, room-width(begin))
}

// head is as much of the beginning as fits. What takes no room of its own
// belongs to the character before it.
func head(s string, room int) string {
	for i, r := range s {
		if room -= width(string(r)); room < 0 {
			return s[:i]
		}
	}
	return s
}

func tail(s string, room int) string {
	from := len(s)
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:from])
		if room -= width(string(r)); room < 0 {
			break
		}
		from -= size
	}
	return strings.TrimLeftFunc(s[from:], func(r rune) bool { return unicode.Is(unicode.M, r) })
}

// Wrap breaks a text into lines of at most limit columns, between words where it
// can. A limit of 0 is none.
func Wrap(s string, limit int) []string {
	if limit <= 0 {
		return []string{s}
	}
	var lines []string
	for width(s) > limit {
		line := head(s, limit)
		if line == "" { // not even one character fits
			_, size := utf8.DecodeRuneInString(s)
			line = s[:size]
		}
		rest := s[len(line):]
		if blank := strings.LastIndexByte(line, ' '); blank > 0 && rest[0] != ' ' {
			line, rest = s[:blank], s[blank:]
		}
		lines = append(lines, strings.TrimRight(line, " "))
		s = strings.TrimLeft(rest, " ")
	}
	return append(lines, s)
}
