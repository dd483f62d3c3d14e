package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/exit"
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
		return exit.UsageError("--interval: it must be at least 10ms", "leave it out for 2s")
	}
	if f.Timeout <= 0 {
		return exit.UsageError("--timeout: it must be longer than 0", "leave it out for 10m")
	}
	for _, name := range f.FailOn {
		if Among(name, f.Status) || Among(name, f.State) {
			return exit.UsageError(fmt.Sprintf("%q is both waited for and in --fail-on", name),
				"leave it out of one of them")
		}
	}
	return nil
}

// Wait waits for one object, which wait reads, and returns it.
func Wait[T any](
	s *Session, flags WaitFlags, what string, wait func(context.Context, api.Wait) (T, error),
) (value T, err error) {
	if err := flags.Check(); err != nil {
		return value, err
	}
	var seen []string
	var shown, since string // the status that is shown, and since when it was seen
	value, err = wait(s.Ctx, api.Wait{
		Status: flags.Status, State: flags.State, FailOn: flags.FailOn,
		Progress: func(r api.Reading) {
			now, watched := r.Status, r.Status
			if r.State != "" {
				now += "/" + r.State
			}
			if len(flags.State) > 0 {
				watched = now
			}
			if len(flags.Status) == 0 {
				watched = r.State
			}
			seen = slices.Compact(append(seen, now))
			if shown != watched {
				since = "since " + views.Moment(s.IO.Now())
				if shown == "" { // it may have it for longer
					since = "at least " + since
				}
				shown = watched
			}
			if r.Since != "" {
				since = "since " + r.Since
			}
			s.Waiting(short(what) + ": " + watched + " " + since)
		},
		Poll: api.Poll{
			Interval: flags.Interval, Timeout: flags.Timeout, Passes: func(error) bool { return !s.DryRun },
			Trouble: func(err error) { s.NoteTrouble(what, err, flags) },
		},
	})
	if ended, failed := errors.AsType[*api.WaitError](err); failed {
		err = flags.failure(s.Ctx, what, ended, seen)
	}
	return value, err
}

// NoteTrouble says that a reading has failed, and that the wait goes on.
func (s *Session) NoteTrouble(what string, err error, flags WaitFlags) {
	s.Note("%s could not be read: %v; trying again for up to %s", what, err, flags.Timeout)
}

func (f WaitFlags) failure(ctx context.Context, what string, ended *api.WaitError, seen []string) error {
	switch {
	case ended.Failed:
		name, now := "status", ended.Status
		if !Among(now, f.FailOn) {
			name, now = "state", ended.State
		}
		return &exit.Error{Code: exit.FailedStatus, Msg: fmt.Sprintf("%s has the %s %q, which --fail-on names", what, name, now)}
	case ctx.Err() != nil:
		return ctx.Err()
	case ended.Err != context.DeadlineExceeded:
		return ended.Err
	case !ended.Read:
		hint := payout.NewHint("look at it", f.Show...)
		if report := exit.Explain(ended.Trouble); report.Call != nil {
			hint = report.Hint
		}
		return &exit.Error{Code: exit.ReadFailed, Err: ended.Trouble, Hint: hint,
			Msg: fmt.Sprintf("%s could not be read within %s: %v", what, f.Timeout, ended.Trouble)}
	}
	var wanted []string
	for _, names := range [][]string{f.Status, f.State} {
		if len(names) > 0 {
			wanted = append(wanted, strings.Join(names, " or "))
		}
	}
	msg := fmt.Sprintf("%s did not become %s within %s: it was %s", what, strings.Join(wanted, " and "), f.Timeout,
		strings.Join(seen, ", then "))
	if ended.Trouble != nil {
		msg += fmt.Sprintf("; the last reading failed: %v", ended.Trouble)
	}
	return exit.Failure(exit.NotYet, nil, msg, "wait longer with --timeout, or see what the service calls its statuses", f.Show...)
}

// Waiting shows what a wait has seen, and for how long it waits already.
func (s *Session) Waiting(text string) { s.Spinner.Start(render.Safe(text)) }

// short returns the name of an object with the beginning of its id, which is enough for the one who waits.
func short(what string) string {
	noun, id, _ := strings.Cut(what, " ")
	if api.CheckUUID(id) == nil {
		id = id[:8]
	}
	return noun + " " + id
}

// Among reports whether name is one of names, ignoring case.
func Among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
