package withdraw

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/orders"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func reconcileCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, orders.ReconciledView, &cobra.Command{
		Use:   "reconcile [ORDER]",
		Short: "Find out from the service's list what became of an order",
		Long: `Read the service's list of withdrawals, and settle the order: if it is listed
as it was sent, it is accepted, and if it is listed with other contents, it is
in conflict (exit code 21). Without ORDER, every unknown order of the account
is settled.

An order that is not listed stays unknown (exit code 20): the list can miss a
row, and a withdrawal can arrive late. If you know more than the list, use till
withdraw resolve.`,
		Example: `  till withdraw reconcile 5001
  till withdraw reconcile`,
		Args: cmdutil.OptionalArg("ORDER"),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Result], args []string) error {
		if err := cmdutil.CheckOrderIDs(args); err != nil {
			return err
		}
		s.Subject = cmdutil.AboutOrders(args...)
		sender, err := s.OpenSender()
		if err != nil {
			return err
		}
		results, err := sender.Reconcile(s.Ctx, args...)
		if err != nil {
			return err
		}
		if len(results) == 0 {
			s.Note("nothing is unknown")
		}
		printed := out.Slice(results)
		for _, r := range results {
			if r.Note != "" {
				s.NoteAbout(cmdutil.About{OrderID: r.Order.OrderID, ID: r.Order.ID}, "order %s: %s",
					r.Order.OrderID, r.Note)
			}
		}
		return cmdutil.WithPrintError(orders.Reconciled(results, "withdraw", "resolve"), printed)
	})
}

func resolveCommand(a *cmdutil.App) *cobra.Command {
	return orders.ResolveCommand(a, "Record what a person knows about an order", "the order can be sent again.",
		`  till withdraw resolve 5001 --paid-as 7c9e6679-7425-40de-944b-e07fc1f90ae7
  till withdraw resolve 5001 --not-sent --reason "support confirmed, case 81"`)
}
