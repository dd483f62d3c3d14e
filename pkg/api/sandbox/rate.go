package sandbox

import (
	"net/http"
	"sync"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// rate counts the requests in the current second, by the sandbox's clock: one that
// stands still lets no more requests pass until it is moved.
type rate struct {
	mu     sync.Mutex
	second int64
	count  int64
}

func (r *rate) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count = 0
}

// checkRate refuses a request beyond the setting requests_per_second. All keys count
// together.
func (s *Server) checkRate(w http.ResponseWriter) error {
	most := s.settings().perSecond
	if most == unlimited {
		return nil
	}
	s.rate.mu.Lock()
	defer s.rate.mu.Unlock()
	if now := s.store.Now().Unix(); now != s.rate.second {
		s.rate.second, s.rate.count = now, 0
	}
	if s.rate.count >= most {
		w.Header().Set("Retry-After", "1")
		return refusal.New(refusal.RateLimited,
			"The limit of requests per second is %d; wait and send it again.", most)
	}
	s.rate.count++
	return nil
}
