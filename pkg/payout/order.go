package payout

import (
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// State is the state of an order.
type State = journal.State

// The states of an order.
const (
	StatePlanned  State = "planned"  // recorded and not sent: it may be sent
	StateSending  State = "sending"  // a process is sending it
	StateAccepted State = "accepted" // the service took it and gave it an id
	StateRejected State = "rejected" // the service refused it: it may be sent again
	StateUnknown  State = "unknown"  // it may have been paid: see Sender.Reconcile
	StateConflict State = "conflict" // the service's record differs from the order: see Sender.Resolve
)

// States returns all states.
func States() []State { return journal.States() }

// An Account identifies a merchant: a name that you choose, and the base URL of the service. The same order
// id in two accounts is two orders.
type Account struct {
	Address string `json:"address"` // the base URL; for till's sandbox, its identity
	Name    string `json:"name"`
}

func (a Account) String() string { return journal.Account(a).String() }

// An Order is a withdrawal in the journal, under the order id that you gave it.
type Order struct {
	OrderID  string       `json:"order_id"`
	State    State        `json:"state"`
	ID       string       `json:"id"` // the service's id, if it has accepted the order
	Currency api.Currency `json:"currency"`
	Amount   api.Amount   `json:"amount"`
	Address  string       `json:"address"`
	Memo     string       `json:"memo"`
	Callback string       `json:"callback"`
	Note     string       `json:"note"`
	Run      string       `json:"run"` // the run that sent it last or, if none did, recorded it
	Created  time.Time    `json:"created"`
	Sent     time.Time    `json:"sent"` // when the last attempt began; zero: it was never sent
	Changed  time.Time    `json:"changed"`
	User     string       `json:"user"` // who made the last attempt or, if there is none, the first record
	Host     string       `json:"host"`
	Key      string       `json:"key"`    // fingerprint of the key of the last attempt, see api.Client.KeyFingerprint
	Code     int64        `json:"code"`   // the service's code of a rejection
	Reason   string       `json:"reason"` // why it has this state
	Resolved *Resolution  `json:"resolved"`
	Attempts []Attempt    `json:"attempts"` // oldest first
}

// Consent returns the number of the Consent that approved the last attempt; 0: there is none.
func (o Order) Consent() int64 {
	if len(o.Attempts) == 0 {
		return 0
	}
	return o.Attempts[len(o.Attempts)-1].Consent
}

// An Attempt is one call for an order.
type Attempt struct {
	Number   int64     `json:"number"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`    // zero: its process has not recorded the end
	Outcome  Ending    `json:"outcome"`  // empty while it is under way
	Decimals int64     `json:"decimals"` // decimals of the amount as it was shown when it was sent; negative: unknown
	Demand   int64     `json:"demand"`   // Demand.Number of what the account demanded then; 0: nothing yet
	Consent  int64     `json:"consent"`  // Consent.Number of what approved it; 0: nobody had to approve
}

// Ending is how an attempt ended: accepted, rejected, unknown or, if the service did not decide about the
// order, "said nothing".
type Ending = journal.Ending

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
	At         time.Time    `json:"at"`
	What       string       `json:"what"`
	State      State        `json:"state"` // after the event
	Currency   api.Currency `json:"currency"`
	Amount     api.Amount   `json:"amount"`
	Address    string       `json:"address"`
	Memo       string       `json:"memo"`
	Callback   string       `json:"callback"`
	Key        string       `json:"key"`
	ID         string       `json:"id"`
	HTTPStatus int64        `json:"http_status"`
	Code       int64        `json:"code"`
	Reason     string       `json:"reason"`
	User       string       `json:"user"`
	Host       string       `json:"host"`
}

// A Filter chooses orders. Its zero value chooses all orders of an account.
type Filter struct {
	From, To time.Time // time of the last attempt or, if there is none, of the first record; To is exclusive
	States   []State
	Currency api.Currency
	Address  string
	Run      string // name of the run
	Runs     bool   // only orders that belong to a run
	OrderID  string
}

// Attempted reports whether an attempt to send the order was ever made.
func (o Order) Attempted() bool { return len(o.Attempts) > 0 }

// SentBy reports whether this run sent the order, rather than another run, a single Send or another machine.
func (o Order) SentBy(run string) bool { return o.Run == run && o.Attempted() }

func (f Filter) journal() journal.Filter {
	own := journal.Filter{From: f.From, To: f.To, States: f.States, Address: f.Address, Run: f.Run, Runs: f.Runs,
		OrderID: f.OrderID}
	if f.Currency != (api.Currency{}) {
		own.Currency = unit(f.Currency.Kind, f.Currency.Code)
	}
	return own
}

func orderOf(o journal.Order) Order {
	order := Order{
		OrderID: o.OrderID, State: o.State, ID: o.Withdrawal, Currency: currencyOf(o.Currency),
		Amount: amountOf(o.Content), Address: o.Address, Memo: o.Memo, Callback: o.Callback,
		Note: o.Note, Run: o.Run, Created: o.Created, Sent: o.Sent, Changed: o.Changed, User: o.User, Host: o.Host,
		Key: o.Key, Code: o.Code, Reason: o.Reason,
		Attempts: make([]Attempt, len(o.Attempts)),
	}
	for i, a := range o.Attempts {
		order.Attempts[i] = Attempt{a.Number, a.Began, a.Ended, a.Outcome, a.Decimals, a.Demand, a.Consent}
	}
	if d := o.Decided; d != nil {
		order.Resolved = &Resolution{d.As, d.Reason, d.User, d.Host, d.At}
	}
	return order
}

func eventOf(e journal.Event) Event {
	return Event{
		At: e.At, What: e.What, State: e.State, Currency: currencyOf(e.Currency), Amount: amountOf(e.Content),
		Address: e.Address, Memo: e.Memo, Callback: e.Callback, Key: e.Key,
		ID: e.Withdrawal, HTTPStatus: e.Status, Code: e.Code, Reason: e.Reason, User: e.User, Host: e.Host,
	}
}
