package sandbox

import "time"

// Now returns the sandbox's time, in whole seconds.
func (s *Server) Now() time.Time {
	s.store.Refresh()
	return s.store.Now()
}

// SetClock sets the sandbox's clock, which continues from there. The zero time sets
// it back to the machine's clock. The clock is part of the state, and earlier
// records keep their times.
func (s *Server) SetClock(to time.Time) error {
	return exported(s.store.MoveClock(func(time.Duration) time.Duration {
		if to.IsZero() {
			return 0
		}
		return to.Sub(s.clock())
	}))
}

// AdvanceClock moves the sandbox's clock forward, or back if by is negative. It
// returns after the moves of the settings withdrawal_pace and invoice_expiry that
// are due by then.
func (s *Server) AdvanceClock(by time.Duration) error {
	return exported(s.store.MoveClock(func(offset time.Duration) time.Duration { return offset + by }))
}
