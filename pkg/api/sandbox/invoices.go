package sandbox

import (
	"math"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

func (s *Server) createInvoice(r *request) action {
	in := r.fields()
	v := &store.Invoice{
		Account:  r.account,
		OrderID:  wire.Optional(in, "order_id", in.Text),
		Number:   wire.Optional(in, "number", in.Integer),
		Title:    in.Text("title"),
		Currency: in.Currency("currency").Code,
	}
	r.choices.readItems(in, v)
	if in.Has("due_date") {
		due := in.Text("due_date") // deprecated: checked and ignored
		if _, err := time.Parse(r.choices.CreatedLayout, due); err != nil && r.choices.DueDateIn == "date_time" {
			in.FailAt("due_date", "is %q, which is not a time; write it like %s", refusal.Shorten(due),
				r.choices.CreatedLayout)
		}
	}
	v.Callback = in.URLOr("callback_url", "")
	return func() (any, error) {
		err := s.store.AddInvoice(v)
		return v.ID, err
	}
}

func (s *settings) readItems(in *wire.Object, v *store.Invoice) {
	items := in.Array("items")
	if n := int64(len(items)); n < s.MinItems {
		in.FailAt("items", "is empty; an invoice needs at least one item")
	} else if n > s.MaxItems {
		in.FailAt("items", "holds %d items; send %d at most", n, s.MaxItems)
	}
	v.Items = []store.Item{}
	for i, raw := range items {
		one := in.Element("items", i, raw)
		item := store.Item{Name: one.Text("name"), Amount: one.Text("amount")}
		minor, ok := money.ParseInteger(item.Amount)
		switch {
		case !ok || minor <= 0:
			one.FailKind(refusal.InvalidAmount, "amount",
				"is %q; it must be a string holding a whole number of minor units above 0, such as \"2500\"",
				refusal.Shorten(item.Amount))
		case v.Total > math.MaxInt64-minor:
			in.FailKind(refusal.AmountTooLarge, "items",
				"add up to more than an int64 of minor units can hold; make several invoices")
		default:
			v.Total += minor
		}
		one.CheckBounds("amount", minor)
		if err := one.Done(); err != nil {
			*in.Err = err
			return
		}
		v.Items = append(v.Items, item)
	}
}

func (s *Server) getInvoice(r *request) action {
	id := r.query.UUID("id")
	return func() (any, error) {
		return s.ofInvoice(&r.choices.Rules, r.account, id, (*wire.Rules).ViewInvoice)
	}
}

// ofInvoice returns the view of an invoice. The store is locked while view runs. An invoice of another
// account is not found.
func (s *Server) ofInvoice(
	by *wire.Rules, account, id string, view func(*wire.Rules, *store.Invoice) any,
) (answer any, err error) {
	s.store.Read(func(st *store.State) {
		if v := st.Invoices[id]; v != nil && by.Shows(st, account, v.Account) {
			answer = view(by, v)
		} else {
			err = refusal.New(refusal.NotFound, "There is no invoice %s in this account; check the id.", id)
		}
	})
	return answer, err
}

// PayInvoice pays a waiting invoice in full, in its own currency or in the one that the setting paid_in
// names. The money is added to the balance of the account that made the invoice. A reseller also earns a
// rebate, which is not part of the balance.
func (s *Server) PayInvoice(id string) error { return s.store.Pay(id, "never") }

// ExpireInvoice ends a waiting invoice unpaid.
func (s *Server) ExpireInvoice(id string) error { return s.store.ExpireInvoice(id) }
