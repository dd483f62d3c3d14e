package journal

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"example.com/till/pkg/payout/order"
)

// BeginRun records a run and all its rows, or nothing, and returns the run. If the run has begun before,
// BeginRun records only that more of its orders may be paid already, and further approvals. An order that the
// journal has keeps its state. The error is of the kind RunChanged if such an order has other content, or if
// another plan has the run's name. It is BatchChanged if the batch has gone on since the plan was made. From
// then on, older runs of the batch send nothing: what they have sent is checked after that, see Replaced.
//
// The rows are recorded in pieces, so that other processes can write in between. The run begins with the last
// piece. If recording ends before it, the rows are removed again, by this process or by one that finds it
// dead.
func (l *Ledger) BeginRun(ctx context.Context, r Run, rows iter.Seq2[Row, error]) (Run, error) {
	run, begun, err := l.enterRun(ctx, r)
	if err != nil || begun {
		return run, err
	}
	if err := l.recordRows(ctx, &run, rows); err != nil {
		l.discard(context.WithoutCancel(ctx), run) // if this fails, the next run that begins does it
		return Run{}, err
	}
	return run, nil
}

// enterRun makes a run that has not begun yet, or returns the run that has begun. An account begins only one
// run at a time.
func (l *Ledger) enterRun(ctx context.Context, r Run) (run Run, begun bool, err error) {
	for {
		var dead, alive []Run // runs of other processes that have not begun
		err := l.change(ctx, func(t *tx, a *lockedAccount) (err error) {
			if dead, alive = t.unfinished(a.id); len(dead)+len(alive) == 0 {
				run, begun, err = t.enterRun(a.id, r)
			}
			return err
		})
		for _, d := range dead {
			if err == nil {
				err = l.discard(ctx, d)
			}
		}
		if len(alive) > 0 && err == nil {
			err = rest(ctx, 50*pause)
		}
		if err != nil || len(dead)+len(alive) == 0 {
			return run, begun, err
		}
	}
}

func (t *tx) enterRun(account int64, r Run) (run Run, begun bool, err error) {
	for known := range each(t, (*Run).fields, `SELECT `+runColumns+` FROM runs WHERE account = ?1 AND name = ?2`, account, r.Name) {
		run, begun = known, true
	}
	if begun {
		run, err = t.continueRun(account, run, r)
		return run, true, err
	}
	if err := t.stillNewest(account, r.Name, r.Batch, r.Since); err != nil {
		return run, false, err
	}
	t.holdLock()
	t.exec(`UPDATE appliers SET account = ?1 WHERE sender = ?2`, account, t.j.sender) // the account may be new
	run = r
	run.New = true
	run.Began, run.User, run.Host = t.at, t.j.options.User, t.j.options.Host
	run.id = one[int64](t, `INSERT INTO runs (account, name, digest, plan, batch, paid_before, began, user_name, host, sender, approvals, layout) VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', ?7, ?8, ?9, ?10, ?11) RETURNING id`,
		account, r.Name, r.Digest, r.Plan, r.Batch, r.Before, run.User, run.Host, t.j.sender, r.Required, r.Layout)
	return run, false, nil
}

// continueRun records what is new about a run that has begun.
func (t *tx) continueRun(account int64, run, now Run) (Run, error) {
	if run.Digest != now.Digest {
		return run, &Error{Kind: RunChanged, Run: run.Name, Msg: "belongs to another plan: make a new plan"}
	}
	if err := t.stillNewest(account, run.Name, run.Batch, run.Name); err != nil {
		return run, err
	}
	run.Before, run.Required = max(run.Before, now.Before), max(run.Required, now.Required)
	t.exec(`UPDATE runs SET paid_before = ?1, approvals = ?2 WHERE id = ?3`, run.Before, run.Required, run.id)
	run.Consent = t.approve(run.id, now)
	return run, nil
}

