package cmdline

import (
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/exit"
	"github.com/spf13/cobra"
)

// Deed is something that a command may do besides printing.
type Deed string

// The deeds. The first four are what a command writes.
const (
	Money   Deed = "money"   // it sends money
	Service Deed = "service" // it creates or changes something else at the service
	Sandbox Deed = "sandbox" // it changes a sandbox
	Files   Deed = "files"   // it changes the journal, the configuration, or a file that it is told to write

	Asks    Deed = "asks"    // it asks a person, unless --yes or another flag answers
	Calls   Deed = "calls"   // it calls the service
	Journal Deed = "journal" // it uses the journal
	DryRun  Deed = "dry"     // it shows its requests with --dry-run
	Alone   Deed = "alone"   // it works with any configuration, even a broken one
)

// deedsKey is the annotation of a command with its deeds, and with those of its exit codes that do not follow
// from them.
const deedsKey = "till_deeds"

// Annotate tells a command what it does: deeds and exit codes, with spaces between.
func Annotate(cmd *cobra.Command, deeds string) { SetAnnotation(cmd, deedsKey, deeds) }

// Does reports whether a command may do something.
func Does(cmd *cobra.Command, d Deed) bool {
	return slices.Contains(strings.Fields(cmd.Annotations[deedsKey]), string(d))
}

// Writes returns what a command may change; nothing if it only reads.
func Writes(cmd *cobra.Command) []Deed {
	return slices.DeleteFunc([]Deed{Money, Service, Sandbox, Files}, func(d Deed) bool { return !Does(cmd, d) })
}

// Undeclared gets what a command does without saying so. Tests set it: a person is not stopped by a mistake in a
// list.
var Undeclared func(command string, d Deed)

// Declared notes that a command is about to do one of some things.
func Declared(cmd *cobra.Command, deeds ...Deed) {
	if Undeclared != nil && !slices.ContainsFunc(deeds, func(d Deed) bool { return Does(cmd, d) }) {
		Undeclared(CommandName(cmd), deeds[0])
	}
}

// CheckDryRun refuses --dry-run for a command that does something, but does not show its requests.
func CheckDryRun(cmd *cobra.Command) error {
	dry, _ := cmd.Flags().GetBool("dry-run")
	if !dry || cmd.Annotations[deedsKey] == "" || Does(cmd, DryRun) || Does(cmd, Alone) {
		return nil
	}
	return exit.UsageError(CommandName(cmd)+" has no dry run", "leave --dry-run out")
}

// CodesOf returns the exit codes that a command may end with, in ascending order.
func CodesOf(cmd *cobra.Command) []int {
	of := map[Deed][]int{
		Money:   {exit.Busy, exit.Conflict, exit.Refused, exit.Unknown, exit.Unreachable},
		Service: {exit.Refused, exit.Unknown, exit.Unreachable},
		Sandbox: {exit.Unknown, exit.Unreachable},
		Asks:    {exit.Refused, exit.Interrupted},
		Calls:   {exit.Rejected, exit.Unauthorized, exit.RateLimited, exit.ReadFailed, exit.Interrupted},
		// It asks a sandbox whose account it is.
		Journal: {exit.Journal, exit.Refused, exit.Rejected, exit.Unauthorized, exit.RateLimited, exit.ReadFailed, exit.Interrupted},
	}
	codes := []int{exit.Done, exit.Internal, exit.Usage, exit.Output}
	for _, word := range strings.Fields(cmd.Annotations[deedsKey]) {
		codes = append(codes, of[Deed(word)]...)
		if code, err := strconv.Atoi(word); err == nil {
			codes = append(codes, code)
		}
	}
	if !Does(cmd, Alone) {
		codes = append(codes, exit.Config)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// IsAnnotated reports whether a command can be run, and is not a group or a topic.
func IsAnnotated(cmd *cobra.Command) bool {
	_, annotated := cmd.Annotations[deedsKey]
	return annotated
}
