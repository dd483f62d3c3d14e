//go:build unix

package cli

import (
	"bytes"
	"strings"
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
	f := startFaulty(t, nil)
	_, err := f.box.AddFault(sandbox.Fault{Do: "drop-after", On: "POST /api/invoice"})
	must(t, err)
	env := f.env(t, "SHOP_DIR="+t.TempDir())
	for range 3 {
		execute(t, env, "sh", absolute(t, "examples/shop/shop.sh"), "order", "1001").want(t, 20, "")
	}
	dump, err := f.box.Dump()
	made, asked := bytes.Count(dump, []byte(`"Order 1001"`)), len(f.box.Requests())
	if err != nil || made != 1 || asked != 1 {
		t.Errorf("%d invoices were made by %d requests, %v", made, asked, err)
	}
}
