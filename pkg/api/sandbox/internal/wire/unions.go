package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// A union is a shape of section 2.1: a value under the kind of its currency.
type union[V any] struct {
	Crypto V `json:"Crypto,omitempty"`
	Fiat   V `json:"Fiat,omitempty"`
}

func viewUnion[V any](kind money.Kind, value V) (u union[V]) {
	if kind == money.Fiat {
		u.Fiat = value
	} else {
		u.Crypto = value
	}
	return u
}

type (
	currencyView = union[string]
	AmountView   = union[map[string]int64]
)

func ViewCurrency(c money.Currency) currencyView { return viewUnion(c.Kind, c.Code) }

func ViewAmount(m money.Amount) AmountView {
	c := money.ByCode[m.Code]
	return viewUnion(c.Kind, map[string]int64{c.AmountCode(): m.Minor})
}

func (o *Object) Currency(key string) money.Currency { return o.Field(key).union() }

func (o *Object) union() money.Currency {
	kind, raw := o.oneOfKinds()
	if raw == nil {
		return money.Currency{}
	}
	code, ok := AsString(raw)
	if !ok {
		o.FailAt(string(kind), "must be a currency code in quotes, not %s", shown(raw))
		return money.Currency{}
	}
	return o.lookUp(kind, code, currencyCode)
}

// Amount reads an Amount: more than zero minor units of a known currency.
func (o *Object) Amount(key string) money.Amount {
	outer := o.Field(key)
	kind, raw := outer.oneOfKinds()
	inner := outer.Inner(raw, outer.At(string(kind)))
	if *o.Err == nil && len(inner.Fields) != 1 {
		inner.FailAt("", "must hold exactly one currency code, and has %d", len(inner.Fields))
	}
	if *o.Err != nil {
		return money.Amount{}
	}
	code := slices.Sorted(maps.Keys(inner.Fields))[0]
	c := outer.lookUp(kind, code, money.Currency.AmountCode)
	minor := inner.Integer(code)
	if *o.Err == nil && minor <= 0 {
		inner.FailKind(refusal.InvalidAmount, code, "must be more than 0 minor units, and is %d", minor)
	}
	inner.CheckBounds(code, minor)
	return money.Amount{Code: c.Code, Minor: minor}
}

func (o *Object) oneOfKinds() (kind money.Kind, raw json.RawMessage) {
	if *o.Err != nil {
		return "", nil
	}
	for _, kind := range []money.Kind{money.Crypto, money.Fiat} {
		if raw, ok := o.Fields[string(kind)]; ok && len(o.Fields) == 1 {
			return kind, raw
		}
	}
	o.FailAt("", "must hold exactly one key, either Crypto or Fiat")
	return "", nil
}

func (o *Object) CheckBounds(key string, minor int64) {
	if o.rules != nil && (minor < o.rules.MinAmount || minor > o.rules.MaxAmount) {
		o.FailKind(refusal.InvalidAmount, key, "must be from %d to %d minor units, and is %d", o.rules.MinAmount,
			o.rules.MaxAmount, minor)
	}
}

func currencyCode(c money.Currency) string { return c.Code }

// lookUp returns the currency of a code. It must be of the kind of the key, Crypto or Fiat.
func (o *Object) lookUp(kind money.Kind, code string, shown func(money.Currency) string) money.Currency {
	c, ok := o.rules.find(code, shown)
	if !ok || c.Kind != kind {
		o.FailKind(refusal.UnknownCurrency, string(kind), "names the currency %q, which is not one of %s",
			refusal.Shorten(code), o.rules.Known(kind))
		return money.Currency{}
	}
	return c
}

// find returns the currency for a code in a request, where it is spelled as the interface shows it there.
// Without settings it finds every currency of the registry, in either spelling.
func (s *Rules) find(code string, shown func(money.Currency) string) (money.Currency, bool) {
	if s == nil {
		c, ok := money.ByCode[code]
		return c, ok
	}
	same := func(spelling string) bool {
		return code == spelling || s.CodeCase == "any" && strings.EqualFold(code, spelling)
	}
	for _, c := range s.Currencies {
		if same(shown(c)) || s.FiatCodesIn == "either" && (same(c.Code) || same(c.AmountCode())) {
			return c, true
		}
	}
	return money.Currency{}, false
}

func (s *Rules) Known(kind money.Kind) string {
	if s == nil {
		return money.Codes(money.Registry, kind)
	}
	if codes := money.Codes(s.Currencies, kind); codes != "" {
		return codes
	}
	return "those in the setting currencies, which has none of this kind"
}

// Rules are the settings for how strictly a request is read and for the form of an answer.
type Rules struct {
	*store.Terms
	FirstPage, EmptyPageCount               int64
	DefaultPageSize, MaxPageSize            int64
	PageSizeTooLarge, PageOutOfRange        string
	ListOrder, TagsMatch, PeriodEnd         string
	UnknownInFilter, ReversedPeriod         string
	TimeLayout, FilterTimes, CreatedLayout  string
	AbsentFields                            string
	HistoryOrder, FiatAddress               string
	MerchantIDOf, MerchantIDFormat          string
	MinAmount, MaxAmount, MaxText           int64
	AmountShown, MemoShown, IsTestnet       string
	InvoiceStates                           [3]string // by phase
	InvoiceFinished                         string
	ChoosenUnpaid, ChoosenPaid, DueDateText string
	BalanceRecord, CurrencyBalance          string
	ZeroAmounts, StatsCodes, StatsZeros     string
	RebateCodes, RebateCreated              string
	UnknownKeys, UnknownParameters          string
	EmptyText, ContentType                  string
	CodeCase, FiatCodesIn                   string
}
