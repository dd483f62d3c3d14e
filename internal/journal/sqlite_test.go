package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/payout/order"
)

func openFile(t *testing.T, path string, mods ...func(*Options)) (*book, error) {
	t.Helper()
	o := Options{Now: time.Now, User: "ann"}
	for _, mod := range mods {
		mod(&o)
	}
	j, err := Open(WithHooks(t.Context(), Hooks{Copies: true}), path, o)
	if err == nil {
		t.Cleanup(func() { j.Close() })
	}
	return bookOf(j), err
}

func mustOpenFile(t *testing.T, path string) *book {
	t.Helper()
	j, err := openFile(t, path)
	must(t, err)
	return j
}

func wantRefused(t *testing.T, path, sentence string, mods ...func(*Options)) {
	t.Helper()
	_, err := openFile(t, path, mods...)
	if !errors.Is(err, Broken) || !strings.Contains(err.Error(), sentence) ||
		!strings.HasPrefix(err.Error(), "the journal "+path+" ") {
		t.Errorf("got %v, want the journal %s ... %s", err, path, sentence)
	}
}

// notOnWindows skips a test of modes, or of files that are taken away while they are open.
func notOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes, and does not let a file go that is open")
	}
}

func TestReaderMakesNoJournal(t *testing.T) {
	check := func(t *testing.T, place string) {
		reader := Options{Now: time.Now, Existing: true}
		for range 2 {
			if _, err := Open(t.Context(), place, reader); !errors.Is(err, Broken) || !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("a journal that is not there: %v", err)
			}
		}
		if _, err := os.Stat(filepath.Dir(place)); err == nil {
			t.Error("its directory was made")
		}
		made, err := Open(t.Context(), place, Options{Now: time.Now})
		must(t, err)
		must(t, made.Close())
		j, err := Open(t.Context(), place, reader)
		must(t, err)
		defer j.Close()
		must(t, j.Copy(t.Context(), filepath.Join(t.TempDir(), "copy.db"))) // a copy is not there yet
	}
	t.Run("sqlite", func(t *testing.T) { check(t, filepath.Join(t.TempDir(), "below", "journal.db")) })
	t.Run("postgres", func(t *testing.T) { check(t, pgtest.Shared(t).Database(t)) })
}

func TestFileModes(t *testing.T) {
	notOnWindows(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "journal.db")
	j := mustOpenFile(t, path)
	bring(t, j, "1", order.Accepted)
	for name, want := range map[string]os.FileMode{"a": 0o700, "a/b": 0o700, "a/b/journal.db": 0o600,
		"a/b/journal.db-wal": 0o600, "a/b/journal.db.lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %04o", name, got)
		}
	}
}

func TestSymbolicLinkSharesTheLocks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "journal.db"), filepath.Join(dir, "link.db")
	j := mustOpenFile(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	linked := mustOpenFile(t, link)
	mustClaim(t, j, claim("1"))
	must(t, linked.Ledger.Reap(t.Context())) // by the link, its sender does not look dead
	wantState(t, linked, "1", order.Sending)
	if _, err := os.Lstat(link + ".lock"); err == nil {
		t.Error("the link has locks of its own")
	}
}

func TestOddNames(t *testing.T) {
	for _, name := range []string{"with space?and#more%20.db", "ümläut.db", ":memory:"} {
		path := filepath.Join(t.TempDir(), name)
		bring(t, mustOpenFile(t, path), "1", order.Accepted)
		mustDo(t)(os.Stat(path))
		if err := checkFiles(filepath.Join(path, "within")); err == nil {
			t.Error("a journal within a file")
		}
	}
	if _, err := openFile(t, "mysql:/till:s3cret@host/db"); !errors.Is(err, Misplaced) ||
		err.Error() != "the journal mysql:xxxxx@host/db cannot be used: it looks like an address, and is not one that is "+
			"known: write a path, or postgres://USER@HOST/DATABASE (a file whose name has a colon begins with ./)" {
		t.Errorf("a mistyped address: %v", err)
	}
}

