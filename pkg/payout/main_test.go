package payout

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

// A row is a withdrawal as the service shows it, as JSON.
type row map[string]any

// A service is a fake service that a test can make misbehave. It counts the requests.
type service struct {
	*httptest.Server
	t testing.TB

	mu     sync.Mutex
	rows   []row // newest first
	base   int   // the number of the first page
	made   int
	bodies []map[string]any // of all creates that arrived

	arrived              atomic.Int32 // creates, also those that wait for an earlier one
	creates, gets, lists int
	from                 []string // the filters of the first pages

	// Functions that replace the correct behaviour; nil: none.
	onCreate func(body map[string]any) (status int, answer string, taken bool)
	onGet    func(id string) (status int, answer string)
	onList   func(page, size int) (items []row, pageCount, total int)
	onPage   func() // before each page is made
	onFirst  func() // before each first page is made
	listFail func() (status int, answer string)
	now      func() time.Time // time of its Date header; nil: the real time; the zero time: no header
	maxSize  int              // the largest page size that it accepts; 0: any
	strict   bool             // it refuses pages before the first one
	ends     bool             // and behind the last one
}

const envelope = `{"error":{"code":2004,"reason":"no_funds","description":"The balance is short."}}`

func newService(t testing.TB) *service {
	s := &service{t: t, base: 1}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if strings.HasSuffix(r.URL.Path, "/create") {
		s.arrived.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var status int
	var answer string
	switch r.URL.Path {
	case "/api/merchant_withdrawal/create":
		status, answer = s.create(text)
	case "/api/merchant_withdrawal":
		s.gets++
		status, answer = s.get(r.URL.Query().Get("id"))
	case "/api/merchant_withdrawal/list":
		s.lists++
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
		var filter struct{ From string }
		json.Unmarshal(text, &filter)
		status, answer = s.list(page, size, filter.From)
	default:
		s.t.Errorf("the service was asked %s %s", r.Method, r.URL)
		status, answer = 404, envelope
	}
	if s.now != nil {
		w.Header()["Date"] = nil
		if now := s.now(); !now.IsZero() {
			w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		}
	}
	if status == 0 { // no answer
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
		return
	}
	w.WriteHeader(status)
	io.WriteString(w, answer)
}

func (s *service) create(text []byte) (status int, answer string) {
	s.creates++
	var body map[string]any
	json.Unmarshal(text, &body)
	s.bodies = append(s.bodies, body)
	taken := true
	status = 200
	if s.onCreate != nil {
		status, answer, taken = s.onCreate(body)
	}
	if taken {
		answer = cmp.Or(answer, strconv.Quote(s.take(body)))
	}
	return status, answer
}

// take makes a withdrawal.
func (s *service) take(body map[string]any) (id string) {
	s.made++
	id = fmt.Sprint("w", s.made)
	order, _ := body["external_order_id"].(string)
	r := row{"id": id, "merchant_id": "m1", "currency": body["currency"], "amount": body["amount"],
		"address": body["address"], "current": "New", "statuses": []any{}, "is_testnet": true, "callback": ""}
	s.rows = slices.Insert(s.rows, 0, r.named(order))
	return id
}

// named gives a record an order id in both fields, or takes both away.
func (r row) named(orderID string) row {
	if r["external_order_id"], r["external_id"] = orderID, json.Number(orderID); orderID == "" {
		delete(r, "external_order_id")
		delete(r, "external_id")
	}
	return r
}

func (s *service) get(id string) (status int, answer string) {
	if s.onGet != nil {
		if status, answer := s.onGet(id); status >= 0 {
			return status, answer
		}
	}
	for _, r := range s.rows {
		if r["id"] == id {
			return 200, asText(r)
		}
	}
	return 404, envelope
}

func (s *service) list(page, size int, from string) (status int, answer string) {
	if s.onPage != nil {
		s.onPage()
	}
	if s.onFirst != nil && page == s.base {
		s.onFirst()
	}
	if page == s.base {
		s.from = append(s.from, from)
	}
	if s.listFail != nil {
		if status, answer := s.listFail(); status >= 0 {
			return status, answer
		}
	}
	if s.maxSize > 0 && size > s.maxSize || s.strict && page < s.base || s.ends && (page-s.base)*size >= len(s.rows) {
		return 400, envelope
	}
	items, pageCount, total := s.cut(page, size)
	if s.onList != nil {
		items, pageCount, total = s.onList(page, size)
	}
	return 200, pageText(items, pageCount, total)
}

// cut returns a correct page.
func (s *service) cut(page, size int) (items []row, pageCount, total int) {
	n := page - s.base
	if n >= 0 {
		items = s.rows[min(n*size, len(s.rows)):min((n+1)*size, len(s.rows))]
	}
	return items, (len(s.rows) + size - 1) / size, len(s.rows)
}

func pageText(items []row, pageCount, total int) string {
	shown := []row{}
	for _, r := range items {
		listed := maps.Clone(r)
		listed["address"] = map[string]any{"Crypto": map[string]any{"currency": "Btc", "address": r["address"]}}
		shown = append(shown, listed)
	}
	return asText(row{"page_content": shown, "page_count": pageCount, "total": total})
}

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// fill adds rows of other orders to the list.
func (s *service) fill(n int) {
	for range n {
		s.take(map[string]any{"currency": row{"Crypto": "Btc"}, "amount": row{"Crypto": row{"Btc": 1}}, "address": "else",
			"external_order_id": fmt.Sprint(900000 + s.made)})
	}
}

// answer makes all creates end in another way than accepted; nil: in none.
func (s *service) answer(how func() (status int, answer string, taken bool)) {
	s.set(func() {
		if s.onCreate = nil; how != nil {
			s.onCreate = func(map[string]any) (int, string, bool) { return how() }
		}
	})
}

// wantCreates checks how many creates have arrived in total.
func (s *service) wantCreates(n int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.creates != n {
		s.t.Fatalf("%d creates reached the service, want %d", s.creates, n)
	}
}

func (s *service) set(change func()) { s.mu.Lock(); defer s.mu.Unlock(); change() }

func (s *service) counts() (creates, gets, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.creates, s.gets, s.lists
}

// A clock moves only when it is set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A desk is a Sender with a fake service and its own journal.
type desk struct {
	*Sender
	t      testing.TB
	s      *service
	clock  *clock
	place  string
	pauses int

	checked map[string]Checked
}

// usedDesk returns a desk with an order, 1, that was accepted and that the service has too.
func usedDesk(t testing.TB) *desk {
	d := newDesk(t)
	d.history()
	return d
}

// deskInDoubt returns a used desk with an order that is unknown.
func deskInDoubt(t testing.TB, orderID string) *desk {
	d := usedDesk(t)
	d.bring(asked(orderID), outUnknown)
	return d
}

// notSent returns the decision that orders were not sent.
func notSent(orderIDs ...string) Decision { return Decision{OrderIDs: orderIDs, Reason: "x"} }

// paidAs returns the decision that a withdrawal is the order.
func paidAs(orderID, id string) Decision {
	return Decision{OrderIDs: []string{orderID}, PaidAs: id, Reason: "x"}
}

// newDesk copies an empty journal, because making one takes longer than most tests.
func newDesk(t testing.TB) *desk {
	place := filepath.Join(t.TempDir(), "journal.db")
	ok(t, os.WriteFile(place, emptyJournal(), 0o600))
	return deskAt(t, place)
}

var emptyJournal = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "journal.*")
	defer os.RemoveAll(dir)
	place := filepath.Join(dir, "journal.db")
	j, opening := journal.Open(context.Background(), place, journal.Options{Now: time.Now, User: "ann", Host: "till1"})
	if err = errors.Join(err, opening); err == nil {
		err = j.Close()
	}
	file, reading := os.ReadFile(place)
	if err = errors.Join(err, reading); err != nil {
		panic(err)
	}
	return file
})

