package sandbox_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// A receiver receives callbacks. answer writes its answers; it gets the number of the request, from 1.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
}

type post struct{ path, body string }

func newReceiver(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	in := &receiver{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		failIf(t, r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" || err != nil,
			"%s with %q, %v", r.Method, r.Header.Get("Content-Type"), err)
		in.mu.Lock()
		in.posts = append(in.posts, post{r.URL.RequestURI(), string(body)})
		n := len(in.posts)
		in.mu.Unlock()
		if answer != nil {
			answer(n, w, r)
		}
	}))
	t.Cleanup(in.Close)
	return in
}

// failing answers the first requests with 500, and later ones with 200.
func failing(times int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= times {
			w.WriteHeader(500)
		}
		fmt.Fprintf(w, "answer %d", n)
	}
}

func (in *receiver) got() []post {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.posts)
}

// told returns the statuses that were posted, in order.
func (in *receiver) told(t testing.TB) string {
	t.Helper()
	var all []string
	for _, p := range in.got() {
		all = append(all, at(t, decode(t, p.body), "current").(string))
	}
	return strings.Join(all, " ")
}

func callbackBox(t testing.TB, opts ...sandbox.Option) box {
	t.Helper()
	b := newBox(t, append([]sandbox.Option{set("callback_backoff", "1ms")}, opts...)...)
	t.Cleanup(func() { b.Close() })
	return b
}

func (b box) withCallback(url string) string {
	b.t.Helper()
	return b.create(createPath, `{"currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500}},"address":"a<&>b",`+
		`"callback":"`+url+`"}`)
}

// advanceOver moves a withdrawal to a status through the control, and returns the delivery.
func (b box) advanceOver(id, status string) sandbox.Delivery {
	b.t.Helper()
	var answer struct{ Delivery sandbox.Delivery }
	w := b.send("POST", "/sandbox/advance", `{"withdrawal":"`+id+`","status":"`+status+`"}`)
	b.ok(w)
	must(b.t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.Delivery
}

func (b box) mustAdvance(id string, statuses ...string) {
	b.t.Helper()
	for _, status := range statuses {
		must(b.t, b.AdvanceWithdrawal(id, status))
	}
}

// eventually waits until so returns true.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// states returns the states of all deliveries, with the number of attempts.
func states(b interface{ Deliveries() []sandbox.Delivery }) string {
	var all []string
	for _, d := range b.Deliveries() {
		all = append(all, fmt.Sprint(d.Status, " ", d.State, " ", len(d.Attempts)))
	}
	return strings.Join(all, ", ")
}

func wantStates(t testing.TB, b interface{ Deliveries() []sandbox.Delivery }, want string) {
	t.Helper()
	equal(t, states(b), want, "the deliveries")
}

// reaches waits until the deliveries are as wanted.
func reaches(t testing.TB, b interface{ Deliveries() []sandbox.Delivery }, want string) {
	t.Helper()
	eventually(t, "the deliveries are "+want, func() bool { return states(b) == want })
}

func TestCallbackOnCreate(t *testing.T) {
	b := callbackBox(t, set("callback_on_create", "yes"))
	in := newReceiver(t, nil)
	id := b.withCallback(in.URL)
	reaches(t, b, "New delivered 1")
	b.mustAdvance(id, "Processing")
	equal(t, in.told(t), "New Processing", "posted was")
}

// TestCallbackRetries checks that a receiver that fails twice gets the same body three times, and later
// deliveries only afterwards.
func TestCallbackRetries(t *testing.T) {
	b := callbackBox(t)
	retry := make(chan struct{})
	in := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 2 {
			<-retry
		}
		failing(2)(n, w, r)
	})
	id := b.withCallback(in.URL)
	if d := b.advanceOver(id, "Processing"); d.State != "pending" || len(d.Attempts) != 1 ||
		d.Attempts[0].Status != 500 || d.Attempts[0].Answer != "answer 1" {
		t.Errorf("after the first attempt it is %+v", d)
	}
	later := b.advanceOver(id, "Completed")
	failIf(t, later.State != "pending" || len(later.Attempts) != 0, "what comes second is %+v", later)
	says(t, second(b.Resend(later.ID)), "goes first")
	close(retry)
	reaches(t, b, "Processing delivered 3, Completed delivered 1")
	equal(t, in.told(t), "Processing Processing Processing Completed", "posted was")
	posts := in.got()
	failIf(t, posts[0] != posts[1] || posts[1] != posts[2], "the bodies differ: %q", posts)
	quiet(t)
}

// quiet waits until all goroutines that post have ended.
func quiet(t testing.TB) {
	t.Helper()
	eventually(t, "no goroutine that posts is left", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "webhook.(*Sender).deliver") &&
			!strings.Contains(string(stacks), "http.(*persistConn)")
	})
}

