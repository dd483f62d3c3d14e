package payout

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// changeLine is what has changed about a row since the last run, as JSON.
type changeLine struct {
	Change    string      `json:"change"`
	Line      int         `json:"line,omitempty"`
	OrderID   string      `json:"order_id" schema:"order-id"`
	Payee     string      `json:"payee"` // the note, the reference or the order id
	Amount    api.Amount  `json:"amount"`
	Address   string      `json:"address"`
	WasAmount *api.Amount `json:"was_amount,omitempty"` // what the last run paid; missing for a new payee
	Was       string      `json:"was_address,omitempty"`
	Times     int         `json:"times_paid,omitempty"` // how many orders were accepted for that address
	Run       string      `json:"run" schema:"run"`     // the last run
}

func newChangeLine(c payout.Change) changeLine {
	line := changeLine{Change: c.Kind, Line: c.Row.Line, OrderID: c.Row.ExternalOrderID, Payee: c.Who(), Amount: c.Row.Amount,
		Address: c.Row.Address, Was: c.Was.Address, Times: c.Times, Run: c.Run}
	if c.Kind != payout.NewPayee {
		line.WasAmount = &c.Was.Amount
	}
	return line
}

func showChanges(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[payout.Change]) error {
	account, err := s.JournalAccount()
	if err != nil {
		return err
	}
	j, err := s.ExistingJournal()
	if err != nil {
		return err
	}
	return out.List(j.Ledger(account).Changes(s.Ctx, p))
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
		JSON: render.Encoded(newChangeLine),
		Columns: []render.Column[row]{
			{Name: "change", About: "new payee, new address, new memo or new amount", Cell: func(c row) render.Cell { return render.Own(c.Kind) }},
			{Name: "line", About: "line of the file", Cell: func(c row) render.Cell { return render.Int(int64(c.Row.Line)) }},
			{Name: "payee", About: "the note, the reference or the order id", Cell: func(c row) render.Cell { return render.Own(c.Who()) }},
			{Name: "amount", About: "what the plan pays", Amount: true, Cell: func(c row) render.Cell { return amount(c.Row.Amount) }},
			{Name: "was", About: "what the last run paid", Amount: true, Cell: func(c row) render.Cell { return amount(c.Was.Amount) }},
			{Name: "address", About: "address of the plan", Whole: true,
				Cell: func(c row) render.Cell { return render.Own(c.Row.Address) }},
			{Name: "was_address", About: "address of the last run", Whole: true,
				Cell: func(c row) render.Cell { return render.Own(c.Was.Address) }},
			{Name: "times", About: "how many orders were accepted for that address", Extra: true,
				Cell: func(c row) render.Cell { return render.Int(int64(c.Times)) }},
			{Name: "order_id", About: "order id of the row", Extra: true,
				Cell: func(c row) render.Cell { return render.Word(c.Row.ExternalOrderID) }},
			{Name: "run", About: "the last run", Extra: true, Cell: func(c row) render.Cell { return render.Own(c.Run) }},
		},
	}
}
