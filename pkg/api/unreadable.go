package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// UnreadableWithdrawal is a record of a list that cannot be read as a withdrawal: a field has another type
// than the interface shows, or a required field is missing.
type UnreadableWithdrawal struct {
	Withdrawal          // the fields that can be read
	Unread     []string // the names of the fields that cannot be read
	Place      int      // on its page, from 0
	Err        error    // why it is not a withdrawal
}

// MarshalJSON writes the JSON text of the record.
func (u UnreadableWithdrawal) MarshalJSON() ([]byte, error) {
	if u.raw == nil {
		return nil, errors.New("an unreadable withdrawal without the text that it came from")
	}
	return u.raw, nil
}

// UnmarshalJSON reads the readable fields, as Withdrawals.ListLenient does. A record that is a
// withdrawal is an error. Place is not in the text, and is 0.
func (u *UnreadableWithdrawal) UnmarshalJSON(b []byte) error {
	text := jsontext.Value(bytes.TrimSpace(b)).Clone()
	if !text.IsValid() {
		return readable(gojson.Unmarshal(text, new(any)), text)
	}
	err := decode(text, new(Withdrawal))
	switch {
	case err == nil:
		return errors.New("the withdrawal can be read")
	case errors.Is(err, ErrTooLarge):
		return err
	}
	*u = unreadable(json.RawMessage(text), 0, err)
	return nil
}

// Readable reports whether a field of the record can be read, or is missing and not required.
func (u UnreadableWithdrawal) Readable(field string) bool { return !slices.Contains(u.Unread, field) }

// lenientPage is a WithdrawalPage that keeps unreadable records apart from the others.
type lenientPage struct{ WithdrawalPage }

// decode first reads the page like any other page. If that fails, it reads the page again, record by record.
// Such pages are rare, and all others are read at full speed.
func (p *lenientPage) decode(dec *jsontext.Decoder, body []byte) error {
	var strict WithdrawalPage
	err := strict.decode(dec, body)
	if err == nil || errors.Is(err, ErrTooLarge) {
		p.WithdrawalPage = strict
		return err
	}
	dec.Reset(bytes.NewBuffer(body))
	place := 0
	return p.read(dec, len(body), func() error {
		return eachElement(dec, "page_content", maxRows, func() error {
			start := dec.InputOffset()
			if err := dec.SkipValue(); err != nil {
				return err
			}
			text := slices.Clip(bytes.TrimLeft(body[start:dec.InputOffset()], " \t\r\n,"))
			var w Withdrawal
			if err := decode(text, &w); err != nil {
				p.Unreadable = append(p.Unreadable, unreadable(text, place, err))
			} else {
				p.Items = append(p.Items, w)
			}
			place++
			return nil
		})
	})
}

// unreadable reads the readable fields of a record. why is the error about the record as a whole.
func unreadable(text json.RawMessage, place int, why error) UnreadableWithdrawal {
	u := UnreadableWithdrawal{Place: place, Err: why}
	u.raw = text
	fields := map[string]any{
		"id": &u.ID, "external_id": &u.ExternalID, "merchant_id": &u.MerchantID, "currency": &u.Currency,
		"amount":   &u.Amount,
		"statuses": &u.Statuses, "current": &u.Current, "address": &u.Address, "external_order_id": &u.ExternalOrderID,
		"is_testnet": &u.IsTestnet, "callback": &u.Callback,
	}
	var values map[string]jsontext.Value
	if gojson.Unmarshal(text, &values) != nil || values == nil { // not an object
		for name := range fields {
			u.Unread = append(u.Unread, name)
		}
		slices.Sort(u.Unread)
		return u
	}
	for name, field := range fields {
		if value, found := values[name]; found && gojson.Unmarshal(value, field) != nil {
			u.Unread = append(u.Unread, name)
		}
	}
	for name, missing := range map[string]bool{
		"id": u.ID == "", "currency": u.Currency.Code == "", "amount": u.Amount.Code == "",
		"address": u.Address.Text == "",
	} {
		if missing && u.Readable(name) {
			u.Unread = append(u.Unread, name)
		}
	}
	// Each field is valid by itself, so the kind of the address is wrong: see complete.
	if len(u.Unread) == 0 {
		u.Unread = append(u.Unread, "address")
	}
	slices.Sort(u.Unread)
	return u
}
