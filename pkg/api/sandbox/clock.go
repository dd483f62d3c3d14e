package sandbox

import (
	"context"
	"time"
)

// Now returns the sandbox's time, in whole seconds.
func (s *Server) Now() time.Time {
	s.store.Refresh()
	return s.store.Now()
}

// SetClock sets the sandbox's clock, which continues from there, or stands still there
// if it was frozen. The zero time sets it back to the machine's clock, or to that of the
// start if it was frozen. The clock is part of the state, and earlier records keep their
// times.
func (s *Server) SetClock(to time.Time) error { return exported(s.setClock(context.Background(), to)) }

func (s *Server) setClock(ctx context.Context, to time.Time) error {
	return s.moveClock(ctx, func(time.Duration) time.Duration {
		if to.IsZero() {
			return 0
		}
		return to.Sub(s.clock())
	})
}

// AdvanceClock moves the sandbox's clock forward, or back if by is negative. It
// returns after the moves of the settings withdrawal_pace and invoice_expiry that
// are due by then, and with a frozen clock also after the attempts to post callbacks.
func (s *Server) AdvanceClock(by time.Duration) error {
	return exported(s.advanceClock(context.Background(), by))
}

func (s *Server) advanceClock(ctx context.Context, by time.Duration) error {
	return s.moveClock(ctx, func(offset time.Duration) time.Duration { return offset + by })
}

func (s *Server) moveClock(ctx context.Context, to func(offset time.Duration) time.Duration) error {
	busy := s.sender.Busy() // one of those that are told now may be the caller, and would wait for itself
	err := s.store.MoveClock(to)
	if err == nil && s.frozen {
		s.sender.AwaitOthers(ctx, busy)
	}
	return err
}
