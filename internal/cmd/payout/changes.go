package payout

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// changeLine is what has changed about a row since the last run, as JSON.
type changeLine struct {
	Change    string      `json:"change"`
	Line      int         `json:"line,omitempty"`
	OrderID   string      `json:"order_id" schema:"order-id"`
	Payee     string      `json:"payee"` // the note and the reference, or the order id
	Amount    api.Amount  `json:"amount"`
	Decimal   *string     `json:"decimal" schema:"decimal"`
	Address   string      `json:"address"`
	Memo      string      `json:"memo,omitempty"`
	WasAmount *api.Amount `json:"was_amount,omitempty"` // what the same payee was paid the last time; missing for a new one
	WasNumber *string     `json:"was_decimal,omitempty" schema:"decimal"`
	Was       string      `json:"was_address,omitempty"`
	WasMemo   string      `json:"was_memo,omitempty"`
	Times     int         `json:"times_paid,omitempty"` // how many orders were accepted for that address
	Run       string      `json:"run" schema:"run"`     // the run that paid it; of a new payee, the last one
}

func showChanges(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[payout.Change]) error {
	ledger, err := ledgerOfPlan(s, p, "and may require more or have other signatures")
	if err != nil {
		return err
	}
	if ledger == nil {
		s.Note("there is no journal here to compare the plan with")
		return out.Slice(nil)
	}
	any := false
	err = out.List(func(yield func(payout.Change, error) bool) {
		for c, err := range ledger.Changes(s.Ctx, p) {
			any = true
			if !yield(c, err) {
				return
			}
		}
	})
	if err == nil && !any {
		return s.Note("nothing has changed, or no run before it has the batch or layout of the plan and one of its payees")
	}
	return err
}

func changeView(m money.Registry) render.View[payout.Change] {
	type row = payout.Change
	text := render.Field[row, string]
	amount := func(name, about string, of func(row) api.Amount) render.Column[row] {
		return render.Column[row]{Name: name, About: about, Amount: true, Cell: func(c row) render.Cell {
			a := of(c)
			if a.Code == "" {
				return render.Own("")
			}
			return amountCell(m, a)
		}}
	}
	return render.View[row]{
		ID: func(c row) string { return c.Row.ExternalOrderID },
		JSON: render.Encoded(func(c row) changeLine {
			line := changeLine{Change: c.Kind, Line: c.Row.Line, OrderID: c.Row.ExternalOrderID, Payee: c.Who(), Amount: c.Row.Amount,
				Decimal: views.DecimalOf(m, c.Row.Amount), Address: c.Row.Address, Memo: c.Row.Memo, Was: c.Was.Address,
				WasMemo: c.Was.Memo, Times: c.Times, Run: c.Run}
			if c.Kind != payout.NewPayee {
				line.WasAmount, line.WasNumber = &c.Was.Amount, views.DecimalOf(m, c.Was.Amount)
			}
			return line
		}),
		Columns: []render.Column[row]{
			text("change", "new payee, new address, new memo or new amount", render.Own, func(c row) string { return c.Kind }),
			render.Field("line", "line of the file", render.Int, func(c row) int64 { return int64(c.Row.Line) }),
			text("payee", "the note and the reference, or the order id", render.Own, row.Who),
			amount("amount", "what the plan pays", func(c row) api.Amount { return c.Row.Amount }),
			amount("was", "what the same payee was paid the last time", func(c row) api.Amount { return c.Was.Amount }),
			text("address", "address of the plan", render.Own, func(c row) string { return c.Row.Address }),
			text("was_address", "address that was paid then", render.Own, func(c row) string { return c.Was.Address }),
			text("memo", "memo of the plan", render.Own, func(c row) string { return c.Row.Memo }),
			text("was_memo", "memo that was paid then", render.Own, func(c row) string { return c.Was.Memo }),
			render.Field("times", "how many orders were accepted for that address", render.Int,
				func(c row) int64 { return int64(c.Times) }),
			text("order_id", "order id of the row", render.Word, func(c row) string { return c.Row.ExternalOrderID }),
			text("run", "the run that paid it", render.Own, func(c row) string { return c.Run }),
		},
	}.Default("change", "line", "payee", "amount", "was", "address", "was_address", "memo", "was_memo").
		Whole("address", "was_address", "memo", "was_memo")
}
