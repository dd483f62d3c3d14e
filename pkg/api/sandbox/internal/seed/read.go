// Package seed makes the first content of a sandbox, from a name or from JSON, and dumps a state as such
// JSON.
package seed

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

const freshFunds = "1000000" // whole units of each currency

// A Maker makes the first change of a state from a seed.
type Maker struct {
	Terms       *store.Terms
	Clock       func() time.Time // the machine's
	MerchantKey store.KeyHash
	CheckKey    func(key string) error // returns an error for an invalid key of a reseller
	Operations  []string               // the operations that faults can name
	SeededIDs   bool                   // each seed has the same ids every time
}

// Named returns the change that begins a new state with a named seed.
func (o *Maker) Named(name string) (store.Change, error) {
	p := o.newReader([]byte(name))
	p.merchant = p.maker.UUID("merchant")
	switch name {
	case "":
		return p.read([]byte("{}"))
	case "none":
		return p.read([]byte(`{"balances":[]}`))
	case "demo":
		return p.read(p.demo())
	}
	return store.Change{},
		refusal.New(refusal.InvalidBody, "There is no seed %q; use demo or none, or leave it out.", refusal.Shorten(name))
}

// A seedReader reads a seed in JSON, written by a person or by Dump, and completes it. It makes up what a
// person leaves out if that follows from the rest or does not matter. A dump has a format line, which says
// that it leaves nothing out. The first error is kept in err.
type seedReader struct {
	*Maker
	maker *store.IDs // of what the seed leaves out
	now   time.Time  // the machine's time, later the seed's
	whole bool       // has a format line
	nth   int        // which record of its list is read, from 1
	err   error

	merchant string
	ahead    int64          // of the clock, in seconds
	records  []store.Change // one for each, in the order in which they refer to each other
	balances []store.Move

	taken    map[string]bool          // ids, hashes of keys, and lines of balances
	accounts map[string]string        // by id and by label, to the id
	stated   map[string]bool          // accounts whose balance is stated
	books    map[store.Move]*big.Int  // the sums from invoices, withdrawals and swaps
	booked   []store.Move             // the keys of books, in order of appearance
	invites  map[string]*store.Invite // by id and by label; nil: ambiguous
	byID     map[string]*store.Withdrawal
}

// FromJSON returns the change that begins a state with a seed in JSON.
func (o *Maker) FromJSON(text []byte) (store.Change, error) { return o.newReader(text).read(text) }

// newReader returns the reader of a seed. The ids that it makes depend on the seed if they are to be the same every
// time, so that those of a dump do not come again.
func (o *Maker) newReader(seed []byte) *seedReader {
	ids := ""
	if o.SeededIDs {
		ids = fmt.Sprintf("%x", sha256.Sum256(seed))
	}
	return &seedReader{
		Maker: o, maker: store.NewIDs(ids), now: o.Clock().UTC().Truncate(time.Second),
		taken:    map[string]bool{strings.Repeat("0", 64): true, string(o.MerchantKey): true},
		accounts: map[string]string{}, stated: map[string]bool{}, books: map[store.Move]*big.Int{},
		invites: map[string]*store.Invite{}, byID: map[string]*store.Withdrawal{},
	}
}

func (p *seedReader) read(text []byte) (store.Change, error) {
	raw, err := decodeSeed(text)
	if err == nil {
		p.seed(wire.NewObject(raw, "", nil, &p.err))
		err = p.err
	}
	if err != nil {
		return store.Change{}, refusal.New(refusal.InvalidBody, "The seed is refused: %v", err)
	}
	offset := int64(time.Duration(p.ahead) * time.Second)
	return store.Change{Begin: &store.Beginning{ID: store.NewUUID(), Merchant: p.merchant, IDs: p.maker}, Offset: &offset,
		Then: append(p.records, store.Change{Moves: p.balances})}, nil
}

func (p *seedReader) add(c store.Change) { p.records = append(p.records, c) }

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
		err = refusal.New(refusal.InvalidBody,
			"it must be an object with fields such as resellers and invoices.")
	}
	return raw, err
}

