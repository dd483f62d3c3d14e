package cmdutil

import (
	"fmt"
	"os"
	"sync"
	"time"

	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
)

// Spinner shows that a call is in progress if it takes longer than half a second.
type Spinner struct {
	out  *os.File // nil if standard error is not a terminal
	mu   sync.Mutex
	done chan struct{}
	gone chan struct{}
}

const patience = 500 * time.Millisecond

func (s *Spinner) start(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil || s.done != nil {
		return
	}
	done, gone := make(chan struct{}), make(chan struct{})
	s.done, s.gone = done, gone
	go func() {
		defer close(gone)
		spin(s.out, text, done)
	}()
}

func spin(out *os.File, text string, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-time.After(patience):
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for i := 0; ; i++ {
		seconds := (patience + time.Since(begin)).Round(time.Second).String()
		// A line that wraps would not be erased completely.
		room := terminal.Width(out) - len(". ") - len(" "+seconds) - 1
		fmt.Fprintf(out, "\r%c %s %s\x1b[K", frames[i%len(frames)], render.Cut(text, max(room, 1)), seconds)
		select {
		case <-done:
			fmt.Fprint(out, "\r\x1b[K")
			return
		case <-tick.C:
		}
	}
}

// Stop removes the spinner from the screen, and returns when it is gone.
func (s *Spinner) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		return
	}
	close(s.done)
	<-s.gone
	s.done = nil
}
