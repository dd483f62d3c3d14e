//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/till/e2e/chromium"
	"example.com/till/pkg/api/sandbox"
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

// In these tests, eight workers of a test runner are at work side by side. All of them use the same order
// numbers, and count what the sandbox got, so they fail if two of them share one.
const workers = 8

// testingPageSays fails if the page about testing does not have a command.
func testingPageSays(t *testing.T, command string) {
	t.Helper()
	if page := pageText(t, "docs/testing.md"); !strings.Contains(page, "`"+command+"`") {
		t.Errorf("docs/testing.md does not say %q", command)
	}
}

// examplesFor returns a copy of the examples, and an environment in which till notes each sandbox that it
// serves in a file. It has the variables of examples/ci/gitlab.yml.
func examplesFor(t *testing.T) (dir string, env []string, served string) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	served = filepath.Join(bin, "served")
	must(t, os.CopyFS(dir, os.DirFS(absolute(t, "examples"))))
	till, err := exec.LookPath("till")
	must(t, err)
	writeProgram(t, bin+"/till", `echo "$*" >>"$SERVED"; exec "$TILL" "$@"`)
	path := bin + ":" + os.Getenv("PATH")
	return dir, docsEnv(t, "PATH="+path, "SERVED="+served, "TILL="+till, "PYTHONDONTWRITEBYTECODE=1", "HOME="+bin,
		"TILL_API_KEY=till_sandbox_ci", "TILL_BASE_URL=http://till:8080"), served
}

func wantServed(t *testing.T, served string) {
	t.Helper()
	if got := strings.Count(contents(t, served), "sandbox serve "); got != workers {
		t.Errorf("%d workers started %d sandboxes", workers, got)
	}
}

// TestWorkersInNode and TestWorkersInPython run the tests of the shops in other languages as their authors would.
func TestWorkersInNode(t *testing.T) {
	t.Parallel()
	needProgram(t, "node")
	needProgram(t, "npm")
	testingPageSays(t, "cd examples/node && npm test")
	dir, env, served := examplesFor(t)
	file := filepath.Join(dir, "node", "shop.test.js")
	text := contents(t, file)
	for worker := range workers {
		writeFile(t, filepath.Join(dir, "node", fmt.Sprintf("worker%d.test.js", worker)), text)
	}
	must(t, os.Remove(file))
	cmd := command(t, env, "npm", "test", "--", fmt.Sprintf("--test-concurrency=%d", workers))
	cmd.Dir = filepath.Join(dir, "node")
	if f := finish(t, cmd); f.code != 0 || !strings.Contains(f.out, fmt.Sprintf("pass %d\n", 11*workers)) {
		t.Errorf("the tests ended with %d: %s%s", f.code, f.out, f.err)
	}
	wantServed(t, served)
}

func TestWorkersInPython(t *testing.T) {
	t.Parallel()
	needProgram(t, "python3")
	const tests = "python3 -m unittest discover -s examples/python"
	testingPageSays(t, tests)
	dir, env, served := examplesFor(t)
	var running sync.WaitGroup
	for range workers {
		cmd := command(t, env, "sh", "-c", strings.Replace(tests, "examples", dir, 1))
		running.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Ran 11 tests") {
				t.Errorf("the tests ended with %v: %s", err, out)
			}
		})
	}
	running.Wait()
	wantServed(t, served)
}

// TestWorkersInPlaywright installs Playwright as the page says. It is skipped where there is no registry.
func TestWorkersInPlaywright(t *testing.T) {
	t.Parallel()
	needProgram(t, "npm")
	const install = "npm install --no-save @playwright/test@1.65.1"
	const run = "npx playwright test --workers 8"
	testingPageSays(t, "cd examples/playwright && "+install+" && "+run)
	browser, err := chromium.FindBrowser()
	if err != nil && os.Getenv(chromium.Needed) == "" {
		t.Skip(err)
	}
	dir, env, served := examplesFor(t)
	env = withEnv(env, []string{"CHROMIUM=" + browser})
	cmd := command(t, env, "sh", "-c", install)
	cmd.Dir = filepath.Join(dir, "playwright")
	if f := finish(t, cmd); f.code != 0 {
		lacks(t, "%s: %s%s", install, f.out, f.err)
	}
	cmd = command(t, env, "sh", "-c", fmt.Sprintf("%s --repeat-each %d", run, workers))
	cmd.Dir = filepath.Join(dir, "playwright")
	if f := finish(t, cmd); f.code != 0 || !strings.Contains(f.out, fmt.Sprintf("%d passed", workers)) {
		t.Errorf("the tests ended with %d: %s%s", f.code, f.out, f.err)
	}
	wantServed(t, served)
}

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
