package payout

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/orders"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func reconcileCommand(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.NewCommand(a, cmdutil.List, orders.ReconciledView, &cobra.Command{
		Use:   "reconcile [RUN]",
		Short: "Find out from the service's list what became of a run",
		Long: `Read the service's list of withdrawals once for a whole run, and settle its
orders: an order that is listed as it was sent is accepted, and one that is
listed with other contents is in conflict (exit code 21). Accepted orders are
compared with the list too. The output shows the orders that were unknown, that
changed, that are in conflict, or that are accepted and not on the list.
Without RUN, it settles the unknown orders of all runs.

An order that is not listed stays unknown (exit code 20): the list can miss a
row, and a withdrawal can arrive late. If you know more than the list, use till
payout resolve.`,
		Example: `  till payout reconcile 1f60bd0c
  till payout reconcile`,
		Args: cmdutil.OptionalArg("RUN"),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Result], args []string) error {
		sender, err := askAboutRuns(s)
		if err != nil {
			return err
		}
		run, err := findRun(s, sender.Ledger, cmdutil.FirstOf(args))
		if err != nil {
			return err
		}
		settled, err := sender.ReconcileRun(s.Ctx, run.Name)
		if err != nil {
			return err
		}
		printed := out.Slice(settled.Results)
		if len(settled.Results) == 0 && run.Name == "" {
			s.Note("nothing is unknown")
		} else if len(settled.Results) == 0 {
			s.Note("nothing is unknown; %s compared with the list, and nothing differs",
				countWas(settled.Held, "order"))
		}
		noteSettled(s, settled)
		return cmdutil.WithPrintError(orders.Reconciled(settled.Results, "payout", "resolve"), printed)
	})
	cmdutil.AddFinishFlags(cmd)
	return cmd
}

// noteSettled says what the list does not show about the orders.
func noteSettled(s *cmdutil.Session, settled payout.Settled) {
	var hidden []string
	for _, r := range settled.Results {
		if r.Order.State == payout.StateAccepted && !r.Listed {
			hidden = append(hidden, r.Order.OrderID)
		}
	}
	if len(hidden) > 0 {
		s.NoteAbout(cmdutil.AboutOrders(hidden...), "%s accepted, and not on the service's list",
			cmdutil.IsOrAre("order", hidden))
	}
	if settled.Uncompared > 0 {
		s.Note("the amount of %s could not be compared: %s", cmdutil.CountOf(settled.Uncompared, "order"),
			settled.Note)
	}
	if settled.Sending > 0 {
		s.Note("another process is sending %s: that process will record the outcome",
			cmdutil.CountOf(settled.Sending, "order"))
	}
}

func resolveCommand(a *cmdutil.App) *cobra.Command {
	return orders.ResolveCommand(a, "Record what a person knows about rows of a run",
		"applying the plan again sends the order.",
		`  till payout resolve 5001 --paid-as 7c9e6679-7425-40de-944b-e07fc1f90ae7
  till payout resolve 5001 5002 --not-sent --reason "support, case 81" --yes`)
}
