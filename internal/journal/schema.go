package journal

import (
	"context"
	"fmt"
	"strings"

	"example.com/till/pkg/payout/sheet"
)

// shared has the columns of several tables.
var shared = strings.NewReplacer(
	"{person}", "user_name TEXT NOT NULL,\n\thost TEXT NOT NULL",
	"{content}", "currency TEXT NOT NULL,\n\tunit TEXT NOT NULL,\n\tminor BIGINT NOT NULL,\n\t"+
		"address TEXT NOT NULL,\n\tmemo TEXT NOT NULL,\n\tcallback TEXT NOT NULL")

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
func schema() []string {
	steps := []string{`
CREATE TABLE accounts (
	id {id},
	address TEXT NOT NULL,
	name TEXT NOT NULL,
	merchant TEXT NOT NULL DEFAULT '',
	order_ids TEXT NOT NULL DEFAULT '',
	created TEXT NOT NULL,
	UNIQUE (address, name)
);
CREATE TABLE keys (
	fingerprint TEXT NOT NULL,
	account BIGINT NOT NULL REFERENCES accounts (id),
	noted TEXT NOT NULL,
	how TEXT NOT NULL,
	{person},
	PRIMARY KEY (fingerprint, account)
);
CREATE TABLE orders (
	id {id},
	account BIGINT NOT NULL REFERENCES accounts (id),
	order_id TEXT NOT NULL,
	run TEXT NOT NULL DEFAULT '',
	state TEXT NOT NULL,
	{content},
	note TEXT NOT NULL DEFAULT '',
	withdrawal TEXT NOT NULL DEFAULT '',
	attempt BIGINT NOT NULL DEFAULT 0,
	sender BIGINT NOT NULL DEFAULT 0,
	doubt BIGINT NOT NULL DEFAULT 0,
	sent TEXT NOT NULL DEFAULT '',
	code BIGINT NOT NULL DEFAULT 0,
	reason TEXT NOT NULL DEFAULT '',
	{person},
	fingerprint TEXT NOT NULL DEFAULT '',
	decided TEXT NOT NULL DEFAULT '',
	decided_at TEXT NOT NULL DEFAULT '',
	decided_user TEXT NOT NULL DEFAULT '',
	decided_host TEXT NOT NULL DEFAULT '',
	decided_why TEXT NOT NULL DEFAULT '',
	created TEXT NOT NULL,
	changed TEXT NOT NULL,
	UNIQUE (account, order_id)
);
CREATE INDEX orders_withdrawal ON orders (account, withdrawal);
CREATE INDEX orders_content ON orders (account, address, minor);
CREATE INDEX orders_state ON orders (account, state, sent);
CREATE INDEX orders_run ON orders (run);
CREATE INDEX orders_newest ON orders (account, state, (CASE WHEN sent = '' THEN changed ELSE sent END), id);
CREATE INDEX orders_found ON orders (account, state) WHERE attempt = 0;
CREATE TABLE events (
	id {id},
	order_row BIGINT NOT NULL REFERENCES orders (id),
	at TEXT NOT NULL,
	{person},
	what TEXT NOT NULL,
	state TEXT NOT NULL,
	{content},
	fingerprint TEXT NOT NULL DEFAULT '',
	withdrawal TEXT NOT NULL DEFAULT '',
	status BIGINT NOT NULL DEFAULT 0,
	code BIGINT NOT NULL DEFAULT 0,
	reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX events_order ON events (order_row, id)
`, `
CREATE TABLE runs (
	id {id},
	account BIGINT NOT NULL REFERENCES accounts (id),
	name TEXT NOT NULL,
	digest TEXT NOT NULL,
	plan TEXT NOT NULL,
	batch TEXT NOT NULL,
	paid_before BIGINT NOT NULL,
	began TEXT NOT NULL,
	{person},
	UNIQUE (account, name)
);
CREATE TABLE run_rows (
	run_id BIGINT NOT NULL REFERENCES runs (id),
	place BIGINT NOT NULL,
	order_row BIGINT NOT NULL REFERENCES orders (id),
	PRIMARY KEY (run_id, place)
);
CREATE INDEX run_rows_order ON run_rows (order_row);
CREATE TABLE appliers (
	sender BIGINT NOT NULL,
	run TEXT NOT NULL,
	{person}
);
ALTER TABLE orders ADD COLUMN last_doubt BIGINT NOT NULL DEFAULT 0;
UPDATE orders SET last_doubt = doubt;
DROP INDEX orders_run;
DROP INDEX orders_state
`, `
DROP INDEX orders_withdrawal;
DROP INDEX orders_newest;
DROP INDEX orders_found;
DROP INDEX run_rows_order;
CREATE INDEX orders_withdrawal ON orders (account, withdrawal) WHERE withdrawal <> '';
CREATE INDEX orders_newest ON orders (account, (CASE WHEN sent = '' THEN changed ELSE sent END), id) WHERE state = 'accepted';
CREATE INDEX orders_found ON orders (account) WHERE attempt = 0 AND state IN ('accepted', 'conflict');
CREATE INDEX orders_open ON orders (account, address, minor) WHERE state IN ('unknown', 'sending')
`, `
CREATE TABLE attempts (
	order_row BIGINT NOT NULL REFERENCES orders (id),
	number BIGINT NOT NULL,
	sender BIGINT NOT NULL,
	began TEXT NOT NULL,
	ended TEXT NOT NULL,
	outcome TEXT NOT NULL,
	decimals BIGINT NOT NULL,
	PRIMARY KEY (order_row, number)
) {clustered};
INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals)
	SELECT id, doubt, 0, sent, '', 'unknown', -1 FROM orders WHERE doubt <> 0 AND doubt <> attempt AND doubt <> last_doubt;
INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals)
	SELECT id, last_doubt, 0, sent, '', 'unknown', -1 FROM orders WHERE last_doubt <> 0 AND last_doubt <> attempt;
INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals)
	SELECT id, attempt, sender, sent, CASE WHEN sender <> 0 THEN '' ELSE changed END,
		CASE WHEN state = 'sending' THEN '' WHEN attempt = doubt OR attempt = last_doubt THEN 'unknown' WHEN state IN ('accepted', 'conflict') THEN 'accepted'
			WHEN state = 'rejected' THEN 'rejected' WHEN state = 'unknown' THEN 'rejected' ELSE 'said nothing' END, -1
	FROM orders WHERE attempt <> 0;
ALTER TABLE orders ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE orders ADD COLUMN shown TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN content TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN payee TEXT NOT NULL DEFAULT '';
UPDATE orders SET shown = COALESCE((SELECT withdrawal FROM events WHERE id =
	(SELECT max(id) FROM events e WHERE e.order_row = orders.id AND e.withdrawal <> '' AND e.what IN ('answered', 'answered late', 'found', 'differs'))), '');
DROP INDEX orders_found;
DROP INDEX orders_content;
DROP INDEX orders_open;
DROP INDEX orders_withdrawal;
ALTER TABLE orders DROP COLUMN attempt;
ALTER TABLE orders DROP COLUMN sender;
ALTER TABLE orders DROP COLUMN doubt;
ALTER TABLE orders DROP COLUMN last_doubt;
CREATE INDEX orders_found ON orders (account) WHERE sent = '' AND state IN ('accepted', 'conflict');
CREATE INDEX orders_payee ON orders (account, payee);
CREATE INDEX orders_open ON orders (account, content) WHERE state IN ('unknown', 'sending');
CREATE INDEX orders_withdrawal ON orders (account, substr(withdrawal, 1, 200)) WHERE withdrawal <> '';
ALTER TABLE keys ADD COLUMN answered TEXT NOT NULL DEFAULT '';
UPDATE keys SET answered = noted;
ALTER TABLE runs ADD COLUMN sender BIGINT NOT NULL DEFAULT 0;
ALTER TABLE appliers ADD COLUMN account BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run_rows RENAME TO old_rows;
CREATE TABLE run_rows (
	run_id BIGINT NOT NULL REFERENCES runs (id),
	place BIGINT NOT NULL,
	order_row BIGINT NOT NULL REFERENCES orders (id),
	{content},
	note TEXT NOT NULL,
	PRIMARY KEY (run_id, place)
) {clustered};
INSERT INTO run_rows SELECT run_id, place, order_row, currency, unit, minor, address, memo, callback, note FROM old_rows JOIN orders ON id = order_row;
DROP TABLE old_rows
`, `
ALTER TABLE till_journal ADD COLUMN opened BIGINT NOT NULL DEFAULT 0;
ALTER TABLE till_journal ADD COLUMN restored BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN checked BIGINT NOT NULL DEFAULT 0
`, `
CREATE TABLE demands (
	id {id},
	account BIGINT NOT NULL REFERENCES accounts (id),
	at TEXT NOT NULL,
	{person},
	persons BIGINT NOT NULL,
	above TEXT NOT NULL,
	approvers TEXT NOT NULL,
	approvers_digest TEXT NOT NULL,
	reason TEXT NOT NULL
);
CREATE TABLE approvals (
	id {id},
	run_id BIGINT NOT NULL REFERENCES runs (id),
	principal TEXT NOT NULL,
	public_key TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	signature TEXT NOT NULL,
	seen TEXT NOT NULL,
	{person},
	UNIQUE (run_id, fingerprint)
);
ALTER TABLE runs ADD COLUMN approvals BIGINT NOT NULL DEFAULT 0
`, `
ALTER TABLE accounts ADD COLUMN demand BIGINT NOT NULL DEFAULT 0;
UPDATE accounts SET demand = COALESCE((SELECT max(id) FROM demands WHERE demands.account = accounts.id), 0)
`, `
CREATE TABLE consents (
	id {id},
	run_id BIGINT NOT NULL REFERENCES runs (id),
	required BIGINT NOT NULL
);
CREATE INDEX consents_run ON consents (run_id);
CREATE TABLE consent_approvals (
	consent BIGINT NOT NULL REFERENCES consents (id),
	approval BIGINT NOT NULL REFERENCES approvals (id),
	PRIMARY KEY (consent, approval)
);
ALTER TABLE attempts ADD COLUMN demand BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN consent BIGINT NOT NULL DEFAULT 0;
UPDATE attempts SET demand = COALESCE((SELECT max(demands.id) FROM demands JOIN orders ON orders.account = demands.account
	WHERE orders.id = attempts.order_row AND demands.at <= attempts.began), 0) WHERE EXISTS (SELECT 1 FROM demands);
INSERT INTO consents (run_id, required) SELECT id, approvals FROM runs WHERE approvals > 0
	AND approvals <= (SELECT count(*) FROM approvals early WHERE early.run_id = runs.id AND early.seen = (SELECT min(seen) FROM approvals WHERE run_id = runs.id))
	AND NOT EXISTS (SELECT 1 FROM demands WHERE demands.account = runs.account AND demands.at > (SELECT min(seen) FROM approvals WHERE run_id = runs.id));
INSERT INTO consent_approvals (consent, approval) SELECT consents.id, approvals.id FROM consents JOIN approvals ON approvals.run_id = consents.run_id
	WHERE approvals.seen = (SELECT min(seen) FROM approvals early WHERE early.run_id = consents.run_id);
UPDATE attempts SET consent = COALESCE((SELECT consents.id FROM orders JOIN runs ON runs.account = orders.account AND runs.name = orders.run
	JOIN consents ON consents.run_id = runs.id WHERE orders.id = attempts.order_row AND orders.sent = attempts.began
	AND attempts.began >= (SELECT min(seen) FROM approvals WHERE approvals.run_id = runs.id)), 0) WHERE EXISTS (SELECT 1 FROM consents)
`, `
CREATE INDEX orders_unshown ON orders (account) WHERE shown = '' AND (sent <> '' OR decided <> '')
`, `
CREATE TABLE acceptances (
	id {id},
	account BIGINT NOT NULL REFERENCES accounts (id),
	at TEXT NOT NULL,
	{person},
	what TEXT NOT NULL,
	subject TEXT NOT NULL,
	reason TEXT NOT NULL
);
CREATE INDEX acceptances_account ON acceptances (account, what);
ALTER TABLE accounts ADD COLUMN agreed TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN boot TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN since_boot BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN skew TEXT NOT NULL DEFAULT ''
`, `
ALTER TABLE orders ADD COLUMN reference TEXT NOT NULL DEFAULT '';
ALTER TABLE run_rows ADD COLUMN reference TEXT NOT NULL DEFAULT ''
`, `
ALTER TABLE accounts ADD COLUMN frozen BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN counting BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN layout TEXT NOT NULL DEFAULT '';
CREATE TABLE spent (
	account BIGINT NOT NULL REFERENCES accounts (id),
	unit TEXT NOT NULL,
	quarter TEXT NOT NULL,
	high BIGINT NOT NULL,
	low BIGINT NOT NULL,
	PRIMARY KEY (account, unit, quarter)
) {clustered}
`, `
ALTER TABLE till_journal ADD COLUMN kept TEXT NOT NULL DEFAULT '';
ALTER TABLE till_journal ADD COLUMN openings BIGINT NOT NULL DEFAULT 0
`, `
UPDATE orders SET content = '' WHERE currency LIKE 'fiat:%'
`}
	for i, step := range steps {
		steps[i] = shared.Replace(step)
	}
	return steps
}

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
