package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

const createOp = "POST " + createPath

func (b box) fault(f sandbox.Fault) sandbox.Fault {
	b.t.Helper()
	f, err := b.AddFault(f)
	must(b.t, err)
	return f
}

// counters returns how often each fault was asked and has struck.
func (b box) counters() (all []string) {
	b.t.Helper()
	faults, err := b.Faults()
	must(b.t, err)
	for _, f := range faults {
		all = append(all, fmt.Sprintf("%s:%d/%d", f.Do, f.Fired, f.Seen))
	}
	return all
}

func (b box) counted(want ...string) {
	b.t.Helper()
	got := b.counters()
	failIf(b.t, !slices.Equal(got, want), "the faults count %q, want %q", got, want)
}

// withdrawals returns the number of withdrawals.
func (b box) withdrawals() string {
	b.t.Helper()
	return fmt.Sprint(at(b.t, b.post(listPath, everything), "total"))
}

// A line is the sandbox behind a real port, with a client that never retries.
type line struct {
	b        box
	url      string
	client   *http.Client
	mu       sync.Mutex
	requests int
	ended    chan struct{} // receives for each request whose handler has ended
}

func (b box) overTheWire(change func(*http.Server)) *line {
	b.t.Helper()
	l := &line{b: b, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		ended: make(chan struct{}, 100)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.requests++
		l.mu.Unlock()
		defer func() { l.ended <- struct{}{} }()
		b.ServeHTTP(w, r)
	}))
	if change != nil {
		change(server.Config)
	}
	server.Start()
	b.t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

func (l *line) send(ctx context.Context, method, path, body string) (status int, header http.Header, text string,
	err error) {
	r, err := http.NewRequestWithContext(ctx, method, l.url+path, strings.NewReader(body))
	must(l.b.t, err)
	r.Header.Set("Authorization", "Bearer "+l.b.Key())
	resp, err := l.client.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(raw), err
}

// TestFaultKinds checks each kind over a real connection: what the client sees, and what was done.
func TestFaultKinds(t *testing.T) {
	const page = "<!DOCTYPE html>"
	envelopeOf := func(text string) bool {
		return strings.HasPrefix(text, `{"error":{"code":1901,"reason":"fault","description":"`) &&
			strings.HasSuffix(text, "\"}}\n")
	}
	isReset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) }
	for _, c := range []struct {
		do     string
		done   string // the number of withdrawals afterwards
		status int    // 0: no answer
		broken func(error) bool
		text   func(string) bool
		kind   string
	}{
		{"refuse", "0", 0, isReset, nil, ""},
		{"drop-before", "0", 0, func(err error) bool { return errors.Is(err, io.EOF) }, nil, ""},
		{"drop-after", "1", 0, func(err error) bool { return errors.Is(err, io.EOF) }, nil, ""},
		{"truncate", "1", 200, func(err error) bool { return err == io.ErrUnexpectedEOF },
			func(text string) bool { return text[0] == '"' && len(text) == 19 }, "application/json"}, // of 39 bytes
		{"delay=1ms", "1", 200, nil, func(text string) bool { return len(text) == 39 }, "application/json"},
		{"status=503", "0", 503, nil, envelopeOf, "application/json"},
		{"status=200", "0", 200, nil, envelopeOf, "application/json"},
		{"status=503,bare", "0", 503, nil, func(text string) bool { return text == "503 Service Unavailable\n" },
			"text/plain; charset=utf-8"},
		{"status=599,bare", "0", 599, nil, func(text string) bool { return text == "599\n" },
			"text/plain; charset=utf-8"},
		{"status=204", "0", 204, nil, func(text string) bool { return text == "" }, ""},
		{"status=304,bare", "0", 304, nil, func(text string) bool { return text == "" }, ""},
		{"status=429,retry-after=5", "0", 429, nil, envelopeOf, "application/json"},
		{"status=503,bare,retry-after=5", "0", 503, nil,
			func(text string) bool { return text == "503 Service Unavailable\n" }, "text/plain; charset=utf-8"},
		{"body", "0", 200, nil, func(text string) bool { return text == "" }, "application/json"},
		{"deliver-twice", "2", 200, nil, func(text string) bool { return len(text) == 39 }, "application/json"},
		{"html", "0", 200, nil, func(text string) bool { return strings.HasPrefix(text, page) },
			"text/html; charset=utf-8"},
		{"html=502", "0", 502, nil, func(text string) bool {
			return strings.HasPrefix(text, page) && strings.Contains(text, "502 Bad Gateway")
		}, "text/html; charset=utf-8"},
		{"html=205", "0", 205, nil, func(text string) bool { return text == "" }, "text/html; charset=utf-8"},
	} {
		t.Run(c.do, func(t *testing.T) {
			b := newBox(t, sandbox.WithFault(sandbox.Fault{On: createOp, Do: c.do}))
			l := b.overTheWire(nil)
			status, header, text, err := l.send(t.Context(), "POST", createPath, btcBody)
			failIf(t, (err != nil) != (c.broken != nil) || err != nil && !c.broken(err),
				"the client gets the error %v", err)
			failIf(t, status != c.status || c.text != nil && !c.text(text) || header.Get("Content-Type") != c.kind,
				"the client gets %d %q %q", status, header.Get("Content-Type"), text)
			failIf(t, strings.Contains(c.do, "retry-after=5") != (header.Get("Retry-After") == "5"), "the headers are %v", header)
			<-l.ended
			failIf(t, l.requests != 1, "the client sent %d requests", l.requests)
			equal(t, b.withdrawals(), c.done, "withdrawals")
			b.counted(c.do + ":1/1")
		})
	}
}

