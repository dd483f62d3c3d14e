package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Pooler starts PgBouncer with three sessions in front of the server, and returns the address of a database
// behind it. The settings are lines of its configuration. It ends with the test. Where it is not installed the
// test is skipped, unless the environment says that it has to be there.
func (s *Server) Pooler(t testing.TB, database, settings string) (address string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	if !exists(program) && !needed() {
		t.Skip("PgBouncer is not installed here")
	}
	dir, err := os.MkdirTemp("/tmp", "till-pool-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	settings = fmt.Sprintf("[databases]\n* = host=%s user=till\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = %s\n"+
		"auth_type = any\ndefault_pool_size = 3\n%s\n", s.dir, dir, settings)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := errors.Join(os.WriteFile(file, []byte(settings), 0o644), giveAway(dir)); err != nil {
		t.Fatal(err)
	}
	pooler := s.command(program, "-q", file)
	if err := pooler.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pooler.Process.Kill()
		pooler.Wait()
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = url.Values{"host": {dir}, "port": {"6432"}, "sslmode": {"disable"}}.Encode()
	for deadline := time.Now().Add(20 * time.Second); !exists(filepath.Join(dir, ".s.PGSQL.6432")); {
		if time.Now().After(deadline) {
			t.Fatal("PgBouncer does not listen")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return u.String()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
