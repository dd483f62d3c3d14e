package journal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/payout/order"
	"github.com/jackc/pgx/v5/pgconn"
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
		{"wrong password", s.Address("guarded", "wr0ng-secret", name(base)),
			"does not let this user in (password authentication failed"},
		{"missing database", s.Address("till", "wr0ng-secret", "nowhere"), "does not exist ("},
		{"read-only", readOnly, "is read-only"},
		{"of something else", taken, "is a database of something else"},
		{"port", "postgres://till:wr0ng-secret@127.0.0.1:none/db", "cannot be understood"},
		{"parameter", "postgres://till:wr0ng-secret@127.0.0.1/db?connect_timeout=soon", "cannot be understood"},
		{"slash in a password", "postgres://till:1234/wr0ng-secret@127.0.0.1:1/db", "cannot be understood"},
		{"password as a parameter", "postgres://till@127.0.0.1:1/db?password=wr0ng-secret", "cannot be reached"},
		{"no file of an authority", "postgres://till:wr0ng-secret@127.0.0.1:1/db?sslrootcert=/nowhere.pem",
			"cannot be read (open /nowhere.pem:"},
		{"no such service", "postgres://till:wr0ng-secret@127.0.0.1:1/db?service=wr0ng-secret", "cannot be understood"},
		{"in clear text to another machine", "postgres://till:wr0ng-secret@192.0.2.1/db?sslmode=disable",
			"is on another machine (192.0.2.1)"},
		{"nobody there", "postgres://till:wr0ng-secret@127.0.0.1:1/db", "cannot be reached"},
	}
	for _, test := range tests {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		j, err := Open(ctx, test.address, Options{Now: time.Now})
		stop()
		if err == nil {
			j.Close()
		}
		e := AsError(err)
		if e == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for text := error(e); text != nil; text = errors.Unwrap(text) {
			if strings.Contains(text.Error(), "wr0ng") ||
				strings.Contains(test.address, ":1234/") && strings.Contains(e.Place, "1234") {
				t.Errorf("%s: the password is told: %v", test.name, text)
			}
		}
	}
	j := mustOpen(t, s.Address("guarded", "right/secret@", name(base)))
	if strings.Contains(j.Place(), "secret") || !strings.Contains(j.Place(), "guarded@/"+name(base)) {
		t.Errorf("the place is %s", j.Place())
	}
}

func openPostgres(t *testing.T) (*pgtest.Server, *book) {
	t.Helper()
	s := pgtest.Shared(t)
	return s, mustOpen(t, s.Database(t))
}

// TestPostgresSettings checks that the defaults of a database or a user do not make a commit weaker.
func TestPostgresSettings(t *testing.T) {
	s := pgtest.Shared(t)
	address := s.Database(t)
	path, _, _ := strings.Cut(address, "?")
	db := path[strings.LastIndex(path, "/")+1:]
	s.Exec(t, address, "ALTER DATABASE "+db+" SET synchronous_commit = off; "+
		"ALTER DATABASE "+db+" SET default_transaction_isolation = 'repeatable read'")
	j := mustOpen(t, address+"&options=-c%20synchronous_commit%3Doff")
	must(t, j.write(t.Context(), func(tx *tx) error {
		for name, want := range map[string]string{"synchronous_commit": "on", "transaction_isolation": "read committed"} {
			if got := one[string](tx, "SELECT current_setting(?1)", name); got != want {
				t.Errorf("%s is %s", name, got)
			}
		}
		return nil
	}))
}

