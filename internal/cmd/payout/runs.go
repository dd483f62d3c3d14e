package payout

import (
	"fmt"
	"iter"

	"example.com/till/internal/cmdutil"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func listCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, runView, &cobra.Command{
		Use:   "list",
		Short: "List the runs and the states of their orders",
		Long: `List the runs of the account, the oldest first: the plan, when, by whom and
where the run began, the number of orders in each state, and the totals. A run
is a plan that was applied at least once. Its name is the first eight
characters of the plan's digest.

With -o csv there is a line for each run and currency, so that a spreadsheet
can add up a column; without the columns total and accepted_total there is a
line for each run. till help runs describes the JSON.`,
		Example: `  till payout list
  till payout list -o csv >runs.csv
  till payout list --columns run,plan,unknown,conflict -o csv`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[runCounts], _ []string) error {
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		var runs []payout.Run
		if ledger != nil {
			if runs, err = ledger.Runs(s.Ctx); err != nil {
				return err
			}
		}
		if len(runs) == 0 {
			s.Note("no plan was applied yet")
		}
		return out.List(listRuns(s, ledger, runs, csvOfSums(out, "total", "accepted_total")))
	})
}

// askAboutRuns returns the sender for commands that ask the service.
func askAboutRuns(s *cmdutil.Session) (*payout.Sender, error) {
	if err := s.NoDryRun(cmdutil.CommandName(s.Cmd)); err != nil {
		return nil, err
	}
	return s.OpenSender()
}

// findRun finds a run by the first characters of its plan's digest: the eight that name it, or more. Without a
// name, all runs are meant.
func findRun(s *cmdutil.Session, ledger *payout.Ledger, name string) (run payout.Run, err error) {
	switch {
	case name == "":
	case ledger == nil:
		err = cmdutil.UsageError(fmt.Sprintf("there is no run %q in this account", name),
			"give the id of a run, not the name of its plan; see which there are", "payout", "list")
	default:
		run, err = ledger.Run(s.Ctx, name)
		s.Subject.Run = run.Name
	}
	return run, err
}

// rowsOf selects the orders of a run, or those of all runs.
func rowsOf(run payout.Run) payout.Filter {
	return payout.Filter{Run: run.Name, Runs: run.Name == ""}
}

// listRuns yields the runs or, by unit, each unit of them.
func listRuns(s *cmdutil.Session, ledger *payout.Ledger, runs []payout.Run, byUnit bool) iter.Seq2[runCounts, error] {
	return func(yield func(runCounts, error) bool) {
		for _, run := range runs {
			tallies, err := []payout.Tally{{}}, error(nil)
			if byUnit {
				tallies, err = ledger.TallyByUnit(s.Ctx, run.Name)
			} else {
				tallies[0], err = ledger.Tally(s.Ctx, run.Name)
			}
			then := s.Money
			if err == nil {
				then, err = cmdutil.SentWith(s.Ctx, s.Money, ledger, run.Name)
			}
			if err != nil {
				yield(runCounts{}, err)
				return
			}
			for _, t := range tallies {
				if !yield(runCounts{run: run, tally: t, byUnit: byUnit, money: then}, nil) {
					return
				}
			}
		}
	}
}
