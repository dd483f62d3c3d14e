package cmdutil

import (
	"reflect"
	"slices"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// Printed says which JSON a command prints, as Go types. The schemas are made from it.
type Printed struct {
	JSON    []reflect.Type   // what -o json prints: a value of one of these types
	Line    []reflect.Type   // what each line of -o jsonl is
	Columns []render.Meaning // the columns, which describe the members of the same names
}

// Form says how many values a command prints.
type Form int

// The forms.
const (
	One       Form = iota // one: with -o json it is not in an array
	List                  // any number
	OneOrList             // one or any number, depending on the arguments
	Apart                 // not the rows of the view: the command calls Prints itself
)

// PrintedAs returns what a command prints whose values are encoded as J.
func PrintedAs[J any](form Form) Printed { return printedAs(form, reflect.TypeFor[J]()) }

func printedAs(form Form, row reflect.Type) Printed {
	p := Printed{Line: []reflect.Type{row}}
	if form != List {
		p.JSON = append(p.JSON, row)
	}
	if form != One {
		p.JSON = append(p.JSON, reflect.SliceOf(row))
	}
	return p
}

// PrintedApart returns what a command prints whose -o json is one J, and whose lines of -o jsonl are L.
func PrintedApart[J, L any]() Printed {
	return Printed{JSON: []reflect.Type{reflect.TypeFor[J]()}, Line: []reflect.Type{reflect.TypeFor[L]()}}
}

// Prints records what a command prints. A command whose output depends on its flags calls it for each type.
func (a *App) Prints(cmd *cobra.Command, p Printed) *cobra.Command {
	if a.Printed != nil {
		old := a.Printed[cmd]
		a.Printed[cmd] = Printed{JSON: slices.Concat(old.JSON, p.JSON), Line: slices.Concat(old.Line, p.Line),
			Columns: slices.Concat(old.Columns, p.Columns)}
	}
	return cmd
}

// WithView records the columns of a command that shows values with a view, so that they can be offered
// without running it, and the JSON that it prints.
func WithView[T any](
	a *App, form Form, view func(money.Registry) render.View[T], cmd *cobra.Command,
) *cobra.Command {
	shown := view(money.NewRegistry())
	annotate(cmd, ColumnsKey, columnLines(shown.Meanings()))
	p := Printed{}
	if form != Apart {
		p = printedAs(form, shown.JSON.Type)
	}
	p.Columns = shown.Meanings()
	return a.Prints(cmd, p)
}
