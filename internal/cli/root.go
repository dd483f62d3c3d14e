package cli

import (
	"io"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// root returns the tree of commands.
//
// Building a command takes as long as running it. So root builds only the commands that args, the command
// line, names. It builds all of them if args names none or if help may need them.
func root(a *cmdutil.App, args ...string) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:               "till",
		Short:             "Pay out, invoice and look after resellers, from the command line",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cmdline.UnknownCommand(root(a), args[0])
			}
			if version {
				return versionCommand(a).RunE(cmd, nil)
			}
			if cmd.Flags().NFlag() > 0 && !cmd.Flags().Changed("color") {
				return exit.UsageError("a command is missing", "see the commands", "--help")
			}
			return a.Write(overview(a, cmd))
		},
	}
	root.Flags().BoolVar(&version, "version", false, "show the version of till")
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if _, err := io.WriteString(cmd.OutOrStdout(), helpPage(a, cmd)); err != nil {
			a.Helped = &render.WriteError{Err: err}
		}
	})
	root.SetIn(a.IO.In)
	root.SetOut(a.IO.Out)
	root.SetErr(a.IO.Err)
	config.AddFlags(root.PersistentFlags())
	root.SetFlagErrorFunc(flagError)
	for _, build := range commands(args) {
		root.AddCommand(build(a))
	}
	root.SetHelpCommand(help(a, root))
	completeGlobals(a, root)
	prepare(a, root, deeds())
	return root
}

// prepare gives every command of the complete tree what all commands share.
func prepare(a *cmdutil.App, cmd *cobra.Command, deeds map[string]string) {
	if does, runs := deeds[cmdline.CommandName(cmd)]; runs {
		cmdline.Annotate(cmd, does)
	}
	describe(cmd)
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().SortFlags = false
	countFlags(cmd.Flags())
	if complete := cmd.ValidArgsFunction; complete != nil {
		if cmd.Args == nil {
			complete = cmdline.WithinUsage(complete)
		}
		cmd.ValidArgsFunction = cmdline.OnlyHarmless(complete)
	}
	if cmd.Args == nil {
		cmd.Args = cmdline.CheckArgs
	}
	cmd.PreRunE = checkGroups
	if cmd.Annotations[cmdutil.ColumnsKey] != "" {
		cmd.Args, cmd.PreRunE = orColumnsHelp(cmd.Args), orColumnsHelp(cmd.PreRunE)
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.JSON.Store(wantsJSON(a, cmd.Flags()))
			if err := checkFlags(cmd.Flags()); err != nil {
				return err
			}
			if err := checkStdin(cmd, args); err != nil {
				return err
			}
			a.Running, a.Began = true, a.IO.Now()
			return run(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		prepare(a, child, deeds)
	}
	if children := cmd.Commands(); cmd.Example == "" && len(children) > 0 {
		cmd.Example = children[0].Example
	}
}

// orColumnsHelp makes a check of arguments or flags answer --columns help where it fails. A command that
// could run answers by itself.
func orColumnsHelp(check func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		columns, _ := cmd.Flags().GetStringSlice("columns")
		if err == nil || len(columns) != 1 || columns[0] != "help" {
			return err
		}
		io.WriteString(cmd.OutOrStdout(), cmdutil.ColumnsHelp(cmd.Annotations[cmdutil.ColumnsKey]))
		return cmdutil.ErrDone
	}
}
