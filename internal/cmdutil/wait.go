package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// WaitFlags are the flags of every wait.
type WaitFlags struct {
	Status   []string
	State    []string // only of an invoice
	FailOn   []string
	Interval time.Duration
	Timeout  time.Duration
	Show     []string // the command that shows the awaited object
}

// AddWaitFlags adds the flags of a wait.
func AddWaitFlags(cmd *cobra.Command, flags *WaitFlags) {
	f := cmd.Flags()
	f.StringSliceVar(&flags.Status, "status", nil, "statuses to wait for, in any case, separated by commas")
	f.StringSliceVar(&flags.FailOn, "fail-on", nil, "statuses that end the wait with exit code 33")
	f.DurationVar(&flags.Interval, "interval", 2*time.Second, "pause between two readings")
	f.DurationVar(&flags.Timeout, "timeout", 10*time.Minute, "limit of the whole wait; TILL_TIMEOUT limits each call")
}

// Check checks the flags before anything is sent.
func (f WaitFlags) Check() error {
	if f.Interval < 10*time.Millisecond {
		return UsageError("--interval: it must be at least 10ms", "leave it out for 2s")
	}
	if f.Timeout <= 0 {
		return UsageError("--timeout: it must be longer than 0", "leave it out for 10m")
	}
	for _, name := range f.FailOn {
		if Among(name, f.Status) || Among(name, f.State) {
			return UsageError(fmt.Sprintf("%q is both waited for and in --fail-on", name),
				"leave it out of one of them")
		}
	}
	return nil
}

// Condition is a watched field: its current value, and the values that end the wait.
type Condition struct {
	Name   string
	Now    string
	Wanted []string
	Since  string // when it got its value, as the service wrote it; "" if the service does not say
}

// Wait reads until every watched field has a wanted value. It compares names without regard to case, because
// the interface does not show how the service spells them.
func Wait[T any](
	s *Session, flags WaitFlags, what string, read func(context.Context) (T, error), look func(T) []Condition,
) (T, error) {
	var none T
	if err := flags.Check(); err != nil {
		return none, err
	}
	var value T
	var seen, wanted []string
	sight := sighting{clock: s.IO.Now}
	err := repeat(s, flags, what, func(ctx context.Context) (bool, error) {
		var err error
		if value, err = read(ctx); err != nil {
			return false, err
		}
		reached := true
		var now, watched []string
		wanted = nil
		since := ""
		for _, c := range look(value) {
			if c.Now == "" && len(c.Wanted) > 0 {
				return false,
					&Error{Code: ExitReadFailed, Msg: fmt.Sprintf("the answer about %s has no %s", what, c.Name),
						Hint: payout.NewHint("look at it", flags.Show...)}
			}
			if Among(c.Now, flags.FailOn) {
				return false,
					&Error{Code: ExitFailedStatus,
						Msg: fmt.Sprintf("%s has the %s %q, which --fail-on names", what, c.Name, c.Now)}
			}
			reached = reached && (len(c.Wanted) == 0 || Among(c.Now, c.Wanted))
			now = append(now, c.Now)
			if len(c.Wanted) > 0 {
				wanted = append(wanted, strings.Join(c.Wanted, " or "))
				watched, since = append(watched, c.Now), c.Since
			}
		}
		if !reached {
			s.Waiting(sight.text(short(what), strings.Join(watched, "/"), since))
		}
		if text := strings.Join(now, "/"); !reached && (len(seen) == 0 || seen[len(seen)-1] != text) {
			seen = append(seen, text)
		}
		return reached, nil
	}, func() *Error {
		return &Error{Code: ExitNotYet,
			Msg: fmt.Sprintf("%s did not become %s within %s: it was %s", what, strings.Join(wanted, " and "),
				flags.Timeout, strings.Join(seen, ", then ")),
			Hint: payout.NewHint("wait longer with --timeout, or see what the service calls its statuses",
				flags.Show...)}
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// Waiting shows what a wait has seen, and for how long it waits already.
func (s *Session) Waiting(text string) { s.Spinner.start(render.Safe(text)) }

// short returns the name of an object with the beginning of its id, which is enough for the one who waits.
func short(what string) string {
	noun, id, _ := strings.Cut(what, " ")
	if api.CheckUUID(id) == nil {
		id = id[:8]
	}
	return noun + " " + id
}

// sighting knows since when an object has its status.
type sighting struct {
	clock  func() time.Time
	status string
	since  string
}

// text says which status an object has, and since when. If the service does not say that, the first reading
// only tells a time at which it had it already.
func (l *sighting) text(what, status, since string) string {
	if l.status != status {
		known := "since "
		if l.status == "" {
			known = "at least since "
		}
		l.since = known + views.Moment(l.clock())
		l.status = status
	}
	if since != "" {
		return what + ": " + status + " since " + since
	}
	return what + ": " + status + " " + l.since
}

// repeat repeats a step until it is done. It also repeats a step that fails as in an outage. When the time is
// over, it returns the error of ranOut if a step has succeeded, and otherwise exit code 41.
func repeat(
	s *Session, flags WaitFlags, what string, step func(context.Context) (done bool, err error), ranOut func() *Error,
) error {
	ctx, cancel := context.WithTimeout(s.Ctx, flags.Timeout)
	defer cancel()
	succeeded := false
	var trouble error // of the last step; nil if it succeeded
	for {
		done, err := step(ctx)
		pause := flags.Interval
		switch {
		case err != nil && (s.DryRun || s.Ctx.Err() != nil): // a dry run, or a signal
			return err
		case err == nil && done:
			return nil
		case err == nil:
			succeeded, trouble = true, nil
		case ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded):
			if trouble == nil && !succeeded {
				trouble = err
			}
		case !passes(err):
			return err
		default:
			if trouble == nil && ctx.Err() == nil {
				s.Note("%s could not be read: %v; trying again for up to %s", what, err, flags.Timeout)
			}
			trouble = err
			if call := (*api.Error)(nil); errors.As(err, &call) {
				pause = max(pause, call.RetryAfter)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			continue
		}
		if err := s.Ctx.Err(); err != nil {
			return err
		}
		if !succeeded {
			return &Error{Code: ExitReadFailed, Err: trouble,
				Msg:  fmt.Sprintf("%s could not be read within %s: %v", what, flags.Timeout, trouble),
				Hint: Explain(trouble).Hint}
		}
		late := ranOut()
		if trouble != nil {
			late.Msg += fmt.Sprintf("; the last reading failed: %v", trouble)
		}
		return late
	}
}

// passes reports whether a failed read may succeed the next time. A refused key and an unknown id do not
// change; any other answer may be a part of an outage.
func passes(err error) bool {
	if call := (*api.Error)(nil); errors.As(err, &call) {
		return !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, call.Status)
	}
	return Explain(err).Code == ExitReadFailed
}

// Among reports whether name is one of names, ignoring case.
func Among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
