package sandbox

import (
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

// How the values of settings are read, one function for each sort of value.

// choice is a setting with a fixed list of values; the first is the default.
func choice(name, values, meaning string, field func(*settings) *string) definition {
	allowed := strings.Split(values, "|")
	return definition{Setting{name, allowed[0], values, meaning}, func(s *settings, value string) error {
		if !slices.Contains(allowed, value) {
			return fmt.Errorf("use %s", strings.Join(allowed, " or "))
		}
		*field(s) = value
		return nil
	}}
}

func number(name, def string, low, high int64, meaning string, field func(*settings) *int64) definition {
	values := fmt.Sprintf("%d to %d", low, high)
	if high == math.MaxInt64 {
		values = fmt.Sprintf("from %d", low)
	}
	return definition{Setting{name, def, values, meaning}, func(s *settings, value string) error {
		n, ok := money.ParseInteger(value)
		if !ok || n < low || n > high {
			return fmt.Errorf("use a whole number from %d to %d", low, high)
		}
		*field(s) = n
		return nil
	}}
}

// duration takes a time from a millisecond to a limit, which is given as a person
// would write it.
func duration(name, def, limit, meaning string, field func(*settings) *time.Duration) definition {
	high, _ := time.ParseDuration(limit)
	return definition{Setting{name, def, "1ms to " + limit, meaning}, func(s *settings, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < time.Millisecond || d > high {
			return fmt.Errorf("use a time from 1ms to %s, such as 500ms or 2s", limit)
		}
		*field(s) = d
		return nil
	}}
}

// unlimited is the value none of a limit.
const unlimited = math.MaxInt64

// limit is a number that may also be none, which is the default.
func limit(name string, meaning string, field func(*settings) *int64) definition {
	return definition{Setting{name, "none", "none, or from 1", meaning}, func(s *settings, value string) error {
		n, ok := money.ParseInteger(value)
		if value == "none" {
			n, ok = unlimited, true
		}
		if !ok || n < 1 {
			return fmt.Errorf("use none or a whole number from 1")
		}
		*field(s) = n
		return nil
	}}
}

func text(name, def, meaning string, field func(*settings) *string) definition {
	return definition{Setting{name, def, "any text", meaning}, func(s *settings, value string) error {
		*field(s) = value
		return nil
	}}
}

// layout takes a Go time layout that loses nothing down to the second: a list
// could not be filtered by times that it does not show.
func layout(name, meaning string, field func(*settings) *string) definition {
	return definition{Setting{name, "2006-01-02T15:04:05", "a Go time layout", meaning}, func(s *settings, value string) error {
		sample := time.Date(2031, 11, 23, 17, 48, 59, 0, time.UTC)
		back, err := time.ParseInLocation(value, sample.Format(value), time.UTC)
		if err != nil || !back.Equal(sample) {
			return fmt.Errorf("it does not name the date and the time down to the second; use a layout such as 2006-01-02T15:04:05")
		}
		*field(s) = value
		return nil
	}}
}

func names(field func(*settings) *[3]string) func(*settings, string) error {
	return func(s *settings, value string) error {
		parts := strings.Split(value, ",")
		if len(parts) != 3 || !refusal.IsName(parts[0]) || !refusal.IsName(parts[1]) || !refusal.IsName(parts[2]) {
			return fmt.Errorf("use three names of letters, digits, - and _, separated by commas")
		}
		*field(s) = [3]string(parts)
		return nil
	}
}

// setInvoiceStatuses wants three different names; states may share one.
func setInvoiceStatuses(s *settings, value string) error {
	if err := names(func(s *settings) *[3]string { return &s.InvoiceStatuses })(s, value); err != nil {
		return err
	}
	if n := s.InvoiceStatuses; n[0] == n[1] || n[1] == n[2] || n[0] == n[2] {
		return fmt.Errorf("use three different names")
	}
	return nil
}

func setFlow(s *settings, value string) (err error) {
	s.Flow, err = store.ParseFlow(value)
	return err
}

// setPace comes after setFlow: its steps are some of the flow's.
func setPace(s *settings, value string) (err error) {
	s.Pace, err = store.ParsePace(value, &s.Flow)
	return err
}

func setExpiry(s *settings, value string) error {
	if value == "never" {
		return nil
	}
	d, ok := store.ParseWait(value)
	if !ok {
		return fmt.Errorf("use never, or a duration of whole seconds such as 15m, 36h or 7d")
	}
	s.InvoiceExpiry = d
	return nil
}

func setFiatCurrency(s *settings, value string) error {
	c, ok := money.ByCode[value]
	if !ok || c.Kind != money.Fiat {
		return fmt.Errorf("use one of %s", money.Codes(money.Fiat))
	}
	s.fiatCurrency = c.Code
	return nil
}

func setRebate(s *settings, value string) error {
	n, ok := money.ParseDecimal(value, 4)
	if !ok || n > 100*store.PercentScale {
		return fmt.Errorf("use a number from 0 to 100 with at most four decimals, such as 1.25")
	}
	s.RebatePercent = n
	return nil
}

// setCurrencies takes a part of the registry, in any order.
func setCurrencies(s *settings, value string) error {
	s.Currencies = nil
	for code := range strings.SplitSeq(value, ",") {
		c := money.ByCode[code]
		if c.Code != code || code == "" || slices.Contains(s.Currencies, c) {
			return fmt.Errorf("use codes of %s, separated by commas, each once", money.Codes(""))
		}
		s.Currencies = append(s.Currencies, c)
	}
	return nil
}

func setPaidIn(s *settings, value string) error {
	s.PaidIn = value
	if value == "invoice" {
		s.PaidIn = ""
	} else if c := money.ByCode[value]; c.Code != value || value == "" {
		return fmt.Errorf("use invoice or one of %s", money.Codes(""))
	}
	return nil
}

func setInviteLabel(s *settings, value string) error {
	if value != "" && !wire.IsPlain(value) {
		return fmt.Errorf("it is blank or holds control characters; use plain text, or nothing at all")
	}
	s.InviteLabel = value
	return nil
}

// setRate turns a rate into the value of one minor unit. Rates have up to nine
// decimals and so do currencies, hence 18 decimals hold every value exactly.
func setRate(s *settings, c money.Currency, value string) error {
	rate, ok := money.ParseDecimal(value, 9)
	if !ok || rate == 0 || rate >= 1_000_000_000_000_000_000 {
		return fmt.Errorf("use a number above 0 with at most nine digits and nine decimals, such as 0.25")
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(9-c.Decimals)), nil)
	s.UnitValue[c.Code] = scale.Mul(scale, big.NewInt(rate))
	return nil
}

func setError(rule *refusal.Rule, value string) error {
	status, code, found := strings.Cut(value, ":")
	st, ok1 := money.ParseInteger(status)
	n, ok2 := money.ParseInteger(code)
	if !found || !ok1 || !ok2 || st < 400 || st > 599 || n < math.MinInt32 || n > math.MaxInt32 {
		return fmt.Errorf("use STATUS:CODE with an HTTP status from 400 to 599, such as 422:2004")
	}
	rule.Status, rule.Code = int(st), int(n)
	return nil
}
