package payout

import (
	"cmp"
	"context"
	"iter"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Journal is the durable record of what was sent. It is safe for concurrent use, and several processes can
// have it open. Its file belongs on a local disk. A copy, or a file that is restored from a backup, does not
// know what was paid after it was made, and every order is looked up before it is sent. In PostgreSQL it has four
// connections, and each loop over its orders holds one until it ends: collect them before you call it again.
type Journal struct{ journal *journal.Journal }

// OpenJournal opens a journal, and makes it if it does not exist. A journal is an SQLite file, or a
// PostgreSQL database that several machines share, as postgres://user@host/database. The error is an *Error.
func OpenJournal(ctx context.Context, where string) (*Journal, error) {
	return openJournal(ctx, where, false)
}

// OpenExistingJournal is OpenJournal for reading: it makes no journal. If there is none, fs.ErrNotExist is in
// the error's chain.
func OpenExistingJournal(ctx context.Context, where string) (*Journal, error) {
	return openJournal(ctx, where, true)
}

func openJournal(ctx context.Context, where string, existing bool) (*Journal, error) {
	if where == "" {
		return nil, failed(JournalPlace, "the journal has no place").
			hint("name a file, or a database as postgres://user@host/database")
	}
	name, host := strconv.Itoa(os.Getuid()), "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	j, err := journal.Open(ctx, where, journal.Options{Now: time.Now, SinceBoot: journal.SinceBoot, User: name, Host: host, Existing: existing})
	if err != nil {
		return nil, asError(err)
	}
	return &Journal{j}, nil
}

// Close closes the journal. Call it when nothing uses the journal any more.
func (j *Journal) Close() error { return asError(j.journal.Close()) }

// Place returns the journal's name, without a password.
func (j *Journal) Place() string { return j.journal.Place() }

// Accounts returns every account of the journal.
func (j *Journal) Accounts(ctx context.Context) ([]Account, error) {
	return own(j.journal.Accounts(ctx))
}

// own returns a result of the journal with an error of this package.
func own[T any](result T, err error) (T, error) { return result, asError(err) }

// Copy writes a copy of the journal at one moment, even if others use it meanwhile. The copy goes to a file
// that does not exist yet, or to an empty PostgreSQL database. If Copy fails, it leaves no file. The journal
// and its copy do not protect each other: use only one of them.
func (j *Journal) Copy(ctx context.Context, where string) error {
	return asError(j.journal.Copy(ctx, where))
}

// Rename gives the history of an account another name or address. The error is ErrInvalid if the new account
// has a history already, is frozen or requires other approvals, or if the old one does not exist. It is ErrBusy
// while a process sends for one of them.
func (j *Journal) Rename(ctx context.Context, old, to Account) error {
	return asError(j.journal.Rename(ctx, old, to))
}

// Ledger returns the part of the journal for one account. It is empty if the journal does not have the
// account.
func (j *Journal) Ledger(a Account) *Ledger { return &Ledger{j.journal.Ledger(a)} }

// A Ledger is the part of a journal for one account. It can be read without a service and without a key.
type Ledger struct{ ledger *journal.Ledger }

// Account returns the account of the ledger.
func (l *Ledger) Account() Account { return l.ledger.Account() }

// Reap makes every order unknown whose process died while sending it. Orders, Order and Runs call it
// themselves.
func (l *Ledger) Reap(ctx context.Context) error { return asError(l.ledger.Reap(ctx)) }

// Orders returns the orders that a filter chooses, oldest first, or in the order of the plan for a run. An
// order whose process has died becomes unknown first. The sequence stops after an error.
func (l *Ledger) Orders(ctx context.Context, f Filter) iter.Seq2[Order, error] {
	return func(yield func(Order, error) bool) {
		if err := l.ledger.Reap(ctx); err != nil {
			yield(Order{}, asError(err))
			return
		}
		for o, err := range l.ledger.Orders(ctx, f) {
			if !yield(o.Order, asError(err)) {
				return
			}
		}
	}
}

// collect returns the values of a sequence, or its error.
func collect[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Order returns one order. If the journal does not have it, the error is ErrNotFound.
func (l *Ledger) Order(ctx context.Context, orderID string) (Order, error) {
	o, err := l.order(ctx, orderID)
	return o.Order, asError(err)
}

func (l *Ledger) order(ctx context.Context, orderID string) (journal.Record, error) {
	if err := l.ledger.Reap(ctx); err != nil {
		return journal.Record{}, err
	}
	return l.ledger.Order(ctx, orderID)
}

// History returns an order with everything that has happened to it, oldest event first.
func (l *Ledger) History(ctx context.Context, orderID string) (Order, []Event, error) {
	o, err := l.order(ctx, orderID)
	if err != nil {
		return Order{}, nil, asError(err)
	}
	events, err := l.ledger.Journal().Story(ctx, o)
	return o.Order, events, asError(err)
}

// An Exported is an order of any account, with its history.
type Exported struct {
	Account Account
	Order   Order
	Events  []Event
}

// Export returns all orders of the journal, account by account, oldest order first. The sequence stops after
// an error.
func (j *Journal) Export(ctx context.Context) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		accounts, err := j.Accounts(ctx)
		if err != nil {
			yield(Exported{}, err)
		}
		for _, a := range accounts {
			for o, err := range j.journal.Ledger(a).Orders(ctx, Filter{}) {
				var events []Event
				if err == nil {
					events, err = j.journal.Story(ctx, o)
				}
				if !yield(Exported{a, o.Order, events}, asError(err)) || err != nil {
					return
				}
			}
		}
	}
}

