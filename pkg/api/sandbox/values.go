package sandbox

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// parsed returns a setting whose value parse converts for the field. If parse refuses the value, the error is
// the advice.
func parsed[T any](setting Setting, field *T, advice string, parse func(value string) (T, bool)) definition {
	return definition{setting, func(value string) error {
		v, ok := parse(value)
		if !ok {
			return errors.New(advice)
		}
		*field = v
		return nil
	}}
}

// choice returns a setting with a fixed list of values; the first is the default.
func choice(name, values, meaning string, field *string) definition {
	allowed := strings.Split(values, "|")
	return parsed(Setting{name, allowed[0], values, meaning}, field, "use "+strings.Join(allowed, " or "),
		func(value string) (string, bool) { return value, slices.Contains(allowed, value) })
}

func number(name, def string, low, high int64, meaning string, field *int64) definition {
	values := fmt.Sprintf("%d to %d", low, high)
	advice := "use a whole number from " + values
	if high == math.MaxInt64 {
		values = fmt.Sprintf("from %d", low)
	}
	return parsed(Setting{name, def, values, meaning}, field, advice, func(value string) (int64, bool) {
		n, ok := money.ParseInteger(value)
		return n, ok && n >= low && n <= high
	})
}

// duration returns a setting for a time from a millisecond to a limit. The limit is in the form that messages
// show.
func duration(name, def, limit, meaning string, field *time.Duration) definition {
	high, _ := time.ParseDuration(limit)
	return parsed(Setting{name, def, "1ms to " + limit, meaning}, field,
		"use a time from 1ms to "+limit+", such as 500ms or 2s",
		func(value string) (time.Duration, bool) {
			d, err := time.ParseDuration(value)
			return d, err == nil && d >= time.Millisecond && d <= high
		})
}

const unlimited = math.MaxInt64

// limit returns a setting for a number that may also be none, which is the default.
func limit(name string, meaning string, field *int64) definition {
	return parsed(Setting{name, "none", "none, or from 1", meaning}, field, "use none or a whole number from 1",
		func(value string) (int64, bool) {
			if value == "none" {
				return unlimited, true
			}
			n, ok := money.ParseInteger(value)
			return n, ok && n >= 1
		})
}

func text(name, def, meaning string, field *string) definition {
	return parsed(Setting{name, def, "any text", meaning}, field, "",
		func(value string) (string, bool) { return value, true })
}

// layout returns a setting for a Go time layout that keeps the time down to the second: a list cannot be
// filtered by times that it does not show.
func layout(name, meaning string, field *string) definition {
	return parsed(Setting{name, "2006-01-02T15:04:05", "a Go time layout", meaning}, field,
		"it does not name the date and the time down to the second; use a layout such as 2006-01-02T15:04:05",
		func(value string) (string, bool) {
			sample := time.Date(2031, 11, 23, 17, 48, 59, 0, time.UTC)
			back, err := time.ParseInLocation(value, sample.Format(value), time.UTC)
			return value, err == nil && back.Equal(sample)
		})
}

// names returns a setting of three names, one for each phase of an invoice.
func names(setting Setting, field *[3]string, distinct bool) definition {
	return definition{setting, func(value string) error {
		parts := strings.Split(value, ",")
		if len(parts) != 3 || !refusal.IsName(parts[0]) || !refusal.IsName(parts[1]) || !refusal.IsName(parts[2]) {
			return fmt.Errorf("use three names of letters, digits, - and _, separated by commas")
		}
		if distinct && (parts[0] == parts[1] || parts[1] == parts[2] || parts[0] == parts[2]) {
			return fmt.Errorf("use three different names")
		}
		*field = [3]string(parts)
		return nil
	}}
}

func parseExpiry(value string) (time.Duration, bool) {
	if value == "never" {
		return 0, true
	}
	return store.ParseWait(value)
}

func parseFiatCurrency(value string) (string, bool) {
	c := money.ByCode[value]
	return c.Code, c.Kind == money.Fiat
}

func parseRebate(value string) (int64, bool) {
	n, ok := money.ParseDecimal(value, 4)
	return n, ok && n <= 100*store.PercentScale
}

func parseCurrencies(value string) (all []money.Currency, ok bool) {
	for code := range strings.SplitSeq(value, ",") {
		c := money.ByCode[code]
		if c.Code != code || code == "" || slices.Contains(all, c) {
			return nil, false
		}
		all = append(all, c)
	}
	return all, true
}

func parsePaidIn(value string) (string, bool) {
	if value == "invoice" {
		return "", true
	}
	return value, value != "" && money.ByCode[value].Code == value
}

func parseInviteLabel(value string) (string, bool) { return value, value == "" || wire.IsPlain(value) }

// setRate converts a rate to the value of one minor unit. Rates and currencies have at most nine decimals, so
// 18 decimals hold every value exactly.
func (s *settings) setRate(c money.Currency, value string) error {
	rate, ok := money.ParseDecimal(value, 9)
	if !ok || rate == 0 || rate >= 1_000_000_000_000_000_000 {
		return fmt.Errorf("use a number above 0 with at most nine digits and nine decimals, such as 0.25")
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(9-c.Decimals)), nil)
	s.UnitValue[c.Code] = scale.Mul(scale, big.NewInt(rate))
	return nil
}

func (s *settings) setError(rule refusal.Rule, value string) error {
	status, code, found := strings.Cut(value, ":")
	st, ok1 := money.ParseInteger(status)
	n, ok2 := money.ParseInteger(code)
	if !found || !ok1 || !ok2 || st < 400 || st > 599 || n < math.MinInt32 || n > math.MaxInt32 {
		return fmt.Errorf("use STATUS:CODE with an HTTP status from 400 to 599, such as 422:2004")
	}
	s.errors[rule.Kind] = refusal.Rule{Kind: rule.Kind, Status: int(st), Code: int(n)}
	return nil
}
