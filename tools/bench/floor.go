package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"
)

// floor is what any program must do that records each row before it sends it and after the answer: the
// withdrawals of post, with a synced SQLite transaction before and after each. As in till, the outcome of one
// row and the claim of the next go into the same commit, and so do those of other calls that wait.
func (w *payoutWorld) floor(bodies [][]byte) time.Duration {
	begin := time.Now()
	f := openFloor(filepath.Join(w.dir, "floor.db"))
	defer f.db.Close()
	f.plan(bodies)
	go f.commitAll()
	defer close(f.changes)
	client := poster()
	defer client.CloseIdleConnections()
	answers := make([]string, connections) // of the row before, one for each worker
	numbers := make([]int, connections)
	for i := range numbers {
		numbers[i] = -1
	}
	together(connections, len(bodies), func(worker, number int) error {
		if err := f.record(floorChange{numbers[worker], answers[worker], number, nil}); err != nil {
			return err
		}
		numbers[worker] = number
		return exchange(context.Background(), client, http.MethodPost, w.url+createPath, bodies[number], &answers[worker])
	})
	for worker, number := range numbers {
		check(f.record(floorChange{number, answers[worker], -1, nil}))
	}
	return time.Since(begin)
}

// floorFile is the record of floor. Like till's journal, it has each order's content and state, an index that
// finds the order of a withdrawal, the attempts, and a history with the content of each change. It has none of
// till's checks.
type floorFile struct {
	db                              *sql.DB
	changes                         chan floorChange
	claim, begin, accept, end, note *sql.Stmt
}

// floorChange is the outcome of one row and the claim of another; -1: none.
type floorChange struct {
	ended  int
	answer string
	claims int
	done   chan error
}

func openFloor(path string) *floorFile {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{
		"_pragma": {"busy_timeout(20000)", "journal_mode(wal)", "synchronous(full)"}, "_txlock": {"immediate"},
	}.Encode()}
	f := &floorFile{db: must(sql.Open("sqlite", file.String())), changes: make(chan floorChange, connections)}
	f.db.SetMaxOpenConns(1)
	must(f.db.Exec(`CREATE TABLE orders (number INTEGER PRIMARY KEY, order_id TEXT NOT NULL UNIQUE, content TEXT NOT NULL, state TEXT NOT NULL, withdrawal TEXT NOT NULL);
		CREATE INDEX orders_withdrawal ON orders (withdrawal) WHERE withdrawal <> '';
		CREATE TABLE attempts (number INTEGER PRIMARY KEY, began TEXT NOT NULL, ended TEXT NOT NULL, outcome TEXT NOT NULL);
		CREATE TABLE events (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, at TEXT NOT NULL, what TEXT NOT NULL, content TEXT NOT NULL)`))
	f.claim = must(f.db.Prepare("UPDATE orders SET state = 'sending' WHERE number = ?1"))
	f.begin = must(f.db.Prepare("INSERT INTO attempts (number, began, ended, outcome) VALUES (?1, ?2, '', '')"))
	f.accept = must(f.db.Prepare("UPDATE orders SET state = 'accepted', withdrawal = ?2 WHERE number = ?1"))
	f.end = must(f.db.Prepare("UPDATE attempts SET ended = ?2, outcome = 'accepted' WHERE number = ?1"))
	f.note = must(f.db.Prepare(
		"INSERT INTO events (number, at, what, content) SELECT number, ?2, ?3, content FROM orders WHERE number = ?1"))
	return f
}

// plan records all rows before the first is sent.
func (f *floorFile) plan(bodies [][]byte) {
	tx := must(f.db.Begin())
	insert := must(tx.Prepare("INSERT INTO orders (number, order_id, content, state, withdrawal) VALUES (?1, ?2, ?3, 'planned', '')"))
	note := tx.Stmt(f.note)
	for i, body := range bodies {
		must(insert.Exec(i, strconv.Itoa(1_000_000+i), string(body)))
		must(note.Exec(i, floorTime(), "planned"))
	}
	check(tx.Commit())
}

// record returns when the change is on the disk.
func (f *floorFile) record(c floorChange) error {
	c.done = make(chan error, 1)
	f.changes <- c
	return <-c.done
}

// floorGroup is how many changes go into one commit, as in till.
const floorGroup = 16

// commitAll commits the changes that wait.
func (f *floorFile) commitAll() {
	for c := range f.changes {
		group := []floorChange{c}
	waiting:
		for len(group) < floorGroup {
			select {
			case c, more := <-f.changes:
				if !more {
					break waiting
				}
				group = append(group, c)
			default:
				break waiting
			}
		}
		err := f.commit(group)
		for _, c := range group {
			c.done <- err
		}
	}
}

func (f *floorFile) commit(group []floorChange) error {
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	at := floorTime()
	run := func(statement *sql.Stmt, args ...any) {
		if err == nil {
			_, err = tx.Stmt(statement).Exec(args...)
		}
	}
	for _, c := range group {
		if c.ended >= 0 {
			run(f.accept, c.ended, c.answer)
			run(f.end, c.ended, at)
			run(f.note, c.ended, at, "accepted")
		}
		if c.claims >= 0 {
			run(f.claim, c.claims)
			run(f.begin, c.claims, at)
			run(f.note, c.claims, at, "sending")
		}
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func floorTime() string { return time.Now().UTC().Format(time.RFC3339Nano) }
