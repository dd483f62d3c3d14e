package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal/pgtest"
)

func TestPostgresRefuses(t *testing.T) {
	s := pgtest.Shared(t)
	s.Guarded(t, "right/secret@")
	taken, readOnly, base := s.Database(t), s.Database(t), s.Database(t)
	s.Exec(t, taken, "CREATE TABLE orders (x int)")
	name := func(address string) string {
		path, _, _ := strings.Cut(address, "?")
		return path[strings.LastIndex(path, "/")+1:]
	}
	s.Exec(t, readOnly, "ALTER DATABASE "+name(readOnly)+" SET default_transaction_read_only = on")
	tests := []struct{ name, address, want string }{
		{"wrong password", s.Address("guarded", "wr0ng-secret", name(base)), "does not let this user in (password authentication failed"},
		{"missing database", s.Address("till", "wr0ng-secret", "nowhere"), "does not exist ("},
		{"read-only", readOnly, "is read-only"},
		{"of something else", taken, "is a database of something else"},
		{"port", "postgres://till:wr0ng-secret@127.0.0.1:none/db", "cannot be understood"},
		{"parameter", "postgres://till:wr0ng-secret@127.0.0.1/db?connect_timeout=soon", "cannot be understood"},
		{"slash in a password", "postgres://till:1234/wr0ng-secret@127.0.0.1:1/db", "cannot be understood"},
		{"another slash", "postgres://till:12@34/wr0ng-secret@127.0.0.1:1/db", "cannot be understood"},
		{"question mark in a password", "postgres://till:1234?wr0ng-secret@127.0.0.1:1/db", "cannot be understood"},
		{"hash in a password", "postgres://till:1234#wr0ng-secret@127.0.0.1:1/db", "cannot be understood"},
		{"password as a parameter", "postgres://till@127.0.0.1:1/db?password=wr0ng-secret", "cannot be reached"},
		{"nobody there", "postgres://till:wr0ng-secret@127.0.0.1:1/db", "cannot be reached"},
		{"upper case", "POSTGRES://till:wr0ng-secret@127.0.0.1:1/db", ""},
	}
	for _, test := range tests {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		j, err := Open(ctx, test.address, Options{Now: time.Now})
		stop()
		if err == nil {
			j.Close()
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for text := error(e); text != nil; text = errors.Unwrap(text) {
			if strings.Contains(text.Error(), "wr0ng") || strings.Contains(e.Place, "1234") {
				t.Errorf("%s: the password is told: %v", test.name, text)
			}
		}
	}
	j, err := Open(t.Context(), s.Address("guarded", "right/secret@", name(base)), Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if strings.Contains(j.Place(), "secret") || !strings.Contains(j.Place(), "guarded@/"+name(base)) {
		t.Errorf("the place is %s", j.Place())
	}
}

func openPostgres(t *testing.T) (*pgtest.Server, *book) {
	t.Helper()
	s := pgtest.Shared(t)
	j, err := Open(t.Context(), s.Database(t), Options{Now: time.Now, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return s, bookOf(j)
}

// What a database or a user has as a default does not make a commit weaker.
// TestPostgresExistingOnly: a database without a journal in it stays without one.
func TestPostgresExistingOnly(t *testing.T) {
	s := pgtest.Shared(t)
	address := s.Database(t)
	o := Options{Now: time.Now, Existing: true}
	for range 2 {
		if _, err := Open(t.Context(), address, o); !errors.As(err, new(*Error)) || !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a database without a journal: %v", err)
		}
	}
	made, err := Open(t.Context(), address, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	j, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatalf("one that is there: %v", err)
	}
	j.Close()
}

func TestPostgresSettings(t *testing.T) {
	s := pgtest.Shared(t)
	address := s.Database(t)
	path, _, _ := strings.Cut(address, "?")
	db := path[strings.LastIndex(path, "/")+1:]
	s.Exec(t, address, "ALTER DATABASE "+db+" SET synchronous_commit = off; ALTER DATABASE "+db+" SET default_transaction_isolation = 'repeatable read'")
	j, err := Open(t.Context(), address+"&options=-c%20synchronous_commit%3Doff", Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	err = j.write(t.Context(), func(tx *tx) error {
		for name, want := range map[string]string{"synchronous_commit": "on", "transaction_isolation": "read committed"} {
			got := ""
			if err := tx.row("SELECT current_setting(?1)", name).Scan(&got); err != nil {
				return err
			}
			if got != want {
				t.Errorf("%s is %s", name, got)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPostgresRestart(t *testing.T) {
	s, j := openPostgres(t)
	opened, err := Open(t.Context(), placeOf(j), Options{Now: time.Now, User: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	other := bookOf(opened)
	defer other.Close()
	one, two, three := mustClaim(t, j, claim("1")), mustClaim(t, j, claim("2")), mustClaim(t, j, claim("3"))
	s.Restart(t)
	// The lock is gone: another machine gives one of them up.
	if _, err := other.Claim(t.Context(), shop, claim("1")); !errors.As(err, new(*ExistsError)) {
		t.Fatal(err)
	}
	wantState(t, other, "1", Unknown)
	// The first write takes it again.
	if o := mustFinish(t, j, two, accepted("w2")); o.State != Accepted {
		t.Errorf("after the restart: %+v", o)
	}
	if n, err := other.Reap(t.Context(), shop); n != 0 || err != nil {
		t.Errorf("the lock was not taken again: %d, %v", n, err)
	}
	wantState(t, other, "3", Sending)
	if o := mustFinish(t, j, one, accepted("w1")); o.State != Accepted || o.Withdrawal != "w1" {
		t.Errorf("the late outcome: %+v", o)
	}
	mustFinish(t, j, three, accepted("w3"))
	mustClaim(t, j, claim("4"))
	if n, err := other.Reap(t.Context(), shop); n != 0 || err != nil {
		t.Errorf("a claim after the restart: %d, %v", n, err)
	}
}

// A commit of which nobody knows whether it happened gives no right to send.
func TestPostgresKilledDuringCommit(t *testing.T) {
	s, j := openPostgres(t)
	mustClaim(t, j, claim("0"))
	// A deferred check makes the commit itself wait for its own end.
	s.Exec(t, placeOf(j), `
		CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER die AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.order_id = '1') EXECUTE FUNCTION die()`)
	ticket, err := j.Claim(t.Context(), shop, claim("1"))
	if !errors.As(err, new(*Error)) || ticket.order.OrderID != "" {
		t.Errorf("got %+v, %v", ticket, err)
	}
	s.Exec(t, placeOf(j), "DROP TRIGGER die ON orders")
	mustClaim(t, j, claim("2")) // and the journal goes on
	mustClaim(t, j, claim("1")) // this commit did not happen
}

// A statement that failed unnoticed undoes the transaction, which must not look like a commit.
func TestPostgresCommitOfNothing(t *testing.T) {
	_, j := openPostgres(t)
	err := j.write(t.Context(), func(tx *tx) error {
		if _, err := shopNumber(tx); err != nil {
			return err
		}
		tx.exec("SELECT 1/0")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "ROLLBACK") {
		t.Errorf("got %v", err)
	}
	mustClaim(t, j, claim("1"))
}

// A lock that an earlier session of this process still has cannot be had; nothing is sent without it.
func TestPostgresLockTaken(t *testing.T) {
	s, j := openPostgres(t)
	ctx := context.Background()
	db, err := sql.Open("pgx", placeOf(j))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_lock(%d)", j.sender)); err != nil {
		t.Fatal(err)
	}
	ticket, err := j.Claim(t.Context(), shop, claim("1"))
	if !errors.As(err, new(*Error)) || ticket.order.OrderID != "" || !strings.Contains(err.Error(), "its lock yet") {
		t.Errorf("got %+v, %v", ticket, err)
	}
	if _, err := j.Order(t.Context(), shop, "1"); !errors.As(err, new(*GoneError)) {
		t.Errorf("it is recorded: %v", err)
	}
	// A lock of the same number in another database is another lock.
	elsewhere, err := Open(t.Context(), s.Database(t), Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	if held, err := elsewhere.dialect.holds(ctx, reading{elsewhere, ctx}, j.sender); held || err != nil {
		t.Errorf("the lock of another database: %v, %v", held, err)
	}
	if held, err := j.dialect.holds(ctx, reading{j.Journal, ctx}, j.sender); !held || err != nil {
		t.Errorf("the lock: %v, %v", held, err)
	}
}

// A signal that comes while the database is asked for the first time is no fault of the database's.
func TestInterruptedWhileOpening(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := make([]byte, 4096)
		if _, err := conn.Read(in); err != nil { // who is there
			return
		}
		conn.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I")) // come in; ready
		if _, err := conn.Read(in); err == nil {                                  // the first question, which is not answered
			interrupt()
		}
		conn.Read(in)
	}()
	_, err = Open(ctx, "postgres://till@"+server.Addr().String()+"/till?sslmode=disable", Options{Now: time.Now})
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
		t.Errorf("an interrupted Open returned %v", err)
	}
}

// Nobody waits for ever for a program that holds a row.
func TestPostgresLocked(t *testing.T) {
	s := pgtest.Shared(t)
	opened, err := Open(t.Context(), s.Database(t), Options{Now: time.Now, User: "ann", wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	j := bookOf(opened)
	defer j.Close()
	bring(t, j, "1", Unknown)
	db, err := sql.Open("pgx", placeOf(j))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	held, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec("LOCK TABLE accounts"); err != nil {
		t.Fatal(err)
	}
	ticket, err := j.Claim(t.Context(), shop, claim("2"))
	if !errors.As(err, new(*Error)) || ticket.order.OrderID != "" || !strings.Contains(err.Error(), "is locked by another program for more than 20ms") {
		t.Errorf("got %+v, %v", ticket, err)
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, j, claim("2"))
}

// A copy is written to a database that has nothing else in it.
func TestPostgresCopy(t *testing.T) {
	s, j := openPostgres(t)
	bring(t, j, "1", Accepted)
	other, schema, view := s.Database(t), s.Database(t), s.Database(t)
	s.Exec(t, other, "CREATE TABLE customers (x int)")
	s.Exec(t, schema, "CREATE SCHEMA shop")
	s.Exec(t, schema, "CREATE TABLE shop.customers (x int)")
	s.Exec(t, view, "CREATE VIEW customers AS SELECT 1")
	for name, place := range map[string]string{"public.customers": other, "shop.customers": schema, "customers)": view} {
		if err := j.Copy(t.Context(), place); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "name an empty database") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := j.Copy(t.Context(), s.Address("till", "", "nowhere")); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("nowhere: %v", err)
	}
	empty := s.Database(t)
	if err := j.Copy(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	if err := j.Copy(t.Context(), empty); err == nil || !strings.Contains(err.Error(), "has a history of its own") {
		t.Errorf("once more: %v", err)
	}
	to, err := Open(t.Context(), empty, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	wantState(t, bookOf(to), "1", Accepted)
}
