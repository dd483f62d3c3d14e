//go:build unix

package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ledger is the service. It never refuses to pay twice: a client that asks twice pays twice.
type ledger struct {
	mu       sync.Mutex
	doors    map[string]net.Listener // by address; nil if nothing listens there
	port     int                     // the next port to try for a door
	conns    map[int]string          // the doors of the open connections, by the number of the connection
	came     int
	payments []payment
	held     []payment // not yet paid
	acks     map[int]chan struct{}
	rng      *rand.Rand // decides which reads fail
	reached  map[string]int

	scripts  map[int]map[string]instruction // of attempts at a batch: what is done with each order
	at       map[string]int                 // the attempt of a key, if the create does not name it
	creates  map[string][]created           // by key: the creates of attempts at batches
	released map[int]chan struct{}          // of attempts that wait for an answer
	pauses   map[string]int                 // by key: how many payments are allowed for now
	steady   map[string]bool                // keys whose lists can always be read
}

// created is a create of an attempt at a batch.
type created struct {
	Attempt int    `json:"attempt"`
	OrderID string `json:"order_id"`
	Fault   string `json:"fault"`
}

// payment is a withdrawal that was paid.
type payment struct {
	ID       string          `json:"id"`
	Key      string          `json:"key"` // of the merchant
	OrderID  string          `json:"order_id"`
	Attempt  int             `json:"attempt"`
	Currency json.RawMessage `json:"currency"`
	Amount   json.RawMessage `json:"amount"`
	Address  string          `json:"address"`
	Memo     string          `json:"memo"`
	Callback string          `json:"callback"`

	settled bool // the journal has it with its id
}

// listedAtOnce is the ledger's largest page. It is small, so that lists have many pages.
const listedAtOnce = 10

// serveLedger is the process of the ledger. It prints the address of its controls. They open a door for each
// merchant: an address of the service that no other merchant has, so that a closed door affects no other
// merchant. Then it prints "kill N" when attempt N is to be killed, and reads "dead N" when that is done.
func serveLedger() {
	l := &ledger{
		doors: map[string]net.Listener{}, port: firstPort + rand.IntN(ports), conns: map[int]string{},
		acks: map[int]chan struct{}{}, reached: map[string]int{}, rng: rand.New(rand.NewPCG(1, 2)),
		scripts: map[int]map[string]instruction{}, at: map[string]int{}, creates: map[string][]created{},
		released: map[int]chan struct{}{}, pauses: map[string]int{}, steady: map[string]bool{},
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(control.Addr())
	go http.Serve(control, l.controls())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); { // until the tests end
		var n int
		fmt.Sscanf(in.Text(), "dead %d", &n)
		l.mu.Lock()
		if ack := l.acks[n]; ack != nil {
			close(ack)
			delete(l.acks, n)
		}
		l.mu.Unlock()
	}
}

// kill has an attempt killed, and returns when it is dead.
func (l *ledger) kill(n int) {
	ack := make(chan struct{})
	l.mu.Lock()
	l.acks[n] = ack
	fmt.Printf("kill %d\n", n)
	l.mu.Unlock()
	<-ack
}

