package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCallsShareNothingThatChanges checks that concurrent calls do not affect each other, although headers
// are shared. The transport writes into the requests that it gets.
func TestCallsShareNothingThatChanges(t *testing.T) {
	const key = "key-1"
	want := func(headers ...string) http.Header {
		h := http.Header{"User-Agent": {"till"}, "Accept": {"application/json"}}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return h
	}
	auth := []string{"Authorization", "Bearer " + key}
	text := []string{"Content-Type", "application/json"}
	expect := map[string]http.Header{
		"GET /get":                           want(auth...),
		"DELETE /get":                        want(auth...),
		"POST /post":                         want(append(auth, text...)...),
		"POST /api/reseller/invites":         want(text...),
		"GET /api/reseller/invites":          want(),
		"GET /api/invoice":                   want(auth...),
		"POST /api/merchant_withdrawal/list": want(append(auth, text...)...),
	}
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		name := r.Method + " " + r.URL.Path
		if diff := cmp.Diff(expect[name], r.Header); diff != "" {
			t.Errorf("%s has other headers (-want +got):\n%s", name, diff)
		}
		var body []byte
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		if name == "POST /post" && r.GetBody != nil {
			t.Error("the body of a create can be had twice")
		}
		for name, values := range r.Header {
			values[0] = "spoiled"
			r.Header[name] = append(values, "more")
		}
		r.Header.Set("X-Spoiled", "yes")
		echo := fmt.Sprintf("%q", r.URL.RawQuery+" "+string(body))
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(echo)), Request: r}, nil
	})
	client := must[*Client](t)(New("http://127.0.0.1", WithAPIKey(key), WithoutResellerAuth(), WithTransport(rt)))
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 50 {
				mark := fmt.Sprintf("%d-%d", n, i)
				send := func(r request) {
					r.query = "mark=" + mark
					sent := ""
					if r.body != nil {
						r.body, sent = map[string]string{"mark": mark}, `{\"mark\":\"`+mark+`\"}`
					}
					got, _, err := client.exchange(t.Context(), r)
					if want := `"mark=` + mark + " " + sent + `"`; err != nil || string(got) != want {
						t.Errorf("%s %s: got %s, %v, want %s", r.method, r.path, got, err, want)
					}
				}
				send(request{method: "POST", path: "/post", create: true, body: true})
				send(request{method: "GET", path: "/get"})
				send(request{method: "DELETE", path: "/get", create: true})
				send(request{method: "POST", path: "/api/merchant_withdrawal/list", body: true})
				send(request{method: "GET", path: "/api/invoice"})
				send(request{method: "POST", path: "/api/reseller/invites", create: true, body: true, reseller: true})
				send(request{method: "GET", path: "/api/reseller/invites", reseller: true})
			}
		})
	}
	group.Wait()
}

// TestCompressionIsAskedFor checks that the package's own transport asks for compressed answers, and leaves
// this to other transports.
func TestCompressionIsAskedFor(t *testing.T) {
	seen := make(chan []string, 1)
	w := newWire(t, func(c *wireConn, r *http.Request) bool {
		seen <- r.Header["Accept-Encoding"]
		c.say(reply(200, `"w-1"`, "Connection: close"))
		return false
	})
	client := ownClient(t, w.url)
	must[string](t)(client.Withdrawals.Create(context.Background(), sampleCreate()))
	if got := <-seen; len(got) != 1 || got[0] != "gzip" {
		t.Errorf("asked for %q", got)
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// TestEmptyMembers checks that a row of compressed parts that hold nothing does not count as a short answer.
func TestEmptyMembers(t *testing.T) {
	empty := zipped("")
	row := strings.Repeat(empty, 2*maxAnswer/len(empty))
	for text, want := range map[string]string{row + zipped(`"w-1"`): "too large", empty + zipped(`"w-1"`) + empty: ""} {
		w := newWire(t, func(c *wireConn, r *http.Request) bool {
			c.say(reply(200, text, "Content-Encoding: gzip", "Connection: close"))
			return false
		})
		id, err := ownClient(t, w.url).Withdrawals.Create(t.Context(), sampleCreate())
		if want == "" && (err != nil || id != "w-1") || want != "" && !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %q, %v", id, err)
		}
	}
}

// TestZippedAnswers checks that a compressed answer is complete or an error, whether net/http decompresses
// it, as with the clients of the other tests, or this package. A reader that has failed reads the next answer
// as well.
func TestZippedAnswers(t *testing.T) {
	good, chunked := zipped(`"w-1"`), func(text string) string {
		return "HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\nConnection: close\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n" + text + "0\r\n\r\n"
	}
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	answer := func(text string) string { return reply(200, text, "Content-Encoding: gzip", "Connection: close") }
	for name, test := range map[string]struct{ answer, id, why string }{
		"whole":               {answer(good), "w-1", ""},
		"whole, in chunks":    {chunked(chunk(good[:7]) + chunk(good[7:])), "w-1", ""},
		"in two members":      {answer(zipped(`"w`) + zipped(`-1"`)), "w-1", ""},
		"no body":             {answer(""), "", "its body is empty"},
		"no chunks":           {chunked(""), "", "its body is empty"},
		"cut in its header":   {answer(good[:5]), "", "broke off after 0 bytes"},
		"cut in its text":     {answer(good[:len(good)-9]), "", "broke off"},
		"cut in its checksum": {answer(good[:len(good)-2]), "", "broke off after 5 bytes"},
		"a wrong checksum": {answer(good[:len(good)-8] + "\x00\x00\x00\x00" + good[len(good)-4:]), "",
			"broke off after 5 bytes"},
		"something after it":   {answer(good + "x"), "", "broke off after 5 bytes"},
		"not compressed":       {answer(`"w-1"`), "", "broke off after 0 bytes"},
		"too large":            {answer(zipped(`"` + strings.Repeat("a", maxAnswer) + `"`)), "", "too large"},
		"two values":           {answer(zipped(`"w-1" "w-2"`)), "", "not what it should be"},
		"compressed two times": {answer(zipped(good)), "", "not what it should be"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, func(c *wireConn, r *http.Request) bool { c.say(test.answer); return false })
			own := ownClient(t, w.url)
			for _, client := range []*Client{own, newClient(t, w.url), own} {
				id, err := client.Withdrawals.Create(context.Background(), sampleCreate())
				if test.why == "" {
					if err != nil || id != test.id {
						t.Errorf("got %q, %v", id, err)
					}
					continue
				}
				failed := new(Error)
				if !errors.As(err, &failed) || failed.Outcome != Unknown || !strings.Contains(err.Error(), test.why) {
					t.Errorf("got %q, %v, want an unknown outcome because of %q", id, err, test.why)
				}
			}
		})
	}
}