func TestDamagedFile(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "journal.db")
	j := mustOpenFile(t, whole)
	for i := range 200 {
		bring(t, j, strings.Repeat("x", 100)+string(rune('a'+i)), order.Accepted)
	}
	j.Close() // moves everything into the file itself
	data, err := os.ReadFile(whole)
	if err != nil || len(data) < 50_000 {
		t.Fatal(len(data), err)
	}
	noise := bytes.Repeat([]byte{0xa5, 0x17, 0xff, 0x03}, 4096)
	for name, damaged := range map[string][]byte{
		"noise in the middle":         slices.Concat(data[:len(data)/2], noise, data[len(data)/2+len(noise):]),
		"cut short":                   data[:len(data)/2],
		"cut in the middle of a page": data[:len(data)/2+100],
		"a short text":                []byte("hello\n"),
		"noise":                       noise,
	} {
		path := filepath.Join(t.TempDir(), "journal.db")
		must(t, os.WriteFile(path, damaged, 0o600))
		wantRefused(t, path, "is damaged")
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
}

// TestDamagedUnit reads orders whose currency somebody has changed in the file: no amount can be printed with it.
func TestDamagedUnit(t *testing.T) {
	for _, unit := range []string{"1.5", "x'fffe'", "'crypto:'"} {
		j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
		bring(t, j, "1", order.Accepted)
		mustExec(t, j, "UPDATE orders SET unit = "+unit)
		if o, err := j.Order(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %+v, %v", unit, o, err)
		}
	}
}

// TestWriterHasDurableSettings checks that the connection that writes has the settings that make a commit
// durable, without a file for each statement.
func TestWriterHasDurableSettings(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	for range 2 { // also on the connection that replaces one that is broken
		err := j.write(t.Context(), func(tx *tx) error {
			for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "fullfsync": "1",
				"checkpoint_fullfsync": "1", "foreign_keys": "1", "temp_store": "2"} {
				if got := one[string](tx, "PRAGMA "+pragma); got != want {
					t.Errorf("%s is %s, want %s", pragma, got, want)
				}
			}
			return nil
		})
		must(t, err)
		j.disconnect()
	}
}

// TestHardLinks checks that a journal with another name is refused, because SQLite would use another log for
// it, and till other locks.
func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "journal.db"), filepath.Join(dir, "other.db")
	j := mustOpenFile(t, path)
	if err := os.Link(path, other); err != nil || runtime.GOOS == "windows" {
		t.Skip(err)
	}
	wantRefused(t, path, "has 2 names (hard links)")
	wantRefused(t, other, "has 2 names (hard links)")
	must(t, os.Remove(other))
	mustClaim(t, j, claim("1"))
	mustOpenFile(t, path)
}

func TestMovedFileRecordsNothing(t *testing.T) {
	notOnWindows(t)
	for name, away := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			data, err := os.ReadFile(path)
			os.Rename(path, path+".old") // so that the new file cannot have its inode number
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		},
		"cut short": func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, end := range []string{"", logFile, indexFile, locksFile} {
			if name == "cut short" && end != logFile { // SQLite notices that itself, or the file is empty
				continue
			}
			t.Run(name+" "+end, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "journal.db")
				j := mustOpenFile(t, path)
				ticket := mustClaim(t, j, claim("1"))
				must(t, j.Intact())
				must(t, away(path+end))
				const want = "was moved away or removed while it was in use"
				wantErr(t, "before it is sent", Lost, want)(nil, j.Intact())
				_, unrecorded := j.Finish(t.Context(), ticket, accepted("w1"))
				refused, err := j.Claim(t.Context(), claim("2"))
				wantErr(t, "a claim", Lost, want+" (journal.db"+end+":")(refused, err)
				if AsError(unrecorded) == nil {
					t.Errorf("an outcome: %v", unrecorded)
				}
				if name == "moved" {
					must(t, os.Rename(path+end+".old", path+end))
					wantIs(t, "put back", mustFinish(t, j, ticket, accepted("w1")), order.Accepted)
				}
			})
		}
	}
}

