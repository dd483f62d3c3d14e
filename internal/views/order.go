// Package views defines how resources of the service and orders of the journal are shown: their columns and
// their JSON.
//
// A column has the name of the interface's field, unless a table needs a shorter name or payout files already
// use another.
package views

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"example.com/till/pkg/payout/sheet"
)

// Of returns a view: what --quiet prints of a row, its JSON, and its columns.
func Of[T any](id func(T) string, json render.Document[T], columns ...render.Column[T]) render.View[T] {
	return render.View[T]{ID: id, JSON: json, Columns: columns}
}

// AmountCell shows an amount in units if the decimals of its currency are known, and otherwise in minor
// units. No amount is an empty text.
func AmountCell(m money.Registry, a api.Amount) render.Cell {
	if a.Code == "" {
		return render.Own("")
	}
	return render.Amount(a.Minor, a.Code, m.Decimals(a.Code))
}

// Decimal returns a count of minor units as a decimal for JSON, or nil if the decimals are unknown.
func Decimal(minor *big.Int, decimals int) *string {
	if decimals == money.Unknown {
		return nil
	}
	text := money.Decimal(minor, decimals)
	return &text
}

// DecimalOf returns an amount as a decimal for JSON, or nil if its decimals are unknown.
func DecimalOf(m money.Registry, a api.Amount) *string {
	return Decimal(big.NewInt(a.Minor), m.DecimalsOf(a.Kind, a.Code))
}

// OrderLine is an order of the journal as JSON.
type OrderLine struct {
	OrderID  string       `json:"order_id" schema:"order-id"`
	State    payout.State `json:"state"`
	ID       string       `json:"id"`
	Currency api.Currency `json:"currency"`
	Amount   api.Amount   `json:"amount"`
	Decimal  *string      `json:"decimal" schema:"decimal"` // the amount, with the decimals of the last attempt
	Address  string       `json:"address"`
	Memo     string       `json:"memo"`
	Callback string       `json:"callback"`
	sheet.Kept
	Run      string          `json:"run"`
	Created  string          `json:"created" schema:"moment"`
	Sent     string          `json:"sent" schema:"moment"`
	Changed  string          `json:"changed" schema:"moment"`
	User     string          `json:"user"`
	Host     string          `json:"host"`
	Key      string          `json:"key"`
	Code     int64           `json:"code"`
	Reason   string          `json:"reason"`
	Resolved *ResolutionLine `json:"resolved"`
	Approval *ApprovalLine   `json:"approval,omitempty"` // only if its last attempt had to be approved
}

// HistoryLine is an order with its full history as JSON.
type HistoryLine struct {
	OrderLine
	Events   []EventLine   `json:"events"`
	Attempts []AttemptLine `json:"attempts"`
}

// AttemptLine is one call for an order.
type AttemptLine struct {
	Number  int64  `json:"number"`
	Began   string `json:"began" schema:"moment"`
	Ended   string `json:"ended" schema:"moment"`   // empty if the sender has not recorded the end
	Outcome string `json:"outcome" schema:"ending"` // empty while the call is in flight
	// Decimals are those with which the amount was shown when it was sent; null if they were unknown.
	Decimals *int64 `json:"decimals"`
	// Demand is the number of the demand of approvals under which it was made, as in journal approvals.
	Demand int64 `json:"demand,omitempty"`
}

// AsSent returns the registry with the decimals with which the amount of an order was shown when it was sent.
func AsSent(m money.Registry, o payout.Order) money.Registry {
	return m.As(o.Amount.Unit(), o.DecimalsSent())
}

// AsThen returns, for each event of an order, the registry with the decimals with which the amount was shown
// at the attempt that it belongs to.
func AsThen(m money.Registry, o payout.Order, events []payout.Event) []money.Registry {
	then, attempts := AsSent(m, o), o.Attempts // one for each event that sends
	all := make([]money.Registry, len(events))
	for i, e := range events {
		if e.What == "sending" && len(attempts) > 0 {
			then, attempts = m.As(e.Amount.Unit(), attempts[0].Decimals), attempts[1:]
		}
		all[i] = then
	}
	return all
}

// ResolutionLine is a resolution with its time in the format of all other times.
type ResolutionLine struct {
	payout.Resolution
	At string `json:"at" schema:"moment"`
}

// EventLine is an event with its time in the format of all other times.
type EventLine struct {
	At string `json:"at" schema:"moment"`
	payout.Event
	Decimal *string `json:"decimal" schema:"decimal"` // the amount, with the decimals of that time
}

// NewHistoryLine returns an order as JSON, with its events and attempts.
func NewHistoryLine(m money.Registry, o payout.Order, events []payout.Event) HistoryLine {
	line := HistoryLine{NewOrderLine(m, o), make([]EventLine, len(events)), make([]AttemptLine, len(o.Attempts))}
	for i, then := range AsThen(m, o, events) {
		line.Events[i] = EventLine{Moment(events[i].At), events[i], DecimalOf(then, events[i].Amount)}
	}
	for i, a := range o.Attempts {
		line.Attempts[i] = AttemptLine{Number: a.Number, Began: Moment(a.Began), Ended: Moment(a.Ended),
			Outcome: string(a.Outcome), Demand: a.Demand}
		if a.Decimals >= 0 {
			line.Attempts[i].Decimals = &a.Decimals
		}
	}
	return line
}

