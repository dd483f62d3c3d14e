package sandbox

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
)

// A seedReader reads a seed in JSON, one that a person has written or a dump, and
// completes it: what a person leaves out is made, as long as it follows from the
// rest or does not matter. A dump has a format line, which says that it leaves
// nothing out. What is wrong first is kept in err.
type seedReader struct {
	*seedOptions
	now   time.Time // the machine's, and then the seed's
	d     dump
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
func (o *seedOptions) readSeed(text []byte) (dump, error) {
	p := &seedReader{
		seedOptions: o, now: o.clock(), ids: map[string]bool{}, accounts: map[string]string{}, keys: map[store.KeyHash]bool{{}: true, o.merchantKey: true},
		stated: map[string]bool{}, books: map[store.Move]*big.Int{}, lines: map[store.Move]bool{}, invites: map[string]*store.Invite{}, byID: map[string]*store.Withdrawal{},
	}
	raw, err := decodeSeed(text)
	if err == nil {
		p.seed(newObject(raw, "", nil, &p.err))
		err = p.err
	}
	if err != nil {
		return dump{}, refusal.New(refusal.InvalidBody, "The seed is refused: %v", err)
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
		err = refusal.New(refusal.InvalidBody, "it is %s; it must be an object with fields such as resellers and invoices.", jsonType(raw))
	}
	return raw, err
}

func (p *seedReader) seed(in *object) {
	in.asked = strings.Fields("format merchant_id clock_ahead_seconds balances invites resellers invoices withdrawals deliveries swaps faults")
	if p.whole = in.has("format"); p.whole {
		if format := in.text("format"); format != dumpFormat {
			in.failAt("format", "is %q; it must be %q, or left out", refusal.Shorten(format), dumpFormat)
		}
	}
	if in.has("clock_ahead_seconds") {
		p.d.ClockAhead = in.integer("clock_ahead_seconds")
		if most := int64(store.MaxOffset / time.Second); p.d.ClockAhead < -most || p.d.ClockAhead > most {
			in.failAt("clock_ahead_seconds", "is more than a century")
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
	if in.has("balances") {
		for i, raw := range in.array("balances") {
			if p.err == nil {
				p.balance(in, i, raw)
			}
		}
	} else if !p.whole {
		p.fresh()
	}
	p.err = in.done()
	p.close()
}

// each reads a list of objects with these fields.
func (p *seedReader) each(in *object, key, fields string, read func(*object)) {
	if !in.has(key) {
		return
	}
	for i, raw := range in.array(key) {
		one := in.element(key, i, raw)
		if p.err != nil {
			return
		}
		one.asked = strings.Fields(fields)
		read(one)
		if p.err = one.done(); p.err != nil {
			return
		}
	}
}

// id reads an id, or makes one.
func (p *seedReader) id(in *object, key string) string {
	if !in.has(key) {
		return store.NewUUID()
	}
	text := in.text(key)
	id, ok := parseUUID(text)
	switch {
	case !ok:
		in.failAt(key, "is %q, which is not a UUID", refusal.Shorten(text))
	case p.ids[id]:
		in.failAt(key, "is %s, as that of another is", id)
	}
	p.ids[id] = true
	return id
}

// withdrawalID reads the id of a withdrawal, which may be any text, as the setting
// id_format has it, or makes one.
func (p *seedReader) withdrawalID(in *object) string {
	if !in.has("id") {
		return p.terms.NewWithdrawalID()
	}
	id := lower(in.text("id"))
	if p.ids[id] {
		in.failAt("id", "is %s, as that of another is", refusal.Shorten(id))
	}
	p.ids[id] = true
	return id
}

// label reads a label, which a dump may have without a text.
func (p *seedReader) label(in *object, otherwise string) string {
	if !in.has("label") {
		return otherwise
	}
	if p.whole && string(in.fields["label"]) == `""` {
		return ""
	}
	return in.text("label")
}

// time reads a time in RFC 3339, which is another one when it is not given.
func (p *seedReader) time(in *object, key string, otherwise time.Time) time.Time {
	if !in.has(key) {
		return otherwise
	}
	text := in.text(key)
	at, err := time.Parse(time.RFC3339, text)
	if at = at.UTC(); err != nil || at.IsZero() || at.Year() < 1 || at.Year() > 9999 {
		in.failAt(key, "is %q; it must be a time such as 2026-05-03T10:00:00Z", refusal.Shorten(text))
	}
	return at
}

// account reads whose a record is: the merchant's, if it does not say.
func (p *seedReader) account(in *object) string {
	if !in.has("account") {
		return p.d.Merchant
	}
	name := in.text("account")
	id, known := p.accounts[name]
	switch {
	case !known:
		in.failAt("account", "is %q, which is neither the label nor the id of a reseller here", refusal.Shorten(name))
	case id == "":
		in.failAt("account", "is %q, which is the label of several resellers; give them ids, and name one", refusal.Shorten(name))
	}
	return id
}

// amount reads money: "1.5 Btc", {"code": "Btc", "minor": 150000000}, or a whole
// number of minor units of a currency that is given elsewhere.
func (p *seedReader) amount(in *object, key string) (m money.Amount) {
	raw := in.take(key)
	if raw == nil {
		return m
	}
	if raw[0] == '{' {
		one := in.inner(raw, in.at(key))
		m = money.Amount{Code: p.code(one, "code"), Minor: one.integer("minor")}
		p.err = one.done()
		return m
	}
	text := string(raw)
	if raw[0] == '"' {
		text, _ = asString(raw)
	}
	if minor, ok := money.ParseInteger(text); ok {
		return money.Amount{Minor: minor}
	}
	number, code, _ := strings.Cut(text, " ")
	c, known := money.ByCode[code]
	if known {
		minor, ok := money.ParseDecimal(number, c.Decimals)
		if !ok {
			in.failAt(key, "is %q; write a number that is not negative, with at most %d decimals, and fits in an int64 of minor units", refusal.Shorten(text), c.Decimals)
		}
		return money.Amount{Code: c.Code, Minor: minor}
	}
	in.failAt(key, "is %s; write a number and a code of the sandbox, such as \"1.5 Btc\", or a whole number of minor units where the currency is clear", refusal.Shorten(string(raw)))
	return m
}

// positive is an amount of a record, in the currency of the record if it names none.
func (p *seedReader) positive(in *object, key, code string) money.Amount {
	m := p.amount(in, key)
	if m.Code == "" {
		m.Code = code
	}
	if m.Minor <= 0 {
		in.failAt(key, "is %d minor units; it must be above 0", m.Minor)
	}
	return m
}

func (p *seedReader) code(in *object, key string) string {
	text := in.text(key)
	c, known := money.ByCode[text]
	if !known {
		in.failAt(key, "is %q, which is no currency of the sandbox", refusal.Shorten(text))
	}
	return c.Code
}

// orderID reads an order id, which is text, though of digits more often than not.
func orderID(in *object) string {
	if raw := in.take("order_id"); raw != nil && raw[0] != '"' {
		return strconv.FormatInt(in.integer("order_id"), 10)
	}
	return in.text("order_id")
}

func (p *seedReader) invite(in *object) {
	v := &store.Invite{ID: p.id(in, "id"), Label: p.label(in, fmt.Sprintf("Invite %d", len(p.d.Invites)+1)), Created: p.time(in, "created", p.now)}
	if in.has("redeemed") {
		v.Redeemed = in.boolean("redeemed")
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

func (p *seedReader) reseller(in *object) {
	r := &store.Reseller{ID: p.id(in, "id"), Label: p.label(in, fmt.Sprintf("Reseller %d", len(p.d.Resellers)+1)), Created: p.time(in, "created", p.now)}
	if in.has("invite") {
		name := lower(in.text("invite"))
		v := p.invites[name]
		if v == nil {
			in.failAt("invite", "is %q, which is not the id of an invite here, nor the label of one only", refusal.Shorten(name))
			return
		}
		if !in.has("label") {
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
func (p *seedReader) key(in *object, r *store.Reseller) {
	at := "api_key"
	switch {
	case in.has("key"):
		at = "key"
		if err := r.Key.UnmarshalText([]byte(in.text("key"))); err != nil {
			in.failAt("key", "is not the SHA-256 hash of a key in hexadecimal; leave it out, or give the key itself as api_key")
		}
	case in.has("api_key"):
		key := in.text("api_key")
		if err := p.checkKey(key); err != nil {
			in.failAt("api_key", "cannot be used: %v", err)
		}
		r.Key = store.HashKey(key)
	default:
		r.Key = store.HashKey(rand.Text())
	}
	if p.keys[r.Key] {
		in.failAt(at, "is not this reseller's alone; give each one a key of its own")
	}
	p.keys[r.Key] = true
}

func (p *seedReader) invoice(in *object) {
	v := &store.Invoice{ID: p.id(in, "id"), Account: p.account(in), Title: fmt.Sprintf("Invoice %d", len(p.d.Invoices)+1)}
	if in.has("title") {
		v.Title = in.text("title")
	}
	if in.has("order_id") {
		text := orderID(in)
		v.OrderID = &text
	}
	if in.has("number") {
		n := in.integer("number")
		v.Number = &n
	}
	if in.has("callback") {
		v.Callback = in.url("callback")
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
func (p *seedReader) items(in *object, v *store.Invoice) {
	if in.has("currency") {
		v.Currency = p.code(in, "currency")
	}
	agree := func(in *object, key string, m money.Amount) int64 {
		switch {
		case v.Currency == "":
			v.Currency = m.Code
		case m.Code != "" && m.Code != v.Currency:
			in.failAt(key, "is in %s, and the invoice in %s", m.Code, v.Currency)
		}
		return m.Minor
	}
	var sum int64
	if in.has("items") {
		items := in.array("items")
		if len(items) == 0 && !p.whole {
			in.failAt("items", "is empty; leave it out, or name at least one")
		}
		v.Items = []store.Item{}
		for i, raw := range items {
			one := in.element("items", i, raw)
			one.asked = []string{"name", "amount"}
			name, minor := one.text("name"), agree(one, "amount", p.positive(one, "amount", ""))
			if p.err = one.done(); p.err == nil && sum > math.MaxInt64-minor {
				in.failAt("items", "add up to more than an int64 of minor units can hold")
			}
			if p.err != nil {
				return
			}
			sum += minor
			v.Items = append(v.Items, store.Item{Name: name, Amount: strconv.FormatInt(minor, 10)})
		}
	}
	if empty := v.Items != nil && len(v.Items) == 0; !empty && in.has("total") || v.Items == nil {
		v.Total = agree(in, "total", p.positive(in, "total", ""))
		if v.Items == nil {
			v.Items, sum = []store.Item{{Name: v.Title, Amount: strconv.FormatInt(v.Total, 10)}}, v.Total
		}
		if sum != v.Total {
			in.failAt("total", "is %d minor units, and the items add up to %d", v.Total, sum)
		}
	}
	if v.Total = sum; v.Currency == "" {
		in.failAt("currency", "is missing, and no amount names one")
	}
}

// phase reads the phase of an invoice, by its status or, as a dump has it, by
// number, and the times.
func (p *seedReader) phase(in *object, v *store.Invoice) {
	hasPaid, hasExpired := in.has("paid_at"), in.has("expired_at")
	switch {
	case in.has("status") && in.has("phase"):
		in.failAt("status", "and phase say the same; leave one out")
	case in.has("status"):
		status := in.text("status")
		at := slices.Index(p.terms.InvoiceStatuses[:], status)
		if at < 0 {
			in.failAt("status", "is %q; it must be %s", refusal.Shorten(status), strings.Join(p.terms.InvoiceStatuses[:], " or "))
		}
		v.Phase = store.InvoicePhase(at)
	case in.has("phase"):
		n := in.integer("phase")
		if n < int64(store.Awaiting) || n > int64(store.Expired) {
			in.failAt("phase", "is %d; it must be 0 (waits for payment), 1 (paid) or 2 (expired)", n)
			return
		}
		v.Phase = store.InvoicePhase(n)
	case hasPaid:
		v.Phase = store.Paid
	case hasExpired:
		v.Phase = store.Expired
	}
	if hasPaid && v.Phase != store.Paid {
		in.failAt("paid_at", "belongs to a paid invoice only")
	}
	if hasExpired && v.Phase != store.Expired {
		in.failAt("expired_at", "belongs to an expired invoice only")
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
	if in.has("paid") {
		if v.Paid = p.positive(in, "paid", v.Currency); v.Phase != store.Paid {
			in.failAt("paid", "belongs to a paid invoice only")
		}
	} else if v.Phase == store.Paid && !p.whole && p.err == nil {
		v.Paid = p.paid(in, v)
	}
	earns := v.Phase == store.Paid && v.Account != p.d.Merchant
	if earns && !p.whole {
		v.Rebate = p.terms.Rebate(v.Payment().Minor)
	}
	if in.has("rebate") {
		v.Rebate = in.integer("rebate")
		if v.Rebate < 0 || v.Rebate > v.Payment().Minor || v.Rebate > 0 && !earns {
			in.failAt("rebate", "is %d; it must be a part of the total, of an invoice that is paid and a reseller's", v.Rebate)
		}
	}
}

// paid is what a customer paid, where that was not the total.
func (p *seedReader) paid(in *object, v *store.Invoice) money.Amount {
	m, err := p.terms.Paid(v)
	if err != nil {
		in.failAt("", "%v", err)
	}
	return m
}

func (p *seedReader) withdrawal(in *object) {
	w := &store.Withdrawal{ID: p.withdrawalID(in), Account: p.account(in), Address: in.text("address")}
	if in.has("currency") {
		w.Currency = p.code(in, "currency")
	}
	w.Amount = p.positive(in, "amount", w.Currency)
	if w.Currency == "" {
		w.Currency = w.Amount.Code
	}
	switch c := money.ByCode[w.Amount.Code]; {
	case w.Currency == "":
		in.failAt("currency", "is missing, and the amount names none")
	case c.Kind == money.Crypto && c.Code != w.Currency:
		in.failAt("amount", "is in %s, and the withdrawal in %s; give the amount in %[2]s or in a fiat currency", c.Code, w.Currency)
	}
	if in.has("memo") {
		w.Memo = in.text("memo")
	}
	if in.has("callback") {
		w.Callback = in.url("callback")
	}
	if in.has("order_id") {
		w.OrderID = orderID(in)
		if n, ok := money.ParseInteger(w.OrderID); p.terms.OrderIDFormat == "digits" && !p.whole && (!ok || n < 0) {
			in.failAt("order_id", "is %q; it must be of digits without leading zeros and fit in an int64", refusal.Shorten(w.OrderID))
		}
	}
	p.statuses(in, w)
	if p.err != nil {
		return
	}
	if in.has("debit") {
		w.Debit = p.positive(in, "debit", w.Currency).Minor
		if w.Amount.Code == w.Currency && w.Debit != w.Amount.Minor {
			in.failAt("debit", "is %d minor units, and the amount, in the same currency, %d", w.Debit, w.Amount.Minor)
		}
	} else if debit, err := p.terms.Debit(w.Amount, w.Currency); err != nil {
		in.failAt("amount", "is worth more than an int64 of minor units of %s can hold", w.Currency)
	} else {
		w.Debit = debit
	}
	p.d.Withdrawals = append(p.d.Withdrawals, w)
	p.byID[w.ID] = w
	if !p.terms.Flow.Refunds[w.Current()] {
		p.book(w.Account, store.Balance, w.Currency, -w.Debit)
	}
}

// statuses reads a withdrawal's history, or makes one that leads to its status.
func (p *seedReader) statuses(in *object, w *store.Withdrawal) {
	created := p.time(in, "created", p.now)
	if !in.has("statuses") {
		status := p.terms.Flow.First
		if in.has("status") {
			status = in.text("status")
		}
		way := p.terms.Flow.Way(status)
		if way == nil {
			in.failAt("status", "is %q; withdrawal_flow leads to %s", refusal.Shorten(status), strings.Join(p.terms.Flow.Statuses, ", "))
		}
		for _, status := range way {
			w.Statuses = append(w.Statuses, store.Reached{Status: status, At: created})
		}
		return
	}
	if in.has("status") || in.has("created") {
		in.failAt("statuses", "say all that status and created do; leave those out")
		return
	}
	list := in.array("statuses")
	if len(list) == 0 {
		in.failAt("statuses", "is empty; leave it out, or name at least one")
	}
	for i, raw := range list {
		one := in.element("statuses", i, raw)
		one.asked = []string{"status", "at"}
		r := store.Reached{Status: one.text("status"), At: p.time(one, "at", created)}
		if !refusal.IsName(r.Status) {
			one.failAt("status", "is %q; use letters, digits, - and _", refusal.Shorten(r.Status))
		}
		if p.err = one.done(); p.err != nil {
			return
		}
		created = r.At
		w.Statuses = append(w.Statuses, r)
	}
}

func (p *seedReader) swap(in *object) {
	s := store.Swap{Withdrawal: lower(in.text("withdrawal"))}
	w := p.byID[s.Withdrawal]
	if w == nil {
		in.failAt("withdrawal", "is %q, which is not the id of a withdrawal here", refusal.Shorten(s.Withdrawal))
		return
	}
	if s.Account = w.Account; in.has("account") && p.account(in) != w.Account {
		in.failAt("account", "is not that of the withdrawal")
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
func (p *seedReader) balance(in *object, i int, raw json.RawMessage) {
	m := store.Move{Account: p.d.Merchant, Book: store.Balance}
	var one *object
	if raw[0] == '{' {
		one = in.element("balances", i, raw)
		one.asked = strings.Fields("account amount book code delta")
		m.Account = p.account(one)
		if one.has("book") {
			m.Book = store.Book(one.text("book"))
		}
		if m.Book != store.Balance && m.Book != store.Volume && m.Book != store.Rebates {
			one.failAt("book", "is %q; it must be balance, volume or rebates", refusal.Shorten(string(m.Book)))
		}
		if one.has("amount") {
			held := p.amount(one, "amount")
			m.Code, m.Delta = held.Code, held.Minor
		} else {
			m.Code, m.Delta = p.code(one, "code"), one.integer("delta")
		}
		p.err = one.done()
	} else { // the same, in an object that has nothing else
		key := fmt.Sprintf("balances[%d]", i)
		one = &object{fields: map[string]json.RawMessage{key: raw}, err: in.err}
		held := p.amount(one, key)
		m.Code, m.Delta = held.Code, held.Minor
		one = &object{path: key, err: in.err}
	}
	switch {
	case m.Code == "":
		one.failAt("", `names no currency; write it like "1.5 Btc"`)
	case m.Delta < 0:
		one.failAt("", "is negative")
	}
	line := m
	line.Delta = 0
	if p.lines[line] {
		one.failAt("", "is the %s in %s of an account that has it already", m.Book, m.Code)
	}
	p.lines[line] = true
	p.stated[m.Account] = p.stated[m.Account] || m.Book == store.Balance
	p.d.Balances = append(p.d.Balances, m)
}

// fresh gives the merchant what it has in a fresh sandbox.
func (p *seedReader) fresh() {
	p.stated[p.d.Merchant] = true
	for _, c := range p.terms.Currencies {
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
