package api

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says whether a currency is a crypto or a fiat currency. It is the only key of the service's unions.
type Kind string

// MarshalJSON writes "Crypto" or "Fiat"; any other Kind is an error.
func (k Kind) MarshalJSON() ([]byte, error) {
	_, err := parseKind(string(k))
	return []byte(strconv.Quote(string(k))), err
}

// UnmarshalJSON reads "Crypto" or "Fiat" and refuses anything else.
func (k *Kind) UnmarshalJSON(b []byte) error { return unmarshal(b, k) }

func (k *Kind) read(r *reader) error {
	text, err := r.text()
	if err == nil {
		*k, err = parseKind(text)
	}
	return err
}

// These are the two kinds of currency.
const (
	Crypto Kind = "Crypto"
	Fiat   Kind = "Fiat"
)

// Currency names one currency. In JSON it is an object with one key: {"Crypto":"Btc"} or {"Fiat":"Usd"}.
type Currency struct {
	Kind Kind
	Code string // as the service spells it in a currency: Btc, UsdtErc20, Usd
}

// CryptoCurrency returns the crypto currency with a code, such as Btc.
func CryptoCurrency(code string) Currency { return Currency{Crypto, code} }

// FiatCurrency returns the fiat currency with a code as the interface spells it in a currency, such as Usd.
func FiatCurrency(code string) Currency { return Currency{Fiat, code} }

// String returns the code.
func (c Currency) String() string { return c.Code }

// MarshalJSON writes the one-key object. A Currency without a kind or a code is an error.
func (c Currency) MarshalJSON() ([]byte, error) {
	if err := checkUnion(c.Kind, c.Code); err != nil {
		return nil, fmt.Errorf("currency: %w", err)
	}
	b, err := jsontext.AppendQuote([]byte(`{"`+c.Kind+`":`), c.Code)
	return append(b, '}'), err
}

// UnmarshalJSON reads the one-key object and refuses anything else.
func (c *Currency) UnmarshalJSON(b []byte) error { return unmarshal(b, c) }

func (c *Currency) read(r *reader) error {
	return r.oneKey(func(key []byte) (err error) {
		if c.Kind, err = parseKind(string(key)); err != nil {
			return err
		}
		c.Code, err = r.nonEmptyText()
		return err
	})
}

// Amount is a count of a currency's minor units: 2500 in USD, which has two decimals, is 25 USD. In JSON it
// is an object with one key whose value is an object with one key: {"Fiat":{"USD":2500}}.
type Amount struct {
	Kind  Kind
	Code  string // as the service spells it in an amount: Btc, USD
	Minor int64
}

// CryptoAmount returns an amount in minor units of the crypto currency with a code, such as Btc.
func CryptoAmount(code string, minor int64) Amount { return Amount{Crypto, code, minor} }

// FiatAmount returns an amount in minor units of the fiat currency with a code as the interface spells it in
// an amount, such as USD.
func FiatAmount(code string, minor int64) Amount { return Amount{Fiat, code, minor} }

// Unit returns the kind and the code of the amount.
func (a Amount) Unit() Currency { return Currency{a.Kind, a.Code} }

// String returns the count and the code, such as "2500 USD (minor units)". An amount does not know the
// decimals of its currency, see FormatDecimal.
func (a Amount) String() string {
	return strconv.FormatInt(a.Minor, 10) + " " + a.Code + " (minor units)"
}

// MarshalJSON writes the nested one-key objects. An Amount without a kind or a code is an error.
func (a Amount) MarshalJSON() ([]byte, error) {
	return marshalAmount(a.Kind, a.Code, strconv.FormatInt(a.Minor, 10))
}

func marshalAmount(kind Kind, code, minor string) ([]byte, error) {
	if err := checkUnion(kind, code); err != nil {
		return nil, fmt.Errorf("amount: %w", err)
	}
	b, err := jsontext.AppendQuote([]byte(`{"`+kind+`":{`), code)
	return append(b, ":"+minor+"}}"...), err
}

// UnmarshalJSON reads the nested one-key objects and refuses anything else, such as a number that is not an
// int64 in plain digits.
func (a *Amount) UnmarshalJSON(b []byte) error { return unmarshal(b, a) }

func (a *Amount) read(r *reader) error { return r.amount(&a.Kind, &a.Code, &a.Minor, nil) }

// amount reads the nested one-key objects, with a number that is either small or large.
func (r *reader) amount(kind *Kind, code *string, small *int64, large *Sum) error {
	return r.oneKey(func(key []byte) (err error) {
		if *kind, err = parseKind(string(key)); err != nil {
			return err
		}
		return r.oneKey(func(key []byte) (err error) {
			if len(key) == 0 {
				return errors.New("the currency code is empty")
			}
			*code = r.shared(key)
			if large != nil {
				return large.read(r)
			}
			*small, err = r.integer()
			return err
		})
	})
}

// CodeAmount is one entry of a CodeAmounts. In JSON it is an object with one key: {"USD":2500}.
type CodeAmount struct {
	Code  string
	Minor int64 // in minor units of the currency
}

// MarshalJSON writes the one-key object.
func (a CodeAmount) MarshalJSON() ([]byte, error) { return object(a) }

func (a CodeAmount) entry() (string, any) { return a.Code, a.Minor }

// UnmarshalJSON reads the one-key object and refuses anything else. Amount says which numbers are refused.
func (a *CodeAmount) UnmarshalJSON(b []byte) error { return one[CodeAmounts](b, a) }

// CodeAmounts is the service's object from currency codes to integers in minor units, such as {"USD":2500},
// in the order in which the service wrote it.
type CodeAmounts []CodeAmount

// Of returns the minor units for a code as the service spells it.
func (m CodeAmounts) Of(code string) (minor int64, ok bool) {
	for _, e := range m {
		if e.Code == code {
			return e.Minor, true
		}
	}
	return 0, false
}

// MarshalJSON writes the object.
func (m CodeAmounts) MarshalJSON() ([]byte, error) { return object(m...) }

// UnmarshalJSON reads the object. Amount says which numbers are refused.
func (m *CodeAmounts) UnmarshalJSON(b []byte) error { return unmarshal(b, m) }

func (m *CodeAmounts) read(r *reader) error {
	return entries(r, m, func(a *CodeAmount, code string) (err error) {
		a.Code = code
		a.Minor, err = r.integer()
		return err
	})
}

func checkUnion(kind Kind, code string) error {
	_, err := parseKind(string(kind))
	if err == nil && code == "" {
		err = errors.New("the currency code is empty")
	}
	return err
}

func parseKind(key string) (Kind, error) {
	if kind := Kind(key); kind == Crypto || kind == Fiat {
		return kind, nil
	}
	return "", fmt.Errorf("the key is %.40q: it must be Crypto or Fiat", key)
}
