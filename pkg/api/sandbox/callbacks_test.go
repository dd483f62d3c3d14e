package sandbox_test

import (
	"bufio"
	"context"
	"encoding/binary"
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
	"sync/atomic"
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
		if r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" || err != nil {
			t.Errorf("%s with %q, %v", r.Method, r.Header.Get("Content-Type"), err)
		}
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

func TestCallbackPostsEachStatus(t *testing.T) {
	b := callbackBox(t)
	in := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(201)
		io.WriteString(w, "thanks")
	})
	id := b.withCallback(in.URL + "/a?b=c")
	if n := len(in.got()); n != 0 {
		t.Fatalf("%d posts at the creation", n)
	}
	var want []string
	for _, status := range []string{"Processing", "Completed"} {
		*b.now = b.now.Add(time.Minute)
		answer := b.post("/sandbox/advance", `{"withdrawal":"`+id+`","status":"`+status+`"}`)
		shown := b.send("GET", getPath+id, "").Body.String()
		want = append(want, shown)
		if got := in.got(); len(got) != len(want) || got[len(got)-1] != (post{"/a?b=c", shown}) {
			t.Errorf("posted was %q, want %q", got, shown)
		}
		same(t, at(t, answer, "current"), `"`+status+`"`)
		same(t, at(t, answer, "delivery", "attempts"),
			`[{"at":"`+b.now.Format(time.RFC3339)+`","status":201,"answer":"thanks","error":""}]`)
		same(t, at(t, answer, "delivery", "state"), `"delivered"`)
	}
	all := b.Deliveries()
	if len(all) != 2 || all[0].ID == all[1].ID || all[0].Withdrawal != id || all[0].Status != "Processing" ||
		all[1].Status != "Completed" || all[0].URL != in.URL+"/a?b=c" {
		t.Errorf("the log has %+v", all)
	}
	for i, d := range all {
		if string(d.Body) != want[i] {
			t.Errorf("the body kept is %s, want %s", d.Body, want[i])
		}
	}
	var listed []sandbox.Delivery
	if err := json.Unmarshal(b.send("GET", "/sandbox/callbacks", "").Body.Bytes(), &listed); err != nil ||
		len(listed) != 2 || listed[1].ID != all[1].ID {
		t.Errorf("listed is %+v, %v", listed, err)
	}
}

func TestWithdrawalWithoutURLHasNoCallback(t *testing.T) {
	b := callbackBox(t)
	id := b.create(createPath, btcBody)
	same(t, at(t, b.post("/sandbox/advance", `{"withdrawal":"`+id+`","status":"Processing"}`), "delivery"), `null`)
	same(t, b.get("/sandbox/callbacks"), `[]`)
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
	if d := b.advanceOver(id, "Completed"); d.State != "pending" || len(d.Attempts) != 0 {
		t.Errorf("what comes second is %+v", d)
	}
	close(retry)
	reaches(t, b, "Processing delivered 3, Completed delivered 1")
	equal(t, in.told(t), "Processing Processing Processing Completed", "posted was")
	posts := in.got()
	if posts[0] != posts[1] || posts[1] != posts[2] {
		t.Errorf("the bodies differ: %q", posts)
	}
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

func TestCallbackGivenUp(t *testing.T) {
	b := callbackBox(t, set("callback_attempts", "2"))
	in := newReceiver(t, failing(2))
	id := b.withCallback(in.URL)
	b.mustAdvance(id, "Processing", "Completed")
	reaches(t, b, "Processing failed 2, Completed delivered 1")
	equal(t, in.told(t), "Processing Processing Completed", "posted was")
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
		if d.State != test.state || d.Attempts[0].Status != test.status || d.Attempts[0].Answer != test.kept {
			t.Errorf("%q: %+v", test.sent, d)
		}
	}
}

