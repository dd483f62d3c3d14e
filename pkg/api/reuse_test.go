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
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeaders checks the headers of each kind of call, although the transport changes those that it gets, and
// that the body of a create can be had only once.
func TestHeaders(t *testing.T) {
	var seen http.Header
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == "POST" && !isRead(r.Method, r.URL.Path) && r.GetBody != nil {
			t.Error("the body of a create can be had twice")
		}
		seen = r.Header.Clone()
		for name, values := range r.Header {
			values[0] = "spoiled"
			r.Header[name] = append(values, "more")
		}
		return answering(200, `[]`)(r)
	})
	client := must[*Client](t)(New("http://127.0.0.1", WithAPIKey("key-1"), WithoutResellerAuth(), WithTransport(rt)))
	auth, text := []string{"Authorization", "Bearer key-1"}, []string{"Content-Type", "application/json"}
	for range 2 {
		for _, tt := range []struct {
			r    request
			more []string
		}{
			{request{method: "POST", path: "/post", create: true, body: true}, append(auth, text...)},
			{request{method: "DELETE", path: "/get", create: true}, auth},
			{request{method: "POST", path: "/api/merchant_withdrawal/list", body: true}, append(auth, text...)},
			{request{method: "GET", path: "/api/invoice"}, auth},
			{request{method: "POST", path: "/api/reseller/invites", create: true, body: true, reseller: true}, text},
			{request{method: "GET", path: "/api/reseller/invites", reseller: true}, nil},
		} {
			want := http.Header{"User-Agent": {"till"}, "Accept": {"application/json"}}
			for i := 0; i < len(tt.more); i += 2 {
				want.Set(tt.more[i], tt.more[i+1])
			}
			_, err := client.exchange(t.Context(), tt.r)
			if diff := cmp.Diff(want, seen); diff != "" || err != nil {
				t.Errorf("%s %s: %v, other headers (-want +got):\n%s", tt.r.method, tt.r.path, err, diff)
			}
		}
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// TestZippedAnswers checks that the package's own transport asks for compressed answers, and that such an answer is
// complete or an error, also from a reader that has failed before. A row of parts that hold nothing is not short.
func TestZippedAnswers(t *testing.T) {
	good, chunked := zipped(`"w-1"`), func(text string) string {
		return "HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\nConnection: close\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n" + text + "0\r\n\r\n"
	}
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	empty := zipped("")
	answer := func(text string) string { return reply(200, text, "Content-Encoding: gzip", "Connection: close") }
	for name, test := range map[string]struct{ answer, id, why string }{
		"whole":               {answer(good), "w-1", ""},
		"whole, in chunks":    {chunked(chunk(good[:7]) + chunk(good[7:])), "w-1", ""},
		"in four members":     {answer(empty + zipped(`"w`) + zipped(`-1"`) + empty), "w-1", ""},
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
		"too many members":     {answer(strings.Repeat(empty, 2*maxAnswer/len(empty)) + good), "", "too large"},
		"two values":           {answer(zipped(`"w-1" "w-2"`)), "", "not what it should be"},
		"compressed two times": {answer(zipped(good)), "", "not what it should be"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, func(c *wireConn, r *http.Request) bool {
				if asked := r.Header.Get("Accept-Encoding"); asked != "gzip" {
					t.Errorf("asked for %q", asked)
				}
				c.say(test.answer)
				return false
			})
			client := newClient(t, w.url)
			for range 2 {
				id, err := client.Withdrawals.Create(context.Background(), sampleCreate())
				if test.why == "" {
					if err != nil || id != test.id {
						t.Errorf("got %q, %v", id, err)
					}
					continue
				}
				failed := new(Error)
				if !errors.As(err, &failed) || failed.Outcome != Unknown || !strings.Contains(err.Error(), test.why) ||
					errors.Is(err, ErrTooLarge) != (test.why == "too large") {
					t.Errorf("got %q, %v, want an unknown outcome because of %q", id, err, test.why)
				}
			}
		})
	}
}
