package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/payout/order"
)

// copyFiles copies some files of a journal to another directory, as a careless backup does.
func copyFiles(t *testing.T, path string, ends ...string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "journal.db")
	for _, end := range ends {
		data, err := os.ReadFile(path + end)
		must(t, err)
		must(t, os.WriteFile(to+end, data, 0o600))
	}
	return to
}

func wantRestored(t *testing.T, j *book, a order.Account, want bool) {
	t.Helper()
	if got, err := j.of(a).Restored(t.Context()); got != want || err != nil {
		t.Errorf("restored: %v, %v, want %v", got, err, want)
	}
}

// claimedIn starts a process that finishes one order, claims another and then runs on. It never closes the
// journal.
func claimedIn(t *testing.T, path, id string) *process {
	t.Helper()
	p := start(t, "claim", path)
	p.hear(t)
	p.say(t, "finish first "+id)
	p.hear(t)
	p.say(t, "claim second "+id)
	p.expect(t, "ticket")
	return p
}

// closing opens a journal, sends an order and closes it.
func closing(t *testing.T, path string) {
	t.Helper()
	j, err := openFile(t, path)
	must(t, err)
	mustFinish(t, j, mustClaim(t, j, claim(fmt.Sprint("closing ", time.Now().UnixNano()))),
		accepted(fmt.Sprint(time.Now().UnixNano())))
	must(t, j.Close())
}

// TestLostLogIsReported checks that the database file of a journal that was not closed says that its log is
// missing, until its accounts were compared with the service's list.
func TestLostLogIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	closing(t, path)
	p := claimedIn(t, path, "a")
	other := order.Account{Address: shop.Address, Name: "other"}
	for name, test := range map[string]struct {
		ends []string
		log  []byte // in the place of the log; nil: as it was
		want bool
	}{
		"all files":            {[]string{"", logFile, indexFile}, nil, false},
		"the file and the log": {[]string{"", logFile}, nil, false},
		"the file alone":       {[]string{""}, nil, true},
		"an empty log":         {[]string{""}, []byte{}, true},
		"a cut log":            {[]string{""}, append([]byte("\x37\x7f\x06\x82"), make([]byte, 4092)...), true},
		"zeroes for a log":     {[]string{""}, make([]byte, 8192), true},
	} {
		for _, when := range []string{"running", "killed"} {
			if when == "killed" {
				p.kill()
			}
			to := copyFiles(t, path, test.ends...)
			if test.log != nil {
				must(t, os.WriteFile(to+logFile, test.log, 0o600))
			}
			t.Run(name+" of a process "+when, func(t *testing.T) {
				for range 2 { // it is recorded
					j := mustOpenFile(t, to)
					wantRestored(t, j, shop, test.want)
					wantRestored(t, j, other, test.want)
					j.Close()
				}
				closing(t, to)
				j := mustOpenFile(t, to)
				wantRestored(t, j, shop, test.want)
				mustExec(t, j, "INSERT INTO accounts (address, name, created) VALUES ('"+other.Address+"', '"+other.Name+"', 'now')")
				must(t, j.Agree(t.Context()))
				wantRestored(t, j, shop, false)
				wantRestored(t, j, other, test.want) // it was not compared
				copied := filepath.Join(t.TempDir(), "copy.db")
				must(t, j.Copy(t.Context(), copied))
				j.Close()
				for place, isCopy := range map[string]bool{to: false, copied: true} {
					j = mustOpenFile(t, place)
					wantRestored(t, j, shop, isCopy)
					wantRestored(t, j, other, test.want || isCopy)
					j.Close()
				}
			})
		}
	}
}

