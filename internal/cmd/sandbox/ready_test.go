package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/till/internal/cmdutil"
)

// TestReadyFileReplacesOnlyItsOwn checks which files count as those of an earlier run. The scripts show how a file
// comes and goes.
func TestReadyFileReplacesOnlyItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for text, c := range map[string]struct {
		file *readyFile
		ours bool
	}{
		"": {jsonReadyFile(path, "url"), true}, `{"url":"http://127.0.0.1:1"}` + "\n": {jsonReadyFile(path, "url"), true},
		`{"url":"x","mine":"y"}`: {jsonReadyFile(path, "url"), false}, "notes": {jsonReadyFile(path, "url"), false},
		"TILL_BASE_URL=x\nTILL_API_KEY=y\n": {envReadyFile(path), true},
		"TILL_BASE_URL=x\nDATABASE_URL=y\n": {envReadyFile(path), false},
	} {
		must(t, os.WriteFile(path, []byte(text), 0o644))
		err := c.file.prepare()
		left, gone := os.ReadFile(path)
		if (err == nil) != c.ours || (gone != nil) != c.ours || string(left) != text && !c.ours {
			t.Errorf("%q: prepare = %v, and leaves %q, %v", text, err, left, gone)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadyFileOfAnotherStays(t *testing.T) {
	file := jsonReadyFile(filepath.Join(t.TempDir(), "file"), "url")
	must(t, file.publish([]byte("first")))
	must(t, os.WriteFile(file.Path, []byte("second"), 0o600))
	must(t, file.retract())
	if text, _ := os.ReadFile(file.Path); string(text) != "second" {
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
		if err := jsonReadyFile(path, "url").prepare(); cmdutil.Explain(err).Code != cmdutil.ExitUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
}
