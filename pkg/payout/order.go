package payout

import (
	"strconv"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// These types are those of package order.
type (
	// State is the state of an order.
	State = order.State
	// An Account identifies a merchant: a name that you choose, and the base URL of the service.
	Account = order.Account
	// An Order is a withdrawal in the journal, under the order id that you gave it.
	Order = order.Order
	// Content is what makes two withdrawals the same.
	Content = order.Content
	// A Resolution is the last decision of a person about an order.
	Resolution = order.Resolution
	// An Event is one step of an order's history.
	Event = order.Event
	// A Freeze is a person's decision that nothing more is sent for an account, or that this is over.
	Freeze = order.Freeze
	// A Filter chooses orders. Its zero value chooses all orders of an account.
	Filter = order.Filter
)

// The states of an order.
const (
	StatePlanned  = order.Planned  // recorded and not sent: it may be sent
	StateSending  = order.Sending  // a process is sending it
	StateAccepted = order.Accepted // the service took it and gave it an id
	StateRejected = order.Rejected // the service refused it: it may be sent again
	StateUnknown  = order.Unknown  // it may have been paid: see Sender.Reconcile
	StateConflict = order.Conflict // the service's record differs from the order: see Sender.Resolve
)

// States returns all states.
func States() []State { return order.States() }

func parseID(text string) int64 {
	if text == "" { // it is derived later: an error for each row would take memory
		return 0
	}
	id, _ := strconv.ParseInt(text, 10, 64) // checked by parse
	return id
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }

// contentOf returns what decides whether a request and another one are the same.
func contentOf(r api.CreateWithdrawal) Content {
	return Content{Currency: r.Currency, Amount: r.Amount, Address: r.Address, Memo: r.Memo}
}

// requestOf returns the request for an order in the journal.
func requestOf(o Order) api.CreateWithdrawal {
	return api.CreateWithdrawal{Currency: o.Currency, Amount: o.Amount, Address: o.Address, Memo: o.Memo, Callback: o.Callback,
		ExternalOrderID: o.OrderID}
}
