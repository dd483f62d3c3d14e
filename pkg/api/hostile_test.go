package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// A stream is a body that is generated as it is read, so that the server in the same process takes no memory.
type stream struct {
	head, unit, tail string
	n                int    // how many units; -1: endless
	numbered         bool   // unit is a format that takes the number of the unit
	calls            string // see hostile

	buf            bytes.Buffer
	next           int
	started, ended bool
}

func (s *stream) Read(p []byte) (int, error) {
	for s.buf.Len() < len(p) && !s.ended {
		switch {
		case !s.started:
			s.buf.WriteString(s.head)
			s.started = true
		case s.next == s.n:
			s.buf.WriteString(s.tail)
			s.ended = true
		case s.numbered:
			fmt.Fprintf(&s.buf, s.unit, s.next)
			s.next++
		default:
			s.buf.WriteString(s.unit)
			s.next++
		}
	}
	return s.buf.Read(p)
}

func (s *stream) Close() error { return nil }

// answer is a transport that answers with the body, from its beginning each time.
func (s *stream) answer(status int) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		again := &stream{head: s.head, unit: s.unit, tail: s.tail, n: s.n, numbered: s.numbered}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: again, ContentLength: -1, Request: r}, nil
	}
}

// everyCall returns a call for each way to decode an answer.
func everyCall(ctx context.Context, c *Client) map[string]func() error {
	const id = someID
	return map[string]func() error{
		"create":        func() error { return err2(c.Withdrawals.Create(ctx, sampleCreate())) },
		"create-invite": func() error { return err2(c.Invites.Create(ctx, id)) },
		"withdrawal":    func() error { return err2(c.Withdrawals.Get(ctx, "w-1")) },
		"withdrawals":   func() error { return err2(c.Withdrawals.List(ctx, WithdrawalFilter{}, 0, 10)) },
		"invoice":       func() error { return err2(c.Invoices.Get(ctx, id)) },
		"invite":        func() error { return err2(c.Invites.Get(ctx, id)) },
		"invites":       func() error { return err2(c.Invites.List(ctx)) },
		"resellers":     func() error { return err2(c.Resellers.List(ctx)) },
		"ids":           func() error { return err2(c.Resellers.IDs(ctx)) },
		"reseller":      func() error { return err2(c.Resellers.Info(ctx, id)) },
		"stats":         func() error { return err2(c.Resellers.Stats(ctx, id)) },
		"rebates":       func() error { return err2(c.Resellers.Rebate(ctx, id)) },
		"rebate":        func() error { return err2(c.Resellers.RebateIn(ctx, id, "Btc")) },
		"finished":      func() error { return err2(c.Resellers.InvoiceFinished(ctx, id, id)) },
		"balance":       func() error { return err2(c.Resellers.Balance(ctx, id)) },
		"invoices":      func() error { return err2(c.Resellers.Invoices(ctx, id, nil, 0, 10)) },
		"raw":           func() error { return err2(c.Do(ctx, "GET", "/x", nil)) },
	}
}

const someID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

