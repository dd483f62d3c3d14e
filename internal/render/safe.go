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
// that is not UTF-8 becomes \xff. Text in any script stays as it is, except that the joiners inside some
// words and emoji are shown too: they are as invisible as the rest. A backslash stays one backslash: the
// result is for reading, not for decoding.
func Safe(s string) string { return escape(s, hidden, escapeText) }

// invisible has the characters, except controls, that have no shape of their own: what Unicode calls default
// ignorable, format characters, and the two separators of lines and paragraphs. It does not have the few
// format characters that are drawn, such as the Arabic number signs.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1}, // soft hyphen
		{0x034f, 0x034f, 1}, // combining grapheme joiner
		{0x061c, 0x061c, 1}, // Arabic letter mark
		{0x115f, 0x1160, 1}, // Hangul fillers
		{0x17b4, 0x17b5, 1}, // Khmer inherent vowels
		{0x180b, 0x180f, 1}, // Mongolian variation selectors and vowel separator
		{0x200b, 0x200f, 1}, // zero-width space, joiners, direction marks
		{0x2028, 0x202e, 1}, // separators, direction embeddings and overrides
		{0x2060, 0x206f, 1}, // word joiner, direction isolates, deprecated marks
		{0x3164, 0x3164, 1}, // Hangul filler
		{0xfe00, 0xfe0f, 1}, // variation selectors
		{0xfeff, 0xfeff, 1}, // byte order mark
		{0xffa0, 0xffa0, 1}, // Hangul filler, half width
		{0xfff0, 0xfffb, 1}, // unassigned, and annotation marks
	},
	R32: []unicode.Range32{
		{0x13430, 0x1343f, 1}, // hieroglyph joiners
		{0x1bca0, 0x1bca3, 1}, // shorthand marks
		{0x1d173, 0x1d17a, 1}, // musical marks
		{0xe0000, 0xe0fff, 1}, // tags, variation selectors
	},
	LatinOffset: 1,
}

func control(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

func hidden(r rune) bool { return control(r) || r >= 0xad && unicode.Is(invisible, r) }

// escape replaces the characters that bad selects, and bytes that are not UTF-8, with the text that show
// returns.
func escape(s string, bad func(rune) bool, show func(rune) string) string {
	var b strings.Builder
	from := 0 // everything before is in b
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		broken := r == utf8.RuneError && size == 1
		if broken || bad(r) {
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

// safeJSON is Safe for JSON text. It escapes in the JSON way, so the meaning stays the same. A byte that is
// not UTF-8 means U+FFFD there.
func safeJSON(s string) string { return escapeJSON(s, hidden) }

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
