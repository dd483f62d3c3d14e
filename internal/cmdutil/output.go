package cmdutil

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Output prints values of one type.
type Output[T any] struct {
	Session *Session
	View    render.View[T]
}

// NewOutput checks the output flags for a view before anything is sent. It also answers --columns help.
func NewOutput[T any](s *Session, view render.View[T]) (Output[T], error) {
	out := Output[T]{s, view}
	if len(s.Columns) == 1 && s.Columns[0] == "help" {
		if err := s.Write(ColumnsHelp(columnLines(view.Meanings()))); err != nil {
			return out, err
		}
		return out, ErrDone
	}
	return out, view.Check(s.Render)
}

// ColumnsKey is the annotation that holds a command's columns, one on each line: its name, a tab, and what it
// means.
const ColumnsKey = "till_columns"

func columnLines(columns []render.Meaning) string {
	lines := make([]string, len(columns))
	for i, c := range columns {
		lines[i] = c.Name + "\t" + c.About
	}
	return strings.Join(lines, "\n")
}

// ColumnsHelp returns the text for --columns help from the lines of ColumnsKey.
func ColumnsHelp(lines string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, lines)
	table.Flush()
	return b.String()
}

// Begin starts a command whose output has a single view.
func Begin[T any](a *App, cmd *cobra.Command, view func(money.Registry) render.View[T]) (*Session, Output[T], error) {
	s, err := a.Start(cmd)
	if err != nil {
		return nil, Output[T]{}, err
	}
	out, err := NewOutput(s, view(s.Money))
	return s, out, err
}

// One prints a single value.
func (o Output[T]) One(value T) error {
	o.Session.Spinner.Stop()
	return o.View.One(o.Session.IO.Out, o.Session.Render, value)
}

// NoteUnknown names the command that sets the decimals of currencies whose amounts were in minor units.
func (s *Session) NoteUnknown() {
	codes := slices.Sorted(maps.Keys(s.unknown))
	if len(codes) == 0 || s.Quiet {
		return
	}
	clear(s.unknown)
	command := []string{"currency", "set", codes[0], "--kind", "KIND", "--decimals", "N"}
	if before, bare, found := strings.Cut(codes[0], ":"); found { // as in crypto:Doge
		command[2], command[4] = bare, before
	} else if !slices.ContainsFunc(codes, func(code string) bool { _, known := s.Money.Lookup(code); return !known }) {
		command = slices.Delete(command, 3, 5)
	}
	more := ""
	if len(codes) > 1 {
		more = " (and for " + strings.Join(codes[1:], ", ") + ")"
	}
	s.NoteCommand(command, "minor units: the decimals are unknown; ask the provider, and type%s:", more)
}

// Tabular reports whether the output has rows, instead of the service's JSON or ids.
func (o Output[T]) Tabular() bool {
	out := o.Session.Render
	return (out.Format == render.Table || out.Format == render.CSV) && !out.Quiet
}

// Bare prints only text if the output is a table with the default columns, so that a script can use it.
// Otherwise it prints the value like One.
func (o Output[T]) Bare(value T, text string) error {
	if !o.Session.Plain() {
		return o.One(value)
	}
	o.Session.Spinner.Stop()
	return o.Session.Write(render.Safe(text) + "\n")
}

// filterLimit limits --jq on the answer of a create, which is small.
const filterLimit = 2 * time.Second

// Made prints what a create has made. If printing fails, the ids are in the error, because they may be
// nowhere else.
func (o Output[T]) Made(value T, text string, what exit.About, ids string) error {
	ctx, cancel := context.WithTimeout(o.Session.Ctx, filterLimit)
	defer cancel()
	o.Session.Render.Filter, _ = o.Session.newFilter(ctx) // it compiled in Start
	err := o.Bare(value, text)
	// The filter or template may omit the ids.
	if err == nil && o.Session.Render.Filter != nil {
		o.Session.NoteAbout(what, "made: %s", ids)
	}
	var output *render.WriteError
	if errors.As(err, &output) {
		return &exit.Error{Code: exit.Output, About: what, Err: output, Msg: fmt.Sprintf("it was made (%s), but %v", ids, err),
			Hint: payout.NewHint("note the ids, and do not create it again")}
	}
	return err
}

// List prints values as they arrive.
func (o Output[T]) List(items iter.Seq2[T, error]) error {
	err := o.View.List(newListWriter(o.Session.Ctx, o.Session.IO.Out), o.Session.Render,
		func(yield func(T, error) bool) {
			for item, err := range items {
				o.Session.Spinner.Stop()
				if !yield(item, err) {
					return
				}
			}
			o.Session.Spinner.Stop()
		})
	if err == nil {
		o.Session.NoteUnknown()
	}
	if failed := (*render.WriteError)(nil); errors.As(err, &failed) && errors.Is(err, context.Canceled) {
		return context.Canceled // by a signal; the output did not fail
	}
	return err
}

// Slice prints a list.
func (o Output[T]) Slice(items []T) error { return o.List(Each(items)) }

// listWriter is standard output for a list, which may be endless. A reader that does not read must not keep
// the program from ending.
type listWriter struct {
	late context.Context // ends when there is no more time to read the rest
	w    io.Writer
}

