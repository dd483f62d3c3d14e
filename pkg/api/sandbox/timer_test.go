package sandbox

import (
	"net"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// TestKeepsTimeInMemory checks that Serve and Start make the moves of a state in memory. It reads the state
// directly, because a request would make the moves.
func TestKeepsTimeInMemory(t *testing.T) {
	pace := WithSetting("withdrawal_pace", "New>Processing=1s,Processing>Completed=1s")
	t.Run("Start", func(t *testing.T) {
		t.Parallel()
		keepsTime(t, Start(t, pace).Server)
	})
	t.Run("Serve", func(t *testing.T) {
		t.Parallel()
		s, err := New(pace)
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(t.Context(), listener) }()
		keepsTime(t, s)
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
	})
}

func keepsTime(t *testing.T, s *Server) {
	for range 2 { // at the second withdrawal, nothing else is due
		w := &store.Withdrawal{ID: store.NewUUID(), Account: *s.store.Merchant.Load(), Currency: "Btc",
			Amount: money.Amount{Code: "Btc", Minor: 1}, Address: "a"}
		if err := s.store.AddWithdrawal(w); err != nil {
			t.Fatal(err)
		}
		current := ""
		for begin := time.Now(); current != "Completed"; time.Sleep(20 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatalf("after 30 seconds it is %s", current)
			}
			s.store.Read(func(st *store.State) { current = st.Withdrawals[w.ID].Current() })
		}
	}
}
