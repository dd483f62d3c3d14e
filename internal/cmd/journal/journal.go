// Package journal has the commands that show, compare, copy and rename the journal. They do all of it with
// pkg/payout.
package journal

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// Command returns the journal command.
func Command(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.Group("journal", "Show and check the record of what was sent",
		listCommand(a), showCommand(a), checkCommand(a), exportCommand(a), copyCommand(a), pathCommand(a),
		freezeCommand(a), unfreezeCommand(a), approvalsCommand(a), adoptKeyCommand(a), adoptMerchantCommand(a), renameCommand(a))
	cmd.Long = `Show and check the record of what was sent: an SQLite file on this machine, or
a PostgreSQL database that several machines share (see TILL_JOURNAL in till
help environment). The commands show the rows of one account: the account of
the profile at its address, or the sandbox in use.`
	return cmd
}

// noted completes a command that prints nothing but notes.
func noted(a *cmdutil.App, cmd *cobra.Command, run func(*cmdutil.Session, []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.Start(cmd)
		if err != nil {
			return err
		}
		return run(s, args)
	}
	return cmd
}

// reasonFlag adds the flag for the reason of a decision.
func reasonFlag(cmd *cobra.Command, reason *string, usage string) *cobra.Command {
	cmd.Flags().StringVar(reason, "reason", "", usage)
	return cmd
}

func pathCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, pathView, &cobra.Command{
		Use:     "path",
		Short:   "Print where the journal is kept",
		Example: `  till journal path`,
	}, func(s *cmdutil.Session, out cmdutil.Output[string], _ []string) error {
		if s.Journal == "" {
			return &config.Error{Msg: "the journal has no place: " + s.NoHome(),
				Advice: "name a file in TILL_JOURNAL"}
		}
		path := config.RedactJournal(s.Journal)
		if s.Plain() { // unquoted and unescaped: a script passes it to another program
			return s.Write(path + "\n")
		}
		return out.One(path)
	})
}

func pathView(money.Registry) render.View[string] {
	return cmdutil.PathView("file or address of the journal")
}
