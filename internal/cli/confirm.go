package cli

import (
	"bufio"
	"fmt"
	"strings"

	"example.com/till/internal/render"
)

// confirm shows what is about to happen and asks. Without a terminal to ask on, and without --yes, the answer is no.
func (s *session) confirm(facts []string, question string) error {
	if s.Yes {
		return nil
	}
	if !s.canAsk() {
		return refusal("confirmation", "nobody is there to confirm it", "add --yes to send it without being asked, or --dry-run to look at it")
	}
	s.spinner.stop()
	for _, fact := range facts {
		fmt.Fprintln(s.io.Err, render.Safe(fact))
	}
	fmt.Fprintf(s.io.Err, "%s [y/N] ", question)
	answer, err := s.readLine()
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return refusal("confirmation", "it was not confirmed, nothing was sent", "answer y to send it")
}

func (s *session) canAsk() bool {
	return !s.NoInput && terminal(s.io.In) != nil && terminal(s.io.Err) != nil
}

// readLine reads an answer, or stops at a signal.
func (s *session) readLine() (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(s.io.In).ReadString('\n')
		got <- answer{text, err}
	}()
	select {
	case <-s.ctx.Done():
		fmt.Fprintln(s.io.Err)
		return "", s.ctx.Err()
	case a := <-got:
		if a.err != nil {
			fmt.Fprintln(s.io.Err)
			return "", nil // the end of input is no answer
		}
		return a.text, nil
	}
}
