//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package terminal

import (
	"os"

	"golang.org/x/term"
)

func DiscardTyped(*os.File) {}

// HideTyped leaves the hiding to the reading of the key, and puts the terminal back as it was.
func HideTyped(in *os.File) (show func() error, err error) {
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	return func() error { return term.Restore(fd, before) }, err
}