// controls are what the tests ask the ledger for and tell it. All but two of them hold its lock.
func (l *ledger) controls() http.Handler {
	mux := http.NewServeMux()
	for path, do := range map[string]func(q url.Values) any{
		"/payments": func(q url.Values) any { return slices.Collect(chosen(l.payments, q)) },
		"/held":     func(q url.Values) any { return slices.Collect(chosen(l.held, q)) },
		"/release": func(q url.Values) any {
			l.payments = slices.AppendSeq(l.payments, chosen(l.held, q))
			l.held = slices.DeleteFunc(l.held, func(p payment) bool { return p.isOf(q) })
			return nil
		},
		"/settle": func(q url.Values) any {
			for n := range l.payments {
				l.payments[n].settled = l.payments[n].settled || l.payments[n].isOf(q)
			}
			return nil
		},
		"/reached": func(url.Values) any { return l.reached },
		"/creates": func(q url.Values) any { return l.creates[q.Get("key")] },
		"/door":    func(url.Values) any { return l.newDoor() },
		"/refuse": func(q url.Values) any {
			l.shut(q.Get("door"))
			return nil
		},
		"/remove": func(q url.Values) any { // for ever
			l.shut(q.Get("door"))
			delete(l.doors, q.Get("door"))
			return nil
		},
		"/script": l.instruct,
		"/over":   l.over,
		"/forget": l.forget,
		"/steady": func(q url.Values) any {
			l.steady[q.Get("key")] = q.Get("steady") == "true"
			return nil
		},
		"/pause-at": func(q url.Values) any {
			l.pauses[q.Get("key")], _ = strconv.Atoi(q.Get("payments"))
			return nil
		},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			r.ParseForm()
			l.mu.Lock()
			defer l.mu.Unlock()
			json.NewEncoder(w).Encode(do(r.Form))
		})
	}
	mux.HandleFunc("/open", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		door := r.FormValue("door")
		for range 500 {
			if l.doors[door] != nil || l.open(door) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		http.Error(w, "the port is gone", 500)
	})
	mux.HandleFunc("/quiet", l.quiet)
	return mux
}

// isOf reports whether a payment is of a merchant, and of an address or some orders if they are named.
func (p payment) isOf(q url.Values) bool {
	return p.Key == q.Get("key") && (!q.Has("address") || p.Address == q.Get("address")) &&
		(!q.Has("orders") || slices.Contains(strings.Split(q.Get("orders"), ","), p.OrderID))
}

// chosen has the payments that are of a request.
func chosen(all []payment, q url.Values) iter.Seq[payment] {
	return func(yield func(payment) bool) {
		for _, p := range all {
			if p.isOf(q) && !yield(p) {
				return
			}
		}
	}
}

// Ports below those that the system gives to clients. The port of a door must still be free after the door
// was shut for a while.
const firstPort, ports = 20000, 12000

// newDoor opens a door at a free port.
func (l *ledger) newDoor() string {
	for {
		l.port = firstPort + (l.port+1-firstPort)%ports
		door := fmt.Sprintf("127.0.0.1:%d", l.port)
		if _, own := l.doors[door]; !own && l.open(door) == nil { // a known door may be shut just now
			return door
		}
	}
}

func (l *ledger) open(door string) error {
	ln, err := net.Listen("tcp", door)
	if err == nil {
		l.doors[door] = ln
		go l.accept(door, ln)
	}
	return err
}

func (l *ledger) shut(door string) {
	if ln := l.doors[door]; ln != nil {
		ln.Close()
		l.doors[door] = nil
	}
}

// quiet returns when the ledger has handled everything that was written to a door before the request. This
// includes connections that are not yet accepted and what a killed process wrote.
func (l *ledger) quiet(w http.ResponseWriter, r *http.Request) {
	if !l.drained(r.FormValue("door")) {
		http.Error(w, "connections stay open", 500)
	}
}

// drained waits until all connections to a place that were made before the call are closed. It reports
// whether they are.
func (l *ledger) drained(place string) bool {
	until := 0
	for until == 0 {
		l.mu.Lock()
		ln, door := l.doors[place]
		shut := door && ln == nil
		if shut { // nothing waits to be accepted
			until = l.came + 1
		}
		l.mu.Unlock()
		if !shut { // accepted in order, so connections after this one are new
			until = ping(place)
		}
	}
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		before := 0
		for n, at := range l.conns {
			if n < until && at == place {
				before++
			}
		}
		l.mu.Unlock()
		if before == 0 {
			return true
		}
	}
	return false
}

// ping makes a connection and returns its number, or 0 if nothing listens.
func ping(place string) (n int) {
	conn, err := net.Dial("tcp", place)
	if err != nil {
		return 0
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		fmt.Fscan(resp.Body, &n)
	}
	return n
}

// accept serves the connections to a door, each with its number.
func (l *ledger) accept(place string, ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		l.came++
		n := l.came
		l.conns[n] = place
		l.mu.Unlock()
		go func() {
			l.serve(n, caller{c.(*net.TCPConn)})
			c.Close()
			l.mu.Lock()
			delete(l.conns, n)
			l.mu.Unlock()
		}()
	}
}

// caller is a connection to a door.
type caller struct{ *net.TCPConn }

