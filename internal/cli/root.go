package cli

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"example.com/till/internal/config"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// app is one run of the program.
type app struct {
	io      IO
	ctx     context.Context // of everything but creates: the first signal ends it
	sendCtx context.Context // of creates: the second one does
	spinner spinner
	bar     atomic.Pointer[progress] // on the screen; nil: none
	keyFrom string                   // where the key of the calls comes from, once it is known
	box     *sandbox.Server          // the embedded sandbox, where one was opened
	journal *payout.Journal
	json    bool      // what is written to standard error is JSON too
	subject about     // what the command is about, once it is known
	others  noteLines // lines that are not till's own, under -o json
	running bool      // whether a command has begun; an error before that is one of usage
}

// root builds the tree of commands.
//
// args are those of the command line. Building a command costs as much as running it, so those that no argument names are
// left out, unless none is named or help may want them all.
func (a *app) root(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "till",
		Short: "Pay out, invoice and look after resellers, from the command line",
		Long: `till is the command line of a merchant payment service: withdrawals that are
sent at most once, invoices, and the administration of resellers. Data goes to
standard output, everything else to standard error.`,
		Example: `  till --sandbox invoice create --title "Order 1001" \
    --currency Usd --item Coffee=2.50
  till help exit-codes`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(a.root(), args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.io.In)
	root.SetOut(a.io.Out)
	root.SetErr(a.io.Err)
	config.AddFlags(root.PersistentFlags())
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(flagError)
	for _, build := range a.commands(args) {
		root.AddCommand(build())
	}
	root.AddCommand(helpTopics()...)
	root.SetHelpCommand(a.help(root))
	a.completeGlobals(root)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		a.completeArguments(root)
	}
	a.finish(root)
	return root
}

// commands returns what builds the commands that the arguments name, or all of them.
func (a *app) commands(args []string) map[string]func() *cobra.Command {
	all := map[string]func() *cobra.Command{
		"withdraw": a.withdraw, "invoice": a.invoice, "invite": a.invite, "reseller": a.reseller, "payout": a.payout, "api": a.api,
		"sandbox": a.sandbox, "callback": a.callback, "journal": a.journalCommand,
		"profile": a.profile, "auth": a.auth, "currency": a.currency, "config": a.config,
		"completion": a.completion, "version": a.version,
	}
	named := map[string]func() *cobra.Command{}
	for _, arg := range args {
		if arg == "help" || strings.HasPrefix(arg, cobra.ShellCompRequestCmd) {
			return all
		}
		if build, ok := all[arg]; ok {
			named[arg] = build
		}
	}
	if len(named) == 0 {
		return all
	}
	return named
}

// finish walks the tree once it is complete and gives every command what all of them share.
func (a *app) finish(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().SortFlags = false
	countFlags(cmd.Flags())
	if cmd.ValidArgsFunction != nil {
		cmd.ValidArgsFunction = onlyHarmless(cmd.ValidArgsFunction)
	}
	cmd.PreRunE = checkGroups
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.json = a.wantsJSON(cmd.Flags())
			if err := checkFlags(cmd.Flags()); err != nil {
				return err
			}
			if err := checkStdin(cmd, args); err != nil {
				return err
			}
			a.running = true
			return run(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		a.finish(child)
	}
}

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

// misused words an error that ended the run before a command began.
func (a *app) misused(root *cobra.Command, args []string, err error) error {
	if r := explain(err); r.code != exitInternal {
		return err
	}
	cmd, _, findErr := root.Find(args)
	if findErr != nil || cmd == nil {
		cmd = root
	}
	return flagError(cmd, err)
}

// usageTemplate is cobra's without the list of global flags, which would push every command's own off the screen.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 79 | trimTrailingWhitespaces}}{{end}}{{if .HasHelpSubCommands}}

Topics:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  till help {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags that every command has: till --help{{end}}
`
