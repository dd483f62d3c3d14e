package store

import (
	"slices"
	"time"
)

// A Delivery is a delivery as the store keeps it.
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

// An Attempt is one try to post a delivery.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"`
	Answer string    `json:"answer"`
	Error  string    `json:"error"`
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

// Delivery returns a delivery, and the id of the first pending delivery of its withdrawal.
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
