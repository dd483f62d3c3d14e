package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	gojson "github.com/go-json-experiment/json"
)

// Invoices has the calls about the merchant's invoices. All of them send the key.
type Invoices struct{ client *Client }

// Invoice is what a customer pays.
type Invoice struct {
	ID              string `json:"id"`                                  // UUID given by the service
	ExternalOrderID string `json:"external_order_id" schema:"optional"` // the merchant's order_id
	// ExternalNumber is the merchant's number; 0 if there is none.
	ExternalNumber int64         `json:"external_number" schema:"optional"`
	Title          string        `json:"tittle"` // this is how answers spell it
	Currency       Currency      `json:"currency"`
	Items          []InvoiceItem `json:"items"`
	CreatedDate    string        `json:"created_date"`               // without a time zone, as the service wrote it
	DueDate        string        `json:"due_date" schema:"optional"` // deprecated: a fixed placeholder
	// Choosen is the customer's choice of payment; its structure is not shown.
	Choosen json.RawMessage `json:"choosen,omitzero" schema:"optional"`
	Status  string          `json:"status"` // values are not shown
	State   string          `json:"state"`  // values are not shown

	source `json:"-"`
}

// InvoiceItem is one item of an invoice. In JSON it is {"amount":"2500","name":"..."}.
type InvoiceItem struct {
	Name   string
	Amount int64 // in minor units of the invoice's currency; in JSON a string of digits
}

// MarshalJSON writes {"amount":"2500","name":"..."}.
func (i InvoiceItem) MarshalJSON() ([]byte, error) {
	return gojson.Marshal(struct {
		Amount int64  `json:"amount,string"`
		Name   string `json:"name"`
	}{i.Amount, i.Name})
}

// UnmarshalJSON reads the object. It refuses an amount that is not a string with an int64 in plain digits.
func (i *InvoiceItem) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

func (i *InvoiceItem) read(r *reader) error {
	return r.object(member{"amount", (*digits)(&i.Amount), true}, member{"name", (*plainText)(&i.Name), false})
}

// digits is an integer in a string.
type digits int64

func (d *digits) read(r *reader) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return fmt.Errorf("%.40q is not an integer of 64 bits in plain digits", text)
	}
	*d = digits(n)
	return nil
}

type items []InvoiceItem

func (v *items) read(r *reader) error { return elements(r, maxItems, (*[]InvoiceItem)(v)) }

// MarshalJSON writes the text of RawJSON, or the fields if there is none or they were changed.
func (i Invoice) MarshalJSON() ([]byte, error) { return marshal(i, i.raw, invoiceFields(i)) }

// UnmarshalJSON reads what Get reads, and keeps the text for RawJSON.
func (i *Invoice) UnmarshalJSON(b []byte) error { return unmarshal(b, i) }

type invoiceFields Invoice // without the methods

func (i *Invoice) read(r *reader) error {
	return r.record(&i.source, member{"id", &i.ID, true}, member{"external_order_id", &i.ExternalOrderID, false},
		member{"external_number", &i.ExternalNumber, false}, member{"tittle", &i.Title, false},
		member{"currency", &i.Currency, true}, member{"items", (*items)(&i.Items), false},
		member{"created_date", &i.CreatedDate, false}, member{"due_date", &i.DueDate, false},
		member{"choosen", &i.Choosen, false}, member{"status", &i.Status, false}, member{"state", &i.State, false})
}

// CreateInvoice is a request for an invoice. It does not send the interface's deprecated due_date, which has
// no effect.
type CreateInvoice struct {
	OrderID  string        `json:"order_id,omitzero"` // the merchant's identifier; may be empty
	Number   *int64        `json:"number,omitzero"`   // shown to the customer; nil: none
	Title    string        `json:"title"`             // shown to the customer
	Currency Currency      `json:"currency"`          // of all items
	Items    []InvoiceItem `json:"items"`             // at least one
	// CallbackURL is where the customer's browser goes after payment. It is not a notification.
	CallbackURL string `json:"callback_url,omitzero"`
}

// MarshalJSON writes the body of Create's request.
func (r CreateInvoice) MarshalJSON() ([]byte, error) { return gojson.Marshal(createInvoiceFields(r)) }

// UnmarshalJSON reads the body of Create's request. A currency is required; Validate checks the rest.
func (r *CreateInvoice) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

type createInvoiceFields CreateInvoice // without the methods

func (c *CreateInvoice) read(r *reader) error {
	return r.object(member{"order_id", &c.OrderID, false}, member{"number", &c.Number, false},
		member{"title", &c.Title, false}, member{"currency", &c.Currency, true},
		member{"items", (*items)(&c.Items), false}, member{"callback_url", &c.CallbackURL, false})
}

// Validate returns an *InvalidError if the service could not carry out the request as meant.
func (r CreateInvoice) Validate() error {
	if err := checkPlain("order_id", r.OrderID); err != nil {
		return err
	}
	if err := checkText("title", r.Title); err != nil {
		return err
	}
	if err := checkUnion(r.Currency.Kind, r.Currency.Code); err != nil {
		return invalid("currency", "%v", err)
	}
	if len(r.Items) == 0 {
		return invalid("items", "there is none: an invoice needs at least one")
	}
	var total int64
	for n, item := range r.Items {
		if err := checkText(fmt.Sprintf("items[%d].name", n), item.Name); err != nil {
			return err
		}
		if item.Amount <= 0 {
			return invalid(fmt.Sprintf("items[%d].amount", n), "%d is not a positive count of minor units", item.Amount)
		}
		if total += item.Amount; total < 0 {
			return invalid("items", "their amounts add up to more than fits into 64 bits")
		}
	}
	return checkCallback("callback_url", r.CallbackURL)
}

// Create makes an invoice and returns the UUID that the service gave it. It is sent at most once. No call
// lists invoices, so after an Error with the outcome Unknown, only the merchant panel shows whether the
// invoice exists.
//
// POST /api/invoice (section 4.2)
func (s *Invoices) Create(ctx context.Context, r CreateInvoice) (id string, err error) {
	return call[string](ctx, s.client, create("create the invoice", "/api/invoice", createInvoiceFields(r), r.Validate()))
}

// Get returns one invoice.
//
// GET /api/invoice (section 4.2)
func (s *Invoices) Get(ctx context.Context, id string) (Invoice, error) {
	return call[Invoice](ctx, s.client, get("get invoice", "/api/invoice", uuidParam("id", id)))
}
