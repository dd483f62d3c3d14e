package render

import (
	"io"
	"slices"
	"strings"

	"example.com/till/internal/near"
	"example.com/till/internal/usage"
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

// Options holds the user's choices about the output.
type Options struct {
	Format    Format
	Filter    func(value any, w io.Writer) error // --jq, --template: prints what it makes of the decoded JSON; nil: none
	Columns   []string                           // empty: the view's own
	Sort      string                             // "name", or "-name" for descending
	NoHeaders bool
	Excel     Excel // how CSV is written for it; zero: as for any program
	Quiet     bool  // ids only, one a line
	Width     int   // of the terminal in columns; 0: none, so nothing is cut, nor escaped as by Screen
	Color     bool
	Colors256 bool              // the terminal has 256 colours
	Unknown   func(code string) // is told of each amount in minor units; nil: nothing is
}

// tabular reports whether the output is made of cells, and not of JSON.
func (o Options) tabular() bool {
	return o.Filter == nil && (o.Format == "" || o.Format == Table || o.Format == CSV)
}

// check returns a *usage.Error if the options do not suit a view with columns of these names, with or without
// ids and JSON.
func (o Options) check(names []string, ids, json bool) error {
	onlyTabular := ""
	switch {
	case len(o.Columns) > 0:
		onlyTabular = "--columns"
	case o.Sort != "":
		onlyTabular = "--sort"
	case o.NoHeaders:
		onlyTabular = "--no-headers"
	}
	switch {
	case o.Quiet && o.Filter != nil:
		return usage.Errorf("--quiet prints ids only: leave out --jq and --template")
	case o.Quiet && (len(o.Columns) > 0 || o.Sort != "" && len(names) == 0):
		return usage.Errorf("--quiet prints ids only: leave out %s", onlyTabular)
	case !o.Quiet && !o.tabular() && onlyTabular != "":
		return usage.Errorf("%s is for table and csv: leave it out for %s", onlyTabular, o.Format)
	}
	for _, name := range o.Columns {
		if !slices.Contains(names, name) {
			return unknownColumn(names, name, "")
		}
	}
	if name := strings.TrimPrefix(o.Sort, "-"); o.Sort != "" && !slices.Contains(names, name) {
		return unknownColumn(names, name, " in --sort")
	}
	switch {
	case o.Quiet && !ids:
		return usage.Errorf("--quiet has nothing to print here: what is listed has no id")
	case !o.Quiet && !o.tabular() && !json:
		return usage.Errorf("there is no JSON of this: use --output table or csv")
	}
	return nil
}

func unknownColumn(names []string, name, where string) error {
	if len(names) == 0 {
		return usage.Errorf("unknown column %q%s: this output has no columns", name, where)
	}
	err := usage.Errorf("unknown column %q%s: use %s", name, where, strings.Join(names, ", "))
	err.Advice = near.Question(name, "", names)
	return err
}
