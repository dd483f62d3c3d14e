package journal

import (
	_ "embed"
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

// copiedTables are those with records of accounts.
var copiedTables = []string{"accounts", "keys", "orders", "attempts", "events", "runs", "run_rows", "demands", "approvals", "consents",
	"consent_approvals", "acceptances", "spent"}

const markRestored = `UPDATE till_journal SET restored = restored + 1`