func deskAt(t testing.TB, place string) *desk {
	s := newService(t)
	d := &desk{t: t, s: s, place: place, checked: map[string]Checked{},
		clock: &clock{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}}
	s.now = d.clock.Now
	d.Sender = &Sender{
		Ledger: &Ledger{d.open()}, client: newClient(t, s.URL), key: "key1", now: d.clock.Now,
		skew: new(atomic.Pointer[time.Duration]), options: Options{SettleAfter: 15 * time.Minute, FirstPage: api.PageBaseOne},
		pause: func(ctx context.Context, wait time.Duration) error {
			d.pauses++
			if wait <= 0 || wait > time.Second {
				t.Errorf("a pause of %s", wait)
			}
			return ctx.Err()
		},
	}
	return d
}

func newClient(t testing.TB, url string) *api.Client {
	client, err := api.New(url, api.WithAPIKey("key"), api.WithRetries(0), api.WithTimeouts(time.Minute, time.Minute))
	ok(t, err)
	return client
}

// open opens the desk's journal again, as another process does.
func (d *desk) open() *journal.Ledger {
	d.t.Helper()
	j, err := journal.Open(journal.WithHooks(context.Background(), journal.Hooks{Copies: true}), d.place, journal.Options{Now: d.clock.Now, User: "ann", Host: "till1"})
	ok(d.t, err)
	d.t.Cleanup(func() { j.Close() })
	return j.Ledger(Account{Address: d.s.URL, Name: "shop"})
}

