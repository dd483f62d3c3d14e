package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/address"
)

// State is where an order is on its way; the package documentation says what each means.
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

// Same reports whether two contents pay the same: codes are compared without regard to case, addresses in canonical form.
func (c Content) Same(o Content) bool { return c.canonical() == o.canonical() }

func (c Content) canonical() Content {
	c.Currency, c.Unit, c.Address = strings.ToLower(c.Currency), strings.ToLower(c.Unit), address.Canonical(c.Address)
	return c
}

// key is the same text for contents that pay the same, and another one for others, and payee for addresses. The store looks
// for them: an address or a memo can be too long for an index.
func (c Content) key() string {
	c = c.canonical()
	return short(fmt.Appendf(nil, "%q %q %d %q %q", c.Currency, c.Unit, c.Minor, c.Address, c.Memo))
}

func payee(to string) string { return short([]byte(address.Canonical(to))) }

func short(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
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
	Reason     string    `json:"reason"` // why it has this state, where something is to be said about it
	User       string    `json:"user"`   // who made the last attempt or, if there is none, the first record
	Host       string    `json:"host"`
	Key        string    `json:"key"` // fingerprint of the key of the last attempt
	Decided    *Decided  `json:"decided,omitempty"`
	Merchant   string    `json:"-"` // the account's, where it is known
	Attempts   []Attempt `json:"-"` // oldest first

	// Shown is the id under which the service first showed this order, in an answer or on its list, as it was sent or not.
	// Empty: never. What the service has shown is never taken for not sent.
	Shown string `json:"-"`

	id      int64
	account int64
	version int64 // grows with every change
}

// An Attempt is one call for an order: the right to send it once, and what came of it.
type Attempt struct {
	Number   int64
	Began    time.Time
	Ended    time.Time // zero: its sender has not said how it ended
	Outcome  Ending
	Decimals int64 // with which its amount was shown when it was sent; negative: they were unknown

	sender int64 // the number of the lock of the process that made it
}

// Ending is how an attempt ended.
type Ending string

const (
	UnderWay     Ending = ""
	WasAccepted  Ending = "accepted"
	WasRejected  Ending = "rejected"
	SaidNothing  Ending = "said nothing" // it never left, or the answer was about the key or the number of calls
	WasUncertain Ending = "unknown"      // the service may have taken it
)

// Decided is a person's decision, the last one about an order.
type Decided struct {
	At     time.Time `json:"at"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
	As     string    `json:"as"` // paid-as or not-sent
	Reason string    `json:"reason"`
}

// Attempted reports whether the order was ever on its way to the service.
func (o Order) Attempted() bool { return len(o.Attempts) > 0 }

// InDoubt reports whether an attempt of the order may have been taken, also when a person has said since that it was not.
// What may have been sent under an order id must not go out under it as something else.
func (o Order) InDoubt() bool {
	return slices.ContainsFunc(o.Attempts, func(a Attempt) bool { return a.Outcome == WasUncertain })
}

// FirstDoubt is when the first attempt began that may have been taken; zero: there is none.
func (o Order) FirstDoubt() time.Time {
	for _, a := range o.Attempts {
		if a.Outcome == WasUncertain || a.Outcome == UnderWay {
			return a.Began
		}
	}
	return time.Time{}
}

// SentBy reports whether it was this run that sent the order, and not another one, a single create or another machine.
func (o Order) SentBy(run string) bool { return o.Run == run && o.Attempted() }

// last is the attempt that was made last; its number is 0 if there is none.
func (o Order) last() Attempt {
	if len(o.Attempts) == 0 {
		return Attempt{}
	}
	return o.Attempts[len(o.Attempts)-1]
}

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
	eventShown    = "shown" // on the service's list, of which no more was read
	eventFound    = "found" // on the service's list
	eventDiffers  = "differs"
	eventPaidAs   = "paid-as" // a person's decisions
	eventNotSent  = "not-sent"
)

// An Account is a service's address and a name for the merchant there: the attributes by which a Ledger is found.
type Account struct {
	Address string `json:"address"` // the base URL; of a sandbox its identity
	Name    string `json:"name"`
}

func (a Account) String() string {
	if a.Name == "" {
		return a.Address
	}
	return fmt.Sprintf("the account %s at %s", a.Name, a.Address)
}

// Outcome is how an attempt ended, as it is recorded.
type Outcome struct {
	Ending     Ending
	Withdrawal string
	Status     int64 // HTTP; 0: there was no answer
	Code       int64
	Reason     string
}

// A Person is who did something, for the record.
type Person struct{ User, Host string }
