package render

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/near"
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

// output is the function output, with escapes if w is a terminal. Tables and ids are safe already.
func (o Options) output(w io.Writer, size int, print func(*bufio.Writer) error) error {
	table := o.Filter == nil && o.Template == "" && (o.Format == Table || o.Format == "")
	if !o.Screen || o.Quiet || table {
		return output(w, size, print)
	}
	screen := &screenWriter{w: w}
	err := output(screen, size, print)
	if flushed := screen.flush(); err == nil && flushed != nil {
		err = &WriteError{Err: flushed}
	}
	return err
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

// Names returns the names of all columns, in order. An amount has two more names, for its parts in CSV.
func (v View[T]) Names() []string {
	var names []string
	for _, c := range v.Meanings() {
		names = append(names, c.Name)
	}
	return names
}

// Meaning is the name of a column and what it means.
type Meaning struct{ Name, About string }

// Meanings returns the meaning of every column that Names returns.
func (v View[T]) Meanings() []Meaning {
	var all []Meaning
	for _, c := range v.Columns {
		all = append(all, Meaning{c.Name, c.About})
		if c.Amount {
			all = append(all, Meaning{c.Name + minorSuffix, "the number of minor units in " + c.Name},
				Meaning{c.Name + codeSuffix, "the currency of " + c.Name})
		}
	}
	return all
}

// The suffixes of an amount's parts.
const (
	minorSuffix = "_minor"
	codeSuffix  = "_currency"
)

// column finds a column, or a part of an amount as its own column.
func (v View[T]) column(name string) (Column[T], bool) {
	for _, c := range v.Columns {
		if c.Name == name {
			return c, true
		}
	}
	for _, c := range v.Columns {
		if suffix, ok := strings.CutPrefix(name, c.Name); ok && c.Amount &&
			(suffix == minorSuffix || suffix == codeSuffix) {
			return Column[T]{Name: name, Whole: true, Cell: func(item T) Cell {
				amount := c.Cell(item)
				if amount.kind != kindAmount {
					return Cell{}
				}
				if suffix == codeSuffix {
					return Text(amount.text)
				}
				return Cell{kind: kindInt, n: amount.n, large: amount.large}
			}}, true
		}
	}
	return Column[T]{}, false
}

// Check returns a *UsageError if the options name a column that the view does not have, hold a template that
// does not parse, or contradict each other. List and One check too. A command that changes something checks
// first.
func (v View[T]) Check(o Options) error {
	format := cmp.Or(o.Format, Table)
	if _, err := ParseFormat(string(format)); err != nil {
		return err
	}
	scripted := "" // the flag that turns the JSON into something else
	switch {
	case o.Filter != nil && o.Template != "":
		return usagef("--jq and --template both decide the whole output: use one of them")
	case o.Filter != nil:
		scripted = "--jq"
	case o.Template != "":
		scripted = "--template"
		if _, err := parseTemplate(o.Template); err != nil {
			return usagef("--template does not parse: %v", err)
		}
	}
	tabular := scripted == "" && (format == Table || format == CSV)
	onlyTabular := "" // a flag that works only with a table or CSV
	switch {
	case len(o.Columns) > 0:
		onlyTabular = "--columns"
	case o.Sort != "":
		onlyTabular = "--sort"
	case o.NoHeaders:
		onlyTabular = "--no-headers"
	}
	switch {
	case o.Quiet && scripted != "":
		return usagef("--quiet prints ids only: leave out %s", scripted)
	case o.Quiet && len(o.Columns) > 0:
		return usagef("--quiet prints ids only: leave out --columns")
	case scripted != "" && (format == CSV || format == YAML):
		return usagef("%s works on the JSON: leave out --output %s", scripted, format)
	case scripted != "" && onlyTabular != "":
		return usagef("%s is for table and csv, and cannot be used together with %s", onlyTabular, scripted)
	case !tabular && !o.Quiet && onlyTabular != "":
		return usagef("%s is for table and csv: leave it out with --output %s", onlyTabular, format)
	}
	for _, name := range o.Columns {
		if _, ok := v.column(name); !ok {
			return v.unknownColumn(name, "")
		}
	}
	if _, ok := v.column(strings.TrimPrefix(o.Sort, "-")); o.Sort != "" && !ok {
		return v.unknownColumn(strings.TrimPrefix(o.Sort, "-"), " in --sort")
	}
	switch {
	case o.Quiet && v.ID == nil:
		return usagef("--quiet has nothing to print here: what is listed has no id")
	case !o.Quiet && !tabular && v.JSON.Text == nil:
		return usagef("there is no JSON of this: use --output table or csv")
	}
	return nil
}

func (v View[T]) unknownColumn(name, where string) error {
	if len(v.Columns) == 0 {
		return usagef("unknown column %q%s: this output has no columns", name, where)
	}
	err := usagef("unknown column %q%s: use %s", name, where, strings.Join(v.Names(), ", "))
	err.Advice = near.Question(name, "", v.Names())
	return err
}

// pick returns the named columns, or without names the wanted ones.
func (v View[T]) pick(names []string, wanted func(Column[T]) bool) []Column[T] {
	var picked []Column[T]
	if len(names) > 0 {
		for _, name := range names {
			c, _ := v.column(name)
			picked = append(picked, c)
		}
		return picked
	}
	for _, c := range v.Columns {
		if wanted(c) {
			picked = append(picked, c)
		}
	}
	return picked
}

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
	size := listBuffer
	if single {
		size = oneBuffer
	}
	return o.output(w, size, func(out *bufio.Writer) error {
		var broken error // the iterator's error, if rows had to be gathered first
		if o.Sort != "" {
			var rows []T
			rows, broken = gather(items)
			if broken != nil && len(rows) == 0 {
				return broken
			}
			v.sort(rows, o.Sort)
			items = each(rows)
		}
		return cmp.Or(v.write(out, o, items, single), broken)
	})
}

