// Package terminal asks the terminal of this process: whether there is one, how wide it is, and what was typed. It
// runs commands as children that share the terminal or do not, forwards signals to them, and ends what they leave
// behind.
package terminal

import (
	"context"
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

// usualWidth is the width of a terminal that does not report its own.
const usualWidth = 80

// Width returns the width in characters of the terminal behind a stream, or 0 if there is none.
func Width(stream any) int {
	out := Of(stream)
	if out == nil {
		return 0
	}
	width, _, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 {
		return usualWidth
	}
	return width
}

// Interruptibly runs a read that may never end, of a terminal, a pipe or a keyring, and returns early when ctx
// ends. The read cannot be cancelled: it goes on in the background.
func Interruptibly[T any](ctx context.Context, read func() (T, error)) (T, error) {
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