// TestCallbackTargets checks that nothing is posted to another machine, in whatever form the URL names it.
func TestCallbackTargets(t *testing.T) {
	defer fakeNames(t, map[string][4]byte{"shop.example.": {192, 0, 2, 1}, "here.localhost.": {127, 0, 0, 1}})()
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
	for _, host := range []string{"127.0.0.1", "here.localhost", "[::ffff:127.0.0.1]"} {
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
	if len(in.got()) != before {
		t.Error("the redirect was followed")
	}
}

// fakeNames answers name lookups until undo is called.
func fakeNames(t *testing.T, names map[string][4]byte) (undo func()) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		query := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			name, end := "", 12
			for query[end] != 0 {
				length := int(query[end])
				name += string(query[end+1:end+1+length]) + "."
				end += 1 + length
			}
			end += 5 // skip the end of the name, the type and the class
			kind := binary.BigEndian.Uint16(query[end-4:])
			answer := slices.Clone(query[:min(n, end)])
			answer[2], answer[3] = 0x85, 0x80
			copy(answer[6:12], []byte{0, 0, 0, 0, 0, 0}) // no records, unless one follows
			if ip, known := names[name]; known && kind == 1 {
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				answer = append(answer, ip[:]...)
			} else if !known {
				answer[3] |= 3
			}
			conn.WriteTo(answer, from)
		}
	}()
	address := conn.LocalAddr().String()
	nameServer.Store(&address)
	return func() { nameServer.Store(nil); conn.Close() }
}

// nameServer is the address that answers name lookups while a test fakes them. The resolver is replaced once,
// before any test: a connection whose answer is no longer awaited may still use it when a test ends.
var nameServer atomic.Pointer[string]

func init() {
	net.DefaultResolver = &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if fake := nameServer.Load(); fake != nil {
				network, address = "udp", *fake
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
}

func TestCallbackToAnyTarget(t *testing.T) {
	var own net.IP
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			own = n.IP
		}
	}
	if own == nil {
		t.Skip("this machine has no address but loopback ones")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(own.String(), "0"))
	if err != nil {
		t.Skip(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(listener)
	defer server.Close()
	url := "http://" + listener.Addr().String()
	b := callbackBox(t)
	if d := b.advanceOver(b.withCallback(url), "Processing"); d.State != "refused" {
		t.Errorf("it is %+v", d)
	}
	b = callbackBox(t, set("callback_targets", "any"))
	if d := b.advanceOver(b.withCallback(url), "Processing"); d.State != "delivered" {
		t.Errorf("it is %+v", d)
	}
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
	if d := b.advanceOver(id, "Processing"); d.Attempts[0].Answer != "Processing pending true" {
		t.Errorf("the receiver saw %+v", d.Attempts)
	}
	reaches(t, b, "Processing delivered 1, Completed delivered 1")
}

func TestResend(t *testing.T) {
	b := callbackBox(t, set("callback_attempts", "2"))
	var status = 500
	var mu sync.Mutex
	answerWith := func(s int) { mu.Lock(); defer mu.Unlock(); status = s }
	in := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(status)
	})
	id := b.withCallback(in.URL)
	b.mustAdvance(id, "Processing")
	reaches(t, b, "Processing failed 2")
	d := b.Deliveries()[0]
	body := in.got()[0]
	b.mustAdvance(id, "Completed") // the body does not show it
	reaches(t, b, "Processing failed 2, Completed failed 2")
	for i, step := range []struct {
		status int
		state  string
	}{{500, "failed"}, {204, "delivered"}, {503, "delivered"}} {
		answerWith(step.status)
		got, err := b.Resend(d.ID)
		if err != nil || got.State != step.state || len(got.Attempts) != 3+i ||
			got.Attempts[2+i].Status != step.status {
			t.Errorf("a resend answered with %d: %+v, %v", step.status, got, err)
		}
		if posts := in.got(); posts[len(posts)-1] != body {
			t.Errorf("posted was %q", posts[len(posts)-1])
		}
	}
	wantStates(t, b, "Processing delivered 5, Completed failed 2")
	same(t, at(t, b.post("/sandbox/callbacks/resend", `{"id":"`+strings.ToUpper(d.ID)+`"}`), "attempts", 5, "status"),
		`503`)
	b.refused(b.send("POST", "/sandbox/callbacks/resend", `{"id":"`+uuid("x")+`"}`), 404, "not_found", uuid("x"))
	b.refused(b.send("POST", "/sandbox/callbacks/resend", `{}`), 400, "invalid_body", "id")
	must(t, b.Close())
	if _, err := b.Resend(d.ID); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after the end: %v", err)
	}
}