// hostile returns large answers: an array or object that never ends, or one with millions of small values.
// calls names the calls that decode such an answer. Every answer is also tested with the calls that create,
// that read one resource, and that return the answer unchanged.
func hostile() map[string]*stream {
	const (
		w     = `{"id":"w","currency":{"Crypto":"B"},"amount":{"Crypto":{"B":1}},"address":"a"`
		page  = `{"page_count":1,"total":1,"page_content":[`
		stats = `{"id":"i","label":"l","total_rebates":{},`
		items = `{"id":"i","currency":{"Fiat":"U"},"items":[{"amount":"1"}`
	)
	kilo := strings.Repeat("x", 1024)
	longKey := `,"` + strings.Repeat("k", 25) + `%7d":0`
	return map[string]*stream{
		"endless blanks":      {unit: strings.Repeat(" ", 1024), n: -1},
		"endless string":      {head: `"`, unit: kilo, n: -1},
		"endless array":       {head: `[`, unit: `{},`, n: -1},
		"endless envelope":    {head: `{"error":{"code":1,"reason":"`, unit: kilo, n: -1},
		"endless items":       {head: items, unit: `,{"amount":"1"}`, n: -1, calls: "invoice"},
		"a gigabyte of zeros": {unit: strings.Repeat("\x00", 1024), n: 1 << 20},
		"a long string":       {head: `"`, unit: kilo, n: maxAnswer/1024 - 1, tail: `"`},
		"deep arrays":         {unit: strings.Repeat("[", 1024), n: maxAnswer/1024 - 1, calls: "balance"},
		"deep objects":        {unit: strings.Repeat(`{"a":`, 200), n: maxAnswer/1000 - 1, calls: "balance"},
		"just not too deep":   {head: strings.Repeat("[", 9999), tail: strings.Repeat("]", 9999), calls: "balance"},
		"millions of {}": {head: `[{}`, unit: `,{}`, n: maxAnswer/3 - 2, tail: `]`,
			calls: "invites rebates ids balance"},
		"millions of 0":        {head: `[0`, unit: `,0`, n: maxAnswer/2 - 4, tail: `]`, calls: "ids balance"},
		"millions of statuses": {head: w + `,"statuses":[{}`, unit: `,{}`, n: maxAnswer/3 - 99, tail: `]}`},
		"millions of keys": {head: `{"x":0`, unit: `,"%d":0`, numbered: true, n: 1_200_000, tail: `}`,
			calls: "resellers rebate"},
		"million invoice_stats": {head: stats + `"invoice_stats":{"x":0`, unit: `,"%d":0`, numbered: true,
			n: 1_000_000, tail: `}}`, calls: "stats"},

		// These have as many values as the limits allow.
		"{}": {head: `[{}`, unit: `,{}`, n: maxValues - 1, tail: `]`, calls: "invites balance"},
		"long keys": {head: `{"x":0`, unit: longKey, numbered: true, n: min(maxValues, maxAnswer/40) - 1,
			tail: `}`, calls: "balance invoices"},
		"withdrawals": {head: page + w + "}", unit: "," + w + "}", n: maxRows - 1, tail: `]}`, calls: "withdrawals"},
		"full withdrawals": {head: page + w + "}", unit: "," + strings.Replace(w, `"w"`, `"%d"`, 1) +
			`,"merchant_id":"m","current":"New","statuses":[{}]}`, numbered: true, n: maxRows - 1, tail: `]}`,
			calls: "withdrawals"},
		"unknown keys": {head: page + w + `}],"x":{"x":0`, unit: longKey, numbered: true,
			n: min(maxValues, maxAnswer/40) - 10, tail: `}}`, calls: "withdrawals"},
		"statuses": {head: w + `,"statuses":[{"status":"New","at":"1"}`,
			unit: `,{"status":"New","at":"%d"}`, numbered: true, n: maxValues/2 - 99, tail: `]}`},
		"statuses in a page": {head: page + w + `,"statuses":[{}`, unit: `,{}`, n: maxValues - 99, tail: `]}]}`,
			calls: "withdrawals"},
		"items": {head: items, unit: `,{"amount":"1","name":"%d"}`, numbered: true,
			n: maxValues/2 - 9, tail: `]}`, calls: "invoice"},
		"invites": {head: `[{"invite":"` + someID + `"}`, unit: `,{"invite":"` + someID + `"}`,
			n: maxItems - 1, tail: `]`, calls: "invites"},
		"ids": {head: `["` + someID + `"`, unit: `,"` + someID + `"`, n: maxItems - 1, tail: `]`,
			calls: "ids"},
		"rebates of invoices": {head: stats + `"invoice_rebates":{"x":{"id":"x","paid_amount":{},"rebate":{}}`,
			unit: `,"%[1]036d":{"id":"%[1]036d","paid_amount":{"USD":1},"rebate":{"USD":1},` +
				`"created":"2026-05-01T10:00:00"}`,
			numbered: true, n: min(maxItems, maxAnswer/165) - 2, tail: `}}`, calls: "stats"},
		"totals": {head: stats + `"total_volume":{"x":{}`,
			unit: `,"%d":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`, numbered: true, n: min(maxItems, maxValues/6) - 10,
			tail: `}}`, calls: "stats"},
		"resellers": {head: `{"` + someID + `":{"id":"` + someID + `"}`,
			unit: `,"00000000-0000-0000-0000-%[1]012d":{"id":"00000000-0000-0000-0000-%[1]012d",` +
				`"invite_info":{"invite":"` + someID + `"},"rebates":{"Btc":{"Crypto":{"Btc":1}}}}`,
			numbered: true, n: min(maxItems, maxAnswer/230) - 2, tail: `}`, calls: "resellers"},
	}
}

// memoryCeiling is the most memory that the process may take with any of them, with the memory limit that the
// command line sets. The pages of its program do not count.
const memoryCeiling = 54 << 20

