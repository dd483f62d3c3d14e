package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/address"
)

// State is the state of an order; the package documentation says what each state means.
type State string

const (
	Planned  State = "planned"
	Sending  State = "sending"
	Accepted State = "accepted"
	Rejected State = "rejected"
	Unknown  State = "unknown"
	Conflict State = "conflict"
)

// States returns all states.
func States() []State { return []State{Planned, Sending, Accepted, Rejected, Unknown, Conflict} }

// Content is what makes two withdrawals the same: everything that decides who gets how much money.
type Content struct {
	Currency string `json:"currency"` // kind and code, as in crypto:Btc
	Unit     string `json:"unit"`     // unit of the amount, as in fiat:USD
	Minor    int64  `json:"minor"`    // the amount, in minor units
	Address  string `json:"address"`
	Memo     string `json:"memo"`
}

// Same reports whether two contents pay the same. Codes are compared without regard to case, and addresses in
// canonical form.
func (c Content) Same(o Content) bool { return c.Canonical() == o.Canonical() }

// Canonical returns the content in the form that is equal for contents that pay the same.
func (c Content) Canonical() Content {
	c.Currency, c.Unit, c.Address = strings.ToLower(c.Currency), strings.ToLower(c.Unit), address.Canonical(c.Address)
	return c
}

// A Key is a hash of a content or of an address. The database searches for keys, because an address or a memo can be
// too long for an index.
type Key [16]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Key returns a hash that is equal for contents that pay the same. payee does the same for addresses.
func (c Content) Key() Key {
	c = c.Canonical()
	b := append(strconv.AppendQuote(make([]byte, 0, 256), c.Currency), ' ')
	b = append(strconv.AppendQuote(b, c.Unit), ' ')
	b = append(strconv.AppendInt(b, c.Minor, 10), ' ')
	b = append(strconv.AppendQuote(b, c.Address), ' ')
	return keyOf(strconv.AppendQuote(b, c.Memo))
}

func payee(to string) string { return keyOf([]byte(address.Canonical(to))).String() }

func keyOf(text []byte) Key {
	sum := sha256.Sum256(text)
	return Key(sum[:16])
}

// An Order is one withdrawal in the journal, under the order id that the merchant or till gave it.
type Order struct {
	OrderID string `json:"order_id"`
	State   State  `json:"state"`
	Content
	Callback   string    `json:"callback"`
	Note       string    `json:"note"`
	Run        string    `json:"run"`        // the run that sent it last or, if none did, recorded it; empty: none
	Withdrawal string    `json:"withdrawal"` // the service's id for it; empty: none
	Created    time.Time `json:"created"`
	Changed    time.Time `json:"changed"`
	Sent       time.Time `json:"sent"`   // when the last attempt began; zero: never
	Code       int64     `json:"code"`   // the service's code of a rejection
	Reason     string    `json:"reason"` // why it has this state; may be empty
	User       string    `json:"user"`   // who made the last attempt or, if there is none, the first record
	Host       string    `json:"host"`
	Key        string    `json:"key"` // fingerprint of the key of the last attempt
	Decided    *Decided  `json:"decided,omitempty"`
	Merchant   string    `json:"-"` // the account's merchant, if known
	Attempts   []Attempt `json:"-"` // oldest first

	// Shown is the id under which the service first showed this order, in an answer or on its list, as it was
	// sent or not; empty: never. No one can decide that an order was not sent if the service has shown it.
	Shown string `json:"-"`

	id      int64
	account int64
	version int64 // incremented with every change
}

// An Attempt is one call for an order: the right to send it once, and its outcome.
type Attempt struct {
	Number   int64
	Began    time.Time
	Ended    time.Time // zero: its sender has not recorded the end
	Outcome  Ending
	Decimals int64 // decimals of the amount as it was shown when it was sent; negative: unknown
	Demand   int64 // number of the demand under which it was made; 0: none
	Consent  int64 // number of what approved it; 0: nothing had to
	// Skew is how far this machine's clock was ahead of the service's then, if Dated.
	Skew  time.Duration
	Dated bool

	sender int64  // number of the lock of the process that made it
	boot   string // the Moment at which it began
	since  time.Duration
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

// Decided is the last decision of a person about an order.
type Decided struct {
	At     time.Time `json:"at"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
	As     string    `json:"as"` // paid-as or not-sent
	Reason string    `json:"reason"`
}

// Attempted reports whether an attempt to send the order was ever made.
func (o Order) Attempted() bool { return len(o.Attempts) > 0 }

// InDoubt reports whether any attempt of the order may have been taken, even if a person has said since that
// it was not. Such an order must not be sent again with other content.
func (o Order) InDoubt() bool {
	return slices.ContainsFunc(o.Attempts, func(a Attempt) bool { return a.Outcome == WasUncertain })
}

// SentBy reports whether this run sent the order, rather than another run, a single create or another
// machine.
func (o Order) SentBy(run string) bool { return o.Run == run && o.Attempted() }

// last returns the last attempt; its number is 0 if there is none.
func (o Order) last() Attempt {
	if len(o.Attempts) == 0 {
		return Attempt{}
	}
	return o.Attempts[len(o.Attempts)-1]
}

// An Event is one line of an order's history.
type Event struct {
	At    time.Time `json:"at"`
	User  string    `json:"user"`
	Host  string    `json:"host"`
	What  string    `json:"what"`
	State State     `json:"state"` // after the event
	Content
	Callback   string `json:"callback"`
	Key        string `json:"key"`
	Withdrawal string `json:"withdrawal"`
	Status     int64  `json:"status"` // HTTP
	Code       int64  `json:"code"`
	Reason     string `json:"reason"`
}

// The names of events.
const (
	eventPlanned  = "planned"       // recorded, not sent
	eventSending  = "sending"       // an attempt begins
	eventAnswered = "answered"      // the attempt has ended
	eventLate     = "answered late" // after the order was made unknown
	eventDied     = "sender died"
	eventMissing  = "missing" // the service does not have the withdrawal whose id it gave
	eventShown    = "shown"   // on the service's list, in a scan that settled nothing
	eventFound    = "found"   // on the service's list
	eventDiffers  = "differs"
	eventPaidAs   = "paid-as" // a person's decisions
	eventNotSent  = "not-sent"
)

// An Account is a service's address and a name for the merchant there. A Ledger is found by these attributes.
type Account struct {
	Address string `json:"address"` // the base URL; of a sandbox, its identity
	Name    string `json:"name"`
}

func (a Account) String() string {
	if a.Name == "" {
		return a.Address
	}
	return fmt.Sprintf("the account %s at %s", a.Name, a.Address)
}

// Outcome is how an attempt ended, in the form in which it is recorded.
type Outcome struct {
	Ending     Ending
	Withdrawal string
	Status     int64 // HTTP; 0: there was no answer
	Code       int64
	Reason     string
	Skew       *time.Duration // of this machine's clock against the answer's date; nil: unknown
}

// A Person is the user and machine that did something, for the record.
type Person struct{ User, Host string }
