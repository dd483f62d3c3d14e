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
	return cmdutil.WithView(a, cmdutil.List, exportView, &cobra.Command{
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
		Args: cmdutil.Args("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			if s.Origin("output").IsDefault() && s.Render.Filter == nil && s.Template == "" {
				s.Render.Format = render.CSV
			}
			out, err := cmdutil.NewOutput(s, exportView(s.Money))
			if err != nil {
				return err
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
		},
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
	currency := func(o row) render.Cell {
		c := o.Currency
		return render.Own(codeIn(m, c.Kind, c.Code))
	}
	amount := func(o row) render.Cell {
		a := o.Amount
		return render.Amount(a.Minor, codeIn(m, a.Kind, a.Code), views.AsSent(m, o).Decimals(a.Code))
	}
	return render.View[row]{
		ID: func(o row) string { return o.OrderID },
		JSON: render.Encoded(func(o row) exportLine {
			return exportLine{o.OrderID, o.State, o.ID, o.Reason, o.Currency, o.Amount, views.DecimalOf(views.AsSent(m, o), o.Amount),
				o.Address, o.Memo, o.Callback, o.Note, o.Reference}
		}),
		Columns: []render.Column[row]{
			{Name: "order_id", About: "your own number for the withdrawal",
				Cell: func(o row) render.Cell { return render.Word(o.OrderID) }},
			{Name: "state", About: "state of the order in the journal",
				Cell: func(o row) render.Cell { return render.Word(string(o.State)) }},
			{Name: "id", About: "the service's id of the withdrawal",
				Extra: true, Cell: func(o row) render.Cell { return render.ID(o.ID) }},
			{Name: "reason", About: "why the order has its state",
				Whole: true, Extra: true, Cell: func(o row) render.Cell { return render.Text(o.Reason) }},
			{Name: "currency", About: "currency that is withdrawn", Whole: true, Cell: currency},
			{Name: "amount", About: "amount to withdraw", Amount: true, CodeIn: "currency", Cell: amount},
			{Name: "address", About: "address that the money goes to",
				Whole: true, Cell: func(o row) render.Cell { return render.Own(o.Address) }},
			{Name: "memo", About: "memo of the transfer",
				Whole: true, Extra: true, Cell: func(o row) render.Cell { return render.Own(o.Memo) }},
			{Name: "callback", About: "URL to which the service sends its response",
				Extra: true, Cell: func(o row) render.Cell { return render.Own(o.Callback) }},
			{Name: "note", About: "your note in the payout file",
				Extra: true, Cell: func(o row) render.Cell { return render.Own(o.Note) }},
			{Name: "reference", About: "your reference in the payout file",
				Extra: true, Cell: func(o row) render.Cell { return render.Own(o.Reference) }},
		},
	}
}
