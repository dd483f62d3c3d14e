package api

import (
	"strings"
	"unicode"
)

// MemoRequired reports whether a withdrawal of the currency needs a memo: XLR and the currencies based on it
// do. The interface does not say how the codes of these are formed, so any code that contains XLR counts.
func (c Currency) MemoRequired() bool {
	const xlr = "xlr"
	if c.Kind != Crypto {
		return false
	}
	for i := 0; i+len(xlr) <= len(c.Code); i++ {
		if strings.EqualFold(c.Code[i:i+len(xlr)], xlr) {
			return true
		}
	}
	return false
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
	runes := []rune(memo)
	for _, end := range []struct {
		r     rune
		where string
	}{{runes[0], "begins"}, {runes[len(runes)-1], "ends"}} {
		if isBlank(end.r) {
			return invalid("memo", "%q %s with white space (%U): remove it", memo, end.where, end.r)
		}
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
