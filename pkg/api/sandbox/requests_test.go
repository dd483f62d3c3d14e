package sandbox_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

var operations = sandbox.Operations()

func resellerRoute(path string) bool {
	return strings.HasPrefix(path, "/api/reseller") || strings.HasPrefix(path, "/api/invite")
}

func TestEveryOperation(t *testing.T) {
	b, open := newBox(t), newBox(t, set("reseller_auth", "none"))
	_, resellerKey := b.reseller("r")
	paths := map[string]bool{}
	for _, op := range operations {
		method, path, _ := strings.Cut(op, " ")
		paths[path] = true

		// The key is checked before the query and the body.
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + b.Key(), b.Key(),
			"Bearer " + b.Key() + "x", "Bearer  " + b.Key()} {
			r := httptest.NewRequest(method, "http://localhost"+path+"?nonsense", strings.NewReader("nonsense"))
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := b.do(r)
			b.refused(w, 401, "unauthorized")
			equal(t, w.Header().Get("WWW-Authenticate")+w.Header().Get("Content-Type"), "Bearerapplication/json", "its headers")
			w = open.do(r)
			want := !resellerRoute(path)
			failIf(t, want != (w.Code == 401), "%s with reseller_auth=none: %d", op, w.Code)
		}

		b.refused(b.send(method, path+"?nonsense=1", "{}"), 400, "invalid_query", "nonsense")
		b.refused(b.send(method, path+"?id=%zz", "{}"), 400, "invalid_query")
		if w := b.sendAs(resellerKey, method, path+"?nonsense=1", ""); resellerRoute(path) {
			b.refused(w, 403, "forbidden")
		} else {
			b.refused(w, 400, "invalid_query")
		}
		b.refused(b.send(method, path+"/", ""), 404, "unknown_path")
	}

	for path := range paths {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "X"} {
			known := false
			for _, op := range operations {
				known = known || op == method+" "+path
			}
			if !known {
				w := b.send(method, path, "")
				b.refused(w, 405, "wrong_method", method)
				failIf(t, w.Header().Get("Allow") == "", "no Allow header")
			}
		}
	}
	b.refused(b.send("GET", "/", ""), 404, "unknown_path")
	b.refused(b.send("GET", "/api/invoices", ""), 404, "unknown_path", "/api/invoices")
}

func TestForeignHostIsRefused(t *testing.T) {
	b := newBox(t)
	for hosts, want := range map[string]int{
		"localhost localhost:80 LOCALHOST:80 sandbox.localhost a.b.localhost:1 127.0.0.1 127.0.0.1:8080 127.9.9.9:1 " +
			"[::1] [::1]:8080": 200,
		"example.com localhost.example.com 127.0.0.1.example.com notlocalhost 10.0.0.1 0.0.0.0 [::] 128.0.0.1:80 " +
			"localhost. .": 403,
	} {
		for host := range strings.FieldsSeq(hosts) {
			equal(t, b.with("GET", "/api/invites", "", "Host", host).Code, want, "%s", host)
		}
	}
	equal(t, b.with("GET", "/api/invites", "", "Host", "").Code, 200, "the Host of the URL")
}

func TestBodyLimit(t *testing.T) {
	b := newBox(t)
	pad := func(n int) string { return btcBody + strings.Repeat(" ", n-len(btcBody)) }
	b.create(createPath, pad(1<<20))
	b.refused(b.send("POST", createPath, strings.Repeat("[", 1<<20)), 400, "invalid_body")
	w := b.send("POST", createPath, pad(1<<20+1))
	b.refused(w, 413, "body_too_large", "1048576")
	equal(t, w.Header().Get("Connection"), "close", "Connection")
	b.set(map[string]string{"max_body": "100"})
	b.refused(b.send("POST", createPath, pad(101)), 413, "body_too_large", "100")
	b.refused(b.send("POST", createPath, strings.Repeat("[", 100)), 400, "invalid_body")
}

func TestBrokenBody(t *testing.T) {
	b := newBox(t)
	for _, body := range []io.Reader{nil, io.MultiReader(strings.NewReader(btcBody), brokenReader{})} {
		r := httptest.NewRequest("POST", "http://localhost"+createPath, body)
		if body == nil {
			r.Body = nil // a client's request may arrive like this through a RoundTripper
		}
		r.Header.Set("Authorization", "Bearer "+b.Key())
		w := b.do(r)
		b.refused(w, 400, "invalid_body")
	}
	same(t, at(t, b.post(listPath, everything), "total"), "0")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the connection broke") }
