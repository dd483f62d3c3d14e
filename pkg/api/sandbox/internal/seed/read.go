package seed

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A seedReader reads a seed in JSON, one that a person has written or a dump, and
// completes it: what a person leaves out is made, as long as it follows from the
// rest or does not matter. A dump has a format line, which says that it leaves
// nothing out. What is wrong first is kept in err.
type seedReader struct {
	*Maker
	now   time.Time // the machine's, and then the seed's
	d     Dump
	whole bool // with a format line
	err   error

	ids      map[string]bool
	accounts map[string]string        // whose id and whose label, to the id
	keys     map[store.KeyHash]bool   // of resellers
	stated   map[string]bool          // accounts of which balances says what they hold
	books    map[store.Move]*big.Int  // what follows from invoices, withdrawals and swaps
	lines    map[store.Move]bool      // that balances names
	invites  map[string]*store.Invite // by id and by label; nil: several
	byID     map[string]*store.Withdrawal
}

// readSeed returns the complete dump that a seed describes.
func (o *Maker) readSeed(text []byte) (Dump, error) {
	p := &seedReader{
		Maker: o, now: o.Clock(), ids: map[string]bool{}, accounts: map[string]string{}, keys: map[store.KeyHash]bool{{}: true, o.MerchantKey: true},
		stated: map[string]bool{}, books: map[store.Move]*big.Int{}, lines: map[store.Move]bool{}, invites: map[string]*store.Invite{}, byID: map[string]*store.Withdrawal{},
	}
	raw, err := decodeSeed(text)
	if err == nil {
		p.seed(wire.NewObject(raw, "", nil, &p.err))
		err = p.err
	}
	if err != nil {
		return Dump{}, refusal.New(refusal.InvalidBody, "The seed is refused: %v", err)
	}
	return p.d, nil
}

func decodeSeed(text []byte) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, refusal.New(refusal.InvalidBody, "it is not valid UTF-8; encode it as UTF-8.")
	}
	var raw json.RawMessage
	err := json.Unmarshal(text, &raw)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
		return nil, refusal.New(refusal.InvalidBody, "line %d is not JSON (%v); mend it.", line, err)
	}
	if err == nil && raw[0] != '{' {
		err = refusal.New(refusal.InvalidBody, "it is %s; it must be an object with fields such as resellers and invoices.", wire.JSONType(raw))
	}
	return raw, err
}

func (p *seedReader) seed(in *wire.Object) {
	in.Asked = strings.Fields("format merchant_id clock_ahead_seconds balances invites resellers invoices withdrawals deliveries swaps faults")
	if p.whole = in.Has("format"); p.whole {
		if format := in.Text("format"); format != dumpFormat {
			in.FailAt("format", "is %q; it must be %q, or left out", refusal.Shorten(format), dumpFormat)
		}
	}
	if in.Has("clock_ahead_seconds") {
		p.d.ClockAhead = in.Integer("clock_ahead_seconds")
		if most := int64(store.MaxOffset / time.Second); p.d.ClockAhead < -most || p.d.ClockAhead > most {
			in.FailAt("clock_ahead_seconds", "is more than a century")
			return
		}
	}
	p.now = p.now.Add(time.Duration(p.d.ClockAhead) * time.Second).UTC().Truncate(time.Second)
	p.d.Merchant = p.id(in, "merchant_id")
	p.accounts[p.d.Merchant] = p.d.Merchant
	p.each(in, "invites", "id label created redeemed", p.invite)
	p.each(in, "resellers", "id label invite api_key key created", p.reseller)
	p.each(in, "invoices", "id account title items total currency status phase created paid_at paid expired_at rebate order_id number callback", p.invoice)
	p.each(in, "withdrawals", "id account amount currency debit address memo status statuses created order_id callback", p.withdrawal)
	p.each(in, "deliveries", "id withdrawal status url body state attempts", p.delivery)
	p.each(in, "faults", "id on do rate times match seed seen fired", p.fault)
	p.each(in, "swaps", "withdrawal account from taken to given at", p.swap)
	if in.Has("balances") {
		for i, raw := range in.Array("balances") {
			if p.err == nil {
				p.balance(in, i, raw)
			}
		}
	} else if !p.whole {
		p.fresh()
	}
	p.err = in.Done()
	p.close()
}

