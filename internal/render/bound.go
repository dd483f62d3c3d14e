package render

import (
	"bufio"
	"cmp"
	"io"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/near"
)

// bound is a view without the type of its rows. It shows the row in the variable that it is bound to. An
// iterator over rows puts one after the other there. So all views share the code below, and no row is boxed.
type bound struct {
	columns []column
	id      func() string // nil: a row has none
	json    func() []byte // nil: a row has none
	foot    iter.Seq[error]
	again   bool
}

// column is a Column without the type of the row.
type column struct {
	name, about                  string
	extra, whole, detail, amount bool
	codeIn                       string
	cell                         func() Cell
}

func (b bound) names() []string {
	var names []string
	for _, c := range b.meanings() {
		names = append(names, c.Name)
	}
	return names
}

func (b bound) meanings() []Meaning {
	var all []Meaning
	for _, c := range b.columns {
		all = append(all, Meaning{c.name, c.about})
		if c.amount {
			all = append(all, Meaning{c.name + minorSuffix, "the number of minor units in " + c.name},
				Meaning{c.name + codeSuffix, "the currency of " + c.name})
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
func (b bound) column(name string) (column, bool) {
	for _, c := range b.columns {
		if c.name == name {
			return c, true
		}
	}
	for _, c := range b.columns {
		if suffix, ok := strings.CutPrefix(name, c.name); ok && c.amount &&
			(suffix == minorSuffix || suffix == codeSuffix) {
			return column{name: name, whole: true, cell: func() Cell {
				amount := c.cell()
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
	return column{}, false
}

func (b bound) check(o Options) error {
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
		if _, ok := b.column(name); !ok {
			return b.unknownColumn(name, "")
		}
	}
	if _, ok := b.column(strings.TrimPrefix(o.Sort, "-")); o.Sort != "" && !ok {
		return b.unknownColumn(strings.TrimPrefix(o.Sort, "-"), " in --sort")
	}
	switch {
	case o.Quiet && b.id == nil:
		return usagef("--quiet has nothing to print here: what is listed has no id")
	case !o.Quiet && !tabular && b.json == nil:
		return usagef("there is no JSON of this: use --output table or csv")
	}
	return nil
}

func (b bound) unknownColumn(name, where string) error {
	if len(b.columns) == 0 {
		return usagef("unknown column %q%s: this output has no columns", name, where)
	}
	err := usagef("unknown column %q%s: use %s", name, where, strings.Join(b.names(), ", "))
	err.Advice = near.Question(name, "", b.names())
	return err
}

// pick returns the named columns, or without names the wanted ones.
func (b bound) pick(names []string, wanted func(column) bool) []column {
	var picked []column
	if len(names) > 0 {
		for _, name := range names {
			c, _ := b.column(name)
			picked = append(picked, c)
		}
		return picked
	}
	for _, c := range b.columns {
		if wanted(c) {
			picked = append(picked, c)
		}
	}
	return picked
}

func (b bound) print(w io.Writer, o Options, rows iter.Seq[error], single bool) error {
	size := listBuffer
	if single {
		size = oneBuffer
	}
	return o.output(w, size, func(out *bufio.Writer) error { return b.write(out, o, rows, single) })
}

func (b bound) write(out *bufio.Writer, o Options, rows iter.Seq[error], single bool) error {
	switch {
	case o.Quiet:
		return b.listIDs(out, rows)
	case o.Filter != nil || o.Template != "":
		value, err := b.value(rows, single)
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
		return b.listJSON(out, rows, single)
	case JSONL:
		return b.listLines(out, rows)
	case CSV:
		return b.listCSV(out, o, rows)
	case YAML:
		return b.listYAML(out, rows, single)
	}
	if single {
		return b.oneTable(out, o, rows)
	}
	return b.listTable(out, o, rows)
}

func (b bound) listIDs(out *bufio.Writer, rows iter.Seq[error]) error {
	for err := range rows {
		if err != nil {
			return err
		}
		out.WriteString(Safe(b.id()))
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// order returns the numbers of the rows as --sort puts them. The iterator has no errors.
func (b bound) order(rows iter.Seq[error], key string) []int {
	name, descending := strings.CutPrefix(key, "-")
	c, _ := b.column(name)
	var keys []Cell
	var order []int
	for range rows {
		order = append(order, len(keys))
		keys = append(keys, c.cell())
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		return compare(keys[i], keys[j])
	})
	return order
}
