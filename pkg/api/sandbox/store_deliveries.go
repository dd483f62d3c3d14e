package sandbox

import (
	"slices"
	"time"
)

// A delivery as the store keeps it. Who holds it, until when, is what servers on
// one file agree by on who posts it: see package webhook.
type delivery struct {
	ID         string    `json:"id"`
	Withdrawal string    `json:"withdrawal"`
	Status     string    `json:"status"`
	URL        string    `json:"url"`
	Body       string    `json:"body"` // to the byte what is posted, each time
	State      string    `json:"state"`
	Attempts   []attempt `json:"attempts,omitempty"` // grows only by making a new slice
	Holder     string    `json:"holder,omitempty"`
	Until      time.Time `json:"until,omitzero"` // by the machine's clock
}

// An attempt is one time that a delivery was posted, or was tried to be.
type attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"`
	Answer string    `json:"answer"`
	Error  string    `json:"error"`
}

// The states of a delivery. Once delivered, it stays delivered.
const (
	pendingDelivery   = "pending"
	deliveredDelivery = "delivered"
	failedDelivery    = "failed"
	refusedDelivery   = "refused"
)

var deliveryStates = []string{pendingDelivery, deliveredDelivery, failedDelivery, refusedDelivery}

// free reports whether a server may post it, or another one is about to.
func (d *delivery) free(server string, now time.Time) bool {
	return d.Holder == "" || d.Holder == server || !now.Before(d.Until)
}

func (st *state) putDelivery(d *delivery) {
	old := st.deliveries[d.ID]
	if old == nil {
		kept := *d
		st.deliveries[d.ID] = &kept
		st.deliveryOrder = append(st.deliveryOrder, &kept)
		if d.State == pendingDelivery {
			st.pending[d.Withdrawal] = append(st.pending[d.Withdrawal], &kept)
		}
		return
	}
	*old = *d
	if d.State != pendingDelivery {
		st.pending[d.Withdrawal] = slices.DeleteFunc(st.pending[d.Withdrawal], func(p *delivery) bool { return p == old })
		if len(st.pending[d.Withdrawal]) == 0 {
			delete(st.pending, d.Withdrawal)
		}
	}
}

// delivery looks one up, and the first of its withdrawal that is pending.
func (s *store) delivery(id string) (d delivery, first string) {
	s.read(func(st *state) {
		if found := st.deliveries[id]; found != nil {
			d = *found
			if queue := st.pending[d.Withdrawal]; len(queue) > 0 {
				first = queue[0].ID
			}
		}
	})
	return d, first
}
