package sandbox

import (
	"encoding/json"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// invoiceView is section 2.5, with its own spelling of tittle and choosen.
type invoiceView struct {
	ID              string       `json:"id"`
	ExternalOrderID any          `json:"external_order_id,omitempty"`
	ExternalNumber  any          `json:"external_number,omitempty"`
	Title           string       `json:"tittle"`
	Currency        currencyView `json:"currency"`
	Items           []store.Item `json:"items"`
	CreatedDate     string       `json:"created_date"`
	DueDate         string       `json:"due_date"`
	Choosen         any          `json:"choosen,omitempty"`
	Status          string       `json:"status"`
	State           string       `json:"state"`
}

// choosenView is the payment choice of a paid invoice.
type choosenView struct {
	Currency currencyView `json:"currency"`
	Amount   amountView   `json:"amount"`
	At       string       `json:"at"`
}

func (s *rules) viewInvoice(v *store.Invoice) invoiceView {
	c := money.ByCode[v.Currency]
	view := invoiceView{
		ID:              v.ID,
		ExternalOrderID: s.absent(),
		ExternalNumber:  s.absent(),
		Title:           v.Title,
		Currency:        viewCurrency(c),
		Items:           v.Items,
		CreatedDate:     v.Created.Format(s.createdLayout),
		DueDate:         s.dueDate,
		Status:          s.InvoiceStatuses[v.Phase],
		State:           s.invoiceStates[v.Phase],
	}
	if v.OrderID != nil {
		view.ExternalOrderID = *v.OrderID
	}
	if v.Number != nil {
		view.ExternalNumber = *v.Number
	}
	switch {
	case v.Phase == store.Paid:
		view.Choosen = s.viewChoosen(v)
	case s.choosenUnpaid == "null":
		view.Choosen = json.RawMessage("null")
	case s.choosenUnpaid == "empty":
		view.Choosen = struct{}{}
	}
	return view
}

// viewChoosen is the payment choice in a paid invoice.
func (s *rules) viewChoosen(v *store.Invoice) any {
	got := v.Payment()
	switch s.choosenPaid {
	case "currency":
		return viewCurrency(money.ByCode[got.Code])
	case "null":
		return json.RawMessage("null")
	case "omit":
		return nil
	}
	return choosenView{viewCurrency(money.ByCode[got.Code]), viewAmount(got), v.PaidAt.Format(s.createdLayout)}
}
