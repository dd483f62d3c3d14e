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

// SetClock sets the sandbox's clock, which continues from there, or stays there if it was frozen. The
// zero time sets it back to the machine's clock, or to that of the start if it was frozen. The clock is part
// of the state, and earlier records keep their times.
func (s *Server) SetClock(to time.Time) error { return s.setClock(context.Background(), to) }

func (s *Server) setClock(ctx context.Context, to time.Time) error {
	return s.moveClock(ctx, func(_, _ time.Duration) time.Duration {
		if to.IsZero() {
			return 0
		}
		return to.Sub(s.clock())
	})
}

// AdvanceClock moves the sandbox's clock forward, or back if by is negative. It returns after the moves of
// the settings withdrawal_pace and invoice_expiry that are due by then, and with a frozen clock also after
// the attempts to post callbacks.
func (s *Server) AdvanceClock(by time.Duration) error {
	return s.advanceClock(context.Background(), by)
}

func (s *Server) advanceClock(ctx context.Context, by time.Duration) error {
	return s.moveClock(ctx, func(offset, moved time.Duration) time.Duration { return offset + by - moved })
}

// moveClock moves the clock to the offset that to returns for the current one and for how far it has moved
// the clock already. A frozen clock stops at every moment at which something is due, until its callbacks were
// posted, so that one long move does the same as many short ones.
func (s *Server) moveClock(ctx context.Context, to func(offset, moved time.Duration) time.Duration) error {
	busy := s.sender.Busy() // one of those that are told now may be the caller, and would wait for itself
	for moved := time.Duration(0); ; {
		step, more, err := s.store.MoveClock(func(offset time.Duration) time.Duration { return to(offset, moved) },
			s.frozen && ctx.Err() == nil) // without a caller that waits, it is a move like that of a clock that ticks
		if err == nil && s.frozen {
			s.sender.AwaitOthers(ctx, busy)
		}
		if err != nil || !more {
			return err
		}
		moved += step
	}
}