func (p *seedReader) seed(in *wire.Object) {
	in.Asked = strings.Fields("format merchant_id clock_ahead_seconds balances invites resellers invoices withdrawals deliveries swaps faults")
	p.whole = in.Has("format")
	if format := in.TextOr("format", dumpFormat); format != dumpFormat {
		in.FailAt("format", "is %q; it must be %q, or left out", refusal.Shorten(format), dumpFormat)
	}
	p.ahead = in.IntegerOr("clock_ahead_seconds", 0)
	if most := int64(store.MaxOffset / time.Second); p.ahead < -most || p.ahead > most {
		in.FailAt("clock_ahead_seconds", "is more than a century")
		return
	}
	p.now = p.now.Add(time.Duration(p.ahead) * time.Second)
	p.merchant = cmp.Or(p.merchant, p.id(in, "merchant_id"))
	p.accounts[p.merchant] = p.merchant
	p.each(in, "invites", "id label created redeemed", p.invite)
	p.each(in, "resellers", "id label invite api_key key created", p.reseller)
	p.each(in, "invoices",
		"id account title items total currency status phase created paid_at paid expired_at failed_at rebate order_id number callback", p.invoice)
	p.each(in, "withdrawals", "id account amount currency debit address memo status statuses created order_id callback",
		p.withdrawal)
	p.each(in, "deliveries", "id withdrawal status url body state attempts due", p.delivery)
	p.each(in, "faults", "id on do rate times match seed seen fired body", p.fault)
	p.each(in, "swaps", "withdrawal account from taken to given at", p.swap)
	p.each(in, "balances", "account amount book code delta", p.balance)
	if !in.Has("balances") && !p.whole { // the merchant holds what it does in a fresh sandbox
		p.stated[p.merchant] = true
		for _, c := range p.Terms.Currencies {
			minor, _ := money.ParseDecimal(freshFunds, c.Decimals)
			p.balances = append(p.balances, store.Move{Account: p.merchant, Book: store.Balance, Code: c.Code, Delta: minor})
		}
	}
	if p.err = in.Done(); p.err == nil {
		p.err = p.close()
	}
}

func (p *seedReader) each(in *wire.Object, key, fields string, read func(*wire.Object)) {
	if !in.Has(key) {
		return
	}
	for i, raw := range in.Array(key) {
		if key == "balances" && raw[0] != '{' { // "1.5 Btc", of the merchant
			raw = fmt.Appendf(nil, `{"amount":%s}`, raw)
		}
		one := in.Element(key, i, raw)
		if p.err != nil {
			return
		}
		one.Asked = strings.Fields(fields)
		p.nth = i + 1
		read(one)
		if p.err = one.Done(); p.err != nil {
			return
		}
	}
}

func (p *seedReader) id(in *wire.Object, key string) string {
	if !in.Has(key) {
		return p.maker.UUID(key)
	}
	text := in.Text(key)
	id, ok := wire.ParseUUID(text)
	if !ok {
		in.FailAt(key, "is %q, which is not a UUID", refusal.Shorten(text))
	}
	return p.unique(in, key, id)
}

func (p *seedReader) unique(in *wire.Object, key, id string) string {
	if p.taken[id] {
		in.FailAt(key, "is %s, and so is that of another: give each its own", refusal.Shorten(id))
	}
	p.taken[id] = true
	return id
}

func (p *seedReader) label(in *wire.Object, otherwise string) string {
	if p.whole && string(in.Fields["label"]) == `""` {
		return ""
	}
	return in.TextOr("label", otherwise)
}

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

func (p *seedReader) account(in *wire.Object) string {
	if !in.Has("account") {
		return p.merchant
	}
	name := in.Text("account")
	id, known := p.accounts[name]
	switch {
	case !known:
		in.FailAt("account", "is %q, which is neither the label nor the id of a reseller here", refusal.Shorten(name))
	case id == "":
		in.FailAt("account", "is %q, which is the label of several resellers; give them ids, and name one",
			refusal.Shorten(name))
	}
	return id
}

// byLabel lets a record be found by its id and, unless several records share it, by its label.
func byLabel[V any](all map[string]V, id, label string, v V) {
	all[id] = v
	if _, several := all[label]; several {
		v = *new(V)
	}
	all[label] = v
}

