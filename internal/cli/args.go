package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// group is a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: commands[0].Example,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usageError(fmt.Sprintf("%s needs a command after it: %s", commandName(cmd), strings.Join(childNames(cmd), ", ")), helpHint(cmd))
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

func childNames(cmd *cobra.Command) []string {
	var names []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return names
}

func unknownCommand(cmd *cobra.Command, name string) error {
	hint := helpHint(cmd)
	if near := nearTopics(cmd, name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	if !cmd.HasParent() {
		return usageError(fmt.Sprintf("there is no command %q", name), hint)
	}
	return usageError(fmt.Sprintf("%s has no command %q", commandName(cmd), name), hint)
}

func helpHint(cmd *cobra.Command) string { return "see: " + cmd.CommandPath() + " --help" }

// args requires exactly the arguments that it names.
func args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usageError(fmt.Sprintf("%s needs %s", commandName(cmd), strings.Join(names[len(args):], " and ")), helpHint(cmd))
		case len(args) > len(names):
			return usageError(fmt.Sprintf("%s: %q is one argument too many", commandName(cmd), args[len(names)]), helpHint(cmd))
		}
		for i, arg := range args {
			if strings.TrimSpace(arg) == "" {
				return usageError(fmt.Sprintf("%s: %s is empty", commandName(cmd), names[i]), unsetHint)
			}
		}
		return nil
	}
}

func noArgs(cmd *cobra.Command, given []string) error { return args()(cmd, given) }

// atMost allows one argument that may be left out.
func optionalArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			return nil
		}
		return args(name)(cmd, given)
	}
}

// nearTopics returns what a name was perhaps to be. Cobra compares with commands that can be run only, so all are, here.
func nearTopics(cmd *cobra.Command, name string) []string {
	runnable := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			runnable.AddCommand(&cobra.Command{Use: child.Name(), SuggestFor: child.SuggestFor, Run: func(*cobra.Command, []string) {}})
		}
	}
	return runnable.SuggestionsFor(name)
}

// commandName is a command without the name of the program, with which every error begins anyway.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// flagNames writes "--a, --b or --c".
func flagNames(names []string, last string) string {
	for i := range names {
		names[i] = "--" + names[i]
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
	}
	return names[0]
}

const unsetHint = "a variable of your script may be unset"

// The annotations of a command whose values are names of flags.
const (
	oneRequired = "one-required"
	oneAtMost   = "one-at-most"
)

// require, requireOne and exclude tell cobra, for completions, what checkGroups checks.
func require(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag is not declared
		}
	}
}

func requireOne(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsOneRequired(flags...)
	annotate(cmd, oneRequired, flags)
}

func exclude(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsMutuallyExclusive(flags...)
	annotate(cmd, oneAtMost, flags)
}

func annotate(cmd *cobra.Command, key string, flags []string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = strings.Join(flags, " ")
}
