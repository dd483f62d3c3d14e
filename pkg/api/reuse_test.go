package api

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Requests are used again and headers are shared. Here calls of every kind run side by side through a transport that
// writes into what it is given, and each still goes out with what is its own.
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
		for name, values := range r.Header {
			values[0] = "spoiled"
			r.Header[name] = append(values, "more")
		}
		r.Header.Set("X-Spoiled", "yes")
		echo := fmt.Sprintf("%q", r.URL.RawQuery+" "+string(body))
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(echo)), Request: r}, nil
	})
	client, err := New("http://127.0.0.1", WithAPIKey(key), WithoutResellerAuth(), WithTransport(rt))
	if err != nil {
		t.Fatal(err)
	}
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
	for _, c := range []*restyClient{client.reads, client.creates} {
		if b := c.blank; len(b.Header)+len(b.QueryParam)+len(b.FormData)+len(b.PathParams)+len(b.RawPathParams) > 0 || b.RawRequest != nil || b.Body != nil {
			t.Errorf("the blank request is not blank any more: %+v", b)
		}
	}
}