func TestPostgresRestart(t *testing.T) {
	s, j := openPostgres(t)
	other := mustOpen(t, placeOf(j))
	one, two, three := mustClaim(t, j, claim("1")), mustClaim(t, j, claim("2")), mustClaim(t, j, claim("3"))
	s.Restart(t, "fast")
	// The lock is gone, so another machine makes one of the orders unknown.
	wantErr(t, "the lock is gone", Exists)(other.Claim(t.Context(), claim("1")))
	wantState(t, other, "1", order.Unknown)
	// The first write takes it again.
	wantIs(t, "after the restart", mustFinish(t, j, two, accepted("w2")), order.Accepted)
	if n, err := other.Reap(t.Context()); n != 0 || err != nil {
		t.Errorf("the lock was not taken again: %d, %v", n, err)
	}
	wantState(t, other, "3", order.Sending)
	if o := mustFinish(t, j, one, accepted("w1")); o.State != order.Accepted || o.ID != "w1" {
		t.Errorf("the late outcome: %+v", o)
	}
	mustFinish(t, j, three, accepted("w3"))
	mustClaim(t, j, claim("4"))
	if n, err := other.Reap(t.Context()); n != 0 || err != nil {
		t.Errorf("a claim after the restart: %d, %v", n, err)
	}
}

// TestPostgresKilledDuringCommit checks that a commit whose outcome is unknown gives no right to send.
func TestPostgresKilledDuringCommit(t *testing.T) {
	s, j := openPostgres(t)
	mustClaim(t, j, claim("0"))
	// A deferred check makes the commit wait until the session ends.
	s.Exec(t, placeOf(j), `
		CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER die AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.order_id = '1') EXECUTE FUNCTION die()`)
	wantErr(t, "a claim", Broken)(j.Claim(t.Context(), claim("1")))
	s.Exec(t, placeOf(j), "DROP TRIGGER die ON orders")
	mustClaim(t, j, claim("2")) // the journal still works
	mustClaim(t, j, claim("1")) // this commit did not happen
}

// TestPostgresCommitOfNothing checks that a transaction that the server undoes after a failed statement does
// not look like a commit.
func TestPostgresCommitOfNothing(t *testing.T) {
	_, j := openPostgres(t)
	wantErr(t, "a commit", Broken, "ROLLBACK")(nil, j.write(t.Context(), func(tx *tx) error {
		shopNumber(tx)
		j.conn.ExecContext(t.Context(), "SELECT 1/0")
		return nil
	}))
	mustClaim(t, j, claim("1"))
}

// TestPostgresLockTaken checks that nothing is sent if an earlier session of this process still holds the
// lock.
func TestPostgresLockTaken(t *testing.T) {
	s, j := openPostgres(t)
	ctx := context.Background()
	db, err := sql.Open("pgx", placeOf(j))
	must(t, err)
	defer db.Close()
	conn, err := db.Conn(ctx)
	must(t, err)
	defer conn.Close()
	mustDo(t)(conn.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_lock(%d)", j.sender)))
	wantErr(t, "a claim", Broken, "its lock yet")(j.Claim(t.Context(), claim("1")))
	wantErr(t, "it is recorded", NotFound)(j.Order(t.Context(), "1"))
	// A lock with the same number in another database is another lock.
	if holdsLock(t, mustOpen(t, s.Database(t)).Journal, j.sender) || !holdsLock(t, j.Journal, j.sender) {
		t.Error("the lock is seen in another database, or not in its own")
	}
}

// TestInterruptedWhileOpening checks that an interruption during the first query is not reported as an error
// of the database.
func TestInterruptedWhileOpening(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "till-") // a socket's path must be short
	must(t, err)
	defer os.RemoveAll(dir)
	ctx, interrupt := context.WithCancel(context.Background())
	serve(t, "unix", dir+"/.s.PGSQL.5432", func(conn net.Conn) {
		in := make([]byte, 4096)
		if _, err := conn.Read(in); err != nil { // the client's first message
			return
		}
		conn.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I")) // accepts the login, and is ready
		if _, err := conn.Read(in); err == nil {                                  // the first query, which gets no answer
			interrupt()
		}
		conn.Read(in)
	})
	_, err = Open(ctx, "postgres:///till?user=till&sslmode=disable&host="+dir, Options{Now: time.Now})
	if !errors.Is(err, context.Canceled) || AsError(err) != nil {
		t.Errorf("an interrupted Open returned %v", err)
	}
}

