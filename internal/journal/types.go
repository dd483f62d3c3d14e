package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

// A Record is an order with what only the journal needs to know of it.
type Record struct {
	order.Order

	// Shown is the id under which the service first showed this order, in an answer or on its list, as it was
	// sent or not; empty: never. No one can decide that an order was not sent if the service has shown it.
	Shown string

	origins []origin // of the attempts
	row     int64    // number of the order
	account int64
	version int64 // incremented with every change
}

// An origin says which process made an attempt, and what its clocks showed.
type origin struct {
	sender int64  // number of the lock of the process
	boot   string // the Moment at which the attempt began
	since  time.Duration
	skew   string // how far this machine's clock was ahead of the service's then; empty: unknown
}

// InDoubt reports whether any attempt of the order may have been taken, even if a person has said since
// that it was not. Such an order must not be sent again with other content.
func (r Record) InDoubt() bool {
	return slices.ContainsFunc(r.Attempts, func(a order.Attempt) bool { return a.Outcome == order.WasUncertain })
}

// origin returns the origin of the last attempt, or the zero origin if there is none.
func (r Record) origin() origin {
	if len(r.origins) == 0 {
		return origin{}
	}
	return r.origins[len(r.origins)-1]
}

// payee returns a hash that is equal for all spellings of an address.
func payee(to string) string {
	sum := sha256.Sum256([]byte(address.Canonical(to)))
	return hex.EncodeToString(sum[:16])
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

// Outcome is how an attempt ended, in the form in which it is recorded.
type Outcome struct {
	Ending     order.Ending
	Withdrawal string
	Status     int64 // HTTP; 0: there was no answer
	Code       int64
	Reason     string
	Skew       *time.Duration // of this machine's clock against the answer's date; nil: unknown
}

// A Person is the user and machine that did something, for the record.
type Person struct{ User, Host string }

// A Moment is a time by the journal's clock. In SQLite it is also a time since this machine has started,
// because that clock is not fooled if somebody sets the time of this machine.
type Moment struct {
	At    time.Time
	boot  string // names the start of this machine; empty: there is no such clock
	since time.Duration
}

// Age returns how long before a moment the last attempt of the order began. Skew is how far this machine's
// clock is ahead of the service's at that moment; nil: it is not known. If the machine has started again
// since the attempt, and the skew was known then too, the service's clock decides.
func (o Record) Age(m Moment, skew *time.Duration) time.Duration {
	last := o.origin()
	age := m.At.Sub(o.Sent)
	switch {
	case m.boot != "" && m.boot == last.boot:
		age = m.since - last.since
	case m.boot != "" && skew != nil && last.skew != "":
		then, _ := time.ParseDuration(last.skew)
		age -= *skew - then
	}
	return age
}

// keepable returns a text of the service in a form that every database accepts. PostgreSQL would refuse the
// whole record if the text had a zero byte or were not UTF-8.
func keepable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// storable encodes an id of the service so that every database accepts it, and restored decodes it. The exact
// id is needed to ask for the withdrawal, and an outcome that cannot be recorded is lost.
func storable(id string) string { return toStore.Replace(id) }

func restored(id string) string { return fromStore.Replace(id) }

// Making a replacer takes longer than using it.
var (
	toStore   = strings.NewReplacer("\x01", "\x011", "\x00", "\x010")
	fromStore = strings.NewReplacer("\x011", "\x01", "\x010", "\x00")
)

// A Claim asks for the right to send a withdrawal.
type Claim struct {
	Row
	Key      string // fingerprint
	Decimals int64  // decimals of the amount as it is shown today; negative: unknown
	// AllowDuplicate lets the same content be sent under several order ids while one of them is unknown.
	AllowDuplicate bool
	// Window is how long an order that was accepted or is under way keeps another one with the same content
	// from being sent. It is for orders whose id was generated; 0 is for all others.
	Window time.Duration
	// NotRejected keeps a rejected order from being sent again.
	NotRejected bool
	// SameContent keeps an order that the journal has from being sent with other content.
	SameContent bool
	Run         string // the run that sends it and has recorded it; empty: none
	// Batch is the batch of the run. If a newer run of it has begun by now, the claim is refused as
	// BatchChanged.
	Batch string
	// Demand is the number of the demand under which the sender found that it may be sent. If another one is
	// in force by now, the claim is refused as DemandChanged.
	Demand  int64
	Consent int64 // number of what approved it; 0: nothing had to
	// Budgets are those of the account. If the amount exceeds one of them now, the claim is refused as
	// OverBudget.
	Budgets []Budget
	// Skew is how far this machine's clock is ahead of the service's; nil: it is not known yet.
	Skew *time.Duration

	Known Record // the order when it was read before; it is read again only if it has changed
}

// A Ticket is the right to send one withdrawal once, with the content that it has.
type Ticket struct {
	Began time.Time // when the claim was recorded, by this machine's clock
	order Record    // after the claim
}

// Order returns the order to send. It is the record that is on the disk.
func (ticket Ticket) Order() order.Order { return ticket.order.Order }

// allows returns an error if the attempt of a ticket cannot end in this way.
func (ticket Ticket) allows(out Outcome) error {
	switch {
	case !ticket.order.Attempted():
		return errors.New("an outcome needs the ticket of an attempt")
	case out.Ending == order.UnderWay:
		return errors.New("an attempt that is under way has not ended")
	case out.Ending == order.WasAccepted && out.Withdrawal == "":
		return errNoID
	}
	return nil
}

// Evidence is what the service says about an order, on its list or in a single record.
type Evidence struct {
	OrderID    string
	Withdrawal string
	Key        string // fingerprint of the key that read the record; empty: not relevant
	Dated      string // date of the record, in the service's format; empty: it has none
	Differs    string // how the record differs from the order; empty: it does not
	// Content is what the record was compared with. If the journal does not have the order, it is the content
	// that the order is to have.
	order.Content
}

// A Decision is what a person says about an order: either PaidAs or NotSent. An empty PaidAs does not mean
// NotSent.
type Decision struct {
	OrderID string
	PaidAs  string // the service's id of the withdrawal
	NotSent bool   // needs a reason
	Reason  string
	// AlthoughDifferent accepts a withdrawal that differs from the order, or that belongs to another order.
	// It needs a reason.
	AlthoughDifferent bool
	// About is the order when the decision was made; nil: its current state. A decision says nothing about
	// what has happened to the order since.
	About *Record
}

// A Run is a plan that has begun to be applied.
type Run struct {
	Name   string    `json:"run"` // the first characters of the digest
	Digest string    `json:"digest"`
	Plan   string    `json:"plan"`  // the name of its file
	Batch  string    `json:"batch"` // from which its order ids were derived; empty: they were given
	Layout string    `json:"-"`     // that its file was read with, as any text that is equal for equal ones
	Since  string    `json:"-"`     // the newest run of the batch when the plan was made; empty: none had begun
	Before int       `json:"-"`     // how many of its orders may be paid already, as a person said
	Began  time.Time `json:"-"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
	// Required is how many persons had to approve it, and Approvals are the signatures that counted, when it
	// is begun. Ledger.Approvals returns all that were recorded. BeginRun returns the number of the Consent.
	Required  int64               `json:"-"`
	Approvals []approval.Approval `json:"-"`
	New       bool                `json:"-"` // BeginRun has just made it and every order of it
	Consent   int64               `json:"-"`

	id, sender int64
}

// A Row is one withdrawal of a plan.
type Row struct {
	OrderID string
	order.Content
	Callback string
	sheet.Kept
}

// A Budget is the most that may be claimed for an account in a day or in a month, and not definitely refused
// since. What was claimed counts in the period in which its last attempt began, by the journal's clock.
type Budget struct {
	Most  api.Amount
	Month bool           // a month, and not a day
	Zone  *time.Location // in which the day or the month begins
}

// An Overrun says which budget an amount exceeds.
type Overrun struct {
	Budget Budget
	Amount api.BigAmount
	Left   api.Sum // of the budget, in minor units; negative: it was lowered since
	Until  time.Time
}

// LowerCase returns a unit in the form in which units that differ only in case are one.
func LowerCase(unit api.Currency) api.Currency {
	unit.Code = strings.ToLower(unit.Code)
	return unit
}

var errNoID = errors.New("a withdrawal without an id cannot be recorded")

// Hooks change how Open opens a journal, for the tests of other packages.
type Hooks struct {
	// Driver returns the driver that is used instead of the database's own. So a test can watch, delay or fail
	// every statement. The connections must have the methods of the database's that are not in package driver.
	Driver func(driver.Connector) driver.Connector
	// SinceBoot takes the place of that of the options, which real time moves.
	SinceBoot func() (boot string, since time.Duration)
	// Copies says that a copy is taken for the journal itself. So the state of a disk can be rebuilt elsewhere.
	Copies bool
}

// WithHooks returns a context that makes Open use hooks.
func WithHooks(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

type hooksKey struct{}

func hooks(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

func openDB(ctx context.Context, c driver.Connector) *sql.DB {
	if wrap := hooks(ctx).Driver; wrap != nil {
		c = wrap(c)
	}
	return sql.OpenDB(c)
}

// The ways in which a key came to be noted for an account.
const (
	KeyFirst   = "first"   // nothing was accepted or unknown before it
	KeyChecked = "checked" // it could read what was accepted before it
	KeyAdopted = "adopted" // a person said so
)
