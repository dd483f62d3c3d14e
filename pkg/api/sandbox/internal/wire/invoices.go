package wire

import (
	"encoding/json"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// invoiceView is the Invoice of section 2.5. The spellings tittle and choosen are from there.
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
	Amount   AmountView   `json:"amount"`
	At       string       `json:"at"`
}

func (s *Rules) ViewInvoice(v *store.Invoice) any {
	c := money.ByCode[v.Currency]
	view := invoiceView{
		ID:              v.ID,
		ExternalOrderID: s.absent(),
		ExternalNumber:  s.absent(),
		Title:           v.Title,
		Currency:        ViewCurrency(c),
		Items:           v.Items,
		CreatedDate:     v.Created.Format(s.CreatedLayout),
		DueDate:         s.DueDate,
		Status:          s.InvoiceStatuses[v.Phase],
		State:           s.InvoiceStates[v.Phase],
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
	case s.ChoosenUnpaid == "null":
		view.Choosen = json.RawMessage("null")
	case s.ChoosenUnpaid == "empty":
		view.Choosen = struct{}{}
	}
	return view
}

// ViewFinished reports whether an invoice is finished.
func (s *Rules) ViewFinished(v *store.Invoice) any {
	return v.Phase == store.Paid || v.Phase == store.Expired && s.InvoiceFinished == "closed"
}

func (s *Rules) viewChoosen(v *store.Invoice) any {
	got := v.Payment()
	switch s.ChoosenPaid {
	case "currency":
		return ViewCurrency(money.ByCode[got.Code])
	case "null":
		return json.RawMessage("null")
	case "omit":
		return nil
	}
	return choosenView{ViewCurrency(money.ByCode[got.Code]), ViewAmount(got), v.PaidAt.Format(s.CreatedLayout)}
}