// TestMissingDatabaseIsNotMadeAgain checks that a missing database file is not made again if the other files,
// or a process that uses it, show that it existed.
func TestMissingDatabaseIsNotMadeAgain(t *testing.T) {
	notOnWindows(t)
	for name, tt := range map[string]struct {
		removed []string
		dies    bool // the process that used it
		want    string
	}{
		"in use":                      {[]string{""}, false, "while another process uses it"},
		"in use, without the log":     {[]string{"", logFile, indexFile}, false, "while another process uses it"},
		"left by one that died":       {[]string{""}, true, "with journal.db-wal and journal.db-shm left behind"},
		"left, only its index":        {[]string{"", logFile}, true, "with journal.db-shm left behind"},
		"left, nothing but its locks": {[]string{"", logFile, indexFile}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			p := claimedIn(t, path, "a")
			if tt.dies {
				p.kill()
			}
			for _, end := range tt.removed {
				must(t, os.Remove(path+end))
			}
			if tt.want == "" {
				mustOpenFile(t, path)
				return
			}
			wantErr(t, "open", Lost, tt.want)(openFile(t, path))
			wantErr(t, "its file", fs.ErrNotExist)(os.Lstat(path))
		})
	}
}

// TestEmptiedDatabaseIsNotMadeAgain checks that a database file that was emptied is not made again beside its
// log, which SQLite would remove.
func TestEmptiedDatabaseIsNotMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	claimedIn(t, path, "a").kill()
	must(t, os.Truncate(path, 0))
	for range 2 {
		wantErr(t, "open", Lost, "with journal.db-wal left behind")(openFile(t, path))
	}
	if logIsEmpty(path) {
		t.Error("its log is gone")
	}
}

// TestReplacedInUse checks that a file that replaced one in use, such as an older copy, is refused, because
// it does not know the orders under way. A file whose log was taken away is not called damaged.
func TestReplacedInUse(t *testing.T) {
	notOnWindows(t)
	for name, tt := range map[string]struct {
		replace func(t *testing.T, path, old string) error
		want    string
	}{
		"an older copy": {func(t *testing.T, path, old string) error {
			return errors.Join(os.Rename(old, path), os.Remove(path+logFile), os.Remove(path+indexFile))
		}, "was replaced while another process uses it"},
		"the log removed": {func(t *testing.T, path, old string) error { return os.Remove(path + logFile) },
			"has lost a file while another process uses it"},
		"the log emptied": {func(t *testing.T, path, old string) error { return os.Truncate(path+logFile, 0) },
			"has lost a file while another process uses it"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			closing(t, path)
			old := copyFiles(t, path, "")
			claimedIn(t, path, "a")
			must(t, tt.replace(t, path, old))
			d := &sqliteDialect{name: path, wait: 100 * time.Millisecond}
			db, err := d.open(t.Context())
			if err == nil {
				d.close(db)
				t.Fatal("it is used")
			}
			if text := d.explain(err); !strings.Contains(text, tt.want) {
				t.Errorf("got %v: %s", err, text)
			}
		})
	}
}