// serve starts a server, and returns its address.
func serve(t *testing.T, network, address string, answer func(net.Conn)) string {
	t.Helper()
	server, err := net.Listen(network, address)
	must(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return server.Addr().String()
}

// otherHolds makes another program hold a lock in the database of a journal, until it rolls back or the test
// ends.
func otherHolds(t *testing.T, j *book, statement string) *sql.Tx {
	t.Helper()
	db, err := sql.Open("pgx", placeOf(j))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	held, err := db.Begin()
	must(t, err)
	t.Cleanup(func() { held.Rollback() })
	mustDo(t)(held.Exec(statement))
	return held
}

// TestPostgresSchemas checks that two roles do not get a journal each in one database without asking for it.
func TestPostgresSchemas(t *testing.T) {
	s := pgtest.Shared(t)
	first, second := s.Database(t), s.Database(t)
	s.Exec(t, first, "CREATE SCHEMA bob")
	s.Exec(t, second, `CREATE SCHEMA "Shop"`)
	s.Exec(t, second, "CREATE SCHEMA shop")
	for _, step := range []struct{ place, path, want string }{
		{first, "bob", ""},
		{first, "", "in the schema bob, where this role does not look for it: add the parameter search_path=bob "},
		{first, "bob", ""},
		{first, "public", ""},
		{first, "", ""}, // where there is a journal now
		{second, `"Shop"`, ""},
		{second, "", "search_path=%22Shop%22 "},
	} {
		at := step.place
		if step.path != "" {
			at += "&search_path=" + url.QueryEscape(step.path)
		}
		j, err := Open(t.Context(), at, Options{Now: time.Now})
		if err == nil {
			j.Close()
		}
		if step.want == "" && err != nil ||
			step.want != "" && (!errors.Is(err, Misplaced) || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("%q: %v", step.path, err)
		}
	}
}

// TestPostgresCopy checks that a copy is written only to an empty database.
func TestPostgresCopy(t *testing.T) {
	s, j := openPostgres(t)
	bring(t, j, "1", order.Accepted)
	other, schema, view := s.Database(t), s.Database(t), s.Database(t)
	s.Exec(t, other, "CREATE TABLE customers (x int)")
	s.Exec(t, schema, "CREATE SCHEMA shop")
	s.Exec(t, schema, "CREATE TABLE shop.customers (x int)")
	s.Exec(t, view, "CREATE VIEW customers AS SELECT 1")
	for name, place := range map[string]string{"public.customers": other, "shop.customers": schema, "customers)": view} {
		err := j.Copy(t.Context(), place)
		wantErr(t, name, Broken, name)(nil, err)
		wantErr(t, name, Broken, "name an empty database")(nil, err)
	}
	wantErr(t, "nowhere", Broken, "does not exist")(nil, j.Copy(t.Context(), s.Address("till", "", "nowhere")))
	empty := s.Database(t)
	must(t, j.Copy(t.Context(), empty))
	wantErr(t, "once more", Broken, "has a history of its own")(nil, j.Copy(t.Context(), empty))
	copied := mustOpen(t, empty)
	wantState(t, copied, "1", order.Accepted)
	mustClaim(t, copied, claim("2")) // with a number of its own
}

// TestPostgresVerifiesOtherMachines checks that the driver's own settings are checked, for every host that it
// would try and whatever the environment says.
func TestPostgresVerifiesOtherMachines(t *testing.T) {
	dir := t.TempDir()
	service := filepath.Join(dir, "services")
	must(t, os.WriteFile(service, []byte("[weak]\nhost=db.test\nsslmode=disable\n[far]\nhost=db.test\n"), 0o600))
	authority := filepath.Join(dir, "ca.pem")
	must(t, os.WriteFile(authority, certificateOf(t, "db.test").pem, 0o600))
	const here, strong, weak = "here", "verified", "refused"
	for address, want := range map[string]string{ // the address and, after a blank, a variable of the environment
		"//till@db.test/till":                                            strong,
		"//till@db.test/till?sslmode=verify-full":                        strong,
		"//till@db.test/till?sslrootcert=" + authority:                   strong,
		"///till?host=db.test,other.test":                                strong,
		"//till@db.test/till PGSSLMODE=disable":                          strong,
		"//till@db.test/till PGSSLROOTCERT=" + authority:                 strong,
		"///till PGHOST=db.test":                                         strong,
		"///till?service=far&servicefile=" + service:                     strong,
		"///till?service=weak&servicefile=" + service:                    strong,
		"//till@db.test/till?sslmode=verify-ca&sslrootcert=" + authority: weak,
		"//till@db.test/till?sslmode=require&sslrootcert=" + authority:   weak,
		"//till@db.test/till?sslmode=prefer":                             weak,
		"//till@db.test/till?sslmode=":                                   weak,
		"//till@db.test/till?ssl=true":                                   weak,
		"//till@db.test/till?%73slmode=disable":                          weak,
		"//till@db.test/till?sslmode=verify-full&sslmode=disable":        weak,
		"//till@db.test/till?sslmode=disable PGSSLMODE=verify-full":      weak,
		"//till@127.0.0.1/till?host=db.test&sslmode=disable":             weak,
		"///till?host=/tmp,db.test&sslmode=disable":                      weak,
		"///till?sslmode=disable PGHOST=db.test":                         weak,
		"///till?service=far&sslmode=disable&servicefile=" + service:     weak,
		"//till@0.0.0.0/till?sslmode=disable":                            weak,
		"//till@127.0.0.1.evil.test/till?sslmode=disable":                weak,
		"//till@127.0.0.1/till?sslmode=disable":                          here,
		"//till@[::1]/till?sslmode=prefer":                               here,
		"//till@localhost/till?sslmode=disable":                          here,
		"///till?host=/tmp&sslmode=disable":                              here,
	} {
		t.Run(address, func(t *testing.T) {
			for _, name := range []string{"PGHOST", "PGSSLMODE", "PGSSLROOTCERT", "PGSERVICE"} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", dir)
			address, env, _ := strings.Cut(address, " ")
			if name, value, found := strings.Cut(env, "="); found {
				t.Setenv(name, value)
			}
			config, err := (&postgresDialect{address: "postgres:" + address}).config()
			if want == weak {
				wantErr(t, "config", Misplaced, "sslmode=verify-full")(nil, err)
				return
			}
			must(t, err)
			if want == strong {
				for _, to := range append(config.Fallbacks, &pgconn.FallbackConfig{TLSConfig: config.TLSConfig}) {
					if to.TLSConfig == nil || to.TLSConfig.InsecureSkipVerify || to.TLSConfig.ServerName == "" {
						t.Errorf("%s is reached with %+v", to.Host, to.TLSConfig)
					}
				}
			}
		})
	}
}

// TestPostgresLocalhost checks that localhost is this machine, whatever a name server answers.
func TestPostgresLocalhost(t *testing.T) {
	config, err := (&postgresDialect{address: "postgres://till@LocalHost/till?sslmode=disable"}).config()
	must(t, err)
	if found, err := config.LookupFunc(t.Context(), "LocalHost"); err != nil ||
		!slices.Equal(found, []string{"127.0.0.1", "::1"}) {
		t.Errorf("it is %v, %v", found, err)
	}
}

// elsewhere returns an address of this machine that is not a loopback address, so that it looks like another
// machine.
func elsewhere(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but its loopback ones")
	return ""
}

// fakeServer starts a server that asks for the password. It has no TLS or, with a certificate, a self-signed
// one. It returns its address and, after the client has gone, all that the client sent in clear text.
func fakeServer(t *testing.T, host string, cert *tls.Certificate) (address string, got <-chan string) {
	t.Helper()
	all := make(chan string, 1)
	return serve(t, "tcp", net.JoinHostPort(host, "0"), func(conn net.Conn) {
		in, text := make([]byte, 4096), ""
		for {
			n, err := conn.Read(in)
			text += string(in[:n])
			switch {
			case err != nil:
				all <- text
				return
			case n == 8 && cert == nil: // the client asks for TLS
				conn.Write([]byte("N"))
			case n == 8:
				conn.Write([]byte("S"))
				conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*cert}})
			case in[0] == 'p': // the password: it is echoed, as it is and in base64 with the user
				message := []byte("E\x00\x00\x00\x00SFATAL\x00C28P01\x00Mno wr0ng-secret, no dGlsbDp3cjBuZy1zZWNyZXQ\x00\x00")
				message[4] = byte(len(message) - 1)
				conn.Write(message)
			default:
				conn.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x03")) // asks for the password in clear text
			}
		}
	}), all
}

