package journal

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"example.com/till/internal/secret"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresDialect keeps the journal in a database that several machines share. A sender's lock is an advisory
// lock of the session that writes. If the connection breaks or the database restarts, the lock is released.
// The next write takes it again.
type postgresDialect struct {
	address  string
	wait     time.Duration
	existing bool   // make no tables
	password string // never shown in an error, although a server can echo it
}

// place returns the address without secrets. It has no parameters, because some of them may be secret.
func (d *postgresDialect) place() string {
	u, err := url.Parse(d.address)
	if err != nil {
		return "in PostgreSQL"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

// connectLimit is the time limit for a connection to the database.
const connectLimit = 10 * time.Second

func (d *postgresDialect) open(ctx context.Context) (*sql.DB, error) {
	config, err := d.config()
	if err != nil {
		return nil, err
	}
	d.password = config.Password
	config.ConnectTimeout = connectLimit
	for name, value := range map[string]string{
		"synchronous_commit": "on", // a commit is on the disk when it returns
		"application_name":   "till",
		"lock_timeout":       fmt.Sprint(d.wait.Milliseconds()),
		// The database notices within a minute that a machine is gone, and releases its locks.
		"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3",
	} {
		config.RuntimeParams[name] = value
	}
	db := openDB(ctx, stdlib.GetConnector(*config, stdlib.OptionAfterConnect(d.checkSession)))
	db.SetMaxOpenConns(maxConnections)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		if ctx.Err() != nil { // the driver calls this a bad connection
			err = ctx.Err()
		}
		return nil, err
	}
	if found := 0; d.existing {
		if err = db.QueryRowContext(ctx, d.tables()).Scan(&found); err == nil && found == 0 {
			err = notThere(d.place())
		}
		if err != nil {
			db.Close()
			return nil, err
		}
	}
	return db, nil
}

// checkSession refuses a session that is not this process's own: a connection pooler gives the locks of one
// process to others, and can drop the settings of the session. It tells another process id than the server
// does, in every pool mode. The mode cannot be seen, and can change while the journal is open.
func (d *postgresDialect) checkSession(ctx context.Context, conn *pgx.Conn) error {
	// The simple protocol prepares no statement, which another process's session would not have.
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid(), current_setting('synchronous_commit')").ReadAll()
	if err != nil {
		return err
	}
	row := results[0].Rows[0]
	if string(row[0]) != fmt.Sprint(conn.PgConn().PID()) {
		return &Error{Kind: Broken, Place: d.place(), Msg: pooled}
	}
	if commit := string(row[1]); commit != "on" {
		return &Error{Kind: Broken, Place: d.place(), Msg: fmt.Sprintf("is on a server that sets synchronous_commit to %s for this session, "+
			"so that a commit can be lost; find out with the server's administrator what changes the setting, and remove that", commit)}
	}
	return nil
}

const pooled = "is behind a connection pooler, such as PgBouncer, which gives the locks of one process to another; " +
	"name the database server's own host and port in the address"

// config returns the settings for the connection. An address without sslmode means verify-full, whatever
// PGSSLMODE says. config checks this, and any weaker mode, in the driver's own settings for every host that
// it would try.
func (d *postgresDialect) config() (*pgx.ConnConfig, error) {
	misplaced := func(msg string) (*pgx.ConnConfig, error) {
		return nil, &Error{Kind: Misplaced, Place: d.place(), Msg: msg}
	}
	config, err := pgx.ParseConfig(verifyFull(d.address))
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return misplaced(fmt.Sprintf("cannot be used: a file that its address or the environment names cannot be read (%v)", file))
	}
	if err != nil { // the error may show the password
		return misplaced("has an address or settings in the environment (PG...) that cannot be understood: write postgres://USER@HOST/DATABASE, with parameters that PostgreSQL knows")
	}
	hosts := []*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}
	for _, to := range append(hosts, config.Fallbacks...) {
		if to.TLSConfig != nil && !to.TLSConfig.InsecureSkipVerify {
			continue
		}
		if network, _ := pgconn.NetworkAddress(to.Host, to.Port); network != "unix" {
			config.RequireAuth = scram
		}
		if !onThisMachine(to.Host, to.Port) {
			return misplaced(fmt.Sprintf("is on another machine (%s), and its address asks for a connection that somebody in between can read and change: "+
				"leave sslmode out, or write sslmode=verify-full; sslrootcert=FILE names the authority of the server's certificate", to.Host))
		}
	}
	lookup := config.LookupFunc
	config.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		if strings.EqualFold(host, "localhost") { // whatever a name server says
			return []string{"127.0.0.1", "::1"}, nil
		}
		return lookup(ctx, host)
	}
	return config, nil
}

