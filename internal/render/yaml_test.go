package render

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestYAMLKeepsKeysAndNumbers(t *testing.T) {
	equal(t, one(t, Options{Format: YAML}, payment{json: odd}), `z: 12345678901234567890
a: 1.50
e: 1E400
html: "<a&b>"
u: "éé"
"n": null
l: []
o: {}
a: -0
`)
	equal(t, list(t, Options{Format: YAML}), "[]\n")
	equal(t, list(t, Options{Format: YAML}, payment{json: `{"a":{"b":[1,"two",[true]]},"c":"x"}`}, payment{json: `7`}, payment{json: `[[],{}]`}), `- a:
    b:
      - 1
      - two
      - - true
  c: x
- 7
- - []
  - {}
`)
}

// Strings that some YAML reader takes for something else are quoted, and every string comes back unchanged.
func TestYAMLStrings(t *testing.T) {
	for _, s := range []string{
		"yes", "No", "ON", "off", "y", "n", "true", "NULL", "~", "", "1", "0x1f", "1e5", "-1", "+1", ".5", "1_000", "1:30",
		"2026-05-03", ".inf", ".nan", "0o7",
		"a: b", "a #b", "- a", "? a", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "<<", "=", "'", `"`, "{", "[", " a", "a ",
		"a\nb", "a\tb", "a\u2028b", "\x00", "\x1b",
		"\ufeffx", "\u0085", strings.Repeat("long words ", 40) + "end", "---", "...", "日本語",
	} {
		text := one(t, Options{Format: YAML}, payment{json: string(Encode(map[string]string{"k": s}))})
		var back map[string]any
		if err := yaml.Unmarshal([]byte(text), &back); err != nil || back["k"] != s {
			t.Errorf("%q became %q and came back as %q, %v", s, text, back["k"], err)
		}
		if !strings.HasPrefix(text, `k: "`) && !strings.HasPrefix(text, "k: long") || strings.Count(text, "\n") != 1 {
			t.Errorf("%q is not one quoted line: %q", s, text)
		}
	}
	for _, s := range []string{"confirmed", "wd_0001", "Btc", "two words", "a/b-c.d"} {
		equal(t, one(t, Options{Format: YAML}, payment{json: `{"k":"` + s + `"}`}), "k: "+s+"\n")
	}
}
