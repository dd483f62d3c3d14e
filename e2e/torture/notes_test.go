//go:build unix

package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// notes is a directory of files with which a program and the test communicate. "held" and "stops" say that
// the program is at its point, "go" lets it continue, "went" says that it does, "ahead" has how far its
// clock is ahead, and "passed" how much time has passed for the machine.
type notes string

func (w *world) notes() notes {
	dir, err := os.MkdirTemp(w.dir, "notes-*")
	if err != nil {
		panic(err)
	}
	return notes(dir)
}

func (n notes) leave(note, text string) {
	// The note is renamed, so that it is never read incomplete.
	half := filepath.Join(string(n), note+".half")
	if err := errors.Join(os.WriteFile(half, []byte(text), 0o600),
		os.Rename(half, filepath.Join(string(n), note))); err != nil {
		panic(err)
	}
}

func (n notes) found(note string) bool {
	_, err := os.Stat(filepath.Join(string(n), note))
	return err == nil
}

// await waits for a note, or for the end of the attempt that should leave it. It reports whether the note
// exists.
func (n notes) await(note string, a *attempt) bool {
	for !n.found(note) {
		select {
		case <-a.done:
			return n.found(note)
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// heldAt applies the plan until one of its rows is at a point, calls act, and lets the attempt run to its
// end. It reports whether the attempt reached the point. It checks nothing.
func (b *batch) heldAt(s applyShot, do, point string, act func(*attempt)) (a *attempt, held bool) {
	s.point, s.do, s.notes, s.random, s.interrupts, s.rate = point, do, b.notes(), 0, 0, ""
	a = b.apply(s)
	held = b.meanwhile(a, func() {
		b.story = append(b.story, fmt.Sprintf("attempt %d is at the point %s: %s", a.n, point, do))
		act(a)
	})
	return a, held
}

// meanwhile calls act when an attempt is held or stopped at its point, lets the attempt continue, and waits
// for its end. It reports whether the attempt reached its point.
func (w *world) meanwhile(a *attempt, act func()) (held bool) {
	ended := make(chan struct{})
	go func() {
		w.end(a)
		close(ended)
	}()
	notes, first := a.shot.notes, "held"
	if a.shot.do == "stop" { // it may be stopped before it can say more
		first = "stops"
	}
	if held = notes.await(first, a); held {
		act()
		notes.leave("go", "")
		// A signal that comes before the process has stopped has no effect.
		for a.shot.do == "stop" && !notes.found("went") && !a.over() {
			a.signal(syscall.SIGCONT)
			time.Sleep(time.Millisecond)
		}
	}
	<-ended
	return held
}

func (a *attempt) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}
