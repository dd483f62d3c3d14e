//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// needProgram skips a test if a program is missing. If TILL_NEEDS_TOOLS is set, as in CI, the test fails.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		lacks(t, "%s is not installed", name)
	}
}

// lacks skips a test because the machine lacks something that CI has. There, the test fails.
func lacks(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("TILL_NEEDS_TOOLS") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// mistake is a change of a shop that makes one of its tests fail.
type mistake struct{ from, to, fails string }

// TestShopInPython and TestShopInNode run the tests of the shops in other languages, which start a sandbox, as
// their authors would, in a job with the variables of examples/ci/gitlab.yml. Then they make mistakes in a shop, each
// of which a test must find.
func TestShopInPython(t *testing.T) {
	t.Parallel()
	needProgram(t, "python3")
	testShop(t, "python3 -m unittest discover -s DIR", "examples/python",
		"shop.py", map[string]mistake{
			"it sends again after a lost answer": {"pass  # it may have been paid: look",
				"del self.refunds[number]; return self.refund(number, satoshi, address)",
				"FAIL: test_after_a_lost_answer_the_refund_is_found_and_not_paid_again"},
			"it forgets what it paid":   {"if first:", "if True:", "FAIL: test_a_refund_is_paid_once"},
			"it forgets whom it told":   {" and number not in self.thanked", "", "FAIL: test_the_customer_is_told_once"},
			"it ships what is not paid": {`"waiting")`, `"shipped")`, "FAIL: test_an_unpaid_order_waits"},
			"it forgets an order without answer": {"except Refused:\n                del self.invoices",
				"except (Refused, Lost):\n                del self.invoices",
				"FAIL: test_a_lost_answer_does_not_make_a_second_invoice"},
			"it gives up reading": {"attempt == 2", "attempt == 0", "ERROR: test_reading_is_tried_again"},
		})
}

func TestShopInNode(t *testing.T) {
	t.Parallel()
	needProgram(t, "node")
	needProgram(t, "npm")
	testShop(t, "cd DIR && npm test", "examples/node", "shop.js", map[string]mistake{
		"it sends again after a lost answer": {"// Its answer is lost, so it may have been paid: look.",
			"this.refunds.delete(number); return this.refund(number, satoshi, address)",
			"✖ after a lost answer the refund is found and not paid again"},
		"it forgets what it paid":   {"if (!this.refunds.has(number)) {", "{", "✖ a refund is paid once"},
		"it forgets whom it told":   {" && !this.thanked.includes(number)", "", "✖ the customer is told once"},
		"it ships what is not paid": {"?? 'waiting'", "?? 'shipped'", "✖ an unpaid order waits"},
		"it forgets an order without answer": {"if (error instanceof Refused) this.invoices.delete(number)",
			"this.invoices.delete(number)", "✖ a lost answer does not make a second invoice"},
		"it gives up reading": {"attempt === 3", "attempt === 1", "✖ reading is tried again"},
	})
}

// testShop runs the tests in dir by a command in which DIR is the directory, and which docs/testing.md has.
// Then it makes each mistake in a copy of the shop.
func testShop(t *testing.T, tests, dir, shop string, mistakes map[string]mistake) {
	in := func(dir string) string { return strings.Replace(tests, "DIR", dir, 1) }
	testingPageSays(t, in(dir))
	run := func(t *testing.T, dir string) finished {
		cmd := command(t, docsEnv(t, "PYTHONDONTWRITEBYTECODE=1", "HOME="+t.TempDir(), "TILL_API_KEY=till_sandbox_ci",
			"TILL_BASE_URL=http://till:8080"), "sh", "-c", in(dir))
		cmd.Dir = absolute(t, ".")
		return finish(t, cmd)
	}
	if f := run(t, dir); f.code != 0 {
		t.Errorf("the tests ended with %d: %s%s", f.code, f.out, f.err)
	}
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := t.TempDir()
			must(t, os.CopyFS(broken, os.DirFS(absolute(t, dir))))
			text := contents(t, filepath.Join(broken, shop))
			if strings.Count(text, m.from) != 1 {
				t.Fatalf("%q is %d times in the shop", m.from, strings.Count(text, m.from))
			}
			writeFile(t, filepath.Join(broken, shop), strings.Replace(text, m.from, m.to, 1))
			if f := run(t, broken); f.code == 0 || !strings.Contains(f.out+f.err, m.fails) {
				t.Errorf("the tests ended with %d and do not find it: %s%s", f.code, f.out, f.err)
			}
		})
	}
}
