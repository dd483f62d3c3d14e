package render

import (
	"fmt"
	"io"
	"iter"
	"slices"
)

// Format is a notation for printed data.
type Format string

// The formats. The zero value means Table.
const (
	Table Format = "table"
	JSON  Format = "json"
	JSONL Format = "jsonl"
	CSV   Format = "csv"
	YAML  Format = "yaml"
)

// Formats returns every format, the default first.
func Formats() []Format { return []Format{Table, JSON, JSONL, CSV, YAML} }

// ParseFormat returns the format with that name. The error is a *UsageError that lists the names.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	return "", usagef("unknown output format %q: use table, json, jsonl, csv or yaml", name)
}

// Options holds the user's choices about the output.
type Options struct {
	Format    Format
	Filter    func(value []byte, w io.Writer) error // --jq: prints its results for the whole JSON; nil: none
	Template  string                                // --template: text/template over the decoded JSON
	Columns   []string                              // empty: the view's own
	Sort      string                                // "name", or "-name" for descending
	NoHeaders bool
	Quiet     bool // ids only, one a line
	Width     int  // of the terminal in columns; 0: not a terminal, nothing is cut
	Color     bool
	Screen    bool // the output is a terminal: data is escaped as by Screen
}

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
		mapped.Columns = append(mapped.Columns, Column[B]{
			Name: c.Name, About: c.About, Extra: c.Extra, Whole: c.Whole, Detail: c.Detail,
			Amount: c.Amount, CodeIn: c.CodeIn,
			Cell: func(item B) Cell { return c.Cell(of(item)) },
		})
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

// Column is one property of a row.
type Column[T any] struct {
	Name   string // snake_case, as in --columns, --sort and CSV; a table header is upper case with spaces
	About  string // what it means, for --columns help and shells
	Extra  bool   // shown in a table only when named in --columns; CSV has it anyway
	Whole  bool   // never cut, and short enough for that
	Detail bool   // shown in the vertical table of One even if Extra
	// Amount promises that the cells are amounts, so that the CSV header has its three columns even without a
	// row. Without this promise, the cell of a zero row decides, and then that of the first row.
	Amount bool
	// CodeIn names a column of codes: a table that shows it does not repeat the same code in the amount.
	CodeIn string
	Cell   func(T) Cell
}

// UsageError is an error in the user's choices.
type UsageError struct {
	Message string
	Advice  string // what to do; may be empty
}

func (e *UsageError) Error() string { return e.Message }

// Hint returns the advice, which may be empty.
func (e *UsageError) Hint() string { return e.Advice }

func usagef(format string, args ...any) *UsageError {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// WriteError means that there is a result but it could not be written: the output is closed or full, or the
// filter or template failed on it.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "the result could not be written: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// Meaning is the name of a column and what it means.
type Meaning struct{ Name, About string }

// Names returns the names of all columns, in order. An amount has two more names, for its parts in CSV.
func (v View[T]) Names() []string { return v.bind(nil).names() }

// Meanings returns the meaning of every column that Names returns.
func (v View[T]) Meanings() []Meaning { return v.bind(nil).meanings() }

// Check returns a *UsageError if the options name a column that the view does not have, hold a template that
// does not parse, or contradict each other. List and One check too. A command that changes something checks
// first.
func (v View[T]) Check(o Options) error { return v.bind(nil).check(o) }

// List prints any number of rows. The package documentation describes its errors.
func (v View[T]) List(w io.Writer, o Options, items iter.Seq2[T, error]) error {
	return v.print(w, o, items, false)
}

// One prints one thing. A table is vertical here: a line for each column.
func (v View[T]) One(w io.Writer, o Options, item T) error {
	return v.print(w, o, each([]T{item}), true)
}

func (v View[T]) print(w io.Writer, o Options, items iter.Seq2[T, error], single bool) error {
	if err := v.Check(o); err != nil {
		return err
	}
	if o.Sort != "" {
		rows, broken := gather(items)
		items = endingWith(v.sorted(rows, o.Sort), broken)
	}
	var row T
	return v.bind(&row).print(w, o, through(&row, items), single)
}

// Sorted returns the rows as List sorts them. The options must have passed Check.
func (v View[T]) Sorted(rows []T, o Options) []T {
	if o.Sort == "" {
		return slices.Clone(rows)
	}
	return v.sorted(rows, o.Sort)
}

func (v View[T]) sorted(rows []T, key string) []T {
	var row T
	sorted := make([]T, 0, len(rows))
	for _, i := range v.bind(&row).order(through(&row, each(rows)), key) {
		sorted = append(sorted, rows[i])
	}
	return sorted
}

// bind returns the view of the row that the pointer points to. The pointer may be nil for what needs no row.
func (v View[T]) bind(row *T) bound {
	b := bound{columns: make([]column, len(v.Columns)), again: v.Again, foot: through(row, each(v.Foot))}
	for i := range v.Columns {
		c := &v.Columns[i]
		b.columns[i] = column{
			name: c.Name, about: c.About, extra: c.Extra, whole: c.Whole, detail: c.Detail, amount: c.Amount,
			codeIn: c.CodeIn, cell: func() Cell { return c.Cell(*row) },
		}
	}
	if v.ID != nil {
		b.id = func() string { return v.ID(*row) }
	}
	if v.JSON.Text != nil {
		b.json = func() []byte { return v.JSON.Text(*row) }
	}
	return b
}

// through puts one item after the other into row.
func through[T any](row *T, items iter.Seq2[T, error]) iter.Seq[error] {
	return func(yield func(error) bool) {
		for item, err := range items {
			*row = item
			if !yield(err) {
				return
			}
		}
	}
}

// gather returns the rows up to the first error, and that error.
func gather[T any](items iter.Seq2[T, error]) (rows []T, broken error) {
	for item, err := range items {
		if err != nil {
			return rows, err
		}
		rows = append(rows, item)
	}
	return rows, nil
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