// each reads a list of objects with these fields.
func (p *seedReader) each(in *wire.Object, key, fields string, read func(*wire.Object)) {
	if !in.Has(key) {
		return
	}
	for i, raw := range in.Array(key) {
		one := in.Element(key, i, raw)
		if p.err != nil {
			return
		}
		one.Asked = strings.Fields(fields)
		read(one)
		if p.err = one.Done(); p.err != nil {
			return
		}
	}
}

// id reads an id, or makes one.
func (p *seedReader) id(in *wire.Object, key string) string {
	if !in.Has(key) {
		return store.NewUUID()
	}
	text := in.Text(key)
	id, ok := wire.ParseUUID(text)
	switch {
	case !ok:
		in.FailAt(key, "is %q, which is not a UUID", refusal.Shorten(text))
	case p.ids[id]:
		in.FailAt(key, "is %s, as that of another is", id)
	}
	p.ids[id] = true
	return id
}

// withdrawalID reads the id of a withdrawal, which may be any text, as the setting
// id_format has it, or makes one.
func (p *seedReader) withdrawalID(in *wire.Object) string {
	if !in.Has("id") {
		return p.Terms.NewWithdrawalID()
	}
	id := wire.Lower(in.Text("id"))
	if p.ids[id] {
		in.FailAt("id", "is %s, as that of another is", refusal.Shorten(id))
	}
	p.ids[id] = true
	return id
}

// label reads a label, which a dump may have without a text.
func (p *seedReader) label(in *wire.Object, otherwise string) string {
	if !in.Has("label") {
		return otherwise
	}
	if p.whole && string(in.Fields["label"]) == `""` {
		return ""
	}
	return in.Text("label")
}

// time reads a time in RFC 3339, which is another one when it is not given.
func (p *seedReader) time(in *wire.Object, key string, otherwise time.Time) time.Time {
	if !in.Has(key) {
		return otherwise
	}
	text := in.Text(key)
	at, err := time.Parse(time.RFC3339, text)
	if at = at.UTC(); err != nil || at.IsZero() || at.Year() < 1 || at.Year() > 9999 {
		in.FailAt(key, "is %q; it must be a time such as 2026-05-03T10:00:00Z", refusal.Shorten(text))
	}
	return at
}

// account reads whose a record is: the merchant's, if it does not say.
func (p *seedReader) account(in *wire.Object) string {
	if !in.Has("account") {
		return p.d.Merchant
	}
	name := in.Text("account")
	id, known := p.accounts[name]
	switch {
	case !known:
		in.FailAt("account", "is %q, which is neither the label nor the id of a reseller here", refusal.Shorten(name))
	case id == "":
		in.FailAt("account", "is %q, which is the label of several resellers; give them ids, and name one", refusal.Shorten(name))
	}
	return id
}

// amount reads money: "1.5 Btc", {"code": "Btc", "minor": 150000000}, or a whole
// number of minor units of a currency that is given elsewhere.
func (p *seedReader) amount(in *wire.Object, key string) (m money.Amount) {
	raw := in.Take(key)
	if raw == nil {
		return m
	}
	if raw[0] == '{' {
		one := in.Inner(raw, in.At(key))
		m = money.Amount{Code: p.code(one, "code"), Minor: one.Integer("minor")}
		p.err = one.Done()
		return m
	}
	text := string(raw)
	if raw[0] == '"' {
		text, _ = wire.AsString(raw)
	}
	if minor, ok := money.ParseInteger(text); ok {
		return money.Amount{Minor: minor}
	}
	number, code, _ := strings.Cut(text, " ")
	c, known := money.ByCode[code]
	if known {
		minor, ok := money.ParseDecimal(number, c.Decimals)
		if !ok {
			in.FailAt(key, "is %q; write a number that is not negative, with at most %d decimals, and fits in an int64 of minor units", refusal.Shorten(text), c.Decimals)
		}
		return money.Amount{Code: c.Code, Minor: minor}
	}
	in.FailAt(key, "is %s; write a number and a code of the sandbox, such as \"1.5 Btc\", or a whole number of minor units where the currency is clear", refusal.Shorten(string(raw)))
	return m
}

// positive is an amount of a record, in the currency of the record if it names none.
func (p *seedReader) positive(in *wire.Object, key, code string) money.Amount {
	m := p.amount(in, key)
	if m.Code == "" {
		m.Code = code
	}
	if m.Minor <= 0 {
		in.FailAt(key, "is %d minor units; it must be above 0", m.Minor)
	}
	return m
}

