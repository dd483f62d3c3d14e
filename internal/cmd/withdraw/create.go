package withdraw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/orders"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"example.com/till/pkg/payout/sheet"
	"github.com/spf13/cobra"
)

func createCommand(a *cmdutil.App) *cobra.Command {
	var req api.CreateWithdrawal
	var currency, amount, minor string
	var duplicate, badAddress bool
	cmd := cmdutil.NewCommand(a, cmdutil.One, cmdutil.StructView[views.Created]("id"), &cobra.Command{
		Use:   "create --currency C --amount A --address ADDR",
		Short: "Create one withdrawal, sent at most once",
	}, func(s *cmdutil.Session, out cmdutil.Output[views.Created], _ []string) error {
		if _, err := s.RequireBaseURL(); err != nil { // its profile says how it counts
			return err
		}
		if err := parseRequest(s, &req, currency, amount, minor); err != nil {
			return err
		}
		s.Limits.AllowBadAddress = badAddress
		return create(s, req, duplicate, out)
	})
	f := cmd.Flags()
	f.StringVar(&currency, "currency", "", "currency to withdraw, such as Btc or Usd")
	f.StringVar(&amount, "amount", "", `exact decimal, as 0.015 or "25.00 USD"`)
	f.StringVar(&minor, "amount-minor", "", `in minor units, as 1500000 or "2500 USD"`)
	f.StringVar(&req.Address, "address", "", "address that the money goes to")
	f.StringVar(&req.Memo, "memo", "", "memo of the transfer; some currencies need it")
	f.StringVar(&req.ExternalOrderID, "order-id", "", "your own number for it, up to 9007199254740991")
	f.StringVar(&req.Callback, "callback", "", "URL to which the service sends its response")
	f.BoolVar(&duplicate, "allow-duplicate", false, "send even if an identical one is unknown or sent")
	f.BoolVar(&badAddress, "allow-bad-address", false, "send it although the address looks mistyped")
	orders.AddLookupFlags(cmd)
	cmdutil.AddFinishFlags(cmd)
	cmdline.Require(cmd, "currency", "address")
	cmd.MarkFlagsOneRequired("amount", "amount-minor")
	cmd.MarkFlagsMutuallyExclusive("amount", "amount-minor")
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	return cmd
}

// parseRequest fills in the fields that need the currency registry, and checks everything that can be checked
// before sending.
func parseRequest(s *cmdutil.Session, req *api.CreateWithdrawal, currency, amount, minor string) (err error) {
	if req.Currency, err = s.Money.ParseCurrency(currency); err != nil {
		return fmt.Errorf("--currency: %w", err)
	}
	flag, parse := "--amount", s.Money.ParseAmount
	if minor != "" {
		flag, amount, parse = "--amount-minor", minor, s.Money.ParseMinor
	}
	if req.Amount, err = parse(amount, req.Currency); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	for _, f := range [][2]string{{"--address", req.Address}, {"--memo", req.Memo}} {
		if sheet.IsSpoiled(f[1]) {
			return exit.UsageError(f[0]+": "+sheet.Quote(f[1])+" was changed by a spreadsheet",
				"take it from where the receiver wrote it")
		}
	}
	if s.Money.LacksMemo(req.Currency, req.Address, req.Memo) {
		return exit.UsageError("--memo: a withdrawal in "+req.Currency.Code+" needs a memo, or it may never arrive",
			"ask the receiver for it and add --memo MEMO")
	}
	if err := s.Money.CheckAddress(req.Currency, req.Address); err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	if err := s.Money.CheckMemo(req.Currency, req.Address, req.Memo); err != nil {
		return fmt.Errorf("--memo: %w", err)
	}
	err = req.Validate()
	if e, ok := errors.AsType[*api.InvalidError](err); ok && e.Field == "external_order_id" && money.Rounded(req.ExternalOrderID) {
		e.Why += "; it " + money.RoundedWhy
	}
	return err
}

