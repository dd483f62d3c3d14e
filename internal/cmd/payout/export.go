package payout

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func exportCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, exportView, &cobra.Command{
		Use:   "export RUN",
		Short: "Print the rows of a run for a file, as CSV",
		Long: `Print the rows of a run in the order of the plan: the state of each, and what
was or will be sent. The format is CSV unless --output names another.

With the columns of a payout file alone, the output can be planned again:
order_id,currency,amount,address,memo,callback,note. Accepted orders keep their
state under any plan, so they are not sent twice.`,
		Example: `  till payout export 1f60bd0c >rows.csv
  till payout export 1f60bd0c \
    --columns order_id,currency,amount,address,memo,callback,note >again.csv`,
		Args:              cmdutil.Args("RUN"),
		ValidArgsFunction: cmdutil.FirstArg(a.CompleteRuns()),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Order], args []string) error {
		if s.Origin("output").IsDefault() && s.Render.Filter == nil && s.Template == "" {
			s.Render.Format = render.CSV
		}
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		run, err := findRun(s, ledger, args[0])
		if err != nil {
			return err
		}
		return out.List(ledger.Orders(s.Ctx, rowsOf(run)))
	})
}

// exportLine is a row of a run as JSON.
type exportLine struct {
	OrderID   string       `json:"order_id" schema:"order-id"`
	State     payout.State `json:"state"`
	ID        string       `json:"id"`
	Reason    string       `json:"reason"`
	Currency  api.Currency `json:"currency"`
	Amount    api.Amount   `json:"amount"`
	Decimal   *string      `json:"decimal" schema:"decimal"` // the amount, with the decimals of the last attempt
	Address   string       `json:"address"`
	Memo      string       `json:"memo"`
	Callback  string       `json:"callback"`
	Note      string       `json:"note"`
	Reference string       `json:"reference"`
}

func exportView(m money.Registry) render.View[payout.Order] {
	type row = payout.Order
	text := render.Field[row, string]
	return render.View[row]{
		ID: func(o row) string { return o.OrderID },
		JSON: render.Encoded(func(o row) exportLine {
			return exportLine{o.OrderID, o.State, o.ID, o.Reason, o.Currency, o.Amount, views.DecimalOf(views.AsSent(m, o), o.Amount),
				o.Address, o.Memo, o.Callback, o.Note, o.Reference}
		}),
		Columns: []render.Column[row]{
			text("order_id", "your own number for the withdrawal", render.Word, func(o row) string { return o.OrderID }),
			text("state", "state of the order in the journal", render.Word, func(o row) string { return string(o.State) }),
			text("id", "the service's id of the withdrawal", render.ID, func(o row) string { return o.ID }),
			text("reason", "why the order has its state", render.Text, func(o row) string { return o.Reason }),
			text("currency", "currency that is withdrawn", render.Own,
				func(o row) string { return codeIn(m, o.Currency.Kind, o.Currency.Code) }),
			{Name: "amount", About: "amount to withdraw", Amount: true, CodeIn: "currency", Cell: func(o row) render.Cell {
				a := o.Amount
				return render.Amount(a.Minor, codeIn(m, a.Kind, a.Code), views.AsSent(m, o).Decimals(a.Code))
			}},
			text("address", "address that the money goes to", render.Own, func(o row) string { return o.Address }),
			text("memo", "memo of the transfer", render.Own, func(o row) string { return o.Memo }),
			text("callback", "URL to which the service sends its response", render.Own, func(o row) string { return o.Callback }),
			text("note", "your note in the payout file", render.Own, func(o row) string { return o.Note }),
			text("reference", "your reference in the payout file", render.Own, func(o row) string { return o.Reference }),
		},
	}.Default("order_id", "state", "currency", "amount", "address").Whole("reason", "currency", "address", "memo")
}
