package cmdutil

import (
	"os"
	"slices"
	"strings"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// BeginAlone begins a command that must work with any configuration, even a broken or missing one. It reads
// only the flags and variables of the output, so that no other setting can fail.
func BeginAlone[T any](
	a *App, cmd *cobra.Command, view func(money.Registry) render.View[T],
) (*Session, Output[T], error) {
	bare := &cobra.Command{}
	for _, name := range outputFlags() {
		bare.PersistentFlags().AddFlag(cmd.Root().PersistentFlags().Lookup(name))
	}
	streams := a.IO
	streams.Environ = func() []string {
		kept := []string{"TILL_CONFIG=" + os.DevNull}
		for _, entry := range a.IO.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			if slices.Contains([]string{"TILL_OUTPUT", "NO_COLOR", "CLICOLOR_FORCE"}, name) {
				kept = append(kept, entry)
			}
		}
		return kept
	}
	return Begin(&App{IO: streams, Ctx: a.Ctx, SendCtx: a.SendCtx}, bare, view)
}

func outputFlags() []string {
	return []string{"output", "jq", "template", "columns", "sort", "no-headers", "quiet", "color"}
}

// Untouched reports whether no output setting is given, so that the settings need not be resolved.
func (a *App) Untouched(cmd *cobra.Command) bool {
	return a.IO.Env("TILL_OUTPUT") == "" && !slices.ContainsFunc(outputFlags(), cmd.Flags().Changed)
}
