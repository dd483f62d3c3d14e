//go:build unix

package torture

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// notes is a directory of files with which a program and the test communicate. "stops" says that the
// program is at its point, "go" lets it continue, "went" says that it does, "ahead" has how far its
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

// meanwhile calls act when an attempt is stopped at its point, lets the attempt continue, and waits
// for its end. It reports whether the attempt reached its point.
func (w *world) meanwhile(a *attempt, act func()) (held bool) {
	ended := make(chan struct{})
	go func() {
		w.end(a)
		close(ended)
	}()
	notes := a.shot.notes
	if held = notes.await("stops", a); held { // it may be stopped before it can say more
		act()
		notes.leave("go", "")
		// A signal that comes before the process has stopped has no effect.
		for !notes.found("went") && !a.over() {
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
