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

func newChangeLine(m money.Registry, c payout.Change) changeLine {
	line := changeLine{Change: c.Kind, Line: c.Row.Line, OrderID: c.Row.ExternalOrderID, Payee: c.Who(), Amount: c.Row.Amount,
		Decimal: views.DecimalOf(m, c.Row.Amount),
		Address: c.Row.Address, Memo: c.Row.Memo, Was: c.Was.Address, WasMemo: c.Was.Memo, Times: c.Times, Run: c.Run}
	if c.Kind != payout.NewPayee {
		line.WasAmount, line.WasNumber = &c.Was.Amount, views.DecimalOf(m, c.Was.Amount)
	}
	return line
}

func showChanges(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[payout.Change]) error {
	ledger, err := ledgerOfPlan(s, p)
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
	amount := func(a api.Amount) render.Cell {
		if a.Code == "" {
			return render.Own("")
		}
		return render.Amount(a.Minor, codeIn(m, a.Kind, a.Code), m.DecimalsOf(a.Kind, a.Code))
	}
	return render.View[row]{
		ID:   func(c row) string { return c.Row.ExternalOrderID },
		JSON: render.Encoded(func(c row) changeLine { return newChangeLine(m, c) }),
		Columns: []render.Column[row]{
			{Name: "change", About: "new payee, new address, new memo or new amount", Cell: func(c row) render.Cell { return render.Own(c.Kind) }},
			{Name: "line", About: "line of the file", Cell: func(c row) render.Cell { return render.Int(int64(c.Row.Line)) }},
			{Name: "payee", About: "the note and the reference, or the order id", Cell: func(c row) render.Cell { return render.Own(c.Who()) }},
			{Name: "amount", About: "what the plan pays", Amount: true, Cell: func(c row) render.Cell { return amount(c.Row.Amount) }},
			{Name: "was", About: "what the same payee was paid the last time", Amount: true, Cell: func(c row) render.Cell { return amount(c.Was.Amount) }},
			{Name: "address", About: "address of the plan", Whole: true,
				Cell: func(c row) render.Cell { return render.Own(c.Row.Address) }},
			{Name: "was_address", About: "address that was paid then", Whole: true,
				Cell: func(c row) render.Cell { return render.Own(c.Was.Address) }},
			{Name: "memo", About: "memo of the plan", Whole: true, Cell: func(c row) render.Cell { return render.Own(c.Row.Memo) }},
			{Name: "was_memo", About: "memo that was paid then", Whole: true, Cell: func(c row) render.Cell { return render.Own(c.Was.Memo) }},
			{Name: "times", About: "how many orders were accepted for that address", Extra: true,
				Cell: func(c row) render.Cell { return render.Int(int64(c.Times)) }},
			{Name: "order_id", About: "order id of the row", Extra: true,
				Cell: func(c row) render.Cell { return render.Word(c.Row.ExternalOrderID) }},
			{Name: "run", About: "the run that paid it", Extra: true, Cell: func(c row) render.Cell { return render.Own(c.Run) }},
		},
	}
}
