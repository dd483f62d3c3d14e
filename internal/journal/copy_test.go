package journal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// opensRestored reports whether a journal, as it is opened next, may lack orders.
func opensRestored(t *testing.T, place string) bool {
	t.Helper()
	j := mustOpen(t, place)
	defer j.Close()
	restored, err := j.Restored(t.Context())
	must(t, err)
	return restored
}

// sendsIn sends an order with a journal, and closes it.
func sendsIn(t *testing.T, place, id string) {
	t.Helper()
	j := mustOpen(t, place)
	defer j.Close()
	mustFinish(t, j, mustClaim(t, j, claim(id)), accepted("w"+id))
}

// TestCopiesAreRestored checks that a copy is found, and that what happens to a journal that is in use does not
// make it one.
func TestCopiesAreRestored(t *testing.T) {
	for name, tt := range map[string]struct {
		does func(t *testing.T, path, backup string) error
		want bool
	}{
		"nothing": {func(*testing.T, string, string) error { return nil }, false},
		"moved":   {func(t *testing.T, path, _ string) error { return moveThere(path, path+".2") }, false},
		"its directory is moved": {func(t *testing.T, path, _ string) error {
			dir := filepath.Dir(path)
			return moveThere(dir, dir+".2")
		}, false},
		"vacuumed": {func(t *testing.T, path, _ string) error {
			j := mustOpenFile(t, path)
			defer j.Close()
			_, err := j.db.Exec("VACUUM")
			return err
		}, false},
		// These look like a directory that was cleared before a backup was written over the journal's file.
		"its lock file removed":     {func(t *testing.T, path, _ string) error { return os.Remove(path + locksFile) }, true},
		"its lock file damaged":     {func(t *testing.T, path, _ string) error { return os.WriteFile(path+locksFile, []byte("x"), 0o600) }, true},
		"its mode and times change": {func(t *testing.T, path, _ string) error { return os.Chtimes(path, time.Now(), time.Unix(1, 0)) }, false},
		"the backup is renamed":     {func(t *testing.T, path, backup string) error { return os.Rename(backup, path) }, true},
		"the backup is copied":      {func(_ *testing.T, path, backup string) error { return writeOver(path, backup) }, true},
		"an older backup was copied before, by mistake": {func(t *testing.T, path, backup string) error {
			newer := copyFiles(t, path, "")
			must(t, writeOver(path, backup))
			sendsIn(t, path, "3")
			return writeOver(path, newer)
		}, true},
		"the backup is copied after it was removed": {func(_ *testing.T, path, backup string) error {
			return errors.Join(os.Remove(path), writeOver(path, backup))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "journal.db")
			sendsIn(t, path, "1")
			backup := copyFiles(t, path, "")
			sendsIn(t, path, "2")
			must(t, tt.does(t, path, backup))
			for range 2 { // it is recorded
				if got := opensRestored(t, path); got != tt.want {
					t.Fatalf("restored: %v, want %v", got, tt.want)
				}
			}
			j := mustOpenFile(t, path)
			must(t, j.Agree(t.Context()))
			j.Close()
			sendsIn(t, path, "3")
			if opensRestored(t, path) {
				t.Error("it is restored again")
			}
		})
	}
}

// writeOver writes a copy of a file over another one, which stays the same file.
func writeOver(path, from string) error {
	data, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(path, data, 0o600))
}

// moveThere moves a file, and then back to where it was.
func moveThere(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Rename(to, from)
}

// TestPostgresDumpIsRestored checks that a database that was made from a dump is found, and that the database
// itself is not taken for one.
func TestPostgresDumpIsRestored(t *testing.T) {
	s, j := openPostgres(t)
	place := placeOf(j)
	j.Close()
	sendsIn(t, place, "1")
	dump := filepath.Join(t.TempDir(), "dump")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), s.Program(name), args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	run("pg_dump", "--format=custom", "--file="+dump, place)
	sendsIn(t, place, "2")
	s.Exec(t, place, "VACUUM FULL")
	if opensRestored(t, place) {
		t.Error("the journal itself is restored")
	}
	s.Exec(t, place, "UPDATE till_journal SET kept = replace(kept, 'server ', 'server 1')")
	if !opensRestored(t, place) {
		t.Error("a journal of another server, whose numbers are the same, is not restored")
	}
	other := s.Database(t)
	run("pg_restore", "--dbname="+other, dump)
	run("pg_restore", "--clean", "--dbname="+place, dump)
	for name, place := range map[string]string{"another database": other, "the same one": place} {
		if !opensRestored(t, place) {
			t.Errorf("%s: it is not restored", name)
		}
	}
}

// TestCopyLeavesOtherFilesAlone checks that a copy that fails changes no existing file, and leaves none of
// its own.
func TestCopyLeavesOtherFilesAlone(t *testing.T) {
	dir := t.TempDir()
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	mustClaim(t, j, claim("1"))
	must(t, os.WriteFile(filepath.Join(dir, "copy.db.part"), []byte("somebody's"), 0o600))
	must(t, j.Copy(t.Context(), filepath.Join(dir, "copy.db")))
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

// TestCopyHasAllTables checks that only what belongs to one place and its processes is not copied.
func TestCopyHasAllTables(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	r := j.read(t.Context())
	tables := all(r, only[string], "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if want := slices.Sorted(slices.Values(append(copiedTables, "appliers", "till_journal"))); !slices.Equal(tables, want) {
		t.Errorf("the tables are %q (%v), want %q", tables, r.err, want)
	}
}
