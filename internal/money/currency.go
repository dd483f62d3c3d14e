package money

import (
	"fmt"
	"strings"

	"example.com/till/internal/near"
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
	if err := checkCode(text, code); err != nil {
		return Entry{}, err
	}
	known, ok := r.Lookup(code)
	if !qualified {
		if !ok {
			advice := fmt.Sprintf("type: till currency set %s --decimals N, with --kind crypto or --kind fiat", code)
			if meant := near.Question(code, "", r.codes()); meant != "" {
				advice = meant + " If not, " + advice
			}
			return Entry{}, &Error{
				What:   fmt.Sprintf("the currency %q is not known: write crypto:%s or fiat:%s with an amount in minor units, or make it known", text, code, code),
				Advice: advice,
			}
		}
		return known, nil
	}
	kind := crypto
	switch prefix {
	case "crypto":
	case "fiat":
		kind = fiat
	default:
		return Entry{},
			wrong("the currency %q begins with %q: write crypto:%s or fiat:%s", text, prefix+":", code, code)
	}
	if !ok {
		return Entry{Code: amountSpelling(kind, code), Kind: kind, Decimals: Unknown}, nil
	}
	if known.Kind != kind {
		return Entry{}, wrong("the currency %q is wrong, because %s is known as a %s currency: write %s",
			text, known.Code, strings.ToLower(string(known.Kind)), known.Currency().Code)
	}
	return known, nil
}

func (r Registry) codes() []string {
	var codes []string
	for _, e := range r.Entries() {
		codes = append(codes, e.Code)
	}
	return codes
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

func checkCode(text, code string) error {
	switch {
	case code == "":
		return wrong("the currency %s has no code: write one such as Btc or USD", quote(text))
	case len(code) > maxCode:
		return wrong("the currency %s is too long: a code has at most %d characters, such as Btc or USD",
			quote(text), maxCode)
	case !ValidCode(code):
		return wrong("the currency %s is not a code: write letters and digits, such as Btc or USD", quote(text))
	}
	return nil
}

// quote quotes a text of any length and content for a message.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
