package cli

import (
	"os"
	"slices"
	"strings"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// alone begins a command that has to work whatever the configuration says, or before there is one. It gets the flags and
// variables of the output and no others, so that nothing else can be wrong.
func alone[T any](a *app, cmd *cobra.Command, view func(money.Registry) render.View[T]) (*session, output[T], error) {
	bare := &cobra.Command{}
	for _, name := range outputFlags() {
		bare.PersistentFlags().AddFlag(cmd.Root().PersistentFlags().Lookup(name))
	}
	streams := a.io
	streams.Environ = func() []string {
		kept := []string{"TILL_CONFIG=" + os.DevNull}
		for _, entry := range a.io.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			if slices.Contains([]string{"TILL_OUTPUT", "NO_COLOR", "CLICOLOR_FORCE"}, name) {
				kept = append(kept, entry)
			}
		}
		return kept
	}
	return begin(&app{io: streams, ctx: a.ctx, sendCtx: a.sendCtx}, bare, view)
}

func outputFlags() []string {
	return []string{"output", "jq", "template", "columns", "sort", "no-headers", "quiet", "color"}
}

// untouched reports whether the output has no settings at all, so that there is nothing to work out.
func (a *app) untouched(cmd *cobra.Command) bool {
	return a.io.env("TILL_OUTPUT") == "" && !slices.ContainsFunc(outputFlags(), cmd.Flags().Changed)
}
