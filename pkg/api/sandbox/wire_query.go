package sandbox

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
)

// A query reads the query string the way an object reads a body: what is wrong
// first is kept, and done refuses unexpected parameters.
type query struct {
	values url.Values
	rules  *rules // as of a request
	asked  []string
	err    error
}

func newQuery(raw string, r *rules) *query {
	values, err := url.ParseQuery(raw)
	q := &query{values: values, rules: r}
	if err != nil {
		q.fail("The query string cannot be read (%v); encode it as name=value&name=value.", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 {
			q.fail("The query parameter %q is given %d times; give it once.", refusal.Shorten(name), len(values[name]))
		}
	}
	return q
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = refusal.New(refusal.InvalidQuery, format, args...)
	}
}

func (q *query) done() error {
	if q.rules != nil && q.rules.unknownParameters == "ignore" {
		return q.err
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(q.asked, name) {
			if len(q.asked) == 0 {
				return refusal.New(refusal.InvalidQuery, "This path takes no query parameters, and %q was given; leave it out.", refusal.Shorten(name))
			}
			return refusal.New(refusal.InvalidQuery, "There is no query parameter %q here; there is %s.", refusal.Shorten(name), strings.Join(q.asked, ", "))
		}
	}
	return q.err
}

func (q *query) has(name string) bool {
	q.asked = append(q.asked, name)
	return q.values.Has(name)
}

// text is a parameter that must be given.
func (q *query) text(name string) string {
	if !q.has(name) || q.values.Get(name) == "" {
		q.fail("The query parameter %s is missing; add %s=... to the address.", name, name)
	}
	return q.values.Get(name)
}

func (q *query) uuid(name string) string {
	text := q.text(name)
	id, ok := parseUUID(text)
	if !ok {
		q.fail("The query parameter %s is %q, which is not a UUID; send the 36-character form.", name, refusal.Shorten(text))
	}
	return id
}

// integer is a parameter that may be left out.
func (q *query) integer(name string, absent int64) int64 {
	if !q.has(name) {
		return absent
	}
	n, ok := money.ParseInteger(q.values.Get(name))
	if !ok || n < 0 {
		q.fail("The query parameter %s is %q; it must be a whole number that is not negative.", name, refusal.Shorten(q.values.Get(name)))
	}
	return n
}

func (q *query) currency(name string) money.Currency {
	code := q.text(name)
	c, ok := q.rules.find(code, inCurrency)
	if !ok && q.err == nil {
		q.err = refusal.New(refusal.UnknownCurrency, "The query parameter %s names the currency %q, which is not one of %s.", name, refusal.Shorten(code), q.rules.known(""))
	}
	return c
}
