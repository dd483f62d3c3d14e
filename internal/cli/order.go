package cli

import (
	"fmt"
	"time"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// orderLine is a row of the journal as JSON.
type orderLine struct {
	OrderID  string          `json:"order_id"`
	State    payout.State    `json:"state"`
	ID       string          `json:"id"`
	Currency api.Currency    `json:"currency"`
	Amount   api.Amount      `json:"amount"`
	Address  string          `json:"address"`
	Memo     string          `json:"memo"`
	Callback string          `json:"callback"`
	Note     string          `json:"note"`
	Run      string          `json:"run"`
	Created  string          `json:"created"`
	Sent     string          `json:"sent"`
	Changed  string          `json:"changed"`
	User     string          `json:"user"`
	Host     string          `json:"host"`
	Key      string          `json:"key"`
	Code     int64           `json:"code"`
	Reason   string          `json:"reason"`
	Resolved *resolutionLine `json:"resolved"`

	Listed *bool       `json:"listed,omitempty"` // of a reconciliation
	Status string      `json:"status,omitempty"`
	Events []eventLine `json:"events,omitempty"` // of a whole story

	Attempts []attemptLine `json:"attempts,omitempty"` // likewise
}

// attemptLine is one call for an order.
type attemptLine struct {
	Number   int64  `json:"number"`
	Began    string `json:"began"`
	Ended    string `json:"ended"`    // empty: its sender has not said how it ended
	Outcome  string `json:"outcome"`  // empty while it is under way
	Decimals *int64 `json:"decimals"` // with which the amount was shown when it was sent; null: they were unknown
}

func attemptsOf(o payout.Order) []attemptLine {
	lines := make([]attemptLine, len(o.Attempts))
	for i, a := range o.Attempts {
		lines[i] = attemptLine{Number: a.Number, Began: moment(a.Began), Ended: moment(a.Ended), Outcome: string(a.Outcome)}
		if a.Decimals >= 0 {
			lines[i].Decimals = &a.Decimals
		}
	}
	return lines
}

// decimalsSent are those with which the amount was shown at the last attempt; empty: there was none, or they were unknown.
func decimalsSent(o payout.Order) string {
	if n := len(o.Attempts); n > 0 && o.Attempts[n-1].Decimals >= 0 {
		return fmt.Sprint(o.Attempts[n-1].Decimals)
	}
	return ""
}

// resolutionLine and eventLine write their time as every other one is written.
type resolutionLine struct {
	payout.Resolution
	At string `json:"at"`
}

type eventLine struct {
	At string `json:"at"`
	payout.Event
}

func lineOf(o payout.Order) orderLine {
	line := orderLine{
		OrderID: o.OrderID, State: o.State, ID: o.ID, Currency: o.Currency, Amount: o.Amount, Address: o.Address, Memo: o.Memo,
		Callback: o.Callback, Note: o.Note, Run: o.Run, Created: moment(o.Created), Sent: moment(o.Sent), Changed: moment(o.Changed),
		User: o.User, Host: o.Host, Key: o.Key, Code: o.Code, Reason: o.Reason,
	}
	if d := o.Resolved; d != nil {
		line.Resolved = &resolutionLine{*d, moment(d.At)}
	}
	return line
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func orderView(m money.Registry) render.View[payout.Order] {
	type row = payout.Order
	return render.View[row]{
		ID:   func(o row) string { return o.OrderID },
		JSON: func(o row) []byte { return render.Encode(lineOf(o)) },
		Columns: []render.Column[row]{
			{Name: "order_id", Whole: true, Cell: func(o row) render.Cell { return render.Own(o.OrderID) }},
			{Name: "state", Cell: func(o row) render.Cell { return render.Own(string(o.State)) }},
			{Name: "amount", Amount: true, Cell: func(o row) render.Cell { return amountCell(m, o.Amount) }},
			{Name: "currency", Extra: true, Detail: true, Cell: func(o row) render.Cell { return render.Own(o.Currency.Code) }},
			{Name: "sent", Cell: func(o row) render.Cell { return render.Own(moment(o.Sent)) }},
			{Name: "id", Whole: true, Wide: true, Cell: func(o row) render.Cell { return render.Text(o.ID) }},
			{Name: "address", Wide: true, Cell: func(o row) render.Cell { return render.Own(o.Address) }},
			{Name: "memo", Extra: true, Detail: true, Cell: func(o row) render.Cell { return render.Own(o.Memo) }},
			{Name: "reason", Wide: true, Cell: func(o row) render.Cell { return render.Text(o.Reason) }},
			{Name: "run", Wide: true, Cell: func(o row) render.Cell { return render.Own(o.Run) }},
			{Name: "user", Wide: true, Cell: func(o row) render.Cell { return render.Own(o.User) }},
			{Name: "host", Wide: true, Cell: func(o row) render.Cell { return render.Own(o.Host) }},
			{Name: "key", Wide: true, Cell: func(o row) render.Cell { return render.Own(o.Key) }},
			{Name: "resolved", Wide: true, Cell: func(o row) render.Cell { return render.Own(resolution(o)) }},
			{Name: "note", Extra: true, Detail: true, Cell: func(o row) render.Cell { return render.Own(o.Note) }},
			{Name: "callback", Extra: true, Detail: true, Cell: func(o row) render.Cell { return render.Own(o.Callback) }},
			{Name: "created", Extra: true, Detail: true, Cell: func(o row) render.Cell { return render.Own(moment(o.Created)) }},
			{Name: "changed", Extra: true, Detail: true, Cell: func(o row) render.Cell { return render.Own(moment(o.Changed)) }},
		},
	}
}

func resolution(o payout.Order) string {
	if o.Resolved == nil {
		return ""
	}
	text := fmt.Sprintf("%s by %s on %s", o.Resolved.As, o.Resolved.User, o.Resolved.Host)
	if o.Resolved.Reason != "" {
		text += ": " + o.Resolved.Reason
	}
	return text
}
