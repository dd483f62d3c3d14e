package sheet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// blanks are the spaces that programs write into numbers: plain, no-break, narrow no-break and thin.
const blanks = " \u00a0\u202f\u2009"

// plainMarks writes the marks between thousands as a layout names them.
var plainMarks = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "’", "'")

// amount returns an amount in the one form that till reads: digits, a point, and its code or sign after one
// space. In a file it may have the layout's marks, and its code or sign before or behind it. A text that is
// no such amount is returned as it is, to be refused where it is parsed.
func (l Layout) amount(text string) (plain, wrong string) {
	number, unit := cutUnit(strings.Trim(text, blanks))
	if plain, ok := l.number(number); ok {
		return strings.TrimSuffix(plain+" "+unit, " "), ""
	}
	sign, _ := utf8.DecodeRuneInString(unit)
	stated := l.Decimal != "" || l.Group != ""
	if text == "" || !stated && (number == "" || !unicode.Is(unicode.Sc, sign) && !strings.ContainsAny(number, ",'’"+blanks)) {
		return text, ""
	}
	if stated {
		return "", Quote(text) + " is no number " + l.marks()
	}
	return "", Quote(text) + " has a separator that can mean several things: write it like 1980.50, or say what it means with --decimal and --group"
}

// isGrouped reports whether the point in an amount may separate thousands, as far as the layout says.
func (l Layout) isGrouped(text string) bool {
	number, _ := cutUnit(strings.Trim(text, blanks))
	whole, fraction, _ := strings.Cut(number, ".")
	return l.Decimal == "" && l.Group == "" && len(fraction) == 3 && len(whole) <= 3 && isDigits(whole) && whole[0] != '0' &&
		isDigits(fraction)
}

// marks says which marks a number may have.
func (l Layout) marks() string {
	text := "with the decimal mark " + Quote(l.decimal())
	if l.Group != "" {
		text += " and groups of three digits between " + Quote(l.Group)
	}
	return text
}

// cutUnit cuts a code or a currency sign off a number. A sign needs no space. Digits may belong to a code, so
// a code in front of a number needs one.
func cutUnit(text string) (number, unit string) {
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.Is(unicode.Sc, first):
		return strings.TrimLeft(text[size:], blanks), text[:size]
	case unicode.IsLetter(first):
		if i := strings.IndexAny(text, blanks); i > 0 {
			return strings.TrimLeft(text[i:], blanks), text[:i]
		}
		return "", ""
	case first < '0' || first > '9':
		return "", ""
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.Sc, r) })
	if end < 0 {
		return text, ""
	}
	number, unit = strings.TrimRight(text[:end], blanks), text[end:]
	if sign, _ := utf8.DecodeRuneInString(unit); len(number) == end && unicode.IsLetter(sign) {
		return "", "" // 1e3, 0x10, 25EUR
	}
	return number, unit
}

// number returns a number with the layout's marks as digits with a point.
func (l Layout) number(text string) (plain string, ok bool) {
	whole, fraction, pointed := strings.Cut(text, l.decimal())
	parts := []string{whole}
	if l.Group != "" {
		parts = strings.Split(plainMarks.Replace(whole), strings.Replace(l.Group, "space", " ", 1))
	}
	for i, part := range parts {
		if !isDigits(part) || len(parts) > 1 && (len(part) > 3 || i > 0 && len(part) != 3) {
			return "", false
		}
	}
	if plain = strings.Join(parts, ""); len(plain) > 1 && plain[0] == '0' {
		return "", false
	}
	if !pointed {
		return plain, true
	}
	return plain + "." + fraction, isDigits(fraction)
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
