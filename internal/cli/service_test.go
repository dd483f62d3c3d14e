//go:build unix

package cli

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/till/pkg/payout"
	"github.com/rogpeppe/go-internal/testscript"
)

// fake is a service that gives the answers that a script sets, and counts the requests:
//
//	fake STATUS [BODY-FILE [HEADER]]  give the same answer to every request
//	fake drop                         read each request and close the connection
//	fake reset                        read each request and reset the connection
//	fake hang                         never answer
//	fake hold BODY-FILE               answer 200 with the file, after the command release
//	fake cut BODY-FILE                answer 200 and break off after the file, before the promised length
//	fake twice BODY-FILE              answer 200 with the file, twice for a single request
//	fake routes FILE                  answer by a file with lines of METHOD PATH ANSWER, where ANSWER is one
//	                                  of the above; several lines for a path are successive answers
//	fake tls ANSWER, fake tls1.1 ...  the same over TLS, with the certificate authority in the file ca.pem
//
// The environment is set to use it, without a profile. A path that the file of routes does not have is
// answered with 404.
type fake struct {
	mu       sync.Mutex
	received []string
	routes   []*route
	ended    chan struct{}
	held     chan struct{}
}

type route struct {
	method, path string
	answer       http.HandlerFunc
	used         bool
}

const fakeKey = "key-of-a-fake-service"

func startFake(ts *testscript.TestScript, args []string) {
	f := &fake{ended: make(chan struct{}), held: make(chan struct{})}
	ts.Defer(func() { close(f.ended) })
	secure := args[0]
	if strings.HasPrefix(secure, "tls") {
		args = args[1:]
	}
	if args[0] == "routes" {
		for line := range strings.Lines(ts.ReadFile(args[1])) {
			words := strings.Fields(line)
			if len(words) < 3 {
				ts.Fatalf("a line of %s is not METHOD PATH ANSWER: %q", args[1], line)
			}
			answer := words[2:]
			if len(answer) > 3 { // a header contains spaces
				answer = append(answer[:2:2], strings.Join(answer[2:], " "))
			}
			f.routes = append(f.routes, &route{method: words[0], path: words[1], answer: f.answer(ts, answer)})
		}
	} else {
		f.routes = []*route{{answer: f.answer(ts, args)}}
	}
	worldOf(ts).fake = f
	switch secure {
	case "tls":
		ts.Setenv("TILL_BASE_URL", "https://"+listenTLS(ts, f, tls.VersionTLS12))
	case "tls1.1":
		ts.Setenv("TILL_BASE_URL", "https://"+listenTLS(ts, f, tls.VersionTLS11))
	default:
		ts.Setenv("TILL_BASE_URL", "http://"+listen(ts, f))
	}
	ts.Setenv("TILL_API_KEY", fakeKey)
	ts.Setenv("TILL_PROFILE", "")
	// A list gets the same answer as everything else, so there is no lookup. Each fake service has its own
	// journal, because it has never received anything.
	ts.Setenv("TILL_LOOKUP", "never")
	place := ts.MkAbs("journal-" + filepath.Base(ts.Getenv("TILL_BASE_URL")) + ".db")
	ts.Setenv("TILL_JOURNAL", place)
	j, err := payout.OpenJournal(context.Background(), place) // here, so that no command notes that it is new
	ts.Check(err)
	ts.Check(j.Close())
}

func (f *fake) answer(ts *testscript.TestScript, args []string) http.HandlerFunc {
	switch args[0] {
	case "drop":
		return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	case "reset":
		return onConnection(func(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0) })
	case "hang":
		return func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-f.ended:
			}
		}
	case "hold":
		body := ts.ReadFile(args[1])
		return func(w http.ResponseWriter, _ *http.Request) {
			select {
			case <-f.held:
				io.WriteString(w, body)
			case <-f.ended:
			}
		}
	case "twice": // on one connection; no client asks for that
		body := ts.ReadFile(args[1])
		answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		return onConnection(func(conn net.Conn) { io.WriteString(conn, answer+answer) })
	case "cut":
		body := ts.ReadFile(args[1])
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
			io.WriteString(w, body)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	body := ""
	if len(args) > 1 {
		body = ts.ReadFile(args[1])
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		if len(args) > 2 {
			name, value, _ := strings.Cut(args[2], ":")
			w.Header().Set(name, strings.TrimSpace(value))
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// onConnection answers with nothing but what do writes, and closes the connection.
func onConnection(do func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		do(conn)
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller has gone
	}
	line := strings.Join([]string{r.Method, r.RequestURI, r.Header.Get("Authorization"), string(body)}, " ")
	f.mu.Lock()
	f.received = append(f.received, strings.TrimSpace(line))
	answer := f.next(r)
	f.mu.Unlock()
	if answer == nil {
		http.Error(w, `{"error":{"code":1,"reason":"no_route","description":"The fake service has no such path."}}`,
			http.StatusNotFound)
		return
	}
	answer(w, r)
}

// next returns the first answer of a route that was not given yet, or its last answer.
func (f *fake) next(r *http.Request) (answer http.HandlerFunc) {
	for _, route := range f.routes {
		if route.path != "" && (route.method != r.Method || route.path != r.URL.Path && route.path != r.RequestURI) {
			continue
		}
		answer = route.answer
		if !route.used {
			route.used = route.path != ""
			return answer
		}
	}
	return answer
}

func fakeOf(ts *testscript.TestScript) *fake {
	f := worldOf(ts).fake
	if f == nil {
		ts.Fatalf("no fake service is running: start one with `fake`")
	}
	return f
}

func requestsOf(ts *testscript.TestScript) int64 {
	f := worldOf(ts).fake
	if f == nil { // if nothing listens at the address
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.received))
}

func checkRequests(ts *testscript.TestScript, args []string) {
	fakeOf(ts)
	if got := fmt.Sprint(requestsOf(ts)); got != args[0] {
		ts.Fatalf("the service got %s requests, not %s", got, args[0])
	}
}

// awaitRequests waits for the fake service without a tight limit, so that a correct script passes on a slow
// machine.
func awaitRequests(ts *testscript.TestScript, args []string) {
	fakeOf(ts)
	n, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	poll(ts, fmt.Sprintf("%d requests", n), func() bool { return requestsOf(ts) >= n })
}

func poll(ts *testscript.TestScript, what string, ok func() bool) {
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s did not come", what)
		}
	}
}

func writeReceived(ts *testscript.TestScript, args []string) {
	f := fakeOf(ts)
	f.mu.Lock()
	defer f.mu.Unlock()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(f.received, "\n")+"\n"), 0o600))
}

func postCallback(ts *testscript.TestScript, args []string) {
	resp, err := http.Post(args[0], "application/json", strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	resp.Body.Close()
	if fmt.Sprint(resp.StatusCode) != args[2] {
		ts.Fatalf("it was answered with %d, not %s", resp.StatusCode, args[2])
	}
}

// listenTLS is like listen, with a certificate for 127.0.0.1 from an unknown authority.
func listenTLS(ts *testscript.TestScript, handler http.Handler, newest uint16) string {
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: newest}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	ts.Defer(func() { server.Config.Close() })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), ca, 0o600))
	return server.Listener.Addr().String()
}
