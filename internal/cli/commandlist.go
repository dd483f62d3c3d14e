package cli

import (
	"cmp"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/schema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandsCommand returns the command that lists all commands. It reads them from the tree of commands alone.
func commandsCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.WithView(a, cmdutil.List, commandView, &cobra.Command{
		Use:   "commands",
		Short: "List all commands, for programs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, out, err := cmdutil.BeginAlone(a, cmd, commandView)
			if err != nil {
				return err
			}
			return out.Slice(commandLines(Tree()))
		},
	})
}

type commandLine struct {
	Command     string             `json:"command" column:"own whole: the command"` // with till
	About       string             `json:"about" column:"own: what it does"`
	Arguments   []cmdline.Argument `json:"arguments"`
	Flags       []flagLine         `json:"flags"`
	GlobalFlags []string           `json:"global_flags"` // those that it heeds
	Writes      []cmdline.Deed     `json:"writes" column:"own: what it may change: money, service, sandbox, files"`
	Asks        bool               `json:"asks" column:"value: whether it asks a person"`
	ExitCodes   []int              `json:"exit_codes" column:"own extra: the codes that it may end with"`
	Schema      string             `json:"schema,omitempty" column:"own extra: the name that till schema has for what it prints"`
}

type flagLine struct {
	Name     string `json:"name"`
	Letter   string `json:"letter,omitempty"`
	Takes    string `json:"takes,omitempty"` // a word for its value; a switch takes none
	Default  string `json:"default,omitempty"`
	About    string `json:"about"`
	Required bool   `json:"required"`
}

// commandLines returns the commands of a tree that can be run, in alphabetical order. The program itself is
// the first.
func commandLines(root *cobra.Command) []commandLine {
	all := []commandLine{lineOf(root)}
	all[0].Flags = append(all[0].Flags, linesOf(root.PersistentFlags())...)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			if cmdline.IsAnnotated(child) {
				all = append(all, lineOf(child))
			}
			walk(child)
		}
	}
	walk(root)
	slices.SortFunc(all, func(a, b commandLine) int { return cmp.Compare(a.Command, b.Command) })
	return all
}

func lineOf(cmd *cobra.Command) commandLine {
	line := commandLine{Command: cmd.CommandPath(), About: cmd.Short, Flags: linesOf(cmd.LocalNonPersistentFlags()),
		Arguments: cmdline.Arguments(cmd), GlobalFlags: append([]string{}, heeded(cmd)...),
		Writes: append([]cmdline.Deed{}, cmdline.Writes(cmd)...), Asks: cmdline.Does(cmd, cmdline.Asks),
		ExitCodes: cmdline.CodesOf(cmd)}
	if name := cmdline.CommandName(cmd); schema.Of(name) != nil {
		line.Schema = name
	}
	return line
}

// linesOf returns flags that have their word for what they take, as in Tree.
func linesOf(flags *pflag.FlagSet) []flagLine {
	lines := []flagLine{}
	flags.VisitAll(func(f *pflag.Flag) {
		_, about := pflag.UnquoteUsage(f)
		_, required := f.Annotations[cobra.BashCompOneRequiredFlag]
		line := flagLine{Name: f.Name, Letter: f.Shorthand, Default: f.DefValue, About: about, Required: required}
		if f.Value.Type() == "bool" {
			line.Default = strings.TrimPrefix(line.Default, "false")
		} else {
			line.Takes = f.Value.Type()
		}
		if !f.Hidden {
			lines = append(lines, line)
		}
	})
	return lines
}

// heeded returns the global flags that a command heeds, those of its output first.
func heeded(cmd *cobra.Command) (names []string) {
	for _, add := range []struct {
		heeds bool
		flags string
	}{
		{schema.Of(cmdline.CommandName(cmd)) != nil, "output jq template quiet"},
		{cmd.Annotations[cmdutil.ColumnsKey] != "", "columns sort csv-for locale no-headers"},
		{cmdline.Does(cmd, cmdline.Asks), "yes no-input"},
		{cmdline.Does(cmd, cmdline.DryRun), "dry-run"},
		{cmdline.Does(cmd, cmdline.Calls), "timeout retries debug api-key-file"},
		{cmdline.Does(cmd, cmdline.Journal), "journal"},
		{cmdline.IsAnnotated(cmd) && !cmdline.Does(cmd, cmdline.Alone), "profile sandbox base-url config"},
		{true, "color"},
	} {
		if add.heeds {
			names = append(names, strings.Fields(add.flags)...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { // a wait has a --timeout of its own
		return cmd.HasParent() && cmd.LocalNonPersistentFlags().Lookup(name) != nil
	})
}

func commandView(money.Registry) render.View[commandLine] {
	return render.Struct[commandLine]("command").Select("command", "writes", "asks", "exit_codes", "schema", "about")
}

// Tree returns all commands and topics with their help. It is for the man pages, which are made when till is
// built. The commands cannot be run.
func Tree() *cobra.Command {
	tree := root(&cmdutil.App{IO: cmdutil.IO{Environ: func() []string { return nil }}})
	nameFlags(tree)
	return tree
}

// nameFlags makes the flags of a tree that is not run say what they take.
func nameFlags(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(nameFlag)
	}
	for _, child := range cmd.Commands() {
		nameFlags(child)
	}
}