// TestResendPending checks that Resend posts a pending delivery at once, but not before an earlier one.
func TestResendPending(t *testing.T) {
	b := newBox(t, set("callback_backoff", "1h"))
	defer b.Close()
	in := newReceiver(t, failing(2))
	id := b.withCallback(in.URL)
	b.mustAdvance(id, "Processing", "Completed")
	wantStates(t, b, "Processing pending 1, Completed pending 0")
	all := b.Deliveries()
	if _, err := b.Resend(all[1].ID); err == nil || !strings.Contains(err.Error(), all[0].ID) {
		t.Errorf("a resend out of turn: %v", err)
	}
	// An attempt is recorded a moment before the next one can be asked for.
	resend := func() (d sandbox.Delivery, err error) {
		eventually(t, "the attempt before is over", func() bool {
			d, err = b.Resend(all[0].ID)
			return err == nil || !strings.Contains(err.Error(), "is being posted at this moment")
		})
		return d, err
	}
	if d, err := resend(); err != nil || d.State != "pending" || len(d.Attempts) != 2 {
		t.Errorf("a resend that fails: %+v, %v", d, err)
	}
	if d, err := resend(); err != nil || d.State != "delivered" || len(d.Attempts) != 3 {
		t.Errorf("a resend: %+v, %v", d, err)
	}
	reaches(t, b, "Processing delivered 3, Completed delivered 1")
	equal(t, in.told(t), "Processing Processing Processing Completed", "posted was")
}

// TestCallbacksSurvive checks that a state file keeps pending deliveries. The next server can resend them,
// and one that runs Serve posts them by itself.
func TestCallbacksSurvive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	in := newReceiver(t, failing(2))
	b := fileBox(t, path, set("callback_backoff", "1h"))
	first := b.withCallback(in.URL + "/first")
	b.mustAdvance(first, "Processing", "Completed")
	before := b.Deliveries()
	must(t, b.Close())
	b = fileBox(t, path, set("callback_backoff", "1h"))
	if was, is := fmt.Sprint(before), fmt.Sprint(b.Deliveries()); was != is {
		t.Errorf("the log was %s and is %s", was, is)
	}
	if d, err := b.Resend(before[0].ID); err != nil || d.State != "pending" || len(d.Attempts) != 2 {
		t.Errorf("a resend: %+v, %v", d, err)
	}
	must(t, b.Close())
	b = fileBox(t, path)
	wantStates(t, b, "Processing pending 2, Completed pending 0")
	_, stop := b.serve()
	defer func() { must(t, stop()) }()
	reaches(t, b, "Processing delivered 3, Completed delivered 1")
}

// TestCallbackAfterLeftover checks that a delivery left by an earlier process is posted first, in the same
// call.
func TestCallbackAfterLeftover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	in := newReceiver(t, failing(1))
	b := fileBox(t, path, set("callback_backoff", "1h"))
	id := b.withCallback(in.URL)
	b.mustAdvance(id, "Processing")
	b.Close()
	b = fileBox(t, path)
	b.mustAdvance(id, "Completed")
	wantStates(t, b, "Processing delivered 2, Completed delivered 1")
	equal(t, in.told(t), "Processing Processing Completed", "posted was")
}

