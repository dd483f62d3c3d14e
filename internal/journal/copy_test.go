package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopyLeavesOtherFilesAlone checks that a copy that fails changes no existing file, and leaves none of
// its own.
func TestCopyLeavesOtherFilesAlone(t *testing.T) {
	dir := t.TempDir()
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	mustClaim(t, j, claim("1"))
	must(t, os.WriteFile(filepath.Join(dir, "copy.db.part"), []byte("somebody's"), 0o600))
	if err := j.Copy(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	if err := j.Copy(t.Context(), filepath.Join(dir, "copy.db")); err == nil {
		t.Error("a copy took the place of a file")
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if fmt.Sprint(entries) != "[- copy.db - copy.db.part]" {
		t.Errorf("there is %v", entries)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "copy.db.part")); err != nil || string(text) != "somebody's" {
		t.Errorf("the other file is %q, %v", text, err)
	}
}

// TestCopyToAMistypedAddress checks that an address that cannot be used is not taken for a file's name, which
// would have the password in it.
func TestCopyToAMistypedAddress(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	if err := j.Copy(t.Context(), "postgress://till:s3cret@db/till"); err == nil ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
		t.Errorf("it made %v, %v", made, err)
	}
}
