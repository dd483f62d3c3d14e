package journal

import "time"

// State is where an order stands; the package documentation says what each means.
type State string

const (
	Planned  State = "planned"
	Sending  State = "sending"
	Accepted State = "accepted"
	Rejected State = "rejected"
	Unknown  State = "unknown"
	Conflict State = "conflict"
)

// States returns all of them.
func States() []State { return []State{Planned, Sending, Accepted, Rejected, Unknown, Conflict} }

// Content is what makes two withdrawals the same: everything that decides where how much money goes.
type Content struct {
	Currency string `json:"currency"` // kind and code, as in crypto:Btc
	Unit     string `json:"unit"`     // what the amount is counted in, as in fiat:USD
	Minor    int64  `json:"minor"`    // the amount, in minor units
	Address  string `json:"address"`
	Memo     string `json:"memo"`
}

// An Order is one withdrawal as the journal has it, under the order id that the merchant or till gave it.
type Order struct {
	OrderID string `json:"order_id"`
	State   State  `json:"state"`
	Content
	Callback   string    `json:"callback"`
	Note       string    `json:"note"`
	Run        string    `json:"run"`        // the run that sent it last or, where none did, recorded it; empty: none
	Withdrawal string    `json:"withdrawal"` // the service's id for it, where there is one
	Created    time.Time `json:"created"`
	Changed    time.Time `json:"changed"`
	Sent       time.Time `json:"sent"`   // when the last attempt began; zero: never
	Code       int64     `json:"code"`   // the service's, of a rejection
	Reason     string    `json:"reason"` // why it stands where it stands, where something is to be said about it
	User       string    `json:"user"`   // who made the last attempt or, where there is none, the first record
	Host       string    `json:"host"`
	Key        string    `json:"key"` // fingerprint of the key of the last attempt
	Decided    *Decided  `json:"decided,omitempty"`
	Merchant   string    `json:"-"` // the account's, where it is known

	id      int64
	account int64
	attempt int64 // grows with each attempt, by which they are told apart; 0: there was none
	sender  int64 // whose attempt that is; 0: it has ended, by its sender's own word
	doubt   int64 // the first attempt of which nobody knows the outcome; 0: none

	lastDoubt int64 // the last one
}

// Decided is a person's decision, the last one about an order.
type Decided struct {
	At     time.Time `json:"at"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
	As     string    `json:"as"` // paid-as or not-sent
	Reason string    `json:"reason"`
}

// Attempts reports whether the order was ever on its way to the service.
func (o Order) Attempts() bool { return o.attempt != 0 }

// InDoubt reports whether an attempt of the order may have been taken, also where a person has said since that it was not.
// What may have been sent under an order id must not go out under it as something else.
func (o Order) InDoubt() bool { return o.doubt != 0 }

// SentBy reports whether it was this run that sent the order, and not another one, a single create or another machine.
func (o Order) SentBy(run string) bool { return o.Run == run && o.Attempts() }

// An Event is one line of an order's story.
type Event struct {
	At    time.Time `json:"at"`
	User  string    `json:"user"`
	Host  string    `json:"host"`
	What  string    `json:"what"`
	State State     `json:"state"` // that it led to
	Content
	Callback   string `json:"callback"`
	Key        string `json:"key"`
	Withdrawal string `json:"withdrawal"`
	Status     int64  `json:"status"` // HTTP
	Code       int64  `json:"code"`
	Reason     string `json:"reason"`
}

// What events are called.
const (
	eventPlanned  = "planned"       // recorded, not sent
	eventSending  = "sending"       // an attempt begins
	eventAnswered = "answered"      // it has ended
	eventLate     = "answered late" // after it was given up for unknown
	eventDied     = "sender died"
	eventFound    = "found" // on the service's list
	eventDiffers  = "differs"
	eventPaidAs   = "paid-as" // a person's decisions
	eventNotSent  = "not-sent"
)

// An Account is a service's address and a name for the merchant there.
type Account struct {
	Address string `json:"address"` // the base URL; of a sandbox its identity
	Name    string `json:"name"`
}

// Outcome is how an attempt ended.
type Outcome struct {
	State      State // Accepted, Rejected, Unknown; Planned where it says nothing and the order may be sent again
	Withdrawal string
	Status     int64 // HTTP; 0: there was no answer
	Code       int64
	Reason     string
}