// TestCallbackUnanswered covers receivers that give no answer: no listener, no answer in time, or not HTTP.
func TestCallbackUnanswered(t *testing.T) {
	patient := callbackBox(t, set("callback_attempts", "1"), set("callback_timeout", "1m"))
	hasty := callbackBox(t, set("callback_attempts", "1"), set("callback_timeout", "50ms"))
	silent := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	closed := newReceiver(t, nil)
	closed.Close()
	rude := listen(t)
	defer rude.Close()
	go func() {
		for {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.Copy(io.Discard, r.Body)
			}
			io.WriteString(conn, "\x1b[2Jhello\r\n\r\n")
			conn.Close()
		}
	}()
	for _, test := range []struct {
		b           box
		url, reason string
	}{
		{hasty, silent.URL, "no answer came within 50ms"},
		{patient, closed.URL, "refused"},
		{patient, "http://" + rude.Addr().String(), "hello"},
	} {
		d := test.b.advanceOver(test.b.withCallback(test.url), "Processing")
		if d.State != "failed" || len(d.Attempts) != 1 || d.Attempts[0].Status != 0 ||
			!strings.Contains(d.Attempts[0].Error, test.reason) {
			t.Errorf("%s: %+v, want %s", test.url, d, test.reason)
		}
	}
}

// TestCallbackAnswer checks that an attempt keeps at most 1 KiB of an answer, and only valid text.
func TestCallbackAnswer(t *testing.T) {
	b := callbackBox(t, set("callback_attempts", "1"))
	for _, test := range []struct {
		sent, kept string
		status     int
		state      string
	}{
		{"", "", 200, "delivered"},
		{strings.Repeat("x", 1024), strings.Repeat("x", 1024), 299, "delivered"},
		{strings.Repeat("x", 5000), strings.Repeat("x", 1024), 400, "failed"},
		{strings.Repeat("x", 1023) + "é and more", strings.Repeat("x", 1023), 403, "failed"},
		{strings.Repeat("x", 1022) + "é and more", strings.Repeat("x", 1022) + "é", 404, "failed"},
		{"a\xffb", "a\uFFFDb", 500, "failed"},
	} {
		in := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			io.WriteString(w, test.sent)
		})
		d := b.advanceOver(b.withCallback(in.URL), "Processing")
		failIf(t, d.State != test.state || d.Attempts[0].Status != test.status || d.Attempts[0].Answer != test.kept,
			"%q: %+v", test.sent, d)
	}
}

// TestCallbackTargets checks that nothing is posted to another machine, in whatever form the URL names it.
func TestCallbackTargets(t *testing.T) {
	b := callbackBox(t)
	in := newReceiver(t, nil)
	for _, url := range []string{"http://192.0.2.1/x", "http://[2001:db8::1]:8080/", "http://[::ffff:192.0.2.1]/",
		"http://0.0.0.0:1/", "http://shop.example:8080/"} {
		id := b.withCallback(url)
		d := b.advanceOver(id, "Processing")
		if d.State != "refused" || len(d.Attempts) != 1 || !strings.Contains(d.Attempts[0].Error,
			"not a loopback address") {
			t.Errorf("%s: %+v", url, d)
		}
		if d := b.advanceOver(id, "Completed"); d.State != "refused" { // and the next delivery does not wait
			t.Errorf("%s: %+v", url, d)
		}
	}
	_, port, _ := net.SplitHostPort(in.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "LOCALHOST", "[::ffff:127.0.0.1]"} {
		if d := b.advanceOver(b.withCallback("http://"+host+":"+port), "Processing"); d.State != "delivered" {
			t.Errorf("%s: %+v", host, d)
		}
	}
	before := len(in.got())
	redirecting := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, in.URL, http.StatusTemporaryRedirect)
	})
	if d := b.advanceOver(b.withCallback(redirecting.URL), "Processing"); d.Attempts[0].Status != 307 ||
		d.State == "delivered" {
		t.Errorf("a redirect: %+v", d)
	}
	failIf(t, len(in.got()) != before, "the redirect was followed")
}

// TestCallbackCallsBack checks that a receiver may call the sandbox, and even advance the same withdrawal.
func TestCallbackCallsBack(t *testing.T) {
	b := callbackBox(t, set("callback_timeout", "1m"))
	var id string
	in := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, at(t, b.get(getPath+id), "current"))
		if n == 1 {
			fmt.Fprint(w, " ", b.advanceOver(id, "Completed").State)
			_, err := b.Resend(b.Deliveries()[0].ID)
			fmt.Fprint(w, " ", err != nil && strings.Contains(err.Error(), "at this moment"))
		}
	})
	id = b.withCallback(in.URL)
	d := b.advanceOver(id, "Processing")
	failIf(t, d.Attempts[0].Answer != "Processing pending true", "the receiver saw %+v", d.Attempts)
	reaches(t, b, "Processing delivered 1, Completed delivered 1")
}