// FirstPayments returns those amounts in whose unit the account has sent nothing yet. Decimals that are wrong
// show in the first payment.
func (l *Ledger) FirstPayments(ctx context.Context, amounts ...api.BigAmount) (first []api.BigAmount, err error) {
	for _, a := range amounts {
		known, err := l.ledger.Attempted(ctx, a.Unit())
		if err != nil {
			return nil, asError(err)
		}
		if !known {
			first = append(first, a)
		}
	}
	return first, nil
}

// AdoptKey records a person's decision that a key belongs to the account. The key is given by its
// fingerprint. This is for a key that cannot be verified: it does not find the withdrawal that was accepted
// last, or nothing was accepted yet.
func (l *Ledger) AdoptKey(ctx context.Context, fingerprint string) error {
	if len(fingerprint) != 16 || strings.Trim(fingerprint, "0123456789abcdef") != "" {
		return failed(Invalid, "%q is no fingerprint of a key: that is 16 hexadecimal digits", fingerprint).
			hint("take it from api.Client.KeyFingerprint")
	}
	return asError(l.ledger.NoteKey(ctx, fingerprint, journal.KeyAdopted))
}

// Freeze records, with its reason, that nothing more is sent for the account, by any process that shares the
// journal. A Sender then returns ErrRefused, until Unfreeze. A call that is in flight ends as it would.
func (l *Ledger) Freeze(ctx context.Context, reason string) error {
	return asError(l.ledger.Freeze(ctx, true, reason))
}

// Unfreeze records, with its reason, that a Freeze is over.
func (l *Ledger) Unfreeze(ctx context.Context, reason string) error {
	return asError(l.ledger.Freeze(ctx, false, reason))
}

// Freezes returns every such decision about the account, the oldest first. The last one is in force.
func (l *Ledger) Freezes(ctx context.Context) ([]Freeze, error) {
	return own(l.ledger.Freezes(ctx))
}

// Restored reports whether the journal may lack orders that were sent, because it is a copy or has
// lost its log. If so, every order is looked up at the service before it is sent.
func (l *Ledger) Restored(ctx context.Context) (bool, error) {
	return own(l.ledger.Restored(ctx))
}

// A Run is a plan that has begun to be applied.
type Run struct {
	Name   string    `json:"run"` // the first characters of the digest
	Digest string    `json:"digest"`
	Plan   string    `json:"plan"`  // the name of its file
	Batch  string    `json:"batch"` // from which its order ids were derived; empty: the input had them
	Began  time.Time `json:"began"`
	User   string    `json:"user"`
	Host   string    `json:"host"`
	// Required is the largest number of persons who had to approve the plan when it was applied. See
	// Ledger.Consents.
	Required int `json:"required"`
	// ReplacedBy is the newest run of the batch: it has taken this one's place, which sends nothing more. It is
	// empty for the newest one, and without a batch.
	ReplacedBy string `json:"replaced_by"`
}

// Runs returns the runs of the account, the oldest first.
func (l *Ledger) Runs(ctx context.Context) ([]Run, error) {
	if err := l.ledger.Reap(ctx); err != nil {
		return nil, asError(err)
	}
	own, err := l.ledger.Runs(ctx)
	runs, newest := make([]Run, len(own)), map[string]string{} // by batch
	for i, r := range slices.Backward(own) {
		runs[i] = Run{r.Name, r.Digest, r.Plan, r.Batch, r.Began, r.User, r.Host, int(r.Required), newest[r.Batch]}
		if r.Batch != "" {
			newest[r.Batch] = cmp.Or(newest[r.Batch], r.Name)
		}
	}
	return runs, asError(err)
}

// Run finds a run by its name or by a longer prefix of its plan's digest, with or without "sha256:". If there
// is none, the error is ErrNotFound.
func (l *Ledger) Run(ctx context.Context, name string) (Run, error) {
	runs, err := l.Runs(ctx)
	if err != nil {
		return Run{}, err
	}
	digits := strings.TrimPrefix(name, "sha256:")
	for _, r := range runs {
		if len(digits) >= len(r.Name) && strings.HasPrefix(strings.TrimPrefix(r.Digest, "sha256:"), digits) {
			return r, nil
		}
	}
	return Run{}, failed(NotFound, "there is no run %q in this account", name).
		hint("give the id of a run, not the name of its plan; see which there are", "payout", "list")
}

// Results returns the orders of a run in the order of its plan. Each has its order id, state, id and
// reason, and the content, note and reference of its row. An order whose outcome this process could not
// record is unknown. The sequence stops after an error.
func (l *Ledger) Results(ctx context.Context, run string) iter.Seq2[Order, error] {
	return func(yield func(Order, error) bool) {
		r, err := l.Run(ctx, run)
		if err != nil {
			yield(Order{}, err)
			return
		}
		for o, err := range l.ledger.Results(ctx, r.Name) {
			if !yield(o, asError(err)) {
				return
			}
		}
	}
}
