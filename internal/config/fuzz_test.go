package config

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"
)

// Any text is a configuration or an error with a message. A valid one stays valid and means the same after an
// edit.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		whole, two, commented, "", "# c\n", "a: &a [*a]\n", "current: a\n---\n", "{}", "[]", "~", "profiles:\n",
		"profiles: {a: {<<: {}}}",
		"? [a]\n: b\n", "\xff", "currencies: [{code: Btc, decimals: 8}]", "a: |\n  b\n", "!!map {current: a}",
		"profiles: !!null {}", "%YAML 1.1\n---\ncurrent: a\n",
		"profiles: {a: {journal: postgres://x}}\n# end", "current: a\n# x\n\n# y\nprofiles:\n  # z\n", "\"current\": 'a'\n",
		"#\r&0", "# a\r# b", "# a\u2028~", "profiles: {0: !!null ''}", "profiles: {0}", "layouts: {a: x}",
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		file, doc, err := parse(text)
		if err != nil {
			if located(err, "x").Error() == "" || !reflect.DeepEqual(file, File{}) {
				t.Fatalf("%+v, %v", file, err)
			}
			return
		}
		if !utf8.Valid(text) || doc == nil {
			t.Fatal("a text that is not UTF-8 was read")
		}
		d, err := newDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		must(t, d.SetProfile("fuzz-profile", "account=x"))
		must(t, d.SetCurrency("", "FuzzCoin", map[string]string{"kind": "crypto", "decimals": "3"}))
		out, failed := d.encode()
		if failed != nil {
			t.Fatal(failed)
		}
		after, _, err := parse(out)
		if err != nil {
			t.Fatalf("after an edit: %v\n%s", err, out)
		}
		if after.Profiles["fuzz-profile"].Values["account"] != "x" {
			t.Fatalf("the edit is lost in\n%s", out)
		}
		delete(after.Profiles, "fuzz-profile")
		delete(file.Profiles, "fuzz-profile")
		if !reflect.DeepEqual(after.Profiles, file.Profiles) {
			t.Fatalf("%+v\n became %+v in\n%s", file.Profiles, after.Profiles, out)
		}
		must(t, os.WriteFile(path, text, 0o600))
		if s, err := Resolve(input(t, "", env("TILL_CONFIG", path))); err == nil {
			s.Explain(Keys{Env: noEnv})
		}
	})
}
