package api

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ResellerStats are a reseller's figures over all time.
type ResellerStats struct {
	ID             string // UUID of the reseller
	Label          string
	InvoiceStats   []StatusCount   // how many invoices have each status; the set of statuses is not shown, Awaiting is one
	InvoiceRebates []InvoiceRebate // a record for each invoice that earned a rebate
	TotalVolume    []CodeTotal
	TotalRebates   []CodeTotal

	raw json.RawMessage
}

// StatusCount is how many invoices have a status.
type StatusCount struct {
	Status string
	Count  int64
}

// InvoiceRebate is what an invoice earned. Amounts are in minor units.
type InvoiceRebate struct {
	ID         string // UUID of the invoice
	PaidAmount CodeAmounts
	Rebate     CodeAmounts
	Created    string // without a time zone, as the service wrote it
}

// CodeTotal is one entry of a total: the amounts under a currency code, in minor units.
type CodeTotal struct {
	Code    string
	Amounts CodeAmounts
}

// RawJSON returns the JSON text that the statistics came from; nil for ones that were made otherwise.
func (s ResellerStats) RawJSON() json.RawMessage { return s.raw }

func (s *ResellerStats) complete(text json.RawMessage) error {
	s.raw = text
	return nil
}

func (s *ResellerStats) decode(body []byte) error {
	seen := 0
	err := within(body, func(dec *jsontext.Decoder) error {
		return eachKey(dec, "statistics", func(key string) (err error) {
			seen++
			switch key {
			case "id":
				s.ID, err = nonEmptyString(dec, key)
			case "label":
				s.Label, err = str(dec, key)
			case "invoice_stats":
				err = eachKey(dec, key, func(status string) error {
					n, err := count(dec, "invoices that are "+status)
					s.InvoiceStats = append(s.InvoiceStats, StatusCount{status, n})
					return err
				})
			case "invoice_rebates":
				err = eachKey(dec, key, func(id string) error {
					rebate, err := invoiceRebate(dec, id)
					s.InvoiceRebates = append(s.InvoiceRebates, rebate)
					return err
				})
			case "total_volume":
				s.TotalVolume, err = totals(dec, key)
			case "total_rebates":
				s.TotalRebates, err = totals(dec, key)
			default:
				seen--
				err = dec.SkipValue()
			}
			return err
		})
	})
	if err == nil && seen < 6 {
		return errors.New("id, label, invoice_stats, invoice_rebates, total_volume and total_rebates belong in it")
	}
	return err
}

func invoiceRebate(dec *jsontext.Decoder, key string) (r InvoiceRebate, err error) {
	var paid, rebate bool
	err = eachKey(dec, "rebate of an invoice", func(field string) (err error) {
		switch field {
		case "id":
			r.ID, err = nonEmptyString(dec, field)
		case "paid_amount":
			paid = true
			err = r.PaidAmount.UnmarshalJSONFrom(dec)
		case "rebate":
			rebate = true
			err = r.Rebate.UnmarshalJSONFrom(dec)
		case "created":
			r.Created, err = str(dec, field)
		default:
			err = dec.SkipValue()
		}
		return err
	})
	switch {
	case err != nil:
	case !paid || !rebate:
		err = fmt.Errorf("the rebate of invoice %q: paid_amount and rebate belong in it", key)
	case r.ID != key:
		err = fmt.Errorf("the rebate of invoice %q stands under the key %q", r.ID, key)
	}
	return r, err
}

func totals(dec *jsontext.Decoder, what string) ([]CodeTotal, error) {
	all := []CodeTotal{}
	err := eachKey(dec, what, func(code string) error {
		total := CodeTotal{Code: code}
		err := total.Amounts.UnmarshalJSONFrom(dec)
		all = append(all, total)
		return err
	})
	return all, err
}
