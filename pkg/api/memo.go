package api

import (
	"strings"
	"unicode"
)

// MemoRequired reports whether a withdrawal of the currency needs a memo: XLR and the currencies based on it. The interface does
// not say how the codes of those are made, so that any with XLR in it counts.
func (c Currency) MemoRequired() bool {
	return c.Kind == Crypto && strings.Contains(strings.ToLower(c.Code), "xlr")
}

// checkMemo refuses a memo that is not surely the one that the receiver gave: a transfer with another one is lost.
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
		return invalid("memo", "%q has a character at byte %d that cannot be seen (%U): type it anew", memo, i, []rune(memo[i:])[0])
	}
	runes := []rune(memo)
	for _, end := range []struct {
		r     rune
		where string
	}{{runes[0], "begins"}, {runes[len(runes)-1], "ends"}} {
		if isBlank(end.r) {
			return invalid("memo", "%q %s with white space (%U): take it away", memo, end.where, end.r)
		}
	}
	return nil
}

// BlankMemo reports whether nothing can be read in a memo.
func BlankMemo(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !isUnseen(r) && !isBlank(r) })
}

// isBlank reports whether a character is white space in any script, or looks like it: U+2800 is a cell of braille without dots.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Zs, r) || r == '\u2800' }

// isUnseen reports whether a character takes no room, or none of its own: controls, formats, and what programs leave out
// where they do not know it.
func isUnseen(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
