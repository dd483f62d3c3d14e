package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// DefaultWaitInterval is the default pause between two readings of a wait.
const DefaultWaitInterval = 2 * time.Second

// lasting are the statuses of answers that end a wait, also without the envelope: these rarely change.
var lasting = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}

// Poll says how WaitFor reads.
type Poll struct {
	Interval time.Duration    // between two readings; 0: DefaultWaitInterval
	Timeout  time.Duration    // limit of the whole wait; 0: until the context ends
	Passes   func(error) bool // whether another failed reading than WaitFor names may pass; nil: any may
	Trouble  func(error)      // called when the first reading fails, or one after a success; may be nil
}

// Wait says what the wait for a withdrawal or invoice ends with. Names are compared without regard to case,
// because the interface does not show how the service spells them.
type Wait struct {
	Status   []string      // statuses that end the wait; empty: any, if State is not empty
	State    []string      // the same for the state of an invoice; a withdrawal has no state
	FailOn   []string      // statuses, and states of an invoice, that end the wait with a WaitError
	Progress func(Reading) // called after each reading that does not end the wait; may be nil
	Poll
}

// Reading is what a wait has read of a withdrawal or invoice.
type Reading struct {
	ID     string
	Status string
	State  string // of an invoice
	Since  string // when a withdrawal got its status, as the service wrote it; empty: it does not say

	kind string // "withdrawal" or "invoice"
}

// WaitError is the error of a wait that did not reach its goal. Err and Trouble are in its chain.
type WaitError struct {
	Reading       // the last one, in a wait for a withdrawal or invoice; without a status: there was none
	Failed  bool  // Status or State is one of Wait.FailOn; Err is nil then
	Read    bool  // a reading has succeeded
	Trouble error // error of the last reading, if it failed; nil if that is Err
	Err     error // end of the context, context.DeadlineExceeded after Timeout, or an error that does not pass
}

// Error says what was waited for, what was read last, and why the wait ended.
func (e *WaitError) Error() string {
	text := "the wait"
	if e.ID != "" {
		text += " for " + e.ID
	}
	text += " ended"
	switch {
	case e.State != "":
		text += fmt.Sprintf(" with the status %q and the state %q", e.Status, e.State)
	case e.Status != "":
		text += fmt.Sprintf(" with the status %q", e.Status)
	}
	if e.Failed {
		return text + ", which is one to fail on"
	}
	text += ": " + e.Err.Error()
	if e.Trouble != nil {
		text += "; the last reading failed: " + e.Trouble.Error()
	}
	return text
}

// Unwrap returns the causes, such as context.DeadlineExceeded.
func (e *WaitError) Unwrap() []error { return []error{e.Err, e.Trouble} }

// WaitFor calls read until it is done. A reading that fails is repeated, after the pause that the service
// asks for, unless the answer is a 401, 403 or 404, whoever gave it, or poll.Passes says otherwise. The error
// is a *WaitError, or an *InvalidError about poll.
func WaitFor(ctx context.Context, poll Poll, read func(context.Context) (done bool, err error)) error {
	if err := poll.check(); err != nil {
		return err
	}
	if poll.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, poll.Timeout)
		defer cancel()
	}
	e := &WaitError{}
	for {
		done, err := read(ctx)
		call, called := errors.AsType[*Error](err)
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			e.Read, e.Trouble = true, nil
		case ctx.Err() != nil && errors.Is(err, ctx.Err()): // this says nothing about the service
			if !e.Read {
				e.Trouble = cmp.Or(e.Trouble, err)
			}
		case called && slices.Contains(lasting, call.Status), poll.Passes != nil && !poll.Passes(err):
			e.Err, e.Trouble = err, nil
			return e
		default:
			if e.Trouble == nil && ctx.Err() == nil && poll.Trouble != nil {
				poll.Trouble(err)
			}
			e.Trouble = err
		}
		pause := cmp.Or(poll.Interval, DefaultWaitInterval)
		if called {
			pause = max(pause, call.RetryAfter)
		}
		select {
		case <-ctx.Done():
			e.Err = ctx.Err()
			return e
		case <-time.After(pause):
		}
	}
}

