package sandbox

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/till/internal/near"
	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A Setting is one choice that the sandbox makes where the interface is silent.
type Setting struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"` // the allowed values
	Meaning string `json:"meaning"`
}

//go:embed settings.txt
var settingsText string

var allSettings = sync.OnceValue(func() (all []Setting) {
	var codes, rates, errors []string
	for _, c := range money.Registry {
		codes = append(codes, c.Code)
		rates = append(rates, c.Code+"="+c.Rate)
	}
	for _, rule := range refusal.Rules {
		errors = append(errors, fmt.Sprintf("%s=%d:%d", rule.Kind, rule.Status, rule.Code))
	}
	computed := map[string][]string{"currencies": codes, "rates": rates, "errors": errors}
	for line := range strings.Lines(settingsText) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			all[len(all)-1].Meaning = strings.TrimSpace(line)
		default:
			name, rest, _ := strings.Cut(line, " = ")
			value, values, _ := strings.Cut(rest, "  (")
			all = append(all, Setting{Name: name, Default: cmp.Or(value, strings.Join(computed[name], ",")),
				Values: strings.TrimSuffix(values, ")")})
		}
	}
	return all
})

// Settings returns every setting.
func Settings() []Setting { return slices.Clone(allSettings()) }

// settings holds the choices in the form that the handlers use, each with the part of the sandbox that it
// concerns. A field has the name of its setting: FirstPage is first_page. Settings never change: others are another
// value.
type settings struct {
	wire.Rules
	ResellerAuth, ResellerWithdraws string
	NeedlessMemo, DueDateIn         string
	MinItems, MaxItems              int64
	InvoiceFilter, InvoiceList      string
	InviteURL, InvitesListed        string
	IncludeFiat, IncludeFiatIs      string
	FiatCurrency                    string
	MaxBody, RequestsPerSecond      int64
	Envelope                        string

	errors map[refusal.Kind]refusal.Rule
	values map[string]string // of every setting, by name
}

func newSettings(values map[string]string) (*settings, error) {
	s := &settings{errors: map[refusal.Kind]refusal.Rule{}, values: map[string]string{}}
	s.Terms = &store.Terms{Market: money.Market{UnitValue: map[string]*big.Int{}}}
	for _, d := range allSettings() {
		value, given := values[d.Name]
		if !given {
			value = d.Default
		}
		if err := s.set(d, value); err != nil {
			return nil, fmt.Errorf("setting %s cannot be %q: %w", d.Name, value, err)
		}
		s.values[d.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := s.values[name]; !known {
			advice := cmp.Or(near.Question(name, "", slices.Sorted(maps.Keys(s.values))), "till sandbox settings lists all")
			return nil, fmt.Errorf("there is no setting %q; %s", refusal.Shorten(name), advice)
		}
	}
	if s.DefaultPageSize > s.MaxPageSize {
		return nil, fmt.Errorf("setting default_page_size (%d) is larger than max_page_size (%d); raise the one or lower the other",
			s.DefaultPageSize, s.MaxPageSize)
	}
	if s.MinAmount > s.MaxAmount {
		return nil, fmt.Errorf("setting min_amount (%d) is larger than max_amount (%d); raise the one or lower the other",
			s.MinAmount, s.MaxAmount)
	}
	return s, nil
}

func (s *Server) settings() *settings { return s.live.Load() }

// Set changes settings while the sandbox runs: all of values at once, or none if one of them is wrong.
// Settings lists the names. What was made before stays as it is. Withdrawals and invoices move on by the new
// withdrawal_pace and invoice_expiry, counted from the times that they have.
func (s *Server) Set(values map[string]string) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	all := maps.Clone(s.settings().values)
	maps.Copy(all, values)
	next, err := newSettings(all)
	if err != nil {
		return refusal.New(refusal.InvalidBody, "%v.", err)
	}
	return s.store.Follow(next.Terms, func() { s.live.Store(next) })
}

func (s *Server) controlSet(r *request) action {
	values := r.fields().AllTexts()
	return func() (any, error) {
		err := s.Set(values)
		return s.settings().values, err
	}
}

// set reads the value of a setting. If it refuses the value, the error is the advice.
func (s *settings) set(d Setting, value string) (err error) {
	ok := true
	switch d.Name {
	case "withdrawal_flow":
		s.Flow, err = store.ParseFlow(value)
	case "withdrawal_pace": // after the flow
		s.Pace, err = store.ParsePace(value, &s.Flow)
	case "invoice_expiry":
		if value != "never" {
			s.InvoiceExpiry, ok = store.ParseWait(value)
		}
	case "paid_in":
		if value != "invoice" {
			s.PaidIn, ok = value, value != "" && money.ByCode[value].Code == value
		}
	case "invite_label":
		s.InviteLabel, ok = value, value == "" || wire.IsPlain(value)
	case "rebate_percent":
		s.RebatePercent, ok = money.ParseDecimal(value, 4)
		ok = ok && s.RebatePercent <= 100*store.PercentScale
	case "fiat_currency":
		c := money.ByCode[value]
		s.FiatCurrency, ok = c.Code, c.Kind == money.Fiat
	case "currencies":
		s.Currencies, ok = parseCurrencies(value)
	case "rates":
		err = setEach(d.Default, value, s.setRate)
	case "errors":
		err = setEach(d.Default, value, s.setError)
	default:
		ok = setField(s.field(d.Name), d.Values, value)
	}
	if !ok {
		return errors.New("use " + allowed(d.Values))
	}
	return err
}

