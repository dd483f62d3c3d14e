package payout

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// A Currency is what you know of a currency beyond the service's interface.
type Currency struct {
	Code         string   // as the service writes it in an amount, such as Btc
	Kind         api.Kind // api.Crypto or api.Fiat
	Decimals     int      // 0 to api.MaxDecimals; -1: unknown, so amounts are shown in minor units
	MemoRequired bool     // a withdrawal must have a memo
	// AddressFormat is the format of addresses, such as bitcoin or ethereum; empty: any. With a format, a
	// mistyped address is refused before money is lost.
	AddressFormat string
}

// registryOf returns the currencies that are known without additions, and those of added. An added currency
// replaces one with the same code.
func registryOf(added []Currency) money.Registry {
	entries := make([]money.Entry, len(added))
	for i, c := range added {
		entries[i] = money.Entry(c)
	}
	return money.NewRegistry().With(entries...)
}

// checkCurrencies refuses an addition that says what none can have.
func checkCurrencies(added []Currency) error {
	for _, c := range added {
		if c.Decimals < money.Unknown || c.Decimals > api.MaxDecimals || !slices.Contains(append(address.Formats(), ""), c.AddressFormat) {
			return failed(Invalid, "the currency %q cannot have %d decimals and the address format %q", c.Code, c.Decimals, c.AddressFormat).
				hint("give it 0 to 18 decimals, or -1 if they are unknown, and a format that till currency set knows, or none")
		}
	}
	return nil
}

// Limits restrict amounts and addresses. The zero Limits allow everything but addresses that look mistyped.
// As soon as there is a limit of a kind, a currency without one is refused, unless it is Unlimited.
type Limits struct {
	MaxPerWithdrawal []api.Amount   `json:"max_per_withdrawal,omitempty"` // the largest amount of one withdrawal, by unit
	MaxPerRun        []api.Amount   `json:"max_per_run,omitempty"`        // the largest total of one run, by unit
	MaxPerDay        []api.Amount   `json:"max_per_day,omitempty"`        // the most that may be sent in a day, by unit
	MaxPerMonth      []api.Amount   `json:"max_per_month,omitempty"`      // the most that may be sent in a month, by unit
	Unlimited        []api.Currency `json:"unlimited,omitempty"`          // what may be withdrawn without a limit
	// the only addresses that may be paid; empty: any
	AllowAddresses []string `json:"allow_addresses,omitempty"`
	// also addresses with the shape of a known kind and a wrong checksum or length; the limits of a plan hold
	// for its Apply
	AllowBadAddress bool `json:"allow_bad_address,omitempty"`
}

// check refuses payments that break the limits, as one run, or that cannot arrive.
func (l Limits) check(m money.Registry, requests iter.Seq[api.CreateWithdrawal]) error {
	t := money.Limits(l).Tally(m)
	for r := range requests {
		field, err := "address", m.CheckAddress(r.Currency, r.Address)
		if err == nil {
			field, err = "memo", m.CheckMemo(r.Currency, r.Address, r.Memo)
		}
		if err == nil && m.LacksMemo(r.Currency, r.Address, r.Memo) {
			err = fmt.Errorf("a withdrawal in %s needs one, or it may never arrive", r.Currency.Code)
		}
		for _, f := range [...][2]string{{"address", r.Address}, {"memo", r.Memo}} {
			if err == nil && sheet.IsSpoiled(f[1]) {
				field, err = f[0], fmt.Errorf("a spreadsheet has changed it to %s", sheet.Quote(f[1]))
			}
		}
		if err != nil {
			return failed(Invalid, "order %s: its %s: %w", r.ExternalOrderID, field, err).about(r.ExternalOrderID, "").
				hint("ask the receiver for the " + field + " again")
		}
		if err := t.Add(r); err != nil {
			return overLimit(r.ExternalOrderID, err)
		}
	}
	if all := t.Done(); len(all) > 0 {
		return overLimit("", all[0])
	}
	return nil
}

func overLimit(orderID string, err error) error {
	limit, ok := errors.AsType[*money.LimitError](err)
	if !ok {
		return err
	}
	return refused(limit.Rule, "%w", limit).about(orderID, "").hint(limit.Advice, limit.Command...)
}