// WaitFor reads a withdrawal until its status is one of wait.Status, and returns it. An answer without a
// status, or about another withdrawal, is a reading that fails: see the function WaitFor. With every error it
// returns what was read last. The error is a *WaitError, or an *InvalidError about id or wait.
//
// GET /api/merchant_withdrawal (section 4.1), repeatedly
func (s *Withdrawals) WaitFor(ctx context.Context, id string, wait Wait) (Withdrawal, error) {
	if len(wait.State) > 0 {
		return Withdrawal{}, invalid("state", "a withdrawal has none: wait for a status")
	}
	if err := checkID("id", id); err != nil {
		return Withdrawal{}, err
	}
	return waitFor(ctx, id, wait, s.Get, func(w Withdrawal) Reading {
		r := Reading{kind: "withdrawal", ID: w.ID, Status: w.Current}
		if n := len(w.Statuses); n > 0 && w.Statuses[n-1].Status == w.Current {
			r.Since = w.Statuses[n-1].At
		}
		return r
	})
}

// WaitFor reads an invoice until its status is one of wait.Status and its state is one of wait.State, and
// returns it. An empty list matches any value. It ends as Withdrawals.WaitFor does.
//
// GET /api/invoice (section 4.2), repeatedly
func (s *Invoices) WaitFor(ctx context.Context, id string, wait Wait) (Invoice, error) {
	if err := checkUUIDField("id", id); err != nil {
		return Invoice{}, err
	}
	return waitFor(ctx, id, wait, s.Get, func(i Invoice) Reading {
		return Reading{kind: "invoice", ID: i.ID, Status: i.Status, State: i.State}
	})
}

func (p Poll) check() error {
	if p.Interval < 0 {
		return invalid("interval", "%s is negative", p.Interval)
	}
	if p.Timeout < 0 {
		return invalid("timeout", "%s is negative", p.Timeout)
	}
	return nil
}

func (w Wait) check() error {
	if len(w.Status)+len(w.State) == 0 {
		return invalid("status", "there is none to wait for: name one")
	}
	for _, name := range w.FailOn {
		if among(name, w.Status) || among(name, w.State) {
			return invalid("fail_on", "%q is waited for as well", name)
		}
	}
	return nil
}

func waitFor[T any](
	ctx context.Context, id string, wait Wait, get func(context.Context, string) (T, error), look func(T) Reading,
) (last T, err error) {
	if err := wait.check(); err != nil {
		return last, err
	}
	now, failed := Reading{ID: id}, false
	err = WaitFor(ctx, wait.Poll, func(ctx context.Context) (done bool, err error) {
		value, err := get(ctx, id)
		if err != nil {
			return false, err
		}
		got := look(value)
		if !strings.EqualFold(got.ID, id) {
			return false, fmt.Errorf("the answer is about %s %q, and not about %q", got.kind, got.ID, id)
		}
		last, now = value, got
		if now.Status == "" && len(wait.Status) > 0 {
			return false, fmt.Errorf("the answer about %s %s has no status", now.kind, id)
		}
		if now.State == "" && len(wait.State) > 0 {
			return false, fmt.Errorf("the answer about %s %s has no state", now.kind, id)
		}
		done, failed = wait.endsWith(now)
		if !done && wait.Progress != nil {
			wait.Progress(now)
		}
		return done, nil
	})
	if failed {
		err = &WaitError{Failed: true, Read: true}
	}
	if e, ok := errors.AsType[*WaitError](err); ok {
		e.Reading = now
	}
	return last, err
}

// endsWith reports whether a reading ends the wait, and whether it is one to fail on.
func (w Wait) endsWith(now Reading) (done, failed bool) {
	failed = among(now.Status, w.FailOn) || now.State != "" && among(now.State, w.FailOn)
	return failed || (len(w.Status) == 0 || among(now.Status, w.Status)) &&
		(len(w.State) == 0 || among(now.State, w.State)), failed
}

func among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
