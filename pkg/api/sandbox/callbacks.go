package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A Delivery carries one status of a withdrawal to the withdrawal's callback. It is stored in the same change
// as the status.
//
// Its State is pending, delivered, failed (given up), refused (the target is not allowed) or lost (the fault
// lose-callback struck it).
type Delivery struct {
	ID         string          `json:"id"`
	Withdrawal string          `json:"withdrawal"`
	Status     string          `json:"status"` // the status that it reports
	URL        string          `json:"url"`
	State      string          `json:"state" schema:"delivery-state"`
	Attempts   []Attempt       `json:"attempts"` // oldest first
	Body       json.RawMessage `json:"body"`     // the withdrawal at the time of the status

	// Due is when it is posted, by the sandbox's clock, while delay-callback delays it.
	Due time.Time `json:"due,omitzero"`
}

// An Attempt is one try to post a Delivery: At, by the sandbox's clock, and the Status and the Answer that
// came, or the Error why none did.
type Attempt = store.Attempt

func viewDelivery(d *store.Delivery) Delivery {
	attempts := append([]Attempt{}, d.Attempts...)
	return Delivery{d.ID, d.Withdrawal, d.Status, d.URL, d.State, attempts, json.RawMessage(d.Body), d.Due}
}

// announce returns the delivery of a withdrawal's current status, or nil if there is no callback. Faults may
// strike it.
func (s *Server) announce(st *store.State, w *store.Withdrawal) (*store.Delivery, []store.Change) {
	if w.Callback == "" {
		return nil, nil
	}
	view := s.settings().ViewWithdrawal(w, *s.store.Merchant.Load(), w.Address)
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(view) // a view is plain data
	d := &store.Delivery{ID: s.store.IDs().UUID("delivery"), Withdrawal: w.ID, Status: w.Current(), URL: w.Callback,
		Body: body.String(), State: store.Pending}
	return d, fault.ApplyToDelivery(st.Faults, d, w.Statuses[len(w.Statuses)-1].At)
}

// Deliveries returns the callbacks that were posted or are pending, oldest first.
func (s *Server) Deliveries() []Delivery {
	var all []Delivery
	s.read(func(st *store.State) { all = mapped(st.DeliveryOrder, viewDelivery) })
	return all
}

// Resend posts a delivery again, whatever its state, and returns it as it is after the attempt. It is no
// error if the receiver fails again. A pending delivery is posted at once, unless an earlier one of the same
// withdrawal is also pending: that one must come first.
func (s *Server) Resend(id string) (Delivery, error) {
	d, err := s.resend(context.Background(), id)
	return d, err
}

func (s *Server) resend(ctx context.Context, id string) (Delivery, error) {
	if err := s.store.Refresh(); err != nil {
		return Delivery{}, err
	}
	d, err := s.sender.Resend(ctx, id)
	if err != nil {
		return Delivery{}, err
	}
	return viewDelivery(&d), nil
}

func (s *Server) controlResend(r *request) action {
	id := wire.Lower(r.fields().Text("id"))
	return func() (any, error) { return s.resend(r.http.Context(), id) }
}
