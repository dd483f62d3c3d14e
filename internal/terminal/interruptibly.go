package terminal

import "context"

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
