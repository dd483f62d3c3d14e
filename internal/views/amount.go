// Package views says how resources of the service and orders of the journal are shown: the columns of each, and its JSON.
//
// A column has the interface's name of the field, unless a table needs a shorter one or a payout file already has another.
package views

import (
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// AmountCell shows an amount in units where its currency's decimals are known, and in minor units otherwise.
func AmountCell(m money.Registry, a api.Amount) render.Cell {
	return render.Amount(a.Minor, a.Code, m.Decimals(a.Code))
}
