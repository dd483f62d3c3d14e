//go:build unix

package cli

import (
	"database/sql"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// runSQL changes a journal in a way that till never does.
func runSQL(ts *testscript.TestScript, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

// lockFile keeps all others from writing to an SQLite file until the script says unlock or ends.
func lockFile(ts *testscript.TestScript, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0])+"?_pragma=busy_timeout(10000)")
	ts.Check(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN IMMEDIATE")
	ts.Check(err)
	w := worldOf(ts)
	w.lock = db
	ts.Defer(func() { db.Close() })
}

func unlockFile(ts *testscript.TestScript, _ []string) {
	w := worldOf(ts)
	if w.lock == nil {
		ts.Fatalf("nothing is locked")
	}
	_, err := w.lock.Exec("ROLLBACK")
	ts.Check(err)
}
