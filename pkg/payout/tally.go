package payout

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Tally counts the orders of a run by state.
type Tally struct {
	Rows   int
	States map[State]int
	// Totals are the totals of all rows, one for each unit. Accepted and Left are the totals of the rows that
	// were accepted, and of those that are still to be sent.
	Totals, Accepted, Left []Total
	// Before is how many accepted orders were not sent by this run. Found is how many of these are known only
	// from the service's list. First and Last are when the first and the last of the others were sent.
	Before, Found int
	First, Last   time.Time
	// DatedFirst and DatedLast are the earliest and the latest date of the orders that LookUp found on the
	// list, in the list's format; empty: there are none.
	DatedFirst, DatedLast string
	Ended                 int    // how many calls have ended since the orders were counted
	Unknown               string // the first order that is unknown; empty: there is none
	Conflict              string // the first order in conflict; empty: there is none
}

func newTally() Tally { return Tally{States: map[State]int{}} }

// LeftRows returns how many rows are still to be sent.
func (t Tally) LeftRows() (n int) {
	for _, total := range t.Left {
		n += total.Rows
	}
	return n
}

// Tally counts the orders of a run by state, using the journal alone. An order that this process is sending counts as
// unknown: its outcome may never be recorded.
func (l *Ledger) Tally(ctx context.Context, run string) (Tally, error) {
	sums, err := l.sums(ctx, run)
	t := newTally()
	for _, s := range sums {
		t.left(s)
	}
	return t, err
}

// sums returns the sums of a run that Run finds.
func (l *Ledger) sums(ctx context.Context, run string) ([]journal.Sum, error) {
	r, err := l.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	return own(l.ledger.Sums(ctx, r.Name))
}

// TallyByUnit is Tally for each unit in the run, in the order of first appearance. Each tally has one total.
// A run without rows has one tally without a total.
func (l *Ledger) TallyByUnit(ctx context.Context, run string) ([]Tally, error) {
	sums, err := l.sums(ctx, run)
	if err != nil {
		return nil, err
	}
	var units []Tally
	for _, s := range sums {
		i := slices.IndexFunc(units, func(t Tally) bool { return t.Totals[0].Amount.SameUnit(s.Amount) })
		if i < 0 {
			i = len(units)
			units = append(units, newTally())
		}
		units[i].left(s)
	}
	if len(units) == 0 {
		units = append(units, newTally())
	}
	return units, nil
}

// DecimalsSent returns, for each unit of a run, the decimals with which its amounts were shown when they were sent
// last: the most, if they differ. A unit that was not sent is left out, and so is one whose decimals are unknown.
func (l *Ledger) DecimalsSent(ctx context.Context, run string) (map[api.Currency]int64, error) {
	sums, err := l.sums(ctx, run)
	sent := map[api.Currency]int64{}
	for _, s := range sums {
		if unit := s.Amount.Unit(); s.Decimals >= 0 {
			sent[unit] = max(sent[unit], s.Decimals)
		}
	}
	return sent, err
}

// left adds the orders of a Sum to the tally.
func (t *Tally) left(s journal.Sum) {
	if s.Claimed { // their outcome could not be recorded: the next process makes them unknown
		s.State = StateUnknown
	}
	t.add(s, s.State == StatePlanned)
}

// dated notes the date of an order that was just found on the service's list.
func (t *Tally) dated(at string) {
	if at != "" {
		t.DatedFirst, t.DatedLast = min(cmp.Or(t.DatedFirst, at), at), max(t.DatedLast, at)
	}
}

// count adds an order to the tally.
func (t *Tally) count(o journal.Record, sentBy, sendable bool) {
	t.add(journal.Sum{State: o.State, SentBy: sentBy, Rows: 1, Amount: api.Big(o.Amount), OrderID: o.OrderID,
		First: o.Sent, Last: o.Sent}, sendable)
}

func (t *Tally) add(s journal.Sum, sendable bool) {
	t.Rows += s.Rows
	t.States[s.State] += s.Rows
	total := Total{s.Amount, s.Rows}
	t.Totals = addTotal(t.Totals, total)
	if sendable {
		t.Left = addTotal(t.Left, total)
	}
	switch {
	case s.State == StateUnknown && t.Unknown == "":
		t.Unknown = s.OrderID
	case s.State == StateConflict && t.Conflict == "":
		t.Conflict = s.OrderID
	case s.State == StateAccepted:
		t.Accepted = addTotal(t.Accepted, total)
		if !s.SentBy {
			t.addBefore(s)
		}
	}
}

// addBefore adds accepted orders that this run did not send.
func (t *Tally) addBefore(s journal.Sum) {
	if t.Before += s.Rows; s.First.IsZero() {
		t.Found += s.Rows
		return
	}
	if t.First.IsZero() || s.First.Before(t.First) {
		t.First = s.First
	}
	if s.Last.After(t.Last) {
		t.Last = s.Last
	}
}
