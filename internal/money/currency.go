package money

import (
	"cmp"
	"fmt"
	"strings"

	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

const maxCode = 32 // bytes; far longer than any code, short enough for a message

// ParseCurrency reads a currency: a code that the registry knows, in any case, or a code with its kind, such
// as crypto:Doge. A kind that contradicts the registry is an error.
func (r Registry) ParseCurrency(text string) (api.Currency, error) {
	e, err := r.parseCode(text)
	if err != nil {
		return api.Currency{}, err
	}
	return e.Currency(), nil
}

// parseCode is ParseCurrency, but returns the whole entry. The decimals of an unknown code are unknown.
func (r Registry) parseCode(text string) (Entry, error) {
	prefix, code, qualified := strings.Cut(text, ":")
	if !qualified {
		code = text
	}
	if !ValidCode(code) {
		return Entry{}, usage.Errorf("the currency %s is not a code: write letters and digits, at most %d, such as Btc or USD",
			quote(text), maxCode)
	}
	known, ok := r.Lookup(code)
	var kind api.Kind
	switch prefix {
	case "crypto":
		kind = crypto
	case "fiat":
		kind = fiat
	}
	switch {
	case !qualified && !ok && r.closed:
		return Entry{}, usage.Errorf("the sandbox has no currency %q: %s", text, cmp.Or(r.Meant(code), r.known()))
	case !qualified && !ok:
		return Entry{}, &usage.Error{
			Msg: fmt.Sprintf("the currency %q is not known: write crypto:%s or fiat:%s with an amount in minor units, or make it known", text, code, code),
			Advice: fmt.Sprintf("%s To add %s, as crypto or fiat",
				cmp.Or(r.Meant(code), r.known()), code),
			Command: []string{"currency", "set", code, "--kind", "KIND", "--decimals", "N"},
		}
	case !qualified:
	case kind == "":
		return Entry{},
			usage.Errorf("the currency %q begins with %q: write crypto:%s or fiat:%s", text, prefix+":", code, code)
	case !ok:
		return Entry{Code: amountSpelling(kind, code), Kind: kind, Decimals: Unknown}, nil
	case known.Kind != kind:
		return Entry{}, usage.Errorf("the currency %q is wrong, because %s is known as a %s currency: write %s",
			text, known.Code, strings.ToLower(string(known.Kind)), known.Currency().Code)
	}
	return known, nil
}

// Meant asks whether an unknown code means a known one that differs only in case or punctuation, or is of the
// chain with this name. It never goes by likeness: LTC looks like Btc, and is other money. If there is none,
// it returns "".
func (r Registry) Meant(code string) string {
	bare := func(code string) string { return strings.NewReplacer(".", "", "_", "", "-", "").Replace(fold(code)) }
	chains := map[string]string{"bitcoin": "btc", "ethereum": "eth", "ether": "eth", "litecoin": "ltc", "tron": "trx"}
	var meant []string
	for _, e := range r.Entries() {
		if b := bare(e.Code); b == bare(code) || b == chains[bare(code)] {
			meant = append(meant, e.Code)
		}
	}
	if len(meant) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(meant, " or ") + "?"
}

// known names the currencies that are known, without all those of ISO 4217.
func (r Registry) known() string {
	var codes []string
	for _, e := range r.Entries() {
		if e.Kind == crypto || search(r.own, e.Code) >= 0 {
			codes = append(codes, e.Code)
		}
	}
	return "the known ones are " + strings.Join(codes, ", ") + " and the fiat currencies of ISO 4217."
}

// ValidCode reports whether a text can be a currency's code: ASCII letters and digits, with the signs . _ -
// between them and at least one letter.
func ValidCode(code string) bool {
	letter := false
	for i := range len(code) {
		switch c := code[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			letter = true
		case c >= '0' && c <= '9':
		case (c == '.' || c == '_' || c == '-') && i > 0 && i < len(code)-1:
		default:
			return false
		}
	}
	return letter && len(code) <= maxCode
}

// quote quotes a text of any length and content for a message.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
