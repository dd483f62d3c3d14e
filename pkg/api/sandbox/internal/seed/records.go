package seed

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/fault"
	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// delivery reads a delivery, which usually comes from a dump, as it is.
func (p *seedReader) delivery(in *wire.Object) {
	var v store.Delivery
	if in.Into(&v); p.err != nil {
		return
	}
	v.ID = p.id(in, "id")
	switch {
	case p.byID[v.Withdrawal] == nil:
		in.FailAt("withdrawal", "is %q, which is not the id of a withdrawal here", refusal.Shorten(v.Withdrawal))
	case !json.Valid([]byte(v.Body)):
		in.FailAt("body", "is not JSON")
	case !slices.Contains(store.DeliveryStates, v.State):
		in.FailAt("state", "is %q, which there is not", refusal.Shorten(v.State))
	}
	p.add(store.Change{Delivery: &v})
}

func (p *seedReader) fault(in *wire.Object) {
	var f store.Fault
	if in.Into(&f); p.err != nil {
		return
	}
	if n, ok := money.ParseInteger(f.ID); !ok || n <= 0 {
		in.FailAt("id", "is %q; it must be a number above 0", refusal.Shorten(f.ID))
	}
	p.unique(in, "id", "fault "+f.ID)
	f, err := fault.Check(f, p.Operations)
	if err != nil {
		in.FailAt("", "is wrong: %v", err)
	}
	p.add(store.Change{Fault: &f})
}

func (p *seedReader) invite(in *wire.Object) {
	v := &store.Invite{ID: p.id(in, "id"), Label: p.label(in, fmt.Sprintf("Invite %d", p.nth)),
		Created: p.time(in, "created", p.now)}
	var is struct {
		Redeemed bool `json:"redeemed"`
	}
	in.Into(&is)
	v.Redeemed = is.Redeemed
	p.addInvite(v)
}

func (p *seedReader) addInvite(v *store.Invite) {
	p.add(store.Change{Invite: v})
	byLabel(p.invites, v.ID, v.Label, v)
}

func (p *seedReader) reseller(in *wire.Object) {
	r := &store.Reseller{ID: p.id(in, "id"), Label: p.label(in, fmt.Sprintf("Reseller %d", p.nth)),
		Created: p.time(in, "created", p.now)}
	if in.Has("invite") {
		name := wire.Lower(in.Text("invite"))
		v := p.invites[name]
		if v == nil {
			in.FailAt("invite", "is %q, which is not the id of an invite here, nor the label of one only",
				refusal.Shorten(name))
			return
		}
		if !in.Has("label") {
			r.Label = v.Label
		}
		r.Invite, v.Redeemed = v.ID, true
	} else {
		r.Invite = p.maker.UUID("invite")
		p.addInvite(&store.Invite{ID: r.Invite, Label: r.Label, Created: r.Created, Redeemed: true})
	}
	p.key(in, r)
	p.add(store.Change{Reseller: r})
	byLabel(p.accounts, r.ID, r.Label, r.ID)
}

// key reads a reseller's key, or its hash from a dump. Without either, it sets the hash of an unknown random
// key.
func (p *seedReader) key(in *wire.Object, r *store.Reseller) {
	at := "api_key"
	switch {
	case in.Has("key"):
		at = "key"
		r.Key = store.KeyHash(strings.ToLower(in.Text("key")))
		if hash, err := hex.DecodeString(string(r.Key)); err != nil || len(hash) != sha256.Size {
			in.FailAt("key",
				"is not the SHA-256 hash of a key in hexadecimal; leave it out, or give the key itself as api_key")
		}
	case in.Has("api_key"):
		key := in.Text("api_key")
		if err := p.CheckKey(key); err != nil {
			in.FailAt("api_key", "cannot be used: %v", err)
		}
		r.Key = store.HashKey(key)
	default:
		r.Key = store.HashKey(p.maker.Text("key"))
	}
	if p.taken[string(r.Key)] {
		in.FailAt(at, "is not this reseller's alone; give each one a key of its own")
	}
	p.taken[string(r.Key)] = true
}

func (p *seedReader) invoice(in *wire.Object) {
	v := &store.Invoice{ID: p.id(in, "id"), Account: p.account(in),
		Title:   in.TextOr("title", fmt.Sprintf("Invoice %d", p.nth)),
		OrderID: wire.Optional(in, "order_id", func(string) string { return orderID(in) }),
		Number:  wire.Optional(in, "number", in.Integer), Callback: in.URLOr("callback", "")}
	p.items(in, v)
	p.phase(in, v)
	if p.err != nil {
		return
	}
	p.add(store.Change{Invoice: v})
	if v.Phase == store.Paid {
		got := v.Payment()
		p.book(v.Account, store.Balance, got.Code, got.Minor)
		p.book(v.Account, store.Volume, got.Code, got.Minor)
		p.book(v.Account, store.Rebates, got.Code, v.Rebate)
	}
}

