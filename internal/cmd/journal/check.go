package journal

import (
	"slices"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func checkCommand(a *cmdutil.App) *cobra.Command {
	var from, to string
	cmd := cmdutil.NewCommand(a, cmdutil.List, differenceView, &cobra.Command{
		Use:   "check",
		Short: "Compare the journal with the service's list",
		Long: `Read the service's list of withdrawals, all of it or a period, and show what is
missing in the journal, missing at the service, or different. Nothing is
changed. The exit code is 21 if there is a difference.

After a backup of the journal was restored, what is missing in the journal was
paid since the backup: see till help guarantees. If the journal has lost
records, till looks up every order before it sends it, until a check finds
nothing missing in the journal.

The demo seed of the sandbox has withdrawals that till did not send. They are
missing in the journal, so the exit code is 21 there.`,
		Example: `  till journal check --from 2026-05 --to 2026-05
  till journal check -o jsonl`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Difference], _ []string) error {
		if err := s.NoDryRun("journal check"); err != nil {
			return err
		}
		filter, err := (cmdutil.ListFlags{From: from, To: to}).Filter(s)
		if err != nil {
			return err
		}
		var own payout.Filter
		if own.From, own.To, err = span(s, from, to); err != nil {
			return err
		}
		if _, err := s.ExistingJournal(); err != nil {
			return err
		}
		sender, err := s.OpenSender()
		if err != nil {
			return err
		}
		found, err := sender.Compare(s.Ctx, filter, own)
		if err != nil {
			return err
		}
		printed := out.Slice(found)
		if err := clearRestored(s, sender, from+to, found); err != nil {
			return err
		}
		if len(found) == 0 {
			if printed != nil {
				return printed
			}
			return noteAgreement(s, sender, own)
		}
		return cmdutil.WithPrintError(&cmdutil.Error{Code: cmdutil.ExitConflict,
			Msg:  "the journal and the service's list do not agree about " + cmdutil.CountOf(len(found), "withdrawal"),
			Hint: payout.NewHint("see the history of an order", "journal", "show", "ORDER")}, printed)
	})
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "start of the period: a date, a month, an age such as 7d, or a full date-time")
	f.StringVar(&to, "to", "", "end of the period, in the same forms")
	cmdutil.AddFinishFlags(cmd)
	return cmd
}

// noteAgreement says that nothing differs, and which orders are unknown: whether the service's list has an unknown
// order is not a difference.
func noteAgreement(s *cmdutil.Session, sender *payout.Sender, period payout.Filter) error {
	period.States = []payout.State{payout.StateUnknown}
	var unknown []string
	for o, err := range sender.Ledger.Orders(s.Ctx, period) {
		if err != nil {
			return err
		}
		unknown = append(unknown, o.OrderID)
	}
	if len(unknown) > 0 {
		return s.NoteCopy("till withdraw reconcile",
			"the journal and the service's list agree about what is settled; %s unknown; find out with:",
			cmdutil.IsOrAre("order", unknown))
	}
	return s.Note("the journal and the service's list agree")
}

// clearRestored ends the extra care with a journal that has lost records, once the journal has every record
// of the whole list.
func clearRestored(s *cmdutil.Session, sender *payout.Sender, period string, found []payout.Difference) error {
	restored, err := sender.Restored(s.Ctx)
	if err != nil || !restored {
		return err
	}
	missing := slices.ContainsFunc(found, payout.Difference.Missing)
	switch {
	case missing:
		return s.Note("the journal has lost records: until nothing is missing in it, every order is looked up before it is sent")
	case period != "":
		return s.Note("the journal has lost records, and this was a part of the list: run till journal check without --from and --to")
	}
	if err := sender.ClearRestored(s.Ctx); err != nil {
		return err
	}
	return s.Note("nothing is missing in the journal: orders are sent as before")
}

// differenceLine is a difference as JSON.
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
	amount := func(d row) api.Amount {
		if d.Record != nil {
			return d.Record.Amount
		}
		return d.Order.Amount
	}
	return render.View[row]{
		ID: id,
		JSON: render.Encoded(func(d row) differenceLine {
			line := differenceLine{What: d.What, Why: d.Why, Record: d.Record}
			if d.Order != nil {
				own := views.NewOrderLine(*d.Order)
				line.Order = &own
			}
			return line
		}),
		Columns: []render.Column[row]{
			{Name: "what", About: "only there (not in the journal), only here, or different",
				Cell: func(d row) render.Cell { return render.Word(d.What) }},
			{Name: "order_id", About: "your own number for the withdrawal",
				Cell: func(d row) render.Cell { return render.Word(order(d)) }},
			{Name: "id", About: "the service's id of the withdrawal",
				Cell: func(d row) render.Cell { return render.ID(id(d)) }},
			{Name: "amount", About: "amount at the service or, if missing there, in the journal",
				Amount: true, Cell: func(d row) render.Cell { return views.AmountCell(m, amount(d)) }},
			{Name: "why", About: "what differs", Cell: func(d row) render.Cell { return render.Text(d.Why) }},
		},
	}
}