// struckBy returns which of n requests a fault strikes.
func struckBy(t *testing.T, f sandbox.Fault, n int, before ...sandbox.Fault) (struck []bool) {
	t.Helper()
	b := newBox(t)
	for _, other := range before {
		b.fault(other)
	}
	f.Do, f.On = "status=503", "GET /api/resellers/ids"
	b.fault(f)
	for range n {
		struck = append(struck, b.send("GET", "/api/resellers/ids", "").Code == 503)
	}
	return struck
}

func TestFaultRate(t *testing.T) {
	const n = 1000
	elsewhere := sandbox.Fault{On: createOp, Do: "html"}
	seven := struckBy(t, sandbox.Fault{Rate: 0.5, Seed: 7}, n)
	failIf(t, !slices.Equal(seven, struckBy(t, sandbox.Fault{Rate: 0.5, Seed: 7}, n, elsewhere, elsewhere)),
		"one seed strikes two sequences")
	first := struckBy(t, sandbox.Fault{Rate: 0.5}, n)
	failIf(t, !slices.Equal(first, struckBy(t, sandbox.Fault{Rate: 0.5}, n)) || slices.Equal(first, seven) ||
		slices.Equal(first, struckBy(t, sandbox.Fault{Rate: 0.5}, n, elsewhere)),
		"without a seed, it is not the same in each fresh state, or the same for two faults")
	for rate, within := range map[float64][2]int{0.5: {400, 600}, 0.1: {50, 150}, 0.9: {850, 950}, 1: {n, n}, 0: {n, n}} {
		hits := 0
		for _, hit := range struckBy(t, sandbox.Fault{Rate: rate}, n) {
			if hit {
				hits++
			}
		}
		failIf(t, hits < within[0] || hits > within[1], "at the rate %v it strikes %d of %d", rate, hits, n)
	}
}

// TestFaultTimes checks that a fault strikes exactly Times of many simultaneous requests, and counts them
// all.
func TestFaultTimes(t *testing.T) {
	for name, b := range map[string]box{"in memory": newBox(t),
		"in a file": fileBox(t, filepath.Join(t.TempDir(), "box.db"))} {
		b.fault(sandbox.Fault{On: createOp, Do: "status=503", Times: 3})
		codes := make([]int, 40)
		var all sync.WaitGroup
		for i := range codes {
			all.Go(func() { codes[i] = b.send("POST", createPath, btcBody).Code })
		}
		all.Wait()
		refused := 0
		for _, code := range codes {
			if code == 503 {
				refused++
			} else if code != 200 {
				t.Errorf("%s: %d", name, code)
			}
		}
		failIf(t, refused != 3 || b.withdrawals() != "37",
			"%s: %d were refused, there are %s withdrawals", name, refused, b.withdrawals())
		b.counted("status=503:3/3") // a fault that is used up is not asked
	}
}

