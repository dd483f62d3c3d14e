package seed

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

const seedUnits = 1_000_000

// A Maker makes the first change of a state from a seed.
type Maker struct {
	Terms       *store.Terms
	Clock       func() time.Time // the machine's
	MerchantKey store.KeyHash
	CheckKey    func(key string) error // returns an error for an invalid key of a reseller
	Operations  []string               // the operations that faults can name
	SeededIDs   bool                   // each seed has the same ids every time
}

// newIDs returns the maker of the ids of a state that begins with a seed. The ids depend on the seed, so that
// those of a dump do not come again.
func (o *Maker) newIDs(seed []byte) *store.IDs {
	if !o.SeededIDs {
		return store.NewIDs("")
	}
	return store.NewIDs(fmt.Sprintf("%x", sha256.Sum256(seed)))
}

// Named returns the change that begins a new state with a named seed. It fills a separate store with the
// seed, so that everything becomes one change.
func (o *Maker) Named(name string) (store.Change, error) {
	ids := o.newIDs([]byte(name))
	b := store.Beginning{ID: store.NewUUID(), Merchant: ids.UUID("merchant"), IDs: ids}
	c := store.Change{Begin: &b}
	p := &planter{merchant: b.Merchant, now: o.Clock()}
	terms := *o.Terms
	terms.Pace, terms.InvoiceExpiry = nil, 0 // the clock changes nothing
	p.Store = store.New(&terms, func() time.Time { return p.now },
		func(*store.State, *store.Withdrawal) (*store.Delivery, []store.Change) { return nil, nil })
	p.check(p.Begin(c, &terms, func() {}))
	p.Made = func(next store.Change) { c.Then = append(c.Then, next) }
	switch name {
	case "none":
	case "":
		p.fund()
	case "demo":
		p.fund()
		p.demo()
	default:
		p.err = fmt.Errorf("there is no seed %q; use demo or none, or leave it out for funds in every currency", name)
	}
	return c, p.err
}

type planter struct {
	*store.Store
	merchant string
	now      time.Time // the store's clock, which the planter sets
	today    time.Time // when the seed is made; the demo has nothing later
	err      error     // the first one; the store is of no use then
}

func (s *planter) check(err error) { s.err = cmp.Or(s.err, err) }

func (s *planter) fund() {
	for _, c := range s.Terms().Currencies {
		s.check(s.Fund(c.Code, freshFunds(c)))
	}
}

func freshFunds(c money.Currency) int64 {
	minor, _ := money.ParseDecimal(strconv.Itoa(seedUnits), c.Decimals)
	return minor
}

type demoSeller struct {
	label      string // "": the merchant itself
	currencies []string
	perMonth   int
	cents      int64 // value of the first invoice in Usd; later ones are larger
}

// demoSellers describes the demo: a shop with four resellers of different sizes. In each of the six months
// before the current one the number of invoices grows; most are paid. The current month has perMonth invoices
// of each seller, in its last days. The counts and the amounts are the same at every time, and the dates
// follow from it.
var demoSellers = []demoSeller{
	{"", []string{"Usd", "Eur", "Btc", "Jpy"}, 3, 2_500},
	{"Harbour Books", []string{"Usd", "Btc"}, 6, 4_900},
	{"Nordlicht Audio", []string{"Eur", "UsdtTrc20"}, 4, 12_500},
	{"Kiosk am Eck", []string{"Eur"}, 2, 900},
	{"東京文具店", []string{"Jpy", "Eth"}, 3, 1_800},
}

const demoMonths = 6 // before the current one

// recent returns the k-th of n times in the last six days, or since the month began if that is later. So a
// report of the last seven days has all of them at any time, and so does one of the current month.
func (s *planter) recent(k, n int) time.Time {
	begin := time.Date(s.today.Year(), s.today.Month(), 1, 0, 0, 0, 0, time.UTC)
	if late := s.today.AddDate(0, 0, -6); late.After(begin) {
		begin = late
	}
	return begin.Add(s.today.Sub(begin) * time.Duration(k) / time.Duration(n))
}

// wait moves the clock forward, but not beyond today.
func (s *planter) wait(d time.Duration) {
	if s.now = s.now.Add(d); s.now.After(s.today) {
		s.now = s.today
	}
}

