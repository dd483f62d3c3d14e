package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/pkg/api/sandbox"
)

func TestCheckListen(t *testing.T) {
	for addresses, ok := range map[string]bool{"127.0.0.1:0 127.1.2.3:8080 [::1]:0": true,
		":8080 0.0.0.0:0 [::]:0 localhost:80 192.168.0.1:80 [::ffff:127.0.0.1]:80 [::1%lo]:80": false} {
		for address := range strings.FieldsSeq(addresses) {
			if err := (serverFlags{listen: address}).checkListen(); (err == nil) != ok {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}

func TestEnvFile(t *testing.T) {
	got := string(sandboxAddress{"http://[::1]:80", "till_sandbox_a'b$c", "/tmp/j.db"}.envFile())
	want := "TILL_BASE_URL=http://[::1]:80\nTILL_API_KEY='till_sandbox_a'\\''b$c'\nTILL_PROFILE=sandbox\n" +
		"TILL_JOURNAL=/tmp/j.db\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCallbackListenTakesSoManyAtATime checks that slow bodies do not fill the memory.
func TestCallbackListenTakesSoManyAtATime(t *testing.T) {
	in := &inbox{open: t.Context(), out: io.Discard}
	in.flags.respond, in.options.Format = 200, render.JSONL
	for taken, want := range map[int64]int{maxCallbacks - 1: 200, maxCallbacks: 503} {
		in.taken.Store(taken)
		w := httptest.NewRecorder()
		in.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader("12345")))
		if w.Code != want || in.taken.Load() != taken {
			t.Errorf("beside %d it is answered with %d, and %d are taken afterwards", taken, w.Code, in.taken.Load())
		}
	}
}

// The sandbox takes every completion of --do, and the help explains each.
func TestFaultKinds(t *testing.T) {
	help, err := os.ReadFile("../../cli/help/faults.txt")
	must(t, err)
	for _, do := range faultKinds {
		if !strings.Contains(string(help), do) {
			t.Errorf("the help does not say what %s does", do)
		}
		f := sandbox.Fault{Do: do}
		if kind, file := strings.CutSuffix(do, "=FILE"); file { // the sandbox gets what is in the file
			f.Do, f.Body = kind, []byte("{}")
		}
		_, err := sandbox.CheckFault(f)
		must(t, err)
	}
	_, err = sandbox.CheckFault(sandbox.Fault{})
	for _, word := range strings.Fields(err.Error()) {
		if word = strings.TrimSuffix(word, ","); strings.ContainsAny(word, "-=") && !slices.Contains(faultKinds, word) {
			t.Errorf("%s is a kind and is not offered", word)
		}
	}
}

// TestReadyFileReplacesOnlyItsOwn checks which files count as those of an earlier run. The scripts show how a file
// comes and goes.
func TestReadyFileReplacesOnlyItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for text, ours := range map[string]bool{
		"": true, `{"url":"http://127.0.0.1:1"}` + "\n": true, `{"base_url":"http://x","api_key":"y"}`: true,
		`{"url":"x","mine":"y"}`: false, "{}": false, "notes": false,
		string(sandboxAddress{BaseURL: "http://x"}.envFile()): true, string(sandboxAddress{BaseURL: "https://x"}.envFile()): false,
		"TILL_BASE_URL=http://x\nTILL_API_KEY=y\n": false, `{"base_url":"https://x","api_key":"y"}`: false,
	} {
		must(t, os.WriteFile(path, []byte(text), 0o644))
		err := newReadyFile("ready-file", path).prepare()
		left, gone := os.ReadFile(path)
		if (err == nil) != ours || (gone != nil) != ours || string(left) != text && !ours {
			t.Errorf("%q: prepare = %v, and leaves %q, %v", text, err, left, gone)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadyFileOfAnotherStays(t *testing.T) {
	file := newReadyFile("ready-file", filepath.Join(t.TempDir(), "file"))
	must(t, file.publish([]byte("first")))
	must(t, os.WriteFile(file.Path, []byte("second"), 0o600))
	must(t, file.retract())
	if text, _ := os.ReadFile(file.Path); string(text) != "second" {
		t.Errorf("the file is %q", text)
	}
}

func TestReadyFileRefusesOddPlaces(t *testing.T) {
	dir := t.TempDir()
	link, toFile, file := filepath.Join(dir, "link"), filepath.Join(dir, "to-file"), filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := errors.Join(os.Symlink("/dev/null", link), os.Symlink(file, toFile)); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{dir, link, toFile, "/dev/null", filepath.Join(dir, "none", "file")} {
		if err := newReadyFile("ready-file", path).prepare(); exit.Explain(err).Code != exit.Usage {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The JSON has the same digits and the same text as the YAML.
func TestSeedJSON(t *testing.T) {
	for text, want := range map[string]string{
		"a: 9223372036854775807\nb: -1\nc: 0":          `{"a":9223372036854775807,"b":-1,"c":0}`,
		"a: 0.10000000000000000000001\nb: 25.00":       `{"a":0.10000000000000000000001,"b":25.00}`,
		"a: '1'\nb: \"0x10\"\nc: 1.5 Btc\nd: |\n  x\n": `{"a":"1","b":"0x10","c":"1.5 Btc","d":"x\n"}`,
		"a: 2026-05-03T10:00:00Z\nb: 2026-05-03":       `{"a":"2026-05-03T10:00:00Z","b":"2026-05-03"}`,
		"a: [007, 0x10, 1_000, 1e3, .inf, +5, .5]":     `{"a":["007","0x10","1_000","1e3",".inf","+5",".5"]}`,
		"a: True\nb: false\nc: ~\nd:\ne: yes":          `{"a":true,"b":false,"c":null,"d":null,"e":"yes"}`,
		"a: [1, {b: [], c: {}}]\n東京: <ü&>\n":           `{"a":[1,{"b":[],"c":{}}],"東京":"<ü&>"}`,
		"{\"a\":\n1}":             "{\"a\":\n1}",
		"# only YAML\n{\"a\": 1}": `{"a":1}`,
	} {
		got, err := seedJSON([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestSeedJSONRefuses(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"a: 1\nb: 2\na: 3", "line 3: a is given twice"}, {"a:\n  - {b: 1, b: 1}", "line 2: b"},
		{"a: &x 1\nb: *x", "line 2: aliases"}, {"a: 1\nb: *x", "x"}, {"? [a]\n: 1", "line 1"},
		{"a: 1\n---\nb: 2", "second document"},
		{"a: 1\n b: 2", "line 2"}, {"a: [1\nb: 2", "line"}, {"", "no fields"}, {"text", "no fields"},
		{"- 1", "no fields"}, {"a: \xff", "UTF-8"},
		{"{\n\"a\": 1,\n", "line 2"},
	} {
		if got, err := seedJSON([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %s, %v, want %s", c.text, got, err, c.says)
		}
	}
}

// FuzzSeed checks that the conversion returns JSON, and that a sandbox takes or refuses it.
func FuzzSeed(f *testing.F) {
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "seed.yaml"))
	must(f, err)
	f.Add(example)
	f.Add([]byte("a: [1, 'x', 2026-05-03, ~, true]\n? b\n: |-\n  c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if seed, err := seedJSON(text); err == nil {
			if !json.Valid(seed) {
				t.Fatalf("%q becomes %q", text, seed)
			}
			sandbox.New(sandbox.WithSeedJSON(seed))
		}
	})
}

// TestSeedsTopicNamesEveryField compares the topic with the fields that the sandbox names when it refuses
// one.
func TestSeedsTopicNamesEveryField(t *testing.T) {
	topic, err := os.ReadFile("../../cli/help/seeds.txt")
	must(t, err)
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
