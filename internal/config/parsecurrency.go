package config

import (
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	yaml "go.yaml.in/yaml/v3"
)

func currencies(p pair, known money.Registry) ([]money.Entry, error) {
	items, err := list(p)
	if err != nil {
		return nil, err
	}
	var entries []money.Entry
	seen := map[string]int{}
	for _, item := range items {
		e, err := currency(item, known)
		if err != nil {
			return nil, err
		}
		code := strings.ToLower(e.Code)
		if first, double := seen[code]; double {
			return nil, problemf(item.line, "%s: the currency %s is given twice, first in line %d: take one away", p.name, e.Code, first)
		}
		seen[code] = item.line
		entries = append(entries, e)
	}
	return entries, nil
}

// currency reads one entry of a list of currencies. Its kind may be left out where the code is known without it.
func currency(item pair, known money.Registry) (money.Entry, error) {
	pairs, err := mapping(item.value, item.name)
	if err != nil {
		return money.Entry{}, err
	}
	e, line := money.Entry{Decimals: money.Unknown}, item.line // of the decimals
	for _, p := range pairs {
		switch p.key {
		case "code":
			if e.Code, err = text(p); err == nil && !money.ValidCode(e.Code) {
				err = problemf(p.line, "%s: %s is not a code: write letters and digits, such as Btc", p.name, quoted(e.Code))
			}
		case "kind":
			var kind string
			if kind, err = text(p); err != nil {
				break
			}
			switch kind {
			case "crypto":
				e.Kind = api.Crypto
			case "fiat":
				e.Kind = api.Fiat
			default:
				err = problemf(p.line, "%s: %s is not a kind: write crypto or fiat", p.name, quoted(kind))
			}
		case "decimals":
			n, e2 := strconv.Atoi(p.value.Value)
			if p.value.Kind != yaml.ScalarNode || p.value.ShortTag() != "!!int" || e2 != nil ||
				strconv.Itoa(n) != p.value.Value || n < 0 || n > api.MaxDecimals {
				err = problemf(p.value.Line, "%s: it is not a number from 0 to %d: write how many decimals the service counts", p.name, api.MaxDecimals)
			}
			e.Decimals, line = n, p.value.Line
		case "memo":
			var memo string
			if memo, err = text(p); err == nil && memo != "required" {
				err = problemf(p.line, "%s: %s is not one of its values: write required, or take it away", p.name, quoted(memo))
			}
			e.MemoRequired = memo == "required"
		case keyFormat:
			if e.AddressFormat, err = text(p); err == nil && !slices.Contains(address.Formats(), e.AddressFormat) {
				err = problemf(p.line, "%s: %s is not a format: write %s", p.name, quoted(e.AddressFormat), oneOfThem(address.Formats()))
			}
		default:
			err = unknownKey(p, "a currency", []string{"code", "kind", "decimals", "memo", keyFormat})
		}
		if err != nil {
			return money.Entry{}, err
		}
	}
	if e.Code == "" {
		return money.Entry{}, problemf(item.line, "%s: an entry has no code: write it as {code: Btc, kind: crypto, decimals: N}", item.name)
	}
	if e.Kind == "" {
		k, ok := known.Lookup(e.Code)
		if !ok {
			return money.Entry{}, problemf(item.line, "%s: %s has no kind: add kind: crypto or kind: fiat", item.name, e.Code)
		}
		e.Kind = k.Kind
	}
	k, builtin := money.NewRegistry().Lookup(e.Code)
	if builtin && k.Kind != e.Kind {
		return money.Entry{}, problemf(item.line, "%s: %s is a %s currency and cannot be made another: use a code of its own", item.name, k.Currency().Code, strings.ToLower(string(k.Kind)))
	}
	if builtin && k.Decimals != money.Unknown && e.Decimals != money.Unknown && e.Decimals != k.Decimals {
		return money.Entry{}, problemf(line, "%s: %s has %d decimals in ISO 4217, and others would move the point of every amount: leave them out", item.name, k.Code, k.Decimals)
	}
	return e, nil
}
