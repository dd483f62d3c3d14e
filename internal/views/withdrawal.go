package views

import (
	"slices"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// Withdrawals is the view of a withdrawal of the service.
func Withdrawals(m money.Registry) render.View[api.Withdrawal] {
	type row = api.Withdrawal
	return render.View[row]{
		ID:   func(w row) string { return w.ID },
		JSON: render.Received[row](row.RawJSON),
		Columns: []render.Column[row]{
			{Name: "id", About: "the service's id of the withdrawal",
				Cell: func(w row) render.Cell { return render.ID(w.ID) }},
			{Name: "order_id", About: "your own number for the withdrawal",
				Cell: func(w row) render.Cell { return render.Word(w.ExternalOrderID) }},
			{Name: "status", About: "current status, in the service's words",
				Cell: func(w row) render.Cell { return render.Word(w.Current) }},
			{Name: "amount", About: "amount to withdraw",
				Amount: true, Cell: func(w row) render.Cell { return AmountCell(m, w.Amount) }},
			{Name: "currency", About: "currency that is withdrawn", Whole: true, Extra: true, Detail: true,
				Cell: func(w row) render.Cell { return render.Text(w.Currency.Code) }},
			{Name: "address", About: "address that the money goes to",
				Whole: true, Extra: true, Detail: true, Cell: func(w row) render.Cell { return render.Text(w.Address.Text) }},
			{Name: "since", About: "when it reached the current status",
				Cell: func(w row) render.Cell { return render.Time(since(w)) }},
			{Name: "callback", About: "URL to which the service sends its response", Extra: true, Detail: true,
				Cell: func(w row) render.Cell { return render.Text(w.Callback) }},
			{Name: "external_id", About: "your own number for the withdrawal, as an integer",
				Extra: true, Cell: func(w row) render.Cell { return externalID(w) }},
			{Name: "merchant_id", About: "id of the merchant", Extra: true, Detail: true,
				Cell: func(w row) render.Cell { return render.Text(w.MerchantID) }},
			{Name: "is_testnet", About: "whether it is on a test network", Extra: true, Detail: true,
				Cell: func(w row) render.Cell { return render.Bool(w.IsTestnet) }},
			{Name: "statuses", About: "every status so far with its time", Extra: true, Detail: true,
				Cell: func(w row) render.Cell { return render.History(steps(w)) }},
		},
	}
}

// steps returns the history, the oldest status first. The interface does not say at which end the newest is,
// so it is the end that has the current status.
func steps(w api.Withdrawal) []render.Step {
	history := make([]render.Step, len(w.Statuses))
	for i, s := range w.Statuses {
		history[i] = render.Step(s)
	}
	if n := len(history); n > 0 && history[0].Status == w.Current && history[n-1].Status != w.Current {
		slices.Reverse(history)
	}
	return history
}

// since returns when the withdrawal reached its current status.
func since(w api.Withdrawal) string {
	for i := len(w.Statuses) - 1; i >= 0; i-- {
		if w.Statuses[i].Status == w.Current {
			return w.Statuses[i].At
		}
	}
	return ""
}

func externalID(w api.Withdrawal) render.Cell {
	if w.ExternalID == 0 {
		return render.Own("")
	}
	return render.Int(w.ExternalID)
}

// Created is the printed answer of a create.
type Created struct {
	ID              string `json:"id"`
	ExternalOrderID string `json:"external_order_id,omitempty"`
}

// Creations is the view of the ids that a create returned.
func Creations(money.Registry) render.View[Created] {
	return render.View[Created]{
		ID:   func(c Created) string { return c.ID },
		JSON: render.Value[Created](),
		Columns: []render.Column[Created]{
			{Name: "id", About: "the service's id of what was made",
				Cell: func(c Created) render.Cell { return render.Text(c.ID) }},
			{Name: "external_order_id", About: "your own number for it",
				Cell: func(c Created) render.Cell { return render.Own(c.ExternalOrderID) }},
		},
	}
}
