package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestFaultControls checks what a control takes. TestCheckFault has what no fault may be.
func TestFaultControls(t *testing.T) {
	b := newBox(t)
	same(t, b.post("/sandbox/faults", `{"do":"html"}`),
		`{"id":"1","on":"*","do":"html","rate":1,"times":0,"match":{},"seed":1,"seen":0,"fired":0}`)
	const second = `"on":"POST /api/invoice","do":"delay=2s","rate":0.25,"times":3,` +
		`"match":{"title":"","currency.Fiat":"Usd"},"seed":9`
	same(t, b.post("/sandbox/faults", `{`+second+`}`), `{"id":"2",`+second+`,"seen":0,"fired":0}`)
	b.send("GET", "/api/invites", "")
	b.counted("html:1/1", "delay=2s:0/0")
	for more, name := range map[string]string{
		`"do":1`: "do", `"do":"html","rate":0`: "rate", `"do":"html","rate":"1"`: "rate", `"do":"html","rate":1e999`: "rate",
		`"do":"html","times":1.5`: "times", `"do":"html","match":{"a":1}`: "match.a", `"do":"html","match":[]`: "match",
		`"do":"html","match":{"a":"1","a":"2"}`: "match.a", `"do":"html","on":"GET /sandbox/dump"`: "on",
		`"do":"html","id":"7"`: "id", `"do":"html","fired":7`: "fired", `"do":"body","body":"?"`: "body",
		`"do":"body","body":1`: "body", "": "do",
	} {
		b.refused(b.send("POST", "/sandbox/faults", "{"+more+"}"), 400, "invalid_body", name)
	}
	b.refused(b.send("POST", "/sandbox/faults/clear", `{"id":"3"}`), 404, "not_found", "3")
	b.refused(b.send("POST", "/sandbox/faults/clear", `{"id":3}`), 400, "invalid_body", "id")
	same(t, at(t, b.post("/sandbox/faults/clear", `{"id":"1"}`), 0, "id"), `"1"`)
	same(t, at(t, b.post("/sandbox/faults/clear", `{}`), 0, "id"), `"2"`)
	same(t, b.post("/sandbox/faults/clear", `{}`), `[]`)
}

func TestCheckFault(t *testing.T) {
	for _, do := range []string{"refuse", "drop-before", "drop-after", "truncate", "delay=2s", "delay=10m",
		"delay=1ns", "status=200", "status=599", "status=503,bare", "status=429,retry-after=5",
		"status=503,retry-after=0,bare", "html", "html=502", "deliver-twice", "stale-list=10m", "stale-list=7d",
		"body", "lose-callback", "delay-callback=10m"} {
		if f, err := sandbox.CheckFault(sandbox.Fault{Do: do}); err != nil || f.On != "*" || f.Rate != 1 {
			t.Errorf("%s: %+v, %v", do, f, err)
		}
	}
	nan := 0.0
	nan /= nan
	type bad struct {
		f           sandbox.Fault
		field, says string
	}
	cases := []bad{
		{sandbox.Fault{}, "do", "drop-after"},
		{sandbox.Fault{Do: "html", Match: map[string]string{"a..b": "1"}}, "match", "blank"},
		{sandbox.Fault{Do: "html", On: "post /api/invoice"}, "on", `"POST /api/invoice"`},
		{sandbox.Fault{Do: "stale-list=10m", On: createOp}, "on",
			"POST /api/merchant_withdrawal/list, POST /api/reseller/invoice/list, " +
				"POST /api/reseller/withdraw/list, or *"},
		{sandbox.Fault{Do: "lose-callback", On: createOp}, "on", "leave it out"},
		{sandbox.Fault{Do: "html", Body: []byte("x")}, "body", "leave it out"},
		{sandbox.Fault{Do: "body", Body: make([]byte, 1<<20+1)}, "body", "1048576"},
		{sandbox.Fault{Do: strings.Repeat("x", 1000)}, "do", "xxx..."},
		{sandbox.Fault{Do: "html", On: "POST /api/reseller/withdrawal/list"}, "on", "\"POST /api/reseller/withdraw/list\""},
		{sandbox.Fault{Do: "html", On: strings.Repeat("x", 100_000)}, "on", "write a method and a path"},
		{sandbox.Fault{Do: "html", Rate: 1.01}, "rate", "1.01"},
		{sandbox.Fault{Do: "html", Rate: nan}, "rate", "NaN"},
		{sandbox.Fault{Do: "html", Times: -1}, "times", "-1"}, {sandbox.Fault{Do: "html", Seed: -1}, "seed", "-1"},
		{sandbox.Fault{Do: "html", Match: map[string]string{" ": "x"}}, "match", "field"},
		{sandbox.Fault{Do: "lose-callback", Match: map[string]string{"extern_order_id": "1"}}, "match", "external_order_id?"},
		{sandbox.Fault{Do: "lose-callback", Match: map[string]string{"x": "1"}}, "match", "use id"},
	}
	for do, says := range map[string]string{
		"drop-after=1": "takes no value", "delay=0s": "0s", "delay": "not a delay", "delay=999999h999999h": "delay", "status": "200 to 599",
		"status=+50": "200 to 599", "status=0503": "200 to 599", "status=503, bare": "bare or retry-after=5",
		"status=503,retry-after=1,retry-after=1": "there twice", "status=503,retry-after=86401": "0 to 86400",
		"stale-list=1ms": "30s, 15m, 36h or 7d", "delay-callback=1": "30s, 15m, 36h or 7d",
		"stale-list=999999h": "at most 36500d",
		"html=502,bare":      "200 to 599",
	} {
		cases = append(cases, bad{sandbox.Fault{Do: do}, "do", says})
	}
	for _, c := range cases {
		_, err := sandbox.CheckFault(c.f)
		wrong, ok := errors.AsType[*sandbox.FaultError](err)
		failIf(t, !ok || wrong.Field != c.field || !strings.Contains(err.Error(), c.says), "%+v: %v", c.f, err)
		failIf(t, second(sandbox.New(sandbox.WithFault(c.f))) == nil, "%+v is an option", c.f)
	}
}

