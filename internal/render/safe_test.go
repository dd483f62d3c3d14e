package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"a\tb\nc\rd", `a\tb\nc\rd`},
		{"\x00\x1b[31m\x7f", `\x00\x1b[31m\x7f`},
		{"\u0080\u009b\u009f\u00a0", "\\u0080\\u009b\\u009f\u00a0"},
		{"\u200e\u200f\u202a\u202b\u202c\u202d\u202e", `\u200e\u200f\u202a\u202b\u202c\u202d\u202e`},
		{"\u2066\u2067\u2068\u2069\u061c", `\u2066\u2067\u2068\u2069\u061c`},
		{"a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg", `a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg`},
		{"x\ufe0f\U000e0100\U000e0041", `x\ufe0f\U000e0100\U000e0041`},
		{"\u3164\uffa0\u115f\u034f\u180e", `\u3164\uffa0\u115f\u034f\u180e`},
		{"\xff\xc3", `\xff\xc3`},
		{"\xed\xa0\x80", `\xed\xa0\x80`}, // half of a surrogate pair
		{"Größe Ελλάδα Привет עברית العربية हिन्दी ไทย 한국어 日本語 e\u0301 😀 👍🏽",
			"Größe Ελλάδα Привет עברית العربية हिन्दी ไทย 한국어 日本語 e\u0301 😀 👍🏽"},
		{"👨\u200d👩🏽\u200d👧 ❤\ufe0f\u200d🔥 ☎\ufe0f 1\ufe0f\u20e3 1\ufe0fx", "👨\u200d👩🏽\u200d👧 ❤\ufe0f\u200d🔥 ☎\ufe0f 1\ufe0f\u20e3 1\\ufe0fx"},
		{"👨\u200da 👨\u200d\u200d👩 a\u200d👩 👨\u200d a\ufe0f \xff\ufe0f", `👨\u200da 👨\u200d\u200d👩 a\u200d👩 👨\u200d a\ufe0f \xff\ufe0f`},
		{"👨\u202e\ufe0f ❤\ufe0f\ufe0f", "👨\\u202e\\ufe0f ❤\ufe0f\\ufe0f"},
		{"\u0600\u06dd", "\u0600\u06dd"}, // drawn, though format characters
	} {
		if got := Safe(test.in); got != test.want {
			t.Errorf("Safe(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\u202e\xff", "日本\U000e0001", "\\x1b", "e\u0301", "👨\u200d👩"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Safe(s)
		clean := utf8.ValidString(s)
		for _, r := range s {
			clean = clean && !hidden(r)
		}
		for _, r := range got {
			if r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) &&
				!unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
				t.Errorf("Safe(%q) has %U", s, r)
			}
		}
		switch {
		case !utf8.ValidString(got):
			t.Errorf("Safe(%q) is not UTF-8: %q", s, got)
		case Safe(got) != got:
			t.Errorf("Safe(%q) = %q is not safe", s, got)
		case clean != (got == s) && !strings.ContainsAny(s, "\u200d\ufe0f"): // which stay between emoji
			t.Errorf("Safe(%q) = %q, and it was clean: %v", s, got, clean)
		}
		// In JSON, an escape means the character that it encodes.
		if text, err := json.Marshal(s); err == nil {
			var before, after string
			shown := compactJSON(string(text))
			if json.Unmarshal(text, &before) != nil || json.Unmarshal([]byte(shown), &after) != nil || before != after ||
				Safe(shown) != shown {
				t.Errorf("%q was shown as %q", text, shown)
			}
		}
		for _, cell := range []string{CSVText(s), safeCSV(s)} {
			if !utf8.ValidString(cell) || strings.ContainsFunc(cell,
				func(r rune) bool { return unicode.Is(unicode.Cc, r) && r != '\t' && r != '\n' }) {
				t.Errorf("CSV has %q of %q", cell, s)
			}
		}
	})
}

func TestScreen(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"{\n\t\"a\": 1\r\n}\n", "{\n\t\"a\": 1\r\n}\n"},
		{"\x00\x1b[31m\x7f", `\u0000\u001b[31m\u007f`},
		{"\u0080\u009b\u202e\u2066\u200b", `\u0080\u009b\u202e\u2066\u200b`},
		{"over\rwritten\r", `over\u000dwritten\u000d`},
		{"\r\r\n\t\r\t\n", "\\u000d\r\n\t\\u000d\t\n"},
		{"\x9b31m\xff.\xc3", "\ufffd31m\ufffd.\ufffd"},
		{"Größe 日本語 😀", "Größe 日本語 😀"},
	} {
		if got := Screen(test.in); got != test.want {
			t.Errorf("Screen(%q) = %q, want %q", test.in, got, test.want)
		}
		var b strings.Builder
		w := screenWriter{w: &b}
		for i := range len(test.in) { // in the smallest possible pieces
			if n, err := w.Write([]byte(test.in[i : i+1])); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		w.flush()
		if b.String() != test.want {
			t.Errorf("in pieces, %q becomes %q, want %q", test.in, b.String(), test.want)
		}
	}
}
