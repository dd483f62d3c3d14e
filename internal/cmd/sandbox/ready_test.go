package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/till/internal/cmdutil"
	"github.com/spf13/pflag"
)

func TestReadyFileReplacesOnlyItsOwn(t *testing.T) {
	const json, env = false, true
	for name, c := range map[string]struct {
		text    string
		env, ok bool
	}{
		"empty": {"", json, true}, "an earlier run's": {`{"url":"http://127.0.0.1:1"}` + "\n", json, true},
		"more keys": {`{"url":"x","mine":"y"}`, json, false}, "no JSON": {"notes", json, false},
		"an earlier env":  {"TILL_BASE_URL=x\nTILL_API_KEY=y\n", env, true},
		"somebody's .env": {"TILL_BASE_URL=x\nDATABASE_URL=y\n", env, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			file := jsonReadyFile("ready-file", path, "url")
			if c.env {
				file = envReadyFile("env-file", path)
			}
			err := file.prepare(pflag.NewFlagSet("", pflag.ContinueOnError))
			if !c.ok {
				if cmdutil.Explain(err).Code != cmdutil.ExitUsage {
					t.Errorf("prepare = %v, want a refusal", err)
				}
				if text, _ := os.ReadFile(path); string(text) != c.text {
					t.Errorf("the file was touched: %q", text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the stale file is still there")
			}
			if err := file.publish([]byte("new")); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("published as %v, %v", info, err)
			}
			if err := file.retract(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestReadyFileOfAnotherStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	file := jsonReadyFile("ready-file", path, "url")
	if err := file.publish([]byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.retract(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "second" {
		t.Errorf("the file is %q", text)
	}
}

func TestReadyFileRefusesOddPlaces(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{dir, link, "/dev/null", filepath.Join(dir, "none", "file")} {
		if err := jsonReadyFile("ready-file", path, "url").prepare(pflag.NewFlagSet("",
			pflag.ContinueOnError)); cmdutil.Explain(err).Code != cmdutil.ExitUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
}