// sql changes the database of the journal behind its back.
func (d *desk) sql(statement string, args ...any) {
	d.t.Helper()
	driver := "sqlite"
	if d.ledger.Journal().Shared() {
		driver = "pgx"
	}
	db, err := sql.Open(driver, d.place)
	if err == nil {
		_, err = db.Exec(statement, args...)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		d.t.Error(err)
	}
}

// another returns a desk of the same account in another process.
func (d *desk) another() *desk {
	d.t.Helper()
	other, sender := *d, *d.Sender
	sender.Ledger, sender.client = &Ledger{d.open()}, newClient(d.t, d.s.URL)
	other.Sender = &sender
	return &other
}

// account returns the ledger of another account.
func (d *desk) account(a Account) *journal.Ledger { return d.ledger.Journal().Ledger(a) }

// Check keeps the result for Resolve, which has to refuse it if Check does.
func (d *desk) Check(ctx context.Context, decision Decision) error {
	c, err := d.Sender.Check(ctx, decision)
	if err == nil {
		d.checked[fmt.Sprint(decision)] = c
	} else {
		wantKind(d.t, errorOf(d.Sender.Resolve(ctx, c)), Invalid, "")
	}
	return err
}

// Resolve records a decision that was checked.
func (d *desk) Resolve(ctx context.Context, decision Decision) ([]Order, error) {
	c, found := d.checked[fmt.Sprint(decision)]
	if !found {
		d.t.Fatalf("%+v was not checked", decision)
	}
	return d.Sender.Resolve(ctx, c)
}

// asked returns a withdrawal with an order id. If it is empty, an order id is generated.
func asked(orderID string) withdrawal {
	return withdrawal{request: api.CreateWithdrawal{
		Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 5000),
		Address: "bc1q" + orderID, ExternalOrderID: orderID,
	}}
}

// as returns an option that makes Send send this withdrawal.
func as(w withdrawal) SendOption { return func(o *withdrawal) { *o = w } }

func (d *desk) Send(ctx, calls context.Context, w withdrawal) (Sent, error) {
	w.calls = calls
	return d.Sender.Send(ctx, w.request, as(w))
}

func (d *desk) send(w withdrawal) (Sent, error) {
	return d.Send(context.Background(), context.Background(), w)
}

func (d *desk) mustSend(orderID string) Sent {
	d.t.Helper()
	return d.mustSendAs(asked(orderID))
}

func (d *desk) mustSendAs(w withdrawal) Sent {
	d.t.Helper()
	sent, err := d.send(w)
	ok(d.t, err)
	return sent
}

func (d *desk) mustReconcile(orderIDs ...string) []Result {
	d.t.Helper()
	results, err := d.Reconcile(context.Background(), orderIDs...)
	ok(d.t, err)
	return results
}

func (d *desk) mustResolve(decision Decision) []Order {
	d.t.Helper()
	orders, err := d.Resolve(context.Background(), decision)
	ok(d.t, err)
	return orders
}

// settles records what the list has shown, and decides what a person has said, without the service.
func (d *desk) settles(e journal.Evidence) {
	d.t.Helper()
	_, err := d.ledger.Settle(context.Background(), e)
	ok(d.t, err)
}

func (d *desk) hasDecided(decision journal.Decision) {
	d.t.Helper()
	_, err := d.ledger.Decide(context.Background(), decision)
	ok(d.t, err)
}

