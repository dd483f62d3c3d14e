package sandbox

import (
	"maps"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// settings returns the settings now.
func (s *Server) settings() *settings { return s.live.Load() }

// Set changes settings while the sandbox runs: all of values at once, or none if one of
// them is wrong. Settings lists the names. What was made before stays as it is.
// Withdrawals and invoices move on by the new withdrawal_pace and invoice_expiry,
// counted from the times that they have. Set does not change other servers on the same
// state file.
func (s *Server) Set(values map[string]string) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	all := maps.Clone(s.values)
	maps.Copy(all, values)
	next, err := newSettings(all)
	if err != nil {
		return exported(refusal.New(refusal.InvalidBody, "%v.", err))
	}
	return s.store.Follow(next.Terms, func() {
		s.live.Store(next)
		s.values = all
	})
}

// controlSettings returns {name: value} of every setting.
func (s *Server) controlSettings(*request) (any, error) { return s.settingValues(), nil }

func (s *Server) settingValues() map[string]string {
	s.setting.Lock()
	defer s.setting.Unlock()
	all := map[string]string{}
	for _, setting := range Settings() {
		all[setting.Name] = setting.Default
	}
	maps.Copy(all, s.values)
	return all
}

// controlSet takes {name: value} and returns every setting as it is then.
func (s *Server) controlSet(r *request) (any, error) {
	in := r.object()
	values := in.AllTexts()
	if err := in.Done(); err != nil {
		return nil, err
	}
	if err := s.Set(values); err != nil {
		return nil, err
	}
	return s.settingValues(), nil
}
