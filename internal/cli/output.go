package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// output prints values of one type.
type output[T any] struct {
	s    *session
	view render.View[T]
}

// show checks the flags of the output against a view, before anything is sent, and answers --columns help.
func show[T any](s *session, view render.View[T]) (output[T], error) {
	out := output[T]{s, view}
	if len(s.Columns) == 1 && s.Columns[0] == "help" {
		if err := s.write(strings.Join(view.Names(), "\n") + "\n"); err != nil {
			return out, err
		}
		return out, errDone
	}
	return out, view.Check(s.out)
}

// begin starts a command whose output has one view.
func begin[T any](a *app, cmd *cobra.Command, view func(money.Registry) render.View[T]) (*session, output[T], error) {
	s, err := a.start(cmd)
	if err != nil {
		return nil, output[T]{}, err
	}
	out, err := show(s, view(s.money))
	return s, out, err
}

func (o output[T]) one(value T) error {
	o.s.spinner.stop()
	return o.view.One(o.s.io.Out, o.s.out, value)
}

// tabular reports whether rows are printed, and not the service's JSON or ids.
func (o output[T]) tabular() bool {
	out := o.s.out
	return (out.Format == render.Table || out.Format == render.CSV) && !out.Quiet && out.Filter == nil && out.Template == ""
}

// bare prints a value of which a table has only its text, for a script to take.
func (o output[T]) bare(value T, text string) error {
	if o.s.out.Format != render.Table || !o.tabular() || len(o.s.Columns) > 0 {
		return o.one(value)
	}
	o.s.spinner.stop()
	return o.s.write(render.Safe(text) + "\n")
}

// filterLimit is how long --jq may take with the answer of a create, which is small.
const filterLimit = 2 * time.Second

// made prints what a create has made. If that fails, the error is the last place where its ids can be.
func (o output[T]) made(value T, text string, what about, ids string) error {
	if o.s.JQ != "" {
		ctx, cancel := context.WithTimeout(o.s.ctx, filterLimit)
		defer cancel()
		o.s.out.Filter, _ = jqFilter(ctx, o.s.JQ) // it compiled before
	}
	err := o.bare(value, text)
	if err == nil && (o.s.JQ != "" || o.s.Template != "") { // which may have left them out
		o.s.noteAbout(what, "made: %s", ids)
	}
	var output *render.WriteError
	if errors.As(err, &output) {
		return &failure{code: exitOutput, about: what, msg: fmt.Sprintf("it is made (%s), but %v", ids, err), hint: payout.NewHint("note the ids, and do not make it again")}
	}
	return err
}

func (o output[T]) list(items iter.Seq2[T, error]) error {
	err := o.view.List(&listWriter{ctx: o.s.ctx, w: o.s.io.Out}, o.s.out, func(yield func(T, error) bool) {
		for item, err := range items {
			o.s.spinner.stop()
			if !yield(item, err) {
				return
			}
		}
		o.s.spinner.stop()
	})
	if failed := (*render.WriteError)(nil); errors.As(err, &failed) && errors.Is(err, context.Canceled) {
		return context.Canceled // by a signal: the output is not to blame
	}
	return err
}

func (o output[T]) slice(items []T) error { return o.list(limited(items, 0)) }

// listWriter is standard output for a list, which may have no end. A reader that does not read must not keep the program from
// ending: after a signal, what is still written has drainTime to be read.
type listWriter struct {
	ctx  context.Context // of reads, which a signal ends
	w    io.Writer
	over <-chan struct{} // closed when drainTime has passed; nil: ctx has not ended
}

const drainTime = 500 * time.Millisecond

func (l *listWriter) Write(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	go func() {
		n, err := l.w.Write(p)
		written <- result{n, err}
	}()
	select {
	case r := <-written:
		return r.n, r.err
	case <-l.ctx.Done():
	}
	if l.over == nil {
		over := make(chan struct{})
		time.AfterFunc(drainTime, func() { close(over) })
		l.over = over
	}
	select {
	case r := <-written:
		return r.n, r.err
	case <-l.over:
		return 0, l.ctx.Err()
	}
}

func limited[T any](items []T, limit int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i, item := range items {
			if limit > 0 && i == limit || !yield(item, nil) {
				return
			}
		}
	}
}

// lineOptions is the output of a command that prints lines of JSON whatever format the others print.
func (s *session) lineOptions(command string) (render.Options, error) {
	if err := s.noDryRun(command); err != nil {
		return render.Options{}, err
	}
	if s.Origin("output") == "flag --output" && !isJSON(s.Output) {
		return render.Options{}, usageError(fmt.Sprintf("--output: %s prints JSON lines, not %s", command, s.Output), "leave it out")
	}
	o := s.out
	o.Format = render.JSONL
	return o, lineView().Check(o)
}

// tableOnTerminal reports whether a person is looking at a table, who is better served by a part of it.
func (s *session) tableOnTerminal() bool {
	return s.out.Format == render.Table && !s.Quiet && s.out.Filter == nil && s.Template == "" && terminal.Of(s.io.Out) != nil
}

// plain reports whether the output is a table with default settings, which a single line can replace.
func (s *session) plain() bool {
	return s.out.Format == render.Table && !s.Quiet && len(s.Columns) == 0
}

func isJSON(format string) bool { return slices.Contains([]string{"json", "jsonl"}, format) }

func lineView() render.View[[]byte] {
	return render.View[[]byte]{JSON: func(line []byte) []byte { return line }}
}
