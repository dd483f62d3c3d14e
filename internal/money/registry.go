// Package money knows currencies, and reads and prints amounts exactly, without floating point.
//
// Codes are read without regard to case. The service writes a fiat code as Usd in a currency and as USD in an
// amount; parsing gives each its spelling. A code that the registry does not know is written with its kind,
// as crypto:CODE or fiat:CODE, and its amounts are in minor units only.
//
// An amount is a whole number of minor units in 64 bits. It is written as a number, one space and a code, or as the
// number alone, which is then in the withdrawn currency; signs, exponents, separators, leading zeros, too many
// decimals and zero are refused. The amount of a withdrawal is in the withdrawn currency or in a fiat currency, whose
// equivalent the service then pays. So a crypto amount must be in the withdrawn currency.
package money

import (
	"cmp"
	"slices"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/pkg/api"
)

const (
	crypto = api.Crypto
	fiat   = api.Fiat
)

// Unknown is the number of decimals of a currency whose decimals are unknown.
const Unknown = -1

// Entry describes one currency.
type Entry struct {
	Code          string   // as the service writes it in an amount: Btc, USD
	Kind          api.Kind // api.Crypto or api.Fiat
	Decimals      int      // 0 to api.MaxDecimals, or Unknown
	MemoRequired  bool     // whether a withdrawal needs a memo
	AddressFormat string   // how its addresses look, one of address.Formats; empty: not set
}

// Currency returns the entry's currency as the service writes it: Btc, Usd.
func (e Entry) Currency() api.Currency {
	code := e.Code
	if e.Kind == fiat && code != "" {
		code = strings.ToUpper(code[:1]) + strings.ToLower(code[1:])
	}
	return api.Currency{Kind: e.Kind, Code: code}
}

// Amount returns an amount of minor units of the entry's currency.
func (e Entry) Amount(minor int64) api.Amount {
	return api.Amount{Kind: e.Kind, Code: amountSpelling(e.Kind, e.Code), Minor: minor}
}

// Registry is a set of currencies: those added by With and the built-in ones, which are the active fiat currencies
// with the decimals of ISO 4217 if payment services agree on them, and the three crypto currencies that the
// service's interface names. It is immutable. The zero Registry is the built-in one.
type Registry struct {
	own    []Entry // few, so that a search of them needs no index
	closed bool    // nobody can add to it
}

// Closed returns the registry of a sandbox, whose currencies nobody can add to.
func (r Registry) Closed() Registry {
	r.closed = true
	return r
}

// NewRegistry returns the built-in registry.
func NewRegistry() Registry { return Registry{} }

// builtinCrypto are the currencies that the service's interface names. It does not show their decimals.
var builtinCrypto = []Entry{
	{Code: "Btc", Kind: crypto, Decimals: Unknown},
	{Code: "UsdtErc20", Kind: crypto, Decimals: Unknown},
	{Code: "Xlr", Kind: crypto, Decimals: Unknown, MemoRequired: true},
}

// With returns the registry with the entries added. A later entry replaces an earlier one with the same code
// in any case, and its spelling wins. Three things are kept from an earlier entry of the same kind: the
// decimals and the address format if the later entry does not know them, and a memo that the service demands
// regardless of the configuration.
func (r Registry) With(entries ...Entry) Registry {
	all := Registry{slices.Clone(r.own), r.closed}
	for _, e := range entries {
		e.Code = amountSpelling(e.Kind, e.Code)
		e.MemoRequired = e.MemoRequired || e.Currency().MemoRequired()
		if old, ok := all.Lookup(e.Code); ok && old.Kind == e.Kind {
			if e.Decimals == Unknown {
				e.Decimals = old.Decimals
			}
			e.AddressFormat = cmp.Or(e.AddressFormat, old.AddressFormat)
		}
		if i := search(all.own, e.Code); i >= 0 {
			all.own[i] = e
		} else {
			all.own = append(all.own, e)
		}
	}
	return all
}

// search finds a code without regard to case; -1: it is not there.
func search(entries []Entry, code string) int {
	for i := range entries { // a function would get a copy of each
		if strings.EqualFold(entries[i].Code, code) {
			return i
		}
	}
	return -1
}

// fold makes codes equal that differ only in case. Codes are ASCII, see ValidCode.
func fold(code string) string { return strings.ToLower(code) }

// Lookup finds a code without regard to case. It accepts plain codes only, not crypto:CODE.
func (r Registry) Lookup(code string) (Entry, bool) {
	if !ValidCode(code) { // it may be the service's text: a letter that only folds to ASCII is not ASCII
		return Entry{}, false
	}
	for _, entries := range [...][]Entry{r.own, builtinCrypto} {
		if i := search(entries, code); i >= 0 {
			return entries[i], true
		}
	}
	row := isoRow(code)
	return isoEntry(row), row != ""
}

// entry finds a currency. A crypto currency that has the code of a fiat currency is a different one. Of one that is
// not known, the decimals are unknown.
func (r Registry) entry(c api.Currency) Entry {
	if e, ok := r.Lookup(c.Code); ok && e.Kind == c.Kind {
		return e
	}
	return Entry{Code: c.Code, Kind: c.Kind, Decimals: Unknown}
}

// Entries returns all currencies, sorted by code without regard to case.
func (r Registry) Entries() []Entry {
	all := slices.Clone(builtinCrypto)
	for row := range strings.FieldsSeq(iso4217) {
		all = append(all, isoEntry(row))
	}
	all = slices.DeleteFunc(all, func(e Entry) bool { return search(r.own, e.Code) >= 0 })
	all = append(all, r.own...)
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(fold(a.Code), fold(b.Code)) })
	return all
}

// DecimalsOf returns the number of decimals of a unit, or Unknown.
func (r Registry) DecimalsOf(kind api.Kind, code string) int {
	return r.entry(api.Currency{Kind: kind, Code: code}).Decimals
}

// As returns the registry with the decimals with which amounts of a unit were shown once. If they are Unknown, it
// keeps its own.
func (r Registry) As(u api.Currency, decimals int64) Registry {
	e := r.entry(u)
	if decimals == Unknown || int64(e.Decimals) == decimals {
		return r
	}
	e.Decimals = int(decimals)
	return r.With(e)
}

// Decimals returns the number of decimals of a code, or Unknown.
func (r Registry) Decimals(code string) int {
	if e, ok := r.Lookup(code); ok {
		return e.Decimals
	}
	return Unknown
}

// MemoRequired reports whether a withdrawal of the currency needs a memo.
func (r Registry) MemoRequired(c api.Currency) bool {
	return r.entry(c).MemoRequired || c.MemoRequired()
}

// LacksMemo reports whether a withdrawal of the currency to an address needs a memo and has none. A withdrawal
// with a blank memo is lost.
func (r Registry) LacksMemo(c api.Currency, to, memo string) bool {
	return r.MemoRequired(c) && api.BlankMemo(memo) && !address.NeedsNoMemo(r.AddressFormat(c), to)
}

// amountSpelling returns the service's spelling of a code in an amount. A crypto code has only one spelling.
func amountSpelling(kind api.Kind, code string) string {
	if kind == fiat {
		return strings.ToUpper(code)
	}
	return code
}
