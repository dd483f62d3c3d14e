package store

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/till/pkg/api/sandbox/internal/refusal"
)

type Delivery struct {
	ID         string    `json:"id"`
	Withdrawal string    `json:"withdrawal"`
	Status     string    `json:"status"`
	URL        string    `json:"url"`
	Body       string    `json:"body"` // exactly the bytes of each post
	State      string    `json:"state"`
	Attempts   []Attempt `json:"attempts,omitempty"` // appended to only by making a new slice
	Due        time.Time `json:"due,omitzero"`       // by the sandbox's clock; not posted earlier, zero from then on
}

// DueNow returns the change that ends a delay.
func (d Delivery) DueNow() Change {
	d.Due = time.Time{}
	return Change{Delivery: &d}
}

type Attempt struct {
	At     time.Time `json:"at"`     // by the sandbox's clock
	Status int       `json:"status"` // of the HTTP answer; 0 if none came
	Answer string    `json:"answer"` // the beginning of the answer's body, at most 1 KiB
	Error  string    `json:"error"`  // why no answer came
}

// The states of a delivery. Once delivered, it stays delivered.
const (
	Pending   = "pending"
	Delivered = "delivered"
	Failed    = "failed"
	Refused   = "refused"
	Lost      = "lost"
)

var DeliveryStates = []string{Pending, Delivered, Failed, Refused, Lost}

func (st *State) putDelivery(d *Delivery) {
	kept, isNew := put(st.Deliveries, d.ID, d)
	if isNew {
		st.DeliveryOrder = append(st.DeliveryOrder, kept)
	}
	queue := st.Pending[d.Withdrawal]
	switch {
	case d.State != Pending && !isNew:
		queue = slices.DeleteFunc(queue, func(p *Delivery) bool { return p == kept })
	case d.State == Pending && isNew:
		queue = append(queue, kept)
	}
	if st.Pending[d.Withdrawal] = queue; len(queue) == 0 {
		delete(st.Pending, d.Withdrawal)
	}
}

func (s *Store) Delivery(id string) (d Delivery, first string) {
	s.Read(func(st *State) {
		if found := st.Deliveries[id]; found != nil {
			d = *found
			if queue := st.Pending[d.Withdrawal]; len(queue) > 0 {
				first = queue[0].ID
			}
		}
	})
	return d, first
}

// A Fault makes requests go wrong on purpose. Package fault implements its effects.
type Fault struct {
	ID    string            `json:"id"`    // set by the store, unique in a state
	On    string            `json:"on"`    // one of Operations, or * (or nothing) for all of them
	Do    string            `json:"do"`    // what goes wrong; see the documentation of package sandbox
	Rate  float64           `json:"rate"`  // the share of requests it strikes, above 0 and up to 1; 0: 1
	Times int64             `json:"times"` // the number of strikes after which it is used up; 0: never
	Match map[string]string `json:"match"` // the values that fields of the query or the body must have
	Seed  int64             `json:"seed"`  // decides which requests a Rate below 1 strikes; 0: automatic
	Seen  int64             `json:"seen"`  // the number of requests that it was asked about
	Fired int64             `json:"fired"` // the number of requests that it has struck

	// Body is the answer of the kind body, at most 1 MiB. In JSON it is base64. It is never changed in place.
	Body []byte `json:"body,omitempty"`
}

func (st *State) fault(id string) int {
	return slices.IndexFunc(st.Faults, func(f Fault) bool { return f.ID == id })
}

// putFault makes a new list each time, and so does mend, because requests read the old one without a lock.
func (st *State) putFault(f *Fault) {
	st.Faults = slices.Clone(st.Faults)
	if at := st.fault(f.ID); at >= 0 {
		st.Faults[at] = *f
		return
	}
	st.Faults = append(st.Faults, *f)
	if n, err := strconv.ParseInt(f.ID, 10, 64); err == nil {
		st.lastFault = max(st.lastFault, n)
	}
}

func (st *State) mend(ids []string) {
	st.Faults = slices.DeleteFunc(slices.Clone(st.Faults), func(f Fault) bool { return slices.Contains(ids, f.ID) })
}

func (f Fault) copied() Fault {
	f.Match, f.Body = maps.Clone(f.Match), slices.Clone(f.Body)
	if f.Match == nil {
		f.Match = map[string]string{}
	}
	return f
}

// AddFault adds a fault after the existing ones, and returns it with its id and seed.
func (s *Store) AddFault(f Fault) (Fault, error) {
	f = f.copied() // the caller may change its own
	f.Seen, f.Fired = 0, 0
	err := s.Write(func(st *State) (Change, error) {
		f.ID = strconv.FormatInt(st.lastFault+1, 10)
		if f.Seed == 0 {
			f.Seed = st.lastFault + 1
		}
		return Change{Fault: &f}, nil
	})
	if err != nil {
		return Fault{}, err
	}
	return f.copied(), nil
}

func (s *Store) ListFaults() []Fault {
	all := []Fault{}
	for _, f := range *s.Faults.Load() {
		all = append(all, f.copied())
	}
	return all
}

// ClearFaults removes the faults with these ids, or all faults without an id, and returns them.
func (s *Store) ClearFaults(ids []string) (cleared []Fault, err error) {
	err = s.Write(func(st *State) (c Change, err error) {
		if i := slices.IndexFunc(ids, func(id string) bool { return st.fault(id) < 0 }); i >= 0 {
			return c, refusal.New(refusal.NotFound, "There is no fault %q; list those there are.", refusal.Shorten(ids[i]))
		}
		cleared = []Fault{}
		for _, f := range st.Faults {
			if len(ids) == 0 || slices.Contains(ids, f.ID) {
				c.Mended = append(c.Mended, f.ID)
				cleared = append(cleared, f.copied())
			}
		}
		return c, nil
	})
	return cleared, err
}