// verifyFull returns an address with its sslmode. If it has none, the sslmode is verify-full.
func verifyFull(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Query().Has("sslmode") || u.Query().Has("ssl") {
		return address
	}
	switch _, query, found := strings.Cut(address, "?"); {
	case !found:
		address += "?"
	case query != "":
		address += "&"
	}
	return address + "sslmode=verify-full"
}

// scram is the only way of authentication without verified TLS over TCP, also on this machine: while the
// server is down, its port is anyone's. It shows no password, and only the server of the journal can do it.
const scram = "scram-sha-256"

func onThisMachine(host string, port uint16) bool {
	if network, _ := pgconn.NetworkAddress(host, port); network == "unix" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// begin names the isolation level, because the database can have another default. Reads after the lock on the
// account must see what exists then.
func (d *postgresDialect) begin(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED")
	return err
}

// kept has the numbers of the server's data, the database and a table. A dump does not have them. The last two alone are
// the same in each new server that is set up with the same commands.
func (d *postgresDialect) kept(t *tx) string {
	server := ""
	if one[bool](t, `SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')`) {
		server = one[string](t, `SELECT 'server ' || system_identifier || ', ' FROM pg_catalog.pg_control_system()`)
	}
	return server + one[string](t, `SELECT 'database ' || d.oid || ', table ' || 'till_journal'::regclass::oid
		FROM pg_catalog.pg_database d WHERE d.datname = current_database()`)
}

// commit checks what the server did. After a failed statement, a server rolls back and reports success.
func (d *postgresDialect) commit(ctx context.Context, conn *sql.Conn) error {
	return conn.Raw(func(c any) error {
		done, err := c.(interface{ Conn() *pgx.Conn }).Conn().Exec(ctx, "COMMIT")
		if err == nil && done.String() != "COMMIT" {
			err = fmt.Errorf("the database answered %s to COMMIT", done)
		}
		return err
	})
}

func (d *postgresDialect) rewrite(query string) string {
	return strings.NewReplacer("{id}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "{lock}", "FOR UPDATE",
		"{clustered}", "", "{list}", "json_array_elements_text($2::json) AS list (value)", "?", "$").Replace(query)
}

func (d *postgresDialect) tables() string {
	return "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('till_journal')"
}

// checkEmpty refuses a database with tables that are not a journal's. Tables of extensions do not count.
func (d *postgresDialect) checkEmpty(ctx context.Context) error {
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	var name string
	err = db.QueryRowContext(ctx, `SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
		AND c.relname NOT IN ('till_journal', 'appliers', '`+strings.Join(copiedTables, "', '")+`')
		AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend e WHERE e.classid = 'pg_catalog.pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')
		ORDER BY 1 LIMIT 1`).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &Error{Kind: Broken, Place: d.place(), Msg: "has a table of something else (" + name + "): name an empty database"}
}

// exclude keeps other processes from making the tables.
func (d *postgresDialect) exclude(t *tx) { t.exec("SELECT pg_advisory_xact_lock(?1)", schemaLock) }

// elsewhere returns an error if there is a journal where this process does not look for one. A role usually sees the schema of its own name first, so two roles would
// have two journals, which do not know of each other. An address that names its schemas means that.
func (d *postgresDialect) elsewhere(t *tx) error {
	config, err := d.config()
	if err != nil {
		return err
	}
	for _, name := range []string{"search_path", "options"} {
		if config.RuntimeParams[name] != "" {
			return nil
		}
	}
	for schema := range each(t, pair[string], `SELECT n.nspname, quote_ident(n.nspname) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relname = 'till_journal' AND c.relkind = 'r' ORDER BY 1 LIMIT 1`) {
		return &Error{Kind: Misplaced, Place: d.place(),
			Msg: fmt.Sprintf("has a journal in the schema %s, where this role does not look for it: add the parameter search_path=%s to the address to use that journal, or another schema for a new one", schema[0], url.QueryEscape(schema[1]))}
	}
	return nil
}

// schemaLock is the number of the lock that is held while tables are made. A sender's number is never
// negative.
const schemaLock int64 = -8_432_907_441_052_116

// numbered sets the counters of the database, after rows were copied with their numbers.
func (d *postgresDialect) numbered(t *tx) {
	for _, table := range []string{"accounts", "orders", "events", "runs", "demands", "approvals", "consents", "acceptances"} {
		t.exec("SELECT setval(pg_get_serial_sequence('" + table +
			"', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM " + table + "), false)")
	}
}

// hold waits a few seconds if the lock is not free: the server may still be ending the previous session.
func (d *postgresDialect) hold(ctx context.Context, conn *sql.Conn, sender int64) error {
	got, err := patiently(ctx, 5*time.Second, 50*pause, func() (got bool, err error) {
		err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", sender).Scan(&got)
		return got, err
	})
	if err == nil && !got {
		err = &Error{Kind: Broken, Place: d.place(), Msg: "does not give this process its lock yet: run the command again"}
	}
	return err
}

func (d *postgresDialect) holds(t *tx, sender int64) bool {
	return one[bool](t, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
		AND classid::bigint = ?1 AND objid::bigint = ?2)`, sender>>32, sender&0xffffffff)
}

func (d *postgresDialect) explain(err error) string { return secret.Hide(d.reason(err), d.password) }

func (d *postgresDialect) reason(err error) string {
	var (
		server      *pgconn.PgError
		connect     *pgconn.ConnectError
		certificate *tls.CertificateVerificationError
		network     net.Error
	)
	if errors.As(err, &server) {
		switch server.Code {
		case "28P01", "28000":
			return fmt.Sprintf("does not let this user in (%s); look at the user in its address and at ~/.pgpass", server.Message)
		case "3D000":
			return fmt.Sprintf("does not exist (%s); make the database with createdb", server.Message)
		case "53100", "53200":
			return fmt.Sprintf("cannot be written: the database server has no room (%s)", server.Message)
		case "25006":
			return "cannot be written: the database is read-only, perhaps a standby; name the primary"
		case "42501":
			return fmt.Sprintf("is closed to this user (%s); let its owner grant the rights", server.Message)
		case "42P07":
			return fmt.Sprintf("is a database of something else (%s); make one of its own for the journal", server.Message)
		case "08P01":
			if strings.Contains(server.Message, "unsupported startup parameter") { // PgBouncer, as it is installed
				return pooled
			}
		case "55P03":
			return fmt.Sprintf("is locked by another program for more than %v; end that program, or wait", d.wait)
		}
		return fmt.Sprintf("cannot be used: %s (%s)", server.Message, server.Code)
	}
	switch {
	case errors.As(err, &certificate):
		return fmt.Sprintf("has a server whose certificate is not trusted (%v); name the file of its authority as sslrootcert=FILE in the address", certificate.Err)
	case errors.As(err, &connect) && strings.Contains(connect.Error(), "server refused TLS connection"):
		return "has a server without TLS; switch it on there (for a server on this machine, sslmode=disable in the address does without)"
	case errors.As(err, &connect) && strings.Contains(connect.Error(), "authentication method requirement"):
		return "has a server without TLS that does not ask for " + scram + ", so that it may be another program; let the server ask for it " +
			"(pg_hba.conf), or name its Unix socket in the address"
	case errors.As(err, &connect), errors.As(err, &network):
		return "cannot be reached; look whether the database runs, and at the host and port in its address"
	}
	return fmt.Sprintf("cannot be used: %v", err)
}

func (d *postgresDialect) close(db *sql.DB) error { return db.Close() }
