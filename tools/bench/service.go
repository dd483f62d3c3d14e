package main

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"
)

// These rows compare the sandbox of the binary with servers that do only what is necessary.

const (
	connections   = 32
	sandboxKey    = "till_sandbox_bench"
	create        = `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500}},"address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","external_order_id":"4711"}`
	createPath    = "/api/merchant_withdrawal/create"
	listPath      = "/api/merchant_withdrawal/list"
	getPath       = "/api/merchant_withdrawal"
	sandboxPairs  = 15
	sandboxCalls  = 6400
	durableCalls  = 1600
	sandboxStarts = 41
)

// kept is a withdrawal in a bare server: the fields that the sandbox answers with, unchecked.
type kept struct {
	ID         string                      `json:"id"`
	ExternalID int64                       `json:"external_id"`
	MerchantID string                      `json:"merchant_id"`
	Currency   map[string]string           `json:"currency"`
	Amount     map[string]map[string]int64 `json:"amount"`
	Statuses   []keptStatus                `json:"statuses"`
	Current    string                      `json:"current"`
	Address    string                      `json:"address"`
	IsTestnet  bool                        `json:"is_testnet"`
	OrderID    string                      `json:"external_order_id"`
}

type keptStatus struct {
	Status string `json:"status"`
	At     string `json:"at"`
}

// take decodes the body of a create and returns it as a record.
func take(r *http.Request, number int64) (kept, error) {
	var v kept
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		return v, err
	}
	v.ID, v.ExternalID, v.MerchantID, v.IsTestnet = fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", number), number,
		"5f1b8c1e-61c4-4c4c-9b7e-0c8e1f0a2b3c", true
	v.Statuses, v.Current = []keptStatus{{"New", time.Now().UTC().Format("2006-01-02T15:04:05")}}, "New"
	return v, nil
}

func give(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}

// serveBare keeps withdrawals in a map with a lock, and does nothing else.
func serveBare([]string) {
	var mu sync.Mutex
	records := map[string]kept{}
	var number atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+createPath, func(w http.ResponseWriter, r *http.Request) {
		v, err := take(r, number.Add(1))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		records[v.ID] = v
		mu.Unlock()
		give(w, v.ID)
	})
	mux.HandleFunc("GET "+getPath, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		v := records[r.URL.Query().Get("id")]
		mu.Unlock()
		give(w, v)
	})
	untilStdinCloses(mux)
}

// serveBareFile keeps withdrawals in the same kind of file as the sandbox, with a transaction for each
// create.
func serveBareFile(args []string) {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(args[0]), RawQuery: url.Values{
		"_pragma": {"busy_timeout(20000)", "journal_mode(wal)", "synchronous(full)"}, "_txlock": {"immediate"},
	}.Encode()}
	db := must(sql.Open("sqlite", file.String()))
	defer db.Close()
	db.SetMaxOpenConns(1) // SQLite has one writer; waiting for it here is faster than in SQLite
	must(db.Exec("CREATE TABLE commits (number INTEGER PRIMARY KEY, changes BLOB NOT NULL) STRICT"))
	insert := must(db.Prepare("INSERT INTO commits (changes) VALUES (?)"))
	var number atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+createPath, func(w http.ResponseWriter, r *http.Request) {
		v, err := take(r, number.Add(1))
		var text []byte
		if err == nil {
			text, err = json.Marshal(v)
		}
		if err == nil {
			_, err = insert.Exec(text) // begins and commits by itself
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		give(w, v.ID)
	})
	untilStdinCloses(mux)
}

// connection is a connection to a service under load.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func (s service) dial() connection {
	conn := must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
	return connection{conn, bufio.NewReader(conn)}
}

// call makes one request and returns the body of the answer, which must have status 200.
func (c connection) call(request string) (string, error) {
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// load sends the same request repeatedly on all connections, and returns how long the calls took altogether.
// It does as little work as possible for a request, because it shares the processors with the server.
func (s service) load(calls int, request string) time.Duration {
	conns := make([]connection, connections)
	for i := range conns {
		conns[i] = s.dial()
		defer conns[i].Close()
		must(conns[i].call(request)) // warm up the connection
	}
	return together(connections, calls, func(worker, _ int) error {
		_, err := conns[worker].call(request)
		return err
	})
}

func (s service) request(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, strings.TrimPrefix(s.url, "http://"), sandboxKey, len(body), body)
}

func (s service) createRequest() string { return s.request("POST", createPath, create) }

// one makes one request on its own connection.
func (s service) one(request string) string {
	conn := s.dial()
	defer conn.Close()
	return must(conn.call(request))
}

// loaded compares how many requests per second two services answer. It returns the ratio of mine to bare.
func loaded(calls int, mine, bare service, request func(service) string) float64 {
	return pairs(sandboxPairs,
		func() time.Duration { return bare.load(calls, request(bare)) },
		func() time.Duration { return mine.load(calls, request(mine)) })
}

// sandboxInMemory compares the sandbox with a handler that decodes, keeps and encodes the same.
func sandboxInMemory(b *bench) []row {
	mine, bare := b.sandbox(), b.helper("-bare")
	defer mine.stop()
	defer bare.stop()
	ids := map[string]string{}
	for _, s := range []service{mine, bare} {
		var id string
		if text := s.one(s.createRequest()); json.Unmarshal([]byte(text), &id) != nil {
			check(fmt.Errorf("a create was answered with %s", text))
		}
		ids[s.url] = id
	}
	detail := fmt.Sprintf("median of %d pairs of %d calls", sandboxPairs, sandboxCalls)
	get := loaded(sandboxCalls, mine, bare,
		func(s service) string { return s.request("GET", getPath+"?id="+ids[s.url], "") })
	made := loaded(sandboxCalls, mine, bare, service.createRequest)
	return []row{
		{what: "sandbox get / a bare handler, requests per second, 32 connections", got: get, unit: "x", limit: 0.50,
			detail: detail},
		{what: "sandbox create / a bare handler, requests per second, 32 connections", got: made, unit: "x",
			limit: 0.50, detail: detail},
	}
}

// sandboxStart measures from the start of the process to the end of its first answer. It is the only row that
// depends on the machine, because till promises this time to a caller who waits.
func sandboxStart(b *bench) []row {
	var all []float64
	for i := range sandboxStarts + 1 {
		begin := time.Now()
		s := b.sandbox()
		s.one(s.request("GET", "/api/resellers/ids", ""))
		took := time.Since(begin)
		s.stop()
		if i > 0 {
			all = append(all, float64(took)/float64(time.Millisecond))
		}
	}
	return []row{{what: "till sandbox serve, from its start to its first answer", got: median(all), unit: " ms",
		limit: 50, atMost: true,
		detail: fmt.Sprintf("median of %d starts; the limit is one of time and not a ratio", sandboxStarts)}}
}

// sandboxDurable compares creates that are in the file before the answer with one transaction for each.
func sandboxDurable(b *bench) []row {
	mine, bare := b.sandbox("--state", filepath.Join(b.dir, "sandbox.db")),
		b.helper("-bare-file", filepath.Join(b.dir, "bare.db"))
	defer mine.stop()
	defer bare.stop()
	ratio := loaded(durableCalls, mine, bare, service.createRequest)
	return []row{{what: "sandbox create in a file / one SQLite transaction for each, requests per second, 32 connections", got: ratio, unit: "x", limit: 2,
		detail: fmt.Sprintf("median of %d pairs of %d calls", sandboxPairs, durableCalls)}}
}
