package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
	b      box
	url    string
	client *http.Client
	ended  chan struct{} // receives for each request whose handler has ended
}

func (b box) overTheWire(change func(*http.Server)) *line {
	b.t.Helper()
	l := &line{b: b, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		ended: make(chan struct{}, 100)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	return exchange(ctx, l.client, l.b.Key(), method, l.url+path, body)
}

// TestFaultKinds checks each kind over a real connection: what the client sees, and what was done. The script
// sandbox_fault_add shows what till makes of it.
func TestFaultKinds(t *testing.T) {
	const (
		envelope = `{"error":{"code":1901,"reason":"fault","description":".*"}}` + "\n"
		asJSON   = "application/json"
		plain    = "text/plain; charset=utf-8"
		page     = "text/html; charset=utf-8"
	)
	for _, c := range []struct {
		do, done string // done is the number of withdrawals afterwards
		err      error
		status   int    // 0: no answer
		text     string // a regular expression
		kind     string
	}{
		{"refuse", "0", syscall.ECONNRESET, 0, "", ""}, {"drop-before", "0", io.EOF, 0, "", ""},
		{"drop-after", "1", io.EOF, 0, "", ""}, {"truncate", "1", io.ErrUnexpectedEOF, 200, `"[^"]{18}`, asJSON}, // of 39 bytes
		{"delay=1ms", "1", nil, 200, `"[^"]{36}"` + "\n", asJSON}, {"status=503", "0", nil, 503, envelope, asJSON},
		{"status=200", "0", nil, 200, envelope, asJSON}, {"status=503,bare", "0", nil, 503, "503 Service Unavailable\n", plain},
		{"status=599,bare", "0", nil, 599, "599\n", plain}, {"status=204", "0", nil, 204, "", ""},
		{"status=304,bare", "0", nil, 304, "", ""}, {"status=429,retry-after=5", "0", nil, 429, envelope, asJSON},
		{"status=503,bare,retry-after=5", "0", nil, 503, "503 Service Unavailable\n", plain},
		{"body", "0", nil, 200, "", asJSON}, {"deliver-twice", "2", nil, 200, `"[^"]{36}"` + "\n", asJSON},
		{"html", "0", nil, 200, "(?s)<!DOCTYPE html>.*", page}, {"html=205", "0", nil, 205, "", page},
		{"html=502", "0", nil, 502, "(?s)<!DOCTYPE html>.*502 Bad Gateway.*", page},
	} {
		t.Run(c.do, func(t *testing.T) {
			b := newBox(t, sandbox.WithFault(sandbox.Fault{On: createOp, Do: c.do}))
			l := b.overTheWire(nil)
			status, header, text, err := l.send(t.Context(), "POST", createPath, btcBody)
			failIf(t, !errors.Is(err, c.err) && !(c.do == "refuse" && errors.Is(err, syscall.EPIPE)),
				"the client gets the error %v", err)
			failIf(t, status != c.status || !regexp.MustCompile("^"+c.text+"$").MatchString(text) ||
				header.Get("Content-Type") != c.kind, "the client gets %d %q %q", status, header.Get("Content-Type"), text)
			failIf(t, strings.Contains(c.do, "retry-after=5") != (header.Get("Retry-After") == "5"), "the headers are %v", header)
			<-l.ended
			equal(t, len(l.ended), 0, "more requests that the client sent")
			equal(t, b.withdrawals(), c.done, "withdrawals")
			b.counted(c.do + ":1/1")
		})
	}
}

// TestFaultRate checks that the seed alone decides which requests a fault strikes: about the share that it says, and
// whatever other faults there are.
func TestFaultRate(t *testing.T) {
	const n = 1000
	struckBy := func(f sandbox.Fault, before ...sandbox.Fault) (struck string, hits int) {
		t.Helper()
		b := newBox(t)
		f.Do, f.On = "status=503", "GET /api/resellers/ids"
		for _, f := range append(before, f) {
			b.fault(f)
		}
		for range n {
			struck += fmt.Sprint(b.send("GET", "/api/resellers/ids", "").Code)
		}
		return struck, strings.Count(struck, "503")
	}
	elsewhere := sandbox.Fault{On: createOp, Do: "html"}
	seven, _ := struckBy(sandbox.Fault{Rate: 0.5, Seed: 7})
	again, _ := struckBy(sandbox.Fault{Rate: 0.5, Seed: 7}, elsewhere, elsewhere)
	failIf(t, seven != again, "one seed strikes two sequences")
	first, hits := struckBy(sandbox.Fault{Rate: 0.5})
	again, _ = struckBy(sandbox.Fault{Rate: 0.5})
	other, _ := struckBy(sandbox.Fault{Rate: 0.5}, elsewhere)
	failIf(t, first != again || first == seven || first == other || hits < 400 || hits > 600,
		"without a seed, it is not the same in each fresh state, or the same for two faults, or strikes %d", hits)
	for rate, within := range map[float64][2]int{0.1: {50, 150}, 0.9: {850, 950}, 1: {n, n}, 0: {n, n}} {
		_, hits := struckBy(sandbox.Fault{Rate: rate})
		failIf(t, hits < within[0] || hits > within[1], "at the rate %v it strikes %d of %d", rate, hits, n)
	}
}

// TestFaultTimes checks that a fault strikes exactly Times of many simultaneous requests, and counts them
// all.
func TestFaultTimes(t *testing.T) {
	for name, b := range map[string]box{"in memory": newBox(t),
		"in a file": fileBox(t, filepath.Join(t.TempDir(), "box.db"))} {
		b.fault(sandbox.Fault{On: createOp, Do: "status=503", Times: 3})
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() { b.send("POST", createPath, btcBody) })
		}
		all.Wait()
		equal(t, b.withdrawals(), "37", "%s: withdrawals", name)
		b.counted("status=503:3/3") // a fault that is used up is not asked
	}
}