// serve answers requests.
func (l *ledger) serve(n int, c caller) {
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil { // the request broke off, so nothing is done
			return
		}
		keep := false
		switch req.URL.Path {
		case "/ping":
			c.answer(200, strconv.Itoa(n))
		case "/api/merchant_withdrawal/create":
			keep = l.create(c, req, body)
		case "/api/merchant_withdrawal/list":
			keep = l.list(c, req)
		case "/api/merchant_withdrawal":
			keep = l.get(c, req)
		default:
			keep = c.answer(404, envelope)
		}
		if !keep {
			return
		}
	}
}

const envelope = `{"error":{"code":7,"reason":"fault","description":"as it was told to"}}`

func (c caller) answer(status int, body string, headers ...string) bool {
	_, err := c.Write(c.response(status, body, headers...))
	return err == nil
}

func (c caller) response(status int, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\nContent-Type: application/json\r\n", status,
		http.StatusText(status), len(body))
	fmt.Fprintf(&b, "Date: %s\r\n", time.Now().UTC().Format(http.TimeFormat))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// instruction tells the ledger what to do with an order. It travels in the callback address of a create: n is
// the number of the attempt, f the fault, and k where the client is killed.
//
// A fault is a name, with +c if the payment is made nevertheless:
//
//	ok slow                  a good answer
//	wait                     a good answer, when the tests say so
//	unread                   the connection is reset before anything of the request is answered
//	drop                     the connection is closed without an answer
//	late                     the connection is closed; the payment is made much later, when the tests say so
//	hang                     there is never an answer
//	cut                      the answer breaks off
//	400 400e                 this status, without or with the error envelope
//	html null empty trailing a 200 that is not an id
//	other                    a 200 with the id of another payment that the journal has
//
// The client is killed after the request is read (read), after the payment is made (commit), or when half of
// the answer is written (answer).
type instruction struct {
	n      int
	fault  string
	commit bool
	phase  string
}

func (i instruction) name() string {
	if i.commit {
		return i.fault + "+c"
	}
	return i.fault
}

func (i instruction) String() string {
	return "http://127.0.0.1:1/?" + url.Values{"n": {strconv.Itoa(i.n)}, "f": {i.name()}, "k": {i.phase}}.Encode()
}

func readInstruction(callback string) (i instruction) {
	u, err := url.Parse(callback)
	if err != nil {
		return instruction{fault: "400e"}
	}
	q := u.Query()
	i.n, _ = strconv.Atoi(q.Get("n"))
	i.fault, i.commit = strings.CutSuffix(q.Get("f"), "+c")
	i.phase = q.Get("k")
	return i
}

