// Package views defines how resources of the service and orders of the journal are shown: their columns and
// their JSON.
//
// A column has the name of the interface's field, unless a table needs a shorter name or payout files already
// use another.
package views

import (
	"math/big"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// AmountCell shows an amount in units if the decimals of its currency are known, and otherwise in minor
// units.
func AmountCell(m money.Registry, a api.Amount) render.Cell {
	return render.Amount(a.Minor, a.Code, m.Decimals(a.Code))
}

// Decimal returns a count of minor units as a decimal for JSON, or nil if the decimals are unknown.
func Decimal(minor *big.Int, decimals int) *string {
	if decimals == money.Unknown {
		return nil
	}
	text := money.Decimal(minor, decimals)
	return &text
}

// DecimalOf returns an amount as a decimal for JSON, or nil if its decimals are unknown.
func DecimalOf(m money.Registry, a api.Amount) *string {
	return Decimal(big.NewInt(a.Minor), m.DecimalsOf(a.Kind, a.Code))
}
