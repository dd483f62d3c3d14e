package api

import "fmt"

// MaxCallback is the largest body of a callback, in bytes.
const MaxCallback = 1 << 20

// ParseCallback reads the body that the service posts to a withdrawal's callback. The interface does not show
// its format. ParseCallback expects a withdrawal as Withdrawals.Get returns it, and is as strict. Any other
// body is an error, and so is one larger than MaxCallback.
//
// Nothing in a callback proves who posted it. Treat it as a hint: before acting on it, call Withdrawals.Get
// with its ID. The same callback may come twice, and a later status may come before an earlier one.
func ParseCallback(body []byte) (Withdrawal, error) {
	if len(body) > MaxCallback {
		return Withdrawal{}, fmt.Errorf("the callback: %w: more than %d bytes", ErrTooLarge, MaxCallback)
	}
	var w Withdrawal
	if err := unmarshal(body, &w); err != nil {
		return Withdrawal{}, fmt.Errorf("the callback is no withdrawal: %w", err)
	}
	return w, nil
}
