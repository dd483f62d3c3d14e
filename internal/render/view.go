package render

import (
	"bufio"
	"io"
	"iter"
	"slices"
	"strings"
)

// View describes how rows of one type are shown.
type View[T any] struct {
	Columns []Column[T]
	ID      func(T) string // what --quiet prints
	JSON    Document[T]    // the row as JSON
	Foot    []T            // rows that sum up the others: printed below a rule at the end of a table only
	Again   bool           // List can go through the rows again: a table does so, and keeps none of them
}

// Map shows rows of another type with view. The function of returns the value in a row that view shows. The
// foot of view is dropped.
func Map[A, B any](view View[A], of func(B) A) View[B] {
	mapped := View[B]{Again: view.Again}
	if view.ID != nil {
		mapped.ID = func(item B) string { return view.ID(of(item)) }
	}
	if view.JSON.Text != nil {
		mapped.JSON = Document[B]{view.JSON.Type, func(item B) []byte { return view.JSON.Text(of(item)) }}
	}
	for _, c := range view.Columns {
		mapped.Columns = append(mapped.Columns, with(c, func(item B) Cell { return c.Cell(of(item)) }))
	}
	return mapped
}

// Default returns the view with the columns that a table shows if none are named. The view of one thing still
// shows the others that it showed.
func (v View[T]) Default(names ...string) View[T] {
	v.Columns = slices.Clone(v.Columns)
	for i := range v.Columns {
		c := &v.Columns[i]
		c.Detail = c.Detail || !c.Extra
		c.Extra = !slices.Contains(names, c.Name)
	}
	return v
}

// Without returns the view without the named columns.
func (v View[T]) Without(names ...string) View[T] {
	v.Columns = slices.DeleteFunc(slices.Clone(v.Columns), func(c Column[T]) bool { return slices.Contains(names, c.Name) })
	return v
}

// Select returns the view with the named columns only, in this order.
func (v View[T]) Select(names ...string) View[T] {
	v.Columns = v.pick(names, nil)
	return v
}

// Column is one property of a row.
type Column[T any] struct {
	Name   string // snake_case, as in --columns, --sort and CSV; a table header is upper case with spaces
	About  string // what it means, for --columns help and shells
	Extra  bool   // shown in a table only when named in --columns; CSV has it anyway
	Whole  bool   // on one line and never cut: if there is no room, the row takes a second line
	Detail bool   // shown in the vertical table of One even if Extra
	Amount bool   // its cells are amounts: CSV has three columns for it
	// CodeIn names a column of codes: a table that shows it does not repeat the same code in the amount.
	CodeIn string
	Cell   func(T) Cell
}

// with returns a column with cells of other rows.
func with[A, B any](c Column[A], cell func(B) Cell) Column[B] {
	return Column[B]{c.Name, c.About, c.Extra, c.Whole, c.Detail, c.Amount, c.CodeIn, cell}
}

// WriteError means that there is a result but it could not be written: the output is closed or full, or the
// filter or template failed on it.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "the result could not be written: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// Meaning is the name of a column and what it means.
type Meaning struct{ Name, About string }

// The suffixes of an amount's parts.
const (
	minorSuffix = "_minor"
	codeSuffix  = "_currency"
)

// all returns all columns, in order. An amount has two more, for its parts in CSV.
func (v View[T]) all() (all []Column[T]) {
	for _, c := range v.Columns {
		part := func(suffix, about string) Column[T] {
			return Column[T]{Name: c.Name + suffix, About: about + c.Name, Whole: true,
				Cell: func(row T) Cell { return c.Cell(row).part(suffix) }}
		}
		if all = append(all, c); c.Amount {
			all = append(all, part(minorSuffix, "the number of minor units in "), part(codeSuffix, "the currency of "))
		}
	}
	return all
}

// Meanings returns the names and meanings of all columns.
func (v View[T]) Meanings() (meanings []Meaning) {
	for _, c := range v.all() {
		meanings = append(meanings, Meaning{c.Name, c.About})
	}
	return meanings
}

// pick returns the named columns, or without names the wanted ones.
func (v View[T]) pick(names []string, wanted func(Column[T]) bool) (picked []Column[T]) {
	all := v.all()
	for _, name := range names {
		picked = append(picked, all[slices.IndexFunc(all, func(c Column[T]) bool { return c.Name == name })])
	}
	for _, c := range v.Columns {
		if len(names) == 0 && wanted(c) {
			picked = append(picked, c)
		}
	}
	return picked
}

// Check returns a *usage.Error if the options name a column that the view does not have, or contradict each other.
// List and One check too. A command that changes something checks first.
func (v View[T]) Check(o Options) error {
	var names []string
	for _, m := range v.Meanings() {
		names = append(names, m.Name)
	}
	return o.check(names, v.ID != nil, v.JSON.Text != nil)
}

// List prints any number of rows. The package documentation describes its errors.
func (v View[T]) List(w io.Writer, o Options, items iter.Seq2[T, error]) error {
	return v.print(w, o, items, false)
}

// One prints one thing. A table is vertical here: a line for each column.
func (v View[T]) One(w io.Writer, o Options, item T) error {
	return v.print(w, o, each([]T{item}), true)
}