// stillNewest refuses a run if another run of its batch has begun since the last one that is known. In PostgreSQL,
// it can begin while this process has lost its connections and looks dead.
func (t *tx) stillNewest(account int64, run, batch, last string) error {
	if batch == "" {
		return nil
	}
	newest := one[string](t, `SELECT name FROM runs WHERE account = ?1 AND batch = ?2 AND began <> '' ORDER BY id DESC LIMIT 1`, account, batch)
	if newest != last {
		return &Error{Kind: BatchChanged, Run: run, Msg: fmt.Sprintf("is of the batch %q, which has gone on with run %s since", batch, newest)}
	}
	return nil
}

const (
	// rowsInAPiece is how many rows one commit records. That takes a few hundredths of a second, in which no
	// other process can write.
	rowsInAPiece = 1024
	// betweenPieces is the pause after each piece. A process that waits to write tries again only now and
	// then, and would seldom hit the moment between two commits.
	betweenPieces = 2 * time.Millisecond
)

// recordRows records the rows of a run. With the last of them, it records that the run has begun.
func (l *Ledger) recordRows(ctx context.Context, run *Run, rows iter.Seq2[Row, error]) error {
	place, piece := 0, make([]Row, 0, rowsInAPiece)
	for row, err := range rows {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if piece = append(piece, row); len(piece) < rowsInAPiece {
			continue
		}
		if err := l.locked(ctx, func(t *tx, a *lockedAccount) error { return t.recordPiece(a.id, run, piece, place) }); err != nil {
			return err
		}
		place, piece = place+len(piece), piece[:0]
		time.Sleep(betweenPieces)
	}
	return l.locked(ctx, func(t *tx, a *lockedAccount) error {
		if err := t.stillNewest(a.id, run.Name, run.Batch, run.Since); err != nil {
			return err
		}
		if err := t.recordPiece(a.id, run, piece, place); err != nil {
			return err
		}
		run.Began = t.at
		t.exec(`UPDATE runs SET began = ?1 WHERE id = ?2`, t.now, run.id)
		run.Consent = t.approve(run.id, *run)
		return nil
	})
}

// stillRecording returns an error if another process has begun to remove the run, because this process looked
// dead. Some of the run's rows may be gone.
func (t *tx) stillRecording(run Run) error {
	if one[int](t, `SELECT count(*) FROM runs WHERE id = ?1 AND began = '' AND sender = ?2`, run.id, t.j.sender) != 1 {
		return &Error{Kind: RunChanged, Run: run.Name,
			Msg: "was taken back by another process while it was being recorded: run it again"}
	}
	return nil
}

// recordPiece records rows of the run, and makes the orders that do not exist yet, in the state planned.
func (t *tx) recordPiece(account int64, run *Run, rows []Row, place int) error {
	if err := t.stillRecording(*run); err != nil {
		return err
	}
	for i, r := range rows {
		row, err := t.plan(account, run, r)
		if err != nil {
			return err
		}
		t.exec(insertRow, append([]any{run.id, place + i, row, order.UnitText(r.Currency), order.UnitText(r.Amount.Unit()), r.Amount.Minor,
			r.Address, r.Memo, r.Callback}, keptFields(&r.Kept)...)...)
	}
	t.exec(`INSERT INTO events (order_row, at, user_name, host, what, state, currency, unit, minor, address, memo, callback)
		SELECT orders.id, ?1, ?2, ?3, '`+eventPlanned+`', state, orders.currency, orders.unit, orders.minor, orders.address, orders.memo, orders.callback
		FROM run_rows JOIN orders ON orders.id = order_row WHERE run_id = ?4 AND place >= ?5 AND place < ?6 AND run = ?7 AND version = 1 ORDER BY place`,
		t.now, t.j.options.User, t.j.options.Host, run.id, place, place+len(rows), run.Name)
	return nil
}