func (p *seedReader) code(in *wire.Object, key string) string {
	text := in.Text(key)
	c, known := money.ByCode[text]
	if !known {
		in.FailAt(key, "is %q, which is no currency of the sandbox", refusal.Shorten(text))
	}
	return c.Code
}

// orderID reads an order id, which is text, though of digits more often than not.
func orderID(in *wire.Object) string {
	if raw := in.Take("order_id"); raw != nil && raw[0] != '"' {
		return strconv.FormatInt(in.Integer("order_id"), 10)
	}
	return in.Text("order_id")
}

func (p *seedReader) invite(in *wire.Object) {
	v := &store.Invite{ID: p.id(in, "id"), Label: p.label(in, fmt.Sprintf("Invite %d", len(p.d.Invites)+1)), Created: p.time(in, "created", p.now)}
	if in.Has("redeemed") {
		v.Redeemed = in.Boolean("redeemed")
	}
	p.add(v)
}

func (p *seedReader) add(v *store.Invite) {
	p.d.Invites = append(p.d.Invites, v)
	p.invites[v.ID] = v
	if _, several := p.invites[v.Label]; several {
		p.invites[v.Label] = nil
	} else {
		p.invites[v.Label] = v
	}
}

func (p *seedReader) reseller(in *wire.Object) {
	r := &store.Reseller{ID: p.id(in, "id"), Label: p.label(in, fmt.Sprintf("Reseller %d", len(p.d.Resellers)+1)), Created: p.time(in, "created", p.now)}
	if in.Has("invite") {
		name := wire.Lower(in.Text("invite"))
		v := p.invites[name]
		if v == nil {
			in.FailAt("invite", "is %q, which is not the id of an invite here, nor the label of one only", refusal.Shorten(name))
			return
		}
		if !in.Has("label") {
			r.Label = v.Label
		}
		r.Invite, v.Redeemed = v.ID, true
	} else {
		v := &store.Invite{ID: store.NewUUID(), Label: r.Label, Created: r.Created, Redeemed: true}
		p.add(v)
		r.Invite = v.ID
	}
	p.key(in, r)
	p.d.Resellers = append(p.d.Resellers, r)
	p.accounts[r.ID] = r.ID
	if _, several := p.accounts[r.Label]; several {
		p.accounts[r.Label] = ""
	} else {
		p.accounts[r.Label] = r.ID
	}
}

// key reads a reseller's key, or the hash of it that a dump has. Without either,
// its key is not known.
func (p *seedReader) key(in *wire.Object, r *store.Reseller) {
	at := "api_key"
	switch {
	case in.Has("key"):
		at = "key"
		if err := r.Key.UnmarshalText([]byte(in.Text("key"))); err != nil {
			in.FailAt("key", "is not the SHA-256 hash of a key in hexadecimal; leave it out, or give the key itself as api_key")
		}
	case in.Has("api_key"):
		key := in.Text("api_key")
		if err := p.CheckKey(key); err != nil {
			in.FailAt("api_key", "cannot be used: %v", err)
		}
		r.Key = store.HashKey(key)
	default:
		r.Key = store.HashKey(rand.Text())
	}
	if p.keys[r.Key] {
		in.FailAt(at, "is not this reseller's alone; give each one a key of its own")
	}
	p.keys[r.Key] = true
}

func (p *seedReader) invoice(in *wire.Object) {
	v := &store.Invoice{ID: p.id(in, "id"), Account: p.account(in), Title: fmt.Sprintf("Invoice %d", len(p.d.Invoices)+1)}
	if in.Has("title") {
		v.Title = in.Text("title")
	}
	if in.Has("order_id") {
		text := orderID(in)
		v.OrderID = &text
	}
	if in.Has("number") {
		n := in.Integer("number")
		v.Number = &n
	}
	if in.Has("callback") {
		v.Callback = in.URL("callback")
	}
	p.items(in, v)
	p.phase(in, v)
	if p.err != nil {
		return
	}
	p.d.Invoices = append(p.d.Invoices, v)
	if v.Phase == store.Paid {
		got := v.Payment()
		p.book(v.Account, store.Balance, got.Code, got.Minor)
		p.book(v.Account, store.Volume, got.Code, got.Minor)
		p.book(v.Account, store.Rebates, got.Code, v.Rebate)
	}
}

