// Package order has the record of a withdrawal: what was asked for, every attempt to send it, and what became
// of it. Package payout makes these records and explains them.
package order

import (
	"fmt"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// State is the state of an order.
type State string

// The states of an order.
const (
	Planned  State = "planned"  // recorded and not sent: it may be sent
	Sending  State = "sending"  // a process is sending it
	Accepted State = "accepted" // the service took it and gave it an id
	Rejected State = "rejected" // the service refused it: it may be sent again
	Unknown  State = "unknown"  // it may have been paid
	Conflict State = "conflict" // the service's record differs from the order
)

// States returns all states.
func States() []State { return []State{Planned, Sending, Accepted, Rejected, Unknown, Conflict} }

// An Account identifies a merchant: a name that you choose, and the base URL of the service. The same order
// id in two accounts is two orders.
type Account struct {
	Address string `json:"address"` // the base URL; for till's sandbox, its identity
	Name    string `json:"name"`
}

func (a Account) String() string {
	if a.Name == "" {
		return a.Address
	}
	return fmt.Sprintf("the account %s at %s", a.Name, a.Address)
}

// An Order is a withdrawal in the journal, under the order id that the merchant or till gave it.
type Order struct {
	OrderID string `json:"order_id"`
	State   State  `json:"state"`
	ID      string `json:"id"` // the service's id; empty: none
	Content
	Callback string `json:"callback"`
	sheet.Kept
	Run      string      `json:"run"` // the run that sent it last or, if none did, recorded it; empty: none
	Created  time.Time   `json:"created"`
	Sent     time.Time   `json:"sent"` // when the last attempt began; zero: it was never sent
	Changed  time.Time   `json:"changed"`
	User     string      `json:"user"` // who made the last attempt or, if there is none, the first record
	Host     string      `json:"host"`
	Key      string      `json:"key"`    // fingerprint of the key of the last attempt, see api.Client.KeyFingerprint
	Code     int64       `json:"code"`   // the service's code of a rejection
	Reason   string      `json:"reason"` // why it has this state; may be empty
	Resolved *Resolution `json:"resolved"`
	Attempts []Attempt   `json:"attempts"` // oldest first
}

// Attempted reports whether an attempt to send the order was ever made.
func (o Order) Attempted() bool { return len(o.Attempts) > 0 }

// SentBy reports whether this run sent the order, rather than another run, a single withdrawal or another
// machine.
func (o Order) SentBy(run string) bool { return o.Run == run && o.Attempted() }

// Last returns the last attempt; its number is 0 if there is none.
func (o Order) Last() Attempt {
	if len(o.Attempts) == 0 {
		return Attempt{}
	}
	return o.Attempts[len(o.Attempts)-1]
}

// DecimalsSent returns the decimals with which the amount was shown when it was sent last; negative: unknown.
func (o Order) DecimalsSent() int64 {
	if !o.Attempted() {
		return -1
	}
	return o.Last().Decimals
}

// Consent returns the number of what approved the last attempt; 0: there is none.
func (o Order) Consent() int64 { return o.Last().Consent }

// An Attempt is one call for an order: the right to send it once, and its outcome.
type Attempt struct {
	Number   int64     `json:"number"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`    // zero: its process has not recorded the end
	Outcome  Ending    `json:"outcome"`  // empty while it is under way
	Decimals int64     `json:"decimals"` // decimals of the amount as it was shown when it was sent; negative: unknown
	Demand   int64     `json:"demand"`   // number of what the account demanded then; 0: nothing yet
	Consent  int64     `json:"consent"`  // number of what approved it; 0: no approval was needed
}

// Ending is how an attempt ended.
type Ending string

// How an attempt can end.
const (
	UnderWay     Ending = ""
	WasAccepted  Ending = "accepted"
	WasRejected  Ending = "rejected"
	SaidNothing  Ending = "said nothing" // it never left, or the answer was about the key or the number of calls
	WasUncertain Ending = "unknown"      // the service may have taken it
)

// A Resolution is the last decision of a person about an order.
type Resolution struct {
	As     string    `json:"as" schema:"decision"` // paid-as or not-sent
	Reason string    `json:"reason"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
	At     time.Time `json:"at"`
}

// An Event is one step of an order's history.
type Event struct {
	At    time.Time `json:"at"`
	What  string    `json:"what"`
	State State     `json:"state"` // after the event
	Content
	Callback   string `json:"callback"`
	Key        string `json:"key"`
	ID         string `json:"id"`
	HTTPStatus int64  `json:"http_status"`
	Code       int64  `json:"code"`
	Reason     string `json:"reason"`
	User       string `json:"user"`
	Host       string `json:"host"`
}

// A Filter chooses orders. Its zero value chooses all orders of an account.
type Filter struct {
	From, To  time.Time // time of the last attempt or, if there is none, of the first record; To is exclusive
	States    []State
	Currency  api.Currency
	Address   string
	Run       string // name of the run
	Runs      bool   // only orders that belong to a run
	OrderID   string
	Reference string
}

// A Freeze is a person's decision that nothing more is sent for an account, or that this is over.
type Freeze struct {
	At     time.Time `json:"at"`
	Frozen bool      `json:"frozen"`
	Reason string    `json:"reason"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
}