// TestDelayedRequestOfAGoneClient checks that a delayed request takes effect late if the client hangs up, and does
// nothing if the end of the server is unknown.
func TestDelayedRequestOfAGoneClient(t *testing.T) {
	for do, want := range map[string]string{"delay=300ms": "1", "delay=10m": "0"} {
		b := newBox(t)
		b.fault(sandbox.Fault{On: createOp, Do: do})
		l := b.overTheWire(nil)
		if want == "1" {
			url, stop := b.serve()
			defer stop()
			l.url = url
		}
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan error)
		go func() {
			_, _, _, err := l.send(ctx, "POST", createPath, btcBody)
			answered <- err
		}()
		b.until(do + ":1/1")
		cancel()
		failIf(t, !errors.Is(<-answered, context.Canceled), "there was an answer")
		if want == "0" {
			<-l.ended
		}
		eventually(t, "it has ended", func() bool { return b.withdrawals() == want })
	}
}

// until waits until the counters are as wanted.
func (b box) until(want ...string) {
	b.t.Helper()
	eventually(b.t, fmt.Sprintf("the faults count %q", want), func() bool { return slices.Equal(b.counters(), want) })
}

// TestDelayEndsWithTheServer checks that a server that ends does not wait for a delay.
func TestDelayEndsWithTheServer(t *testing.T) {
	b := newBox(t)
	b.fault(sandbox.Fault{On: createOp, Do: "delay=10m"})
	url, stop := b.serve()
	answered := make(chan error)
	go func() {
		_, _, err := ask(b.Key(), "POST", url+createPath, btcBody)
		answered <- err
	}()
	b.until("delay=10m:1/1")
	served := make(chan error, 1)
	go func() { served <- stop() }()
	if err := <-answered; !errors.Is(err, io.EOF) {
		t.Errorf("the client gets %v", err)
	}
	must(t, <-served)
	equal(t, b.withdrawals(), "0", "withdrawals")
}

// TestDelayOutlastsTimeouts checks that a delay may be longer than the timeouts of the server.
func TestDelayOutlastsTimeouts(t *testing.T) {
	b := newBox(t)
	b.fault(sandbox.Fault{On: createOp, Do: "delay=300ms"})
	l := b.overTheWire(func(s *http.Server) {
		s.ReadTimeout, s.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	status, _, text, err := l.send(t.Context(), "POST", createPath, btcBody)
	failIf(t, status != 200 || err != nil || b.withdrawals() != "1",
		"%d %q %v, there are %s withdrawals", status, text, err, b.withdrawals())
}

// TestFaultsAreState checks that faults and their counters are part of the state: of its file, which others share,
// and of its dump.
func TestFaultsAreState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	one, two, alone := sharedBox(t, path), sharedBox(t, path), newBox(t)
	f := sandbox.Fault{On: createOp, Do: "status=503", Times: 100, Rate: 0.5, Seed: 9,
		Match: map[string]string{"address": "bc1q"}}
	one.fault(f)
	alone.fault(f)
	for range 4 {
		for _, b := range []box{one, two, alone, alone} {
			b.send("POST", createPath, btcBody)
		}
	}
	want := alone.counters()
	failIf(t, want[0] == "status=503:0/8", "it never strikes")
	two.counted(want...)
	copied := newBox(t, sandbox.WithSeedJSON(dumped(t, one)))
	for _, b := range []box{one, copied} {
		b.counted(want...)
		equal(t, b.fault(sandbox.Fault{Do: "html", On: "GET /api/invites"}).ID, "2", "the id of another")
	}
	before, err := one.Faults()
	must(t, err)
	after, err := copied.Faults()
	failIf(t, err != nil || !reflect.DeepEqual(before, after), "the dump has %+v, %v", after, err)
}