func (l *ledger) create(c caller, req *http.Request, body []byte) (keep bool) {
	var asked struct {
		Currency, Amount        json.RawMessage
		Address, Callback, Memo string
		OrderID                 string `json:"external_order_id"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return c.answer(400, envelope)
	}
	i := l.instructed(req.Header, asked.OrderID, asked.Callback)
	if req.URL.RawQuery == "again" { // a redirect was followed
		i = instruction{n: i.n, fault: "ok", commit: true}
	}
	p := payment{Key: req.Header.Get("Authorization"), OrderID: asked.OrderID, Attempt: i.n, Currency: asked.Currency,
		Amount: asked.Amount, Address: asked.Address, Memo: asked.Memo, Callback: asked.Callback}
	kill := func(phase string) {
		if i.phase == phase {
			l.kill(i.n)
		}
	}
	kill("read")
	l.mu.Lock()
	if i.commit {
		l.paused(p.Key)
	}
	l.reached[i.name()]++
	p.ID = fmt.Sprintf("%08x-0000-4000-8000-%012x", len(l.payments), rand.Uint64()>>16)
	other := p.ID
	for _, o := range l.payments {
		if o.Key == p.Key && o.settled {
			other = o.ID
		}
	}
	switch {
	case i.fault == "late":
		l.held = append(l.held, p)
	case i.commit:
		l.payments = append(l.payments, p)
	}
	l.mu.Unlock()
	kill("commit")

	id := strconv.Quote(p.ID)
	var out []byte
	switch i.fault {
	case "ok":
		out = c.response(200, id)
	case "wait":
		l.mu.Lock()
		released := l.released[i.n]
		l.mu.Unlock()
		if released != nil {
			<-released
		}
		out = c.response(200, id)
	case "slow":
		time.Sleep(40 * time.Millisecond)
		out = c.response(200, id)
	case "unread":
		c.SetLinger(0)
		c.Close()
		return false
	case "drop", "late":
		return false
	case "hang":
		io.Copy(io.Discard, c) // until the client has gone
		return false
	case "cut":
		out = c.response(200, id)
		c.Write(out[:len(out)-9])
		return false
	case "html":
		out = c.response(200, "<html>it works</html>")
	case "null":
		out = c.response(200, "null")
	case "empty":
		out = c.response(200, `""`)
	case "trailing":
		out = c.response(200, id+id)
	case "other":
		out = c.response(200, strconv.Quote(other))
		if other == p.ID {
			return false
		}
	case "307":
		out = c.response(307, "", "Location: "+req.URL.Path+"?again")
	default:
		text := "a gateway's words"
		status, withEnvelope := strings.CutSuffix(i.fault, "e")
		if withEnvelope {
			text = envelope
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			panic("there is no fault " + i.fault)
		}
		out = c.response(code, text)
	}
	if i.phase == "answer" {
		c.Write(out[:len(out)/2])
		kill("answer")
		out = out[len(out)/2:]
	}
	_, err := c.Write(out)
	return err == nil
}

// bad makes a read fail now and then. It reports whether it did.
func (l *ledger) bad(c caller, req *http.Request) bool {
	l.mu.Lock()
	fate := l.rng.IntN(300)
	if l.steady[req.Header.Get("Authorization")] {
		fate = 300
	}
	l.mu.Unlock()
	switch fate {
	case 0:
		c.answer(500, "a gateway's words")
	case 1:
		c.answer(503, envelope)
	case 2:
		out := c.response(200, `{"page_content":[],"page_count":0,"total":0}`)
		c.Write(out[:len(out)-7])
	case 3:
		c.answer(200, "<html>it works</html>")
	}
	return fate < 4
}

// list answers with a page of the payments, the newest first. Pages count from 1.
func (l *ledger) list(c caller, req *http.Request) bool {
	if l.bad(c, req) {
		return false
	}
	page, _ := strconv.Atoi(req.URL.Query().Get("page"))
	size, _ := strconv.Atoi(req.URL.Query().Get("page_size"))
	if size = min(size, listedAtOnce); page < 1 || size < 1 {
		return c.answer(400, envelope)
	}
	own := []any{}
	l.mu.Lock()
	for _, p := range slices.Backward(l.payments) {
		if p.Key == req.Header.Get("Authorization") {
			own = append(own, p.record(true))
		}
	}
	l.mu.Unlock()
	text, err := json.Marshal(map[string]any{"page_content": own[min((page-1)*size, len(own)):min(page*size, len(own))],
		"page_count": (len(own) + size - 1) / size, "total": len(own)})
	return err == nil && c.answer(200, string(text))
}

// record returns a payment as the service shows it, alone or in a list.
func (p payment) record(listed bool) map[string]any {
	r := map[string]any{"id": p.ID, "external_order_id": p.OrderID, "external_id": json.Number(p.OrderID),
		"merchant_id": "m-" + p.Key, "currency": p.Currency, "amount": p.Amount, "address": p.Address,
		"statuses": []any{map[string]string{"status": "New", "at": "2026-01-02T03:04:05Z"}}, "current": "New",
		"is_testnet": true, "callback": p.Callback, "memo": p.Memo}
	if listed {
		r["address"] = map[string]any{"Crypto": map[string]string{"currency": "Btc", "address": p.Address}}
	}
	return r
}

func (l *ledger) get(c caller, req *http.Request) bool {
	if l.bad(c, req) {
		return false
	}
	key := req.Header.Get("Authorization")
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.payments {
		if p.Key == key && p.ID == req.URL.Query().Get("id") {
			text, err := json.Marshal(p.record(false))
			return err == nil && c.answer(200, string(text))
		}
	}
	return c.answer(404, envelope)
}
