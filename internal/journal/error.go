package journal

import (
	"fmt"
	"io/fs"
)

// An Error says that the journal cannot be opened, read or written.
type Error struct {
	Place string // without a password
	Msg   string // what is wrong and what to do
	Err   error
	Lost  bool // its files are gone: do not try again

	Config bool // the setting is wrong, not the journal
}

func (e *Error) Error() string { return "the journal " + e.Place + " " + e.Msg }
func (e *Error) Unwrap() error { return e.Err }

// notThere returns the error for a journal that is only to be read and does not exist. A wrong name must not
// look like a journal in which nothing has happened.
func notThere(place string) error {
	return &Error{Place: place,
		Msg: "does not exist: its name may be wrong (see its origin: till config show), or nothing was sent with it yet", Err: fs.ErrNotExist}
}

// An ExistsError says that an order is not sent because its state in the journal does not allow it.
type ExistsError struct {
	Order Order
	Same  bool // the order has the content that was to be sent
	Alive bool // a living process is sending it
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("order %s is %s in the journal", e.Order.OrderID, e.Order.State)
}

// A DuplicateError says that an order is not sent because another order has the same content.
type DuplicateError struct {
	Order Order // the other order
	Alive bool  // a living process is sending it
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("order %s has the same content and is %s", e.Order.OrderID, e.Order.State)
}

// A GoneError says that an order is not in the journal, or not in a state that allows the change.
type GoneError struct {
	OrderID string
	State   State // empty: there is no such order
	Alive   bool
	Taken   string // the id under which the service has shown it, which a person cannot undo; empty: never
}

func (e *GoneError) Error() string {
	if e.State == "" {
		return fmt.Sprintf("the journal has no order %s in this account", e.OrderID)
	}
	if e.Taken != "" {
		return fmt.Sprintf("the service has shown order %s, as %s", e.OrderID, e.Taken)
	}
	return fmt.Sprintf("order %s is %s", e.OrderID, e.State)
}

// A HolderError says that a withdrawal's id belongs to another order.
type HolderError struct{ Withdrawal, OrderID string }

func (e *HolderError) Error() string {
	return fmt.Sprintf("withdrawal %s belongs to order %s in the journal", e.Withdrawal, e.OrderID)
}

// An AccountError says that an account has changed, or cannot be renamed.
type AccountError struct {
	Account Account
	Msg     string
}

func (e *AccountError) Error() string { return e.Account.String() + " " + e.Msg }

// A DemandError says that what must be approved for an account has changed since the sender found out.
type DemandError struct{ Account Account }

func (e *DemandError) Error() string {
	return "what must be approved for " + e.Account.String() + " has changed meanwhile"
}

// A RunError says that a run cannot begin or continue.
type RunError struct {
	Run   string
	Msg   string
	Batch bool // it is about the batch of the run
}

func (e *RunError) Error() string { return "run " + e.Run + " " + e.Msg }

// A BusyError says that another process sends withdrawals and has to end first.
type BusyError struct {
	Run        string // the run that it applies; empty: it sends a single order
	OrderID    string // the order that it sends, if it applies no run
	User, Host string
}

func (e *BusyError) Error() string {
	if e.Run == "" {
		return fmt.Sprintf("another process is sending order %s (%s on %s)", e.OrderID, e.User, e.Host)
	}
	return fmt.Sprintf("another process applies a plan from this journal: run %s, by %s on %s", e.Run, e.User, e.Host)
}
