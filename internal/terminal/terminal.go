// Package terminal asks the terminal that this process may be on: whether it is one, how wide it is, what was typed.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Of returns the file behind a stream if it is a terminal, and nil otherwise.
func Of(stream any) *os.File {
	if file, ok := stream.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// usualWidth is that of a terminal that does not say how wide it is.
const usualWidth = 80

// Width is how wide a terminal is, in characters.
func Width(out *os.File) int {
	width, _, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 {
		return usualWidth
	}
	return width
}
