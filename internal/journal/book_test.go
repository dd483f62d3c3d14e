package journal

import (
	"context"
	"iter"
	"sync"

	"example.com/till/pkg/payout/order"
)

// A book is an open journal for tests that name the account in each call. It finds an account's ledger once,
// and makes the account, as a sender does.
type book struct {
	*Journal
	mu      sync.Mutex
	ledgers map[order.Account]*Ledger
}

func bookOf(j *Journal) *book { return &book{Journal: j, ledgers: map[order.Account]*Ledger{}} }

func (b *book) of(ctx context.Context, a order.Account) *Ledger {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[a]
	if l == nil {
		l = &Ledger{j: b.Journal, account: a}
		b.ledgers[a] = l
	}
	return l
}

func (b *book) entered(ctx context.Context, a order.Account) (*Ledger, error) {
	l := b.of(ctx, a)
	return l, l.Enter(ctx)
}

// Rename forgets the ledgers, as a new process would have to find them again.
func (b *book) Rename(ctx context.Context, old, to order.Account) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.ledgers)
	return b.Journal.Rename(ctx, old, to)
}

func (b *book) Claim(ctx context.Context, a order.Account, c Claim) (Ticket, error) {
	l, err := b.entered(ctx, a)
	if err != nil {
		return Ticket{}, err
	}
	return l.Claim(ctx, c)
}

func (b *book) Finish(ctx context.Context, ticket Ticket, out Outcome) (Record, error) {
	return b.of(ctx, shop).Finish(ctx, ticket, out)
}

func (b *book) Settle(ctx context.Context, a order.Account, e Evidence) (Record, error) {
	return b.of(ctx, a).Settle(ctx, e)
}

func (b *book) Show(ctx context.Context, a order.Account, id, withdrawal string) error {
	return b.of(ctx, a).Show(ctx, map[string]string{id: withdrawal})
}

func (b *book) Decide(ctx context.Context, a order.Account, d Decision) (Record, error) {
	l, err := b.entered(ctx, a)
	if err != nil {
		return Record{}, err
	}
	return l.Decide(ctx, d)
}

// Reap returns how many orders it has changed.
func (b *book) Reap(ctx context.Context, a order.Account) (n int, err error) {
	for o, err := range b.Orders(ctx, a, order.Filter{States: []order.State{order.Sending}}) {
		if err != nil {
			return 0, err
		}
		defer func() {
			if now, e := b.Order(ctx, a, o.OrderID); e == nil && now.State != order.Sending {
				n++
			}
		}()
	}
	return 0, b.of(ctx, a).Reap(ctx)
}

func (b *book) Order(ctx context.Context, a order.Account, id string) (Record, error) {
	return b.of(ctx, a).Order(ctx, id)
}

func (b *book) Orders(ctx context.Context, a order.Account, f order.Filter) iter.Seq2[Record, error] {
	return b.of(ctx, a).Orders(ctx, f)
}

func (b *book) Status(ctx context.Context, a order.Account) (AccountStatus, error) {
	return b.of(ctx, a).Status(ctx)
}

func (b *book) Restored(ctx context.Context, a order.Account) (bool, error) {
	return b.of(ctx, a).Restored(ctx)
}

func (b *book) Agree(ctx context.Context, a order.Account) error {
	return b.of(ctx, a).Agree(ctx)
}

func (b *book) NoteKey(ctx context.Context, a order.Account, key, how string) error {
	return b.of(ctx, a).NoteKey(ctx, key, how)
}

func (b *book) NoteService(ctx context.Context, a order.Account, merchant string, k Keeping) error {
	l, err := b.entered(ctx, a)
	if err != nil {
		return err
	}
	return l.NoteService(ctx, merchant, k)
}

func (b *book) BeginRun(ctx context.Context, a order.Account, r Run, rows iter.Seq2[Row, error]) (Run, error) {
	return b.of(ctx, a).BeginRun(ctx, r, rows)
}

func (b *book) Runs(ctx context.Context, a order.Account) ([]Run, error) {
	return b.of(ctx, a).Runs(ctx)
}

func (b *book) Held(ctx context.Context, a order.Account, ids []string) (map[string]Record, error) {
	return b.of(ctx, a).Held(ctx, ids)
}

func (b *book) Paid(ctx context.Context, a order.Account, to []string) (map[string]bool, error) {
	return b.of(ctx, a).Paid(ctx, to)
}

func (b *book) Alone(ctx context.Context, run string) error {
	return b.of(ctx, shop).Alone(ctx, run, true)
}

func (b *book) Sums(ctx context.Context, a order.Account, run string) ([]Sum, error) {
	return b.of(ctx, a).Sums(ctx, run)
}
