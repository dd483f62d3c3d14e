// Package cmdline has what a command says about its command line: its arguments, the flags that need or exclude
// each other, what a shell offers, and what the command does.
package cmdline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/exit"
	"example.com/till/internal/near"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Group returns a command that only has subcommands. They are listed and completed in this order, which is
// that of the work.
func Group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownCommand(cmd, args[0])
			}
			return HelpError(cmd, fmt.Sprintf("%s needs a command after it: %s", CommandName(cmd),
				strings.Join(childNames(cmd), ", ")), "")
		},
	}
	cmd.AddCommand(commands...)
	copy(cmd.Commands(), commands) // cobra has sorted its own slice by name now, and does not do so again
	cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	return cmd
}

func childNames(cmd *cobra.Command) []string {
	var names []string
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			names = append(names, child.Name())
		}
	}
	return names
}

// UnknownCommand returns the usage error for a name that is not a command of cmd.
func UnknownCommand(cmd *cobra.Command, name string) error {
	msg := fmt.Sprintf("there is no command %q", name)
	if cmd.HasParent() {
		msg = fmt.Sprintf("%s has no command %q", CommandName(cmd), name)
	}
	if meant := cmp.Or(otherWord(cmd, name), NearTopic(cmd, name)); meant != "" {
		return exit.UsageError(msg, meant)
	}
	return exit.UsageError(msg, "see the commands", append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
}

// otherWord asks whether a command was meant that has another word for name. If there is none below cmd, it
// returns "".
func otherWord(cmd *cobra.Command, name string) string {
	others := map[string][]string{
		"find":   {"withdraw list", "journal list"},
		"list":   {"withdraw list", "journal list"},
		"ls":     {"withdraw list", "journal list", "payout list", "invite list", "reseller list", "profile list"},
		"pay":    {"withdraw create", "payout apply"},
		"send":   {"withdraw create", "payout apply"},
		"show":   {"withdraw get", "journal show", "invoice get", "invite get", "reseller info"},
		"delete": {"profile remove", "currency remove"},
		"rm":     {"profile remove", "currency remove"},
	}
	var found []string
	for _, path := range others[name] {
		if path = "till " + path; strings.HasPrefix(path, cmd.CommandPath()+" ") && len(found) < 2 {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(found, " or ") + "?"
}

// HelpError returns an error about the command line. Without a hint, it names the command that shows the help.
func HelpError(cmd *cobra.Command, msg, hint string) error {
	if hint != "" {
		return exit.UsageError(msg, hint)
	}
	return exit.UsageError(msg, "see", append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
}

// Argument is an argument in the usage of a command.
type Argument struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Repeats  bool   `json:"repeats"`
}

// Arguments returns the arguments of a command, which its usage has before the flags.
func Arguments(cmd *cobra.Command) []Argument {
	args := []Argument{}
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word == "--" || word == "[flags]" {
			continue
		}
		if strings.HasPrefix(strings.TrimPrefix(word, "["), "--") { // and its value
			break
		}
		name, repeats := strings.CutSuffix(strings.ReplaceAll(word, "]...", "...]"), "...]")
		if !repeats {
			name, repeats = strings.CutSuffix(name, "...")
		}
		name, optional := strings.CutPrefix(strings.TrimSuffix(name, "]"), "[")
		args = append(args, Argument{name, !optional, repeats})
	}
	return args
}

// CheckArgs requires the arguments that the usage of a command names. It is the check of every command that has none
// of its own.
func CheckArgs(cmd *cobra.Command, given []string) error {
	args := Arguments(cmd)
	n := len(args)
	var missing []string
	for _, arg := range args[min(len(given), n):] {
		if arg.Required {
			missing = append(missing, arg.Name)
		}
	}
	switch {
	case len(missing) > 0:
		return HelpError(cmd, CommandName(cmd)+" needs "+strings.Join(missing, " and "), "")
	case len(given) > n && (n == 0 || !args[n-1].Repeats):
		return HelpError(cmd, fmt.Sprintf("%s: %q is an extra argument", CommandName(cmd), given[n]), unquoted(cmd, given, given[n]))
	}
	for i, text := range given {
		if strings.TrimSpace(text) == "" {
			return exit.UsageError(fmt.Sprintf("%s: %s is empty", CommandName(cmd), args[min(i, n-1)].Name), UnsetHint)
		}
	}
	return nil
}

// unquoted says how to write an amount or an age whose second word has become an extra argument. If it is
// neither, it returns "".
func unquoted(cmd *cobra.Command, args []string, extra string) string {
	if extra == "" || strings.Trim(strings.ToLower(extra), "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	isNumber := func(text string) bool { return text != "" && strings.Trim(text, "0123456789.") == "" }
	for _, name := range []string{"amount", "amount-minor"} {
		if f := cmd.Flags().Lookup(name); f != nil && isNumber(f.Value.String()) {
			return fmt.Sprintf("put the amount and its currency in quotes: --%s %q", name, f.Value.String()+" "+extra)
		}
	}
	for _, name := range []string{"from", "to"} {
		if f := cmd.Flags().Lookup(name); f != nil && isNumber(f.Value.String()) && strings.HasPrefix(extra, "day") {
			return fmt.Sprintf("write it as one word: --%s %sd", name, f.Value.String())
		}
	}
	if i := slices.Index(args, extra); i > 0 && isNumber(args[i-1]) {
		return fmt.Sprintf("put the amount and its currency in quotes: %q", args[i-1]+" "+extra)
	}
	return ""
}

// NearTopic asks whether a command or topic below cmd with a name near to name was meant. If there is none,
// it returns "".
func NearTopic(cmd *cobra.Command, name string) string {
	return near.Question(name, "", childNames(cmd))
}

// CommandName returns the path of a command without the program's name, which is already at the start of
// every error.
func CommandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// UnsetHint is the hint for an empty value.
const UnsetHint = "a variable of your script may be unset"

// Require marks flags as required. As with groups of flags, this tells cobra, for completions, what checkGroups in
// package cli checks.
func Require(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag is not declared
		}
	}
}

// SetAnnotation keeps a text with a command, for what looks at the tree of commands.
func SetAnnotation(cmd *cobra.Command, key, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = value
}

// StateNames returns the states of orders.
func StateNames() (names []string) {
	for _, state := range payout.States() {
		names = append(names, string(state))
	}
	return names
}

// ParseStates reads the values of --state.
func ParseStates(names []string) (states []payout.State, err error) {
	for _, name := range names {
		if known := StateNames(); !slices.Contains(known, name) {
			return nil, exit.UsageError(fmt.Sprintf("--state: there is no state %q", name),
				cmp.Or(near.Question(name, "", known), "the states are "+strings.Join(known, ", ")))
		}
		states = append(states, payout.State(name))
	}
	return states, nil
}
