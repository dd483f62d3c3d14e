package cli

import (
	"errors"
	"fmt"

	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func withdrawCommand(a *app) *cobra.Command {
	return group("withdraw", "Pay out from the merchant's balance",
		withdrawCreate(a), withdrawGet(a), withdrawList(a), withdrawWait(a), withdrawReconcile(a), withdrawResolve(a))
}

func withdrawGet(a *app) *cobra.Command {
	var orderID string
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show one withdrawal with the history of its statuses",
		Long: `Show one withdrawal as the service has it. With --order-id instead of ID, the
journal says which one is meant.`,
		Example: `  till withdraw get 7c9e6679-7425-40de-944b-e07fc1f90ae7 -o json
  till withdraw get --order-id 4711`,
		Args: optionalArg("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := begin(a, cmd, views.Withdrawals)
			if err != nil {
				return err
			}
			client, id, err := oneWithdrawal(s, cmd, args, orderID)
			if err != nil {
				return err
			}
			w, err := client.Withdrawals.Get(s.ctx, id)
			if err == nil {
				err = aboutThis("withdrawal", id, w.ID)
			}
			if err != nil {
				return perhapsOrderID(err, firstOf(args))
			}
			return out.one(w)
		},
	}
	cmd.Flags().StringVar(&orderID, "order-id", "", "the withdrawal that the journal has under this order id")
	return shows(cmd, views.Withdrawals)
}

// perhapsOrderID hints at --order-id where a withdrawal was not found and its id looks like an order
// id.
func perhapsOrderID(err error, id string) error {
	call := (*api.Error)(nil)
	if !errors.As(err, &call) || call.Outcome != api.Rejected || explain(err).code != exitRejected || api.CheckOrderID(id) != nil {
		return err
	}
	return &failure{code: exitRejected, err: err, msg: err.Error(), hint: payout.NewHint("if "+id+" is an order id", "withdraw", "get", "--order-id", id)}
}

// oneWithdrawal is which withdrawal a command is about, named by its id or by its order id in the journal.
func oneWithdrawal(s *session, cmd *cobra.Command, args []string, orderID string) (*api.Client, string, error) {
	switch {
	case len(args) == 0 && orderID == "":
		return nil, "", usageError(commandName(cmd)+" needs ID, or --order-id N", helpHint(cmd))
	case len(args) > 0 && orderID != "":
		return nil, "", usageError(commandName(cmd)+": ID and --order-id both name a withdrawal", "leave one out")
	}
	s.subject = about{ID: firstOf(args), OrderID: orderID}
	if orderID != "" {
		if err := api.CheckOrderID(orderID); err != nil {
			return nil, "", usageError("--order-id: "+err.Error(), "")
		}
		if s.DryRun {
			return nil, "", usageError("--dry-run: which withdrawal has the order id "+orderID+" is in the journal, and a dry run leaves that alone", "give ID instead")
		}
	}
	client, err := s.client()
	if err != nil || orderID == "" {
		return client, firstOf(args), err
	}
	o, err := orderInJournal(s, client, orderID)
	if err != nil {
		return nil, "", err
	}
	if o.ID == "" {
		return nil, "", notAccepted(o)
	}
	s.subject.ID = o.ID
	return client, o.ID, nil
}

func orderInJournal(s *session, client *api.Client, orderID string) (payout.Order, error) {
	j, err := s.journalToList()
	if j == nil && err == nil {
		err = noOrder(orderID)
	}
	if err != nil {
		return payout.Order{}, err
	}
	account, _, err := s.account(client)
	if err != nil {
		return payout.Order{}, err
	}
	return j.Ledger(account).Order(s.ctx, orderID)
}

// notAccepted says why there is no withdrawal to look at.
func notAccepted(o payout.Order) error {
	f := &failure{code: exitUsage, msg: fmt.Sprintf("order %s is %s in the journal, so there is no withdrawal to look at", o.OrderID, inWords(o.State)), hint: payout.NewHint("see its story", "journal", "show", o.OrderID)}
	switch o.State {
	case payout.StateUnknown:
		f.code, f.hint = exitUnknown, payout.NewHint("find out whether it was taken", "withdraw", "reconcile", o.OrderID)
	case payout.StateSending:
		f.code, f.hint = exitBusy, payout.NewHint("another process is sending it: wait for that")
	case payout.StateConflict:
		f.code = exitConflict
	}
	return f
}

// inWords is a state as a sentence has it.
func inWords(s payout.State) string {
	if s == payout.StateConflict {
		return "in conflict"
	}
	return string(s)
}
