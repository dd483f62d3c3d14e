package payout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// mostReadings is how often the list is read before it is given up, and pauseBetween how long the pause between two is.
const (
	mostReadings = 5
	pauseBetween = time.Second
)

// A reading is what the service's whole list says about the orders that were sought: all records that bear one of their ids.
type reading map[string][]api.Withdrawal

// read goes through the whole list once. It keeps only the records that are sought, so a long list takes no more memory than
// a short one. incomplete says why the reading does not count; empty: it does.
//
// A reading counts when it has seen at least as many withdrawals as the service said there were when it began, and among
// them the one that was accepted last. Rows that shift while it reads can only make it see fewer.
func (b *Book) read(ctx context.Context, sought map[string]bool) (found reading, incomplete string, err error) {
	standing, err := b.Journal.Standing(ctx, b.Account)
	if err != nil {
		return nil, "", err
	}
	newest := ""
	if n := standing.Newest; n != nil && n.Decided != nil && sought[n.OrderID] {
		// It is a person who said that it was accepted, and the question is whether that is so.
	} else if n != nil && (b.SinceTime.IsZero() || sentAt(*n).After(b.SinceTime)) {
		newest = n.Withdrawal
	}
	found = reading{}
	total, seen, hit := int64(-1), int64(0), newest == ""
	options := api.ListOptions{FirstPage: b.FirstPage, OnPage: func(p api.WithdrawalPage) {
		if total < 0 {
			total = p.Total
		}
	}}
	for w, err := range b.Client.Withdrawals.All(ctx, api.WithdrawalFilter{From: b.Since}, options) {
		if err != nil {
			return nil, "", err
		}
		seen++
		hit = hit || w.ID == newest
		for _, id := range bears(w) {
			if sought[id] {
				found[id] = append(found[id], w)
			}
		}
	}
	switch {
	case seen < total:
		incomplete = fmt.Sprintf("the service counts %d withdrawals, and its list showed %d", total, seen)
	case !hit:
		incomplete = fmt.Sprintf("its list did not show withdrawal %s, which it accepted last", newest)
	}
	return found, incomplete, nil
}

func sentAt(o journal.Order) time.Time {
	if o.Sent.IsZero() {
		return o.Changed
	}
	return o.Sent
}

// bears returns the order ids that a record bears: one, or two where its fields disagree.
func bears(w api.Withdrawal) []string {
	ids := []string{w.ExternalOrderID}
	if w.ExternalID != 0 {
		ids = append(ids, strconv.FormatInt(w.ExternalID, 10))
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// look reads until one reading counts.
func (b *Book) look(ctx context.Context, orderIDs []string) (reading, error) {
	return b.readings(ctx, orderIDs, func(_, _ reading) bool { return true })
}

// lookTwice reads until two readings that count, one after the other, agree about the orders that are sought.
func (b *Book) lookTwice(ctx context.Context, orderIDs []string) (reading, error) {
	return b.readings(ctx, orderIDs, func(before, now reading) bool { return before != nil && agree(before, now) })
}

func (b *Book) readings(ctx context.Context, orderIDs []string, enough func(before, now reading) bool) (reading, error) {
	sought := map[string]bool{}
	for _, id := range orderIDs {
		sought[id] = true
	}
	why := "two readings of its list never agreed"
	var before reading
	for n := range mostReadings {
		if n > 0 && before == nil {
			if err := b.pause(ctx); err != nil {
				return nil, err
			}
		}
		now, incomplete, err := b.read(ctx, sought)
		if err != nil {
			return nil, err
		}
		if incomplete != "" {
			why, before = incomplete, nil
			continue
		}
		if enough(before, now) {
			return now, nil
		}
		before = now
	}
	return nil, &Error{Kind: ReadFailed, Msg: fmt.Sprintf("the service's list could not be read as a whole in %d readings: %s", mostReadings, why), Hint: "run it again when fewer withdrawals are being made"}
}

func (b *Book) pause(ctx context.Context) error {
	if b.Pause != nil {
		return b.Pause(ctx, pauseBetween)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pauseBetween):
		return nil
	}
}

// agree reports whether two readings found the same records, each with the same content.
func agree(a, b reading) bool {
	return maps.EqualFunc(a, b, func(a, b []api.Withdrawal) bool {
		return slices.EqualFunc(sorted(a), sorted(b), func(a, b api.Withdrawal) bool {
			return a.ID == b.ID && a.Currency == b.Currency && a.Amount == b.Amount && a.Address.Text == b.Address.Text && slices.Equal(bears(a), bears(b))
		})
	})
}

func sorted(list []api.Withdrawal) []api.Withdrawal {
	return slices.SortedFunc(slices.Values(list), func(a, b api.Withdrawal) int { return strings.Compare(a.ID, b.ID) })
}

// finding is what the records that bear an order's id say about it.
func finding(orderID string, content journal.Content, records []api.Withdrawal) journal.Finding {
	w := records[0]
	f := journal.Finding{OrderID: orderID, Withdrawal: w.ID, Content: content}
	if len(records) > 1 {
		var ids []string
		for _, r := range records {
			ids = append(ids, r.ID)
		}
		f.Differs = fmt.Sprintf("%d records bear this order id: %s", len(records), strings.Join(ids, ", "))
		return f
	}
	f.Differs = differs(content, w)
	return f
}

// differs says in what a record is not what was sent; empty: in nothing that can be compared.
func differs(c journal.Content, w api.Withdrawal) string {
	if len(bears(w)) > 1 {
		return fmt.Sprintf("its external_id is %d and its external_order_id %q", w.ExternalID, w.ExternalOrderID)
	}
	currency, sent := Currency(c.Currency), Amount(c)
	switch {
	case w.Currency.Kind != currency.Kind || !strings.EqualFold(w.Currency.Code, currency.Code):
		return fmt.Sprintf("its currency is %s, and %s was sent", w.Currency.Code, currency.Code)
	case sameUnit(w.Amount, sent) && w.Amount.Minor != sent.Minor:
		return fmt.Sprintf("its amount is %d %s, and %d was sent (minor units)", w.Amount.Minor, w.Amount.Code, sent.Minor)
	case w.Address.Text != c.Address:
		return fmt.Sprintf("its address is %q, and %q was sent", w.Address.Text, c.Address)
	}
	if memo, shown := memoOf(w); shown && memo != c.Memo {
		return fmt.Sprintf("its memo is %q, and %q was sent", memo, c.Memo)
	}
	return ""
}

// uncompared says what of a record could not be held against what was sent; empty: nothing.
func uncompared(c journal.Content, w api.Withdrawal) string {
	if sent := Amount(c); !sameUnit(w.Amount, sent) {
		return fmt.Sprintf("the service shows the amount as %d %s, and %d %s was sent (minor units): the two cannot be compared", w.Amount.Minor, w.Amount.Code, sent.Minor, sent.Code)
	}
	return ""
}

func sameUnit(a, b api.Amount) bool { return a.Kind == b.Kind && strings.EqualFold(a.Code, b.Code) }

// memoOf returns the memo of a record, which the interface does not name as one of its fields, where it has one.
func memoOf(w api.Withdrawal) (memo string, shown bool) {
	var fields struct {
		Memo *string `json:"memo"`
	}
	if json.Unmarshal(w.RawJSON(), &fields) != nil || fields.Memo == nil {
		return "", false
	}
	return *fields.Memo, true
}
