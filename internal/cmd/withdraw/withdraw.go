// Package withdraw implements the commands of single withdrawals.
package withdraw

import (
	"errors"
	"fmt"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Command returns the withdraw command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group("withdraw", "Send single withdrawals, each at most once",
		createCommand(a), getCommand(a), listCommand(a), waitCommand(a), reconcileCommand(a), resolveCommand(a))
}

func getCommand(a *cmdutil.App) *cobra.Command {
	var orderID string
	cmd := cmdutil.NewCommand(a, cmdutil.One, views.Withdrawals, &cobra.Command{
		Use:   "get [ID]",
		Short: "Show one withdrawal with the history of its statuses",
		Long: `Show one withdrawal as the service has it. --order-id instead of ID looks the
id up in the journal.`,
		Example: `  till withdraw get 7c9e6679-7425-40de-944b-e07fc1f90ae7 -o json
  till withdraw get --order-id 5001`,
		Args: cmdutil.OptionalArg("ID"),
	}, func(s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], args []string) error {
		client, id, err := oneWithdrawal(s, args, orderID)
		if err != nil {
			return err
		}
		w, err := client.Withdrawals.Get(s.Ctx, id)
		if err == nil {
			err = cmdutil.AboutThis("withdrawal", id, w.ID)
		}
		if err != nil {
			return notFound(err, cmdutil.FirstOf(args), orderID)
		}
		return out.One(w)
	})
	cmd.Flags().StringVar(&orderID, "order-id", "", "the withdrawal that the journal has under this order id")
	return cmd
}

// notFound adds a hint if the service does not know the withdrawal: about its order, or about --order-id if
// the id looks like an order id.
func notFound(err error, id, orderID string) error {
	call := (*api.Error)(nil)
	if !errors.As(err, &call) || call.Outcome != api.Rejected || cmdutil.Explain(err).Code != cmdutil.ExitRejected {
		return err
	}
	f := &cmdutil.Error{Code: cmdutil.ExitRejected, Err: err, Msg: err.Error()}
	switch {
	case orderID != "":
		f.Hint = payout.NewHint("find out what became of the order with", "withdraw", "reconcile", orderID)
	case api.CheckOrderID(id) == nil:
		f.Hint = payout.NewHint("if "+id+" is an order id", "withdraw", "get", "--order-id", id)
	default:
		return err
	}
	return f
}

// oneWithdrawal returns the withdrawal of a command, named by its id or by its order id in the journal.
func oneWithdrawal(s *cmdutil.Session, args []string, orderID string) (*api.Client, string, error) {
	cmd := s.Cmd
	switch {
	case len(args) == 0 && orderID == "":
		return nil, "", cmdutil.HelpError(cmd, cmdutil.CommandName(cmd)+" needs ID, or --order-id N", "")
	case len(args) > 0 && orderID != "":
		return nil, "", cmdutil.UsageError(cmdutil.CommandName(cmd)+": ID and --order-id both name a withdrawal", "leave one out")
	}
	s.Subject = cmdutil.About{ID: cmdutil.FirstOf(args), OrderID: orderID}
	if orderID != "" {
		if err := api.CheckOrderID(orderID); err != nil {
			return nil, "", cmdutil.UsageError("--order-id: "+err.Error(), "")
		}
		if s.DryRun {
			return nil, "",
				cmdutil.UsageError("--dry-run: which withdrawal has the order id "+orderID+" is in the journal, and a dry run leaves that alone", "give ID instead")
		}
	}
	client, err := s.Client()
	if err != nil || orderID == "" {
		return client, cmdutil.FirstOf(args), err
	}
	j, err := s.JournalToList()
	if j == nil && err == nil {
		err = cmdutil.NoOrder(orderID)
	}
	if err != nil {
		return nil, "", err
	}
	ledger, err := s.LedgerOf(j, client)
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

// notAccepted explains why there is no withdrawal for an order.
func notAccepted(o payout.Order) error {
	state := string(o.State)
	f := &cmdutil.Error{Code: cmdutil.ExitUsage, Hint: payout.NewHint("see its history", "journal", "show", o.OrderID)}
	switch o.State {
	case payout.StateUnknown:
		f.Code, f.Hint = cmdutil.ExitUnknown,
			payout.NewHint("find out whether it was taken", "withdraw", "reconcile", o.OrderID)
	case payout.StateSending:
		f.Code, f.Hint = cmdutil.ExitBusy, payout.NewHint("another process is sending it: wait for that")
	case payout.StateConflict:
		f.Code, state = cmdutil.ExitConflict, "in conflict"
	}
	f.Msg = fmt.Sprintf("order %s is %s in the journal, so there is no withdrawal to look at", o.OrderID, state)
	return f
}
