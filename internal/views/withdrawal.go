package views

import (
	"slices"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// Withdrawals shows a withdrawal of the service in a row.
func Withdrawals(m money.Registry) render.View[api.Withdrawal] {
	type row = api.Withdrawal
	return render.View[row]{
		ID:   func(w row) string { return w.ID },
		JSON: func(w row) []byte { return w.RawJSON() },
		Columns: []render.Column[row]{
			{Name: "id", Whole: true, Cell: func(w row) render.Cell { return render.Text(w.ID) }},
			{Name: "order_id", Whole: true, Cell: func(w row) render.Cell { return OrderID(w.ExternalOrderID) }},
			{Name: "status", Cell: func(w row) render.Cell { return render.Text(w.Current) }},
			{Name: "amount", Amount: true, Cell: func(w row) render.Cell { return AmountCell(m, w.Amount) }},
			{Name: "currency", Extra: true, Detail: true, Cell: func(w row) render.Cell { return render.Text(w.Currency.Code) }},
			{Name: "address", Wide: true, Cell: func(w row) render.Cell { return render.Text(w.Address.Text) }},
			{Name: "since", Wide: true, Cell: func(w row) render.Cell { return render.Text(since(w)) }},
			{Name: "callback", Extra: true, Detail: true, Cell: func(w row) render.Cell { return render.Text(w.Callback) }},
			{Name: "external_id", Extra: true, Cell: func(w row) render.Cell { return externalID(w) }},
			{Name: "merchant_id", Extra: true, Detail: true, Cell: func(w row) render.Cell { return render.Text(w.MerchantID) }},
			{Name: "is_testnet", Extra: true, Detail: true, Cell: func(w row) render.Cell { return render.Bool(w.IsTestnet) }},
			{Name: "statuses", Extra: true, Detail: true, Cell: func(w row) render.Cell { return render.History(steps(w)) }},
		},
	}
}

// steps is the history, the oldest first. The interface does not say which end of it is the newest: the status that the
// withdrawal has is shown there.
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

// since is when the withdrawal reached the status it has.
func since(w api.Withdrawal) string {
	for i := len(w.Statuses) - 1; i >= 0; i-- {
		if w.Statuses[i].Status == w.Current {
			return w.Statuses[i].At
		}
	}
	return ""
}

// OrderID is the merchant's own where it is one; anything else is the service's text.
func OrderID(id string) render.Cell {
	if api.CheckOrderID(id) == nil {
		return render.Own(id)
	}
	return render.Text(id)
}

func externalID(w api.Withdrawal) render.Cell {
	if w.ExternalID == 0 {
		return render.Own("")
	}
	return render.Int(w.ExternalID)
}

// Created is the answer of a create, as it is printed.
type Created struct {
	ID              string `json:"id"`
	ExternalOrderID string `json:"external_order_id,omitempty"`
}

// Creations shows the ids that a create has made.
func Creations(money.Registry) render.View[Created] {
	return render.View[Created]{
		ID:   func(c Created) string { return c.ID },
		JSON: func(c Created) []byte { return render.Encode(c) },
		Columns: []render.Column[Created]{
			{Name: "id", Cell: func(c Created) render.Cell { return render.Text(c.ID) }},
			{Name: "external_order_id", Cell: func(c Created) render.Cell { return render.Own(c.ExternalOrderID) }},
		},
	}
}