// items reads what an invoice is for, in one currency: items, their total, or both.
func (p *seedReader) items(in *wire.Object, v *store.Invoice) {
	if in.Has("currency") {
		v.Currency = p.code(in, "currency")
	}
	positive := func(in *wire.Object, key string) int64 {
		m := p.positive(in, key, "")
		if v.Currency = cmp.Or(v.Currency, m.Code); m.Code != "" && m.Code != v.Currency {
			in.FailAt(key, "is in %s, and the invoice in %s", m.Code, v.Currency)
		}
		return m.Minor
	}
	listed := in.Has("items")
	if listed && len(in.Array("items")) == 0 && !p.whole {
		in.FailAt("items", "is empty; leave it out, or name at least one")
	}
	v.Items = []store.Item{}
	p.each(in, "items", "name amount", func(one *wire.Object) {
		name, minor := one.Text("name"), positive(one, "amount")
		if v.Total > math.MaxInt64-minor {
			in.FailAt("items", "add up to more than an int64 of minor units can hold")
		}
		v.Total += minor
		v.Items = append(v.Items, store.Item{Name: name, Amount: strconv.FormatInt(minor, 10)})
	})
	if !listed {
		v.Total = positive(in, "total")
		v.Items = append(v.Items, store.Item{Name: v.Title, Amount: strconv.FormatInt(v.Total, 10)})
	} else if len(v.Items) > 0 && in.Has("total") {
		if total := positive(in, "total"); total != v.Total {
			in.FailAt("total", "is %d minor units, and the items add up to %d", total, v.Total)
		}
	}
	if v.Currency == "" {
		in.FailAt("currency", "is missing, and no amount names one")
	}
}

// givenPhase reads the phase of an invoice, from its status or, in a dump, from its number.
func (p *seedReader) givenPhase(in *wire.Object) (phase store.InvoicePhase) {
	statuses := p.Terms.InvoiceStatuses[:]
	switch {
	case in.Has("status") && in.Has("phase"):
		in.FailAt("status", "and phase say the same; leave one out")
	case in.Has("status"):
		status := in.Text("status")
		if phase = store.InvoicePhase(slices.Index(statuses, status)); phase < 0 {
			in.FailAt("status", "is %q; it must be %s", refusal.Shorten(status), strings.Join(statuses, " or "))
		}
	case in.Has("phase"):
		n := in.Integer("phase")
		if phase = store.InvoicePhase(n); n < int64(store.Awaiting) || n > int64(store.Expired) {
			in.FailAt("phase", "is %d; it must be 0 (waits for payment), 1 (paid) or 2 (expired)", n)
		}
	case in.Has("paid_at"):
		return store.Paid
	case in.Has("expired_at"):
		return store.Expired
	}
	return phase
}

func (p *seedReader) phase(in *wire.Object, v *store.Invoice) {
	v.Phase = p.givenPhase(in)
	isPaid := v.Phase == store.Paid
	of := map[string]store.InvoicePhase{"paid_at": store.Paid, "paid": store.Paid, "expired_at": store.Expired}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if in.Has(key) && v.Phase != of[key] {
			in.FailAt(key, "belongs to an invoice that is %s only", p.Terms.InvoiceStatuses[of[key]])
		}
	}
	v.ExpiredAt = p.time(in, "expired_at", time.Time{})
	v.FailedAt = p.time(in, "failed_at", time.Time{})
	v.Created = p.time(in, "created",
		p.time(in, "paid_at", p.time(in, "expired_at", p.time(in, "failed_at", p.now))))
	if p.err != nil {
		return
	}
	earns := isPaid && v.Account != p.merchant
	if isPaid {
		v.PaidAt = p.time(in, "paid_at", v.Created)
	}
	switch {
	case in.Has("paid"):
		v.Paid = p.positive(in, "paid", v.Currency)
	case isPaid && !p.whole:
		var err error
		if v.Paid, err = p.Terms.Paid(v); err != nil {
			in.FailAt("", "%v", err)
		}
	}
	if earns && !p.whole {
		v.Rebate = p.Terms.Rebate(v.Payment().Minor)
	}
	v.Rebate = in.IntegerOr("rebate", v.Rebate)
	if v.Rebate < 0 || v.Rebate > v.Payment().Minor || v.Rebate > 0 && !earns {
		in.FailAt("rebate",
			"is %d; it must be a part of the total, of an invoice that is paid and a reseller's", v.Rebate)
	}
}