func TestFaultMatch(t *testing.T) {
	const body = `{"currency":{"Crypto":"Btc"},"amount":{"Fiat":{"USD":2500}},"address":"a=b",` +
		`"external_order_id":"4711","callback":null}`
	const invoice = `{"title":"T","currency":{"Fiat":"Usd"},"items":[{"name":"Tea","amount":"300"},{"name":"Cake",` +
		`"amount":"450"}]}`
	const withdrawal, bill = "POST " + createPath + " " + body, "POST " + invoicePath + " " + invoice
	const id = "00000000-0000-4000-8000-000000000001"
	for call, matches := range map[string]map[bool][]string{
		withdrawal: {
			true: {"", "external_order_id=4711", "address=a=b", "currency.Crypto=Btc", "amount.Fiat.USD=2500", "callback=null",
				"currency.Crypto=Btc external_order_id=4711"},
			false: {"external_order_id=471", "amount.Fiat.USD=2500.0", "amount.Fiat.USD.x=2500",
				`amount.Fiat={"USD":2500}`, // objects and arrays do not match
				"address.0=a", "currency.Crypto=Eth external_order_id=4711"},
		},
		bill: {true: {"items.1.name=Cake"}, false: {"items.0.name=Cake", "items.2.name=Cake", "items.-1.name=Cake",
			"items.01.name=Cake", "items.name=Cake", "items=Cake"}},
		"GET " + getPath + id: {true: {"id=" + id}, false: {"id=1"}},
	} {
		for hits, all := range matches {
			for _, fields := range all {
				f := sandbox.Fault{Do: "status=503", Match: map[string]string{}}
				for _, field := range strings.Fields(fields) {
					name, value, _ := strings.Cut(field, "=")
					f.Match[name] = value
				}
				b := newBox(t, sandbox.WithFault(f))
				method, rest, _ := strings.Cut(call, " ")
				path, body, _ := strings.Cut(rest, " ")
				equal(t, b.send(method, path, body).Code == 503, hits, "%s", fields)
				b.counted(map[bool]string{true: "status=503:1/1", false: "status=503:0/0"}[hits])
			}
		}
	}
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
	f := b.fault(sandbox.Fault{Do: "status=503"})
	b.refused(b.sendAs("till_sandbox_wrong", "POST", createPath, btcBody), 401, "unauthorized")
	b.refused(b.send("GET", "/api/nothing", ""), 404, "unknown_path")
	b.refused(b.send("DELETE", createPath, ""), 405, "wrong_method")
	b.refused(b.with("POST", createPath, btcBody, "Host", "evil.example.com"), 403, "wrong_host")
	b.refused(b.with("POST", createPath, btcBody, "Origin", "https://evil.example.com"), 403, "cross_origin")
	for _, c := range controls {
		failIf(t, b.send(c.method, c.path, c.body).Code == 503, "%s %s is hit", c.method, c.path)
		b.fault(f) // some of them remove the fault
	}
	for _, op := range operations {
		method, path, _ := strings.Cut(op, " ")
		b.refused(b.send(method, path, ""), 503, "fault", "nothing was done")
	}
	equal(t, len(operations), 22, "operations")
}

