package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// TestMain runs the tests or, in a process that a test has started, the work of that process.
func TestMain(m *testing.M) {
	if name := os.Getenv("JOURNAL_TEST_CHILD"); name != "" {
		os.Exit(child(name, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

// child does the work and reports it in lines on its standard output.
func child(name, place string) int {
	o := Options{Now: time.Now, User: "child", Host: "host"}
	if name == "migrate" {
		o.steps = futureSteps()
	}
	in := bufio.NewScanner(os.Stdin)
	if name == "checkpoint" {
		if err := lockCheckpoint(place); err != nil {
			fmt.Println("error", err)
			return 0
		}
		fmt.Println("held")
		in.Scan() // the lock is held until then
		return 0
	}
	if name == "open" || name == "migrate" {
		in.Scan() // the parent lets all continue at once
	}
	opened, err := Open(context.Background(), place, o)
	if err != nil {
		fmt.Println("error", err)
		return 0
	}
	j := bookOf(opened)
	fmt.Println("open")
	if name == "open" || name == "migrate" {
		j.Close()
		return 0
	}
	for in.Scan() { // each line is an order to claim, or with "finish" an order to claim and finish
		word, id, _ := strings.Cut(in.Text(), " ")
		ticket, err := j.Claim(context.Background(), claim(id))
		if err == nil && word == "finish" {
			_, err = j.Finish(context.Background(), ticket, accepted("w"+id))
		}
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("ticket")
	}
	return 0
}

type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts this test binary again. wrap is a command that runs it, such as strace.
func start(t *testing.T, name, place string, wrap ...string) *process {
	t.Helper()
	args := append(wrap, os.Args[0], place)
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "JOURNAL_TEST_CHILD="+name)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	p := &process{c, in, bufio.NewReader(out)}
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *process) say(t *testing.T, line string) {
	t.Helper()
	mustDo(t)(io.WriteString(p.in, line+"\n"))
}

func (p *process) hear(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing more: %v", err)
	}
	return strings.TrimSpace(line)
}

// expect ends the test unless the process says this.
func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	if line := p.hear(t); line != want {
		t.Fatal(line)
	}
}

func (p *process) kill() {
	p.Process.Kill()
	p.Wait()
}

var (
	shop   = order.Account{Address: "http://pay.test/api", Name: "shop"}
	coffee = order.Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 5000),
		Address: "bc1qcoffee", Memo: ""}
	tea = order.Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 7000),
		Address: "bc1qtea", Memo: "leaf"}
)

func claim(id string) Claim {
	c := coffee
	c.Memo = "order " + id // so that no other order has the same content
	return Claim{Row: Row{OrderID: id, Content: c, Callback: "http://shop.test/" + id}, Key: "key1"}
}

// A clock moves only when it is set.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type opener func(mods ...func(*Options)) *book

// eachDialect runs a test on a new journal of each kind. Every call of open opens the same journal again.
func eachDialect(t *testing.T, test func(t *testing.T, open opener)) {
	run := func(t *testing.T, place string) {
		test(t, func(mods ...func(*Options)) *book {
			t.Helper()
			o := Options{Now: time.Now, User: "ann", Host: "till1", ownClock: true}
			for _, mod := range mods {
				mod(&o)
			}
			j, err := Open(t.Context(), place, o)
			must(t, err)
			t.Cleanup(func() { j.Close() })
			return bookOf(j)
		})
	}
	t.Run("sqlite", func(t *testing.T) { run(t, filepath.Join(t.TempDir(), "journal.db")) })
	t.Run("postgres", func(t *testing.T) { run(t, pgtest.Shared(t).Database(t)) })
}

// eachJournal is eachDialect for a test that opens the journal once.
func eachJournal(t *testing.T, test func(t *testing.T, j *book)) {
	eachDialect(t, func(t *testing.T, open opener) { test(t, open()) })
}

// mustEnd closes a journal, and returns when another one knows that its process has ended: a server takes a
// moment to see that a session is over.
func mustEnd(t *testing.T, ending, other *book) {
	t.Helper()
	must(t, ending.Close())
	for holdsLock(t, other.Journal, ending.sender) {
	}
}

// placeOf returns the name with which to open a journal again.
func placeOf(j *book) string {
	if d, ok := j.dialect.(*postgresDialect); ok {
		return d.address
	}
	return j.dialect.(*sqliteDialect).name
}

