package cmdutil

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/till/internal/exit"
)

// TestOutFileIsResolvedOnce checks that a file is written to where its path led at the check, or not at all.
func TestOutFileIsResolvedOnce(t *testing.T) {
	dir := t.TempDir()
	mine, link := filepath.Join(dir, "mine"), filepath.Join(dir, "results.csv")
	must(t, os.WriteFile(mine, []byte("before"), 0o600))
	file := OutFile{Flag: "results", Path: link, Mode: 0o600}
	must(t, file.Check())
	if err := os.Symlink(mine, link); err != nil {
		t.Skipf("there are no symbolic links here: %v", err)
	}
	var failed *exit.Error
	if err := file.Write(Content([]byte("after"))); !errors.As(err, &failed) || failed.Code != exit.Output {
		t.Errorf("it is written through a link that was put there: %v", err)
	}
	if text, err := os.ReadFile(mine); string(text) != "before" {
		t.Errorf("the other file has %q, %v", text, err)
	}
	must(t, file.Check())
	if err := file.Write(Content([]byte("after"))); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(mine); string(text) != "after" {
		t.Errorf("through a link that was there, the other file has %q, %v", text, err)
	}
}
