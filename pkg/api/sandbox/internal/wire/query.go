package wire

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A Query reads the query string like an Object reads a body: it keeps the first error, and Done refuses
// unexpected and repeated parameters.
type Query struct {
	Values url.Values
	rules  *Rules // as of a request
	asked  []string
	lists  []string // of asked, those that may be given more than once
	err    error
}

// NewQuery parses a query string. Without rules it is read strictly.
func NewQuery(raw string, r *Rules) *Query {
	values, err := url.ParseQuery(raw)
	q := &Query{Values: values, rules: r}
	if err != nil {
		q.Fail("The query string cannot be read (%v); encode it as name=value&name=value.", err)
	}
	return q
}

func (q *Query) Fail(format string, args ...any) {
	if q.err == nil {
		q.err = refusal.New(refusal.InvalidQuery, format, args...)
	}
}

func (q *Query) Done() error {
	ignore := q.rules != nil && q.rules.UnknownParameters == "ignore"
	for _, name := range slices.Sorted(maps.Keys(q.Values)) {
		times, short := len(q.Values[name]), refusal.Shorten(name)
		switch asked := slices.Contains(q.asked, name); {
		case !asked && !ignore && len(q.asked) == 0:
			return refusal.New(refusal.InvalidQuery,
				"This path takes no query parameters, and %q was given; leave it out.", short)
		case !asked && !ignore:
			return refusal.New(refusal.InvalidQuery, "There is no query parameter %q here; there is %s.", short,
				strings.Join(q.asked, ", "))
		case times > 1 && !slices.Contains(q.lists, name):
			return refusal.New(refusal.InvalidQuery, "The query parameter %q is given %d times; give it once.", short, times)
		}
	}
	return q.err
}

func (q *Query) Has(name string) bool {
	q.asked = append(q.asked, name)
	return q.Values.Has(name)
}

func (q *Query) Text(name string) string {
	if !q.Has(name) || q.Values.Get(name) == "" {
		q.Fail("The query parameter %s is missing; add %s=... to the address.", name, name)
	}
	return q.Values.Get(name)
}

func (q *Query) TextOr(name, absent string) string {
	if !q.Has(name) {
		return absent
	}
	return q.Values.Get(name)
}

func (q *Query) All(name string) []string {
	q.Has(name)
	q.lists = append(q.lists, name)
	return q.Values[name]
}

func (q *Query) UUID(name string) string {
	text := q.Text(name)
	id, ok := ParseUUID(text)
	if !ok {
		q.Fail("The query parameter %s is %q, which is not a UUID; send the 36-character form.", name,
			refusal.Shorten(text))
	}
	return id
}

func (q *Query) Integer(name string, absent int64) int64 {
	if !q.Has(name) {
		return absent
	}
	n, ok := money.ParseInteger(q.Values.Get(name))
	if !ok || n < 0 {
		q.Fail("The query parameter %s is %q; it must be a whole number that is not negative.", name,
			refusal.Shorten(q.Values.Get(name)))
	}
	return n
}

func (q *Query) Currency(name string) money.Currency {
	code := q.Text(name)
	c, ok := q.rules.find(code, currencyCode)
	if !ok && q.err == nil {
		q.err = refusal.New(refusal.UnknownCurrency,
			"The query parameter %s names the currency %q, which is not one of %s.", name, refusal.Shorten(code),
			q.rules.Known(""))
	}
	return c
}