// print turns each row into its cells, its JSON or its id, whichever the options ask for. What prints these
// does not know the type of the row.
func (v View[T]) print(w io.Writer, o Options, items iter.Seq2[T, error], single bool) error {
	if err := v.Check(o); err != nil {
		return err
	}
	if o.Sort != "" {
		var rows []T
		var broken error
		for item, err := range items {
			if broken = err; err != nil {
				break
			}
			rows = append(rows, item)
		}
		items = endingWith(v.Sorted(rows, o), broken)
	}
	return o.output(w, func(out *bufio.Writer) error {
		switch {
		case o.Quiet:
			return lines().write(out, convert(items, func(item T) []byte { return []byte(Safe(v.ID(item))) }))
		case !o.tabular():
			return o.listTexts(out, convert(items, v.JSON.Text), single)
		case o.Format == CSV:
			return gridOf(v.pick(o.Columns, func(Column[T]) bool { return true }), items).csv(out, o)
		case single:
			return gridOf(v.pick(o.Columns, func(c Column[T]) bool { return !c.Extra || c.Detail }), items).upright(out, o)
		}
		columns := v.pick(o.Columns, func(c Column[T]) bool { return !c.Extra })
		return gridOf(columns, items).table(out, o, gridOf(columns, each(v.Foot)), v.Again)
	})
}

// Page returns a table of rows for a page. It has the columns that a wide terminal would show, except those
// without any value, and no foot.
func (v View[T]) Page(o Options, items []T) *PageTable {
	columns := v.pick(o.Columns, func(c Column[T]) bool { return !c.Extra })
	return gridOf(columns, each(items)).page(len(o.Columns) > 0)
}

// Sorted returns the rows as List sorts them. The options must have passed Check.
func (v View[T]) Sorted(rows []T, o Options) []T {
	if o.Sort == "" {
		return slices.Clone(rows)
	}
	name, descending := strings.CutPrefix(o.Sort, "-")
	cell := v.pick([]string{name}, nil)[0].Cell
	keys, order := make([]Cell, len(rows)), make([]int, len(rows))
	for i, row := range rows {
		keys[i], order[i] = cell(row), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if descending {
			a, b = b, a
		}
		return compare(keys[a], keys[b])
	})
	sorted := make([]T, len(rows))
	for i, from := range order {
		sorted[i] = rows[from]
	}
	return sorted
}

func each[T any](rows []T) iter.Seq2[T, error] { return endingWith(rows, nil) }

// endingWith returns the rows, and then the error if there is one.
func endingWith[T any](rows []T, broken error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if broken != nil {
			var none T
			yield(none, broken)
		}
	}
}

// convert returns what the function makes of each row.
func convert[A, B any](items iter.Seq2[A, error], of func(A) B) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for item, err := range items {
			var result B
			if err == nil {
				result = of(item)
			}
			if !yield(result, err) {
				return
			}
		}
	}
}

// Field returns a column of one value: show makes its cell, and of takes the value from a row.
func Field[T, V any](name, about string, show func(V) Cell, of func(T) V) Column[T] {
	return Column[T]{Name: name, About: about, Cell: func(row T) Cell { return show(of(row)) }}
}

// AmountField returns a column of amounts.
func AmountField[T any](name, about string, cell func(T) Cell) Column[T] {
	return Column[T]{Name: name, About: about, Amount: true, Cell: cell}
}

// Whole returns the view with the named columns never cut.
func (v View[T]) Whole(names ...string) View[T] {
	return v.change(names, func(c *Column[T]) { c.Whole = true })
}

// Extra returns the view with the named columns shown only where --columns names them, and in CSV.
func (v View[T]) Extra(names ...string) View[T] {
	return v.change(names, func(c *Column[T]) { c.Extra, c.Detail = true, false })
}

// change returns the view with the named columns changed.
func (v View[T]) change(names []string, change func(*Column[T])) View[T] {
	v.Columns = slices.Clone(v.Columns)
	for i := range v.Columns {
		if slices.Contains(names, v.Columns[i].Name) {
			change(&v.Columns[i])
		}
	}
	return v
}

// grid is the rows of a table, of CSV or of a page, without the type that they were made from.
type grid struct {
	fields []Column[any]            // without cells
	rows   iter.Seq2[[]Cell, error] // each row is in the same slice
}

func gridOf[T any](columns []Column[T], items iter.Seq2[T, error]) grid {
	g := grid{fields: make([]Column[any], len(columns))}
	for i, c := range columns {
		g.fields[i] = with[T, any](c, nil)
	}
	row := make([]Cell, len(columns))
	g.rows = convert(items, func(item T) []Cell {
		for i, c := range columns {
			row[i] = c.Cell(item)
		}
		return row
	})
	return g
}

// tell tells of an amount in minor units.
func (o Options) tell(c Cell) {
	if o.Unknown != nil && c.kind == kindAmount && c.decimals < 0 {
		o.Unknown(c.text)
	}
}

// people returns the rows as people read them: an amount does not repeat the code that another field has. On
// a terminal, digits are grouped.
func (g grid) people(o Options) iter.Seq2[[]Cell, error] {
	codes := make([]int, len(g.fields))
	for i, f := range g.fields {
		codes[i] = slices.IndexFunc(g.fields, func(other Column[any]) bool { return f.CodeIn != "" && other.Name == f.CodeIn })
	}
	return convert(g.rows, func(row []Cell) []Cell {
		for i, code := range codes {
			row[i].grouped = o.Width > 0
			o.tell(row[i])
			if code >= 0 {
				row[i].bare = row[code].text == row[i].text
			}
		}
		return row
	})
}