// ok ends the test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dies claims an order as another process that then dies.
func (d *desk) dies(w withdrawal) {
	d.t.Helper()
	other := d.open()
	ok(d.t, other.Enter(context.Background()))
	ok(d.t, errorOf(other.Claim(context.Background(), journal.Claim{Row: journal.Row{OrderID: w.request.ExternalOrderID,
		Content: contentOf(w.request)}, Key: d.key, AllowDuplicate: true})))
	other.Journal().Close()
	for range 500 { // PostgreSQL takes a moment to notice
		ok(d.t, d.ledger.Reap(context.Background()))
		if o, err := d.ledger.Order(context.Background(), w.request.ExternalOrderID); err != nil || o.State == StateUnknown {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.t.Fatal("the process that died still counts as alive")
}

// bring brings an order into a state, without the service.
func (d *desk) bring(w withdrawal, out journal.Outcome) {
	d.t.Helper()
	ok(d.t, d.ledger.Enter(context.Background()))
	ticket, err := d.ledger.Claim(context.Background(),
		journal.Claim{Row: PlanRow{CreateWithdrawal: w.request}.row(), Key: d.key, Decimals: money.Unknown, AllowDuplicate: true})
	ok(d.t, err)
	ok(d.t, errorOf(d.ledger.Finish(context.Background(), ticket, out)))
}

var (
	outUnknown  = journal.Outcome{Ending: order.WasUncertain, Reason: "no answer"}
	outRejected = journal.Outcome{Ending: order.WasRejected, Status: 422, Code: 7, Reason: "no funds"}
	outNotLeft  = journal.Outcome{Ending: order.SaidNothing, Reason: "no connection"}
)

func outAccepted(id string) journal.Outcome {
	return journal.Outcome{Ending: order.WasAccepted, Withdrawal: id, Status: 200}
}

// ways are the ways in which an order gets into a state, without the service.
var ways = map[string]func(d *desk, w withdrawal){
	"new":        func(*desk, withdrawal) {},
	"accepted":   func(d *desk, w withdrawal) { d.bring(w, outAccepted("w9")) },
	"unknown":    func(d *desk, w withdrawal) { d.bring(w, outUnknown) },
	"rejected":   func(d *desk, w withdrawal) { d.bring(w, outRejected) },
	"never left": func(d *desk, w withdrawal) { d.bring(w, outNotLeft) },
	"died":       (*desk).dies,
	"being sent": (*desk).sends,
	"conflict": func(d *desk, w withdrawal) {
		d.settles(journal.Evidence{OrderID: w.request.ExternalOrderID, Withdrawal: "w9", Content: contentOf(w.request),
			Differs: "its amount is another"})
	},
	"not sent": func(d *desk, w withdrawal) {
		d.bring(w, outUnknown)
		d.hasDecided(journal.Decision{OrderID: w.request.ExternalOrderID, NotSent: true, Reason: "x"})
	},
	"rejected after an unknown one": func(d *desk, w withdrawal) {
		d.bring(w, outUnknown)
		d.hasDecided(journal.Decision{OrderID: w.request.ExternalOrderID, NotSent: true, Reason: "x"})
		d.bring(w, outRejected)
	},
}

// sends lets another living process send an order.
func (d *desk) sends(w withdrawal) {
	d.t.Helper()
	other := d.open()
	ok(d.t, other.Enter(context.Background()))
	ok(d.t, errorOf(other.Claim(context.Background(),
		journal.Claim{Row: journal.Row{OrderID: w.request.ExternalOrderID, Content: contentOf(w.request)}})))
}

// history gives the account an accepted order, which the service has too.
func (d *desk) history() {
	d.t.Helper()
	d.mustSend("1")
}

func (d *desk) wantState(orderID string, want State) journal.Record {
	d.t.Helper()
	o, err := d.ledger.Order(context.Background(), orderID)
	ok(d.t, err)
	if o.State != want {
		d.t.Fatalf("order %s stands as %s (%s), want %s", orderID, o.State, o.Reason, want)
	}
	return o
}

func (d *desk) wantNothing(orderID string) {
	d.t.Helper()
	_, err := d.ledger.Order(context.Background(), orderID)
	if !errors.Is(err, journal.NotFound) {
		d.t.Fatalf("the journal has order %s: %v", orderID, err)
	}
}

// wantKind checks the kind and the rule of an error, and that its message or hint has some texts.
func wantKind(t testing.TB, err error, kind Kind, rule string, says ...string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if e.Kind != kind || e.Rule != rule {
		t.Fatalf("got kind %q, rule %q (%v), want kind %q, rule %q", e.Kind, e.Rule, err, kind, rule)
	}
	for _, text := range says {
		if !strings.Contains(e.Msg+"\n"+e.Hint.String(), text) {
			t.Errorf("it does not say %q: %s (%s)", text, e.Msg, e.Hint)
		}
	}
	if e.Msg == "" {
		t.Error("it says nothing")
	}
	return e
}

// wantErr checks the kind of an error and, after a slash, its rule. If both are empty, there must be none.
func wantErr(t testing.TB, err error, want string, says ...string) {
	t.Helper()
	if want == "" {
		ok(t, err)
		return
	}
	kind, rule, _ := strings.Cut(want, "/")
	wantKind(t, err, Kind(kind), rule, says...)
}

func wantCall(t testing.TB, err error, outcome api.Outcome, status int) *api.Error {
	t.Helper()
	if own := (*Error)(nil); errors.As(err, &own) && (own.Kind != kindOfCall(outcome) || own.Hint.Text != "") {
		t.Fatalf("the call's error is hidden by kind %q: %v", own.Kind, err)
	}
	var e *api.Error
	if !errors.As(err, &e) || e.Outcome != outcome || e.Status != status {
		t.Fatalf("got %v, want an error of a call with %v, HTTP %d", err, outcome, status)
	}
	return e
}
