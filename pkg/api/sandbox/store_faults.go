package sandbox

import (
	"maps"
	"slices"
	"strconv"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A fault as the store keeps it; see package fault for what it does.
type fault struct {
	ID    string            `json:"id"`
	On    string            `json:"on"`
	Do    string            `json:"do"`
	Rate  float64           `json:"rate"`
	Times int64             `json:"times"`
	Match map[string]string `json:"match"`
	Seed  int64             `json:"seed"`
	Seen  int64             `json:"seen"`
	Fired int64             `json:"fired"`
}

func (st *state) fault(id string) *fault {
	if st.faults != nil {
		for i := range *st.faults {
			if f := &(*st.faults)[i]; f.ID == id {
				return f
			}
		}
	}
	return nil
}

// putFault and mend make a new list each time: requests look at the old one
// without a lock.
func (st *state) putFault(f *fault) {
	var list []fault
	if st.faults != nil {
		list = slices.Clone(*st.faults)
	}
	at := slices.IndexFunc(list, func(old fault) bool { return old.ID == f.ID })
	if at < 0 {
		list = append(list, *f)
		if n, err := strconv.ParseInt(f.ID, 10, 64); err == nil {
			st.lastFault = max(st.lastFault, n)
		}
	} else {
		list[at] = *f
	}
	st.faults = &list
}

func (st *state) mend(ids []string) {
	if st.faults == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(*st.faults), func(f fault) bool { return slices.Contains(ids, f.ID) })
	st.faults = &list
	if len(list) == 0 {
		st.faults = nil // so that requests need not look any further
	}
}

func (f fault) copied() fault {
	f.Match = maps.Clone(f.Match)
	if f.Match == nil {
		f.Match = map[string]string{}
	}
	return f
}

// addFault adds a fault behind those that are there, and returns it with its id and seed.
func (s *store) addFault(f fault) (fault, error) {
	f.Match = maps.Clone(f.Match) // the caller's own may change
	f.Seen, f.Fired = 0, 0
	err := s.write(func(st *state) (change, error) {
		f.ID = strconv.FormatInt(st.lastFault+1, 10)
		if f.Seed == 0 {
			f.Seed = st.lastFault + 1
		}
		return change{Fault: &f}, nil
	})
	if err != nil {
		return fault{}, err
	}
	return f.copied(), nil
}

// listFaults returns all faults, in the order in which they are asked.
func (s *store) listFaults() []fault {
	all := []fault{}
	if list := s.faults.Load(); list != nil {
		for _, f := range *list {
			all = append(all, f.copied())
		}
	}
	return all
}

// clearFaults takes faults away, or all of them without an id, and returns them.
func (s *store) clearFaults(ids []string) (cleared []fault, err error) {
	err = s.write(func(st *state) (change, error) {
		c := change{}
		cleared = nil
		for _, id := range ids {
			if st.fault(id) == nil {
				return c, refusal.New(refusal.NotFound, "There is no fault %q; list those there are.", refusal.Shorten(id))
			}
		}
		if st.faults != nil {
			for _, f := range *st.faults {
				if len(ids) == 0 || slices.Contains(ids, f.ID) {
					c.Mended = append(c.Mended, f.ID)
					cleared = append(cleared, f.copied())
				}
			}
		}
		return c, nil
	})
	return cleared, err
}
