package views

import (
	"bytes"
	"slices"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// Withdrawals is the view of a withdrawal of the service.
func Withdrawals(m money.Registry) render.View[api.Withdrawal] {
	type row = api.Withdrawal
	text := render.Field[row, string]
	return Of(func(w row) string { return w.ID }, render.Received[row](row.RawJSON),
		text("id", "the service's id of the withdrawal", render.ID, func(w row) string { return w.ID }),
		text("order_id", "your own number for the withdrawal", render.Word, func(w row) string { return w.ExternalOrderID }),
		text("status", "current status, in the service's words", render.Word, func(w row) string { return w.Current }),
		render.AmountField("amount", "amount to withdraw", func(w row) render.Cell { return AmountCell(m, w.Amount) }),
		text("currency", "currency that is withdrawn", render.Text, func(w row) string { return w.Currency.Code }),
		text("address", "address that the money goes to", render.Text, func(w row) string { return w.Address.Text }),
		text("since", "when it reached the current status", render.Time, since),
		text("callback", "URL to which the service sends its response", render.Text, func(w row) string { return w.Callback }),
		render.Field("external_id", "your own number for the withdrawal, as an integer", Number,
			func(w row) int64 { return w.ExternalID }),
		text("merchant_id", "id of the merchant", render.Text, func(w row) string { return w.MerchantID }),
		render.Column[row]{Name: "is_testnet", About: "whether it is on a test network", Cell: func(w row) render.Cell {
			return map[bool]render.Cell{true: render.Bool(w.IsTestnet)}[bytes.Contains(w.RawJSON(), []byte(`"is_testnet"`))]
		}}, // without it, an empty cell
		render.Field("statuses", "every status so far with its time", render.History, steps)).
		Default("id", "order_id", "status", "amount", "since").Extra("external_id").Whole("currency", "address")
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

func since(w api.Withdrawal) string {
	for _, s := range slices.Backward(w.Statuses) {
		if s.Status == w.Current {
			return s.At
		}
	}
	return ""
}

// Created is the printed answer of a create.
type Created struct {
	ID              string `json:"id" column:"text: the service's id of what was made"`
	ExternalOrderID string `json:"external_order_id,omitempty" column:"own: your own number for it"`
}

// Invoices is the view of an invoice.
func Invoices(m money.Registry) render.View[api.Invoice] {
	type row = api.Invoice
	text := render.Field[row, string]
	return Of(func(i row) string { return i.ID }, render.Received[row](row.RawJSON),
		text("id", "the service's id of the invoice", render.ID, func(i row) string { return i.ID }),
		text("order_id", "your own identifier for the invoice", render.Word, func(i row) string { return i.ExternalOrderID }),
		render.Field("number", "number that the customer sees", Number, func(i row) int64 { return i.ExternalNumber }),
		text("title", "title that the customer sees", render.Title, func(i row) string { return i.Title }),
		text("status", "status, in the service's words", render.Word, func(i row) string { return i.Status }),
		text("state", "state, in the service's words", render.Word, func(i row) string { return i.State }),
		render.AmountField("total", "sum of the items", func(i row) render.Cell { return invoiceTotal(m, i) }),
		render.Field("items", "goods with their prices", render.Sums, func(i row) []render.Step { return itemsOf(m, i) }),
		text("currency", "currency of the invoice", render.Text, func(i row) string { return i.Currency.Code }),
		text("created_date", "when it was made; the service gives no time zone", render.Time,
			func(i row) string { return i.CreatedDate }),
		render.Field("choosen", "the customer's choice of payment, as the service sent it", render.JSONText,
			func(i row) []byte { return i.Choosen }),
		text("due_date", "deprecated by the service", render.Text, func(i row) string { return i.DueDate })).
		Default("id", "order_id", "title", "status", "total", "created_date").Extra("currency", "due_date").
		Whole("items", "currency")
}

// Number shows a count. A zero is an empty cell.
func Number(n int64) render.Cell {
	if n == 0 {
		return render.Own("")
	}
	return render.Int(n)
}

// invoiceTotal shows the sum of the items. It is empty if the sum does not fit in 64 bits, because a wrong
// number is worse than none.
func invoiceTotal(m money.Registry, i api.Invoice) render.Cell {
	var sum api.Sum
	for _, item := range i.Items {
		sum.Add(item.Amount)
	}
	total, fits := sum.Int64()
	if !fits {
		return render.Own("")
	}
	return AmountCell(m, amountIn(m, i.Currency, total))
}

// amountIn returns an amount of minor units in a currency, with the code spelled as in amounts.
func amountIn(m money.Registry, c api.Currency, minor int64) api.Amount {
	code := c.Code
	if e, ok := m.Lookup(code); ok && e.Kind == c.Kind {
		code = e.Amount(0).Code
	}
	return api.Amount{Kind: c.Kind, Code: code, Minor: minor}
}

func itemsOf(m money.Registry, i api.Invoice) []render.Step {
	items := make([]render.Step, len(i.Items))
	for n, item := range i.Items {
		items[n] = render.Step{Status: item.Name, At: m.Format(amountIn(m, i.Currency, item.Amount))}
	}
	return items
}

// Invites is the view of an invite.
func Invites(money.Registry) render.View[api.Invite] {
	type row = api.Invite
	return Of(func(i row) string { return i.Invite }, render.Received[row](row.RawJSON),
		render.Field("invite", "id of the invite", render.ID, func(i row) string { return i.Invite }),
		render.Field("label", "label of the invite", render.Title, func(i row) string { return i.Label }))
}

// Resellers is the view of a reseller.
func Resellers(m money.Registry) render.View[api.Reseller] {
	type row = api.Reseller
	return Of(func(r row) string { return r.ID }, render.Received[row](row.RawJSON),
		render.Column[row]{Name: "label", About: "label of the invite that the reseller came by",
			Cell: func(r row) render.Cell { return render.Label(r.ID, r.InviteInfo.Label) }},
		render.Field("invite", "id of that invite", render.ID, func(r row) string { return r.InviteInfo.Invite }),
		render.Field("rebates", "rebates of the reseller in each currency", render.Sums,
			func(r row) []render.Step { return rebateSums(m, r.Rebates) }),
		render.Field("id", "the service's id of the reseller", render.ID, func(r row) string { return r.ID })).
		Default("label", "rebates", "id").Whole("rebates")
}

func rebateSums(m money.Registry, rebates api.Rebates) []render.Step {
	amounts := make([]render.Step, len(rebates))
	for i, r := range rebates {
		amounts[i].At = m.Format(r.Amount)
	}
	return amounts
}
