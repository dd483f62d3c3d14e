package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
)

// UnreadableWithdrawal is a record that cannot be read as a withdrawal: a field has another type than the
// interface shows, is no valid text or there twice, or a required one is missing.
type UnreadableWithdrawal struct {
	Withdrawal          // the fields that can be read
	Unread     []string // the names of the fields that cannot be read
	Place      int      // on its page of a list, from 0
	Err        error    // why it is not a withdrawal
}

// MarshalJSON writes the JSON text of the record, with half a surrogate pair in place of invalid UTF-8.
func (u UnreadableWithdrawal) MarshalJSON() ([]byte, error) {
	if u.raw == nil {
		return nil, errors.New("an unreadable withdrawal without the text that it came from")
	}
	return u.raw, nil
}

// UnmarshalJSON reads the readable fields, as Withdrawals.ListLenient does. A record that is a
// withdrawal is an error. Place is not in the text, and is 0.
func (u *UnreadableWithdrawal) UnmarshalJSON(b []byte) error {
	text := bytes.TrimSpace(bytes.Clone(b))
	if err := within(text, func(r *reader) error { return r.SkipValue() }, lenient...); err != nil {
		return err
	}
	err := decode(text, new(Withdrawal))
	switch {
	case err == nil:
		return errors.New("the withdrawal can be read")
	case errors.Is(err, ErrTooLarge):
		return err
	}
	*u = unreadable(text, 0, err)
	return nil
}

// Readable reports whether a field of the record can be read, or is missing and not required.
func (u UnreadableWithdrawal) Readable(field string) bool { return !slices.Contains(u.Unread, field) }

// lenientPage is a WithdrawalPage that keeps unreadable records apart from the others.
type lenientPage struct{ WithdrawalPage }

// read first reads the page like any other page. If that fails, it reads the page again, record by record.
// Such pages are rare, and all others are read at full speed.
func (p *lenientPage) read(r *reader) error {
	err := p.WithdrawalPage.read(r)
	if err == nil || errors.Is(err, ErrTooLarge) {
		return err
	}
	p.WithdrawalPage = WithdrawalPage{}
	r.Reset(bytes.NewBuffer(r.body), lenient...)
	return p.readWith(r, (*lenientRows)(p))
}

type lenientRows lenientPage

func (p *lenientRows) read(r *reader) error {
	return r.eachElement(maxRows, func() error {
		start := r.InputOffset()
		if err := r.SkipValue(); err != nil {
			return err
		}
		var w Withdrawal
		text := r.since(start)
		if err := decode(text, &w); err != nil {
			p.Unreadable = append(p.Unreadable, unreadable(text, len(p.Items)+len(p.Unreadable), err))
		} else {
			p.Items = append(p.Items, w)
		}
		return nil
	})
}

// unreadable reads each field of a record by itself, and a memo. why is the error about the record as a whole.
func unreadable(text json.RawMessage, place int, why error) UnreadableWithdrawal {
	u := UnreadableWithdrawal{Place: place, Err: why}
	members, skip := u.members(), new(json.RawMessage)
	for _, m := range append(members[:], member{"memo", skip, false}) {
		field := json.RawMessage("null")
		find := []member{{m.name, &field, false}}
		if m.name == "external_id" || m.name == "external_order_id" { // if one is there twice, neither is believed
			find = append(find, member{"external_id", skip, false}, member{"external_order_id", skip, false})
		}
		if within(text, func(r *reader) error { return r.object(find...) }, lenient...) != nil ||
			within([]byte(`{"`+m.name+`":`+string(field)+`}`), func(r *reader) error { return r.object(m) }) != nil {
			reflect.ValueOf(m.into).Elem().SetZero()
			u.Unread = append(u.Unread, m.name)
		}
	}
	if u.Address.Kind == Fiat && u.Currency.Kind == Crypto { // see Withdrawal.read
		u.Unread = append(u.Unread, "address")
	}
	slices.Sort(u.Unread)
	u.raw = bytes.ToValidUTF8(text, []byte(`\ud800?`)) // which can be printed and stored, and is unreadable too
	return u
}
