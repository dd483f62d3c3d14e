package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// A Delivery is one status of a withdrawal on its way to the withdrawal's
// callback. It is made in the same change as the status.
type Delivery struct {
	ID         string          `json:"id"`
	Withdrawal string          `json:"withdrawal"`
	Status     string          `json:"status"` // the one that it tells of
	URL        string          `json:"url"`
	State      string          `json:"state"`    // pending, delivered, failed: given up, or refused: not a target that is allowed
	Attempts   []Attempt       `json:"attempts"` // the oldest first
	Body       json.RawMessage `json:"body"`     // the withdrawal as it was then
}

// An Attempt is one time that a Delivery was posted, or was tried to be.
type Attempt struct {
	At     time.Time `json:"at"`     // by the sandbox's clock
	Status int       `json:"status"` // of the HTTP answer; 0 where none came
	Answer string    `json:"answer"` // the beginning of the answer's body, 1 KiB of it at most
	Error  string    `json:"error"`  // why no answer came
}

// The states of a delivery. Once delivered, it stays delivered.
const (
	pendingDelivery   = "pending"
	deliveredDelivery = "delivered"
	failedDelivery    = "failed"
	refusedDelivery   = "refused"
)

var deliveryStates = []string{pendingDelivery, deliveredDelivery, failedDelivery, refusedDelivery}

// A delivery as the store keeps it. Who holds it, until when, is what servers on
// one file agree by on who posts it: see courier.
type delivery struct {
	ID         string    `json:"id"`
	Withdrawal string    `json:"withdrawal"`
	Status     string    `json:"status"`
	URL        string    `json:"url"`
	Body       string    `json:"body"` // to the byte what is posted, each time
	State      string    `json:"state"`
	Attempts   []Attempt `json:"attempts,omitempty"` // grows only by making a new slice
	Holder     string    `json:"holder,omitempty"`
	Until      time.Time `json:"until,omitzero"` // by the machine's clock
}

func (d *delivery) view() Delivery {
	return Delivery{d.ID, d.Withdrawal, d.Status, d.URL, d.State, append([]Attempt{}, d.Attempts...), json.RawMessage(d.Body)}
}

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

// proceed is the change that brings a withdrawal to its next status: the record,
// the money where it goes back, and what its callback is to be told. Whatever
// changes a status is made of it.
func (s *Server) proceed(st *state, w *withdrawal, status string, at time.Time) (change, error) {
	if err := s.settings.flow.check(w.current(), status); err != nil {
		return change{}, err
	}
	next := *w
	next.Statuses = append(slices.Clone(w.Statuses), reached{status, at})
	c := change{Withdrawal: &next, Delivery: s.announce(&next)}
	if s.settings.flow.refunds[status] {
		back, err := st.accounts[w.Account].credit(balance, w.Currency, w.Debit)
		if err != nil {
			return change{}, err
		}
		c.Moves = []move{back}
	}
	return c, nil
}

// announce is the delivery that tells of a withdrawal's current status, or nil
// where nothing listens. This server holds it from the beginning.
func (s *Server) announce(w *withdrawal) *delivery {
	if w.Callback == "" {
		return nil
	}
	view := s.settings.viewWithdrawal(w, *s.store.merchant.Load())
	view.Address = w.Address
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if enc.Encode(view) != nil {
		return nil // not reached: a view is plain data
	}
	return &delivery{
		ID:         newUUID(),
		Withdrawal: w.ID,
		Status:     w.current(),
		URL:        w.Callback,
		Body:       body.String(),
		State:      pendingDelivery,
		Holder:     s.courier.name,
		Until:      s.courier.term(0),
	}
}

// Deliveries returns what was posted to callbacks, or is to be, the oldest first.
func (s *Server) Deliveries() []Delivery {
	s.store.refresh()
	all := []Delivery{}
	s.store.read(func(st *state) {
		for _, d := range st.deliveryOrder {
			all = append(all, d.view())
		}
	})
	return all
}

// Resend posts a delivery once more, whatever became of it, and returns it as it
// is then; that the receiver failed again is no error. One that is pending is
// posted at once, unless an earlier one of the same withdrawal is pending too,
// which has to come first.
func (s *Server) Resend(id string) (Delivery, error) { return s.resend(context.Background(), id) }

func (s *Server) resend(ctx context.Context, id string) (Delivery, error) {
	if err := s.store.refresh(); err != nil {
		return Delivery{}, err
	}
	d, first := s.store.delivery(id)
	switch {
	case d.ID == "":
		return Delivery{}, fail(notFound, "There is no delivery %q; check the id.", shorten(id))
	case d.State != pendingDelivery:
		return s.again(ctx, d)
	case first != id:
		return Delivery{}, fail(wrongStatus, "The delivery %s of the same withdrawal is pending, and goes first; resend that one.", first)
	}
	return s.hurry(ctx, d)
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

func (s *Server) controlCallbacks(r *request) (any, error) {
	if err := r.query().done(); err != nil {
		return nil, err
	}
	return s.Deliveries(), nil
}

// controlResend takes {"id": id} and answers with the delivery after the attempt.
func (s *Server) controlResend(r *request) (any, error) {
	in, err := r.ordered()
	if err != nil {
		return nil, err
	}
	id := lower(in.text("id"))
	if err := in.done(); err != nil {
		return nil, err
	}
	return s.resend(r.http.Context(), id)
}