// plan returns the number of a row's order. If the order existed before, its content must be what the run is
// to send.
func (t *tx) plan(account int64, run *Run, r Row) (row int64, err error) {
	made := t.insert(account, order.Order{OrderID: r.OrderID, State: order.Planned, Content: r.Content, Callback: r.Callback, Kept: r.Kept, Run: run.Name})
	if made.row != 0 {
		return made.row, nil
	}
	run.New = false
	found := load(t, `account = ?1 AND order_id = ?2`, account, r.OrderID)
	if len(found) == 0 || !found[0].Content.Same(r.Content) {
		return 0, &Error{Kind: RunChanged, Run: run.Name,
			Msg: "has an order that the journal has with other content: order " + r.OrderID}
	}
	return found[0].row, nil
}

// unfinished returns the runs of an account that have not begun: those of dead processes and those of living
// ones. This process records no other run now.
func (t *tx) unfinished(account int64) (dead, alive []Run) {
	for _, r := range all(t, (*Run).fields, `SELECT `+runColumns+` FROM runs WHERE account = ?1 AND began = ''`, account) {
		if r.sender != t.j.sender && t.alive(r.sender) {
			alive = append(alive, r)
		} else {
			dead = append(dead, r)
		}
	}
	return dead, alive
}

// discard removes a run that has not begun, in pieces. It also removes the orders that the run has made and
// that have not changed since. No other run has these orders, because an account begins only one run at a
// time. The first piece takes the run away from its sender. If that is alive after all, it cannot begin the
// run with the rows that are left.
func (l *Ledger) discard(ctx context.Context, run Run) error {
	for left := true; left; {
		if err := l.j.write(ctx, func(t *tx) error {
			left = t.discardPiece(l.id.Load(), run)
			return nil
		}); err != nil {
			return err
		}
		time.Sleep(betweenPieces)
	}
	return nil
}

// discardPiece removes the last rows of a run, and the run with the last of them. It reports whether some are left.
func (t *tx) discardPiece(account int64, run Run) (left bool) {
	// If there is no such account, it was removed with its runs.
	if t.lockNumber(account) == nil || t.exec(`UPDATE runs SET sender = 0 WHERE id = ?1 AND began = ''`, run.id) == 0 {
		return false
	}
	const piece = `(SELECT order_row FROM run_rows WHERE run_id = ?1 ORDER BY place DESC LIMIT ?2)`
	const untouched = `id IN ` + piece + ` AND run = ?3 AND state = 'planned' AND version = 1`
	t.exec(`DELETE FROM events WHERE order_row IN (SELECT id FROM orders WHERE `+untouched+`)`, run.id, rowsInAPiece, run.Name)
	doomed := all(t, only[int64], `SELECT id FROM orders WHERE `+untouched, run.id, rowsInAPiece, run.Name)
	n := t.exec(`DELETE FROM run_rows WHERE run_id = ?1 AND place IN (SELECT place FROM run_rows WHERE run_id = ?1 ORDER BY place DESC LIMIT ?2)`, run.id, rowsInAPiece)
	for _, id := range doomed {
		t.exec(`DELETE FROM orders WHERE id = ?1`, id)
	}
	if n == rowsInAPiece {
		return true
	}
	t.exec(`DELETE FROM runs WHERE id = ?1`, run.id)
	return false
}

const runColumns = `runs.id, runs.name, digest, plan, batch, paid_before, began, runs.user_name, runs.host, runs.approvals, runs.sender, runs.layout`

func (r *Run) fields() []any {
	return []any{&r.id, &r.Name, &r.Digest, &r.Plan, &r.Batch, &r.Before, stamped(&r.Began), &r.User, &r.Host, &r.Required, &r.sender, &r.Layout}
}

// Runs returns the runs of the account that have begun, oldest first.
func (l *Ledger) Runs(ctx context.Context) ([]Run, error) {
	return allOf(ctx, l, (*Run).fields, `SELECT `+runColumns+` FROM runs WHERE account = ?1 AND began <> '' ORDER BY id`)
}

// RunRows yields the rows of a run as they were recorded when it began, in the order of the plan.
func (l *Ledger) RunRows(ctx context.Context, run Run) iter.Seq2[Row, error] {
	return l.rowsOf(ctx, run, "")
}

