package money

import (
	"cmp"
	"slices"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

// AddressFormat returns the format of a currency's addresses, one of address.Formats, or empty if none is
// set.
func (r Registry) AddressFormat(c api.Currency) string { return r.entry(c).AddressFormat }

// CheckAddress returns a *usage.Error if the currency has an address format in which the address is not
// valid.
func (r Registry) CheckAddress(c api.Currency, text string) error {
	if err := address.Check(r.AddressFormat(c), text, c.Code); err != nil {
		return usage.Errorf("%v", err)
	}
	return nil
}

// CheckMemo returns a *usage.Error if a memo cannot be sent with an address of the currency's format.
func (r Registry) CheckMemo(c api.Currency, text, memo string) error {
	if err := address.CheckMemo(r.AddressFormat(c), text, memo); err != nil {
		return usage.Errorf("%v", err)
	}
	return nil
}

// AddressMistake says what is wrong with an address that a person may insist on: one that nobody means or, of a
// currency without a format, one with the unmistakable shape of an address without being one.
func (r Registry) AddressMistake(c api.Currency, text string) string {
	switch r.AddressFormat(c) {
	case "":
		return address.Mistake(text)
	case address.None:
		return ""
	}
	return address.Unmeant(text)
}

// AddressWarning says what is doubtful about an address of a currency without a format. It is empty if
// nothing is.
func (r Registry) AddressWarning(c api.Currency, text string) string {
	if r.AddressFormat(c) != "" {
		return ""
	}
	return address.Warning(text)
}

// MaxExact is the largest number of which spreadsheets keep every digit: they write zeros after the 15th.
const MaxExact = 1e15 - 1

// Rounded reports whether a text is a number as a spreadsheet writes one that is too long for it.
func Rounded(text string) bool {
	return len(text) > 15 && strings.Trim(text, "0123456789") == "" && strings.Trim(text[15:], "0") == ""
}

// RoundedWhy says what is wrong with what is Rounded, after its name.
const RoundedWhy = "has only zeros after its 15th digit, as a spreadsheet writes a long number"

// RoundedHint says what to do about an order id that is Rounded. A new id for the same payment could pay it twice.
const RoundedHint = "take it from a file that no spreadsheet has saved; if it is right all the same, add --allow-bad-address"

// RoundedID says what is wrong with such an order id.
func RoundedID(id string) string { return "the order id " + id + " " + RoundedWhy }

// CheckAllowed returns an error if an address is valid in no format of the registry. It accepts any address
// unless every currency added by With has a format.
func (r Registry) CheckAllowed(text string) error {
	var formats []string
	for _, e := range r.own {
		if address.Check(e.AddressFormat, text, e.Code) == nil { // nil without a format too
			return nil
		}
		formats = append(formats, e.AddressFormat)
	}
	if len(formats) == 0 {
		return nil
	}
	why := cmp.Or(address.Warning(text), address.Mistake(text))
	if is := address.Detect(text); why == "" && is != "" {
		why = "it is " + is + ": remove it, or say which currency has such addresses: till currency set CODE --address-format FORMAT"
	}
	formats = slices.Compact(slices.Sorted(slices.Values(formats)))
	return usage.Errorf("%s is valid in no format of the profile's currencies: %s", quote(text),
		cmp.Or(why, "it fits none of "+strings.Join(formats, ", ")+": copy it again from where it came from"))
}
