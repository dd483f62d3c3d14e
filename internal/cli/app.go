package cli

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

func (i IO) env(name string) string {
	value := ""
	for _, entry := range i.Environ() {
		if k, v, _ := strings.Cut(entry, "="); k == name {
			value = v
		}
	}
	return value
}

// app is one run of the program.
type app struct {
	io      IO
	ctx     context.Context // of everything but creates: the first signal ends it
	sendCtx context.Context // of creates: the second one does
	spinner spinner
	bar     atomic.Pointer[progress] // on the screen; nil: none
	keyFrom string                   // where the key of the calls comes from, once it is known
	box     *sandbox.Server          // the embedded sandbox, where one was opened
	journal *payout.Journal
	json    bool      // what is written to standard error is JSON too
	subject about     // what the command is about, once it is known
	others  noteLines // lines that are not till's own, under -o json
	running bool      // whether a command has begun; an error before that is one of usage
}

// errDone ends a command early, with nothing wrong.
var errDone = errors.New("done")

// write puts text on standard output.
func (a *app) write(text string) error {
	if _, err := io.WriteString(a.io.Out, text); err != nil {
		return &render.WriteError{Err: err}
	}
	return nil
}

// writeData is write for text whose content is not known. On a terminal it is escaped.
func (a *app) writeData(text string) error {
	if terminal.Of(a.io.Out) != nil {
		text = render.Screen(text)
	}
	return a.write(text)
}

// width is that of the terminal that data goes to, or 0.
func (a *app) width() int {
	out := terminal.Of(a.io.Out)
	if out == nil {
		return 0
	}
	return terminal.Width(out)
}

// trace is where --debug writes to.
func (a *app) trace() io.Writer {
	if a.json {
		return &a.others
	}
	return safeLines{a.io.Err}
}

// input is what the configuration is resolved from.
func (a *app) input(cmd *cobra.Command) config.Input {
	return config.Input{
		Flags:             cmd.Root().PersistentFlags(),
		Command:           cmd.Flags(),
		Env:               a.io.env,
		Home:              a.io.env("HOME"),
		SandboxCurrencies: sandboxCurrencies,
	}
}

func sandboxCurrencies() []money.Entry {
	var entries []money.Entry
	for _, c := range sandbox.Currencies() {
		entries = append(entries, money.Entry{Code: c.Code, Kind: api.Kind(c.Kind), Decimals: c.Decimals, MemoRequired: c.MemoRequired})
	}
	return entries
}
