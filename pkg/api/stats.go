package api

import "fmt"

// ResellerStats are a reseller's figures over all time.
type ResellerStats struct {
	ID    string `json:"id"` // UUID of the reseller
	Label string `json:"label"`
	// InvoiceStats counts the invoices of each status. The interface does not show the set of statuses;
	// Awaiting is one.
	InvoiceStats []StatusCount `json:"invoice_stats" schema:"object"`
	// InvoiceRebates has a record for each invoice that earned a rebate.
	InvoiceRebates []InvoiceRebate `json:"invoice_rebates" schema:"object"`
	TotalVolume    []CodeTotal     `json:"total_volume" schema:"object"`
	TotalRebates   []CodeTotal     `json:"total_rebates" schema:"object"`

	source `json:"-"`
}

// StatusCount is the number of invoices with a status. In JSON it is an object with one key: {"Awaiting":3}.
type StatusCount struct {
	Status string
	Count  int64
}

// MarshalJSON writes the one-key object.
func (s StatusCount) MarshalJSON() ([]byte, error) { return object(s) }

func (s StatusCount) entry() (string, any) { return s.Status, s.Count }

// UnmarshalJSON reads the one-key object and refuses anything else.
func (s *StatusCount) UnmarshalJSON(b []byte) error { return one[counts](b, s) }

// InvoiceRebate is the rebate that an invoice earned. Amounts are in minor units.
type InvoiceRebate struct {
	ID         string      `json:"id"` // UUID of the invoice
	PaidAmount CodeAmounts `json:"paid_amount"`
	Rebate     CodeAmounts `json:"rebate"`
	Created    string      `json:"created"` // without a time zone, as the service wrote it
}

// UnmarshalJSON reads the object and refuses anything else.
func (r *InvoiceRebate) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

func (r InvoiceRebate) entry() (string, any) { return r.ID, r }

// CodeTotal is one entry of a total: the amounts under a currency code, in minor units. In JSON it is an
// object with one key: {"Btc":{"USD":2500}}.
type CodeTotal struct {
	Code    string
	Amounts CodeAmounts
}

// MarshalJSON writes the one-key object.
func (t CodeTotal) MarshalJSON() ([]byte, error) { return object(t) }

func (t CodeTotal) entry() (string, any) { return t.Code, t.Amounts }

// UnmarshalJSON reads the one-key object and refuses anything else.
func (t *CodeTotal) UnmarshalJSON(b []byte) error { return one[codeTotals](b, t) }

// counts, invoiceRebates and codeTotals are the service's objects that hold several of these entries.
type (
	counts         []StatusCount
	invoiceRebates []InvoiceRebate
	codeTotals     []CodeTotal
)

func (v counts) MarshalJSON() ([]byte, error)         { return object(v...) }
func (v invoiceRebates) MarshalJSON() ([]byte, error) { return object(v...) }
func (v codeTotals) MarshalJSON() ([]byte, error)     { return object(v...) }

// MarshalJSON writes the text of RawJSON, or the fields if there is none or they were changed.
func (s ResellerStats) MarshalJSON() ([]byte, error) {
	return marshal(s, s.raw, struct {
		ID             string         `json:"id"`
		Label          string         `json:"label"`
		InvoiceStats   counts         `json:"invoice_stats"`
		InvoiceRebates invoiceRebates `json:"invoice_rebates"`
		TotalVolume    codeTotals     `json:"total_volume"`
		TotalRebates   codeTotals     `json:"total_rebates"`
	}{s.ID, s.Label, s.InvoiceStats, s.InvoiceRebates, s.TotalVolume, s.TotalRebates})
}

// UnmarshalJSON reads what Resellers.Stats reads, and keeps the text for RawJSON.
func (s *ResellerStats) UnmarshalJSON(b []byte) error { return unmarshal(b, s) }

func (s *ResellerStats) read(r *reader) error {
	return r.record(&s.source, member{"id", &s.ID, true}, member{"label", (*plainText)(&s.Label), true},
		member{"invoice_stats", (*counts)(&s.InvoiceStats), true},
		member{"invoice_rebates", (*invoiceRebates)(&s.InvoiceRebates), true},
		member{"total_volume", (*codeTotals)(&s.TotalVolume), true},
		member{"total_rebates", (*codeTotals)(&s.TotalRebates), true})
}

func (v *counts) read(r *reader) error {
	return entries(r, v, func(count *StatusCount, status string) error {
		count.Status = status
		return (*natural)(&count.Count).read(r)
	})
}

func (v *invoiceRebates) read(r *reader) error {
	return entries(r, v, func(rebate *InvoiceRebate, id string) error {
		err := rebate.read(r)
		if err == nil && rebate.ID != id {
			err = fmt.Errorf("the rebate of invoice %q is under the key %q", rebate.ID, id)
		}
		return err
	})
}

func (v *InvoiceRebate) read(r *reader) error {
	return r.object(member{"id", &v.ID, true}, member{"paid_amount", &v.PaidAmount, true},
		member{"rebate", &v.Rebate, true}, member{"created", (*plainText)(&v.Created), false})
}

func (v *codeTotals) read(r *reader) error {
	return entries(r, v, func(total *CodeTotal, code string) error {
		total.Code = code
		return total.Amounts.read(r)
	})
}
