package api

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// RebateList is the answer with all rebates of a reseller: an array with one Amount for each currency.
type RebateList struct {
	Amounts []Amount
	raw     json.RawMessage
}

// RawJSON returns the JSON text that the list came from.
func (r RebateList) RawJSON() json.RawMessage { return r.raw }

// MarshalJSON writes the array.
func (r RebateList) MarshalJSON() ([]byte, error) {
	amounts := r.Amounts
	if amounts == nil {
		amounts = []Amount{}
	}
	return marshal(r, r.raw, amounts)
}

// UnmarshalJSON reads what Resellers.Rebate reads, and keeps the text for RawJSON.
func (r *RebateList) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

func (r *RebateList) decode(body []byte) error {
	return within(body, func(dec *jsontext.Decoder) error {
		return eachElement(dec, "rebates", func() error {
			var amount Amount
			err := (*amountJSON)(&amount).UnmarshalJSONFrom(dec)
			r.Amounts = append(r.Amounts, amount)
			return err
		})
	})
}

func (r *RebateList) complete(text json.RawMessage) error {
	r.raw = text
	return nil
}

// RebateMap is the answer with a reseller's rebate in one currency: an object from code to Amount.
type RebateMap struct {
	Rebates Rebates
	raw     json.RawMessage
}

// RawJSON returns the JSON text that the map came from.
func (r RebateMap) RawJSON() json.RawMessage { return r.raw }

// MarshalJSON writes the object from code to Amount.
func (r RebateMap) MarshalJSON() ([]byte, error) { return marshal(r, r.raw, r.Rebates) }

// UnmarshalJSON reads what RebateIn reads, and keeps the text for RawJSON.
func (r *RebateMap) UnmarshalJSON(b []byte) error { return unmarshal(b, r) }

func (r *RebateMap) decode(body []byte) error { return r.Rebates.UnmarshalJSON(body) }

func (r *RebateMap) complete(text json.RawMessage) error {
	r.raw = text
	return nil
}