// TestCloseCutsCallbackOff checks that Close cuts off requests in flight and leaves no goroutine running.
func TestCloseCutsCallbackOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	out := make(chan struct{})
	in := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { close(out); <-r.Context().Done() })
	b := fileBox(t, path, set("callback_timeout", "1m"), set("callback_attempts", "1"))
	id := b.withCallback(in.URL)
	advanced := make(chan error, 1)
	go func() { advanced <- b.AdvanceWithdrawal(id, "Processing") }()
	<-out
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-advanced; err != nil {
		t.Error(err)
	}
	quiet(t)
	b = fileBox(t, path)
	d := b.Deliveries()[0]
	if d.State != "pending" || len(d.Attempts) != 1 || !strings.Contains(d.Attempts[0].Error, "closed") {
		t.Errorf("it left %+v", d)
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

// TestResetDropsCallbacks checks that a reset removes the deliveries.
func TestResetDropsCallbacks(t *testing.T) {
	b := newBox(t, set("callback_timeout", "1m"))
	out, answer := make(chan struct{}), make(chan struct{})
	in := newReceiver(t, func(int, http.ResponseWriter, *http.Request) { close(out); <-answer })
	id := b.withCallback(in.URL)
	advanced := make(chan error, 1)
	go func() { advanced <- b.AdvanceWithdrawal(id, "Processing") }()
	<-out
	must(t, b.Reset(""))
	close(answer)
	if err := <-advanced; err != nil {
		t.Error(err)
	}
	quiet(t)
	wantStates(t, b, "")
}

func TestCallbacksInDump(t *testing.T) {
	b := newBox(t, set("callback_backoff", "1h"))
	defer b.Close()
	in := newReceiver(t, failing(1))
	b.mustAdvance(b.withCallback(in.URL), "Processing", "Completed")
	text := dumped(t, b)
	again := callbackBox(t, sandbox.WithSeedJSON(text))
	if was, is := fmt.Sprint(b.Deliveries()), fmt.Sprint(again.Deliveries()); was != is {
		t.Errorf("the log was %s and is %s", was, is)
	}
	if copied, err := again.Dump(); err != nil || string(copied) != string(text) {
		t.Errorf("the dump of a dump is %s, %v", copied, err)
	}
	_, stop := again.serve()
	reaches(t, again, "Processing delivered 2, Completed delivered 1")
	must(t, stop())
	d := b.Deliveries()[0]
	for what, change := range map[string][2]string{
		"id":    {`"id": "` + d.ID, `"id": "x`},
		"state": {`"state": "pending"`, `"state": "losing"`},
		"due":   {`"state": "pending"`, `"due": "2026-05-03T10:00:00+01:00", "state": "pending"`},
		"url":   {`"url": "` + d.URL + `"`, `"url": ""`},
		"body":  {`"body": "{`, `"body": "`},
		"time": {`"at": "2026-05-03T10:00:00Z",` + "\n" + `          "status": 500`,
			`"at": "2026-05-03T10:00:00+01:00","status": 500`},
		"withdrawal": {`"withdrawal": "` + d.Withdrawal, `"withdrawal": "` + uuid("x")},
	} {
		bad := strings.Replace(string(text), change[0], change[1], 1)
		if bad == string(text) {
			t.Errorf("%s: the test changes nothing", what)
		}
		if err := again.Restore([]byte(bad)); err == nil {
			t.Errorf("a delivery with another %s was taken", what)
		}
	}
}

// TestStartPostsPendingCallbacks checks that Start, like Serve, posts what was pending in its seed.
func TestStartPostsPendingCallbacks(t *testing.T) {
	b := callbackBox(t, set("callback_backoff", "1h"))
	in := newReceiver(t, failing(1))
	b.mustAdvance(b.withCallback(in.URL), "Processing")
	text := dumped(t, b)
	again := sandbox.Start(t, sandbox.WithSeedJSON(text))
	reaches(t, again, "Processing delivered 2")
}

// TestConcurrentCallbacks checks that many deliveries at the same time, in memory and in a file, are each
// posted once and in order.
func TestConcurrentCallbacks(t *testing.T) {
	for _, b := range []box{callbackBox(t), fileBox(t, filepath.Join(t.TempDir(), "box.db"))} {
		in := newReceiver(t, nil)
		const workers, each = 8, 5
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range each {
					id := b.withCallback(in.URL)
					for _, status := range []string{"Processing", "Completed"} {
						if d := b.advanceOver(id, status); d.State != "delivered" {
							t.Errorf("it is %+v", d)
						}
					}
				}
			})
		}
		wg.Wait()
		told := map[string][]string{}
		for _, p := range in.got() {
			w := decode(t, p.body)
			id := at(t, w, "id").(string)
			told[id] = append(told[id], at(t, w, "current").(string))
		}
		if len(told) != workers*each {
			t.Errorf("%d withdrawals were posted", len(told))
		}
		for id, statuses := range told {
			if strings.Join(statuses, " ") != "Processing Completed" {
				t.Errorf("of %s was posted %v", id, statuses)
			}
		}
	}
	quiet(t)
}
