package sandbox

import "time"

// maxOffset is how far the sandbox's clock may be from the machine's: a century.
const maxOffset = 100 * 365 * 24 * time.Hour

// now is the sandbox's time. It ticks in whole seconds, so that a time which was
// shown, sent back as from or to, means the very moment.
func (s *Server) now() time.Time {
	return s.clock().Add(time.Duration(s.store.offset.Load())).UTC().Truncate(time.Second)
}

// Now is the sandbox's time, in whole seconds.
func (s *Server) Now() time.Time {
	s.store.refresh()
	return s.now()
}

// SetClock sets the sandbox's clock, which goes on ticking from there; the zero
// time sets it back to the machine's. It is a part of the state, and what was
// made before keeps its times.
func (s *Server) SetClock(to time.Time) error {
	return s.moveClock(func(time.Duration) time.Duration {
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
	return s.moveClock(func(offset time.Duration) time.Duration { return offset + by })
}

func (s *Server) moveClock(to func(offset time.Duration) time.Duration) error {
	return s.store.write(func(st *state) (change, error) {
		offset := int64(to(st.offset))
		if offset < -int64(maxOffset) || offset > int64(maxOffset) {
			return change{}, fail(invalidBody, "The clock would be more than a century off; choose a time that is nearer.")
		}
		return change{Offset: &offset}, nil
	})
}
