package api

import "fmt"

// MaxCallback is how large the body of a callback may be, in bytes.
const MaxCallback = 1 << 20

// ParseCallback reads the body that the service posts to a withdrawal's callback. The interface does not show its shape; what
// is read here is the withdrawal as Withdrawals.Get returns it, as strictly. Any other body is an error, and larger ones than
// MaxCallback.
//
// Nothing in a callback proves who posted it. Take it as a hint: ask Withdrawals.Get for its ID before anything is done about
// it. The same callback may come twice, and a later status before an earlier one.
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
