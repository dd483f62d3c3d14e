package journal

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func checkCommand(a *cmdutil.App) *cobra.Command {
	var from, to, accept string
	cmd := cmdutil.NewCommand(a, cmdutil.List, differenceView, &cobra.Command{
		Use:   "check",
		Short: "Compare the journal with the service's list",
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Difference], _ []string) (err error) {
		var filter api.WithdrawalFilter
		var own payout.Filter
		if filter.From, filter.To, _, err = s.Period().Sent(from, to); err != nil {
			return err
		}
		if own.From, own.To, err = s.Period().Instants(from, to); err != nil {
			return err
		}
		if _, err := s.OpenJournal(); err != nil {
			return err
		}
		sender, err := s.OpenSender()
		if err != nil {
			return err
		}
		restored, err := sender.Restored(s.Ctx)
		if err != nil {
			return err
		}
		compared, err := sender.Compare(s.Ctx, filter, own)
		if err != nil {
			return err
		}
		for i, d := range compared.Differences {
			compared.Differences[i].Why = s.InText(d.Why)
		}
		printed := out.Slice(compared.Differences)
		noteAccepted(s, compared)
		period := from+to != ""
		if s.Cmd.Flags().Changed("accept") {
			err = acceptDifferences(s, sender, compared, accept)
		} else if err = differ(compared, period); err == nil {
			err = noteAgreement(s, sender, own, restored, period)
		}
		return exit.WithPrintError(err, printed)
	})
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "start of the period: a date, week or month, last-month, an age such as 7d, or a full date-time")
	f.StringVar(&to, "to", "", "end of the period, in the same forms")
	f.StringVar(&accept, "accept", "", "accept what the check shows, for this reason, on the record")
	cmd.MarkFlagsMutuallyExclusive("accept", "from")
	cmd.MarkFlagsMutuallyExclusive("accept", "to")
	cmdutil.AddFinishFlags(cmd)
	return cmd
}

func differ(c payout.Comparison, period bool) error {
	switch {
	case c.NoList != nil:
		return c.NoList
	case len(c.Differences) > 0:
		accept := "to accept what the check shows"
		if period {
			accept = "to accept what a check of the whole list shows"
		}
		return exit.Failure(exit.Conflict, nil,
			"the journal and the service's list do not agree about "+cmdutil.CountOf(len(c.Differences), "withdrawal"),
			"see the history of an order with till journal show ORDER; "+accept, "journal", "check", "--accept", "REASON")
	case c.Surplus > 0:
		return exit.Refusal(payout.RuleList,
			fmt.Sprintf("the service counts %s more than its list shows", cmdutil.CountOf(int(c.Surplus), "withdrawal")),
			"ask its provider; if none of them is an order of this journal", "journal", "check", "--accept", "REASON")
	}
	return nil
}

// noteAccepted notes what differs and was accepted before.
func noteAccepted(s *cmdutil.Session, c payout.Comparison) {
	if c.Accepted > 0 {
		s.Note("%s accepted before, and left out", cmdutil.CountOf(c.Accepted, "difference"))
	}
	if n := c.Hidden - c.Surplus; n > 0 {
		s.Note("accepted before: %s that the list counts and does not show", cmdutil.CountOf(int(n), "withdrawal"))
	}
}

// acceptDifferences records a person's decision. Orders that the journal does not have as accepted, and that
// are on the list, have to be reconciled all the same.
func acceptDifferences(s *cmdutil.Session, sender *payout.Sender, c payout.Comparison, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return exit.UsageError("--accept needs a reason", "say why, for the record", "journal", "check", "--accept", "REASON")
	}
	if err := sender.Accept(s.Ctx, c, reason); err != nil {
		return err
	}
	for _, d := range c.Differences {
		if d.Missing() && d.Order != nil {
			return &exit.Error{Code: exit.Conflict, About: exit.About{OrderID: d.Order.OrderID, ID: d.Record.ID},
				Msg:  "the rest is accepted: " + d.Why,
				Hint: payout.NewHint("settle it", "withdraw", "reconcile", d.Order.OrderID)}
		}
	}
	if c.NoList != nil {
		return s.Note("accepted although the list cannot prove it: what another copy of this journal has sent would be sent again")
	}
	accepted := cmdutil.CountOf(len(c.Differences), "difference")
	if c.Hidden > 0 {
		accepted += fmt.Sprintf(", and %s that the list counts and does not show", cmdutil.CountOf(int(c.Hidden), "withdrawal"))
	}
	return s.Note("accepted: %s", accepted)
}

// noteAgreement notes that nothing differs, and which orders are unknown: whether the service's list has an unknown
// order is not a difference.
func noteAgreement(s *cmdutil.Session, sender *payout.Sender, own payout.Filter, restored, period bool) error {
	switch {
	case restored && period:
		s.Note("the journal may lack records, and this was a part of the list: run till journal check without --from and --to")
	case restored:
		s.Note("nothing is missing in the journal: orders are sent as before")
	}
	own.States = []payout.State{payout.StateUnknown}
	var unknown []string
	for o, err := range sender.Ledger.Orders(s.Ctx, own) {
		if err != nil {
			return err
		}
		unknown = append(unknown, o.OrderID)
	}
	if len(unknown) > 0 {
		return s.NoteCommand([]string{"withdraw", "reconcile"},
			"the journal and the service's list agree about what is settled; %s unknown; find out with:",
			cmdutil.IsOrAre("order", unknown))
	}
	return s.Note("the journal and the service's list agree")
}

type differenceLine struct {
	What   string           `json:"what"`
	Why    string           `json:"why"`
	Order  *views.OrderLine `json:"order"`
	Record *api.Withdrawal  `json:"withdrawal"`
}

func differenceView(m money.Registry) render.View[payout.Difference] {
	type row = payout.Difference
	id := func(d row) string {
		if d.Record != nil {
			return d.Record.ID
		}
		return d.Order.ID
	}
	order := func(d row) string {
		if d.Order != nil {
			return d.Order.OrderID
		}
		return d.Record.ExternalOrderID
	}
	amount := func(d row) render.Cell {
		if d.Record != nil {
			return views.AmountCell(m, d.Record.Amount)
		}
		return views.AmountCell(views.AsSent(m, *d.Order), d.Order.Amount)
	}
	return views.Of(id,
		render.Encoded(func(d row) differenceLine {
			line := differenceLine{What: d.What, Why: d.Why, Record: d.Record}
			if _, err := json.Marshal(d.Record); err != nil { // why says what of it cannot be read
				line.Record = nil
			}
			if d.Order != nil {
				own := views.NewOrderLine(m, *d.Order)
				line.Order = &own
			}
			return line
		}),
		render.Field("what", "only there (not in the journal), only here, or different", render.Word,
			func(d row) string { return d.What }),
		render.Field("order_id", "your own number for the withdrawal", render.Word, order),
		render.Field("id", "the service's id of the withdrawal", render.ID, id),
		render.AmountField("amount", "amount at the service or, if missing there, in the journal", amount),
		render.Field("why", "what differs", render.Text, func(d row) string { return d.Why })).Whole("why")
}