type signed struct {
	tls.Certificate
	pem []byte
}

// certificateOf makes a self-signed certificate.
func certificateOf(t *testing.T, names ...string) signed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return signed{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// TestPostgresKeepsThePassword checks that a program that answers instead of the server does not get the
// password.
func TestPostgresKeepsThePassword(t *testing.T) {
	host := elsewhere(t)
	t.Setenv("PGSSLMODE", "disable")
	t.Setenv("PGSSLROOTCERT", "")
	cert := certificateOf(t, host)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(authority, cert.pem, 0o600))
	for _, test := range []struct {
		name, host, query string
		cert              *tls.Certificate
		want              string
		told              bool
	}{
		{"no TLS", host, "", nil, "has a server without TLS", false},
		{"a certificate of its own", host, "", &cert.Certificate, "certificate is not trusted", false},
		{"the right certificate", host, "?sslrootcert=" + authority, &cert.Certificate,
			"not let this user in (no [hidden], no dGlsbDp[hidden]Q)", true},
		{"another name", "127.0.0.1", "?sslrootcert=" + authority, &cert.Certificate, "certificate is not trusted", false},
		{"on this machine", "127.0.0.1", "?sslmode=disable", nil, "does not ask for scram-sha-256", false},
		{"if asked", "127.0.0.1", "?sslmode=disable&require_auth=password", nil, "does not ask for scram-sha-256", false},
		{"unverified", "127.0.0.1", "?sslmode=require", &cert.Certificate, "does not ask for scram-sha-256", false},
	} {
		address, got := fakeServer(t, test.host, test.cert)
		_, err := Open(t.Context(), "postgres://till:wr0ng-secret@"+address+"/till"+test.query, Options{Now: time.Now})
		if !errors.Is(err, Broken) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "wr0ng-se") {
			t.Errorf("%s: %v", test.name, err)
		}
		if text := <-got; strings.Contains(text, "wr0ng") != test.told {
			t.Errorf("%s: it was sent %q", test.name, text)
		}
	}
}