// TestDeliverTwice checks that a request that is refused is not made again, and that the answer is the first result.
// The script faults has the rest.
func TestDeliverTwice(t *testing.T) {
	numbered := strings.Replace(btcBody, "{", `{"external_order_id":"4711",`, 1)
	b := newBox(t, sandbox.WithFault(sandbox.Fault{On: createOp, Do: "deliver-twice"}))
	id := b.create(createPath, numbered)
	same(t, at(t, b.post(listPath, everything), "page_content", 1, "id"), fmt.Sprintf("%q", id)) // the newest comes first
	b.set(map[string]string{"duplicate_order_ids": "reject"})
	b.refused(b.send("POST", createPath, numbered), 422, "duplicate_order_id")
	equal(t, b.withdrawals(), "2", "withdrawals")
}

// TestStaleList checks that each list hides what is younger than the fault says by the sandbox's clock, in its total
// too, and that reads by id do not. Of two ages the longer counts, and of two ends the earlier.
func TestStaleList(t *testing.T) {
	b := newBox(t)
	reseller, key := b.reseller("Shop")
	trade := func() string { // an invoice of the reseller, which is paid, a withdrawal of a part, and one of the merchant
		t.Helper()
		must(t, b.PayInvoice(b.ok(b.sendAs(key, "POST", invoicePath, invoiceBody(""))).(string)))
		b.ok(b.sendAs(key, "POST", createPath, `{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":50}},"address":"a"}`))
		return b.create(createPath, btcBody)
	}
	totals := func(filter, want string) {
		t.Helper()
		for _, path := range []string{listPath, "/api/reseller/withdraw/list?id=" + reseller,
			"/api/reseller/invoice/list?id=" + reseller} {
			list := b.post(path, filter)
			same(t, at(t, list, "total"), want)
			equal(t, fmt.Sprint(len(at(t, list, "page_content").([]any))), want, "%s shows", path)
		}
	}
	b.fault(sandbox.Fault{Do: "stale-list=1m"})
	trade()
	*b.now = b.now.Add(30 * time.Second)
	last := trade()
	*b.now = b.now.Add(30 * time.Second)
	totals(everything, "1") // 60 and 30 seconds old
	b.get(getPath + last)
	must(t, b.AdvanceClock(29*time.Second))
	totals(everything, "1")
	must(t, b.AdvanceClock(time.Second))
	totals(everything, "2")
	totals(`{"currencies":[],"tags":[],"to":"2026-05-03T09:00:00Z"}`, "0")
	b.counted("stale-list=1m:12/12") // creates and reads by id are not struck
	b.fault(sandbox.Fault{Do: "stale-list=1h"})
	b.fault(sandbox.Fault{Do: "status=503", Times: 1, On: "POST " + listPath})
	b.refused(b.send("POST", listPath, everything), 503, "fault") // the next faults are asked too
	totals(everything, "0")
}

