package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"example.com/till/pkg/payout/order"
)

// A Kind is what an Error is about. It is an error itself, for errors.Is.
type Kind string

const (
	Broken    Kind = "broken"    // the journal cannot be opened, read or written
	Misplaced Kind = "misplaced" // its address or a setting for it is wrong
	Lost      Kind = "lost"      // its files are gone: do not try again

	Exists    Kind = "exists"    // an order is not sent because its state does not allow it
	Duplicate Kind = "duplicate" // an order is not sent because another one has the same content

	NotFound     Kind = "not found"     // the account has no such order
	OrderChanged Kind = "order changed" // the order has changed, or its state does not allow the change
	Shown        Kind = "shown"         // the service has shown the order, and a person cannot undo that
	HeldByOther  Kind = "held by other" // the withdrawal's id belongs to another order

	AccountChanged Kind = "account changed" // the account has changed, or cannot be renamed
	DemandChanged  Kind = "demand changed"  // what must be approved has changed since the sender found out
	NoReason       Kind = "no reason"       // a person's decision has no reason
	Frozen         Kind = "frozen"          // a person has stopped all payments of the account
	OverBudget     Kind = "over budget"     // the amount is more than what is left for the day or month
	RunChanged     Kind = "run changed"     // a run cannot begin or continue
	BatchChanged   Kind = "batch changed"   // a run cannot continue, because another of its batch has begun
	Busy           Kind = "busy"            // another process sends withdrawals and has to end first
)

func (k Kind) Error() string { return string(k) }

// An Error says why the journal cannot be used, or why it does not allow something. Fields that its kind has
// no use for are empty.
type Error struct {
	Kind Kind
	Msg  string // what is wrong, if the kind does not say it
	Err  error

	Place      string // the journal, without a password
	Account    order.Account
	Order      Record // Exists, OrderChanged and Shown: the order; Duplicate: the other one
	Same       bool   // Exists: the order has the content that was to be sent
	Alive      bool   // Exists, Duplicate: a living process is sending the order
	OrderID    string
	Withdrawal string
	Run        string
	User, Host string // Busy: whose process it is
	Freeze     order.Freeze
	Over       Overrun
}

func (e *Error) Error() string {
	switch e.Kind {
	case Exists:
		return fmt.Sprintf("order %s is %s in the journal", e.Order.OrderID, e.Order.State)
	case Duplicate:
		return fmt.Sprintf("order %s has the same content and is %s", e.Order.OrderID, e.Order.State)
	case NotFound:
		return fmt.Sprintf("the journal has no order %s in this account", e.OrderID)
	case OrderChanged:
		return fmt.Sprintf("order %s is %s", e.Order.OrderID, e.Order.State)
	case Shown:
		return fmt.Sprintf("the service has shown order %s, as %s", e.Order.OrderID, e.Order.Shown)
	case HeldByOther:
		return fmt.Sprintf("withdrawal %s belongs to order %s in the journal", e.Withdrawal, e.OrderID)
	case AccountChanged:
		return e.Account.String() + " " + e.Msg
	case DemandChanged:
		return "what must be approved for " + e.Account.String() + " has changed meanwhile"
	case NoReason:
		return "the reason is missing"
	case Frozen:
		return fmt.Sprintf("%s was frozen at %s by %s on %s: %s", e.Account, e.Freeze.At.Format(time.RFC3339), e.Freeze.User, e.Freeze.Host, e.Freeze.Reason)
	case OverBudget:
		return fmt.Sprintf("the amount is more than what is left until %s", e.Over.Until.Format(time.RFC3339))
	case RunChanged, BatchChanged:
		if e.Run == "" {
			return fmt.Sprintf("order %s is of a batch that has gone on without it: what its newest run has instead would be paid as well, so it is paid only in a plan of that batch, or under another order id", e.OrderID)
		}
		return "run " + e.Run + " " + e.Msg
	case Busy:
		if e.Run == "" {
			return fmt.Sprintf("another process is sending order %s (%s on %s)", e.OrderID, e.User, e.Host)
		}
		return fmt.Sprintf("another process applies a plan from this journal: run %s, by %s on %s", e.Run, e.User, e.Host)
	}
	return "the journal " + e.Place + " " + e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// AsError returns the first Error in err's chain, or nil if there is none.
func AsError(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// refused reports whether err is the journal's answer to a request. What the request recorded before it is
// kept. Any other error undoes the whole transaction.
func refused(err error) bool {
	e := AsError(err)
	if e == nil {
		return false
	}
	switch e.Kind {
	case Broken, Misplaced, Lost, RunChanged, BatchChanged:
		return false
	}
	return true
}

// notThere returns the error for a journal that is only to be read and does not exist. A wrong name must not
// look like a journal in which nothing has happened.
func notThere(place string) error {
	return &Error{Kind: Broken, Place: place,
		Msg: "does not exist: its name may be wrong (see its origin: till config show), or nothing was sent with it yet", Err: fs.ErrNotExist}
}

// withoutContent is notThere for an empty file. It may be new, or what is left of a journal.
func withoutContent(place string) error {
	return &Error{Kind: Broken, Place: place, Err: fs.ErrNotExist,
		Msg: "is empty (0 bytes): nothing was recorded in it; if something was paid from it, put a copy of the journal in its place; otherwise correct its name (see its origin: till config show), or send with it as it is"}
}

var errDamaged = errors.New("the file is damaged")

// sharedError returns the error for a journal on a file system that is shared.
func sharedError(name string) error {
	return fmt.Errorf("it is on a shared file system (%s), where locks and syncs cannot be trusted; name a file on a local disk (a container needs a named volume), or a PostgreSQL database", name)
}
