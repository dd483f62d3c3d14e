package cli

import (
	"math"
	"slices"
	"strings"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// The views say how the service's resources are shown. A column's name is the interface's field name, but where a table
// needs a shorter one or a payout file already has another.

func withdrawalView(m money.Registry) render.View[api.Withdrawal] {
	type row = api.Withdrawal
	return render.View[row]{
		ID:   func(w row) string { return w.ID },
		JSON: func(w row) []byte { return w.RawJSON() },
		Columns: []render.Column[row]{
			{Name: "id", Whole: true, Cell: func(w row) render.Cell { return render.Text(w.ID) }},
			{Name: "order_id", Whole: true, Cell: func(w row) render.Cell { return orderID(w.ExternalOrderID) }},
			{Name: "status", Cell: func(w row) render.Cell { return render.Text(w.Current) }},
			{Name: "amount", Amount: true, Cell: func(w row) render.Cell { return amountCell(m, w.Amount) }},
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

// orderID is the merchant's own where it is one; anything else is the service's text.
func orderID(id string) render.Cell {
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

func amountCell(m money.Registry, a api.Amount) render.Cell {
	return render.Amount(a.Minor, a.Code, m.Decimals(a.Code))
}

func invoiceView(m money.Registry) render.View[api.Invoice] {
	type row = api.Invoice
	return render.View[row]{
		ID:   func(i row) string { return i.ID },
		JSON: func(i row) []byte { return i.RawJSON() },
		Columns: []render.Column[row]{
			{Name: "id", Whole: true, Cell: func(i row) render.Cell { return render.Text(i.ID) }},
			{Name: "order_id", Cell: func(i row) render.Cell { return render.Text(i.ExternalOrderID) }},
			{Name: "number", Cell: func(i row) render.Cell { return number(i.ExternalNumber) }},
			{Name: "title", Cell: func(i row) render.Cell { return render.Text(i.Title) }},
			{Name: "status", Cell: func(i row) render.Cell { return render.Text(i.Status) }},
			{Name: "state", Cell: func(i row) render.Cell { return render.Text(i.State) }},
			{Name: "total", Amount: true, Cell: func(i row) render.Cell { return invoiceTotal(m, i) }},
			{Name: "items", Cell: func(i row) render.Cell { return render.Text(itemLines(m, i)) }},
			{Name: "currency", Extra: true, Cell: func(i row) render.Cell { return render.Text(i.Currency.Code) }},
			{Name: "created_date", Cell: func(i row) render.Cell { return render.Text(i.CreatedDate) }},
			{Name: "choosen", Cell: func(i row) render.Cell { return render.JSONText(i.Choosen) }},
			{Name: "due_date", Extra: true, Cell: func(i row) render.Cell { return render.Text(i.DueDate) }},
		},
	}
}

func number(n int64) render.Cell {
	if n == 0 {
		return render.Own("")
	}
	return render.Int(n)
}

// invoiceTotal is the sum of the items, or empty where it does not fit into 64 bits: a wrong number is worse than none.
func invoiceTotal(m money.Registry, i api.Invoice) render.Cell {
	total := int64(0)
	for _, item := range i.Items {
		if item.Amount > 0 && total > math.MaxInt64-item.Amount || item.Amount < 0 && total < math.MinInt64-item.Amount {
			return render.Own("")
		}
		total += item.Amount
	}
	return amountCell(m, amountIn(m, i.Currency, total))
}

// amountIn is an amount of minor units in a currency, spelled as amounts are.
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

func inviteView(money.Registry) render.View[api.Invite] {
	type row = api.Invite
	return render.View[row]{
		ID:   func(i row) string { return i.Invite },
		JSON: func(i row) []byte { return i.RawJSON() },
		Columns: []render.Column[row]{
			{Name: "invite", Whole: true, Cell: func(i row) render.Cell { return render.Text(i.Invite) }},
			{Name: "label", Cell: func(i row) render.Cell { return render.Text(i.Label) }},
		},
	}
}

func resellerView(m money.Registry) render.View[api.Reseller] {
	type row = api.Reseller
	return render.View[row]{
		ID:   func(r row) string { return r.ID },
		JSON: func(r row) []byte { return r.RawJSON() },
		Columns: []render.Column[row]{
			{Name: "id", Whole: true, Cell: func(r row) render.Cell { return render.Text(r.ID) }},
			{Name: "label", Cell: func(r row) render.Cell { return render.Text(r.InviteInfo.Label) }},
			{Name: "invite", Extra: true, Detail: true, Cell: func(r row) render.Cell { return render.Text(r.InviteInfo.Invite) }},
			{Name: "rebates", Cell: func(r row) render.Cell { return render.Text(rebateLine(m, r.Rebates)) }},
		},
	}
}

func rebateLine(m money.Registry, rebates api.Rebates) string {
	amounts := make([]string, len(rebates))
	for i, r := range rebates {
		amounts[i] = m.Format(r.Amount)
	}
	return strings.Join(amounts, ", ")
}

// created is the answer of a create, as it is printed.
type created struct {
	ID              string `json:"id"`
	ExternalOrderID string `json:"external_order_id,omitempty"`
}

func createdView(money.Registry) render.View[created] {
	return render.View[created]{
		ID:   func(c created) string { return c.ID },
		JSON: func(c created) []byte { return render.Encode(c) },
		Columns: []render.Column[created]{
			{Name: "id", Cell: func(c created) render.Cell { return render.Text(c.ID) }},
			{Name: "external_order_id", Cell: func(c created) render.Cell { return render.Own(c.ExternalOrderID) }},
		},
	}
}
