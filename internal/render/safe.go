package render

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Safe returns text with everything that cannot be seen made visible, so that
// it can neither drive a terminal nor pass for other text: control characters,
// marks that change the direction of writing, spaces of no width, variation
// selectors, tags and other invisible characters become \n, \x1b or \u202e, and
// a byte that is not UTF-8 becomes \xff. Text in any script stays as it is,
// except that the joiners inside some words and emoji are shown too: they are
// as invisible as the rest. A backslash stays one backslash: this is for
// reading, not for decoding.
func Safe(s string) string { return escape(s, hidden, escapeText) }

// invisible has the characters beyond the controls that have no shape of their
// own: what Unicode calls default ignorable, format characters, and the two
// separators of lines and paragraphs. The few format characters that are drawn
// (the Arabic number signs and their like) are not in it.
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

// escape writes the characters that bad names, and bytes that are not UTF-8, as
// show does it.
func escape(s string, bad func(rune) bool, show func(b *strings.Builder, r rune)) string {
	clean := 0 // up to here nothing needs escaping
	for clean < len(s) {
		if c := s[clean]; c >= ' ' && c < 0x7f {
			clean++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[clean:])
		if bad(r) || r == utf8.RuneError && size == 1 {
			break
		}
		clean += size
	}
	if clean == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:clean])
	for rest := s[clean:]; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case bad(r):
			show(&b, r)
		default:
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

func escapeText(b *strings.Builder, r rune) {
	switch {
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// safeJSON is Safe for JSON text: what it escapes is written as JSON writes it,
// and means the same as before. Bytes that are not UTF-8 mean U+FFFD there.
func safeJSON(s string) string {
	return escape(strings.ToValidUTF8(s, "\ufffd"), hidden, func(b *strings.Builder, r rune) {
		if r < 0x10000 {
			fmt.Fprintf(b, `\u%04x`, r)
			return
		}
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
	})
}

// Screen is for data that is shown on a terminal as it is: JSON stays JSON, and
// lines stay lines. Tabs and line breaks are kept, and everything else that
// Safe would escape is written as \u001b, in JSON and outside of it.
func Screen(s string) string {
	var b strings.Builder
	w := screenWriter{w: &b}
	io.WriteString(&w, s) // a Builder does not fail
	w.flush()
	return b.String()
}

// screenWriter is Screen for text that comes in pieces.
type screenWriter struct {
	w    io.Writer
	rest []byte // the beginning of a character, or a carriage return: what follows decides
}

func (w *screenWriter) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	whole := len(text)
	if whole > 0 && text[whole-1] == '\r' {
		whole--
	}
	for back := 1; back < utf8.UTFMax && back <= whole; back++ {
		if last := text[whole-back : whole]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= back
			}
			break
		}
	}
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.w, screenLines(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *screenWriter) flush() error {
	_, err := io.WriteString(w.w, screenLines(string(w.rest)))
	w.rest = nil
	return err
}

// screenLines escapes what is between tabs and line breaks.
func screenLines(s string) string {
	var b strings.Builder
	for {
		end := strings.IndexAny(s, "\t\n")
		if end < 0 {
			b.WriteString(safeJSON(s))
			return b.String()
		}
		line, returned := s[:end], false
		if s[end] == '\n' {
			line, returned = strings.CutSuffix(line, "\r")
		}
		b.WriteString(safeJSON(line))
		if returned {
			b.WriteByte('\r')
		}
		b.WriteByte(s[end])
		s = s[end+1:]
	}
}

// safeCSV escapes the control characters, except those that CSV can quote.
func safeCSV(s string) string {
	return escape(s, func(r rune) bool { return control(r) && r != '\t' && r != '\n' }, escapeText)
}
