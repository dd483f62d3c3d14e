package views

import (
	"strings"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// Invoices is the view of an invoice.
func Invoices(m money.Registry) render.View[api.Invoice] {
	type row = api.Invoice
	text := render.Field[row, string]
	return render.View[row]{
		ID:   func(i row) string { return i.ID },
		JSON: render.Received[row](row.RawJSON),
		Columns: []render.Column[row]{
			text("id", "the service's id of the invoice", render.ID, func(i row) string { return i.ID }),
			text("order_id", "your own identifier for the invoice", render.Word, func(i row) string { return i.ExternalOrderID }),
			render.Field("number", "number that the customer sees", Number, func(i row) int64 { return i.ExternalNumber }),
			text("title", "title that the customer sees", render.Text, func(i row) string { return i.Title }),
			text("status", "status, in the service's words", render.Word, func(i row) string { return i.Status }),
			text("state", "state, in the service's words", render.Word, func(i row) string { return i.State }),
			{Name: "total", About: "sum of the items",
				Amount: true, Cell: func(i row) render.Cell { return invoiceTotal(m, i) }},
			text("items", "goods with their prices", render.Text, func(i row) string { return itemLines(m, i) }),
			text("currency", "currency of the invoice", render.Text, func(i row) string { return i.Currency.Code }),
			text("created_date", "when it was made; the service gives no time zone", render.Time,
				func(i row) string { return i.CreatedDate }),
			render.Field("choosen", "the customer's choice of payment, as the service sent it", render.JSONText,
				func(i row) []byte { return i.Choosen }),
			text("due_date", "deprecated by the service", render.Text, func(i row) string { return i.DueDate }),
		},
	}.Default("id", "order_id", "title", "status", "total", "created_date").Extra("currency", "due_date").
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

func itemLines(m money.Registry, i api.Invoice) string {
	lines := make([]string, len(i.Items))
	for n, item := range i.Items {
		lines[n] = item.Name + " " + m.Format(amountIn(m, i.Currency, item.Amount))
	}
	return strings.Join(lines, ", ")
}

// Invites is the view of an invite.
func Invites(money.Registry) render.View[api.Invite] {
	type row = api.Invite
	return render.View[row]{
		ID:   func(i row) string { return i.Invite },
		JSON: render.Received[row](row.RawJSON),
		Columns: []render.Column[row]{
			render.Field("invite", "id of the invite", render.ID, func(i row) string { return i.Invite }),
			render.Field("label", "label of the invite", render.Text, func(i row) string { return i.Label }),
		},
	}
}
