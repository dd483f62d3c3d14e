package address

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"example.com/till/internal/near"
)

// None is the format of a currency whose addresses can be anything.
const None = "none"

// A kind is a sort of address that can be recognized.
type kind struct {
	format string // its name in a configuration; empty: only messages mention it
	one    string // "a Bitcoin address"
	all    string // "Bitcoin addresses"
	forms  []form // the first that begins as a text does counts
}

// A form is a notation of addresses.
type form struct {
	begins      []string // how it can begin; none: anyhow, and it is not looked for behind a wrong beginning
	least, most int      // bounds of the length that is taken for such an address with a mistake in it
	alphabet    string   // of what follows the beginning
	shape       func(text string) bool
	check       func(text string) error // says why a text is not such an address; nil: it is one
}

// kinds lists every kind. If a text could be several, the first counts.
var kinds = []kind{
	{"bitcoin", "a Bitcoin address", "Bitcoin addresses", []form{base58Check("13", 32, 35, "\x00\x05"), segwit("bc1")}},
	{"bitcoin-testnet", "an address of a Bitcoin test network", "addresses of a Bitcoin test network",
		[]form{base58Check("mn2", 33, 36, "\x6f\xc4"), segwit("tb1")}},
	{"litecoin", "a Litecoin address", "Litecoin addresses", []form{segwit("ltc1"), base58Check("LM", 33, 35, "\x30\x32")}},
	{"dogecoin", "a Dogecoin address", "Dogecoin addresses", []form{base58Check("DA9", 33, 35, "\x1e\x16")}},
	{"ethereum", "an Ethereum address", "Ethereum addresses", []form{{[]string{"0x"}, 41, 43, hexDigits, nil, checkEthereum}}},
	{"tron", "a TRON address", "TRON addresses", []form{base58Check("T", 33, 35, "\x41")}},
	{"stellar", "a Stellar address", "Stellar addresses", []form{strkey("G", 56, 6<<3), strkey("M", 69, 12<<3)}},
	{"ripple", "a Ripple address", "Ripple addresses", []form{rippleAccount, xAddress("X", "\x05\x44")}},
	{"solana", "a Solana address", "Solana addresses", []form{{nil, 32, 44, base58Alphabet, isSolana, checkSolana}}},
	{"iban", "an IBAN", "IBANs", []form{iban}},

	{"", "an address of a private Bitcoin network (regtest)", "", []form{segwit("bcrt1")}},
	{"", "an address of the Litecoin test network", "", []form{base58Check("Q", 33, 35, "\x3a"), segwit("tltc1")}},
	{"", "an address of the Dogecoin test network", "", []form{base58Check("n", 33, 35, "\x71")}},
	{"", "an address of the Ripple test network", "", []form{xAddress("T", "\x04\x93")}},
}

// after returns what follows the beginning of an address of the form. It reports whether the text begins so.
func (f form) after(text string) (rest string, ok bool) {
	for _, begin := range f.begins {
		n := len(begin)
		if len(text) >= n && (text[:n] == begin || n > 1 && strings.EqualFold(text[:n], begin)) {
			return text[n:], true
		}
	}
	return text, f.begins == nil
}

// hasShape reports whether a text has the unmistakable shape of an address in the form.
func (f form) hasShape(text string) bool {
	if len(text) < f.least || len(text) > f.most {
		return false
	}
	rest, ok := f.after(text)
	return ok && mostly(rest, f.alphabet) && (f.shape == nil || f.shape(text))
}

func (k kind) hasShape(text string) bool {
	return slices.ContainsFunc(k.forms, func(f form) bool { return f.hasShape(text) })
}

// check says why a text is not an address of the kind; nil: it is one.
func (k kind) check(text string) error {
	for _, f := range k.forms {
		if _, ok := f.after(text); ok {
			return f.check(text)
		}
	}
	return errBegin
}

// Formats returns the names of the formats that a currency can have.
func Formats() []string {
	var names []string
	for _, k := range kinds {
		if k.format != "" {
			names = append(names, k.format)
		}
	}
	return append(names, None)
}

// Check returns an error that says why an address of a currency is not valid in a format: one of Formats, or empty for
// none. A valid address may be Unmeant. The error does not show the address, which may be a secret pasted by mistake.
func Check(format, text, currency string) error {
	if format == "" || format == None {
		return nil
	}
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.format == format })
	if at < 0 {
		return fmt.Errorf("%q is not a format of addresses: write %s", format, strings.Join(Formats(), ", "))
	}
	k := kinds[at]
	err := k.check(text)
	if err == nil {
		return nil
	}
	is := Detect(text)
	if is == "" {
		if why := cmp.Or(Unmeant(text), notAlphanumeric(text)); why != "" {
			return errors.New(why)
		}
		if at := slices.IndexFunc(kinds, func(k kind) bool { return k.hasShape(text) }); at >= 0 && !k.hasShape(text) {
			is = kinds[at].one + " with a mistake in it"
		}
	}
	switch {
	case is != "":
		return fmt.Errorf("this is %s, and %s takes %s", is, currency, k.all)
	case err == errBegin:
		var begins []string
		for _, f := range k.forms {
			begins = append(begins, f.begins...)
		}
		return fmt.Errorf("it begins otherwise than %s, which begins with %s", k.one, near.Or(begins))
	case err == errNetwork:
		return fmt.Errorf("it belongs to another network than %s", k.one)
	}
	return err
}