// allowed says in a sentence which values a setting may have.
func allowed(values string) string {
	return strings.NewReplacer("|", " or ", "from 1", "a whole number from 1",
		"of the registry", "of the registry ("+money.Codes(money.Registry, "")+")",
		"any text, also none", "plain text, or nothing at all",
		"names", "names of letters, digits, - and _, separated by commas",
		"a Go time layout", "a Go layout of the date and the time down to the second, such as 2006-01-02T15:04:05",
	).Replace(values)
}

// field returns a pointer to the field of a setting.
func (s *settings) field(setting string) any {
	name := strings.ReplaceAll(setting, "_", "")
	isIt := func(field string) bool { return strings.EqualFold(field, name) }
	return reflect.ValueOf(s).Elem().FieldByNameFunc(isIt).Addr().Interface()
}

// setField reads a value of the kind that the field and the allowed values tell.
func setField(field any, values, value string) (ok bool) {
	switch field := field.(type) {
	case *string:
		switch *field = value; values {
		case "any text":
			return true
		case "a Go time layout":
			return keepsSeconds(value)
		}
		return slices.Contains(strings.Split(values, "|"), value)
	case *int64:
		if *field = unlimited; values == "none, or from 1" && value == "none" {
			return true
		}
		low, high := int64(1), int64(math.MaxInt64)
		_, _ = fmt.Sscanf(values, "%d to %d", &low, &high) // otherwise there is no limit
		*field, ok = money.ParseInteger(value)
		return ok && *field >= low && *field <= high
	case *time.Duration:
		_, limit, _ := strings.Cut(values, " to ")
		high, _ := time.ParseDuration(limit)
		var err error
		*field, err = time.ParseDuration(value)
		return err == nil && *field >= time.Millisecond && *field <= high
	case *[3]string: // one for each phase of an invoice
		parts := strings.Split(value, ",")
		if len(parts) != 3 || !refusal.IsName(parts[0]) || !refusal.IsName(parts[1]) || !refusal.IsName(parts[2]) {
			return false
		}
		*field = [3]string(parts)
		slices.Sort(parts)
		return values != "three different names" || len(slices.Compact(parts)) == 3
	}
	return false // not reached: these are all kinds of fields
}

const unlimited = math.MaxInt64

// keepsSeconds reports whether a Go time layout keeps the time down to the second: a list cannot be filtered by
// times that it does not show.
func keepsSeconds(layout string) bool {
	sample := time.Date(2031, 11, 23, 17, 48, 59, 0, time.UTC)
	back, err := time.ParseInLocation(layout, sample.Format(layout), time.UTC)
	return err == nil && back.Equal(sample)
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

// setEach sets the entries of a setting that is a map. What a value does not name has its default.
func setEach(byDefault, value string, set func(key, value string) error) error {
	defaults, seen := strings.Split(byDefault, ","), map[string]int{}
	for _, entry := range append(slices.Clone(defaults), strings.Split(value, ",")...) {
		key, one, found := strings.Cut(entry, "=")
		if seen[key]++; seen[key] > 2 { // its default, and what is given
			return fmt.Errorf("%s is given twice; leave one out", key)
		}
		if !found || !slices.ContainsFunc(defaults, func(entry string) bool { return strings.HasPrefix(entry, key+"=") }) {
			return fmt.Errorf("%q is not one of its entries; write it like %s", refusal.Shorten(entry), defaults[0])
		}
		if err := set(key, one); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// setRate converts a rate to the value of one minor unit. Rates and currencies have at most nine decimals, so
// 18 decimals hold every value exactly.
func (s *settings) setRate(code, value string) error {
	rate, ok := money.ParseDecimal(value, 9)
	if !ok || rate == 0 || rate >= 1_000_000_000_000_000_000 {
		return fmt.Errorf("use a number above 0 with at most nine digits and nine decimals, such as 0.25")
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(9-money.ByCode[code].Decimals)), nil)
	s.UnitValue[code] = scale.Mul(scale, big.NewInt(rate))
	return nil
}

func (s *settings) setError(kind, value string) error {
	status, code, found := strings.Cut(value, ":")
	st, ok1 := money.ParseInteger(status)
	n, ok2 := money.ParseInteger(code)
	if !found || !ok1 || !ok2 || st < 400 || st > 599 || n < math.MinInt32 || n > math.MaxInt32 {
		return fmt.Errorf("use STATUS:CODE with an HTTP status from 400 to 599, such as 422:2004")
	}
	k := refusal.Kind(kind)
	s.errors[k] = refusal.Rule{Kind: k, Status: int(st), Code: int(n)}
	return nil
}
