package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// waitFlags are the flags of every wait.
type waitFlags struct {
	status   []string
	state    []string // of an invoice only
	failOn   []string
	interval time.Duration
	timeout  time.Duration
	show     []string // the command that shows what is waited for
}

func addWaitFlags(cmd *cobra.Command, flags *waitFlags) {
	f := cmd.Flags()
	f.StringSliceVar(&flags.status, "status", nil, "statuses to wait for, in any case, separated by commas")
	f.StringSliceVar(&flags.failOn, "fail-on", nil, "statuses that end the wait with exit code 33")
	f.DurationVar(&flags.interval, "interval", 2*time.Second, "pause between two readings")
	f.DurationVar(&flags.timeout, "timeout", 10*time.Minute, "limit of the whole wait; TILL_TIMEOUT limits each call")
}

func (f waitFlags) check() error {
	if f.interval < 10*time.Millisecond {
		return usageError("--interval: it must be at least 10ms", "leave it out for 2s")
	}
	if f.timeout <= 0 {
		return usageError("--timeout: it must be longer than 0", "leave it out for 10m")
	}
	for _, name := range f.failOn {
		if among(name, f.status) || among(name, f.state) {
			return usageError(fmt.Sprintf("%q is both waited for and in --fail-on", name), "leave it out of one of them")
		}
	}
	return nil
}

// condition is a field that is watched: what it is now, and the values that end the wait.
type condition struct {
	name   string
	now    string
	wanted []string
}

// wait reads until every watched field has a value that was waited for. Names are compared without regard to case,
// because the interface does not show how the service spells them.
func wait[T any](s *session, flags waitFlags, what string, read func(context.Context) (T, error), look func(T) []condition) (T, error) {
	var none T
	if err := flags.check(); err != nil {
		return none, err
	}
	var value T
	var seen []string
	err := repeat(s, flags, what, func(ctx context.Context) (bool, error) {
		var err error
		if value, err = read(ctx); err != nil {
			return false, err
		}
		reached := true
		var now []string
		for _, c := range look(value) {
			if c.now == "" && len(c.wanted) > 0 {
				return false, &failure{code: exitReadFailed, msg: fmt.Sprintf("the answer about %s has no %s", what, c.name), hint: payout.NewHint("look at it", flags.show...)}
			}
			if among(c.now, flags.failOn) {
				return false, &failure{code: exitFailedStatus, msg: fmt.Sprintf("%s has the %s %q, which --fail-on names", what, c.name, c.now)}
			}
			reached = reached && (len(c.wanted) == 0 || among(c.now, c.wanted))
			now = append(now, c.now)
		}
		if text := strings.Join(now, "/"); !reached && (len(seen) == 0 || seen[len(seen)-1] != text) {
			seen = append(seen, text)
		}
		return reached, nil
	}, func() *failure {
		return &failure{code: exitNotYet, msg: fmt.Sprintf("%s did not get there within %s: it was %s", what, flags.timeout, strings.Join(seen, ", then ")),
			hint: payout.NewHint("wait longer with --timeout, or see what the service calls its statuses", flags.show...)}
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// repeat takes a step again and again until it is done. Steps that fail as they do in an outage are repeated too. When the
// time of the wait runs out, the error is that of ranOut if a step has succeeded, and otherwise 41.
func repeat(s *session, flags waitFlags, what string, step func(context.Context) (done bool, err error), ranOut func() *failure) error {
	ctx, cancel := context.WithTimeout(s.ctx, flags.timeout)
	defer cancel()
	succeeded := false
	var trouble error // of the last step; nil: it succeeded
	for {
		done, err := step(ctx)
		pause := flags.interval
		switch {
		case err != nil && (s.DryRun || s.ctx.Err() != nil): // shown, or stopped by a signal
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
				s.note("%s could not be read: %v; this is tried again until %s are over", what, err, flags.timeout)
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
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if !succeeded {
			return &failure{code: exitReadFailed, err: trouble, msg: fmt.Sprintf("%s could not be read within %s: %v", what, flags.timeout, trouble), hint: explain(trouble).hint}
		}
		late := ranOut()
		if trouble != nil {
			late.msg += fmt.Sprintf("; the last reading failed: %v", trouble)
		}
		return late
	}
}

// passes reports whether a reading that failed may succeed the next time. A refused key and an id that the service does not
// know stay as they are; any other answer may be one of an outage.
func passes(err error) bool {
	if call := (*api.Error)(nil); errors.As(err, &call) {
		return !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, call.Status)
	}
	return explain(err).code == exitReadFailed
}

func among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
