package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// DefaultWaitInterval is the default pause between two reads of a wait.
const DefaultWaitInterval = 2 * time.Second

// Wait says what WaitFor waits for. Names are compared without regard to case, because the interface does not
// show how the service spells them.
type Wait struct {
	Status   []string      // statuses that end the wait; empty: any, if State is not empty
	State    []string      // the same for the state of an invoice; a withdrawal has no state
	FailOn   []string      // statuses, and states of an invoice, that end the wait with a WaitError
	Interval time.Duration // between two reads; 0: DefaultWaitInterval
}

// WaitError is the error of a wait that did not reach its goal. Err is in its chain: the end of the context,
// or an Error of a call that would fail the same way each time.
type WaitError struct {
	ID     string // of the withdrawal or invoice
	Status string // the last one read; empty: none was read
	State  string // of an invoice, the last one read
	Failed bool   // Status or State is one of Wait.FailOn; Err is nil then
	Err    error
}

// Error says what was waited for, what was read last, and why the wait ended.
func (e *WaitError) Error() string {
	now := ""
	switch {
	case e.State != "":
		now = fmt.Sprintf(" with the status %q and the state %q", e.Status, e.State)
	case e.Status != "":
		now = fmt.Sprintf(" with the status %q", e.Status)
	}
	if e.Failed {
		return fmt.Sprintf("the wait for %s ended%s, which is one to fail on", e.ID, now)
	}
	return fmt.Sprintf("the wait for %s ended%s: %v", e.ID, now, e.Err)
}

// Unwrap returns the cause, such as context.DeadlineExceeded.
func (e *WaitError) Unwrap() error { return e.Err }

// WaitFor reads a withdrawal until its status is one of wait.Status, and returns it. The context limits the
// wait; without a deadline, the wait lasts until the context is canceled. A read that fails is repeated,
// after the pause that the service asks for, unless the service refuses the key or does not know the id. If
// the time left is shorter than the next pause, WaitFor returns at once. With every error it returns what was
// read last. The error is a *WaitError, or an *InvalidError about id or wait.
// id or wait.
//
// GET /api/merchant_withdrawal (section 4.1), repeatedly
func (s *Withdrawals) WaitFor(ctx context.Context, id string, wait Wait) (Withdrawal, error) {
	if len(wait.State) > 0 {
		return Withdrawal{}, invalid("state", "a withdrawal has none: wait for a status")
	}
	if err := checkID("id", id); err != nil {
		return Withdrawal{}, err
	}
	return waitFor(ctx, id, wait, s.Get, func(w Withdrawal) seenState { return seenState{w.ID, w.Current, ""} })
}

// WaitFor reads an invoice until its status is one of wait.Status and its state is one of wait.State, and
// returns it. An empty list matches any value. It ends as Withdrawals.WaitFor does.
//
// GET /api/invoice (section 4.2), repeatedly
func (s *Invoices) WaitFor(ctx context.Context, id string, wait Wait) (Invoice, error) {
	if err := checkUUIDField("id", id); err != nil {
		return Invoice{}, err
	}
	return waitFor(ctx, id, wait, s.Get, func(i Invoice) seenState { return seenState{i.ID, i.Status, i.State} })
}

// seenState is the part of a read that a wait looks at.
type seenState struct{ id, status, state string }

func (w Wait) check() error {
	if len(w.Status)+len(w.State) == 0 {
		return invalid("status", "there is none to wait for: name one")
	}
	if w.Interval < 0 {
		return invalid("interval", "%s is negative", w.Interval)
	}
	for _, name := range w.FailOn {
		if among(name, w.Status) || among(name, w.State) {
			return invalid("fail_on", "%q is waited for as well", name)
		}
	}
	return nil
}

func waitFor[T any](
	ctx context.Context, id string, wait Wait, get func(context.Context, string) (T, error), look func(T) seenState,
) (T, error) {
	var last T
	if err := wait.check(); err != nil {
		return last, err
	}
	var now seenState
	ended := func(cause, trouble error) (T, error) {
		if trouble != nil && !errors.Is(trouble, cause) {
			cause = fmt.Errorf("%w; the last reading failed: %w", cause, trouble)
		}
		return last, &WaitError{ID: id, Status: now.status, State: now.state, Err: cause}
	}
	for {
		value, err := get(ctx, id)
		pause := wait.Interval
		if pause == 0 {
			pause = DefaultWaitInterval
		}
		if err == nil {
			if got := look(value); !strings.EqualFold(got.id, id) {
				err = fmt.Errorf("the answer is about %q", got.id)
			} else {
				last, now = value, got
				switch {
				case now.status == "" && len(wait.Status) > 0 || now.state == "" && len(wait.State) > 0:
					return ended(errors.New("the answer has no status or state, which is waited for"), nil)
				case among(now.status, wait.FailOn) || now.state != "" && among(now.state, wait.FailOn):
					return last, &WaitError{ID: id, Status: now.status, State: now.state, Failed: true}
				case (len(wait.Status) == 0 || among(now.status, wait.Status)) &&
					(len(wait.State) == 0 || among(now.state, wait.State)):
					return last, nil
				}
			}
		}
		if call := (*Error)(nil); errors.As(err, &call) {
			if slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, call.Status) {
				return ended(err, nil)
			}
			pause = max(pause, call.RetryAfter)
		}
		if ctx.Err() != nil {
			return ended(ctx.Err(), err)
		}
		if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < pause {
			return ended(context.DeadlineExceeded, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ended(ctx.Err(), err)
		case <-timer.C:
		}
	}
}

func among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
