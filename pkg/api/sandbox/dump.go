package sandbox

import (
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
)

// A dump is a whole state as one JSON value. Lists are in the order in which
// their records were made. Keys of resellers are in it as hashes only.
type dump struct {
	Format      string        `json:"format"`
	Merchant    string        `json:"merchant_id"`
	ClockAhead  int64         `json:"clock_ahead_seconds"`
	Balances    []move        `json:"balances"`
	Invites     []*invite     `json:"invites"`
	Resellers   []*reseller   `json:"resellers"`
	Invoices    []*invoice    `json:"invoices"`
	Withdrawals []*withdrawal `json:"withdrawals"`
	Deliveries  []*delivery   `json:"deliveries"`
	Swaps       []swap        `json:"swaps"`
	Faults      []fault       `json:"faults"`
}

const dumpFormat = "till-sandbox/1"

// dumpOf is the whole state of a store.
func dumpOf(s *store) (d dump) {
	d = dump{Format: dumpFormat, Balances: []move{}, Invites: []*invite{}, Resellers: []*reseller{}, Invoices: []*invoice{}, Withdrawals: []*withdrawal{}, Deliveries: []*delivery{}, Swaps: []swap{}}
	s.read(func(st *state) {
		d.Merchant, d.ClockAhead = st.merchant, int64(st.offset/time.Second)
		for _, v := range st.inviteOrder {
			d.Invites = append(d.Invites, copied(v))
		}
		for _, id := range append([]string{st.merchant}, st.resellerIDs...) {
			if r := st.resellers[id]; r != nil {
				d.Resellers = append(d.Resellers, copied(r))
			}
			a := st.accounts[id]
			for _, b := range []book{balance, volume, rebates} {
				for _, c := range money.Registry {
					if minor := a.books[line{b, c.Code}]; minor != 0 {
						d.Balances = append(d.Balances, move{id, b, c.Code, minor})
					}
				}
			}
			for _, v := range a.invoices {
				d.Invoices = append(d.Invoices, copied(v))
			}
			for _, w := range a.withdrawals {
				d.Withdrawals = append(d.Withdrawals, copied(w))
			}
		}
		for _, v := range st.deliveryOrder {
			free := copied(v)
			free.Holder, free.Until = "", time.Time{}
			d.Deliveries = append(d.Deliveries, free)
		}
		d.Swaps = append(d.Swaps, st.swaps...)
		d.Faults = s.listFaults()
	})
	return d
}

func copied[R any](r *R) *R { kept := *r; return &kept }

// fromJSON is the change that begins a state with such a seed in it.
func (o *seedOptions) fromJSON(seed []byte) (change, error) {
	d, err := o.readSeed(seed)
	if err != nil {
		return change{}, err
	}
	offset := int64(time.Duration(d.ClockAhead) * time.Second)
	c := change{Begin: &beginning{newUUID(), d.Merchant}, Offset: &offset, Swaps: d.Swaps}
	for _, v := range d.Invites {
		c.Then = append(c.Then, change{Invite: v})
	}
	for _, r := range d.Resellers {
		c.Then = append(c.Then, change{Reseller: r})
	}
	for _, v := range d.Invoices {
		c.Then = append(c.Then, change{Invoice: v})
	}
	for _, w := range d.Withdrawals {
		c.Then = append(c.Then, change{Withdrawal: w})
	}
	for _, v := range d.Deliveries {
		c.Then = append(c.Then, change{Delivery: v})
	}
	c.Then = append(c.Then, change{Moves: d.Balances})
	for _, f := range d.Faults {
		c.Then = append(c.Then, change{Fault: &f})
	}
	return c, nil
}
