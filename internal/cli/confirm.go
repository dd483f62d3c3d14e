package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
)

// confirm shows what is about to be sent and asks. Without a terminal to ask on, and without --yes, the answer is no.
func (s *session) confirm(facts []string, question string) error {
	return s.confirmed(facts, question, "send it", "sent", " without being asked, or --dry-run to look at it")
}

// confirmed is confirm for what is done in other words than to send it, and was done then. more is what there is to say about
// --yes.
func (s *session) confirmed(facts []string, question, do, done, more string) error {
	if s.Yes {
		return nil
	}
	if !s.canAsk() {
		return refusal("confirmation", "nobody is there to confirm it", "add --yes to "+do+more)
	}
	s.spinner.stop()
	for _, fact := range facts {
		fmt.Fprintln(s.io.Err, render.Safe(fact))
	}
	answer, err := s.ask(question + " [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return refusal("confirmation", "it was not confirmed, nothing was "+done, "answer y to "+do)
}

func (s *session) canAsk() bool {
	return !s.NoInput && terminal.Of(s.io.In) != nil && terminal.Of(s.io.Err) != nil
}

// ask asks a question and reads the answer, or stops at a signal; the end of input is an empty answer. What was typed before is
// thrown away before the question is shown, since an answer can come as soon as it is.
func (s *session) ask(question string) (string, error) {
	terminal.DiscardTyped(terminal.Of(s.io.In))
	fmt.Fprint(s.io.Err, question)
	text, err := interruptibly(s.ctx, func() (string, error) { return bufio.NewReader(s.io.In).ReadString('\n') })
	if err != nil {
		fmt.Fprintln(s.io.Err)
	}
	return text, s.ctx.Err()
}

// interruptibly reads what may never come, until a signal does.
func interruptibly[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	got := make(chan result, 1)
	go func() {
		value, err := read()
		got <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case r := <-got:
		return r.value, r.err
	}
}
