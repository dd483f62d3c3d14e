// Package pgtest starts a PostgreSQL server of its own for the tests of a package, in a temporary directory,
// reached by a socket in that. It ends with the process that started it, in whatever way that ends, and
// leaves nothing behind.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		address := pgtest.Shared(t).Database(t) // skips where PostgreSQL is not installed
//	}
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A Server is one that was started for tests. Everybody may connect as the user till, who may do everything;
// a user whom Guarded has made needs a password.
type Server struct {
	dir   string // its socket is here, its data below
	bin   string
	guard *exec.Cmd // ends the server when its standard input is closed
	alive io.Closer // which this holds open
	made  atomic.Int64
}

var shared struct {
	sync.Once
	server *Server
	err    error
}

// Run runs a package's tests, and then stops the server that they share, if they have started it.
func Run(m *testing.M) int {
	defer func() {
		if shared.server != nil {
			shared.server.Stop()
		}
	}()
	return m.Run()
}

// Shared returns the server that all tests of a package share. Where PostgreSQL is not installed the test is
// skipped, unless the environment says that it has to be there.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Do(func() { shared.server, shared.err = Start() })
	if errors.Is(shared.err, errMissing) && !needed() {
		t.Skip("PostgreSQL is not installed here (initdb and pg_ctl are needed)")
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// SharedIfInstalled is Shared, but that it returns nil where a test would be skipped.
func SharedIfInstalled(t testing.TB) *Server {
	t.Helper()
	if _, err := findBin(); err != nil && !needed() {
		return nil
	}
	return Shared(t)
}

func needed() bool { return os.Getenv("TILL_NEEDS_POSTGRES") != "" || os.Getenv("CI") != "" }

var errMissing = errors.New("PostgreSQL is not installed: initdb and pg_ctl are neither in the path nor in /usr/lib/postgresql")

func findBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errMissing
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// Start starts a server.
func Start() (*Server, error) {
	bin, err := findBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "till-pg-") // a socket's path must be short
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if err := s.start(); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		s.Stop()
		return nil, fmt.Errorf("start PostgreSQL: %w\n%s", err, log)
	}
	return s, nil
}

func (s *Server) start() error {
	if err := giveAway(s.dir); err != nil {
		return err
	}
	// The guard's input ends when this process does, also when it is killed.
	s.guard = s.command("sh", "-c",
		`cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"`, "sh",
		s.bin, s.dir)
	alive, err := s.guard.StdinPipe()
	if err != nil {
		return err
	}
	if err := s.guard.Start(); err != nil {
		return err
	}
	s.alive = alive
	if err := s.run("initdb", "-D", s.data(), "-U", "till", "-A", "trust", "-E", "UTF8", "--locale=C",
		"--no-sync"); err != nil {
		return err
	}
	// Nothing here has to survive a power cut.
	settings := fmt.Sprintf("listen_addresses = ''\nunix_socket_directories = '%s'\nmax_connections = 200\nshared_buffers = 16MB\nfsync = off\nfull_page_writes = off\n", s.dir)
	if err := s.append("postgresql.conf", settings); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"),
		[]byte("local all guarded scram-sha-256\nlocal all all trust\n"), 0o600); err != nil {
		return err
	}
	return s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-w", "-t", "60", "start")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) append(name, text string) error {
	f, err := os.OpenFile(filepath.Join(s.data(), name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (s *Server) run(name string, args ...string) error {
	if out, err := s.command(filepath.Join(s.bin, name), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// command is run as somebody who is not root, whom PostgreSQL refuses, and out of the reach of an interrupt
// from the terminal.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = s.dir
	c.SysProcAttr = attributes()
	return c
}

// Program returns the path of a program that is installed with the server.
func (s *Server) Program(name string) string { return filepath.Join(s.bin, name) }

// Stop ends the server and removes everything of it.
func (s *Server) Stop() {
	if s.alive != nil {
		s.alive.Close()
		s.guard.Wait()
	}
	os.RemoveAll(s.dir)
}

// Restart ends all sessions and starts the server anew.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.restart(t, "fast")
}

// Crash lets the server die in the middle of what it is doing, and starts it anew from its log.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	s.restart(t, "immediate")
}

func (s *Server) restart(t testing.TB, mode string) {
	t.Helper()
	if err := s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-m", mode, "-w",
		"restart"); err != nil {
		t.Fatal(err)
	}
}

// Address is that of a database of this server, for a user whose password may be empty.
func (s *Server) Address(user, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode()}
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// Database makes an empty database and returns its address. It goes with the server.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d_%d", os.Getpid(), s.made.Add(1))
	s.Exec(t, s.Address("till", "", "postgres"), "CREATE DATABASE "+name)
	return s.Address("till", "", name)
}

// Guarded makes a user named guarded, unless there is one, and sets its password.
func (s *Server) Guarded(t testing.TB, password string) {
	t.Helper()
	s.Exec(t, s.Address("till", "", "postgres"),
		"DO $$ BEGIN CREATE ROLE guarded; EXCEPTION WHEN duplicate_object THEN NULL; END $$; "+
			"ALTER ROLE guarded LOGIN SUPERUSER PASSWORD '"+password+"'")
}

// Exec runs a statement in a database.
func (s *Server) Exec(t testing.TB, address, statement string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
