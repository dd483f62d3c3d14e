package sandbox

import "time"

// Now is the sandbox's time, in whole seconds.
func (s *Server) Now() time.Time {
	s.store.Refresh()
	return s.store.Now()
}

// SetClock sets the sandbox's clock, which goes on ticking from there; the zero
// time sets it back to the machine's. It is a part of the state, and what was
// made before keeps its times.
func (s *Server) SetClock(to time.Time) error {
	return s.store.MoveClock(func(time.Duration) time.Duration {
		if to.IsZero() {
			return 0
		}
		return to.Sub(s.clock())
	})
}

// AdvanceClock moves the sandbox's clock on, or back where by is negative. What
// the settings withdrawal_pace and invoice_expiry let happen until then has
// happened when it returns.
func (s *Server) AdvanceClock(by time.Duration) error {
	return s.store.MoveClock(func(offset time.Duration) time.Duration { return offset + by })
}