// TestBodyFault checks that the answer of a dump has exactly the bytes of the fault too, and that the caller can change
// its fault afterwards. The script faults has the rest.
func TestBodyFault(t *testing.T) {
	b, body, match := newBox(t), []byte("{\"error\":\xff\x00"), map[string]string{"address": "bc1q"}
	want := string(body)
	f := b.fault(sandbox.Fault{Do: "body", On: createOp, Body: body, Match: match})
	listed, err := b.Faults()
	must(t, err)
	body[0], listed[0].Body[0] = 'y', 'z'
	match["address"], f.Match["address"], listed[0].Match["address"] = "x", "y", "z"
	for _, b := range []box{b, newBox(t, sandbox.WithSeedJSON(dumped(t, b)))} {
		w := b.send("POST", createPath, btcBody)
		failIf(t, w.Code != 200 || w.Body.String() != want, "%d %q, want %q", w.Code, w.Body, want)
	}
}

// TestResendStruckCallback checks that a person can post a lost delivery, and a delayed one earlier, which is then
// not posted again when its time comes. The script faults shows the faults.
func TestResendStruckCallback(t *testing.T) {
	in := newReceiver(t, nil)
	for do, state := range map[string]string{"lose-callback": "lost", "delay-callback=10m": "pending"} {
		b := callbackBox(t, sandbox.WithFault(sandbox.Fault{Do: do, Match: map[string]string{"current": "Processing"}}))
		b.mustAdvance(b.withCallback(in.URL), "Processing")
		wantStates(t, b, "Processing "+state+" 0")
		d, err := b.Resend(b.Deliveries()[0].ID)
		failIf(t, err != nil || d.State != "delivered" || !d.Due.IsZero(), "it is %s, due at %s, %v", d.State, d.Due, err)
		must(t, b.AdvanceClock(time.Hour))
		wantStates(t, b, "Processing delivered 1")
	}
}

// TestCallbackFaultsCombine checks that of several delays the longest counts, and that a delivery that is
// lost as well is not due, so that a dump of it can be taken back.
func TestCallbackFaultsCombine(t *testing.T) {
	b := callbackBox(t)
	for _, do := range []string{"delay-callback=10m", "delay-callback=1m"} {
		b.fault(sandbox.Fault{Do: do})
	}
	b.fault(sandbox.Fault{Do: "lose-callback", Match: map[string]string{"current": "Completed"}})
	id := b.withCallback(newReceiver(t, nil).URL)
	if d := b.advanceOver(id, "Processing"); !d.Due.Equal(start.Add(10 * time.Minute)) {
		t.Errorf("the delivery is due at %s", d.Due)
	}
	if d := b.advanceOver(id, "Completed"); d.State != "lost" || !d.Due.IsZero() {
		t.Errorf("the delivery is %s, due at %s", d.State, d.Due)
	}
	must(t, b.Restore(dumped(t, b)))
}

// TestDelayCallbackOutlivesTheServer checks that a delay goes on in a dump and in the state's file, and that
// the server that keeps time posts the delivery.
func TestDelayCallbackOutlivesTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	b := fileBox(t, path)
	b.fault(sandbox.Fault{Do: "delay-callback=10m"})
	in := newReceiver(t, nil)
	b.mustAdvance(b.withCallback(in.URL), "Processing")
	text := dumped(t, b)
	must(t, b.Close())
	for _, b := range []box{fileBox(t, path), callbackBox(t, sandbox.WithSeedJSON(text))} {
		wantStates(t, b, "Processing pending 0")
		_, stop := b.serve()
		must(t, b.AdvanceClock(10*time.Minute))
		reaches(t, b, "Processing delivered 1")
		must(t, stop())
	}
	equal(t, len(in.got()), 2, "posts")
}