// Detect returns the kind of address that a text is, such as "a Bitcoin address", or an empty string.
func Detect(text string) string {
	for _, k := range kinds {
		if k.check(text) == nil {
			return k.one
		}
	}
	return ""
}

// Mistake says what is wrong with an address for which no format is set, if it is never meant, or if it has the
// unmistakable shape of a kind of address without being one. It is empty if the text is an address, or of no known shape.
func Mistake(text string) string {
	if why := Unmeant(text); why != "" {
		return why
	}
	one, wrong := "", error(nil) // of the first kind that it looks like
	wants := func(kind string, why error) (right bool) {
		if one == "" {
			one, wrong = kind, why
		}
		return why == nil || why == errNetwork
	}
	for _, k := range kinds {
		if k.hasShape(text) && wants(k.one, k.check(text)) {
			return ""
		}
	}
	if joined := unspaced(text); looksLikeIBAN(joined) && wants("an IBAN", checkIBAN(strings.ToUpper(joined))) {
		return ""
	}
	if one == "" {
		one, wrong = misbegun(text), errBegin
	}
	if one == "" {
		return ""
	}
	return fmt.Sprintf("it has the shape of %s, but %v", one, wrong)
}

// misbegun returns the kind of address that a text is but for one character at its beginning, by which its
// kind is known: it is missing, changed, doubled, or swapped with the next.
func misbegun(text string) string {
	if len(text) < 20 || notAlphanumeric(text) != "" {
		return ""
	}
	for _, k := range kinds {
		for _, f := range k.forms {
			if slices.ContainsFunc(f.begins, func(begin string) bool { return f.nearly(text, begin) }) {
				return k.one
			}
		}
	}
	for row := range strings.FieldsSeq(ibanLengths) {
		if iban.nearly(text, row[:2]) {
			return "an IBAN"
		}
	}
	return ""
}

// nearly reports whether a text is an address but for one character of its beginning.
func (f form) nearly(text, begin string) bool {
	n := len(begin)
	if n > 2 && text[6:] == strings.ToUpper(text[6:]) { // bech32
		begin = strings.ToUpper(begin)
	}
	small := n == 1 && text[6:] == strings.ToLower(text[6:])
	if small || text[0] != begin[0] && text[1] != begin[0] && !strings.Contains(text[:n], begin[1:]) {
		return false // base58 and Stellar's base32 have capitals; otherwise, more than one character is wrong
	}
	for _, rest := range [...]string{text[n-1:], text[n:], text[n+1:], text[n-1:n] + text[n+1:]} {
		// Without a checksum, only the x tells an Ethereum address from the digits of another network.
		if right := begin + rest; f.hasShape(right) && f.check(right) == nil &&
			(!OneCase(right) || strings.Contains(text[:n+1], "x")) {
			return true
		}
	}
	return false
}

// Warning says what is doubtful about an address for which no format is set. It is empty if nothing is.
func Warning(text string) string {
	for i, r := range []rune(text) {
		if r > unicode.MaxASCII {
			return foreign(r, i+1)
		}
	}
	if name, host, found := strings.Cut(text, "@"); found && name != "" && strings.Contains(host, ".") {
		return "it is a mail address: ask the receiver for the address, unless the service pays to one"
	}
	return ""
}

// notAlphanumeric names the first character that is not an ASCII letter or digit.
func notAlphanumeric(text string) string {
	if text == "" {
		return "it is empty"
	}
	for i, c := range text { // all before it is ASCII
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return foreign(c, i+1)
		}
	}
	return ""
}

// foreign says that no address has a character. A character that looks like an ASCII letter can be told from
// it only by its number.
func foreign(r rune, position int) string {
	name := fmt.Sprintf("%U", r)
	if r > ' ' && unicode.IsPrint(r) && !unicode.IsMark(r) {
		name = fmt.Sprintf("%q (%U)", string(r), r)
	}
	return fmt.Sprintf("character %d is %s, and an address has ASCII letters and digits only: copy it again from where it came from", position, name)
}

// mostly reports whether all characters of a text but two at most are in an alphabet. The others may be
// mistyped.
func mostly(text, alphabet string) bool {
	others := 0
	for _, r := range text {
		if !strings.ContainsRune(alphabet, r) {
			others++
		}
	}
	return others <= 2
}

// misplaced names the first character that is not in the alphabet of a notation.
func misplaced(text, alphabet, without string) error {
	for i, r := range []rune(text) {
		if !strings.ContainsRune(alphabet, r) {
			return fmt.Errorf("character %d is %q, which is mistyped: such an address has %s", i+1, string(r), without)
		}
	}
	return nil
}

var (
	errChecksum = errors.New("its checksum is wrong: a character is mistyped or missing, so copy it again from where it came from")
	errShort    = errors.New("it is too short: characters are missing, so copy it again from where it came from")
	errLong     = errors.New("it is too long: there are characters too many, so copy it again from where it came from")
	errBegin    = errors.New("its beginning is wrong: copy it again from where it came from")
	errNetwork  = errors.New("it belongs to another network")
)
