// Package journal has the commands that show, compare, copy and rename the journal. They do all of it with
// pkg/payout.
package journal

import (
	"iter"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/place"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Command returns the journal command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("journal", "Show and check the record of what was sent",
		listCommand(a), showCommand(a), checkCommand(a), exportCommand(a), copyCommand(a), pathCommand(a),
		freezeCommand(a), unfreezeCommand(a), approvalsCommand(a), adoptKeyCommand(a), adoptMerchantCommand(a), renameCommand(a))
}

// noted completes a command that prints nothing but notes.
func noted(a *cmdutil.App, cmd *cobra.Command, run func(*cmdutil.Session, []string) error) *cobra.Command {
	cmd.RunE = a.WithSession(run)
	return cmd
}

func reasonFlag(cmd *cobra.Command, reason *string, usage string) *cobra.Command {
	cmd.Flags().StringVar(reason, "reason", "", usage)
	return cmd
}

type pathLine struct {
	Path string `json:"path" column:"own: file or address of the journal"`
}

func pathCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, cmdutil.StructView[pathLine]("path"), &cobra.Command{
		Use:   "path",
		Short: "Print where the journal is kept",
	}, func(s *cmdutil.Session, out cmdutil.Output[pathLine], _ []string) error {
		if s.Journal == "" {
			return &config.Error{Msg: "the journal has no place: " + s.NoHome(),
				Advice: "name a file in TILL_JOURNAL"}
		}
		path := place.Redact(s.Journal)
		if s.Plain() { // unquoted and unescaped: a script passes it to another program
			return s.Write(path + "\n")
		}
		return out.One(pathLine{path})
	})
}

func exportCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Prints[exportedLine](a, cmdutil.List, noted(a, &cobra.Command{
		Use:   "export",
		Short: "Print everything in the journal, of every account",
	}, func(s *cmdutil.Session, _ []string) error {
		options, err := s.LineOptions()
		if err != nil {
			return err
		}
		if s.Output == "json" {
			options.Format = render.JSON
		}
		j, err := s.JournalToList()
		if err != nil {
			return err
		}
		view := render.View[exportedLine]{JSON: render.Value[exportedLine]()}
		return view.List(s.IO.Out, options, exportAll(s, j))
	}))
}

type exportedLine struct {
	Account payout.Account `json:"account"`
	views.HistoryLine
	Demands []demandLine `json:"demands,omitempty"` // of the account, the oldest first: only in its first line
}

func exportAll(s *cmdutil.Session, j *payout.Journal) iter.Seq2[exportedLine, error] {
	return func(yield func(exportedLine, error) bool) {
		if j == nil {
			return
		}
		var account payout.Account
		var consents map[int64]*views.ApprovalLine // of that account
		for e, err := range j.Export(s.Ctx) {
			line := exportedLine{Account: e.Account, HistoryLine: views.NewHistoryLine(s.Money, e.Order, e.Events)}
			if err == nil && (consents == nil || e.Account != account) {
				account = e.Account
				line.Demands, consents, err = demanded(s, j.Ledger(account))
			}
			line.Approval = consents[e.Order.Consent()]
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

func demanded(s *cmdutil.Session, l *payout.Ledger) (lines []demandLine, consents map[int64]*views.ApprovalLine, err error) {
	demands, err := l.Demands(s.Ctx)
	if err == nil {
		consents, err = cmdutil.ConsentsOf(s.Ctx, l)
	}
	for _, d := range demands {
		lines = append(lines, newDemandLine(s.Money, d))
	}
	return lines, consents, err
}

func copyCommand(a *cmdutil.App) *cobra.Command {
	return noted(a, &cobra.Command{
		Use:               "copy DEST",
		Short:             "Write a consistent copy of the journal",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, args []string) error {
		if err := place.Check(args[0]); err != nil {
			return exit.UsageError("DEST: "+err.Error(), "")
		}
		if place.Redact(args[0]) != args[0] {
			return exit.UsageError("DEST has a password, and other users can read a command line",
				"put the password into ~/.pgpass")
		}
		j, err := s.ExistingJournal()
		if err != nil {
			return err
		}
		if err := j.Copy(s.Ctx, args[0]); err != nil {
			return err
		}
		return s.Note("the journal is copied to %s", args[0])
	})
}
