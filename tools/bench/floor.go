package main

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"database/sql"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"example.com/till/pkg/api"
	gojson "github.com/go-json-experiment/json"
)

// floor measures applyBare as a whole process.
func (w *payoutWorld) floor(rows int) time.Duration {
	plan := w.plan(rows)
	w.command("withdraw", "create", "--currency", "Btc", "--amount-minor", "1500", "--address", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
		"--order-id", "1", "--yes").run() // makes the account
	return command(nil, w.self, "-apply", w.url, filepath.Join(w.dir, "journal.db"), plan).run()
}

// applyBare applies a plan with the least work that a program with a journal can do: it has none of till's
// checks, and it does not look at what it reads. It reads the plan with its digest and the service's list
// twice, records all rows, and sends them as they are recorded. Each row is recorded before it is sent and
// after the answer, with till's writes and a synced transaction. As in till, the outcome of one row and the
// claim of the next go into the same commit, and so do those of other calls that wait. Before each call, it
// looks whether the journal's files are still there. At the end, it writes the results.
func applyBare(args []string) {
	url, journal, plan := args[0], args[1], args[2]
	debug.SetGCPercent(400) // as in till
	client := poster()
	defer client.CloseIdleConnections()
	f := openFloor(journal)
	defer f.db.Close()
	rows := readFloorPlan(plan)
	f.record(rows)
	for range 2 {
		var list json.RawMessage
		check(exchange(context.Background(), client, http.MethodPost, url+listPath+"?page=0&page_size=100", []byte(`{"currencies":[],"tags":[]}`), &list))
	}
	bodies := f.recorded()
	if len(bodies) != len(rows) {
		check(fmt.Errorf("%d of %d rows are recorded", len(bodies), len(rows)))
	}
	go f.commitAll()
	defer close(f.changes)
	answers := make([]string, len(bodies))
	last := make([]int, connections) // of each worker, the row before
	for i := range last {
		last[i] = -1
	}
	together(connections, len(bodies), func(worker, number int) error {
		before := last[worker]
		last[worker] = number
		if err := f.change(floorChange{ended: before, answer: answerOf(answers, before), claims: number}); err != nil {
			return err
		}
		for _, file := range f.files {
			if _, err := os.Stat(file); err != nil {
				return err
			}
		}
		return exchange(context.Background(), client, http.MethodPost, url+createPath, bodies[number], &answers[number])
	})
	together(connections, connections, func(_, worker int) error {
		return f.change(floorChange{ended: last[worker], answer: answerOf(answers, last[worker]), claims: -1})
	})
	writeFloorResults(plan+".results.csv", answers)
}

func answerOf(answers []string, row int) string {
	if row < 0 {
		return ""
	}
	return answers[row]
}

// floorRow is a row of a plan.
type floorRow struct {
	OrderID string     `json:"order_id"`
	Amount  api.Amount `json:"amount"`
	Address string     `json:"address"`
}

func readFloorPlan(path string) []floorRow {
	text := must(os.ReadFile(path))
	sha256.Sum256(text)
	var plan struct {
		Rows []floorRow `json:"rows"`
	}
	check(gojson.Unmarshal(text, &plan))
	return plan.Rows
}

func writeFloorResults(path string, answers []string) {
	file := must(os.Create(path))
	defer file.Close()
	out := csv.NewWriter(file)
	for i, id := range answers {
		check(out.Write([]string{strconv.Itoa(i), "accepted", id, ""}))
	}
	out.Flush()
	check(out.Error())
	check(file.Sync())
}

// floorFile is a journal that till has made, with till's tables and indexes. The statements write what till
// writes, and have none of till's checks.
type floorFile struct {
	db                              *sql.DB
	files                           []string
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
	f := &floorFile{db: must(sql.Open("sqlite", file.String())), files: []string{path, path + "-wal", path + "-shm"},
		changes: make(chan floorChange, connections)}
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

// record records all rows before the first is sent.
func (f *floorFile) record(rows []floorRow) {
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
		must(order.Exec(floorID(i), r.OrderID, unit, r.Amount.Minor, r.Address, at, hex.EncodeToString(content[:]),
			hex.EncodeToString(payee[:])))
		must(row.Exec(number, i, floorID(i), unit, unit, r.Amount.Minor, r.Address))
		must(note.Exec(floorID(i), at, "planned", ""))
	}
	check(tx.Commit())
}

// recorded returns the requests for the recorded rows.
func (f *floorFile) recorded() [][]byte {
	rows := must(f.db.Query(`SELECT orders.order_id, run_rows.minor, run_rows.address FROM run_rows
		JOIN orders ON orders.id = order_row ORDER BY place`))
	defer rows.Close()
	var all [][]byte
	for rows.Next() {
		r := api.CreateWithdrawal{Currency: api.Currency{Kind: api.Crypto, Code: "Btc"},
			Amount: api.Amount{Kind: api.Crypto, Code: "Btc"}}
		check(rows.Scan(&r.ExternalOrderID, &r.Amount.Minor, &r.Address))
		all = append(all, must(gojson.Marshal(r)))
	}
	check(rows.Err())
	return all
}

// floorID is the number of a row's order. The journal has one order already.
func floorID(row int) int { return row + 2 }

// change returns when the change is on the disk.
func (f *floorFile) change(c floorChange) error {
	c.done = make(chan error, 1)
	f.changes <- c
	return <-c.done
}

// floorGroup is how many changes go into one commit, as in till.
const floorGroup = 32

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