// items reads what an invoice is for, in one currency: items, their total, or
// both.
func (p *seedReader) items(in *wire.Object, v *store.Invoice) {
	if in.Has("currency") {
		v.Currency = p.code(in, "currency")
	}
	agree := func(in *wire.Object, key string, m money.Amount) int64 {
		switch {
		case v.Currency == "":
			v.Currency = m.Code
		case m.Code != "" && m.Code != v.Currency:
			in.FailAt(key, "is in %s, and the invoice in %s", m.Code, v.Currency)
		}
		return m.Minor
	}
	var sum int64
	if in.Has("items") {
		items := in.Array("items")
		if len(items) == 0 && !p.whole {
			in.FailAt("items", "is empty; leave it out, or name at least one")
		}
		v.Items = []store.Item{}
		for i, raw := range items {
			one := in.Element("items", i, raw)
			one.Asked = []string{"name", "amount"}
			name, minor := one.Text("name"), agree(one, "amount", p.positive(one, "amount", ""))
			if p.err = one.Done(); p.err == nil && sum > math.MaxInt64-minor {
				in.FailAt("items", "add up to more than an int64 of minor units can hold")
			}
			if p.err != nil {
				return
			}
			sum += minor
			v.Items = append(v.Items, store.Item{Name: name, Amount: strconv.FormatInt(minor, 10)})
		}
	}
	if empty := v.Items != nil && len(v.Items) == 0; !empty && in.Has("total") || v.Items == nil {
		v.Total = agree(in, "total", p.positive(in, "total", ""))
		if v.Items == nil {
			v.Items, sum = []store.Item{{Name: v.Title, Amount: strconv.FormatInt(v.Total, 10)}}, v.Total
		}
		if sum != v.Total {
			in.FailAt("total", "is %d minor units, and the items add up to %d", v.Total, sum)
		}
	}
	if v.Total = sum; v.Currency == "" {
		in.FailAt("currency", "is missing, and no amount names one")
	}
}

// phase reads the phase of an invoice, by its status or, as a dump has it, by
// number, and the times.
func (p *seedReader) phase(in *wire.Object, v *store.Invoice) {
	hasPaid, hasExpired := in.Has("paid_at"), in.Has("expired_at")
	switch {
	case in.Has("status") && in.Has("phase"):
		in.FailAt("status", "and phase say the same; leave one out")
	case in.Has("status"):
		status := in.Text("status")
		at := slices.Index(p.Terms.InvoiceStatuses[:], status)
		if at < 0 {
			in.FailAt("status", "is %q; it must be %s", refusal.Shorten(status), strings.Join(p.Terms.InvoiceStatuses[:], " or "))
		}
		v.Phase = store.InvoicePhase(at)
	case in.Has("phase"):
		n := in.Integer("phase")
		if n < int64(store.Awaiting) || n > int64(store.Expired) {
			in.FailAt("phase", "is %d; it must be 0 (waits for payment), 1 (paid) or 2 (expired)", n)
			return
		}
		v.Phase = store.InvoicePhase(n)
	case hasPaid:
		v.Phase = store.Paid
	case hasExpired:
		v.Phase = store.Expired
	}
	if hasPaid && v.Phase != store.Paid {
		in.FailAt("paid_at", "belongs to a paid invoice only")
	}
	if hasExpired && v.Phase != store.Expired {
		in.FailAt("expired_at", "belongs to an expired invoice only")
	}
	ended := p.time(in, "paid_at", time.Time{})
	v.ExpiredAt = p.time(in, "expired_at", time.Time{})
	v.Created = p.now
	if hasPaid {
		v.Created = ended
	} else if hasExpired {
		v.Created = v.ExpiredAt
	}
	v.Created = p.time(in, "created", v.Created)
	if v.Phase == store.Paid {
		if v.PaidAt = ended; !hasPaid {
			v.PaidAt = v.Created
		}
	}
	if in.Has("paid") {
		if v.Paid = p.positive(in, "paid", v.Currency); v.Phase != store.Paid {
			in.FailAt("paid", "belongs to a paid invoice only")
		}
	} else if v.Phase == store.Paid && !p.whole && p.err == nil {
		v.Paid = p.paid(in, v)
	}
	earns := v.Phase == store.Paid && v.Account != p.d.Merchant
	if earns && !p.whole {
		v.Rebate = p.Terms.Rebate(v.Payment().Minor)
	}
	if in.Has("rebate") {
		v.Rebate = in.Integer("rebate")
		if v.Rebate < 0 || v.Rebate > v.Payment().Minor || v.Rebate > 0 && !earns {
			in.FailAt("rebate", "is %d; it must be a part of the total, of an invoice that is paid and a reseller's", v.Rebate)
		}
	}
}