func (p *seedReader) withdrawal(in *wire.Object) {
	w := &store.Withdrawal{Account: p.account(in), Address: in.Text("address"), Memo: in.TextOr("memo", ""),
		Callback: in.URLOr("callback", "")}
	if in.Has("id") { // any text, because of the setting id_format
		w.ID = p.unique(in, "id", wire.Lower(in.Text("id")))
	} else {
		w.ID = p.maker.Withdrawal(p.Terms.IDFormat)
	}
	if in.Has("currency") {
		w.Currency = p.code(in, "currency")
	}
	w.Amount = p.positive(in, "amount", w.Currency)
	w.Currency = cmp.Or(w.Currency, w.Amount.Code)
	switch c := money.ByCode[w.Amount.Code]; {
	case w.Currency == "":
		in.FailAt("currency", "is missing, and the amount names none")
	case c.Kind == money.Crypto && c.Code != w.Currency:
		in.FailAt("amount", "is in %s, and the withdrawal in %s; give the amount in %[2]s or in a fiat currency",
			c.Code, w.Currency)
	}
	if in.Has("order_id") {
		w.OrderID = orderID(in)
		if _, ok := wire.OrderNumber(w.OrderID); p.Terms.OrderIDFormat == "digits" && !p.whole && !ok {
			in.FailAt("order_id", "is %q; it must be of digits without leading zeros and fit in an int64",
				refusal.Shorten(w.OrderID))
		}
	}
	p.statuses(in, w)
	if p.err != nil {
		return
	}
	if in.Has("debit") {
		w.Debit = p.positive(in, "debit", w.Currency).Minor
		if w.Amount.Code == w.Currency && w.Debit != w.Amount.Minor {
			in.FailAt("debit", "is %d minor units, and the amount, in the same currency, %d", w.Debit, w.Amount.Minor)
		}
	} else if debit, err := p.Terms.Debit(w.Amount, w.Currency); err != nil {
		in.FailAt("amount", "is worth more than an int64 of minor units of %s can hold", w.Currency)
	} else {
		w.Debit = debit
	}
	p.add(store.Change{Withdrawal: w})
	p.byID[w.ID] = w
	if !p.Terms.Flow.Refunds[w.Current()] {
		p.book(w.Account, store.Balance, w.Currency, -w.Debit)
	}
}

func (p *seedReader) statuses(in *wire.Object, w *store.Withdrawal) {
	flow, at := &p.Terms.Flow, p.time(in, "created", p.now)
	if !in.Has("statuses") {
		status := in.TextOr("status", flow.First)
		way := flow.Way(status)
		if way == nil {
			in.FailAt("status", "is %q; withdrawal_flow leads to %s", refusal.Shorten(status),
				strings.Join(flow.Statuses, ", "))
		}
		for _, status := range way {
			w.Statuses = append(w.Statuses, store.Reached{Status: status, At: at})
		}
		return
	}
	if in.Has("status") || in.Has("created") {
		in.FailAt("statuses", "say all that status and created do; leave those out")
	} else if len(in.Array("statuses")) == 0 {
		in.FailAt("statuses", "is empty; leave it out, or name at least one")
	}
	p.each(in, "statuses", "status at", func(one *wire.Object) {
		r := store.Reached{Status: one.Text("status"), At: p.time(one, "at", at)}
		if !refusal.IsName(r.Status) {
			one.FailAt("status", "is %q; use letters, digits, - and _", refusal.Shorten(r.Status))
		}
		at = r.At
		w.Statuses = append(w.Statuses, r)
	})
}

func (p *seedReader) swap(in *wire.Object) {
	s := store.Swap{Withdrawal: wire.Lower(in.Text("withdrawal"))}
	w := p.byID[s.Withdrawal]
	if w == nil {
		in.FailAt("withdrawal", "is %q, which is not the id of a withdrawal here", refusal.Shorten(s.Withdrawal))
		return
	}
	if s.Account = w.Account; in.Has("account") && p.account(in) != w.Account {
		in.FailAt("account", "is not that of the withdrawal")
	}
	s.From, s.To = p.code(in, "from"), p.code(in, "to")
	s.Taken, s.Given = p.positive(in, "taken", s.From).Minor, p.positive(in, "given", s.To).Minor
	s.At = p.time(in, "at", w.MadeAt())
	p.add(store.Change{Swaps: []store.Swap{s}})
	p.book(s.Account, store.Balance, s.From, -s.Taken)
	p.book(s.Account, store.Balance, s.To, s.Given)
}

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
