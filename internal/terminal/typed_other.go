//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package terminal

import (
	"os"

	"golang.org/x/term"
)

// DiscardTyped does nothing on this system.
func DiscardTyped(*os.File) {}

// WhenContinued calls nothing: this system stops no program.
func WhenContinued(func()) (end func()) { return func() {} }

// HideTyped hides nothing: reading the key does. Calling show restores the terminal.
func HideTyped(in *os.File) (show func() error, err error) {
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	return func() error { return term.Restore(fd, before) }, err
}