func (v View[T]) write(out *bufio.Writer, o Options, items iter.Seq2[T, error], single bool) error {
	switch {
	case o.Quiet:
		return v.listIDs(out, items)
	case o.Filter != nil || o.Template != "":
		value, err := v.value(items, single)
		if err != nil {
			return err
		}
		if o.Filter != nil {
			return unwritable(o.Filter(value, out))
		}
		return execute(out, o, value)
	}
	switch o.Format {
	case JSON:
		return v.listJSON(out, items, single)
	case JSONL:
		return v.listLines(out, items)
	case CSV:
		return v.listCSV(out, o, items)
	case YAML:
		return v.listYAML(out, items, single)
	}
	if single {
		return v.oneTable(out, o, items)
	}
	return v.listTable(out, o, items)
}

func (v View[T]) listIDs(out *bufio.Writer, items iter.Seq2[T, error]) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		out.WriteString(Safe(v.ID(item)))
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// Sorted returns the rows as List sorts them. The options must have passed Check.
func (v View[T]) Sorted(rows []T, o Options) []T {
	rows = slices.Clone(rows)
	if o.Sort != "" {
		v.sort(rows, o.Sort)
	}
	return rows
}

func (v View[T]) sort(rows []T, key string) {
	name, descending := strings.CutPrefix(key, "-")
	c, _ := v.column(name)
	cell := c.Cell
	type keyed struct {
		row T
		key Cell
	}
	sorted := make([]keyed, len(rows))
	for i, row := range rows {
		sorted[i] = keyed{row, cell(row)}
	}
	slices.SortStableFunc(sorted, func(a, b keyed) int {
		if descending {
			return compare(b.key, a.key)
		}
		return compare(a.key, b.key)
	})
	for i := range sorted {
		rows[i] = sorted[i].row
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

func each[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// The sizes of the buffers in bytes: for a list large enough to be fast, for one thing no larger than needed.
const (
	listBuffer = 64 << 10
	oneBuffer  = 4 << 10
)

// output runs print with a buffer in front of w, and flushes the buffer even if print failed. A failure of w
// is always a *WriteError. An error of print itself takes precedence, because it says more.
func output(w io.Writer, size int, print func(*bufio.Writer) error) error {
	s := &sink{w: w}
	out := bufio.NewWriterSize(s, size)
	err := print(out)
	flushed := out.Flush()
	if err == nil {
		err = flushed
	}
	// A writer in between may have wrapped or replaced what the sink returned.
	if s.failed != nil && errors.Is(err, s.failed.Err) {
		return s.failed
	}
	return err
}

// sink turns the errors of the writer below into a *WriteError.
type sink struct {
	w      io.Writer
	failed *WriteError
}

func (s *sink) Write(p []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.failed = &WriteError{Err: err}
		return n, s.failed
	}
	return n, nil
}

// unwritable wraps an error between a result and the output.
func unwritable(err error) error {
	var failed *WriteError
	if err == nil || errors.As(err, &failed) {
		return err
	}
	return &WriteError{Err: err}
}
