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
	text := render.Field[row, string]
	return render.View[row]{
		ID:   func(w row) string { return w.ID },
		JSON: render.Received[row](row.RawJSON),
		Columns: []render.Column[row]{
			text("id", "the service's id of the withdrawal", render.ID, func(w row) string { return w.ID }),
			text("order_id", "your own number for the withdrawal", render.Word, func(w row) string { return w.ExternalOrderID }),
			text("status", "current status, in the service's words", render.Word, func(w row) string { return w.Current }),
			{Name: "amount", About: "amount to withdraw",
				Amount: true, Cell: func(w row) render.Cell { return AmountCell(m, w.Amount) }},
			text("currency", "currency that is withdrawn", render.Text, func(w row) string { return w.Currency.Code }),
			text("address", "address that the money goes to", render.Text, func(w row) string { return w.Address.Text }),
			text("since", "when it reached the current status", render.Time, since),
			text("callback", "URL to which the service sends its response", render.Text, func(w row) string { return w.Callback }),
			render.Field("external_id", "your own number for the withdrawal, as an integer", Number,
				func(w row) int64 { return w.ExternalID }),
			text("merchant_id", "id of the merchant", render.Text, func(w row) string { return w.MerchantID }),
			render.Field("is_testnet", "whether it is on a test network", render.Bool, func(w row) bool { return w.IsTestnet }),
			render.Field("statuses", "every status so far with its time", render.History, steps),
		},
	}.Default("id", "order_id", "status", "amount", "since").Extra("external_id").Whole("currency", "address")
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

// Created is the printed answer of a create.
type Created struct {
	ID              string `json:"id"`
	ExternalOrderID string `json:"external_order_id,omitempty"`
}

// Creations is the view of the ids that a create returned.
func Creations(money.Registry) render.View[Created] {
	return render.ViewOf(func(c Created) string { return c.ID },
		render.Field("id", "the service's id of what was made", render.Text, func(c Created) string { return c.ID }),
		render.Field("external_order_id", "your own number for it", render.Own,
			func(c Created) string { return c.ExternalOrderID }))
}
