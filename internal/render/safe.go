package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Safe returns text with all invisible characters made visible, so that the text can neither control a
// terminal nor pass for other text. Control characters, marks that change the direction of writing, spaces of
// no width, variation selectors, tags and other invisible characters become \n, \x1b or \u202e, and a byte
// that is not UTF-8 becomes \xff. Text in any script stays as it is, and so do sequences of emoji. The joiners
// inside some words are shown too: they are as invisible as the rest. A backslash stays one backslash: the
// result is for reading, not for decoding.
func Safe(s string) string { return escape(s, hidden, escapeText) }

func control(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// hidden reports whether a character has no shape of its own: a control, what Unicode calls default
// ignorable, a format character, or a separator of lines or paragraphs. The few format characters that are
// drawn, such as the Arabic number signs, are not hidden.
func hidden(r rune) bool {
	return control(r) || r >= 0xad && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// escape replaces the characters that bad selects, and bytes that are not UTF-8, with the text that show
// returns.
func escape(s string, bad func(rune) bool, show func(rune) string) string {
	var b strings.Builder
	from := 0     // everything before is in b
	var last rune // the character before; 0: it was escaped
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i, last = i+1, rune(c)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		broken := r == utf8.RuneError && size == 1
		before := last
		last = r
		if broken || bad(r) && !joinsEmoji(before, r, s[i+size:]) {
			last = 0
			b.WriteString(s[from:i])
			if broken {
				b.WriteString(fmt.Sprintf(`\x%02x`, s[i]))
			} else {
				b.WriteString(show(r))
			}
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

const (
	joiner     = '\u200d' // between emoji that are drawn as one
	keycap     = '\u20e3' // around a digit
	emojiStyle = '\ufe0f' // behind a sign that is to be drawn as an emoji
)

// joinsEmoji reports whether an invisible character belongs to a sequence of emoji.
func joinsEmoji(before, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	if r == emojiStyle && next == keycap && (before >= '0' && before <= '9' || before == '#' || before == '*') {
		return true
	}
	return r == emojiStyle && isEmoji(before) || r == joiner && (isEmoji(before) || before == emojiStyle) && isEmoji(next)
}

// isEmoji reports whether a character is a sign that can be an emoji, or the tone of a skin.
func isEmoji(r rune) bool {
	return r != utf8.RuneError && unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff
}

func escapeText(r rune) string {
	switch {
	case r == '\t':
		return `\t`
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// escapeJSON is Safe for JSON text, with the characters that bad selects. It escapes in the JSON way, so the
// meaning stays the same. A byte that is not UTF-8 means U+FFFD there.
func escapeJSON(s string, bad func(rune) bool) string {
	return escape(strings.ToValidUTF8(s, "\ufffd"), bad, func(r rune) string {
		if r < 0x10000 {
			return fmt.Sprintf(`\u%04x`, r)
		}
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	})
}

// Screen escapes data that is shown on a terminal as it is: JSON stays JSON, and lines stay lines. Tabs and
// line breaks stay. Everything else that Safe would escape is written as \u001b, in JSON and outside of it.
func Screen(s string) string {
	lines := strings.Split(s, "\r\n")
	for i, line := range lines {
		lines[i] = escapeJSON(line, func(r rune) bool { return hidden(r) && r != '\t' && r != '\n' })
	}
	return strings.Join(lines, "\r\n")
}

// screenWriter is Screen for text that comes in pieces. It works on whole lines, because a piece can end
// inside a character or a line break.
type screenWriter struct {
	w    io.Writer
	line []byte // the beginning of a line
}

func (w *screenWriter) Write(p []byte) (int, error) {
	end := bytes.LastIndexByte(p, '\n') + 1
	w.line = append(w.line, p[:end]...)
	if end > 0 {
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	w.line = append(w.line, p[end:]...)
	return len(p), nil
}

func (w *screenWriter) flush() error {
	_, err := io.WriteString(w.w, Screen(string(w.line)))
	w.line = w.line[:0]
	return err
}

// safeCSV escapes the control characters, except those that CSV can quote.
func safeCSV(s string) string {
	return escape(s, func(r rune) bool { return control(r) && r != '\t' && r != '\n' }, escapeText)
}
