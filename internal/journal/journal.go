package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"example.com/till/internal/place"
)

// IsPostgres reports whether a name is the address of a database, rather than the name of a file.
func IsPostgres(name string) bool { return place.IsPostgres(name) }

// Open opens a journal. The name is a file or the address of a PostgreSQL database. Open makes the file or
// the tables if there are none, unless o.Existing is set. The error is an *Error.
func Open(ctx context.Context, name string, o Options) (*Journal, error) {
	if err := usable(name); err != nil {
		return nil, err
	}
	o.wait = cmp.Or(o.wait, wait)
	if o.steps == nil {
		o.steps = schema()
	}
	if clock := hooks(ctx).SinceBoot; clock != nil {
		o.SinceBoot = clock
	}
	j := &Journal{shared: IsPostgres(name), options: o, sender: randomNumber(),
		dialect: &sqliteDialect{name: name, wait: o.wait, existing: o.Existing}}
	if j.shared {
		j.dialect = &postgresDialect{address: name, wait: o.wait, existing: o.Existing}
	}
	j.runs.sending = map[string]int{}
	var err error
	if j.db, err = j.dialect.open(ctx); err != nil {
		return nil, j.failed(err)
	}
	err = j.migrate(ctx)
	if f := j.file(); f != nil && err == nil {
		err = j.failed(f.opened(ctx, func() error { return j.noteRestored(ctx, "") }))
	}
	if err == nil {
		err = j.failed(j.findCopy(ctx))
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// usable returns an error if a name can be neither that of a file nor the address of a database.
func usable(name string) error {
	if err := place.Check(name); err != nil {
		return &Error{Kind: Misplaced, Place: place.Redact(name), Msg: "cannot be used: " + err.Error(), Err: err}
	}
	return nil
}

// Close closes the journal and releases this process's lock.
func (j *Journal) Close() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.disconnect()
	return j.dialect.close(j.db)
}

func randomNumber() int64 {
	var b [8]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:]) >> 2) // the largest numbers are for the range of a lock
}

// fillKeys fills in the hashes of contents and payees in the orders of an older journal.
func (t *tx) fillKeys() {
	for _, o := range load(t, `content = ''`) {
		t.exec(`UPDATE orders SET content = ?1, payee = ?2 WHERE id = ?3`, o.Content.Key().String(), payee(o.Address), o.row)
	}
}

// migrate makes the tables, or updates those of an older journal. The version has its own table, so that both
// dialects store it in the same way. The changes of the tables and of the version are one commit.
func (j *Journal) migrate(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	steps := j.options.steps
	r := j.read(ctx)
	if version, err := r.version(); err != nil || version == len(steps) {
		return err
	}
	return j.failed(j.transact(ctx, func(t *tx) error { return t.migrate(steps) }))
}

func (t *tx) migrate(steps []string) error {
	database, shared := t.j.dialect.(*postgresDialect)
	if shared { // BEGIN IMMEDIATE does that for a file
		database.exclude(t)
	}
	version, err := t.version()
	if err != nil { // another process may have updated it meanwhile
		return err
	}
	if version == 0 {
		if shared {
			t.fail(database.elsewhere(t))
		}
		t.script("CREATE TABLE till_journal (version BIGINT NOT NULL); INSERT INTO till_journal (version) VALUES (0)")
	}
	for _, step := range steps[version:] {
		t.script(step)
	}
	current := len(steps) >= len(schema())
	if current && version < len(schema()) {
		t.fillKeys()
	}
	if f := t.j.file(); f != nil && f.lost { // this commit fills the log, so that nothing else would show the loss later
		t.exec(markRestored)
	}
	t.exec("UPDATE till_journal SET version = ?1", len(steps))
	if current {
		t.exec(`UPDATE till_journal SET kept = ?1 WHERE kept = ''`, t.j.dialect.kept(t))
	}
	return nil
}

// version returns the version of the journal; 0 if there is none yet.
func (t *tx) version() (version int, err error) {
	if one[int](t, t.j.dialect.tables()) == 0 {
		return 0, t.err
	}
	version = one[int](t, "SELECT version FROM till_journal")
	msg := ""
	switch known := len(t.j.options.steps); {
	case t.err != nil:
		return 0, t.err
	case version > known:
		msg = fmt.Sprintf("is of a newer version of till (%d, this one knows %d): use that version", version, known)
	case version < 1:
		msg = fmt.Sprintf("is damaged (its version is %d); restore a copy of it, and compare that with the service's list: till journal check", version)
	default:
		return version, nil
	}
	return 0, &Error{Kind: Broken, Place: t.j.Place(), Msg: msg}
}
