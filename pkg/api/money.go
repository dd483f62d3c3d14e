package api

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind says whether a currency is a crypto currency or a fiat one. It is the single key of the service's unions.
type Kind string

// The two kinds of currency.
const (
	Crypto Kind = "Crypto"
	Fiat   Kind = "Fiat"
)

// Currency names one currency. In JSON it is an object with one key: {"Crypto":"Btc"} or {"Fiat":"Usd"}.
type Currency struct {
	Kind Kind
	Code string // as the service spells it in a currency: Btc, UsdtErc20, Usd
}

// String returns the code.
func (c Currency) String() string { return c.Code }

// MarshalJSON writes the one-key object. A Currency without a kind or a code is an error.
func (c Currency) MarshalJSON() ([]byte, error) { return json.Marshal(c) }

// MarshalJSONTo is MarshalJSON for the encoder that this package uses.
func (c Currency) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := checkUnion(c.Kind, c.Code); err != nil {
		return fmt.Errorf("currency: %w", err)
	}
	return writeTokens(enc, jsontext.BeginObject, jsontext.String(string(c.Kind)), jsontext.String(c.Code), jsontext.EndObject)
}

// UnmarshalJSON reads the one-key object and refuses anything else.
func (c *Currency) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, c) }

// UnmarshalJSONFrom is UnmarshalJSON for the decoder that this package uses.
func (c *Currency) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var got Currency
	err := oneKey(dec, "currency", func(kind string) error {
		var err error
		if got.Kind, err = parseKind(kind); err != nil {
			return err
		}
		got.Code, err = nonEmptyString(dec, "currency code")
		return err
	})
	if err != nil {
		return err
	}
	*c = got
	return nil
}

// Amount is a count of a currency's minor units: 2500 in USD, which has two decimals, is 25 USD. In JSON it is an
// object with one key whose value is an object with one key: {"Fiat":{"USD":2500}}.
type Amount struct {
	Kind  Kind
	Code  string // as the service spells it in an amount: Btc, USD
	Minor int64
}

// String returns the count and the code, such as "2500 USD (minor units)". Decimals are the currency's, which an
// amount does not know: see FormatDecimal.
func (a Amount) String() string {
	return strconv.FormatInt(a.Minor, 10) + " " + a.Code + " (minor units)"
}

// MarshalJSON writes the nested one-key objects. An Amount without a kind or a code is an error.
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(a) }

// MarshalJSONTo is MarshalJSON for the encoder that this package uses.
func (a Amount) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := checkUnion(a.Kind, a.Code); err != nil {
		return fmt.Errorf("amount: %w", err)
	}
	return writeTokens(enc, jsontext.BeginObject, jsontext.String(string(a.Kind)),
		jsontext.BeginObject, jsontext.String(a.Code), jsontext.Int(a.Minor), jsontext.EndObject, jsontext.EndObject)
}

// UnmarshalJSON reads the nested one-key objects and refuses anything else, above all a number that is not an int64
// written in plain digits.
func (a *Amount) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, a) }

// UnmarshalJSONFrom is UnmarshalJSON for the decoder that this package uses.
func (a *Amount) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var got Amount
	err := oneKey(dec, "amount", func(kind string) error {
		var err error
		if got.Kind, err = parseKind(kind); err != nil {
			return err
		}
		return oneKey(dec, "amount", func(code string) error {
			if code == "" {
				return errors.New("amount: the currency code is empty")
			}
			got.Code = code
			got.Minor, err = integer(dec, "amount")
			return err
		})
	})
	if err != nil {
		return err
	}
	*a = got
	return nil
}

// CodeAmount is one entry of a CodeAmounts.
type CodeAmount struct {
	Code  string
	Minor int64
}

// CodeAmounts is the service's object of a currency code to an integer in minor units, such as {"USD":2500}, in the
// order in which the service wrote it.
type CodeAmounts []CodeAmount

// Of returns the minor units under a code, spelled as the service spells it.
func (m CodeAmounts) Of(code string) (minor int64, ok bool) {
	for _, e := range m {
		if e.Code == code {
			return e.Minor, true
		}
	}
	return 0, false
}

// MarshalJSON writes the object.
func (m CodeAmounts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range m {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, e.Code); err != nil {
			return nil, err
		}
		b = strconv.AppendInt(append(b, ':'), e.Minor, 10)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads the object; see Amount for what is refused.
func (m *CodeAmounts) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, m) }

// UnmarshalJSONFrom is UnmarshalJSON for the decoder that this package uses.
func (m *CodeAmounts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var got CodeAmounts
	err := eachKey(dec, "amounts", func(code string) error {
		minor, err := integer(dec, "amount of "+strconv.Quote(code))
		got = append(got, CodeAmount{code, minor})
		return err
	})
	if err != nil {
		return err
	}
	*m = got
	return nil
}

func checkUnion(kind Kind, code string) error {
	if _, err := parseKind(string(kind)); err != nil {
		return err
	}
	if code == "" {
		return errors.New("the currency code is empty")
	}
	return nil
}

func parseKind(key string) (Kind, error) {
	switch kind := Kind(key); kind {
	case Crypto, Fiat:
		return kind, nil
	}
	return "", fmt.Errorf("the key is %.40q: it must be Crypto or Fiat", key)
}
