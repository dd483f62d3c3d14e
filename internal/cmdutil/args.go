package cmdutil

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group is a command that only holds others.
func Group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: commands[0].Example,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownCommand(cmd, args[0])
			}
			return UsageError(fmt.Sprintf("%s needs a command after it: %s", CommandName(cmd), strings.Join(childNames(cmd), ", ")), HelpHint(cmd))
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

func UnknownCommand(cmd *cobra.Command, name string) error {
	hint := HelpHint(cmd)
	if near := NearTopics(cmd, name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	if !cmd.HasParent() {
		return UsageError(fmt.Sprintf("there is no command %q", name), hint)
	}
	return UsageError(fmt.Sprintf("%s has no command %q", CommandName(cmd), name), hint)
}

func HelpHint(cmd *cobra.Command) string { return "see: " + cmd.CommandPath() + " --help" }

// Args requires exactly the arguments that it names.
func Args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return UsageError(fmt.Sprintf("%s needs %s", CommandName(cmd), strings.Join(names[len(args):], " and ")), HelpHint(cmd))
		case len(args) > len(names):
			return UsageError(fmt.Sprintf("%s: %q is an extra argument", CommandName(cmd), args[len(names)]), HelpHint(cmd))
		}
		for i, arg := range args {
			if strings.TrimSpace(arg) == "" {
				return UsageError(fmt.Sprintf("%s: %s is empty", CommandName(cmd), names[i]), UnsetHint)
			}
		}
		return nil
	}
}

func NoArgs(cmd *cobra.Command, given []string) error { return Args()(cmd, given) }

// atMost allows one argument that may be left out.
func OptionalArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			return nil
		}
		return Args(name)(cmd, given)
	}
}

// NearTopics returns what a name was perhaps to be. Cobra compares with commands that can be run only, so all are, here.
func NearTopics(cmd *cobra.Command, name string) []string {
	runnable := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			runnable.AddCommand(&cobra.Command{Use: child.Name(), SuggestFor: child.SuggestFor, Run: func(*cobra.Command, []string) {}})
		}
	}
	return runnable.SuggestionsFor(name)
}

// CommandName is a command without the name of the program, with which every error begins anyway.
func CommandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// FlagNames writes "--a, --b or --c".
func FlagNames(names []string, last string) string {
	for i := range names {
		names[i] = "--" + names[i]
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
	}
	return names[0]
}

const UnsetHint = "a variable of your script may be unset"

// The annotations of a command whose values are names of flags.
const (
	OneRequired = "one-required"
	OneAtMost   = "one-at-most"
)

// Require, requireOne and exclude tell cobra, for completions, what checkGroups checks.
func Require(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag is not declared
		}
	}
}

func RequireOne(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsOneRequired(flags...)
	annotate(cmd, OneRequired, flags)
}

func Exclude(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsMutuallyExclusive(flags...)
	annotate(cmd, OneAtMost, flags)
}

func annotate(cmd *cobra.Command, key string, flags []string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = strings.Join(flags, " ")
}
