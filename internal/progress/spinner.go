// Package progress shows on the terminal at standard error what till waits for: a line with a sign that
// moves, or a bar.
package progress

import (
	"io"
	"os"
	"sync"
	"time"

	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
)

// Spinner is the line below all others on the terminal at standard error. It shows what till waits for, if
// that takes longer than half a second.
//
// The cursor rests at the beginning of the line. What is typed, such as the ^C of an interrupt, appears
// there, and goes when the line is written again. When the window becomes narrower and the line breaks into
// two, the cursor is still above both of them.
type Spinner struct {
	Out         *os.File    // nil if standard error is not a terminal
	Dumb        bool        // whether the terminal does not know escape sequences
	Interrupted func() bool // whether ^C may be on the screen

	mu    sync.Mutex
	begun time.Time
	text  func(room int) string // what the line says, in at most room columns
	shown bool
	next  *time.Timer // draws the line again; nil if there is none
}

const (
	patience = 500 * time.Millisecond
	redraw   = 100 * time.Millisecond
	erase    = "\r\x1b[J"
)

// Start shows a text, and how long the line is there already.
func (s *Spinner) Start(text string) {
	s.show(func(room int) string {
		seconds := " (" + time.Since(s.begun).Round(time.Second).String() + ")"
		return render.Cut(text, max(room-len(seconds), 1)) + seconds
	})
}

// show replaces what the line says.
func (s *Spinner) show(text func(room int) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	if s.Out == nil || s.Dumb || s.next != nil {
		return
	}
	s.begun = time.Now()
	s.next = time.AfterFunc(patience, s.draw)
}

// frames are the shapes of the sign that moves.
var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

func (s *Spinner) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := time.Since(s.begun)
	if s.next == nil || since < patience { // stopped in between, and perhaps begun again
		return
	}
	room := terminal.Width(s.Out) - len(". ") - 1 // a line as wide as the terminal may break
	frame := string(frames[int(since/redraw)%len(frames)])
	io.WriteString(s.Out, erase+frame+" "+render.Cut(s.text(max(room, 1)), max(room, 1))+"\r")
	s.shown = true
	s.next.Reset(redraw)
}

// Stop removes the line from the screen.
func (s *Spinner) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		s.next.Stop()
		s.next = nil
	}
	s.clear()
}

// Write writes a message above the line.
func (s *Spinner) Write(w io.Writer, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, err := io.WriteString(w, text)
	return err
}

// clear makes the line empty until it is drawn again.
func (s *Spinner) clear() {
	switch {
	case s.Out == nil:
	case s.shown:
		io.WriteString(s.Out, erase)
	case s.Interrupted() && s.Dumb: // what follows is longer than ^C
		io.WriteString(s.Out, "\r")
	case s.Interrupted():
		io.WriteString(s.Out, "\r\x1b[K")
	}
	s.shown = false
}