func (s *planter) demo() {
	s.today = s.Now()
	begin := time.Date(s.today.Year(), s.today.Month()-demoMonths, 1, 9, 0, 0, 0, time.UTC)
	first := "" // id of the first reseller
	for _, d := range demoSellers {
		id := s.merchant
		if d.label != "" {
			s.now = begin
			var err error
			id, err = s.RedeemInvite(s.invite(), d.label, store.HashKey(s.IDs().Text("key")))
			s.check(err)
			first = cmp.Or(first, id)
		}
		s.sell(id, d, begin)
	}
	s.now = s.today.AddDate(0, 0, -1)
	s.invite() // this one is not redeemed
	s.withdrawals(first)
}

func (s *planter) invite() string {
	v, err := s.AddInvite(s.IDs().UUID("sent"))
	s.check(err)
	return v.ID
}

func (s *planter) sell(account string, d demoSeller, begin time.Time) {
	for month := range demoMonths + 1 {
		count := d.perMonth + month
		if month == demoMonths {
			count = d.perMonth
		}
		for n := range count {
			// No month has invoices in its last week: on the first days of the next one, they would be
			// among those of the last seven days.
			s.now = begin.AddDate(0, month, n*20/count).Add(time.Duration(n%9) * time.Hour)
			if month == demoMonths {
				s.now = s.recent(n, count)
			}
			s.invoice(account, d.currencies[n%len(d.currencies)], d.cents*int64(1+n+month), n)
		}
	}
}

func (s *planter) worth(cents int64, currency string) int64 {
	minor, err := s.Terms().Debit(money.Amount{Code: "Usd", Minor: cents}, currency)
	s.check(err)
	return minor
}

// invoice adds an invoice. Of every seven, one keeps waiting and one expires; the others are paid.
func (s *planter) invoice(account, currency string, cents int64, n int) {
	number, amount := int64(1000+n), s.worth(cents, currency)
	v := &store.Invoice{
		ID:       s.IDs().UUID("invoice"),
		Account:  account,
		Number:   &number,
		Title:    fmt.Sprintf("Order %d", number),
		Currency: currency,
		Items:    []store.Item{{Name: "Goods", Amount: strconv.FormatInt(amount, 10)}},
		Total:    amount,
	}
	s.check(s.AddInvoice(v))
	switch n % 7 {
	case 6:
	case 5:
		s.wait(24 * time.Hour)
		s.check(s.ExpireInvoice(v.ID))
	default:
		s.wait(20 * time.Minute)
		s.check(s.Pay(v.ID, "never"))
	}
}

// withdrawals adds one withdrawal of the merchant for each status, whatever the settings call it, and then
// one of a reseller, all of them recent.
func (s *planter) withdrawals(reseller string) {
	flow := &s.Terms().Flow
	amounts := []money.Amount{{Code: "Btc", Minor: 150_000}, {Code: "UsdtTrc20", Minor: 25_000_000},
		{Code: "Eth", Minor: 900_000_000}, {Code: "Ltc", Minor: 70_000_000}, {Code: "Jpy", Minor: 12_000}}
	statuses := slices.DeleteFunc(slices.Clone(flow.Statuses),
		func(status string) bool { return flow.Way(status) == nil })
	for i, status := range statuses {
		s.now = s.recent(i, len(statuses)+1)
		s.withdrawal(&store.Withdrawal{
			Account: s.merchant,
			Amount:  amounts[i%len(amounts)],
			Address: fmt.Sprintf("demo-address-%d", i+1),
			OrderID: strconv.Itoa(4711 + i),
		}, status)
	}
	s.now = s.recent(len(statuses), len(statuses)+1)
	status := flow.First
	if next := flow.Next[status]; len(next) > 0 {
		status = next[0]
	}
	s.withdrawal(&store.Withdrawal{
		Account: reseller,
		Amount:  money.Amount{Code: "Btc", Minor: s.worth(2_500, "Btc")}, // less than its first invoice in Btc
		Address: "demo-address-of-a-reseller",
	}, status)
}

func (s *planter) withdrawal(w *store.Withdrawal, status string) {
	w.ID, w.Currency = s.IDs().Withdrawal(s.Terms().IDFormat), w.Amount.Code
	s.check(s.AddWithdrawal(w))
	for _, next := range s.Terms().Flow.Way(status)[1:] {
		s.wait(5 * time.Minute)
		_, err := s.Advance(w.ID, next)
		s.check(err)
	}
}