// TestLossIsNotForgotten checks that the loss of the log is known even if the process that found it dies
// after it has updated the journal.
func TestLossIsNotForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	old := func(statement string, args ...any) *Journal {
		j, err := Open(t.Context(), path, Options{Now: time.Now, steps: schema()[:withDemandNumber]})
		must(t, err)
		must(t, j.write(t.Context(), func(tx *tx) error { tx.exec(statement, args...); return nil }))
		return j
	}
	old(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, '')`, shop.Address, shop.Name).Close()
	defer old(`UPDATE accounts SET created = 'now'`).Close()

	path = copyFiles(t, path, "") // without its log
	d := &sqliteDialect{name: path, wait: wait}
	j := &Journal{options: Options{Now: time.Now, steps: schema(), wait: wait}, dialect: d, sender: randomNumber()}
	var err error
	if j.db, err = d.open(t.Context()); err != nil || !d.lost {
		t.Fatal(d.lost, err)
	}
	defer j.Close()
	must(t, j.migrate(t.Context()))
	wantRestored(t, mustOpenFile(t, copyFiles(t, path, "", logFile)), shop, true)
}

// TestLastOneCloses checks that a journal is complete in one file after the last of its processes has closed
// it, in whatever order they close.
func TestLastOneCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	whole := func(name string, want bool) {
		t.Helper()
		_, err := os.Stat(path + logFile)
		if lacks := err == nil; lacks == want {
			t.Errorf("%s: the log: %v", name, err)
		}
		j := mustOpenFile(t, copyFiles(t, path, ""))
		defer j.Close()
		wantRestored(t, j, shop, !want)
	}
	closing(t, path)
	whole("one that writes", true)

	one, two, reader := mustOpenFile(t, path), mustOpenFile(t, path), mustOpenFile(t, path)
	mustClaim(t, one, claim("1"))
	mustClaim(t, two, claim("2"))
	one.Close()
	whole("the first of two that write", false)
	two.Close()
	wantRestored(t, mustOpenFile(t, copyFiles(t, path, "", logFile)), shop, false)
	reader.Close()
	whole("then one that only reads", true)

	// A process that only reads after a crash is the one that closes the journal.
	p := claimedIn(t, path, "b")
	p.kill()
	whole("killed", false)
	mustOpenFile(t, path).Close()
	whole("one that only reads, after a crash", true)

	p = claimedIn(t, path, "c")
	reader = mustOpenFile(t, path)
	p.kill()
	reader.Close()
	whole("one that read before the crash", true)

	// Many processes at once.
	var all []*book
	for i := range 6 {
		all = append(all, mustOpenFile(t, path))
		mustClaim(t, all[i], claim(fmt.Sprint("many ", i)))
	}
	done := make(chan error)
	for _, j := range all {
		go func() { done <- j.Close() }()
	}
	for range all {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	// Of two connections that close at the same moment, SQLite may take neither for the last. The next one is
	// the last.
	j := mustOpenFile(t, path)
	wantRestored(t, j, shop, false)
	j.Close()
	whole("one after many at once", true)
}

// TestLongReadDoesNotBlockSenders checks that a long read does not keep others from sending, and that the
// marker follows as soon as it can.
func TestLongReadDoesNotBlockSenders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	closing(t, path)
	reader := mustOpenFile(t, path)
	conn, err := reader.db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	for _, statement := range []string{"BEGIN", "SELECT * FROM till_journal"} {
		mustDo(t)(conn.ExecContext(t.Context(), statement))
	}
	j := mustOpenFile(t, path)
	ticket := mustClaim(t, j, claim("1"))
	mustDo(t)(conn.ExecContext(t.Context(), "ROLLBACK"))
	mustFinish(t, j, ticket, accepted("w1"))
	lost := mustOpenFile(t, copyFiles(t, path, ""))
	wantRestored(t, lost, shop, true)
}

// TestLogTakenFromAnother checks that a process notices that another process uses a log that was taken away,
// although it sees neither the log nor its content.
func TestLogTakenFromAnother(t *testing.T) {
	notOnWindows(t)
	path := filepath.Join(t.TempDir(), "journal.db")
	closing(t, path)
	p := claimedIn(t, path, "d")
	for _, end := range []string{logFile, indexFile} {
		must(t, os.Remove(path+end))
	}
	wantRefused(t, path, "has lost a file while another process uses it (journal.db-wal)")
	p.say(t, "claim 3")
	if line := p.hear(t); !strings.Contains(line, "was moved away or removed while it was in use") {
		t.Error(line)
	}
	p.kill()
	j := mustOpenFile(t, path)
	wantRestored(t, j, shop, true)
	mustClaim(t, j, claim("4"))
}

// TestLogIsLostForAll checks that two processes that find a log lost at the same moment both report it.
func TestLogIsLostForAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	p := claimedIn(t, path, "e")
	to := copyFiles(t, path, "")
	p.kill()
	results := make(chan error)
	for range 8 {
		go func() {
			j, err := Open(t.Context(), to, Options{Now: time.Now})
			if err == nil {
				restored := false
				if restored, err = bookOf(j).Restored(t.Context()); !restored {
					err = errors.Join(err, errors.New("it looks whole"))
				}
				j.Close()
			}
			results <- err
		}()
	}
	for range 8 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestLogStaysWithTheMarker checks that the log of a killed process stays if the last process cannot take the
// marker away, or cannot open the journal: a database that has the marker and no log would have lost
// something.
func TestLogStaysWithTheMarker(t *testing.T) {
	for _, opened := range []bool{true, false} {
		t.Run(fmt.Sprintf("opened: %v", opened), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			p := claimedIn(t, path, "a")
			d := &sqliteDialect{name: path, wait: 50 * time.Millisecond}
			db, err := d.open(t.Context())
			must(t, err)
			if !opened {
				d.close(db)
			}
			p.kill()
			others, err := openLockFile(path + locksFile)
			must(t, err)
			if got, err := others.try(gateByte, false); !got || err != nil {
				t.Fatal(got, err)
			}
			if opened {
				err = d.close(db)
			} else {
				_, err = (&sqliteDialect{name: path, wait: 50 * time.Millisecond}).open(t.Context())
			}
			if !errors.Is(err, errLocked) {
				t.Fatalf("got %v", err)
			}
			others.Close()
			wantRestored(t, mustOpenFile(t, path), shop, false)
		})
	}
}

// TestClosedWithoutItsLog checks that a process that closes a journal does not mark it as complete if a file
// is lost.
func TestClosedWithoutItsLog(t *testing.T) {
	notOnWindows(t)
	for _, replaced := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := mustOpenFile(t, path)
		mustClaim(t, j, claim("1"))
		data, err := os.ReadFile(path + logFile)
		must(t, errors.Join(err, os.Remove(path+logFile)))
		if replaced {
			must(t, os.WriteFile(path+logFile, data, 0o600))
		}
		j.Close()
		wantRestored(t, mustOpenFile(t, copyFiles(t, path, "")), shop, true)
	}
}
