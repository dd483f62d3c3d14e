package main

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"example.com/till/pkg/api"
)

// floor is what any program must do that records what till records, each row before it is sent and after the
// answer: the withdrawals of post, and the writes of till with a synced transaction before and after each. As
// in till, the outcome of one row and the claim of the next go into the same commit, and so do those of other
// calls that wait.
func (w *payoutWorld) floor(rows []api.CreateWithdrawal, bodies [][]byte) time.Duration {
	w.command("withdraw", "create", "--currency", "Btc", "--amount-minor", "1500", "--address", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
		"--order-id", "1", "--yes").run() // makes the journal and the account
	begin := time.Now()
	f := openFloor(filepath.Join(w.dir, "journal.db"))
	defer f.db.Close()
	f.plan(rows)
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

// floorFile is a journal that till has made, with till's tables and indexes. The statements write what till
// writes, and have none of till's checks.
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
		"mode": {"rw"}, "_pragma": {"busy_timeout(20000)", "synchronous(full)"}, "_txlock": {"immediate"},
	}.Encode()}
	f := &floorFile{db: must(sql.Open("sqlite", file.String())), changes: make(chan floorChange, connections)}
	f.db.SetMaxOpenConns(1)
	f.claim = must(f.db.Prepare(
		"UPDATE orders SET state = 'sending', sent = ?2, fingerprint = '0123456789abcdef', changed = ?2, version = version + 1 WHERE id = ?1"))
	f.begin = must(f.db.Prepare(
		"INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals) VALUES (?1, 1, 1, ?2, '', '', 8)"))
	f.accept = must(f.db.Prepare(
		"UPDATE orders SET state = 'accepted', withdrawal = ?2, shown = ?2, changed = ?3, version = version + 1 WHERE id = ?1"))
	f.end = must(f.db.Prepare("UPDATE attempts SET ended = ?2, outcome = 'accepted' WHERE order_row = ?1 AND number = 1"))
	f.note = must(f.db.Prepare(`INSERT INTO events (order_row, at, user_name, host, what, state, currency, unit, minor, address, memo, callback, fingerprint, withdrawal)
		SELECT id, ?2, user_name, host, ?3, state, currency, unit, minor, address, memo, callback, fingerprint, ?4 FROM orders WHERE id = ?1`))
	return f
}

// plan records all rows before the first is sent.
func (f *floorFile) plan(rows []api.CreateWithdrawal) {
	tx := must(f.db.Begin())
	at := floorTime()
	run := must(tx.Exec(`INSERT INTO runs (account, name, digest, plan, batch, paid_before, began, user_name, host)
		SELECT id, 'floor', '', '', '', 0, ?, '', '' FROM accounts`, at))
	number := must(run.LastInsertId())
	order := must(tx.Prepare(`INSERT INTO orders (id, account, order_id, run, state, currency, unit, minor, address, memo, callback, user_name, host, created, changed, content, payee)
		SELECT ?1, id, ?2, 'floor', 'planned', ?3, ?3, ?4, ?5, '', '', 'root', 'machine', ?6, ?6, ?7, ?8 FROM accounts`))
	row := must(tx.Prepare(`INSERT INTO run_rows (run_id, place, order_row, currency, unit, minor, address, memo, callback, note)
		VALUES (?, ?, ?, ?, ?, ?, ?, '', '', '')`))
	note := tx.Stmt(f.note)
	for i, r := range rows {
		unit := "crypto:" + r.Amount.Code
		content, payee := md5.Sum(fmt.Append(nil, i)), md5.Sum([]byte(r.Address))
		must(order.Exec(floorID(i), r.ExternalOrderID, unit, r.Amount.Minor, r.Address, at, hex.EncodeToString(content[:]),
			hex.EncodeToString(payee[:])))
		must(row.Exec(number, i, floorID(i), unit, unit, r.Amount.Minor, r.Address))
		must(note.Exec(floorID(i), at, "planned", ""))
	}
	check(tx.Commit())
}

// floorID is the number of a row's order. The journal has one order already.
func floorID(row int) int { return row + 2 }

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
			run(f.accept, floorID(c.ended), c.answer, at)
			run(f.end, floorID(c.ended), at)
			run(f.note, floorID(c.ended), at, "accepted", c.answer)
		}
		if c.claims >= 0 {
			run(f.claim, floorID(c.claims), at)
			run(f.begin, floorID(c.claims), at)
			run(f.note, floorID(c.claims), at, "sending", "")
		}
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func floorTime() string { return time.Now().UTC().Format(time.RFC3339Nano) }