// TestFilesThatOthersCanChange checks that a journal is refused if other users can change or replace one of
// its files, because they could make a payment look as if it had not been made.
func TestFilesThatOthersCanChange(t *testing.T) {
	notOnWindows(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	j := mustOpenFile(t, path)
	mustClaim(t, j, claim("1"))
	for _, test := range []struct {
		path string
		mode os.FileMode
		ok   bool
		want string
	}{
		{path, 0o644, true, ""},
		{path, 0o602, false, "chmod 600 " + path},
		{path + logFile, 0o602, false, "chmod 600 " + path + "-wal"},
		{path + indexFile, 0o666, false, "chmod 600 " + path + "-shm"},
		{path + locksFile, 0o606, false, "chmod 600 " + path + ".lock"},
		{dir, 0o755, true, ""},
		{dir, 0o777 | os.ModeSticky, true, ""},
		{dir, 0o777, false, "chmod go-w " + dir},
		{dir, 0o757, false, "chmod go-w " + dir},
	} {
		before, err := os.Stat(test.path)
		must(t, err)
		must(t, os.Chmod(test.path, test.mode))
		if test.ok {
			mustOpenFile(t, path).Close()
		} else {
			wantRefused(t, path, test.want)
		}
		must(t, os.Chmod(test.path, before.Mode()))
	}
	if os.Chown(path+logFile, 12345, -1) == nil {
		wantRefused(t, path, "belongs to another user (id 12345)")
		os.Chown(path+logFile, 0, -1)
	}
	if os.Chown(dir, 12345, -1) == nil {
		must(t, os.Chmod(dir, 0o775)) // chmod go-w would not be enough
		wantRefused(t, path, fmt.Sprintf("type: chown %d %s", os.Geteuid(), dir))
		os.Chown(dir, 0, -1)
		os.Chmod(dir, 0o755)
	}
	mustOpenFile(t, path)
}

// TestBusyWriterLeavesTurnsToOthers checks that a process gets its turn after a few transactions of another
// one that writes all the time, with very short pauses. SQLite itself tries only ten times a second, and
// misses nearly all of the pauses.
func TestBusyWriterLeavesTurnsToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	busy, other := mustOpenFile(t, path), mustOpenFile(t, path)
	mustClaim(t, busy, claim("0"))
	mustClaim(t, other, claim("1")) // the marker of its first write is set without a turn
	stop, ended := make(chan struct{}), make(chan error)
	var turns atomic.Int64
	go func() {
		var err error
		for i := 1; err == nil; i++ {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			turns.Add(1)
			err = busy.write(context.Background(), func(tx *tx) error {
				time.Sleep(20 * time.Millisecond) // holds the lock
				return nil
			})
		}
		ended <- err
	}()
	for i := range 3 {
		mustClaim(t, other, claim(fmt.Sprint("other ", i)))
	}
	if n := turns.Load(); n > 60 {
		t.Errorf("another one had %d turns meanwhile", n)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTurnOfAnother checks that the wait for a process that has the turn is limited.
func TestTurnOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	const wait = 50 * time.Millisecond
	j, err := openFile(t, path, func(o *Options) { o.wait = wait })
	must(t, err)
	mustClaim(t, j, claim("1"))
	turn := mustOpenFile(t, path).dialect.(*sqliteDialect).locks
	if got, err := turn.try(turnByte, false); !got || err != nil {
		t.Fatalf("it was not given back: %v, %v", got, err)
	}
	began := time.Now()
	mustClaim(t, j, claim("2"))
	if waited := time.Since(began); waited < wait/2 {
		t.Errorf("it waited %v", waited)
	}
}

// TestLogGrowsWhileItIsLookedAt checks that a log that grows while several processes check it does not look
// truncated.
func TestLogGrowsWhileItIsLookedAt(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	bring(t, j, "1", order.Accepted)
	files := j.dialect.(*sqliteDialect).files
	grown := false
	files.stat = func(name string) (fs.FileInfo, error) {
		info, err := os.Stat(name)
		if strings.HasSuffix(name, logFile) && !grown {
			grown = true
			bring(t, j, "2", order.Accepted) // checks the files too
		}
		return info, err
	}
	must(t, j.Intact())
	files.stat = os.Stat
	must(t, os.Truncate(files.path+logFile, 100))
	wantErr(t, "cut short", Lost, "it was cut short")(nil, j.Intact())
}
