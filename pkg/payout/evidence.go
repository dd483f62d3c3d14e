package payout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// A record has the few fields that are kept of a withdrawal on the list. Keeping the api.Withdrawal would
// keep a whole page of the list in memory for each order that is found.
type record struct {
	id       string
	numbers  []int64 // see numbersOf
	number   int64   // external_id
	text     string  // external_order_id
	currency api.Currency
	amount   api.Amount
	address  string
	memo     *string  // nil: not shown
	dated    string   // date of its first status, in the service's format
	status   string   // in the service's words
	merchant string   // merchant_id
	unread   []string // fields that cannot be read, and are empty here
}

func recordOf(w api.UnreadableWithdrawal) record {
	r := record{
		id: w.ID, numbers: numbersOf(w.Withdrawal), number: w.ExternalID, text: w.ExternalOrderID, currency: w.Currency,
		amount: w.Amount, address: w.Address.Text, memo: memoOf(w.Withdrawal), status: w.Current, merchant: w.MerchantID,
		unread: w.Unread,
	}
	if len(w.Statuses) > 0 {
		r.dated = sheet.Shorten(w.Statuses[0].At)
	}
	return r
}

// same reports whether two records are equal apart from their amount and status. The status may change at any
// time, and so may an amount that is shown in another unit than it was sent in.
func (r record) same(o record) bool {
	return r.id == o.id && slices.Equal(r.numbers, o.numbers) && sameCurrency(r.currency, o.currency) &&
		address.Canonical(r.address) == address.Canonical(o.address) &&
		(r.memo == nil) == (o.memo == nil) && (r.memo == nil || *r.memo == *o.memo) && slices.Equal(r.unread, o.unread)
}

func (r record) identical(o record) bool {
	return r.same(o) && sameUnit(r.amount, o.amount) && r.amount.Minor == o.amount.Minor
}

// bearsOnly reports whether a record has this order id and no other.
func (r record) bearsOnly(orderID string) bool {
	return len(r.numbers) == 1 && formatID(r.numbers[0]) == orderID && !r.disagrees()
}

// disagrees reports whether the two fields of the order id name different orders.
func (r record) disagrees() bool {
	text := strings.TrimSpace(r.text)
	return len(r.numbers) > 1 || text != "" && r.number != 0 && strings.Trim(text, "0123456789") != ""
}

func sentAt(o journal.Record) time.Time {
	if o.Sent.IsZero() {
		return o.Changed
	}
	return o.Sent
}

// numbersOf returns the order ids that a record shows, as numbers: none, one, or two if its fields disagree.
// A spelling such as 0002 does not matter, nor does an external_id that has only the last 32 bits.
func numbersOf(w api.Withdrawal) (numbers []int64) {
	text, err := strconv.ParseInt(strings.TrimSpace(w.ExternalOrderID), 10, 64)
	if err == nil && text != 0 {
		numbers = append(numbers, text)
	}
	if n := w.ExternalID; n != 0 && n != text && !slices.Contains(cutTo32(text), n) {
		numbers = append(numbers, n)
	}
	return numbers
}

// cutTo32 returns what is left of a number in 32 bits, with a sign and without; nil: all of it.
func cutTo32(n int64) []int64 {
	if n <= math.MaxInt32 {
		return nil
	}
	return []int64{int64(int32(n)), int64(uint32(n))}
}

// evidence returns what the records with an order's id say about the order.
func evidence(o journal.Record, records []record) journal.Evidence {
	e := journal.Evidence{OrderID: o.OrderID, Withdrawal: records[0].id, Dated: records[0].dated, Content: o.Content}
	var ids []string
	for _, r := range records {
		e.Differs = cmp.Or(e.Differs, differs(o.Order, r))
		if !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	if len(ids) > 1 {
		slices.Sort(ids)
		e.Differs = fmt.Sprintf("%d records bear this order id: %s", len(ids), strings.Join(ids, ", "))
	}
	return e
}

// differs says how a record differs from what was sent; empty: it does not, in any field that can be
// compared. A decision holds while this text is the same, so amounts have the decimals with which the order
// was sent.
func differs(o Order, r record) string {
	c := o.Content
	readable := func(field string) bool { return !slices.Contains(r.unread, field) }
	switch {
	case r.disagrees():
		return fmt.Sprintf("its external_id is %d and its external_order_id %q", r.number, r.text)
	case readable("currency") && !sameCurrency(r.currency, c.Currency):
		return fmt.Sprintf("its currency is %s %s, and not %s %s", r.currency.Kind, r.currency.Code, c.Currency.Kind,
			c.Currency.Code)
	case sameUnit(r.amount, c.Amount) && r.amount.Minor != c.Amount.Minor:
		then := money.NewRegistry().As(c.Amount.Unit(), o.DecimalsSent())
		return fmt.Sprintf("its amount is %s, and not %s", then.Format(r.amount), then.Format(c.Amount))
	case readable("address") && address.Canonical(r.address) != address.Canonical(c.Address):
		return fmt.Sprintf("its address is %q, and not %q", r.address, c.Address)
	case r.memo != nil && readable("memo") && *r.memo != c.Memo:
		return fmt.Sprintf("its memo is %q, and not %q", *r.memo, c.Memo)
	}
	return ""
}

func sameUnit(a, b api.Amount) bool { return sameCurrency(a.Unit(), b.Unit()) }

func sameCurrency(a, b api.Currency) bool {
	return a.Kind == b.Kind && strings.EqualFold(a.Code, b.Code)
}

// memoOf returns the memo of a withdrawal, or nil if it has none. The interface does not list memo among the
// fields of a withdrawal. If the memo is not a string, memoOf returns its JSON text.
func memoOf(w api.Withdrawal) *string {
	raw := w.RawJSON()
	if !bytes.Contains(raw, []byte("memo")) && !bytes.Contains(raw, []byte{'\\'}) { // the name may be escaped
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["memo"] == nil || string(fields["memo"]) == "null" {
		return nil
	}
	memo := string(fields["memo"])
	json.Unmarshal(fields["memo"], &memo)
	return &memo
}