func TestFaultMatch(t *testing.T) {
	const body = `{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":2500}},"address":"a=b",` +
		`"external_order_id":"4711","callback":null}`
	const invoice = `{"title":"T","currency":{"Fiat":"Usd"},"items":[{"name":"Tea","amount":"300"},{"name":"Cake",` +
		`"amount":"450"}]}`
	for path, matches := range map[string]map[string]bool{
		createPath + " " + body: {
			"": true, "external_order_id=4711": true, "external_order_id=471": false, "address=a=b": true,
			"currency.Crypto=Btc": true, "amount.Fiat.USD=2500": true, "amount.Fiat.USD=2500.0": false,
			"amount.Fiat.USD.x=2500": false, `amount.Fiat={"USD":2500}`: false, // objects and arrays do not match
			"callback=null": true, "address.0=a": false, "currency.Crypto=Btc external_order_id=4711": true,
			"currency.Crypto=Eth external_order_id=4711": false,
		},
		invoicePath + " " + invoice: {"items.1.name=Cake": true, "items.0.name=Cake": false, "items.2.name=Cake": false,
			"items.-1.name=Cake": false, "items.01.name=Cake": false, "items.name=Cake": false, "items=Cake": false},
	} {
		path, body, _ := strings.Cut(path, " ")
		for fields, hits := range matches {
			f := sandbox.Fault{Do: "status=503", Match: map[string]string{}}
			for _, field := range strings.Fields(fields) {
				name, value, _ := strings.Cut(field, "=")
				f.Match[name] = value
			}
			b, want := newBox(t, sandbox.WithFault(f)), "status=503:0/0"
			if hits {
				want = "status=503:1/1"
			}
			equal(t, b.send("POST", path, body).Code == 503, hits, "%s", fields)
			b.counted(want)
		}
	}

	b := newBox(t)
	id := b.create(createPath, btcBody)
	b.fault(sandbox.Fault{Do: "status=503", Match: map[string]string{"id": id}})
	equal(t, b.send("GET", getPath+id, "").Code, 503, "by the query, the status")
	b.refused(b.send("GET", getPath+uuid("other"), ""), 404, "not_found")
	b.counted("status=503:1/1")
}

// TestFaultOrder checks that the first fault that strikes ends the request, except for a delay.
func TestFaultOrder(t *testing.T) {
	b := newBox(t)
	for _, f := range []sandbox.Fault{
		{Do: "delay=1ms"}, {Do: "status=500", On: "GET /api/invites"}, {Do: "status=501", Times: 2},
		{Do: "delay=2ms", Times: 1}, {Do: "status=502", Times: 1}, {Do: "status=503", Times: 1},
	} {
		b.fault(f)
	}
	for i, want := range []int{501, 501, 502, 503, 200} {
		equal(t, b.send("GET", "/api/resellers/ids", "").Code, want, "request %d", i)
	}
	b.counted("delay=1ms:5/5", "status=500:0/0", "status=501:2/2", "delay=2ms:1/1", "status=502:1/1", "status=503:1/1")
}

// TestFaultsComeAfterOtherChecks checks that requests that earlier checks refuse, and controls, are not
// struck.
func TestFaultsComeAfterOtherChecks(t *testing.T) {
	b := newBox(t)
	b.fault(sandbox.Fault{Do: "status=503"})
	b.refused(b.sendAs("till_sandbox_wrong", "POST", createPath, btcBody), 401, "unauthorized")
	b.refused(b.send("GET", "/api/nothing", ""), 404, "unknown_path")
	b.refused(b.send("DELETE", createPath, ""), 405, "wrong_method")
	b.refused(b.with("POST", createPath, btcBody, "Host", "evil.example.com"), 403, "wrong_host")
	b.refused(b.with("POST", createPath, btcBody, "Origin", "https://evil.example.com"), 403, "cross_origin")
	for _, c := range controls {
		got := b.send(c.method, c.path, c.body).Code
		failIf(t, got == 503, "%s %s is hit", c.method, c.path)
		b.fault(sandbox.Fault{Do: "status=503"}) // some of them remove the fault
	}
	for _, op := range sandbox.Operations() {
		method, path, _ := strings.Cut(op, " ")
		b.refused(b.send(method, path, ""), 503, "fault", "nothing was done")
	}
	equal(t, len(sandbox.Operations()), 22, "operations")
}

// TestFaultsAreCopies checks that a caller can change its fault afterwards without changing the sandbox's.
func TestFaultsAreCopies(t *testing.T) {
	b := newBox(t)
	match := map[string]string{"address": "bc1q"}
	f := b.fault(sandbox.Fault{Do: "html", Match: match})
	listed, err := b.Faults()
	must(t, err)
	match["address"], f.Match["address"], listed[0].Match["address"] = "x", "y", "z"
	if listed, _ = b.Faults(); listed[0].Match["address"] != "bc1q" {
		t.Errorf("it matches %v", listed[0].Match)
	}
}
