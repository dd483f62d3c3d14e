//go:build unix

package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// TestShopChecks runs the shop's tests.
func TestShopChecks(t *testing.T) {
	t.Parallel()
	run := execute(t, docsEnv(t), "till", "sandbox", "run", "--", "sh", absolute(t, "examples/shop/test.sh"))
	if run.code != 0 || strings.Count(run.out, "ok: ") != 13 {
		t.Errorf("it ended with %d: %s%s", run.code, run.out, run.err)
	}
}

// TestShopLosesAnAnswer loses the answer to the shop's create after the service has made the invoice. The
// shop must not make a second invoice, however often it is asked.
func TestShopLosesAnAnswer(t *testing.T) {
	t.Parallel()
	box, err := sandbox.New()
	must(t, err)
	var creates atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			box.ServeHTTP(w, r)
			return
		}
		creates.Add(1)
		box.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // drops the connection
	}))
	t.Cleanup(server.Close)
	env := docsEnv(t, "TILL_PROFILE=sandbox", "TILL_BASE_URL="+server.URL, "TILL_API_KEY="+box.Key(),
		"SHOP_DIR="+t.TempDir())
	for range 3 {
		execute(t, env, "sh", absolute(t, "examples/shop/shop.sh"), "order", "1001").want(t, 20, "")
	}
	dump, err := box.Dump()
	if made := bytes.Count(dump, []byte(`"Order 1001"`)); err != nil || made != 1 || creates.Load() != 1 {
		t.Errorf("%d invoices were made by %d requests, %v", made, creates.Load(), err)
	}
}