// TestHostileAnswersTakeLittleMemory runs in a process of its own, because the system records the largest
// memory that a process ever took, which could be another test's.
func TestHostileAnswersTakeLittleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own: make test runs this test without it")
	}
	if os.Getenv("TILL_TEST_HOSTILE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
		cmd.Env = append(os.Environ(), "TILL_TEST_HOSTILE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	debug.SetMemoryLimit(48 << 20)
	answers := hostile()
	var worst uint64
	for name, answer := range answers {
		for _, status := range []int{200, 500} {
			client := must[*Client](t)(New("http://127.0.0.1", WithRetries(0), WithTransport(answer.answer(status))))
			for call, run := range everyCall(context.Background(), client) {
				if status == 500 && call != "withdrawal" ||
					!slices.Contains(strings.Fields("create raw withdrawal "+answer.calls), call) {
					continue
				}
				got := peakOf(t, func() { run() })
				if worst = max(worst, got); got > memoryCeiling {
					t.Errorf("%s of %s: %d MiB", call, name, got>>20)
				}
			}
		}
	}
	for _, name := range []string{"withdrawals", "full withdrawals", "unknown keys", "statuses in a page",
		"endless string"} {
		answer := answers[name]
		answer.head = strings.Replace(answer.head, `"page_count":1,"total":1`, `"page_count":9,"total":9`, 1)
		got := peakOf(t, func() { readList(t, answer) })
		if worst = max(worst, got); got > memoryCeiling {
			t.Errorf("a list with pages of %s: %d MiB", name, got>>20)
		}
	}
	t.Logf("at most %d MiB", worst>>20)
}

// peakOf returns the largest memory of the process while run runs, without the pages of its program: how many of
// these the system has mapped depends on what it keeps of the file. On a busy machine the garbage collector may
// be late, so it measures again.
func peakOf(t *testing.T, run func()) (least uint64) {
	for range 3 {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			t.Skip("the system does not measure the largest memory: ", err)
		}
		run()
		text := string(must[[]byte](t)(os.ReadFile("/proc/self/status")))
		kib := func(name string) (n uint64) {
			_, rest, found := strings.Cut(text, "\n"+name+":")
			if _, err := fmt.Sscan(rest, &n); err != nil || !found {
				t.Fatal("there is no ", name)
			}
			return n
		}
		got := (kib("VmHWM") - kib("RssFile") - kib("RssShmem")) << 10 // the program may be in a directory in memory
		if least == 0 || got < least {
			least = got
		}
		if least <= memoryCeiling {
			break
		}
	}
	return least
}

// readList reads a list whose first pages are harmless, so that pages are read ahead, and whose later pages
// are the answer.
func readList(t *testing.T, answer *stream) {
	client := must[*Client](t)(New("http://127.0.0.1", WithRetries(0),
		WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			page := r.URL.Query().Get("page")
			if page != "0" && page != "1" {
				return answer.answer(200)(r)
			}
			return answering(200, `{"page_count":9,"total":9,"page_content":[`+strings.Replace(sampleWithdrawal, "w-1",
				page, 1)+`]}`)(r)
		}))))
	for range client.Withdrawals.All(context.Background(), WithdrawalFilter{}, ListOptions{FirstPage: PageBaseZero}) {
	}
}

// TestAnswersThatAreRefused checks that invalid answers to any call are errors without a panic, and that the
// outcome of a create is then unknown.
func TestAnswersThatAreRefused(t *testing.T) {
	const uuid = `"` + someID + `"`
	for call, answers := range map[string][]string{
		"withdrawal": everyType["Withdrawal"].invalid(), "withdrawals": everyType["WithdrawalPage"].invalid(),
		"invoice": everyType["Invoice"].invalid(), "invite": everyType["Invite"].invalid(),
		"reseller": everyType["Reseller"].invalid(), "stats": everyType["ResellerStats"].invalid(),
		"rebates": everyType["RebateList"].invalid(), "rebate": everyType["RebateMap"].invalid(),
		"create-invite": {
			`{"invite":` + uuid + `,"label":"l"}`, `{"invite":` + uuid + `,"label":"l","url":""}`,
			`{"invite":` + uuid + `,"url":"u"}`, `{"invite":"x","label":"l","url":"u"}`, uuid,
		},
		"invites": {`{}`, `[{}]`, `[null]`, `[{"invite":` + uuid + `},]`},
		"resellers": {
			`[]`, `{"x":{"id":"x"}}`, `{` + uuid + `:{"id":"00000000-0000-0000-0000-000000000000"}}`,
			`{` + uuid + `:{"id":` + uuid + `},` + uuid + `:{"id":` + uuid + `}}`, `{` + uuid + `:null}`,
		},
		"ids":      {`{}`, `["x"]`, `[null]`, `[` + uuid},
		"finished": {`"true"`, `1`, `null`, `true false`, ``},
		"balance": {`{"a":1,"a":2}`, `{"a":1`, `x`, ``, "\"\xff\"",
			strings.Repeat("[", 20000) + strings.Repeat("]", 20000)},
	} {
		for _, answer := range answers {
			client := must[*Client](t)(New("http://127.0.0.1", WithRetries(0), WithTransport(answering(200, answer))))
			want := Failed
			if strings.HasPrefix(call, "create") {
				want = Unknown
			}
			err := everyCall(context.Background(), client)[call]()
			var e *Error
			if !errors.As(err, &e) || e.Outcome != want || e.Status != 200 {
				t.Errorf("%s from %s: %v", call, answer, err)
			}
		}
	}
}

// answering returns a transport that always gives the same answer.
func answering(status int, body string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
	}
}
