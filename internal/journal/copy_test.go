package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestCopyLeavesOtherFilesAlone checks that a copy that fails changes no existing file, and leaves none of
// its own.
func TestCopyLeavesOtherFilesAlone(t *testing.T) {
	dir := t.TempDir()
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	mustClaim(t, j, claim("1"))
	if err := os.WriteFile(filepath.Join(dir, "copy.db.part"), []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := j.Copy(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	if err := j.Copy(t.Context(), filepath.Join(dir, "copy.db")); err == nil {
		t.Error("a copy took the place of a file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(entries) != "[- copy.db - copy.db.part]" {
		t.Errorf("there is %v", entries)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "copy.db.part")); err != nil || string(text) != "somebody's" {
		t.Errorf("the other file is %q, %v", text, err)
	}
}
