package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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

// quiet waits until all goroutines that post have ended, or those with other functions.
func quiet(t testing.TB, functions ...string) {
	t.Helper()
	if len(functions) == 0 {
		functions = []string{"webhook.(*Sender).deliver", "http.(*persistConn)"}
	}
	eventually(t, "no goroutine is left", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(string(stacks), f) })
	})
}

// TestCallbackAttempt checks what an attempt keeps: at most 1 KiB of an answer, and only valid text, or why none
// came.
func TestCallbackAttempt(t *testing.T) {
	patient := callbackBox(t, set("callback_attempts", "1"), set("callback_timeout", "1m"))
	hasty := callbackBox(t, set("callback_attempts", "1"), set("callback_timeout", "50ms"))
	silent := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	rude := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		must(t, err)
		io.WriteString(conn, "\x1b[2Jhello\r\n\r\n")
		conn.Close()
	})
	attempt := func(b box, url string) (string, sandbox.Attempt) {
		t.Helper()
		d := b.advanceOver(b.withCallback(url), "Processing")
		equal(t, len(d.Attempts), 1, "attempts")
		return d.State, d.Attempts[0]
	}
	for _, test := range []struct {
		b           box
		url, reason string
	}{
		{hasty, silent.URL, "no answer came within 50ms"}, {patient, "http://127.0.0.1:9", "refused"},
		{patient, rude.URL, "hello"},
	} {
		state, a := attempt(test.b, test.url)
		failIf(t, state != "failed" || a.Status != 0 || !strings.Contains(a.Error, test.reason),
			"%s: %s %+v", test.url, state, a)
	}
	x := strings.Repeat("x", 1022)
	for _, test := range []struct {
		sent, kept string
		status     int
	}{
		{"", "", 200}, {x + "xx", x + "xx", 299}, {x + x, x + "xx", 400}, {x + "xé and more", x + "x", 403},
		{x + "é and more", x + "é", 404}, {"a\xffb", "a\uFFFDb", 500},
	} {
		in := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			io.WriteString(w, test.sent)
		})
		state, a := attempt(patient, in.URL)
		failIf(t, (state == "delivered") != (test.status < 300) || a.Status != test.status || a.Answer != test.kept,
			"%q: %s %+v", test.sent, state, a)
	}
}

// TestCallbackTargets checks that nothing is posted to another machine, in whatever form the URL names it.
func TestCallbackTargets(t *testing.T) {
	b := callbackBox(t)
	in := newReceiver(t, nil)
	redirecting := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, in.URL, http.StatusTemporaryRedirect)
	})
	_, port, _ := net.SplitHostPort(in.Listener.Addr().String())
	for url, want := range map[string]string{
		"http://192.0.2.1/x": "refused", "http://[2001:db8::1]:8080/": "refused", "http://[::ffff:192.0.2.1]/": "refused",
		"http://0.0.0.0:1/": "refused", "http://shop.example:8080/": "refused", redirecting.URL: "pending",
		"http://127.0.0.1:" + port: "delivered", "http://LOCALHOST:" + port: "delivered",
		"http://[::ffff:127.0.0.1]:" + port: "delivered",
	} {
		id := b.withCallback(url)
		d := b.advanceOver(id, "Processing")
		equal(t, d.State, want, "%s", url)
		if want == "refused" {
			failIf(t, !strings.Contains(d.Attempts[0].Error, "not a loopback address"), "%s: %+v", url, d)
			equal(t, b.advanceOver(id, "Completed").State, want, "%s: the next, which does not wait,", url)
		}
	}
	equal(t, len(in.got()), 3, "posts that came without a redirect")
	b.set(map[string]string{"callback_targets": "any"})
	equal(t, b.advanceOver(b.withCallback(in.URL), "Processing").State, "delivered", "with any target")
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

