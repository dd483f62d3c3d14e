package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
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

func viewDelivery(d *store.Delivery) Delivery {
	attempts := mapped(d.Attempts, func(a store.Attempt) Attempt { return Attempt(a) })
	return Delivery{d.ID, d.Withdrawal, d.Status, d.URL, d.State, attempts, json.RawMessage(d.Body)}
}

// announce is the delivery that tells of a withdrawal's current status, or nil
// where nothing listens.
func (s *Server) announce(w *store.Withdrawal) *store.Delivery {
	if w.Callback == "" {
		return nil
	}
	view := s.settings.ViewWithdrawal(w, *s.store.Merchant.Load())
	view.Address = w.Address
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if enc.Encode(view) != nil {
		return nil // not reached: a view is plain data
	}
	return s.sender.NewDelivery(w, body.String())
}

// Deliveries returns what was posted to callbacks, or is to be, the oldest first.
func (s *Server) Deliveries() []Delivery {
	s.store.Refresh()
	var all []Delivery
	s.store.Read(func(st *store.State) { all = mapped(st.DeliveryOrder, viewDelivery) })
	return all
}

// Resend posts a delivery once more, whatever became of it, and returns it as it
// is then; that the receiver failed again is no error. One that is pending is
// posted at once, unless an earlier one of the same withdrawal is pending too,
// which has to come first.
func (s *Server) Resend(id string) (Delivery, error) { return s.resend(context.Background(), id) }

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

func (s *Server) controlCallbacks(r *request) (any, error) {
	return s.Deliveries(), nil
}

// controlResend takes {"id": id} and answers with the delivery after the attempt.
func (s *Server) controlResend(r *request) (any, error) {
	in := r.object()
	id := wire.Lower(in.Text("id"))
	if err := in.Done(); err != nil {
		return nil, err
	}
	return s.resend(r.http.Context(), id)
}