// drainTime is how long a reader has after a signal to read the rest.
const drainTime = 500 * time.Millisecond

func newListWriter(ctx context.Context, w io.Writer) listWriter {
	late, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, end) })
	return listWriter{late, w}
}

func (l listWriter) Write(p []byte) (int, error) {
	return terminal.Interruptibly(l.late, func() (int, error) { return l.w.Write(p) })
}

// Each yields the items of a list that is complete.
func Each[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// LineOptions returns the output options of a command that prints JSON, as lines if possible.
func (s *Session) LineOptions() (render.Options, error) {
	if s.Origin("output") == (config.Origin{Kind: config.FromFlag, Name: "output"}) && !IsJSON(s.Output) {
		return render.Options{},
			exit.UsageError(fmt.Sprintf("--output: %s prints JSON, not %s", cmdline.CommandName(s.Cmd), s.Output), "leave it out")
	}
	o := s.Render
	o.Format = render.JSONL
	return o, LineView().Check(o)
}

// TableOnTerminal reports whether a person sees a table. A part of a long list is more useful then.
func (s *Session) TableOnTerminal() bool {
	return s.Render.Format == render.Table && !s.Quiet && s.Render.Width > 0
}

// Plain reports whether the output is a table with default settings, so that a single line can replace it.
func (s *Session) Plain() bool {
	return s.Render.Format == render.Table && !s.Quiet && len(s.Columns) == 0
}

// IsJSON reports whether an output format is JSON.
func IsJSON(format string) bool { return slices.Contains([]string{"json", "jsonl"}, format) }

// LineView returns the view of a line that is already JSON.
func LineView() render.View[[]byte] {
	return render.View[[]byte]{JSON: render.Received[json.RawMessage](func(line []byte) []byte { return line })}
}

// NewCommand completes a command that prints values of one view. It offers the columns to shells, and calls
// run with the session and the output.
func NewCommand[T any](
	a *App, form Form, view func(money.Registry) render.View[T], cmd *cobra.Command,
	run func(*Session, Output[T], []string) error,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, out, err := Begin(a, cmd, view)
		if err != nil {
			return err
		}
		return run(s, out, args)
	}
	return WithView(a, form, view, cmd)
}

// StructView makes the view of a command that prints structs without amounts. --quiet prints their field id.
func StructView[T any](id string) func(money.Registry) render.View[T] {
	return func(money.Registry) render.View[T] { return render.Struct[T](id) }
}

// ReadCommand completes a command that prints the value that read gets from the service.
func ReadCommand[T any](
	a *App, view func(money.Registry) render.View[T], cmd *cobra.Command,
	read func(*Session, *api.Client, []string) (T, error),
) *cobra.Command {
	return NewCommand(a, One, view, cmd, func(s *Session, out Output[T], args []string) error {
		client, err := s.Client()
		if err != nil {
			return err
		}
		value, err := read(s, client, args)
		if err != nil {
			return err
		}
		return out.One(value)
	})
}

// ListCommand completes a command that prints the values that read gets from the service.
func ListCommand[T any](
	a *App, view func(money.Registry) render.View[T], cmd *cobra.Command,
	read func(context.Context, *api.Client) ([]T, error),
) *cobra.Command {
	return NewCommand(a, List, view, cmd, func(s *Session, out Output[T], _ []string) error {
		client, err := s.Client()
		if err != nil {
			return err
		}
		all, err := read(s.Ctx, client)
		if err != nil {
			return err
		}
		return out.Slice(all)
	})
}

// Look returns the options of a table on a stream. Whether it has colours is decided by --color, then the variables,
// then whether it is a terminal.
func (i IO) Look(choice string, stream any) render.Options {
	color, _ := config.Color(choice, i.Env)
	width, term := terminal.Width(stream), i.Env("TERM")
	return render.Options{Format: render.Table, Width: width,
		Color:     color == "always" || color != "never" && width > 0 && term != "dumb",
		Colors256: strings.Contains(term, "256color") || i.Env("COLORTERM") != ""}
}

// Form says how many values a command prints.
type Form int

// The forms.
const (
	One       Form = iota // one: with -o json it is not in an array
	List                  // any number
	OneOrList             // one or any number, depending on the arguments
	Whole                 // what -o json prints, in a command whose lines of -o jsonl are another type
	Lines                 // those lines
	Apart                 // not the rows of the view: the command calls Prints itself
)

// Prints tells the schemas that a command prints values that are encoded as J. A command whose output depends on its
// flags calls it for each type.
func Prints[J any](a *App, form Form, cmd *cobra.Command) *cobra.Command {
	if a.Printed != nil {
		a.Printed(cmd, form, reflect.TypeFor[J](), nil)
	}
	return cmd
}

// WithView records the columns of a command that shows values with a view, so that they can be offered
// without running it, and the JSON that it prints.
func WithView[T any](
	a *App, form Form, view func(money.Registry) render.View[T], cmd *cobra.Command,
) *cobra.Command {
	shown := view(money.NewRegistry())
	cmdline.SetAnnotation(cmd, ColumnsKey, columnLines(shown.Meanings()))
	if a.Printed != nil {
		a.Printed(cmd, form, shown.JSON.Type, shown.Meanings())
	}
	return cmd
}
