package cmdline

import (
	"slices"
	"strings"
	"unicode"

	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// Offer sets the completion of a flag's value. Offers that are not harmless are left out.
func Offer(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	OfferOwn(cmd, flag, OnlyHarmless(complete))
}

// OfferOwn is like Offer, but it keeps till's own texts that are not harmless.
func OfferOwn(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	// The possible errors are a flag that is not declared and one that already has a completion. Neither is
	// worth stopping a payment for.
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

// OnlyHarmless drops offers that are not harmless. It also drops an offer that differs from an earlier one
// only in case or in - and _. Readline can be configured to treat these as equal, and then the common prefix
// of two such offers extends into their descriptions.
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

// Harmless reports whether a text is a single word in every shell, with any shell options, once its blanks are quoted,
// and not a flag. It may have letters and digits of any script and, except at the start, some punctuation of ASCII and
// blanks. What a shell could run is left out although scripts of today quote it: an older one may be loaded.
func Harmless(text string) bool {
	for i, r := range text {
		word := unicode.In(r, unicode.L, unicode.M, unicode.N) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
		if !word && (i == 0 || !strings.ContainsRune("-_.,/@+= ", r)) {
			return false
		}
	}
	return text != "" && strings.TrimSpace(text) == text
}

// OfferWords completes the value of a flag that is one of some words.
func OfferWords(cmd *cobra.Command, flag string, words ...string) {
	Offer(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// OfferFiles completes the values of flags with file names, which is not the default.
func OfferFiles(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		Offer(cmd, flag, FileNames)
	}
}

// FileNames completes file names. It also serves as the ValidArgsFunction of a command whose arguments are
// files.
var FileNames = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// WithinUsage offers only for arguments that the usage has.
func WithinUsage(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		if args := Arguments(cmd); len(given) > 0 && len(given) >= len(args) && !slices.ContainsFunc(args, func(a Argument) bool { return a.Repeats }) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, given, typed)
	}
}

// CompleteList completes the last name of a comma-separated list. A name may have a description, as in
// WithText.
func CompleteList(names []string, typed string) []string {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	var offers []string
	for _, offer := range names {
		name, _, _ := strings.Cut(offer, "\t")
		if strings.HasPrefix(name, last) && !slices.Contains(strings.Split(before, ","), name) {
			offers = append(offers, before+offer)
		}
	}
	return offers
}

// WithText returns an offer with a description, which must not contain line breaks.
func WithText(value, about string) string { return cobra.CompletionWithDesc(value, render.Safe(about)) }
