package render

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"github.com/rivo/uniseg"
)

// Width returns how many columns of a terminal a text takes, at most: not all terminals draw a flag, or an
// emoji with the tone of its skin, as one character.
func Width(s string) int {
	measure, columns := characters(), 0
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			columns++
		case unicode.Is(unicode.Regional_Indicator, r): // a letter of a flag
			columns += 2
		case r == emojiStyle: // it makes a narrow sign wide
			columns++
		default:
			columns += measure.RuneWidth(r)
		}
	}
	return columns
}

// characters measures characters by the same rules on every machine, whatever the locale says about East
// Asian ones.
func characters() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// Cut shortens a text to a width. It removes the end.
func Cut(s string, limit int) string {
	if Width(s) <= limit {
		return s
	}
	if limit < 1 {
		return ""
	}
	return strings.TrimRight(head(s, limit-1), " ") + ellipsis
}

// cut shortens a text to a width. It removes the middle, because both ends tell a text from others.
func cut(s string, limit int) string {
	if limit < 3 || Width(s) <= limit {
		return Cut(s, limit)
	}
	begin := strings.TrimRight(head(s, limit/2), " ")
	return begin + ellipsis + strings.TrimLeft(tail(s, limit-1-Width(begin)), " ")
}

// head returns as much of the beginning as fits.
func head(s string, room int) string {
	for i := 0; i < len(s); {
		next := character(s[i:])
		if room -= Width(next); room < 0 {
			return s[:i]
		}
		i += len(next)
	}
	return s
}

// tail returns as much of the end as fits.
func tail(s string, room int) string {
	for excess := Width(s) - room; excess > 0 && s != ""; {
		first := character(s)
		excess -= Width(first)
		s = s[len(first):]
	}
	return s
}

// character returns the first character of a text as a person sees it: a letter with its marks, a flag, or
// what Safe shows instead of an invisible character.
func character(s string) string {
	if s[0] == '\\' && len(s) > 1 {
		size := map[byte]int{'x': 4, 'u': 6, 'U': 10}[s[1]]
		if size > 0 && size <= len(s) && strings.Trim(s[2:size], "0123456789abcdef") == "" {
			return s[:size]
		}
	}
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	return first
}

// Wrap breaks a text into lines of at most limit columns, between words if it can. A limit of 0 means no
// limit.
func Wrap(s string, limit int) []string {
	if limit <= 0 || Width(s) <= limit {
		return []string{s}
	}
	var lines []string
	for line := range strings.SplitSeq(WrapWords(s, limit, 0), "\n") {
		for Width(line) > limit {
			// Perhaps not even one character fits. An amount is broken in front of its code.
			part := cmp.Or(head(line, limit), character(line))
			if blank := strings.LastIndexByte(part, ' '); blank > 0 {
				part = part[:blank]
			}
			lines, line = append(lines, part), strings.TrimPrefix(line[len(part):], " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// WrapWords breaks each line of a text at spaces, so that no line is wider than limit columns of a terminal;
// a limit of 0 breaks none.
// Behind a break, a line is indented. A word that is too wide stays whole, for the terminal to break: a
// person can then copy it as one. An amount is one word.
func WrapWords(s string, limit, indent int) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		at := 0
		for line != "" {
			word := strings.TrimLeft(line, " ")
			gap := line[:len(line)-len(word)]
			word = word[:wordEnd(word)]
			line = line[len(gap)+len(word):]
			at += len(gap)
			if word != "" && limit > 0 && at > indent && at+Width(word) > limit {
				gap, at = "\n"+spaces(indent), indent
			}
			b.WriteString(gap + word)
			at += Width(word)
		}
	}
	return b.String()
}

// amountBegins matches a number and the beginning of its unit. If its digits are grouped, a bracket may precede.
var amountBegins = lazily(`^(\S*[0-9]( [0-9]{3}\b)+|[0-9]+)(\.[0-9]+)?( minor)?( [A-Za-z])?`)

// wordEnd returns where the first word of a text ends. An amount is one word.
func wordEnd(s string) int {
	at := len(amountBegins().FindString(s))
	if end := strings.IndexByte(s[at:], ' '); end >= 0 {
		return at + end
	}
	return len(s)
}