// TestPostgresWithoutTLS reaches the server over TCP as a user of whom it asks for SCRAM, and as one of whom it
// asks for nothing: that could be any program.
func TestPostgresWithoutTLS(t *testing.T) {
	s := pgtest.Shared(t)
	s.Guarded(t, "right/secret@")
	at, err := url.Parse(s.Database(t))
	must(t, err)
	in := serve(t, "tcp", "127.0.0.1:0", func(from net.Conn) {
		to, err := net.Dial("unix", at.Query().Get("host")+"/.s.PGSQL.5432")
		if err == nil {
			go io.Copy(to, from)
			io.Copy(from, to)
			to.Close()
		}
	})
	for user, want := range map[string]string{"guarded:right%2Fsecret%40": "",
		"till:none": "does not ask for scram-sha-256"} {
		address := "postgres://" + user + "@" + in + at.Path + "?sslmode=disable"
		j, err := Open(t.Context(), address, Options{Now: time.Now})
		if err == nil {
			j.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func TestClock(t *testing.T) {
	ahead := time.Now().Add(16 * time.Minute)
	eachDialect(t, func(t *testing.T, open opener) {
		j := open(func(o *Options) { o.Now, o.ownClock = func() time.Time { return ahead }, false })
		now, err := j.Moment(t.Context())
		must(t, err)
		if own := now.At.Equal(ahead); own == j.Shared() {
			t.Errorf("the time is %v, and this machine's %v", now.At, ahead)
		}
	})
}
