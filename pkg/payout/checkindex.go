package payout

import (
	"context"
	"errors"
	"hash/maphash"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A checkIndex has what Compare keeps of each order in the journal: hashes, because whole orders may be too
// many for memory. A record whose hashes are those of its order agrees with it. Any other is compared with
// the order itself, which is read from the journal again.
type checkIndex struct {
	taken  map[uint64]takenOrder // accepted or in conflict, by the hash of their withdrawal's id
	orders map[uint64]struct{}   // hashes of all order ids
}

// takenOrder is an order that has a withdrawal.
type takenOrder struct {
	id      int64
	content uint64 // recordHash; 0: the order is in conflict, or a person has named its withdrawal
	memo    uint64
}

func hashText(text string) uint64 { return maphash.String(hashSeeds[0], text) }

// recordHash returns equal hashes, which are not 0, for an order and for a record of the list that does not
// differ from it, apart from the memo. The record may differ from the order in what is not compared.
func recordHash(orderID string, c journal.Content) uint64 {
	var room [256]byte
	c.Memo = ""
	text := append(appendContent(room[:0], c), orderID...)
	return maphash.Bytes(hashSeeds[0], text) | 1
}

func (s *Sender) checkIndex(ctx context.Context) (*checkIndex, error) {
	index := &checkIndex{taken: map[uint64]takenOrder{}, orders: map[uint64]struct{}{}}
	for o, err := range s.ledger.Orders(ctx, journal.Filter{}) {
		if err != nil {
			return nil, err
		}
		index.orders[hashText(o.OrderID)] = struct{}{}
		if !isTaken(o) {
			continue
		}
		own := takenOrder{id: parseID(o.OrderID), memo: hashText(o.Memo)}
		if o.State == journal.Accepted && o.Decided == nil {
			own.content = recordHash(o.OrderID, o.Content)
		}
		index.taken[hashText(o.Withdrawal)] = own
	}
	return index, nil
}

// isTaken reports whether the service has a withdrawal for an order.
func isTaken(o journal.Order) bool {
	return o.State == journal.Accepted || o.State == journal.Conflict && o.Withdrawal != ""
}

func (x *checkIndex) takes(withdrawal string) bool {
	_, found := x.taken[hashText(withdrawal)]
	return found
}

// agrees reports whether a record surely agrees with its order. If not, they have to be compared.
func (x *checkIndex) agrees(w api.Withdrawal) bool {
	own, found := x.taken[hashText(w.ID)]
	ids := bears(w)
	if !found || own.content == 0 || len(ids) != 1 {
		return false
	}
	shown := contentOf(api.CreateWithdrawal{Currency: w.Currency, Amount: w.Amount, Address: w.Address.Text})
	if recordHash(ids[0], shown) != own.content {
		return false
	}
	memo := memoOf(w)
	return memo == nil || hashText(*memo) == own.memo
}

// order returns the order that has a withdrawal, or false if there is none.
func (x *checkIndex) order(ctx context.Context, l *journal.Ledger, withdrawal string) (journal.Order, bool, error) {
	own, found := x.taken[hashText(withdrawal)]
	if !found {
		return journal.Order{}, false, nil
	}
	o, found, err := orderIfThere(ctx, l, formatID(own.id))
	return o, found && isTaken(o) && o.Withdrawal == withdrawal, err
}

// orderWith returns the order with an order id, or false if there is none.
func (x *checkIndex) orderWith(ctx context.Context, l *journal.Ledger, orderID string) (journal.Order, bool, error) {
	if _, found := x.orders[hashText(orderID)]; !found {
		return journal.Order{}, false, nil
	}
	return orderIfThere(ctx, l, orderID)
}

func orderIfThere(ctx context.Context, l *journal.Ledger, orderID string) (journal.Order, bool, error) {
	o, err := l.Order(ctx, orderID)
	if gone := (*journal.GoneError)(nil); errors.As(err, &gone) {
		return o, false, nil
	}
	return o, err == nil, err
}