// amount reads an amount of money: "1.5 Btc", {"code": "Btc", "minor": 150000000}, or a whole number of minor
// units of a currency that is given elsewhere.
func (p *seedReader) amount(in *wire.Object, key string) (m money.Amount) {
	raw := in.Take(key)
	if raw == nil {
		return m
	}
	if raw[0] == '{' {
		one := in.Field(key)
		m = money.Amount{Code: p.code(one, "code"), Minor: one.Integer("minor")}
		p.err = one.Done()
		return m
	}
	text, quoted := wire.AsString(raw)
	if !quoted {
		text = string(raw)
	}
	if minor, ok := money.ParseInteger(text); ok {
		return money.Amount{Minor: minor}
	}
	number, code, _ := strings.Cut(text, " ")
	c, known := money.ByCode[code]
	minor, ok := money.ParseDecimal(number, c.Decimals)
	switch {
	case !known:
		in.FailAt(key,
			"is %s; write a number and a code of the sandbox, such as \"1.5 Btc\", or a whole number of minor units where the currency is clear", refusal.Shorten(string(raw)))
	case !ok:
		in.FailAt(key,
			"is %q; write a number that is not negative, with at most %d decimals, and fits in an int64 of minor units",
			refusal.Shorten(text), c.Decimals)
	}
	return money.Amount{Code: c.Code, Minor: minor}
}

// positive reads an amount above 0. If it names no currency, it is in the currency of the record.
func (p *seedReader) positive(in *wire.Object, key, code string) money.Amount {
	m := p.amount(in, key)
	m.Code = cmp.Or(m.Code, code)
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

// orderID reads an order id. It is text, but a person may write it as a number.
func orderID(in *wire.Object) string {
	if raw := in.Take("order_id"); raw != nil && raw[0] != '"' {
		return strconv.FormatInt(in.Integer("order_id"), 10)
	}
	return in.Text("order_id")
}

// balance reads what an account holds in the end. What a dump says of the other books follows from the invoices.
func (p *seedReader) balance(in *wire.Object) {
	m := store.Move{Account: p.account(in), Book: store.Book(in.TextOr("book", string(store.Balance)))}
	if m.Book != store.Balance && m.Book != store.Volume && m.Book != store.Rebates {
		in.FailAt("book", "is %q; it must be balance, volume or rebates", refusal.Shorten(string(m.Book)))
	}
	if in.Has("amount") {
		held := p.amount(in, "amount")
		m.Code, m.Delta = held.Code, held.Minor
	} else {
		m.Code, m.Delta = p.code(in, "code"), in.Integer("delta")
	}
	line := fmt.Sprint(m.Account, m.Book, m.Code)
	switch {
	case m.Code == "":
		in.FailAt("", `names no currency; write it like "1.5 Btc"`)
	case m.Delta < 0:
		in.FailAt("", "is negative")
	case p.taken[line]:
		in.FailAt("", "is the %s in %s of an account that has it already", m.Book, m.Code)
	}
	p.taken[line] = true
	if m.Book == store.Balance {
		p.stated[m.Account] = true
		p.balances = append(p.balances, m)
	}
}

func (p *seedReader) book(account string, b store.Book, code string, minor int64) {
	line := store.Move{Account: account, Book: b, Code: code}
	if p.books[line] == nil {
		p.books[line] = new(big.Int)
		p.booked = append(p.booked, line)
	}
	p.books[line].Add(p.books[line], big.NewInt(minor))
}

// close adds the sums that follow from the records.
func (p *seedReader) close() error {
	for _, m := range p.booked {
		minor := p.books[m]
		switch {
		case m.Book == store.Balance && (p.whole || p.stated[m.Account]):
		case minor.Sign() < 0:
			return refusal.New(refusal.InvalidBody,
				"the withdrawals of %s take %v minor units of %s more than its paid invoices brought; say in balances what it holds.", m.Account, minor.Neg(minor), m.Code)
		case !minor.IsInt64():
			return refusal.New(refusal.InvalidBody, "the %s of %s in %s is more than an int64 of minor units can hold.",
				m.Book, m.Account, m.Code)
		case minor.Sign() > 0:
			m.Delta = minor.Int64()
			p.balances = append(p.balances, m)
		}
	}
	return nil
}
