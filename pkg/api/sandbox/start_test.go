package sandbox_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
)

// TestCheckout is in the package documentation, word for word.
func TestCheckout(t *testing.T) {
	box := sandbox.Start(t)
	client, err := api.New(box.URL, api.WithAPIKey(box.Key()))
	if err != nil {
		t.Fatal(err)
	}
	id, err := client.Invoices.Create(t.Context(), api.CreateInvoice{
		Title:    "Order 1001",
		Currency: api.Currency{Kind: api.Fiat, Code: "Usd"},
		Items:    []api.InvoiceItem{{Name: "Coffee beans", Amount: 2500}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.PayInvoice(id); err != nil { // as the customer does
		t.Fatal(err)
	}
	invoice, err := client.Invoices.Get(t.Context(), id)
	if err != nil || invoice.Status != "Paid" {
		t.Errorf("the invoice is %q, %v", invoice.Status, err)
	}
}

// TestDocumentedTest compares the test in the package documentation with the one that runs.
func TestDocumentedTest(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	must(t, err)
	source, err := os.ReadFile("start_test.go")
	must(t, err)
	_, body, _ := strings.Cut(string(source), "\nfunc TestCheckout(")
	body, _, _ = strings.Cut(body, "\n}\n")
	shown := strings.ReplaceAll("\nfunc TestCheckout("+body+"\n}\n", "\n", "\n//\t")
	if !strings.Contains(string(doc), strings.TrimSuffix(shown, "\t")) {
		t.Errorf("doc.go does not show TestCheckout as it is:%s", shown)
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

func TestStartEndsWithItsTest(t *testing.T) {
	var box *sandbox.Running
	t.Run("test", func(t *testing.T) {
		box = sandbox.Start(t, sandbox.WithState(filepath.Join(t.TempDir(), "box.db")))
		t.Run("its subtest", func(t *testing.T) {
			must(t, third(ask("", "GET", box.URL+"/sandbox/health", "")))
		})
		must(t, third(ask("", "GET", box.URL+"/sandbox/health", ""))) // after the subtest, too
		// The server has seen no request on this connection yet.
		idle, err := net.Dial("tcp", strings.TrimPrefix(box.URL, "http://"))
		must(t, err)
		t.Cleanup(func() { idle.Close() })
	})
	failIf(t, third(ask("", "GET", box.URL+"/sandbox/health", "")) == nil, "it still listens")
	failIf(t, box.Fund("Btc", 1) == nil, "its file is still open")
	quiet(t, "net/http.(*Server)", "net/http.(*conn)", "net/http.(*connReader)")
}

// TestCloseWaitsForRequests checks that a request in flight loses its connection when the test ends, and that
// it has ended when Close returns: no part of the sandbox runs during the next test.
func TestCloseWaitsForRequests(t *testing.T) {
	entered, release := make(chan bool, 1), make(chan bool)
	var held, ended atomic.Bool
	box := sandbox.Start(t, sandbox.WithClock(func() time.Time {
		if held.CompareAndSwap(true, false) {
			entered <- true
			<-release
			ended.Store(true)
		}
		return start
	}))
	held.Store(true)
	lost, closed := make(chan error, 1), make(chan error, 1)
	go func() { lost <- third(ask(box.Key(), "POST", box.URL+"/api/invite", `"`+uuid("a")+`"`)) }()
	<-entered
	go func() {
		err := box.Close()
		failIf(t, !ended.Load(), "Close has returned before the request ended")
		closed <- err
	}()
	failIf(t, <-lost == nil, "the request was answered")
	close(release)
	must(t, <-closed)
	must(t, box.Close()) // again
}

func TestStartFails(t *testing.T) {
	for name, opt := range map[string]sandbox.Option{
		"setting": set("first_page", "7"), "key": sandbox.WithKey("live"), "file": sandbox.WithState(t.TempDir()),
	} {
		tb, failed := new(T), any(nil)
		func() {
			defer func() { failed = recover() }()
			sandbox.Start(tb, opt)
		}()
		failIf(t, failed == nil || len(tb.cleanups) != 0, "%s: it failed with %v and cleans up %d times", name, failed,
			len(tb.cleanups))
	}
	says(t, second(sandbox.New(set("first_page", "1"), nil)), "option 2 is nil")
}

// TestStartBringsNoTesting checks that a program that serves a sandbox includes neither package testing nor
// its flags.
func TestStartBringsNoTesting(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "example.com/till/pkg/api/sandbox").Output()
	must(t, err)
	for _, dep := range strings.Fields(string(out)) {
		if dep == "testing" || strings.HasPrefix(dep, "testing/") || strings.HasPrefix(dep, "net/http/httptest") {
			t.Errorf("it brings %s along", dep)
		}
	}
}

// TestServeEndsDespiteIdleConnections checks that a connection on which no request has come, or only a part
// of one, does not hold up the end.
func TestServeEndsDespiteIdleConnections(t *testing.T) {
	for name, sent := range map[string]string{
		"nothing":           "",
		"part of a request": "GET /api/invites HT",
		"part of a body": "POST /api/invoice HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
			"Content-Length: 99\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			url, stop := b.serve()
			idle, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			must(t, err)
			defer idle.Close()
			must(t, second(idle.Write([]byte(sent))))
			// Connections are accepted in order: after an answer on the next one, this one is known.
			if status, _, err := ask("", "GET", url+"/sandbox/health", ""); err != nil || status != 200 {
				t.Fatal(status, err)
			}
			must(t, stop()) // after 5 seconds, if it waits
		})
	}
}

func TestServeRefusesUnusableListeners(t *testing.T) {
	b := newBox(t)
	wide, err := net.Listen("tcp4", "0.0.0.0:0")
	must(t, err)
	says(t, b.Serve(t.Context(), wide), "loopback")
	closed := listen(t)
	closed.Close()
	failIf(t, b.Serve(t.Context(), closed) == nil, "a closed listener is no error")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Serve(done, listen(t)); err != nil {
		t.Errorf("a context that is done already: %v", err)
	}
}
