package api

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxOrderID is the largest order id of a withdrawal: external_id is a JSON number, and many JSON readers
// round numbers above 2^53-1.
const MaxOrderID = 1<<53 - 1

// CheckOrderID returns an error if an order id of a withdrawal is not a whole number from 1 to MaxOrderID in
// plain digits. The service shows the id both as a string and as a number, so any other spelling would be
// lost.
func CheckOrderID(id string) error {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || n > MaxOrderID || id[0] == '0' || id[0] == '+' {
		return fmt.Errorf("%q is not an order id: write a whole number from 1 to %d in digits, without a leading zero",
			id, int64(MaxOrderID))
	}
	return nil
}

// CheckUUID returns an error if a text is not a UUID in its usual form of 8-4-4-4-12 hexadecimal digits.
func CheckUUID(id string) error {
	digits, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(digits) != 16 || len(id) != 36 ||
		id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return fmt.Errorf("%q is not a UUID, such as 7c9e6679-7425-40de-944b-e07fc1f90ae7", id)
	}
	return nil
}

func checkID(field, id string) error {
	if id == "" {
		return invalid(field, "it is empty: name one")
	}
	return checkPlain(field, id)
}

func checkUUIDField(field, id string) error {
	if err := CheckUUID(id); err != nil {
		return invalid(field, "%v", err)
	}
	return nil
}

func checkText(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return invalid(field, "it is empty")
	}
	return checkPlain(field, text)
}

// checkPlain refuses control characters and invalid UTF-8, which a person cannot read and check.
func checkPlain(field, text string) error {
	for i, r := range text {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return invalid(field, "%q has a control character or invalid UTF-8 at byte %d", text, i)
		}
	}
	return nil
}

// visibleASCII reports whether a text is not empty and consists of ASCII letters, digits and signs, without a
// space. Nearly every address does, and needs no check of single characters.
func visibleASCII(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func checkCallback(field, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return invalid(field,
			"%q is not an absolute http or https address, such as https://shop.example.com/paid", text)
	}
	return checkPlain(field, text)
}

// MemoRequired reports whether a withdrawal of the currency needs a memo: XLR and the currencies based on it
// do. The interface does not say how the codes of these are formed, so any code that contains XLR counts.
func (c Currency) MemoRequired() bool {
	return c.Kind == Crypto && strings.Contains(strings.ToLower(c.Code), "xlr")
}

// checkMemo refuses a memo that may differ from the one that the receiver gave: a transfer with the wrong
// memo is lost.
func checkMemo(c Currency, memo string) error {
	if c.MemoRequired() && BlankMemo(memo) {
		return invalid("memo", "a withdrawal in %s needs one, and %q is blank: ask the receiver for it", c.Code, memo)
	}
	if err := checkPlain("memo", memo); err != nil {
		return err
	}
	if visibleASCII(memo) || memo == "" {
		return nil
	}
	if i := strings.IndexFunc(memo, isUnseen); i >= 0 {
		return invalid("memo", "%q has a character at byte %d that cannot be seen (%U): type it anew", memo, i,
			[]rune(memo[i:])[0])
	}
	if first, _ := utf8.DecodeRuneInString(memo); isBlank(first) {
		return invalid("memo", "%q begins with white space (%U): remove it", memo, first)
	}
	if last, _ := utf8.DecodeLastRuneInString(memo); isBlank(last) {
		return invalid("memo", "%q ends with white space (%U): remove it", memo, last)
	}
	return nil
}

// BlankMemo reports whether a memo has no visible character.
func BlankMemo(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !isUnseen(r) && !isBlank(r) })
}

// isBlank reports whether a character is white space in any script, or looks like it: U+2800 is a braille
// cell without dots.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Zs, r) || r == '\u2800' }

// isUnseen reports whether a character has no width of its own: controls, formats, and characters that
// programs leave out if they do not know them.
func isUnseen(r rune) bool {
	return !unicode.IsGraphic(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
