package seed

import (
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// A Dump is a whole state as one JSON value. Its lists are in order of creation; invoices and withdrawals are
// grouped by account. It has only hashes of the keys of resellers.
type Dump struct {
	Format      string              `json:"format"`
	Merchant    string              `json:"merchant_id"`
	ClockAhead  int64               `json:"clock_ahead_seconds"`
	Balances    []store.Move        `json:"balances"`
	Invites     []*store.Invite     `json:"invites"`
	Resellers   []*store.Reseller   `json:"resellers"`
	Invoices    []*store.Invoice    `json:"invoices"`
	Withdrawals []*store.Withdrawal `json:"withdrawals"`
	Deliveries  []*store.Delivery   `json:"deliveries"`
	Swaps       []store.Swap        `json:"swaps"`
	Faults      []store.Fault       `json:"faults"`
}

const dumpFormat = "till-sandbox/1"

// DumpOf returns the whole state of a store.
func DumpOf(s *store.Store) (d Dump) {
	d = Dump{Format: dumpFormat, Balances: []store.Move{}, Resellers: []*store.Reseller{}, Invoices: []*store.Invoice{},
		Withdrawals: []*store.Withdrawal{}, Swaps: []store.Swap{}}
	s.Read(func(st *store.State) {
		d.Merchant, d.ClockAhead = st.Merchant, int64(st.Offset/time.Second)
		d.Invites, d.Deliveries = copies(st.InviteOrder), copies(st.DeliveryOrder)
		for _, id := range append([]string{st.Merchant}, st.ResellerIDs...) {
			if r := st.Resellers[id]; r != nil {
				d.Resellers = append(d.Resellers, copies([]*store.Reseller{r})...)
			}
			a := st.Accounts[id]
			for _, b := range []store.Book{store.Balance, store.Volume, store.Rebates} {
				for _, c := range money.Registry {
					if minor := a.Books[store.Line{Book: b, Code: c.Code}]; minor != 0 {
						d.Balances = append(d.Balances, store.Move{Account: id, Book: b, Code: c.Code, Delta: minor})
					}
				}
			}
			d.Invoices = append(d.Invoices, copies(a.Invoices)...)
			d.Withdrawals = append(d.Withdrawals, copies(a.Withdrawals)...)
		}
		d.Swaps = append(d.Swaps, st.Swaps...)
		d.Faults = s.ListFaults()
	})
	return d
}

func copies[R any](records []*R) []*R {
	all := make([]*R, len(records))
	for i, r := range records {
		all[i] = new(*r)
	}
	return all
}

// FromJSON returns the change that begins a state with a seed in JSON.
func (o *Maker) FromJSON(seed []byte) (store.Change, error) {
	ids := o.newIDs(seed)
	d, err := o.readSeed(seed, ids)
	if err != nil {
		return store.Change{}, err
	}
	offset := int64(time.Duration(d.ClockAhead) * time.Second)
	c := store.Change{Begin: &store.Beginning{ID: store.NewUUID(), Merchant: d.Merchant, IDs: ids}, Offset: &offset,
		Swaps: d.Swaps}
	then(&c, d.Invites, func(v *store.Invite) store.Change { return store.Change{Invite: v} })
	then(&c, d.Resellers, func(r *store.Reseller) store.Change { return store.Change{Reseller: r} })
	then(&c, d.Invoices, func(v *store.Invoice) store.Change { return store.Change{Invoice: v} })
	then(&c, d.Withdrawals, func(w *store.Withdrawal) store.Change { return store.Change{Withdrawal: w} })
	then(&c, d.Deliveries, func(v *store.Delivery) store.Change { return store.Change{Delivery: v} })
	c.Then = append(c.Then, store.Change{Moves: d.Balances})
	then(&c, d.Faults, func(f store.Fault) store.Change { return store.Change{Fault: &f} })
	return c, nil
}

func then[R any](c *store.Change, records []R, change func(R) store.Change) {
	for _, r := range records {
		c.Then = append(c.Then, change(r))
	}
}
