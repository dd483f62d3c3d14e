package seed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
)

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

// A demo is the seed of the demo, as it is made.
type demo struct {
	*seedReader // that will read it; now is today, and nothing is later
	lists       map[string][]record
}

type record map[string]any

func (d *demo) add(list string, r record) { d.lists[list] = append(d.lists[list], r) }

func (p *seedReader) demo() []byte {
	d := &demo{p, map[string][]record{}}
	begin := time.Date(d.now.Year(), d.now.Month()-demoMonths, 1, 9, 0, 0, 0, time.UTC)
	for _, s := range demoSellers {
		if s.label != "" {
			d.add("invites", record{"id": d.maker.UUID("sent"), "label": s.label, "created": begin})
			d.add("resellers", record{"id": d.maker.UUID("reseller"), "invite": s.label, "created": begin})
		}
		d.sell(s, begin)
	}
	d.add("invites", record{"id": d.maker.UUID("sent"), "created": d.now.AddDate(0, 0, -1)}) // it is not redeemed
	d.withdrawals()
	text, _ := json.Marshal(d.lists) // plain data
	return text
}

// at returns a time as it is written, but nothing later than today.
func (d *demo) at(t time.Time) string {
	if t.After(d.now) {
		t = d.now
	}
	return t.Format(time.RFC3339)
}

// recent returns the k-th of n times in the last six days, or since the month began if that is later. So a
// report of the last seven days has all of them at any time, and so does one of the current month.
func (d *demo) recent(k, n int) time.Time {
	begin := time.Date(d.now.Year(), d.now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if late := d.now.AddDate(0, 0, -6); late.After(begin) {
		begin = late
	}
	return begin.Add(d.now.Sub(begin) * time.Duration(k) / time.Duration(n))
}

func (d *demo) sell(s demoSeller, begin time.Time) {
	for month := range demoMonths + 1 {
		count := s.perMonth + month
		if month == demoMonths {
			count = s.perMonth
		}
		for n := range count {
			// No month has invoices in its last week: on the first days of the next one, they would be
			// among those of the last seven days.
			at := begin.AddDate(0, month, n*20/count).Add(time.Duration(n%9) * time.Hour)
			if month == demoMonths {
				at = d.recent(n, count)
			}
			d.invoice(cmp.Or(s.label, d.merchant), s.currencies[n%len(s.currencies)], s.cents*int64(1+n+month), n, at)
		}
	}
}

func (d *demo) worth(cents int64, currency string) int64 {
	minor, err := d.Terms.Debit(money.Amount{Code: "Usd", Minor: cents}, currency)
	d.err = cmp.Or(d.err, err)
	return minor
}

// invoice adds an invoice. Of every seven, one keeps waiting and one expires; the others are paid.
func (d *demo) invoice(account, currency string, cents int64, n int, at time.Time) {
	v := record{"id": d.maker.UUID("invoice"), "account": account, "number": 1000 + n, "title": fmt.Sprint("Order ", 1000+n),
		"currency": currency, "items": []record{{"name": "Goods", "amount": d.worth(cents, currency)}}, "created": d.at(at)}
	switch n % 7 {
	case 6:
	case 5:
		v["expired_at"] = d.at(at.Add(24 * time.Hour))
	default:
		v["paid_at"] = d.at(at.Add(20 * time.Minute))
	}
	d.add("invoices", v)
}

// withdrawals adds one withdrawal of the merchant for each status, whatever the settings call it, and then
// one of a reseller, all of them recent.
func (d *demo) withdrawals() {
	flow := &d.Terms.Flow
	amounts := []string{"0.0015 Btc", "25 UsdtTrc20", "0.9 Eth", "0.7 Ltc", "12000 Jpy"}
	statuses := slices.DeleteFunc(slices.Clone(flow.Statuses),
		func(status string) bool { return flow.Way(status) == nil })
	for i, status := range statuses {
		d.withdrawal(record{
			"amount":   amounts[i%len(amounts)],
			"address":  fmt.Sprintf("demo-address-%d", i+1),
			"order_id": strconv.Itoa(4711 + i),
		}, status, d.recent(i, len(statuses)+1))
	}
	status := flow.First
	if next := flow.Next[status]; len(next) > 0 {
		status = next[0]
	}
	code := cmp.Or(d.Terms.PaidIn, "Btc") // it has been paid in it, and more than it withdraws
	d.withdrawal(record{
		"account": demoSellers[1].label,
		"amount":  money.Amount{Code: code, Minor: d.worth(2_500, code)},
		"address": "demo-address-of-a-reseller",
	}, status, d.recent(len(statuses), len(statuses)+1))
}

func (d *demo) withdrawal(w record, status string, at time.Time) {
	var statuses []record
	for i, reached := range d.Terms.Flow.Way(status) {
		statuses = append(statuses, record{"status": reached, "at": d.at(at.Add(time.Duration(i) * 5 * time.Minute))})
	}
	w["statuses"] = statuses
	d.add("withdrawals", w)
}
