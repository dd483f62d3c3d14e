package address

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// None is the format of a currency whose addresses can be anything.
const None = "none"

// A kind is a sort of address that can be recognized.
type kind struct {
	format string // its name in a configuration; empty: only messages mention it
	one    string // "a Bitcoin address"
	all    string // "Bitcoin addresses"
	shape  func(text string) bool
	check  func(text string) error // says why a text is not such an address; nil: it is one
	begins []string                // how it can begin; none: it is not looked for behind a wrong beginning
}

// kinds lists every kind. If a text could be several, the first counts.
var kinds = []kind{
	bitcoinLike("bitcoin", "a Bitcoin address", "Bitcoin addresses",
		chain{versions: "\x00\x05", first: "13", least: 32, most: 35, prefix: "bc"}),
	bitcoinLike("bitcoin-testnet", "an address of a Bitcoin test network", "addresses of a Bitcoin test network",
		chain{versions: "\x6f\xc4", first: "mn2", least: 33, most: 36, prefix: "tb"}),
	bitcoinLike("litecoin", "a Litecoin address", "Litecoin addresses",
		chain{versions: "\x30\x32", first: "LM", least: 33, most: 35, prefix: "ltc"}),
	bitcoinLike("dogecoin", "a Dogecoin address", "Dogecoin addresses",
		chain{versions: "\x1e\x16", first: "DA9", least: 33, most: 35}),
	{"ethereum", "an Ethereum address", "Ethereum addresses", isEthereumShape, checkEthereum, []string{"0x"}},
	bitcoinLike("tron", "a TRON address", "TRON addresses", chain{versions: "\x41", first: "T", least: 33, most: 35}),
	{"stellar", "a Stellar address", "Stellar addresses", isStellarShape, checkStellar, []string{"G", "M"}},
	{"ripple", "a Ripple address", "Ripple addresses", isRippleShape, checkRipple, []string{"r", "X"}},
	{"solana", "a Solana address", "Solana addresses", func(text string) bool { return checkSolana(text) == nil },
		checkSolana, nil},
	{"iban", "an IBAN", "IBANs", isIBANShape, checkIBAN, ibanCountries()},

	bitcoinLike("", "an address of a private Bitcoin network (regtest)", "", chain{prefix: "bcrt"}),
	bitcoinLike("", "an address of the Litecoin test network", "",
		chain{versions: "\x3a", first: "Q", least: 33, most: 35, prefix: "tltc"}),
	bitcoinLike("", "an address of the Dogecoin test network", "",
		chain{versions: "\x71", first: "n", least: 33, most: 35}),
	{"", "an address of the Ripple test network", "", func(text string) bool { return isXAddressShape(text, "T") },
		func(text string) error { return checkXAddress(text, "\x04\x93") }, []string{"T"}},
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
	err, is := k.check(text), ""
	if err != nil {
		is = Detect(text)
	}
	if why := Unmeant(text); why != "" && err != nil && is == "" {
		return errors.New(why)
	}
	if why := notAlphanumeric(text); why != "" {
		return errors.New(why)
	}
	if err == nil {
		return nil
	}
	if is == "" && !k.shape(text) {
		if at := slices.IndexFunc(kinds, func(k kind) bool { return k.shape(text) }); at >= 0 {
			is = kinds[at].one + " with a mistake in it"
		}
	}
	if is != "" {
		err = fmt.Errorf("this is %s, and %s takes %s", is, currency, k.all)
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
		return why == nil || errors.Is(why, errNetwork)
	}
	for _, k := range kinds {
		if k.shape(text) && wants(k.one, k.check(text)) {
			return ""
		}
	}
	if iban := unspaced(text); looksLikeIBAN(iban) && wants("an IBAN", checkIBAN(strings.ToUpper(iban))) {
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
		if slices.ContainsFunc(k.begins, func(begin string) bool { return k.nearly(text, begin) }) {
			return k.one
		}
	}
	return ""
}

// nearly reports whether a text is an address but for one character of its beginning.
func (k kind) nearly(text, begin string) bool {
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
		if right := begin + rest; k.shape(right) && k.check(right) == nil &&
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