func create(s *cmdutil.Session, req api.CreateWithdrawal, duplicate bool, out cmdutil.Output[views.Created]) error {
	s.Subject.OrderID = req.ExternalOrderID
	if err := s.Limits.Check(s.Money, req); err != nil {
		return err
	}
	client, err := s.ClientToCreate()
	if err != nil {
		return err
	}
	if why := cmp.Or(s.Money.AddressMistake(req.Currency, req.Address),
		s.Money.AddressWarning(req.Currency, req.Address)); why != "" {
		s.Warnf("the address %s: %s", req.Address, why)
	}
	made := req.ExternalOrderID == ""
	options := []payout.SendOption{payout.CallUnder(s.SendCtx)}
	if made {
		// at most 15 digits, and for all practical purposes unique
		req.ExternalOrderID = strconv.FormatInt(1+rand.Int64N(money.MaxExact), 10)
		options = append(options, payout.NewOrderID(s.DuplicateWindow))
	}
	if duplicate {
		options = append(options, payout.AllowDuplicate())
	}
	if s.DryRun {
		return tryCreate(s, client, req, duplicate, options)
	}
	sender, err := s.SenderFor(client)
	if err != nil {
		return err
	}
	sent, found, err := sender.Existing(s.Ctx, req, options...)
	if found || err != nil {
		return printSent(s, sent, err, out)
	}
	if err := checkOrderID(s, sender, req, sent, duplicate); err != nil {
		return err
	}
	first, err := orders.FirstPayments(s, sender.Ledger, !s.Yes && s.CanAsk(), api.Big(req.Amount))
	if err == nil {
		err = s.Confirm(describe(s, req, first), "Send this withdrawal?")
	}
	if err != nil {
		return err
	}
	s.Subject.OrderID = req.ExternalOrderID
	if made {
		// Without it, the withdrawal cannot be found again.
		if err := s.NoteCopy(req.ExternalOrderID, "order id"); err != nil {
			return exit.Failure(exit.Config, err, fmt.Sprintf("the order id could not be shown (%v), and nothing was sent", err),
				"give one with --order-id, or free standard error")
		}
	}
	return send(s, sender, req, options, out)
}

// send sends a request that a person has confirmed, and prints its id as soon as it is accepted.
func send(
	s *cmdutil.Session, sender *payout.Sender, req api.CreateWithdrawal, options []payout.SendOption,
	out cmdutil.Output[views.Created],
) error {
	told := ""
	var printed error
	options = append(options, payout.OnAccepted(func(o payout.Order) { told, printed = o.ID, printID(s, o, out) }))
	var sent payout.Sent
	err := s.Send(func() bool { return sender.UnderWay() > 0 }, func() (err error) {
		sent, err = sender.Send(s.Ctx, req, options...)
		return err
	})
	if told != "" {
		s.Subject.ID = told
		if sent.Note != "" {
			s.Note("%s", sent.Note)
		}
		return cmp.Or(err, printed)
	}
	if s.Ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, new(*payout.Error)) {
		err = &exit.Error{Code: exit.Interrupted, Err: err, Msg: "interrupted, and nothing was sent"}
	}
	return printSent(s, sent, err, out)
}

// tryCreate shows the request that create would make, if the journal does not forbid it.
func tryCreate(s *cmdutil.Session, client *api.Client, req api.CreateWithdrawal, duplicate bool, options []payout.SendOption) error {
	sender, err := s.SenderToTry(client)
	if err != nil {
		return err
	}
	var sent payout.Sent
	found := false
	if sender != nil {
		sent, found, err = sender.Try(s.Ctx, req, options...)
	} else {
		var approvals approval.Policy
		if approvals, err = s.PayoutApprovals(false); err == nil {
			err = payout.Options{Approvals: approvals, Currencies: s.PayoutCurrencies()}.CheckSingle(req.Amount)
		}
	}
	if sent.Note != "" {
		s.Note("%s", sent.Note)
	}
	if found || err != nil {
		return err
	}
	if err := checkOrderID(s, sender, req, sent, duplicate); err != nil {
		return err
	}
	_, err = client.Withdrawals.Create(s.SendCtx, req)
	return err
}