// loseLock makes a living sender look dead, as when its connection breaks.
func loseLock(t *testing.T, j *book) {
	t.Helper()
	j.writing.Lock()
	defer j.writing.Unlock()
	j.disconnect()
	j.sends = false // until the next claim
	if d, ok := j.dialect.(*sqliteDialect); ok {
		d.locks.Close()
		var err error
		if d.locks, err = openLockFile(d.path + ".lock"); err != nil {
			t.Fatal(err)
		}
		return
	}
	for holdsLock(t, j.Journal, j.sender) { // the server takes a moment to see that a session has ended
	}
}

// must ends a test that cannot go on after an error. mustDo is must for a call that also returns a value.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustDo(t testing.TB) func(any, error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		must(t, err)
	}
}

// wantErr checks the error that a call returns, and what it says.
func wantErr(t testing.TB, what string, want error, says ...string) func(any, error) {
	t.Helper()
	return func(got any, err error) {
		t.Helper()
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), strings.Join(says, "")) {
			t.Errorf("%s: %+v, %v; want the error %v %q", what, got, err, want, says)
		}
		if ticket, ok := got.(Ticket); ok && err != nil && ticket.order.OrderID != "" {
			t.Errorf("%s: there is a ticket for order %s", what, ticket.order.OrderID)
		}
	}
}

// mustOpen opens a journal anywhere, until the test ends.
func mustOpen(t *testing.T, place string) *book {
	t.Helper()
	j, err := Open(t.Context(), place, Options{Now: time.Now, User: "ann"})
	must(t, err)
	t.Cleanup(func() { j.Close() })
	return bookOf(j)
}

// wantUsers checks which accounts have used a key.
func wantUsers(t *testing.T, j *book, key string, want ...order.Account) {
	t.Helper()
	if used, err := j.KeyUsedBy(t.Context(), key); err != nil || !slices.Equal(used, want) {
		t.Errorf("%s was used by %v, %v", key, used, err)
	}
}

// shopNumber returns the number of the shop's account, and makes the account.
func shopNumber(t *tx) int64 {
	t.exec(`INSERT INTO accounts (address, name, created) VALUES (?1, ?2, '') ON CONFLICT DO NOTHING`, shop.Address, shop.Name)
	return one[int64](t, accountID, shop.Address, shop.Name)
}

// mustExec changes a journal behind its back.
func mustExec(t *testing.T, j *book, statements string) {
	t.Helper()
	must(t, j.write(t.Context(), func(tx *tx) error { tx.script(statements); return nil }))
}

// mustCount returns the number that a query returns.
func mustCount(t *testing.T, j *book, query string) int {
	t.Helper()
	r := j.read(t.Context())
	n := one[int](r, query)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return n
}

// holdsLock reports whether the journal sees a process that holds a sender's lock.
func holdsLock(t *testing.T, j *Journal, sender int64) bool {
	t.Helper()
	r := j.read(t.Context())
	held := j.dialect.holds(r, sender)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return held
}

func mustClaim(t *testing.T, j *book, c Claim) Ticket {
	t.Helper()
	ticket, err := j.Claim(t.Context(), c)
	if err != nil {
		t.Fatalf("Claim(%s): %v", c.OrderID, err)
	}
	return ticket
}

func mustFinish(t *testing.T, j *book, ticket Ticket, out Outcome) Record {
	t.Helper()
	o, err := j.Finish(t.Context(), ticket, out)
	if err != nil {
		t.Fatalf("Finish(%s, %s): %v", ticket.order.OrderID, out.Ending, err)
	}
	return o
}

func mustDecide(t *testing.T, j *book, d Decision) Record {
	t.Helper()
	o, err := j.Decide(t.Context(), d)
	if err != nil {
		t.Fatalf("Decide(%+v): %v", d, err)
	}
	return o
}

// mustSettle settles evidence. Without a content, it takes that of the order.
func mustSettle(t *testing.T, j *book, f Evidence) Record {
	t.Helper()
	if f.Content == (order.Content{}) {
		o, err := j.Order(t.Context(), f.OrderID)
		must(t, err)
		f.Content = o.Content
	}
	o, err := j.Settle(t.Context(), f)
	if err != nil {
		t.Fatalf("Settle(%+v): %v", f, err)
	}
	return o
}

// wantIs checks the state of an order that a call has returned.
func wantIs(t testing.TB, what string, o Record, want order.State) {
	t.Helper()
	if o.State != want {
		t.Errorf("%s: %+v, want %s", what, o, want)
	}
}

