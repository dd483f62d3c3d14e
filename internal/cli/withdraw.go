package cli

import (
	"fmt"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func (a *app) withdraw() *cobra.Command {
	return group("withdraw", "Pay out from the merchant's balance",
		a.withdrawCreate(), a.withdrawGet(), a.withdrawList(), a.withdrawWait())
}

func (a *app) withdrawCreate() *cobra.Command {
	var req api.CreateWithdrawal
	var currency, amount, minor string
	cmd := &cobra.Command{
		Use:   "create --currency C --amount A --address ADDR",
		Short: "Ask for one withdrawal, sent at most once",
		Long: `Ask for one withdrawal. It is sent at most once: nothing sends it again,
neither a time-out nor a redirect nor a broken connection. When it ends with
exit code 20 the outcome is unknown, and the same command must not be run again
before somebody has looked whether the withdrawal is there.

This version keeps no record of what it has sent: the same order id again makes
a second withdrawal, as far as anybody knows. Keep a record of your own.

Every withdrawal has an order id. Give your own with --order-id; otherwise one
is made and printed on standard error before anything is sent.`,
		Example: `  till withdraw create --currency Btc --amount 0.015 \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 4711 --yes
  till withdraw create --currency Btc --amount "25.00 USD" \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, out, err := begin(a, cmd, createdView)
			if err != nil {
				return err
			}
			if err := s.withdrawalFrom(&req, currency, amount, minor); err != nil {
				return err
			}
			return s.createWithdrawal(req, out)
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
	require(cmd, "currency", "address")
	cmd.MarkFlagsOneRequired("amount", "amount-minor")
	cmd.MarkFlagsMutuallyExclusive("amount", "amount-minor")
	a.completeCurrencies(cmd, "currency")
	return shows(cmd, createdView)
}

// withdrawalFrom fills in what takes the registry of currencies, and checks everything that can be checked here.
func (s *session) withdrawalFrom(req *api.CreateWithdrawal, currency, amount, minor string) (err error) {
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
	return req.Validate()
}

// createWithdrawal is everything between a valid request and its printed id.
func (s *session) createWithdrawal(req api.CreateWithdrawal, out output[created]) error {
	// What sandbox run sets in the environment is meant for a sandbox, whose sends need no record.
	if from := s.Origin("journal"); from != "default" && !(s.Sandbox && from == "environment TILL_JOURNAL") {
		return &failure{code: exitConfig, msg: "a journal is named, and this version of till does not keep one yet", hint: "leave out --journal, TILL_JOURNAL and the profile's journal"}
	}
	if err := s.Limits.Check(s.money, money.Payment{Currency: req.Currency, Amount: req.Amount, Address: req.Address}); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	made := req.ExternalOrderID == ""
	if made {
		req.ExternalOrderID = randomOrderID()
	}
	if !s.DryRun {
		if err := s.confirm(s.describe(req), "Send this withdrawal?"); err != nil {
			return err
		}
		// Without its order id nobody could find the withdrawal again.
		if err := s.note("order id %s", req.ExternalOrderID); err != nil && made {
			return &failure{code: exitConfig, err: err, msg: fmt.Sprintf("the order id could not be shown (%v), and nothing was sent", err), hint: "give one with --order-id, or free standard error"}
		}
	}
	var id string
	err = s.send(func() (err error) {
		id, err = client.Withdrawals.Create(s.sendCtx, req)
		return err
	})
	if err != nil {
		return s.withdrawalFailed(err, req.ExternalOrderID)
	}
	return out.made(created{id, req.ExternalOrderID}, id, "id "+id+", order id "+req.ExternalOrderID)
}

// withdrawalFailed adds what only this command knows: how to find the withdrawal again.
func (s *session) withdrawalFailed(err error, orderID string) error {
	if r := explain(err); r.code == exitUnknown {
		return &failure{
			code: exitUnknown, err: err, msg: err.Error(),
			hint: fmt.Sprintf("do not send it again: find out whether it is there with: till withdraw list --all --jq '.[] | select(.external_order_id == %q)'", orderID),
		}
	}
	return err
}

// describe is what a person must see before money moves.
func (s *session) describe(req api.CreateWithdrawal) []string {
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
	return append(lines, "order id  "+req.ExternalOrderID)
}

// minorUnits adds the count that is sent to an amount that is shown as a decimal.
func (s *session) minorUnits(a api.Amount) string {
	if s.money.Decimals(a.Code) == money.Unknown {
		return ""
	}
	return fmt.Sprintf(" (%d minor units)", a.Minor)
}

func (a *app) withdrawGet() *cobra.Command {
	return shows(&cobra.Command{
		Use:     "get ID",
		Short:   "Show one withdrawal with the history of its statuses",
		Example: `  till withdraw get 7c9e6679-7425-40de-944b-e07fc1f90ae7 -o json`,
		Args:    args("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := begin(a, cmd, withdrawalView)
			if err != nil {
				return err
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			w, err := client.Withdrawals.Get(s.ctx, args[0])
			if err != nil {
				return err
			}
			return out.one(w)
		},
	}, withdrawalView)
}

// created is the answer of a create, as it is printed.
type created struct {
	ID              string `json:"id"`
	ExternalOrderID string `json:"external_order_id,omitempty"`
}

func createdView(money.Registry) render.View[created] {
	return render.View[created]{
		ID:   func(c created) string { return c.ID },
		JSON: func(c created) []byte { return asJSON(c) },
		Columns: []render.Column[created]{
			{Name: "id", Cell: func(c created) render.Cell { return render.Text(c.ID) }},
			{Name: "external_order_id", Cell: func(c created) render.Cell { return render.Own(c.ExternalOrderID) }},
		},
	}
}