// TestResend checks that a delivery that is posted again has the same body, and that a delivered one stays so.
func TestResend(t *testing.T) {
	b := callbackBox(t, set("callback_attempts", "1"))
	answers := []int{500, 500, 500, 204, 503, 200}
	in := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(answers[n-1]) })
	b.mustAdvance(b.withCallback(in.URL), "Processing", "Completed") // the body of the first does not show the second
	d := b.Deliveries()[0]
	for i, state := range []string{"failed", "delivered", "delivered"} {
		got, err := b.Resend(d.ID)
		if err != nil || got.State != state || len(got.Attempts) != 2+i || got.Attempts[1+i].Status != answers[2+i] {
			t.Errorf("resend %d: %+v, %v", i, got, err)
		}
		if posts := in.got(); posts[len(posts)-1] != posts[0] {
			t.Errorf("posted was %q", posts[len(posts)-1])
		}
	}
	same(t, at(t, b.post("/sandbox/callbacks/resend", `{"id":"`+strings.ToUpper(d.ID)+`"}`), "attempts", 4, "status"), "200")
	wantStates(t, b, "Processing delivered 5, Completed failed 1")
	b.refused(b.send("POST", "/sandbox/callbacks/resend", `{"id":"`+uuid("x")+`"}`), 404, "not_found", uuid("x"))
	b.refused(b.send("POST", "/sandbox/callbacks/resend", `{}`), 400, "invalid_body", "id")
	must(t, b.Close())
	says(t, second(b.Resend(d.ID)), "closed")
}

// TestCallbackCutOff checks that Close cuts off a request in flight and leaves no goroutine running, and that a
// reset removes its delivery.
func TestCallbackCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	for end, cut := range map[string]func(b box) error{"closed": box.Close,
		"reset": func(b box) error { return b.Reset("") }} {
		out, answer := make(chan struct{}), make(chan struct{})
		in := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			close(out)
			select {
			case <-r.Context().Done():
			case <-answer:
			}
		})
		b := fileBox(t, path, set("callback_timeout", "1m"), set("callback_attempts", "1"))
		must(t, b.Reset(""))
		id := b.withCallback(in.URL)
		advanced := make(chan error, 1)
		go func() { advanced <- b.AdvanceWithdrawal(id, "Processing") }()
		<-out
		must(t, cut(b))
		close(answer)
		must(t, <-advanced)
		quiet(t)
		b.Close()
		b = fileBox(t, path)
		if all := b.Deliveries(); end == "reset" {
			equal(t, len(all), 0, "deliveries after a reset")
		} else if d := all[0]; d.State != "pending" || len(d.Attempts) != 1 || !strings.Contains(d.Attempts[0].Error, end) {
			t.Errorf("it left %+v", d)
		}
		b.Close()
	}
}

// TestServeEndsDespiteCallback checks that Serve does not wait for receivers: a control that does is answered
// with the current state.
func TestServeEndsDespiteCallback(t *testing.T) {
	b := callbackBox(t, set("callback_timeout", "1m"))
	out := make(chan struct{})
	in := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { close(out); <-r.Context().Done() })
	defer b.Close() // closes before the receiver, which waits for it
	id := b.withCallback(in.URL)
	url, stop := b.serve()
	answered := make(chan string, 1)
	go func() {
		_, text, err := ask(b.Key(), "POST", url+"/sandbox/advance", `{"withdrawal":"`+id+`","status":"Processing"}`)
		answered <- fmt.Sprint(text, err)
	}()
	<-out
	must(t, stop())
	if text := <-answered; !strings.Contains(text, `"state":"pending","attempts":[]`) {
		t.Errorf("answered was %s", text)
	}
}

// TestConcurrentCallbacks checks that many deliveries at the same time are each posted once and in order.
func TestConcurrentCallbacks(t *testing.T) {
	b := fileBox(t, filepath.Join(t.TempDir(), "box.db"), set("callback_on_create", "yes"))
	in := newReceiver(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				b.mustAdvance(b.withCallback(in.URL), "Processing", "Completed")
			}
		})
	}
	wg.Wait()
	eventually(t, "all are posted", func() bool { return len(in.got()) == 3*40 })
	told := map[any]string{}
	for _, p := range in.got() {
		w := decode(t, p.body)
		told[at(t, w, "id")] += fmt.Sprint(" ", at(t, w, "current"))
	}
	equal(t, len(told), 40, "withdrawals that were posted")
	for id, statuses := range told {
		equal(t, statuses, " New Processing Completed", "of %s was posted", id)
	}
}
