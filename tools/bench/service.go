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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	_ "modernc.org/sqlite"
)

// These rows hold the sandbox, as the binary serves it, against servers that only do what cannot be left out.

const (
	connections   = 32
	sandboxKey    = "till_sandbox_bench" // as in environment
	create        = `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500}},"address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","external_order_id":"4711"}`
	createPath    = "/api/merchant_withdrawal/create"
	getPath       = "/api/merchant_withdrawal"
	sandboxPairs  = 15
	sandboxCalls  = 6400
	durableCalls  = 1600
	sandboxStarts = 41
)

// kept is a withdrawal as the bare servers keep it: what the sandbox answers with, and nothing checked.
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

// take decodes what a create sends and makes it a record.
func take(r *http.Request, number int64) (kept, error) {
	var v kept
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		return v, err
	}
	v.ID, v.ExternalID, v.MerchantID, v.IsTestnet = fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", number), number, "5f1b8c1e-61c4-4c4c-9b7e-0c8e1f0a2b3c", true
	v.Statuses, v.Current = []keptStatus{{"New", time.Now().UTC().Format("2006-01-02T15:04:05")}}, "New"
	return v, nil
}

func give(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}

// serveBare keeps withdrawals in a map behind a lock, and nothing else.
func serveBare([]string) error {
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
	return untilStdinCloses(mux)
}

// serveBareFile keeps them in the sandbox's kind of file, each create in a transaction of its own.
func serveBareFile(args []string) error {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(args[0]), RawQuery: url.Values{
		"_pragma": {"busy_timeout(20000)", "journal_mode(wal)", "synchronous(full)"}, "_txlock": {"immediate"},
	}.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // SQLite has one writer; waiting for it here is quicker than in SQLite
	if _, err := db.Exec("CREATE TABLE commits (number INTEGER PRIMARY KEY, changes BLOB NOT NULL) STRICT"); err != nil {
		return err
	}
	insert, err := db.Prepare("INSERT INTO commits (changes) VALUES (?)")
	if err != nil {
		return err
	}
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
	return untilStdinCloses(mux)
}

// service is a server under load.
type service struct {
	url  string
	stop func()
}

// startSandbox starts a sandbox of the binary. It is up when it has printed its address.
func startSandbox(till string, flags ...string) (service, error) {
	cmd := exec.Command(till, append([]string{"sandbox", "serve", "-o", "json"}, flags...)...)
	cmd.Env, cmd.Stderr = environment(""), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return service{}, err
	}
	if err := cmd.Start(); err != nil {
		return service{}, err
	}
	stop := func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	var at struct {
		BaseURL string `json:"base_url"`
	}
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		stop()
		return service{}, fmt.Errorf("till sandbox serve has printed no address: %w", err)
	}
	return service{at.BaseURL, stop}, nil
}

func startBare(args ...string) (service, error) {
	url, stop, err := serve(args...)
	return service{url, stop}, err
}

// load sends the same request over and over, on so many connections, and returns how long the calls took altogether.
// What it does for a request is as little as possible, since it has the processors in common with the server.
func (s service) load(calls int, method, path, body string) (time.Duration, error) {
	host := strings.TrimPrefix(s.url, "http://")
	request := s.request(method, path, body)
	conns := make([]net.Conn, connections)
	for i := range conns {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		if _, err := call(conn, bufio.NewReader(conn), request); err != nil { // warms the connection up
			return 0, err
		}
		conns[i] = conn
	}
	errs := make(chan error, connections)
	var group sync.WaitGroup
	begin := time.Now()
	for _, conn := range conns {
		group.Go(func() {
			in := bufio.NewReader(conn)
			for range calls / connections {
				if _, err := call(conn, in, request); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	took := time.Since(begin)
	select {
	case err := <-errs:
		return 0, err
	default:
		return took, nil
	}
}

func (s service) request(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, strings.TrimPrefix(s.url, "http://"), sandboxKey, len(body), body)
}

// call makes one request and returns the body of the answer, which must be a 200.
func call(conn net.Conn, in *bufio.Reader, request string) (string, error) {
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), nil
}

// one makes one request on a connection of its own.
func (s service) one(method, path, body string) (string, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return call(conn, bufio.NewReader(conn), s.request(method, path, body))
}

// loaded returns how many requests per second a service answers compared with another.
func loaded(calls int, method, body string, mine, bare service, paths map[string]string) (float64, error) {
	return pairs(sandboxPairs, func() (time.Duration, error) {
		return bare.load(calls, method, paths[bare.url], body)
	}, func() (time.Duration, error) {
		return mine.load(calls, method, paths[mine.url], body)
	})
}

// sandboxInMemory holds the sandbox against a handler that decodes, keeps and encodes the same.
func sandboxInMemory(till string) ([]row, error) {
	mine, err := startSandbox(till)
	if err != nil {
		return nil, err
	}
	defer mine.stop()
	bare, err := startBare("-bare")
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	gets, creates := map[string]string{}, map[string]string{}
	for _, s := range []service{mine, bare} {
		text, err := s.one("POST", createPath, create)
		if err != nil {
			return nil, err
		}
		id, err := jsontext.AppendUnquote(nil, strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("a create was answered with %s: %w", text, err)
		}
		gets[s.url], creates[s.url] = getPath+"?id="+string(id), createPath
	}
	detail := fmt.Sprintf("median of %d pairs of %d calls", sandboxPairs, sandboxCalls)
	get, err := loaded(sandboxCalls, "GET", "", mine, bare, gets)
	if err != nil {
		return nil, err
	}
	made, err := loaded(sandboxCalls, "POST", create, mine, bare, creates)
	return []row{
		{what: "sandbox get / a bare handler, requests per second, 32 connections", got: get, unit: "x", limit: 0.35, detail: detail},
		{what: "sandbox create / a bare handler, requests per second, 32 connections", got: made, unit: "x", limit: 0.35, detail: detail},
	}, err
}

// sandboxStart measures from the start of the process to the end of its first answer. It is the one row that depends on
// the machine: that much is promised to a caller who waits.
func sandboxStart(till string) ([]row, error) {
	var all []float64
	for i := range sandboxStarts + 1 {
		begin := time.Now()
		s, err := startSandbox(till)
		if err != nil {
			return nil, err
		}
		_, err = s.one("GET", "/api/resellers/ids", "")
		took := time.Since(begin)
		s.stop()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, float64(took)/float64(time.Millisecond))
		}
	}
	return []row{{what: "till sandbox serve, from its start to its first answer", got: median(all), unit: " ms", limit: 50, atMost: true,
		detail: fmt.Sprintf("median of %d starts; the limit is one of time and not a ratio", sandboxStarts)}}, nil
}

// sandboxDurable holds creates that are in the file when they are answered against one transaction for each.
func sandboxDurable(till string) ([]row, error) {
	dir, err := os.MkdirTemp("", "till-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	mine, err := startSandbox(till, "--state", filepath.Join(dir, "sandbox.db"))
	if err != nil {
		return nil, err
	}
	defer mine.stop()
	bare, err := startBare("-bare-file", filepath.Join(dir, "bare.db"))
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	ratio, err := loaded(durableCalls, "POST", create, mine, bare, map[string]string{mine.url: createPath, bare.url: createPath})
	return []row{{what: "sandbox create in a file / one SQLite transaction for each, requests per second, 32 connections", got: ratio, unit: "x", limit: 2,
		detail: fmt.Sprintf("median of %d pairs of %d calls", sandboxPairs, durableCalls)}}, err
}
