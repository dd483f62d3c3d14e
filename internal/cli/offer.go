package cli

import (
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// offer sets what completes the value of a flag.
func offer(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	offerOwn(cmd, flag, onlyHarmless(complete))
}

// offerOwn is offer for texts of till's own that are not harmless.
func offerOwn(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	// The errors are a flag that is not declared and one that is offered for twice; neither is worth stopping a payment for.
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

// onlyHarmless leaves out the offers that are not harmless, and those that differ from an earlier one in case, - and _ alone: readline
// can be told that these are the same, and then the common beginning of two such offers reaches into their descriptions.
func onlyHarmless(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		offers, directive := complete(cmd, given, typed)
		var kept []string
		seen := map[string]bool{}
		for _, text := range offers {
			value, about, _ := strings.Cut(text, "\t")
			key := strings.ReplaceAll(strings.ToLower(value), "_", "-")
			if !harmless(value) || seen[key] {
				continue
			}
			seen[key] = true
			kept = append(kept, withText(value, about))
		}
		return kept, directive
	}
}

// harmless reports whether a text is one word to every shell, whatever its options, and no flag: ASCII letters and digits and,
// after the first of them, some punctuation.
func harmless(text string) bool {
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

// offerFiles sets that names of files complete the value of a flag. Without it nothing does.
func offerFiles(cmd *cobra.Command, flag string) { offer(cmd, flag, fileNames) }

// fileNames is also for the ValidArgsFunction of a command whose arguments are files.
func fileNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// columnsKey is the annotation of a command that has the names of its columns.
const columnsKey = "till_columns"

// shows notes which columns a command's output has, so that they can be offered without running the command.
func shows[T any](cmd *cobra.Command, view func(money.Registry) render.View[T]) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[columnsKey] = strings.Join(view(money.NewRegistry()).Names(), ",")
	return cmd
}

// completeList completes the last name of a list with commas.
func completeList(names []string, typed string) []string {
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

// completeCurrencies sets that the currencies of the profile in use complete the value of a flag.
func (a *app) completeCurrencies(cmd *cobra.Command, flag string) {
	offer(cmd, flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.currencyCodes(cmd, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

func (a *app) currencyCodes(cmd *cobra.Command, typed string) []string {
	settings, err := config.Resolve(a.input(cmd))
	if err != nil {
		return nil
	}
	return completeCodes(settings.Registry.Entries(), typed)
}

// completeCodes keeps what was typed as it was typed, since a shell drops offers that begin otherwise, and case does not
// matter in a code.
func completeCodes(entries []money.Entry, typed string) []string {
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
		offers = append(offers, withText(typed+code[len(typed):], about))
	}
	return offers
}

// withText is an offer with words about it, which must not break out of their line.
func withText(value, about string) string { return cobra.CompletionWithDesc(value, render.Safe(about)) }

// profileNames offers the profiles of the configuration, and the one that is built in.
func (a *app) profileNames(cmd *cobra.Command, typed string) []string {
	file, err := a.input(cmd).Load()
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
			offers = append(offers, withText(name, about))
		}
	}
	return offers
}
