package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/described"
	"example.com/till/pkg/api/sandbox"
)

// The tests send raw JSON to the handler. The names of fields and the shapes of answers are repeated here, by
// hand, from the interface.

// start is the time at which the tests' clocks begin.
var start = time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC)

// A box is a sandbox under test.
type box struct {
	*sandbox.Server
	t   testing.TB
	now *time.Time // tests set it
}

func newBox(t testing.TB, opts ...sandbox.Option) box {
	t.Helper()
	now := start
	opts = append([]sandbox.Option{sandbox.WithClock(func() time.Time { return now })}, opts...)
	s, err := sandbox.New(opts...)
	must(t, err)
	return box{s, t, &now}
}

func set(name, value string) sandbox.Option { return sandbox.WithSetting(name, value) }

// ServeHTTP answers a request, and checks the answer with the description.
func (b box) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.t.Helper()
	described.Serve(b.t, b.Server, w, r)
}

// A tb is a test, or a check of package rapid.
type tb interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// failIf reports what is wrong, as for Printf, if it is.
func failIf(t tb, wrong bool, what string, args ...any) {
	t.Helper()
	if wrong {
		t.Errorf(what, args...)
	}
}

// says checks that there is an error, and that it contains a text.
func says(t testing.TB, err error, text string) {
	t.Helper()
	failIf(t, err == nil || !strings.Contains(err.Error(), text), "the error is %v, and should say %q", err, text)
}

// equal compares two values; what names them, as for Printf.
func equal[V comparable](t tb, got, want V, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

// dumped returns the dump of a sandbox.
func dumped(t testing.TB, s interface{ Dump() ([]byte, error) }) []byte {
	t.Helper()
	text, err := s.Dump()
	must(t, err)
	return text
}

// listen listens on a port that is free.
func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return listener
}

// ask makes one request over the network.
func ask(key, method, url, body string) (status int, text string, err error) {
	status, _, text, err = exchange(context.Background(), http.DefaultClient, key, method, url, body)
	return status, text, err
}

func exchange(ctx context.Context, client *http.Client, key, method, url, body string) (
	status int, header http.Header, text string, err error,
) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(raw), err
}

// send makes one request with the merchant's key.
func (b box) send(method, path, body string) *httptest.ResponseRecorder {
	return b.sendAs(b.Key(), method, path, body)
}

// do answers a request.
func (b box) do(r *http.Request) *httptest.ResponseRecorder {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// serve runs Serve until stop is called, which returns its error.
func (b box) serve() (url string, stop func() error) {
	b.t.Helper()
	listener := listen(b.t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(ctx, listener) }()
	return "http://" + listener.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

func (b box) sendAs(key, method, path, body string) *httptest.ResponseRecorder {
	return b.do(request(key, method, path, strings.NewReader(body)))
}

func request(key, method, path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, "http://sandbox.localhost"+path, body)
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

// Balance fails the test if there is no balance.
func (b box) Balance(code string) int64 {
	b.t.Helper()
	minor, err := b.Server.Balance(code)
	must(b.t, err)
	return minor
}

// get checks that the answer is a 200 and returns its JSON, and so does post.
func (b box) get(path string) any        { b.t.Helper(); return b.ok(b.send("GET", path, "")) }
func (b box) post(path, body string) any { b.t.Helper(); return b.ok(b.send("POST", path, body)) }

// create checks that the answer is a 200 with a JSON string, and returns that id.
func (b box) create(path, body string) string {
	b.t.Helper()
	id, ok := b.post(path, body).(string)
	if !ok || id == "" {
		b.t.Fatalf("POST %s did not answer with an id", path)
	}
	return id
}

func (b box) ok(w *httptest.ResponseRecorder) any {
	b.t.Helper()
	if w.Code != http.StatusOK {
		b.t.Fatalf("status %d, want 200: %s", w.Code, w.Body)
	}
	return decode(b.t, w.Body.String())
}

// refused checks that the answer is an error envelope with this status and reason, and that its description
// contains the names. ServeHTTP has checked its form.
func (b box) refused(w *httptest.ResponseRecorder, status int, reason string, names ...string) {
	b.t.Helper()
	var got struct {
		Error struct{ Reason, Description string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != status || got.Error.Reason != reason {
		b.t.Fatalf("got %d %s, want %d %s", w.Code, w.Body, status, reason)
	}
	for _, name := range names {
		failIf(b.t, !strings.Contains(got.Error.Description, name), "the description %q does not name %q", got.Error.Description,
			name)
	}
}

func decode(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, text)
	}
	return v
}

// same compares an answer with the wanted one, or with its JSON.
func same(t testing.TB, got, want any) {
	t.Helper()
	if text, isJSON := want.(string); isJSON {
		want = decode(t, text)
	}
	if !reflect.DeepEqual(got, want) {
		text, _ := json.Marshal([]any{got, want})
		t.Errorf("got and want: %s", text)
	}
}

// at returns the value in decoded JSON at a path of keys and indices.
func at(t testing.TB, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("no object to look up %q in: %v", step, v)
			}
			if v, ok = m[step]; !ok {
				t.Fatalf("no key %q in %v", step, m)
			}
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				t.Fatalf("no element %d in %v", step, v)
			}
			v = list[step]
		}
	}
	return v
}

// reseller makes a reseller and returns its id and key.
func (b box) reseller(label string) (id, key string) {
	b.t.Helper()
	invite := at(b.t, b.post("/api/invite", `"`+uuid(label)+`"`), "invite").(string)
	id, key, err := b.RedeemInvite(invite, label)
	must(b.t, err)
	return id, key
}

// uuid makes a UUID from a word. Each word has a different UUID.
func uuid(word string) string {
	digits := "00000000000000000000000000000000"
	for _, c := range []byte(word) {
		digits += string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
	}
	d := digits[len(digits)-32:]
	return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:]
}
