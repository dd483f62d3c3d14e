package journal

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/payout/order"
	"github.com/jackc/pgx/v5"
)

// TestPooler checks that a journal is not used through PgBouncer, in any of its modes. Twelve processes that
// share three sessions would take each other's locks, and leave orders as being sent.
func TestPooler(t *testing.T) {
	s := pgtest.Shared(t)
	const drops = "\nignore_startup_parameters = synchronous_commit, lock_timeout, tcp_keepalives_idle, " +
		"tcp_keepalives_interval, tcp_keepalives_count"
	for name, settings := range map[string]string{"session": "pool_mode = session" + drops,
		"transaction": "pool_mode = transaction" + drops, "statement": "pool_mode = statement" + drops,
		"as installed": ""} {
		t.Run(name, func(t *testing.T) {
			direct := s.Database(t)
			j, err := Open(t.Context(), direct, Options{Now: time.Now})
			must(t, err)
			defer j.Close()
			pooled := startPooler(t, s, direct, settings)
			var all []*process
			for range 12 {
				all = append(all, start(t, "claim", pooled))
			}
			for _, p := range all {
				if line := p.hear(t); !strings.Contains(line, "is behind a connection pooler, such as PgBouncer") {
					p.say(t, "claim 1")
					t.Errorf("it says %q, and then %q", line, p.hear(t))
				}
			}
			for o, err := range bookOf(j).Orders(t.Context(), order.Filter{}) {
				t.Errorf("order %s is %s, %v", o.OrderID, o.State, err)
			}
		})
	}
}

// startPooler starts PgBouncer with three sessions in front of a server, and returns the address of a database behind
// it. The settings are lines of its configuration.
func startPooler(t *testing.T, s *pgtest.Server, database, settings string) (address string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(program); err != nil && !pgtest.Needed() {
		t.Skip("PgBouncer is not installed here")
	}
	dir, err := os.MkdirTemp("/tmp", "till-pool-") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	u, err := url.Parse(database)
	must(t, err)
	settings = fmt.Sprintf("[databases]\n* = host=%s user=till\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = %s\n"+
		"auth_type = any\ndefault_pool_size = 3\n%s\n", u.Query().Get("host"), dir, settings)
	file := filepath.Join(dir, "pgbouncer.ini")
	must(t, errors.Join(os.WriteFile(file, []byte(settings), 0o644), os.Chmod(dir, 0o777)))
	pooler := s.Command(program, "-q", file)
	must(t, pooler.Start())
	t.Cleanup(func() {
		pooler.Process.Kill()
		pooler.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, ".s.PGSQL.6432")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("PgBouncer does not listen")
		}
	}
	u.RawQuery = url.Values{"host": {dir}, "port": {"6432"}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// TestSynchronousCommitIsReadBack checks a session in which something has dropped the setting.
func TestSynchronousCommitIsReadBack(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.Shared(t).Database(t))
	must(t, err)
	defer conn.Close(t.Context())
	d := &postgresDialect{}
	must(t, d.checkSession(t.Context(), conn))
	mustDo(t)(conn.Exec(t.Context(), "SET synchronous_commit = off"))
	if err := d.checkSession(t.Context(), conn); err == nil ||
		!strings.Contains(err.Error(), "sets synchronous_commit to off") {
		t.Errorf("without it: %v", err)
	}
}