// SentRows yields those of RunRows that were sent, and not rejected.
func (l *Ledger) SentRows(ctx context.Context, run Run) iter.Seq2[Row, error] {
	return l.rowsOf(ctx, run, ` AND orders.state NOT IN ('planned', 'rejected')`)
}

func (l *Ledger) rowsOf(ctx context.Context, run Run, those string) iter.Seq2[Row, error] {
	fields := func(r *Row) []any {
		return slices.Concat([]any{&r.OrderID}, contentFields(&r.Content), []any{&r.Callback}, keptFields(&r.Kept))
	}
	t := l.j.read(ctx)
	return orFailed(t, each(t, fields, `SELECT order_id, run_rows.currency, run_rows.unit, run_rows.minor, run_rows.address, run_rows.memo, run_rows.callback, `+keptOfRows+`
		FROM run_rows JOIN orders ON orders.id = run_rows.order_row WHERE run_id = ?1`+those+` ORDER BY place`, run.id))
}

// Alone notes that this process applies a plan of the account. If the journal is a file, it returns Busy
// while another process applies a plan. Several processes can apply plans from a journal in PostgreSQL. With
// forget, what this process noted before is forgotten, except the runs that it is sending. Leave ends what
// Alone began.
func (l *Ledger) Alone(ctx context.Context, run string, forget bool) error {
	j := l.j
	r := j.read(ctx)
	account := l.number(r)
	if r.err != nil {
		return r.err
	}
	return j.write(ctx, func(t *tx) error {
		for _, a := range all(t, (*Applier).fields, appliers) {
			switch other := a.sender != j.sender; {
			case other && t.alive(a.sender):
				if !j.Shared() {
					return &Error{Kind: Busy, Run: a.Run, User: a.User, Host: a.Host}
				}
			case other || a.Run == run || forget && !j.isSending(a.Run):
				t.exec(`DELETE FROM appliers WHERE sender = ?1 AND run = ?2`, a.sender, a.Run)
			}
		}
		t.holdLock()
		t.exec(`INSERT INTO appliers (sender, run, user_name, host, account) VALUES (?1, ?2, ?3, ?4, ?5)`,
			j.sender, run, j.options.User, j.options.Host, account)
		return nil
	})
}

// Leave forgets that this process applies a run, unless it is sending its rows, or the outcome of one that it
// has sent is not recorded. Without it, a process that goes on after a run would keep others from applying
// theirs.
func (l *Ledger) Leave(ctx context.Context, run string) error {
	return l.j.write(ctx, func(t *tx) error {
		if !l.j.isSending(run) {
			t.exec(`DELETE FROM appliers WHERE sender = ?1 AND run = ?2 AND NOT EXISTS (
				SELECT 1 FROM orders WHERE state IN ('unknown', 'sending') AND state = 'sending' AND run = ?2 AND EXISTS (
					SELECT 1 FROM attempts WHERE order_row = orders.id AND sender = ?1 AND ended = ''))`,
				l.j.sender, run)
		}
		return nil
	})
}

// Sending notes that this process sends the rows of a run, until ended is called.
func (j *Journal) Sending(run string) (ended func()) {
	j.runs.Lock()
	defer j.runs.Unlock()
	j.runs.sending[run]++
	return func() {
		j.runs.Lock()
		defer j.runs.Unlock()
		j.runs.sending[run]--
	}
}

func (j *Journal) isSending(run string) bool {
	j.runs.Lock()
	defer j.runs.Unlock()
	return j.runs.sending[run] > 0
}

// An Applier is a process that applies a plan.
type Applier struct {
	Run, User, Host string

	sender, account int64
}

func (a *Applier) fields() []any { return []any{&a.sender, &a.Run, &a.User, &a.Host, &a.account} }

const appliers = `SELECT sender, run, user_name, host, account FROM appliers`

// Appliers returns the processes that apply a plan from the journal now, for any account.
func (j *Journal) Appliers(ctx context.Context) ([]Applier, error) {
	t := j.read(ctx)
	living := slices.DeleteFunc(all(t, (*Applier).fields, appliers), func(a Applier) bool { return !t.alive(a.sender) })
	return living, t.err
}
