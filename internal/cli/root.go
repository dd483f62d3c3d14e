package cli

import (
	"strings"

	"example.com/till/internal/config"
	"github.com/spf13/cobra"
)

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
