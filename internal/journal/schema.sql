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
-- step
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
-- step
DROP INDEX orders_withdrawal;
DROP INDEX orders_newest;
DROP INDEX orders_found;
DROP INDEX run_rows_order;
CREATE INDEX orders_withdrawal ON orders (account, withdrawal) WHERE withdrawal <> '';
CREATE INDEX orders_newest ON orders (account, (CASE WHEN sent = '' THEN changed ELSE sent END), id) WHERE state = 'accepted';
CREATE INDEX orders_found ON orders (account) WHERE attempt = 0 AND state IN ('accepted', 'conflict');
CREATE INDEX orders_open ON orders (account, address, minor) WHERE state IN ('unknown', 'sending')
-- step
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
-- step
ALTER TABLE till_journal ADD COLUMN opened BIGINT NOT NULL DEFAULT 0;
ALTER TABLE till_journal ADD COLUMN restored BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN checked BIGINT NOT NULL DEFAULT 0
-- step
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
-- step
ALTER TABLE accounts ADD COLUMN demand BIGINT NOT NULL DEFAULT 0;
UPDATE accounts SET demand = COALESCE((SELECT max(id) FROM demands WHERE demands.account = accounts.id), 0)
-- step
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
-- step
CREATE INDEX orders_unshown ON orders (account) WHERE shown = '' AND (sent <> '' OR decided <> '')
-- step
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
-- step
ALTER TABLE orders ADD COLUMN reference TEXT NOT NULL DEFAULT '';
ALTER TABLE run_rows ADD COLUMN reference TEXT NOT NULL DEFAULT ''
-- step
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
-- step
ALTER TABLE till_journal ADD COLUMN kept TEXT NOT NULL DEFAULT '';
ALTER TABLE till_journal ADD COLUMN openings BIGINT NOT NULL DEFAULT 0
-- step
UPDATE orders SET content = '' WHERE currency LIKE 'fiat:%'
