package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// has checks that a directory has exactly these files.
func has(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the directory has %q, want %q", got, want)
	}
}

// TestCommitReplacesAtOnce checks that a reader sees all of the old file before Commit, and after Discard. What a
// killed process leaves behind does not have the ending of the file, by which other programs find it.
func TestCommitReplacesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prom")
	must(t, os.WriteFile(path, []byte("the old one"), 0o644))
	for _, want := range []string{"the old one", "new", ""} {
		f, err := Create(path, 0o600)
		must(t, err)
		if name := filepath.Base(f.Name()); name[0] != '.' || filepath.Ext(name) == ".prom" {
			t.Errorf("it is %s", name)
		}
		before := read(t, path)
		if before == want {
			_, err = f.WriteString("discarded")
			must(t, errors.Join(err, f.Discard()))
		} else {
			_, err = f.WriteString(want)
			if must(t, err); read(t, path) != before {
				t.Errorf("before Commit there is %q", read(t, path))
			}
			must(t, f.Commit())
		}
		if got := read(t, path); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		has(t, filepath.Dir(path), "a.prom")
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestWriteBesideOthers checks that a file that cannot be put in its place leaves nothing behind, and that files
// left by a killed process do not keep the next one from writing.
func TestWriteBesideOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	must(t, os.MkdirAll(filepath.Join(path, "b"), 0o700)) // no file replaces a directory
	if err := Write(path, 0o600, []byte("x")); err == nil || errors.As(err, new(*UnsyncedError)) {
		t.Errorf("%v", err)
	}
	has(t, filepath.Dir(path), "a")
	must(t, os.RemoveAll(path))
	for range 3 {
		f, err := Create(path, 0o600)
		must(t, err)
		f.Close()
	}
	if err := Write(path, 0o600, []byte("x")); err != nil || read(t, path) != "x" {
		t.Errorf("%v", err)
	}
}

// TestLinkPutInTheWay has a link, of this user and of another one, that is put in the place of a file while
// that is written.
func TestLinkPutInTheWay(t *testing.T) {
	for name, owner := range map[string]int{"this user's": -1, "another user's": 12345} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			target, path := filepath.Join(dir, "target"), filepath.Join(dir, "a")
			must(t, os.WriteFile(target, []byte("old"), 0o600))
			f, err := Create(path, 0o600)
			must(t, err)
			if err := os.Symlink(target, path); err != nil {
				t.Skipf("there are no symbolic links here: %v", err)
			}
			if err := os.Lchown(path, owner, -1); err != nil {
				t.Skip("only root can give a link away")
			}
			if err := f.Commit(); err == nil {
				t.Error("the file is written")
			}
			if f, err := CreateAt(path, 0o600); err == nil {
				t.Errorf("a second one is made: %s", f.Name())
			}
			if err := Write(path, 0o600, []byte("new")); (err == nil) != (owner < 0) {
				t.Errorf("a new one: %v", err)
			}
			if text := read(t, target); (text == "new") != (owner < 0) {
				t.Errorf("the target has %q", text)
			}
			has(t, dir, "a", "target")
		})
	}
}

// TestWritersAtTheSameTime checks that one of several writers wins, and that its file is whole.
func TestWritersAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var group sync.WaitGroup
	for _, c := range []byte("abcdefgh") {
		group.Go(func() {
			if err := Write(path, 0o600, []byte{c, c, c}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if text := read(t, path); len(text) != 3 || text[0] != text[2] {
		t.Errorf("got %q", text)
	}
	has(t, filepath.Dir(path), "a")
}

// TestLock checks that only one has the lock of a file at a time, and that no process waits for it longer than
// told.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	inside, most := 0, 0
	var all sync.WaitGroup
	var counting sync.Mutex
	count := func(n int) {
		counting.Lock()
		defer counting.Unlock()
		inside += n
		most = max(most, inside)
	}
	for range 8 {
		all.Go(func() {
			unlock, err := Lock(path, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			count(1)
			runtime.Gosched()
			count(-1)
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d had it at once", most)
	}
	unlock, err := Lock(path, time.Minute)
	must(t, err)
	if _, err := Lock(path, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is locked: %v", err)
	}
	unlock()
	if unlock, err = Lock(path, time.Minute); err != nil {
		t.Fatal(err)
	}
	unlock()
}
