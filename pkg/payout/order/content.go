package order

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/pkg/api"
)

// Content is what makes two withdrawals the same: everything that decides who gets how much money.
type Content struct {
	Currency api.Currency `json:"currency"`
	Amount   api.Amount   `json:"amount"`
	Address  string       `json:"address"`
	Memo     string       `json:"memo"`
}

// Same reports whether two contents pay the same. Codes are compared without regard to case, and addresses in
// canonical form.
func (c Content) Same(o Content) bool { return c.Canonical() == o.Canonical() }

// Canonical returns the content in the form that is equal for contents that pay the same.
func (c Content) Canonical() Content {
	c.Currency.Code, c.Amount.Code = strings.ToLower(c.Currency.Code), strings.ToLower(c.Amount.Code)
	c.Address = address.Canonical(c.Address)
	return c
}

// A Key is a hash of a content, for searching: an address or a memo can be too long for an index.
type Key [16]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Key returns a hash that is equal for contents that pay the same.
func (c Content) Key() Key {
	c = c.Canonical()
	b := append(strconv.AppendQuote(make([]byte, 0, 256), UnitText(c.Currency)), ' ')
	b = append(strconv.AppendQuote(b, UnitText(c.Amount.Unit())), ' ')
	b = append(strconv.AppendInt(b, c.Amount.Minor, 10), ' ')
	b = append(strconv.AppendQuote(b, c.Address), ' ')
	sum := sha256.Sum256(strconv.AppendQuote(b, c.Memo))
	return Key(sum[:16])
}

// UnitText returns a currency, or the unit of an amount, as a text such as crypto:Btc.
func UnitText(u api.Currency) string { return strings.ToLower(string(u.Kind)) + ":" + u.Code }
