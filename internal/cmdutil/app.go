// Package cmdutil is what the commands share: the program's surroundings and its settings, the way to the service and to the
// journal, what is printed on both streams, questions, waits, and errors with their exit codes.
package cmdutil

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// IO is everything that a command takes from its surroundings.
type IO struct {
	In      io.Reader
	Out     io.Writer // data, and nothing but data
	Err     io.Writer // everything else: errors, prompts, progress
	Environ func() []string
	Now     func() time.Time
}

func (i IO) Env(name string) string {
	value := ""
	for _, entry := range i.Environ() {
		if k, v, _ := strings.Cut(entry, "="); k == name {
			value = v
		}
	}
	return value
}

// App is one run of the program.
type App struct {
	IO      IO
	Ctx     context.Context // of everything but creates: the first signal ends it
	SendCtx context.Context // of creates: the second one does
	Spinner Spinner
	bar     atomic.Pointer[Progress] // on the screen; nil: none
	KeyFrom string                   // where the key of the calls comes from, once it is known
	box     *sandbox.Server          // the embedded sandbox, where one was opened
	journal *payout.Journal
	JSON    bool      // what is written to standard error is JSON too
	Subject About     // what the command is about, once it is known
	Others  NoteLines // lines that are not till's own, under -o json
	Running bool      // whether a command has begun; an error before that is one of usage
}

// ErrDone ends a command early, with nothing wrong.
var ErrDone = errors.New("done")

// Write puts text on standard output.
func (a *App) Write(text string) error {
	if _, err := io.WriteString(a.IO.Out, text); err != nil {
		return &render.WriteError{Err: err}
	}
	return nil
}

// WriteData is write for text whose content is not known. On a terminal it is escaped.
func (a *App) WriteData(text string) error {
	if terminal.Of(a.IO.Out) != nil {
		text = render.Screen(text)
	}
	return a.Write(text)
}

// width is that of the terminal that data goes to, or 0.
func (a *App) width() int {
	out := terminal.Of(a.IO.Out)
	if out == nil {
		return 0
	}
	return terminal.Width(out)
}

// trace is where --debug writes to.
func (a *App) trace() io.Writer {
	if a.JSON {
		return &a.Others
	}
	return safeLines{a.IO.Err}
}

// Input is what the configuration is resolved from.
func (a *App) Input(cmd *cobra.Command) config.Input {
	return config.Input{
		Flags:             cmd.Root().PersistentFlags(),
		Command:           cmd.Flags(),
		Env:               a.IO.Env,
		Home:              a.IO.Env("HOME"),
		SandboxCurrencies: SandboxCurrencies,
	}
}

func SandboxCurrencies() []money.Entry {
	var entries []money.Entry
	for _, c := range sandbox.Currencies() {
		entries = append(entries, money.Entry{Code: c.Code, Kind: api.Kind(c.Kind), Decimals: c.Decimals, MemoRequired: c.MemoRequired})
	}
	return entries
}
