package journal

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"example.com/till/pkg/payout/sheet"
)

// shared has the columns of several tables.
var shared = strings.NewReplacer(
	"{person}", "user_name TEXT NOT NULL,\n\thost TEXT NOT NULL",
	"{content}", "currency TEXT NOT NULL,\n\tunit TEXT NOT NULL,\n\tminor BIGINT NOT NULL,\n\t"+
		"address TEXT NOT NULL,\n\tmemo TEXT NOT NULL,\n\tcallback TEXT NOT NULL")

// schemaText has the steps of schema, of statements with semicolons between them.
//
//go:embed schema.sql
var schemaText string

// schema returns the steps that bring a journal from one version to the next. The version is the number of
// steps that were taken. A step that was in a release is never changed: a change is a new step. {id} is a
// number that the database assigns.
//
// The step that adds consents makes a consent for a run of an older journal only if the record proves what
// was required and who had approved: the demand has not changed since the first approvals were recorded, and
// these were enough.
//
// Every index makes each row of a payout slower. An index for queries about few orders contains only these
// orders. For SQLite to use it, a query must repeat the condition of the index word by word.
func schema() []string { return strings.Split(shared.Replace(schemaText), "\n-- step\n") }

// What is kept of a row has these columns in orders and run_rows: see sheet.Kept.
const (
	keptOfOrders = `orders.note, orders.reference`
	keptOfRows   = `run_rows.note, run_rows.reference`
	updateKept   = `UPDATE orders SET note = ?2, reference = ?3 WHERE id = ?1`
	insertRow    = `INSERT INTO run_rows (run_id, place, order_row, currency, unit, minor, address, memo, callback, note, reference) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`
	insertOrder  = `INSERT INTO orders (account, order_id, run, state, currency, unit, minor, address, memo, callback, user_name, host, created, changed, content, payee, note, reference) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16, ?17) ON CONFLICT (account, order_id) DO NOTHING RETURNING id, version`
)

func keptFields(k *sheet.Kept) []any { return []any{&k.Note, &k.Reference} }

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
	version, err := t.version() // another process may have updated it
	if err != nil {
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
