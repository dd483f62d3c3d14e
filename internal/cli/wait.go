package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// waitFlags are the flags of every wait.
type waitFlags struct {
	status   []string
	state    []string // of an invoice only
	failOn   []string
	interval time.Duration
	timeout  time.Duration
	show     string // the command that shows what is waited for
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
// because nobody knows how the service spells them.
func wait[T any](s *session, flags waitFlags, what string, read func(context.Context) (T, error), look func(T) []condition) (T, error) {
	var none T
	if err := flags.check(); err != nil {
		return none, err
	}
	var value T
	var seen []string
	late, err := repeat(s, flags, func(ctx context.Context) (bool, error) {
		var err error
		if value, err = read(ctx); err != nil {
			return false, err
		}
		reached := true
		var now []string
		for _, c := range look(value) {
			if c.now == "" && len(c.wanted) > 0 {
				return false, &failure{code: exitReadFailed, msg: fmt.Sprintf("the answer about %s has no %s", what, c.name), hint: "look at it with: " + flags.show}
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
	})
	if late {
		err = ranOut(what, flags, seen)
	}
	if err != nil {
		return none, err
	}
	return value, nil
}

// repeat takes a step again and again until it is done. It reports whether the time of the wait ran out before that.
func repeat(s *session, flags waitFlags, step func(context.Context) (done bool, err error)) (late bool, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, flags.timeout)
	defer cancel()
	for {
		done, err := step(ctx)
		if err != nil && ctx.Err() == context.DeadlineExceeded && !errors.As(err, new(*failure)) { // what was seen counts, though late
			return true, nil
		}
		if done || err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
			err := s.ctx.Err()
			return err == nil, err
		case <-time.After(flags.interval):
		}
	}
}

func ranOut(what string, flags waitFlags, seen []string) error {
	was := "no answer came"
	if len(seen) > 0 {
		was = "it was " + strings.Join(seen, ", then ")
	}
	return &failure{code: exitNotYet, msg: fmt.Sprintf("%s did not get there within %s: %s", what, flags.timeout, was), hint: "wait longer with --timeout, or see what the service calls its statuses: " + flags.show}
}

func among(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
