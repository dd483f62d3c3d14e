package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/pkg/payout/order"
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

// Moment returns the present moment.
func (l *Ledger) Moment(ctx context.Context) (Moment, error) {
	t := l.j.read(ctx)
	at := t.clock()
	return l.j.moment(at), t.err
}

func (j *Journal) moment(at time.Time) Moment {
	m := Moment{At: at}
	if j.options.SinceBoot != nil && !j.Shared() {
		m.boot, m.since = j.options.SinceBoot()
	}
	return m
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
