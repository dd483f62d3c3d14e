package sandbox

import (
	"net/http"
	"sync"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// rate counts the requests in the current second, by the machine's clock, because
// the sandbox's own clock may be stopped.
type rate struct {
	mu     sync.Mutex
	second int64
	count  int64
}

// checkRate refuses a request beyond the setting requests_per_second. All keys count
// together.
func (s *Server) checkRate(w http.ResponseWriter) error {
	if s.settings.perSecond == unlimited {
		return nil
	}
	s.rate.mu.Lock()
	defer s.rate.mu.Unlock()
	if now := s.clock().Unix(); now != s.rate.second {
		s.rate.second, s.rate.count = now, 0
	}
	if s.rate.count >= s.settings.perSecond {
		w.Header().Set("Retry-After", "1")
		return refusal.New(refusal.RateLimited,
			"The limit of requests per second is %d; wait and send it again.", s.settings.perSecond)
	}
	s.rate.count++
	return nil
}
