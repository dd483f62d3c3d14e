package journal

import (
	"context"
	"testing"

	"example.com/till/pkg/payout/order"
)

// A book is an open journal with the record of the shop's account, which what is claimed or decided makes.
type book struct {
	*Journal
	*Ledger
}

func bookOf(j *Journal) *book { return &book{j, j.Ledger(shop)} }

// of returns the record of an account, and in makes the account.
func (b *book) of(a order.Account) *Ledger {
	if a == shop {
		return b.Ledger
	}
	return b.Journal.Ledger(a)
}

func (b *book) in(t testing.TB, a order.Account) *Ledger {
	t.Helper()
	l := b.of(a)
	must(t, l.Enter(t.Context()))
	return l
}

// Rename finds the shop's account again, as a new process has to.
func (b *book) Rename(ctx context.Context, old, to order.Account) error {
	b.Ledger = b.Journal.Ledger(shop)
	return b.Journal.Rename(ctx, old, to)
}

func (b *book) Claim(ctx context.Context, c Claim) (Ticket, error) {
	if err := b.Enter(ctx); err != nil {
		return Ticket{}, err
	}
	return b.Ledger.Claim(ctx, c)
}

func (b *book) Decide(ctx context.Context, d Decision) (Record, error) {
	if err := b.Enter(ctx); err != nil {
		return Record{}, err
	}
	return b.Ledger.Decide(ctx, d)
}

func (b *book) Show(ctx context.Context, id, withdrawal string) error {
	return b.Ledger.Show(ctx, map[string]string{id: withdrawal})
}

func (b *book) Alone(ctx context.Context, run string) error { return b.Ledger.Alone(ctx, run, true) }

// Reap returns how many orders it has changed.
func (b *book) Reap(ctx context.Context) (n int, err error) {
	sending := order.Filter{States: []order.State{order.Sending}}
	count := func(change int) {
		for _, e := range b.Orders(ctx, sending) {
			if n += change; e != nil {
				err = e
			}
		}
	}
	count(1)
	if err == nil {
		err = b.Ledger.Reap(ctx)
	}
	count(-1)
	return n, err
}
