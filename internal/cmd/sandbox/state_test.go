package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// The JSON has the same digits and the same text as the YAML.
func TestSeedJSON(t *testing.T) {
	for text, want := range map[string]string{
		"a: 9223372036854775807\nb: -1\nc: 0":          `{"a":9223372036854775807,"b":-1,"c":0}`,
		"a: 0.10000000000000000000001\nb: 25.00":       `{"a":0.10000000000000000000001,"b":25.00}`,
		"a: '1'\nb: \"0x10\"\nc: 1.5 Btc\nd: |\n  x\n": `{"a":"1","b":"0x10","c":"1.5 Btc","d":"x\n"}`,
		"a: 2026-05-03T10:00:00Z\nb: 2026-05-03":       `{"a":"2026-05-03T10:00:00Z","b":"2026-05-03"}`,
		"a: True\nb: false\nc: ~\nd:\ne: yes":          `{"a":true,"b":false,"c":null,"d":null,"e":"yes"}`,
		"a: [1, {b: [], c: {}}]\n東京: <ü&>\n":           `{"a":[1,{"b":[],"c":{}}],"東京":"<ü&>"}`,
		"{\"a\":\n1}":             "{\"a\":\n1}",
		"# only YAML\n{\"a\": 1}": `{"a":1}`,
	} {
		got, err := seedJSON([]byte(text), "")
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestSeedJSONRefuses(t *testing.T) {
	for _, c := range []struct{ extension, text, says string }{
		{"", "a: 1\nb: 2\na: 3", "line 3: a is given twice"}, {"", "a:\n  - {b: 1, b: 1}", "line 2: b"},
		{"", "a: &x 1", "line 1: anchors"}, {"", "a: 1\nb: *x", "x"}, {"", "a: {<<: 1}", "line 1"},
		{"", "? [a]\n: 1", "line 1"}, {"", "1: a", "line 1"},
		{"", "a: 0x10", "line 1: 0x10"}, {"", "a: 007", "line 1: 007"}, {"", "a: 1_000", "1_000"},
		{"", "a: 1e3", "1e3"}, {"", "a: .inf", ".inf"}, {"", "a: +5", "+5"}, {"", "a: .5", ".5"},
		{"", "a: !mine 1", "line 1: the tag !mine"}, {"", "a: !!binary aGk=", "!!binary"},
		{"", "a: 1\n---\nb: 2", "second document"},
		{"", "a: 1\n b: 2", "line 2"}, {"", "a: [1\nb: 2", "line"}, {"", "", "no fields"}, {"", "text", "no fields"},
		{"", "- 1", "no fields"}, {"", "a: \xff", "UTF-8"},
		{".json", "a: 1", "line 1 is not JSON"}, {".json", "{\n\"a\": 1,\n}", "line 3 is not JSON"},
		{".json", "", "line 1"},
		{".yaml", "{\"a\": 1, \"a\": 1}", "line 1: a is given twice"},
	} {
		if got, err := seedJSON([]byte(c.text), c.extension); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q as %q: %s, %v, want %s", c.text, c.extension, got, err, c.says)
		}
	}
}

// FuzzSeed checks that the conversion returns JSON, and that a sandbox takes or refuses it.
func FuzzSeed(f *testing.F) {
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "seed.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte("a: [1, 'x', 2026-05-03, ~, true]\n? b\n: |-\n  c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		seed, err := seedJSON(text, ".yaml")
		if err != nil {
			return
		}
		if !json.Valid(seed) {
			t.Fatalf("%q becomes %q", text, seed)
		}
		sandbox.New(sandbox.WithSeedJSON(seed))
	})
}

// TestSeedsTopicNamesEveryField compares the topic with the fields that the sandbox names when it refuses
// one.
func TestSeedsTopicNamesEveryField(t *testing.T) {
	topic, err := os.ReadFile("../../cli/help/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	dumped := []string{"book", "code", "delta", "key", "phase"} // a person writes amount, api_key and status
	for list, entry := range map[string]string{
		"balances": `{}`, "invites": `{}`, "resellers": `{}`, "invoices": `{"total": "1 Btc"}`,
		"withdrawals": `{"amount": "1 Btc", "address": "a"}`,
	} {
		seed := fmt.Sprintf(`{%q: [%s]}`, list, strings.Replace(entry, "{", `{"other": 1, `, 1))
		_, err := sandbox.New(sandbox.WithSeedJSON([]byte(strings.Replace(seed, ", }", "}", 1))))
		if err == nil {
			t.Fatalf("%s: the sandbox takes a field that it does not have", list)
		}
		_, names, found := strings.Cut(strings.TrimSuffix(err.Error(), "."), "the fields are ")
		if !found {
			t.Fatalf("%s: %v", list, err)
		}
		line := regexp.MustCompile(`(?m)^  ` + list + ` .*(\n {15}.*)*`).FindString(string(topic))
		for _, name := range strings.Split(names, ", ") {
			if !slices.Contains(dumped, name) && !regexp.MustCompile(`\b`+name+`\b`).MatchString(line) {
				t.Errorf("it has no field %s of %s: %q", name, list, line)
			}
		}
	}
}
