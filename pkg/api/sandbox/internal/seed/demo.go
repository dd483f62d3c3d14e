package seed

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// seedUnits is how many whole units of each currency a fresh sandbox holds.
const seedUnits = 1_000_000

// Maker are what a seed depends on besides itself.
type Maker struct {
	Terms       *store.Terms
	Clock       func() time.Time // the machine's
	MerchantKey store.KeyHash
	CheckKey    func(key string) error // says what is wrong with a reseller's key
	Operations  []string               // that a fault can be for
}

// Named returns the change that begins a new state, with a seed in it. The seed is
// sown in a store of its own, so that all of it can become one change.
func (o *Maker) Named(name string) (store.Change, error) {
	b := store.Beginning{ID: store.NewUUID(), Merchant: store.NewUUID()}
	c := store.Change{Begin: &b}
	p := planter{store.NewDraft(o.Terms, o.Clock, b, func(next store.Change) { c.Then = append(c.Then, next) }), b.Merchant}
	err := p.seed(name)
	return c, err
}

// A planter fills a store with what a named seed holds.
type planter struct {
	*store.Store
	merchantID string
}

func (s planter) seed(name string) error {
	switch name {
	case "none":
		return nil
	case "", "demo":
		for _, c := range s.Terms.Currencies {
			if err := s.Fund(c.Code, freshFunds(c)); err != nil {
				return err
			}
		}
		if name == "" {
			return nil
		}
		return s.seedDemo()
	}
	return fmt.Errorf("there is no seed %q; use demo or none, or leave it out for funds in every currency", name)
}

func freshFunds(c money.Currency) int64 {
	minor, _ := money.ParseDecimal(strconv.Itoa(seedUnits), c.Decimals)
	return minor
}

// The demo: a shop with four resellers of different size, and for each of the last
// six months a number of invoices that grows, most of them paid. It is the same
// every time, except for the ids and the day it ends on.
var demoSellers = []struct {
	label      string // "": the merchant itself
	currencies []string
	perMonth   int
	cents      int64 // what the first invoice is worth in Usd; each next one is larger
}{
	{"", []string{"Usd", "Eur", "Btc", "Jpy"}, 3, 2_500},
	{"Harbour Books", []string{"Usd", "Btc"}, 6, 4_900},
	{"Nordlicht Audio", []string{"Eur", "UsdtTrc20"}, 4, 12_500},
	{"Kiosk am Eck", []string{"Eur"}, 2, 900},
	{"東京文具店", []string{"Jpy", "Eth"}, 3, 1_800},
}

const demoMonths = 6

func (s planter) seedDemo() error {
	now := s.Now()
	begin := time.Date(now.Year(), now.Month()-demoMonths, 1, 9, 0, 0, 0, time.UTC)
	first := "" // of the resellers
	for _, d := range demoSellers {
		id := s.merchantID
		if d.label != "" {
			v, err := s.AddInvite(store.NewUUID(), begin)
			if err != nil {
				return err
			}
			if id, err = s.RedeemInvite(v.ID, d.label, store.HashKey(rand.Text()), begin); err != nil {
				return err
			}
			first = cmp.Or(first, id)
		}
		for month := range demoMonths {
			for n := range d.perMonth + month {
				created := begin.AddDate(0, month, n*26/(d.perMonth+month)).Add(time.Duration(n%9) * time.Hour)
				if err := s.seedInvoice(id, d.currencies[n%len(d.currencies)], d.cents*int64(1+n+month), n, created); err != nil {
					return err
				}
			}
		}
	}
	if _, err := s.AddInvite(store.NewUUID(), now.AddDate(0, 0, -1)); err != nil { // this one is not redeemed
		return err
	}
	return s.seedWithdrawals(now, first)
}

// seedInvoice leaves every seventh invoice waiting and lets one expire.
func (s planter) seedInvoice(account, currency string, cents int64, n int, created time.Time) error {
	number := int64(1000 + n)
	amount, err := s.Terms.Debit(money.Amount{Code: "Usd", Minor: cents}, currency)
	if err != nil {
		return err
	}
	v := &store.Invoice{
		ID:       store.NewUUID(),
		Account:  account,
		Number:   &number,
		Title:    fmt.Sprintf("Order %d", number),
		Currency: currency,
		Items:    []store.Item{{Name: "Goods", Amount: strconv.FormatInt(amount, 10)}},
		Total:    amount,
		Created:  created,
	}
	if err := s.AddInvoice(v); err != nil {
		return err
	}
	switch {
	case n%7 == 6:
		return nil
	case n%7 == 5:
		return s.ExpireInvoice(v.ID, created.AddDate(0, 0, 1))
	}
	return s.PayInvoice(v.ID, created.Add(20*time.Minute))
}

// seedWithdrawals makes one of the merchant's own for each status, whatever the
// settings call it, and one of a reseller, each a day after the one before.
func (s planter) seedWithdrawals(now time.Time, reseller string) error {
	amounts := []money.Amount{{Code: "Btc", Minor: 150_000}, {Code: "UsdtTrc20", Minor: 25_000_000}, {Code: "Eth", Minor: 900_000_000}, {Code: "Ltc", Minor: 70_000_000}, {Code: "Jpy", Minor: 12_000}}
	statuses := slices.DeleteFunc(slices.Clone(s.Terms.Flow.Statuses), func(status string) bool { return s.Terms.Flow.Way(status) == nil })
	for i, status := range statuses {
		w := &store.Withdrawal{
			Account:  s.merchantID,
			Amount:   amounts[i%len(amounts)],
			Address:  fmt.Sprintf("demo-address-%d", i+1),
			OrderID:  strconv.Itoa(4711 + i),
			Statuses: []store.Reached{{Status: s.Terms.Flow.First, At: now.AddDate(0, 0, i-len(statuses)-1)}},
		}
		if err := s.seedWithdrawal(w, status); err != nil {
			return err
		}
	}
	paidOut, err := s.Terms.Debit(money.Amount{Code: "Usd", Minor: 2_500}, "Btc") // less than its first invoice in it
	if err != nil {
		return err
	}
	w := &store.Withdrawal{
		Account:  reseller,
		Amount:   money.Amount{Code: "Btc", Minor: paidOut},
		Address:  "demo-address-of-a-reseller",
		Statuses: []store.Reached{{Status: s.Terms.Flow.First, At: now.AddDate(0, 0, -1)}},
	}
	status := s.Terms.Flow.First
	if next := s.Terms.Flow.Next[status]; len(next) > 0 {
		status = next[0]
	}
	return s.seedWithdrawal(w, status)
}

// seedWithdrawal brings a withdrawal to a status, with five minutes for each step.
func (s planter) seedWithdrawal(w *store.Withdrawal, status string) error {
	w.ID, w.Currency = s.Terms.NewWithdrawalID(), w.Amount.Code
	if err := s.AddWithdrawal(w); err != nil {
		return err
	}
	at := w.MadeAt()
	for _, next := range s.Terms.Flow.Way(status)[1:] {
		at = at.Add(5 * time.Minute)
		if _, err := s.Advance(w.ID, next, at); err != nil {
			return err
		}
	}
	return nil
}
