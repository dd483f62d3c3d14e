package sandbox

import (
	"fmt"
	"strconv"
	"time"
)

// seedUnits is how many whole units of each currency a fresh sandbox holds.
const seedUnits = 1_000_000

// begin returns the change that begins a new state, with a seed in it. The seed is
// sown in a server of its own, so that all of it can become one change.
func (s *Server) begin(name string) (change, error) {
	b := beginning{ID: newUUID(), Merchant: newUUID()}
	c := change{Begin: &b}
	draft := &Server{settings: s.settings, clock: s.clock, courier: &courier{}} // which posts nothing
	draft.store.seen = func(next change) { c.Then = append(c.Then, next) }
	draft.store.state = newState(b)
	err := draft.seed(name)
	return c, err
}

func (s *Server) seed(name string) error {
	switch name {
	case "none":
		return nil
	case "":
		return s.seedFunds()
	case "demo":
		if err := s.seedFunds(); err != nil {
			return err
		}
		return s.seedDemo()
	}
	return fmt.Errorf("there is no seed %q; use demo or none, or leave it out for funds in every currency", name)
}

func (s *Server) seedFunds() error {
	for _, c := range s.settings.currencies {
		minor, _ := parseDecimal(strconv.Itoa(seedUnits), s.settings.decimals[c.Code])
		if err := s.Fund(c.Code, minor); err != nil {
			return err
		}
	}
	return nil
}

// The demo: three resellers of different size, and for each of the last six
// months a number of invoices that grows, most of them paid. It is the same
// every time, except for the ids and the day it ends on.
var demoResellers = []struct {
	label      string
	currencies []string
	perMonth   int
	cents      int64 // what the first invoice is worth in Usd; each next one is larger
}{
	{"Harbour Books", []string{"Usd", "Btc"}, 6, 4_900},
	{"Nordlicht Audio", []string{"Eur", "UsdtTrc20"}, 4, 12_500},
	{"Kiosk am Eck", []string{"Eur"}, 2, 900},
}

const demoMonths = 6

func (s *Server) seedDemo() error {
	now := s.now()
	begin := time.Date(now.Year(), now.Month()-demoMonths, 1, 9, 0, 0, 0, time.UTC)
	for _, d := range demoResellers {
		v, err := s.addInvite(newUUID(), begin)
		if err != nil {
			return err
		}
		id, _, err := s.RedeemInvite(v.ID, d.label)
		if err != nil {
			return err
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
	return s.seedWithdrawals(now)
}

// seedInvoice leaves every seventh invoice waiting and lets one expire.
func (s *Server) seedInvoice(account, currency string, cents int64, n int, created time.Time) error {
	number := int64(1000 + n)
	amount, err := s.settings.debit(money{"Usd", cents}, currency)
	if err != nil {
		return err
	}
	v := &invoice{
		ID:       newUUID(),
		Account:  account,
		Number:   &number,
		Title:    fmt.Sprintf("Order %d", number),
		Currency: currency,
		Items:    []item{{"Goods", strconv.FormatInt(amount, 10)}},
		Total:    amount,
		Created:  created,
	}
	if err := s.addInvoice(v); err != nil {
		return err
	}
	switch {
	case n%7 == 6:
		return nil
	case n%7 == 5:
		return s.ExpireInvoice(v.ID)
	}
	return s.payInvoice(v.ID, created.Add(20*time.Minute))
}

// seedWithdrawals makes a few of the merchant's own and moves each a different
// number of steps along the flow, whatever the settings call them.
func (s *Server) seedWithdrawals(now time.Time) error {
	for i, m := range []money{{"Btc", 150_000}, {"UsdtTrc20", 25_000_000}, {"Eth", 900_000_000}, {"Ltc", 70_000_000}} {
		w := &withdrawal{
			ID:       s.settings.newWithdrawalID(),
			Account:  s.store.state.merchant,
			Currency: m.Code,
			Amount:   m,
			Address:  fmt.Sprintf("demo-address-%d", i+1),
			OrderID:  strconv.Itoa(4711 + i),
			Statuses: []reached{{s.settings.flow.first, now.AddDate(0, 0, i-4)}},
		}
		if err := s.addWithdrawal(w); err != nil {
			return err
		}
		status := s.settings.flow.first
		for range i {
			next := s.settings.flow.next[status]
			if len(next) == 0 {
				break
			}
			status = next[0]
			if err := s.AdvanceWithdrawal(w.ID, status); err != nil {
				return err
			}
		}
	}
	return nil
}
