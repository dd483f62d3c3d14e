package sandbox

import (
	"math"
	"slices"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

func (s *Server) getResellerBalanceIn(r *request) action {
	id, currency, fiatCode := r.query.UUID("id"), r.query.Currency("currency"), r.choices.readIncludeFiat(r.query)
	return func() (any, error) {
		held, err := s.heldIn(id, store.Balance, currency.Code)
		if err != nil || fiatCode == "" {
			return r.choices.ViewBalance(held, nil), err
		}
		worth := r.choices.Convert(held.Minor, held.Code, fiatCode, false)
		if !worth.IsInt64() {
			return nil, refusal.New(refusal.AmountTooLarge,
				"The balance is worth more than an int64 of minor units of %s can hold; ask without include_fiat.",
				fiatCode)
		}
		return r.choices.ViewBalance(held, &money.Amount{Code: fiatCode, Minor: worth.Int64()}), nil
	}
}

func (s *Server) heldIn(id string, b store.Book, code string) (held money.Amount, err error) {
	_, err = s.ofReseller(id, func(_ *store.Reseller, a *store.Account) any {
		held = money.Amount{Code: code, Minor: a.Books[store.Line{Book: b, Code: code}]}
		return nil
	})
	return held, err
}

func (s *settings) readIncludeFiat(q *wire.Query) string {
	if !q.Has("include_fiat") {
		if s.IncludeFiat == "required" {
			q.Fail("The query parameter include_fiat is missing; add include_fiat=%s.",
				map[string]string{"flag": "true or include_fiat=false", "currency": s.FiatCurrency}[s.IncludeFiatIs])
		}
		return ""
	}
	if s.IncludeFiatIs == "currency" {
		c := q.Currency("include_fiat")
		if c.Kind != money.Fiat {
			q.Fail("The query parameter include_fiat is %q; it must be one of %s.",
				refusal.Shorten(q.Values.Get("include_fiat")), s.Known(money.Fiat))
		}
		return c.Code
	}
	switch value := q.Values.Get("include_fiat"); value {
	case "", "true":
		return s.FiatCurrency
	case "false":
	default:
		q.Fail("The query parameter include_fiat is %q; it must be true or false.", refusal.Shorten(value))
	}
	return ""
}

func (s *Server) getResellerRebateIn(r *request) action {
	id, currency := r.query.UUID("id"), r.query.Currency("currency")
	return func() (any, error) {
		earned, err := s.heldIn(id, store.Rebates, currency.Code)
		return map[string]wire.AmountView{wire.Spelled(currency.Code, r.choices.RebateCodes): wire.ViewAmount(earned)}, err
	}
}

// Fund adds minor units of a currency to the merchant's balance.
func (s *Server) Fund(code string, minor int64) error {
	c, err := s.currency(code)
	if err != nil {
		return err
	}
	if minor <= 0 {
		return refusal.New(refusal.InvalidAmount, "The amount is %d minor units; it must be from 1 to %d.", minor,
			int64(math.MaxInt64))
	}
	return s.store.Fund(c.Code, minor)
}

// Balance returns the merchant's balance in minor units.
func (s *Server) Balance(code string) (minor int64, err error) {
	c, err := s.currency(code)
	if err != nil {
		return 0, err
	}
	err = s.read(func(st *store.State) {
		minor = st.Accounts[st.Merchant].Books[store.Line{Book: store.Balance, Code: c.Code}]
	})
	return minor, err
}

func (s *Server) currency(code string) (money.Currency, error) {
	c := money.ByCode[code]
	if !slices.Contains(s.settings().Currencies, c) {
		return c, refusal.New(refusal.UnknownCurrency, "There is no currency %q; use one of %s.",
			refusal.Shorten(code), s.settings().Known(""))
	}
	return c, nil
}

// Swaps returns every automatic swap so far, in order.
func (s *Server) Swaps() (swaps []Swap) {
	s.read(func(st *store.State) { swaps = slices.Clone(st.Swaps) })
	return swaps
}

// A Swap is one automatic exchange for a Withdrawal: Taken minor units of From became Given of To.
type Swap = store.Swap

// Kind is the kind of a currency, crypto or fiat, spelled as in the interface and in package api.
type Kind string

// The two kinds of currency.
const (
	Crypto Kind = "Crypto"
	Fiat   Kind = "Fiat"
)

// A Currency is one entry of the sandbox's registry.
type Currency struct {
	Code         string // as in a Currency: Btc, Usd
	Kind         Kind
	Decimals     int  // decimals of one whole unit: 2 means 100 minor units
	MemoRequired bool // a withdrawal in it must carry a memo
}

// Currencies returns the complete registry: every currency that the sandbox knows, in the order in which an
// automatic swap uses them.
func Currencies() []Currency {
	return mapped(money.Registry, func(c money.Currency) Currency {
		return Currency{c.Code, Kind(c.Kind), c.Decimals, c.MemoRequired}
	})
}
