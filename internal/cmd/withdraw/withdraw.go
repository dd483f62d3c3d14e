// Package withdraw implements the commands of single withdrawals.
package withdraw

import (
	"context"
	"fmt"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/orders"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Command returns the withdraw command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("withdraw", "Send single withdrawals, each at most once",
		createCommand(a), getCommand(a), listCommand(a), waitCommand(a), reconcileCommand(a),
		orders.ResolveCommand(a, "Record what a person knows about an order"))
}

func getCommand(a *cmdutil.App) *cobra.Command {
	return readCommand(a, &cobra.Command{
		Use:   "get [ID]",
		Short: "Show one withdrawal with the history of its statuses",
	}, func(s *cmdutil.Session, client *api.Client, id string) (api.Withdrawal, error) {
		w, err := client.Withdrawals.Get(s.Ctx, id)
		if err == nil {
			err = cmdutil.AboutThis("withdrawal", id, w.ID)
		}
		return w, err
	})
}

// readCommand completes a command that prints the withdrawal that read gets from the service.
func readCommand(
	a *cmdutil.App, cmd *cobra.Command, read func(s *cmdutil.Session, client *api.Client, id string) (api.Withdrawal, error),
) *cobra.Command {
	var orderID string
	cmdutil.NewCommand(a, cmdutil.One, views.Withdrawals, cmd,
		func(s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], args []string) error {
			client, id, err := oneWithdrawal(s, args, orderID)
			if err != nil {
				return err
			}
			w, err := read(s, client, id)
			if err != nil {
				return notFound(s.Cmd, err, cmdutil.FirstOf(args), orderID)
			}
			return out.One(w)
		})
	cmd.Flags().StringVar(&orderID, "order-id", "", "the withdrawal that the journal has under this order id")
	cmdline.Offer(cmd, "order-id", a.CompleteOrders(payout.StateAccepted))
	return cmd
}

// notFound adds a hint if the service does not know the withdrawal: about its order, or about --order-id if
// the id looks like an order id.
func notFound(cmd *cobra.Command, err error, id, orderID string) error {
	if exit.Explain(err).Code != exit.Rejected {
		return err
	}
	hint := payout.NewHint("find out what became of the order with", "withdraw", "reconcile", orderID)
	if orderID == "" {
		if api.CheckOrderID(id) != nil {
			return err
		}
		hint = payout.NewHint("if "+id+" is an order id", "withdraw", cmd.Name(), "--order-id", id)
		if status, _ := cmd.Flags().GetStringSlice("status"); len(status) > 0 {
			hint.Command = append(hint.Command, "--status", strings.Join(status, ","))
		}
	}
	return &exit.Error{Code: exit.Rejected, Err: err, Msg: err.Error(), Hint: hint}
}

// oneWithdrawal returns the withdrawal of a command, named by its id or by its order id in the journal.
func oneWithdrawal(s *cmdutil.Session, args []string, orderID string) (*api.Client, string, error) {
	cmd := s.Cmd
	switch {
	case len(args) == 0 && orderID == "":
		return nil, "", cmdline.HelpError(cmd, cmdline.CommandName(cmd)+" needs ID, or --order-id N", "")
	case len(args) > 0 && orderID != "":
		return nil, "", exit.UsageError(cmdline.CommandName(cmd)+": ID and --order-id both name a withdrawal", "leave one out")
	}
	s.Subject = exit.About{ID: cmdutil.FirstOf(args), OrderID: orderID}
	if orderID != "" {
		if err := api.CheckOrderID(orderID); err != nil {
			return nil, "", exit.UsageError("--order-id: "+err.Error(), "")
		}
		if s.DryRun {
			return nil, "",
				exit.UsageError("--dry-run: which withdrawal has the order id "+orderID+" is in the journal, and a dry run leaves that alone", "give ID instead")
		}
	}
	client, err := s.Client()
	if err != nil || orderID == "" {
		return client, cmdutil.FirstOf(args), err
	}
	ledger, err := s.LedgerToList()
	if ledger == nil && err == nil {
		err = cmdutil.NoOrder(orderID)
	}
	if err != nil {
		return nil, "", err
	}
	o, err := ledger.Order(s.Ctx, orderID)
	if err == nil && o.ID == "" {
		err = notAccepted(o)
	}
	s.Subject.ID = o.ID
	return client, o.ID, err
}

func notAccepted(o payout.Order) error {
	ended := func(code int, state, hint string, command ...string) error {
		return exit.Failure(code, nil,
			fmt.Sprintf("order %s is %s in the journal, so there is no withdrawal to look at", o.OrderID, state), hint, command...)
	}
	switch o.State {
	case payout.StateUnknown:
		return ended(exit.Unknown, "unknown", "find out whether it was taken", "withdraw", "reconcile", o.OrderID)
	case payout.StateSending:
		return ended(exit.Busy, "sending", "another process is sending it: wait for that")
	case payout.StateConflict:
		return ended(exit.Conflict, "in conflict", "see its history", "journal", "show", o.OrderID)
	}
	return ended(exit.Usage, string(o.State), "see its history", "journal", "show", o.OrderID)
}

func listCommand(a *cmdutil.App) *cobra.Command {
	return orders.ListCommand(a, &cobra.Command{
		Use:   "list",
		Short: "List withdrawals, the whole list or a part of it",
	}, func(*cmdutil.Session, *api.Client, []string) (reseller string, err error) { return "", nil })
}

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	cmd := readCommand(a, &cobra.Command{
		Use:   "wait [ID] --status S[,S]",
		Short: "Wait until a withdrawal reaches a status",
	}, func(s *cmdutil.Session, client *api.Client, id string) (api.Withdrawal, error) {
		flags.Show = []string{"withdraw", "get", id}
		return cmdutil.Wait(s, flags, "withdrawal "+id, func(ctx context.Context, wait api.Wait) (api.Withdrawal, error) {
			return client.Withdrawals.WaitFor(ctx, id, wait)
		})
	})
	cmdutil.AddWaitFlags(cmd, &flags)
	cmdutil.AddFinishFlags(cmd)
	cmdline.Require(cmd, "status")
	return cmd
}

func reconcileCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, orders.ReconciledView, &cobra.Command{
		Use:               "reconcile [ORDER]",
		Short:             "Find out from the service's list what became of an order",
		ValidArgsFunction: a.CompleteUndecided(),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Result], args []string) error {
		if err := cmdutil.CheckOrderIDs(args); err != nil {
			return err
		}
		s.Subject = exit.AboutOrders(args...)
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
				s.NoteAbout(exit.About{OrderID: r.Order.OrderID, ID: r.Order.ID}, "order %s: %s",
					r.Order.OrderID, r.Note)
			}
		}
		return exit.WithPrintError(orders.Reconciled(results, "withdraw", "resolve"), printed)
	})
}