// wantState checks a state, also in the database.
func wantState(t *testing.T, j *book, id string, want order.State) Record {
	t.Helper()
	o, err := j.Order(t.Context(), id)
	must(t, err)
	if o.State != want {
		t.Fatalf("order %s is %q, want %q (%s)", id, o.State, want, o.Reason)
	}
	return o
}

func story(t *testing.T, j *book, id string) []order.Event {
	t.Helper()
	o, err := j.Order(t.Context(), id)
	must(t, err)
	events, err := j.Story(t.Context(), o)
	must(t, err)
	return events
}

func whats(events []order.Event) (names []string) {
	for _, e := range events {
		names = append(names, e.What+">"+string(e.State))
	}
	return names
}

var (
	accepted = func(id string) Outcome { return Outcome{Ending: order.WasAccepted, Withdrawal: id, Status: 200} }
	rejected = Outcome{Ending: order.WasRejected, Status: 400, Code: 7, Reason: "no funds"}
	unknown  = Outcome{Ending: order.WasUncertain, Reason: "no answer"}
	limited  = Outcome{Ending: order.SaidNothing, Status: 429, Reason: "too many"}
	notLeft  = Outcome{Ending: order.SaidNothing, Reason: "no connection"}
)

func bring(t *testing.T, j *book, id string, to order.State) Record {
	t.Helper()
	ticket := mustClaim(t, j, claim(id))
	switch to {
	case order.Sending:
	case order.Planned:
		mustFinish(t, j, ticket, notLeft)
	case order.Accepted:
		mustFinish(t, j, ticket, accepted("w"+id))
	case order.Rejected:
		mustFinish(t, j, ticket, rejected)
	case order.Unknown:
		mustFinish(t, j, ticket, unknown)
	case order.Conflict:
		mustFinish(t, j, ticket, unknown)
		mustSettle(t, j, Evidence{OrderID: id, Withdrawal: "w" + id, Differs: "the amount is another"})
	}
	return wantState(t, j, id, to)
}

// rowClaims returns the claims of all rows of a run, with their orders as they are now.
func rowClaims(t *testing.T, l *Ledger, run Run) (claims []Claim) {
	t.Helper()
	for r, err := range l.RunRows(t.Context(), run) {
		must(t, err)
		o, err := l.Order(t.Context(), r.OrderID)
		must(t, err)
		claims = append(claims, Claim{Row: r, Key: "key1", Decimals: 8, SameContent: true, Run: run.Name, Known: o})
	}
	return claims
}

// A book is an open journal with the record of the shop's account, which what is claimed or decided makes.
type book struct {
	*Journal
	*Ledger
}

func bookOf(j *Journal) *book { return &book{j, j.Ledger(shop)} }

// of returns the record of an account, and in makes the account.
func (b *book) of(a order.Account) *Ledger {
	if a == shop {
		return b.Ledger
	}
	return b.Journal.Ledger(a)
}

func (b *book) in(t testing.TB, a order.Account) *Ledger {
	t.Helper()
	l := b.of(a)
	must(t, l.Enter(t.Context()))
	return l
}

// Rename finds the shop's account again, as a new process has to.
func (b *book) Rename(ctx context.Context, old, to order.Account) error {
	b.Ledger = b.Journal.Ledger(shop)
	return b.Journal.Rename(ctx, old, to)
}

func (b *book) Claim(ctx context.Context, c Claim) (Ticket, error) {
	if err := b.Enter(ctx); err != nil {
		return Ticket{}, err
	}
	return b.Ledger.Claim(ctx, c)
}

func (b *book) Decide(ctx context.Context, d Decision) (Record, error) {
	if err := b.Enter(ctx); err != nil {
		return Record{}, err
	}
	return b.Ledger.Decide(ctx, d)
}

func (b *book) Show(ctx context.Context, id, withdrawal string) error {
	return b.Ledger.Show(ctx, map[string]string{id: withdrawal})
}

func (b *book) Alone(ctx context.Context, run string) error { return b.Ledger.Alone(ctx, run, true) }

// Reap returns how many orders it has changed.
func (b *book) Reap(ctx context.Context) (n int, err error) {
	sending := order.Filter{States: []order.State{order.Sending}}
	count := func(change int) {
		for _, e := range b.Orders(ctx, sending) {
			if n += change; e != nil {
				err = e
			}
		}
	}
	count(1)
	if err == nil {
		err = b.Ledger.Reap(ctx)
	}
	count(-1)
	return n, err
}