// paid is what a customer paid, where that was not the total.
func (p *seedReader) paid(in *wire.Object, v *store.Invoice) money.Amount {
	m, err := p.Terms.Paid(v)
	if err != nil {
		in.FailAt("", "%v", err)
	}
	return m
}

func (p *seedReader) withdrawal(in *wire.Object) {
	w := &store.Withdrawal{ID: p.withdrawalID(in), Account: p.account(in), Address: in.Text("address")}
	if in.Has("currency") {
		w.Currency = p.code(in, "currency")
	}
	w.Amount = p.positive(in, "amount", w.Currency)
	if w.Currency == "" {
		w.Currency = w.Amount.Code
	}
	switch c := money.ByCode[w.Amount.Code]; {
	case w.Currency == "":
		in.FailAt("currency", "is missing, and the amount names none")
	case c.Kind == money.Crypto && c.Code != w.Currency:
		in.FailAt("amount", "is in %s, and the withdrawal in %s; give the amount in %[2]s or in a fiat currency", c.Code, w.Currency)
	}
	if in.Has("memo") {
		w.Memo = in.Text("memo")
	}
	if in.Has("callback") {
		w.Callback = in.URL("callback")
	}
	if in.Has("order_id") {
		w.OrderID = orderID(in)
		if n, ok := money.ParseInteger(w.OrderID); p.Terms.OrderIDFormat == "digits" && !p.whole && (!ok || n < 0) {
			in.FailAt("order_id", "is %q; it must be of digits without leading zeros and fit in an int64", refusal.Shorten(w.OrderID))
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
	p.d.Withdrawals = append(p.d.Withdrawals, w)
	p.byID[w.ID] = w
	if !p.Terms.Flow.Refunds[w.Current()] {
		p.book(w.Account, store.Balance, w.Currency, -w.Debit)
	}
}

// statuses reads a withdrawal's history, or makes one that leads to its status.
func (p *seedReader) statuses(in *wire.Object, w *store.Withdrawal) {
	created := p.time(in, "created", p.now)
	if !in.Has("statuses") {
		status := p.Terms.Flow.First
		if in.Has("status") {
			status = in.Text("status")
		}
		way := p.Terms.Flow.Way(status)
		if way == nil {
			in.FailAt("status", "is %q; withdrawal_flow leads to %s", refusal.Shorten(status), strings.Join(p.Terms.Flow.Statuses, ", "))
		}
		for _, status := range way {
			w.Statuses = append(w.Statuses, store.Reached{Status: status, At: created})
		}
		return
	}
	if in.Has("status") || in.Has("created") {
		in.FailAt("statuses", "say all that status and created do; leave those out")
		return
	}
	list := in.Array("statuses")
	if len(list) == 0 {
		in.FailAt("statuses", "is empty; leave it out, or name at least one")
	}
	for i, raw := range list {
		one := in.Element("statuses", i, raw)
		one.Asked = []string{"status", "at"}
		r := store.Reached{Status: one.Text("status"), At: p.time(one, "at", created)}
		if !refusal.IsName(r.Status) {
			one.FailAt("status", "is %q; use letters, digits, - and _", refusal.Shorten(r.Status))
		}
		if p.err = one.Done(); p.err != nil {
			return
		}
		created = r.At
		w.Statuses = append(w.Statuses, r)
	}
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
	p.d.Swaps = append(p.d.Swaps, s)
	p.book(s.Account, store.Balance, s.From, -s.Taken)
	p.book(s.Account, store.Balance, s.To, s.Given)
}

// balance reads what an account holds in the end: "1.5 Btc" of the merchant's, or
// an object, which says whose, and in a dump in which book.
func (p *seedReader) balance(in *wire.Object, i int, raw json.RawMessage) {
	m := store.Move{Account: p.d.Merchant, Book: store.Balance}
	var one *wire.Object
	if raw[0] == '{' {
		one = in.Element("balances", i, raw)
		one.Asked = strings.Fields("account amount book code delta")
		m.Account = p.account(one)
		if one.Has("book") {
			m.Book = store.Book(one.Text("book"))
		}
		if m.Book != store.Balance && m.Book != store.Volume && m.Book != store.Rebates {
			one.FailAt("book", "is %q; it must be balance, volume or rebates", refusal.Shorten(string(m.Book)))
		}
		if one.Has("amount") {
			held := p.amount(one, "amount")
			m.Code, m.Delta = held.Code, held.Minor
		} else {
			m.Code, m.Delta = p.code(one, "code"), one.Integer("delta")
		}
		p.err = one.Done()
	} else { // the same, in an object that has nothing else
		key := fmt.Sprintf("balances[%d]", i)
		one = &wire.Object{Fields: map[string]json.RawMessage{key: raw}, Err: in.Err}
		held := p.amount(one, key)
		m.Code, m.Delta = held.Code, held.Minor
		one = &wire.Object{Path: key, Err: in.Err}
	}
	switch {
	case m.Code == "":
		one.FailAt("", `names no currency; write it like "1.5 Btc"`)
	case m.Delta < 0:
		one.FailAt("", "is negative")
	}
	line := m
	line.Delta = 0
	if p.lines[line] {
		one.FailAt("", "is the %s in %s of an account that has it already", m.Book, m.Code)
	}
	p.lines[line] = true
	p.stated[m.Account] = p.stated[m.Account] || m.Book == store.Balance
	p.d.Balances = append(p.d.Balances, m)
}

// fresh gives the merchant what it has in a fresh sandbox.
func (p *seedReader) fresh() {
	p.stated[p.d.Merchant] = true
	for _, c := range p.Terms.Currencies {
		p.d.Balances = append(p.d.Balances, store.Move{Account: p.d.Merchant, Book: store.Balance, Code: c.Code, Delta: freshFunds(c)})
	}
}

// book adds to a line that follows from the records.
func (p *seedReader) book(account string, b store.Book, code string, minor int64) {
	line := store.Move{Account: account, Book: b, Code: code}
	if p.books[line] == nil {
		p.books[line] = new(big.Int)
	}
	p.books[line].Add(p.books[line], big.NewInt(minor))
}

// close adds the books that follow from the rest, and holds those that were
// stated against it: statistics are the same whether they come from the books or
// from the invoices.
func (p *seedReader) close() {
	if p.err != nil {
		return
	}
	var all []store.Move
	for _, m := range p.d.Balances {
		if m.Book == store.Balance {
			if m.Delta > 0 {
				all = append(all, m)
			}
			continue
		}
		line := m
		line.Delta = 0
		if follows := p.books[line]; follows == nil && m.Delta > 0 || follows != nil && follows.Cmp(big.NewInt(m.Delta)) != 0 {
			p.err = refusal.New(refusal.InvalidBody, "balances says that the %s of %s in %s is %d minor units, and the paid invoices add up to %v; leave it out.", m.Book, m.Account, m.Code, m.Delta, orZero(follows))
			return
		}
	}
	for _, id := range p.accountOrder() {
		for _, b := range []store.Book{store.Balance, store.Volume, store.Rebates} {
			for _, c := range money.Registry {
				minor := p.books[store.Move{Account: id, Book: b, Code: c.Code}]
				switch {
				case minor == nil || b == store.Balance && (p.whole || p.stated[id]):
					continue
				case minor.Sign() < 0:
					p.err = refusal.New(refusal.InvalidBody, "the withdrawals of %s take %v minor units of %s more than its paid invoices brought; say in balances what it holds.", id, minor.Neg(minor), c.Code)
					return
				case !minor.IsInt64():
					p.err = refusal.New(refusal.InvalidBody, "the %s of %s in %s is more than an int64 of minor units can hold.", b, id, c.Code)
					return
				case minor.Sign() > 0:
					all = append(all, store.Move{Account: id, Book: b, Code: c.Code, Delta: minor.Int64()})
				}
			}
		}
	}
	p.d.Balances = all
}

func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}

func (p *seedReader) accountOrder() []string {
	ids := []string{p.d.Merchant}
	for _, r := range p.d.Resellers {
		ids = append(ids, r.ID)
	}
	return ids
}
