// Package pgtest starts a PostgreSQL server for the tests of a package, in a temporary directory, reached by a socket
// in it. The server ends with the process that started it, in whatever way that ends, and leaves nothing behind.
//
//	func TestSomething(t *testing.T) {
//		address := pgtest.Shared(t).Database(t) // skips the test if PostgreSQL is not installed
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

// A Server runs for tests. Everybody may connect as the user till, who may do everything. The user that Guarded
// makes needs a password.
type Server struct {
	dir   string // has its socket and its data
	bin   string
	guard *exec.Cmd // ends the server when its standard input is closed
	alive io.Closer // that standard input
	made  atomic.Int64
}

var shared = sync.OnceValues(Start)

// Shared returns the server that all tests of a package share. If PostgreSQL is not installed, it skips the test.
func Shared(t testing.TB) *Server {
	t.Helper()
	s := SharedIfInstalled(t)
	if s == nil {
		t.Skip("PostgreSQL is not installed here (initdb and pg_ctl are needed)")
	}
	return s
}

// SharedIfInstalled is Shared, but returns nil instead of skipping the test.
func SharedIfInstalled(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if errors.Is(err, errMissing) && !Needed() {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Needed reports whether the environment says that a test must not be skipped because something is not installed.
func Needed() bool { return os.Getenv("TILL_NEEDS_POSTGRES") != "" || os.Getenv("CI") != "" }

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
	return filepath.Dir(slices.Max(found)), nil
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
	s.guard = s.Command("sh", "-c",
		`cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"`, "sh", s.bin, s.dir)
	alive, err := s.guard.StdinPipe()
	if err != nil {
		return err
	}
	if err := s.guard.Start(); err != nil {
		return err
	}
	s.alive = alive
	if err := s.run("initdb", "-U", "till", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"pg_hba.conf": "local all guarded scram-sha-256\nlocal all all trust\n",
		"postgresql.conf": fmt.Sprintf("listen_addresses = ''\nunix_socket_directories = '%s'\nmax_connections = 200\nshared_buffers = 16MB\n"+
			"fsync = off\nfull_page_writes = off\n", s.dir), // nothing here has to survive a power cut
	} {
		if err := os.WriteFile(filepath.Join(s.dir, "data", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return s.run("pg_ctl", "-l", filepath.Join(s.dir, "log"), "-w", "-t", "60", "start")
}

// run runs a program of the server on its data.
func (s *Server) run(name string, args ...string) error {
	args = append([]string{"-D", filepath.Join(s.dir, "data")}, args...)
	if out, err := s.Command(s.Program(name), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// Command returns a command that runs as the user of the server, who is not root: PostgreSQL refuses root. An
// interrupt from the terminal does not reach it.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
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

// Restart ends all sessions and starts the server again. In the mode immediate, it dies in the middle of what it is
// doing, and starts from its log. The other mode is fast.
func (s *Server) Restart(t testing.TB, mode string) {
	t.Helper()
	if err := s.run("pg_ctl", "-l", filepath.Join(s.dir, "log"), "-m", mode, "-w", "restart"); err != nil {
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