// NewOrderLine returns an order as JSON, without its events and attempts.
func NewOrderLine(m money.Registry, o payout.Order) OrderLine {
	line := OrderLine{
		OrderID: o.OrderID, State: o.State, ID: o.ID, Currency: o.Currency, Amount: o.Amount,
		Decimal: DecimalOf(AsSent(m, o), o.Amount), Address: o.Address, Memo: o.Memo,
		Callback: o.Callback, Kept: o.Kept, Run: o.Run, Created: Moment(o.Created), Sent: Moment(o.Sent),
		Changed: Moment(o.Changed),
		User:    o.User, Host: o.Host, Key: o.Key, Code: o.Code, Reason: o.Reason,
	}
	if d := o.Resolved; d != nil {
		line.Resolved = &ResolutionLine{*d, Moment(d.At)}
	}
	return line
}

// Moment formats a time in UTC as RFC 3339. A zero time is an empty text.
func Moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// MomentCell shows a time.
func MomentCell(t time.Time) render.Cell { return render.Time(Moment(t)) }

// ApprovalLine says as JSON what approved the last attempt of an order.
type ApprovalLine struct {
	Run       string          `json:"run"`
	Digest    string          `json:"digest"`   // of the plan
	Required  int             `json:"required"` // how many persons had to approve it
	Approvals []SignatureLine `json:"approvals"`
}

// SignatureLine is an approval of one person as JSON. The key, the principal and the signature are what
// ssh-keygen -Y verify needs.
type SignatureLine struct {
	Principal   string `json:"principal"`
	Fingerprint string `json:"fingerprint"`
	Key         string `json:"key"`
	Signature   string `json:"signature"`
	Seen        string `json:"seen"` // when it was recorded
	User        string `json:"user"` // who applied the plan then
	Host        string `json:"host"`
}

// NewApprovalLine returns what approved an attempt as JSON.
func NewApprovalLine(c approval.Consent) *ApprovalLine {
	line := &ApprovalLine{Run: c.Run, Digest: c.Digest, Required: c.Required, Approvals: []SignatureLine{}}
	for _, a := range c.Approvals {
		line.Approvals = append(line.Approvals,
			SignatureLine{a.Principal, a.Fingerprint, a.Key, a.Signature, Moment(a.Seen), a.User, a.Host})
	}
	return line
}

// By names those who have approved. It is empty if no approval was needed.
func (l *ApprovalLine) By() string {
	if l == nil {
		return ""
	}
	names := make([]string, len(l.Approvals))
	for i, a := range l.Approvals {
		names[i] = a.Principal + " (" + a.Fingerprint + ")"
	}
	return strings.Join(names, ", ")
}

// Orders is the view of an order of the journal.
func Orders(m money.Registry) render.View[payout.Order] {
	type row = payout.Order
	text := render.Field[row, string]
	view := Of(func(o row) string { return o.OrderID }, render.Encoded(func(o row) OrderLine { return NewOrderLine(m, o) }),
		text("order_id", "your own number for the withdrawal", render.Word, func(o row) string { return o.OrderID }),
		text("state", "what the journal knows: till help payouts", render.Word, func(o row) string { return string(o.State) }),
		render.AmountField("amount", "amount to withdraw",
			func(o row) render.Cell { return AmountCell(AsSent(m, o), o.Amount) }),
		text("currency", "currency that is withdrawn", render.Own, func(o row) string { return o.Currency.Code }),
		render.Field("sent", "when the last attempt began", MomentCell, func(o row) time.Time { return o.Sent }),
		text("id", "the service's id of the withdrawal, once accepted", render.ID, func(o row) string { return o.ID }),
		text("address", "address that the money goes to", render.Own, func(o row) string { return o.Address }),
		text("memo", "memo of the transfer", render.Own, func(o row) string { return o.Memo }),
		text("reason", "why the order has its state", render.Text, func(o row) string { return o.Reason }),
		text("run", "the run that sent or recorded it", render.Own, func(o row) string { return o.Run }),
		text("user", "who made the last attempt", render.Own, func(o row) string { return o.User }),
		text("host", "machine of the last attempt", render.Own, func(o row) string { return o.Host }),
		text("key", "fingerprint of the key of the last attempt", render.Own, func(o row) string { return o.Key }),
		text("resolved", "what a person decided about it", render.Own, resolution),
		text("callback", "URL to which the service sends its response", render.Own, func(o row) string { return o.Callback }),
		render.Field("created", "when the journal recorded it", MomentCell, func(o row) time.Time { return o.Created }),
		render.Field("changed", "when its state last changed", MomentCell, func(o row) time.Time { return o.Changed }))
	for i, name := range sheet.Names()[sheet.Note:] {
		show := render.Own
		if name == "note" {
			show = render.Note
		}
		view.Columns = slices.Insert(view.Columns, len(view.Columns)-3, text(name, "your "+name+" in the payout file", show,
			func(o row) string { return *o.Texts(nil, nil, nil)[int(sheet.Note-sheet.Address)+i] }))
	}
	return view.Default("order_id", "state", "amount", "sent", "reason").Whole("currency", "address", "memo", "reason")
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
