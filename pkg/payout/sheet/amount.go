package sheet

import (
	"strings"
	"unicode"
)

// blanks are the spaces that programs write into numbers: plain, no-break, narrow no-break and thin.
const blanks = " \u00a0\u202f\u2009"

var spaced = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ")

// amount returns an amount in the one form that till reads: digits, a point, and its code or sign after one
// space. In a file it may have the layout's marks, and its code or sign before or behind it. A text that is
// no such amount is returned as it is, to be refused where it is parsed.
func (l Layout) amount(text string) (plain, wrong string) {
	number, unit := cutUnit(strings.Trim(text, blanks))
	sign, _ := firstRune(unit)
	switch stated := l.Decimal != "" || l.Group != ""; {
	case number == "" && stated && text != "":
		return "", Quote(text) + " is no number " + l.marks()
	case number == "", !stated && !unicode.Is(unicode.Sc, sign) && !strings.ContainsAny(number, ",'’"+blanks):
		return text, ""
	default:
		plain, ok := l.number(number)
		switch {
		case ok && unit == "":
			return plain, ""
		case ok:
			return plain + " " + unit, ""
		case stated:
			return "", Quote(text) + " is no number " + l.marks()
		}
	}
	return "", Quote(text) + " has a separator that can mean several things: write 1980.50, or say what it means with --decimal and --group"
}

// isGrouped reports whether the point in an amount may separate thousands, as far as the layout says.
func (l Layout) isGrouped(text string) bool {
	number, _ := cutUnit(strings.Trim(text, blanks))
	whole, fraction, _ := strings.Cut(number, ".")
	return l.Decimal == "" && l.Group == "" && len(fraction) == 3 && len(whole) >= 1 && len(whole) <= 3 && whole[0] != '0' &&
		strings.Trim(whole+fraction, "0123456789") == ""
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
	first, size := firstRune(text)
	switch {
	case text == "":
		return "", ""
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
	number = strings.TrimRight(text[:end], blanks)
	if sign, _ := firstRune(text[end:]); len(number) == end && unicode.IsLetter(sign) {
		return "", "" // 1e3, 0x10, 25EUR
	}
	return number, text[end:]
}

func firstRune(text string) (r rune, size int) {
	for i, c := range text {
		if i > 0 {
			return r, i
		}
		r = c
	}
	return r, len(text)
}

// number returns a number with the layout's marks as digits with a point.
func (l Layout) number(text string) (plain string, ok bool) {
	whole, fraction, pointed := strings.Cut(text, l.decimal())
	parts := []string{whole}
	switch l.Group {
	case "":
	case "space":
		parts = strings.Split(spaced.Replace(whole), " ")
	case "'":
		parts = strings.Split(strings.ReplaceAll(whole, "’", "'"), "'")
	default:
		parts = strings.Split(whole, l.Group)
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
