package cmdutil

import (
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// Offer sets what completes the value of a flag.
func Offer(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	OfferOwn(cmd, flag, OnlyHarmless(complete))
}

// OfferOwn is offer for texts of till's own that are not harmless.
func OfferOwn(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	// The errors are a flag that is not declared and one that is offered for twice; neither is worth stopping a payment for.
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

// OnlyHarmless leaves out the offers that are not harmless, and those that differ from an earlier one in case, - and _ alone: readline
// can be told that these are the same, and then the common beginning of two such offers reaches into their descriptions.
func OnlyHarmless(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		offers, directive := complete(cmd, given, typed)
		var kept []string
		seen := map[string]bool{}
		for _, text := range offers {
			value, about, _ := strings.Cut(text, "\t")
			key := strings.ReplaceAll(strings.ToLower(value), "_", "-")
			if !Harmless(value) || seen[key] {
				continue
			}
			seen[key] = true
			kept = append(kept, WithText(value, about))
		}
		return kept, directive
	}
}

// Harmless reports whether a text is one word to every shell, whatever its options, and no flag: ASCII letters and digits and,
// after the first of them, some punctuation.
func Harmless(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte("-_.,/@+=", c) >= 0:
		default:
			return false
		}
	}
	return text != ""
}

// OfferFiles sets that names of files complete the value of a flag. Without it nothing does.
func OfferFiles(cmd *cobra.Command, flag string) { Offer(cmd, flag, FileNames) }

// FileNames is also for the ValidArgsFunction of a command whose arguments are files.
func FileNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// ColumnsKey is the annotation of a command that has the names of its columns.
const ColumnsKey = "till_columns"

// WithColumns notes which columns a command's output has, so that they can be offered without running the command.
func WithColumns[T any](cmd *cobra.Command, view func(money.Registry) render.View[T]) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[ColumnsKey] = strings.Join(view(money.NewRegistry()).Names(), ",")
	return cmd
}

// CompleteList completes the last name of a list with commas.
func CompleteList(names []string, typed string) []string {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	var offers []string
	for _, name := range names {
		if strings.HasPrefix(name, last) && !slices.Contains(strings.Split(before, ","), name) {
			offers = append(offers, before+name)
		}
	}
	return offers
}

// CompleteCurrencies sets that the currencies of the profile in use complete the value of a flag.
func (a *App) CompleteCurrencies(cmd *cobra.Command, flag string) {
	Offer(cmd, flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.CurrencyCodes(cmd, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

func (a *App) CurrencyCodes(cmd *cobra.Command, typed string) []string {
	settings, err := config.Resolve(a.Input(cmd))
	if err != nil {
		return nil
	}
	return CompleteCodes(settings.Registry.Entries(), typed)
}

// CompleteCodes keeps what was typed as it was typed, since a shell drops offers that begin otherwise, and case does not
// matter in a code.
func CompleteCodes(entries []money.Entry, typed string) []string {
	var offers []string
	for _, e := range entries {
		code := e.Currency().Code
		if len(code) < len(typed) || !strings.EqualFold(code[:len(typed)], typed) {
			continue
		}
		about := strings.ToLower(string(e.Kind))
		if e.Decimals != money.Unknown {
			about += fmt.Sprintf(", decimals %d", e.Decimals)
		}
		offers = append(offers, WithText(typed+code[len(typed):], about))
	}
	return offers
}

// WithText is an offer with words about it, which must not break out of their line.
func WithText(value, about string) string { return cobra.CompletionWithDesc(value, render.Safe(about)) }

// ProfileNames offers the profiles of the configuration, and the one that is built in.
func (a *App) ProfileNames(cmd *cobra.Command, typed string) []string {
	file, err := a.Input(cmd).Load()
	if err != nil {
		file = config.File{}
	}
	var offers []string
	for _, name := range append(file.Names(), config.Sandbox) {
		about := file.Profiles[name].Values["base_url"]
		if name == config.Sandbox {
			about = "built in"
		}
		if strings.HasPrefix(name, typed) {
			offers = append(offers, WithText(name, about))
		}
	}
	return offers
}
