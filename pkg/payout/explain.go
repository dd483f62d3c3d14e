package payout

import (
	"errors"
	"fmt"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
)

// stateText returns a state as it appears in a sentence.
func stateText(s State) string {
	if s == StateConflict {
		return "in conflict"
	}
	return string(s)
}

// describeSent describes the content of an order with the decimals with which it was sent. If they are others
// today, it has the minor units too.
func describeSent(m money.Registry, o Order) string {
	then := m.As(o.Amount.Unit(), o.DecimalsSent())
	text := describe(then, o.Content)
	if then.Format(o.Amount) != m.Format(o.Amount) {
		text += fmt.Sprintf(" (%d minor units)", o.Amount.Minor)
	}
	return text
}

func describe(m money.Registry, c Content) string {
	text := m.Format(c.Amount)
	if c.Amount.Unit() != c.Currency {
		text += ", withdrawn in " + c.Currency.Code + ","
	}
	text += " to " + c.Address
	if c.Memo != "" {
		text += ", memo " + c.Memo
	}
	return text
}

// otherContent refuses an order that the journal has with other content, with the advice to take another
// order id. For an unknown order that would pay again what may have been paid, so it has to be settled first.
func (s *Sender) otherContent(o journal.Record, c Content, another string) error {
	e := refused(RuleOrderID, "order %s is %s in the journal with other content: %s, and not %s", o.OrderID,
		stateText(o.State), describeSent(s.money, o.Order), describe(s.money, c))
	if o.State == StateUnknown {
		return e.hint("find out first what became of it with", "withdraw", "reconcile", o.OrderID)
	}
	return e.hint(another, "journal", "show", o.OrderID)
}

// unsettled returns the error for an order that is in conflict, unknown or being sent.
func unsettled(o journal.Record) *Error {
	switch o.State {
	case StateConflict:
		e := failed(Conflict, "order %s is in conflict: %s", o.OrderID, o.Reason).about(o.OrderID, o.ID)
		e.Hint = settleConflict(o.OrderID, o.ID)
		return e
	case StateSending:
		return failed(Busy, "another process is sending order %s (%s on %s)", o.OrderID, o.User, o.Host).
			about(o.OrderID, "").hint("wait for it, and run this again")
	}
	return unknownOutcome(o.OrderID, "it may have been paid", nil)
}

func unknownOutcome(orderID, why string, err error) *Error {
	return failed(Unknown, "the outcome of order %s is unknown: %s", orderID, why).about(orderID, "").because(err).
		hint("do not send it again; find out with", "withdraw", "reconcile", orderID)
}

// unrecorded returns the error for a call that was made, and whose outcome the journal does not have.
func unrecorded(orderID string, out journal.Outcome, err error) error {
	what := "its outcome"
	if out.Reason != "" {
		what = "its outcome (" + out.Reason + ")"
	}
	if out.Withdrawal != "" {
		what = "that the service accepted it as " + out.Withdrawal
	}
	return failed(Unknown, "order %s was sent, and %s could not be recorded: %w", orderID, what, err).
		about(orderID, out.Withdrawal).
		hint("do not send it again; when the journal can be written, find out with", "withdraw", "reconcile", orderID)
}

// duplicateOf returns the error for an order that is not sent because another one has the same content.
func duplicateOf(orderID string, o journal.Record) *Error {
	e := refused(RuleDuplicate, "order %s was not sent: ", orderID)
	switch o.State {
	case StateUnknown:
		e.Kind, e.OrderID = Unknown, o.OrderID
		e.Msg += fmt.Sprintf("order %s has the same content, and its outcome is unknown, so this could pay twice", o.OrderID)
		return e.hint("add --allow-duplicate if both are meant; otherwise find out about order "+o.OrderID+" with",
			"withdraw", "reconcile", o.OrderID)
	case StateSending:
		e.Kind = Busy
		e.Msg += fmt.Sprintf("another process is sending order %s with the same content (%s on %s)", o.OrderID, o.User, o.Host)
		return e.hint("wait for it, or add --allow-duplicate if both are meant")
	}
	e.Msg += fmt.Sprintf("order %s with the same content was accepted at %s as %s", o.OrderID,
		sentAt(o).UTC().Format(time.RFC3339), o.ID)
	return e.hint("to pay it once more, add --allow-duplicate or an --order-id of its own")
}

// accountChanged explains the error for an account that was changed after the sender found it.
func accountChanged(err error) error {
	const what = "nothing more is sent: %w"
	switch {
	case errors.Is(err, journal.DemandChanged):
		return refused(RuleApproval, what, err).hint("run it again: it says what must be approved now")
	case errors.Is(err, journal.AccountChanged):
		return refused(RuleAccount, what, err).
			hint("run it again for the right account, of those that the journal has", "journal", "export")
	}
	return err
}

// dropsOrderIDs returns the error for a withdrawal that was accepted, and is not shown with its order id.
func dropsOrderIDs(o journal.Record) error {
	return failed(Conflict, "order %s was accepted as %s, and the service does not show its order id as it was sent: what it has cannot be looked up, so nothing protects against paying twice when a record is lost",
		o.OrderID, o.ID).about(o.OrderID, o.ID).
		hint("ask its provider; to send all the same, relying on this journal alone: --lookup never")
}

// unproven refuses to decide with a list that cannot prove that an order is not on it, and that hardly will.
func unproven(msg string, err error) error {
	return refused(RuleList, "%s", msg).because(err).
		hint("look at the list; if nothing on it is an order of this journal, record that (or send with --lookup never, relying on this journal alone)",
			"journal", "check", "--accept", "REASON")
}

// otherMerchant returns the error for a record of another merchant than the account's.
func otherMerchant(orderID, withdrawal, other, noted string) error {
	return failed(Conflict, "the service shows order %s as withdrawal %s of the merchant %q, and this account is the merchant %q",
		orderID, withdrawal, other, noted).about(orderID, withdrawal).
		hint("if the merchant's id has changed, record that", "journal", "adopt-merchant", other, "--reason", "TEXT")
}