// checkOrderID refuses an order id that a spreadsheet may have rounded, if the journal does not have it. It warns of
// orders of another id with the same content that were accepted a moment ago or that a run may still send, and of
// addresses that look alike, unless that is meant.
func checkOrderID(s *cmdutil.Session, sender *payout.Sender, req api.CreateWithdrawal, sent payout.Sent, meant bool) error {
	if sent.Order.OrderID == "" && money.Rounded(req.ExternalOrderID) {
		if !s.Limits.AllowBadAddress {
			return exit.UsageError("--order-id: "+money.RoundedID(req.ExternalOrderID), money.RoundedHint)
		}
		s.Warnf("%s", money.RoundedID(req.ExternalOrderID))
	}
	if meant || sender == nil {
		return nil
	}
	like, err := sender.LookAlike(s.Ctx, req.Address)
	if err != nil {
		return err
	}
	if like != "" {
		s.Warnf("the address %s looks like the address of order %s, but is another address", req.Address, like)
	}
	content := payout.Content{Currency: req.Currency, Amount: req.Amount, Address: req.Address, Memo: req.Memo}
	for _, f := range []payout.Filter{{From: s.IO.Now().Add(-s.DuplicateWindow), States: []payout.State{payout.StateAccepted}},
		{From: s.IO.Now().Add(-72 * time.Hour), Runs: true, States: []payout.State{payout.StatePlanned}}} {
		f.Address = req.Address
		for o, err := range sender.Ledger.Orders(s.Ctx, f) {
			switch {
			case err != nil:
				return err
			case !o.Content.Same(content) || o.OrderID == req.ExternalOrderID:
			case o.State == payout.StateAccepted:
				s.Warnf("order %s with the same content was accepted at %s as %s", o.OrderID, views.Moment(o.Sent), o.ID)
			default:
				run, err := sender.Ledger.Run(s.Ctx, o.Run)
				if err == nil && run.ReplacedBy == "" {
					s.Warnf("order %s with the same content is planned, and run %s may still send it", o.OrderID, o.Run)
				}
			}
		}
	}
	return nil
}

// printSent prints the id of an accepted withdrawal, even if there was an error.
func printSent(s *cmdutil.Session, sent payout.Sent, err error, out cmdutil.Output[views.Created]) error {
	o := sent.Order
	s.Subject.ID = o.ID
	var printed error
	if o.ID != "" && (err == nil || o.State == payout.StateAccepted) {
		printed = printID(s, o, out)
	}
	if sent.Already {
		printed = exit.NothingSent(printed)
	}
	if sent.Note != "" && !exit.ReaderGone(printed) {
		s.Note("%s", sent.Note)
	}
	return cmp.Or(err, printed)
}

func printID(s *cmdutil.Session, o payout.Order, out cmdutil.Output[views.Created]) error {
	printed := out.Made(views.Created{ID: o.ID, ExternalOrderID: o.OrderID}, o.ID,
		exit.About{ID: o.ID, OrderID: o.OrderID}, "id "+o.ID+", order id "+o.OrderID)
	if lost, ok := errors.AsType[*exit.Error](printed); ok && lost.Code == exit.Output {
		lost.Hint = payout.NewHint("the same command with --order-id " + o.OrderID + ", without --jq and --template, prints it again and does not pay again")
	}
	return printed
}

// describe returns what a person must see before money moves.
func describe(s *cmdutil.Session, req api.CreateWithdrawal, first []api.BigAmount) []cmdutil.Fact {
	facts := []cmdutil.Fact{{Name: "amount", Style: render.Bold,
		Value: render.Group(s.Money.Format(req.Amount)) + orders.MinorUnits(s, api.Big(req.Amount), first...)}}
	for _, f := range []cmdutil.Fact{{Name: "paid in", Value: req.Currency.Code}, {Name: "address", Value: inFours(req.Address)},
		{Name: "memo", Value: req.Memo}, {Name: "callback", Value: req.Callback}, {Name: "order id", Value: req.ExternalOrderID}} {
		if f.Value != "" && (f.Name != "paid in" || req.Amount.Unit() != req.Currency) {
			facts = append(facts, f)
		}
	}
	return append(facts, s.ServiceFact())
}

// inFours returns an address in groups of four characters, in which a person compares it.
func inFours(address string) string {
	if strings.ContainsFunc(address, unicode.IsSpace) {
		return address
	}
	var fours []string
	for four := range slices.Chunk([]rune(address), 4) {
		fours = append(fours, string(four))
	}
	return strings.Join(fours, " ")
}
