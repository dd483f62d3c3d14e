package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.com/till/internal/money"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func withdrawCreate(a *app) *cobra.Command {
	var req api.CreateWithdrawal
	var currency, amount, minor string
	var duplicate bool
	cmd := &cobra.Command{
		Use:   "create --currency C --amount A --address ADDR",
		Short: "Ask for one withdrawal, sent at most once",
		Long: `Ask for one withdrawal. Before it is sent, it is recorded in the journal under
its order id, and its outcome is recorded when it is known. The same command
with the same order id never pays twice: it prints the id that is there, or
says what has to be settled first. Only after a definite no is it sent once
more.

When it ends with exit code 20, the outcome is unknown: it may have been paid.
Run what the message says, till withdraw reconcile ORDER: it reads the
service's own list.

If this journal has sent the order id before, has nothing accepted for the
account yet, or may have lost something, the service's list is asked first, and
with --lookup always in any case. Otherwise the journal alone decides, so one
that was restored from a backup pays again what was paid since: see till help
payouts.

Every withdrawal has an order id. Give your own with --order-id; otherwise one
is made and printed on standard error before anything is sent. A script that
may be run again wants its own.`,
		Example: `  till withdraw create --currency Btc --amount 0.015 \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 4711 --yes
  till withdraw create --currency Btc --amount "25.00 USD" \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, out, err := begin(a, cmd, views.Creations)
			if err != nil {
				return err
			}
			if err := withdrawalFrom(s, &req, currency, amount, minor); err != nil {
				return err
			}
			return createWithdrawal(s, req, duplicate, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&currency, "currency", "", "currency to withdraw, such as Btc or Usd")
	f.StringVar(&amount, "amount", "", `exact decimal amount, such as 0.015 or "25.00 USD"`)
	f.StringVar(&minor, "amount-minor", "", `amount in minor units, such as 1500000 or "2500 USD"`)
	f.StringVar(&req.Address, "address", "", "address that the money goes to")
	f.StringVar(&req.Memo, "memo", "", "memo of the transfer, required by some currencies")
	f.StringVar(&req.ExternalOrderID, "order-id", "", "your own number for it, from 1 to 9007199254740991")
	f.StringVar(&req.Callback, "callback", "", "URL to which the service sends its response about the withdrawal")
	f.BoolVar(&duplicate, "allow-duplicate", false, "send it although the same is unknown, or was sent a moment ago")
	addLookupFlags(cmd)
	require(cmd, "currency", "address")
	requireOne(cmd, "amount", "amount-minor")
	exclude(cmd, "amount", "amount-minor")
	a.completeCurrencies(cmd, "currency")
	return shows(cmd, views.Creations)
}

// withdrawalFrom fills in what takes the registry of currencies, and checks everything that can be checked here.
func withdrawalFrom(s *session, req *api.CreateWithdrawal, currency, amount, minor string) (err error) {
	if req.Currency, err = s.money.ParseCurrency(currency); err != nil {
		return fmt.Errorf("--currency: %w", err)
	}
	if minor != "" {
		if req.Amount, err = s.money.ParseMinor(minor, req.Currency); err != nil {
			return fmt.Errorf("--amount-minor: %w", err)
		}
	} else if req.Amount, err = s.money.ParseAmount(amount, req.Currency); err != nil {
		return fmt.Errorf("--amount: %w", err)
	}
	if s.money.LacksMemo(req.Currency, req.Memo) {
		return usageError("--memo: a withdrawal in "+req.Currency.Code+" needs a memo, or it may never arrive", "ask the receiver for it and add --memo MEMO")
	}
	if err := s.money.CheckAddress(req.Currency, req.Address); err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	return req.Validate()
}

// createWithdrawal is everything between a valid request and its printed id.
func createWithdrawal(s *session, req api.CreateWithdrawal, duplicate bool, out output[views.Created]) error {
	s.subject.OrderID = req.ExternalOrderID
	if err := s.Limits.Check(s.money, money.Payment{Currency: req.Currency, Amount: req.Amount, Address: req.Address}); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	if why := s.money.AddressWarning(req.Currency, req.Address); why != "" {
		s.note("warning: the address %s: %s", req.Address, why)
	}
	made := req.ExternalOrderID == ""
	options := []payout.SendOption{payout.CallUnder(s.sendCtx)}
	if made {
		req.ExternalOrderID = randomOrderID()
		options = append(options, payout.NewOrderID(s.DuplicateWindow))
	}
	if duplicate {
		options = append(options, payout.AllowDuplicate())
	}
	if s.DryRun { // the journal is left alone
		_, err := client.Withdrawals.Create(s.sendCtx, req)
		return err
	}
	sender, err := s.sender(client)
	if err != nil {
		return err
	}
	sent, found, err := sender.Existing(s.ctx, req, options...)
	if found || err != nil {
		return printSent(s, sent, err, out)
	}
	if err := announce(s, req, made); err != nil {
		return err
	}
	told := false
	var printed error
	options = append(options, payout.OnAccepted(func(o payout.Order) { told, printed = true, printID(s, o, out) }))
	err = s.send(func() bool { return sender.UnderWay() > 0 }, func() (err error) {
		sent, err = sender.Send(s.ctx, req, options...)
		return err
	})
	if told {
		if sent.Note != "" {
			s.note("%s", sent.Note)
		}
		return cmp.Or(err, printed)
	}
	if s.ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, new(*payout.Error)) {
		err = &failure{code: exitInterrupted, err: err, msg: "interrupted, and nothing was sent"}
	}
	return printSent(s, sent, err, out)
}

// announce asks, and prints the order id: without it the withdrawal could not be found again.
func announce(s *session, req api.CreateWithdrawal, made bool) error {
	if err := s.confirm(describe(s, req), "Send this withdrawal?"); err != nil {
		return err
	}
	s.subject.OrderID = req.ExternalOrderID
	if err := s.note("order id %s", req.ExternalOrderID); err != nil && made {
		return &failure{code: exitConfig, err: err, msg: fmt.Sprintf("the order id could not be shown (%v), and nothing was sent", err), hint: payout.NewHint("give one with --order-id, or free standard error")}
	}
	return nil
}

// printSent prints the id of what was accepted, also where something is wrong with it.
func printSent(s *session, sent payout.Sent, err error, out output[views.Created]) error {
	o := sent.Order
	if sent.Note != "" {
		s.note("%s", sent.Note)
	}
	if o.ID == "" || err != nil && o.State != payout.StateAccepted {
		return err
	}
	return cmp.Or(err, printID(s, o, out))
}

func printID(s *session, o payout.Order, out output[views.Created]) error {
	printed := out.made(views.Created{ID: o.ID, ExternalOrderID: o.OrderID}, o.ID, about{ID: o.ID, OrderID: o.OrderID}, "id "+o.ID+", order id "+o.OrderID)
	if lost, ok := errors.AsType[*failure](printed); ok && lost.code == exitOutput {
		lost.hint = payout.NewHint("the same command with --order-id " + o.OrderID + " prints it again and does not pay again")
	}
	return printed
}

// describe is what a person must see before money moves.
func describe(s *session, req api.CreateWithdrawal) []string {
	lines := []string{
		"profile   " + s.profileName(),
		"service   " + s.serviceName(),
		"withdraw  " + req.Currency.Code,
		"amount    " + s.money.Format(req.Amount) + s.minorUnits(req.Amount),
		"address   " + req.Address,
	}
	if req.Memo != "" {
		lines = append(lines, "memo      "+req.Memo)
	}
	for _, text := range s.Limits.Without(s.money) {
		lines = append(lines, "limits    "+text)
	}
	return append(lines, "order id  "+req.ExternalOrderID)
}
