// Package cmdutil has what the commands share: the environment and the settings, the connection to the
// service and to the journal, the output on both streams, questions and waits.
package cmdutil

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/progress"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// IO is the environment of a command.
type IO struct {
	In      io.Reader
	Out     io.Writer // data only
	Err     io.Writer // everything else: errors, prompts, progress
	Environ func() []string
	Now     func() time.Time
}

// Env returns the value of an environment variable, or "" if it is not set. The last entry wins.
func (i IO) Env(name string) string {
	value := ""
	for _, entry := range i.Environ() {
		if k, v, _ := strings.Cut(entry, "="); k == name {
			value = v
		}
	}
	return value
}

// Home returns the home directory, or "" if there is none. Windows has another name for it, but a shell from Unix sets
// HOME there too. Elsewhere that name is not taken: a journal there would not know what was paid.
func (i IO) Home() string {
	if home := i.Env("HOME"); home != "" || runtime.GOOS != "windows" {
		return home
	}
	return i.Env("USERPROFILE")
}

// App is one run of the program.
type App struct {
	IO      IO
	Ctx     context.Context // for everything except creates; the first signal ends it
	SendCtx context.Context // for creates; the second signal ends it
	Spinner progress.Spinner
	Global  *pflag.FlagSet  // the global flags
	KeyFrom config.Origin   // where the key of the calls comes from, once known
	box     *sandbox.Server // the embedded sandbox, if one is open
	journal *payout.Journal
	JSON    atomic.Bool // whether standard error is JSON too
	Subject exit.About  // what the command is about, once known
	Others  NoteLines   // lines of traces and, under -o json, of other programs
	Running bool        // whether a command has begun; an earlier error is a usage error
	Helped  error       // of writing a help page, which cobra does not return

	// Printed gets what a command prints, as a Go type and its columns. The schemas are made from it. It is nil when
	// till runs.
	Printed func(cmd *cobra.Command, form Form, row reflect.Type, columns []render.Meaning)

	Began   time.Time        // when the command began
	Amounts []FinishedAmount // what the command has added up, for its report
	session *Session         // of the command, once its settings are known
	ledger  *payout.Ledger   // that the command uses, once known
	calls   callCounter
}

// ErrDone ends a command early without an error.
var ErrDone = errors.New("done")

// Close closes the journal and the sandbox at the end of the program. Both are consistent without it.
func (a *App) Close() {
	if a.journal != nil {
		a.journal.Close()
	}
	if a.box != nil {
		a.box.Close()
	}
}

// Write writes text to standard output.
func (a *App) Write(text string) error {
	a.Spinner.Stop()
	if _, err := io.WriteString(a.IO.Out, text); err != nil {
		return &render.WriteError{Err: err}
	}
	return nil
}

// WriteData writes text whose content is not known. It escapes the text on a terminal.
func (a *App) WriteData(text string) error {
	if terminal.Of(a.IO.Out) != nil {
		text = render.Screen(text)
	}
	return a.Write(text)
}

// Input returns the sources of the configuration.
func (a *App) Input(cmd *cobra.Command) config.Input {
	return config.Input{
		Ctx:               a.Ctx,
		Flags:             cmd.Root().PersistentFlags(),
		Command:           cmd.Flags(),
		Env:               a.IO.Env,
		Home:              a.IO.Home(),
		SandboxCurrencies: SandboxCurrencies,
	}
}

// SandboxCurrencies returns the currencies of the sandbox.
func SandboxCurrencies() []money.Entry {
	var entries []money.Entry
	for _, c := range sandbox.Currencies() {
		entries = append(entries,
			money.Entry{Code: c.Code, Kind: api.Kind(c.Kind), Decimals: c.Decimals, MemoRequired: c.MemoRequired})
	}
	return entries
}

// BeginAlone begins a command that must work with any configuration, even a broken or missing one. It reads
// only the flags and variables of the output, so that no other setting can fail.
func BeginAlone[T any](
	a *App, cmd *cobra.Command, view func(money.Registry) render.View[T],
) (*Session, Output[T], error) {
	bare := &cobra.Command{}
	for _, name := range outputFlags() {
		bare.PersistentFlags().AddFlag(cmd.Root().PersistentFlags().Lookup(name))
	}
	kept := slices.DeleteFunc(slices.Clone(a.IO.Environ()), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains([]string{"TILL_OUTPUT", "NO_COLOR", "CLICOLOR_FORCE"}, name)
	})
	streams := a.IO
	streams.Environ = func() []string { return append(kept, "TILL_CONFIG="+os.DevNull) }
	return Begin(&App{IO: streams, Ctx: a.Ctx, SendCtx: a.SendCtx, Global: a.Global}, bare, view)
}

func outputFlags() []string {
	return []string{"output", "jq", "template", "columns", "sort", "csv-for", "locale", "no-headers", "quiet", "color"}
}

// Untouched reports whether no output setting is given, so that the settings need not be resolved.
func (a *App) Untouched(cmd *cobra.Command) bool {
	return a.IO.Env("TILL_OUTPUT") == "" && !slices.ContainsFunc(outputFlags(), cmd.Flags().Changed)
}
