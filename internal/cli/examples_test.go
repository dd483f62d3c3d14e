//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/till/internal/exit"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestHelpExamplesWork runs every example of every help page, each with its own home directory and its own
// service, which knows every id. Every example shows something that works, so it must end with 0.
func TestHelpExamplesWork(t *testing.T) {
	found := examples(tree(t))
	if len(found) < 60 {
		t.Fatalf("only %d examples: the walk is wrong", len(found))
	}
	for _, text := range found {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(text, "curl") {
				needProgram(t, "curl")
			}
			runExample(t, text)
		})
	}
}

// examples returns the examples of a command and its subcommands, each once: a group shows the example of its
// first command.
func examples(cmd *cobra.Command) (all []string) {
	for _, cmd := range withAll(cmd) {
		for _, text := range splitExample(cmd.Example) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// splitExample splits examples, which are indented by two spaces. A line with more indentation continues the
// one before it.
func splitExample(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "  "), "\n")
		if strings.HasPrefix(line, " ") && len(all) > 0 {
			all[len(all)-1] += "\n" + line
			continue
		}
		all = append(all, line)
	}
	return all
}

// fixedPort is a port in an example, which another program may already use.
var fixedPort = regexp.MustCompile(`(127\.0\.0\.1|0\.0\.0\.0):[0-9]+`)

// exampleCommand returns the shell that runs an example. Its home directory is below its working directory.
func exampleCommand(t *testing.T, text string, service *exampleService) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	home := filepath.Join(dir, "home")
	writeFile(t, filepath.Join(dir, "key.txt"), "key-1234\n")
	writeFile(t, filepath.Join(home, ".config/till/keys/live.key"), "key-1234\n")
	writeFile(t, filepath.Join(home, ".config/till/keys/old.key"), "key-1234\n")
	current := "live"
	if strings.Contains(text, "till sandbox ") { // with the profile of a service, these would need --sandbox
		current = "sandbox"
	}
	writeFile(t, filepath.Join(home, ".config/till/config.yaml"), fmt.Sprintf(`current: %[3]s
currencies:
  - {code: Doge, kind: crypto, decimals: 8}
profiles:
  live:
    base_url: %[1]s
    api_key_file: %[2]s/.config/till/keys/live.key
    settle_after: 1ns
    currencies:
      - {code: Btc, kind: crypto, decimals: 8}
      - {code: Doge, kind: crypto, decimals: 8}
  old:
    base_url: %[1]s
    api_key_file: %[2]s/.config/till/keys/old.key
`, server.URL, home, current))
	if strings.HasPrefix(text, "till profile set live api_key_command") ||
		strings.HasPrefix(text, "till profile set live base_url") {
		// These examples create a configuration. A profile with a key file would have two sources of its key.
		must(t, os.Remove(filepath.Join(home, ".config/till/config.yaml")))
	}
	script, served := fixedPort.ReplaceAllString(text, "$1:0"), ""
	// The signal that ends till must not go to a shell.
	if strings.HasPrefix(text, "till sandbox serve") || strings.HasPrefix(text, "till callback listen") {
		script = "exec " + script
	}
	if strings.HasPrefix(text, "till sandbox requests") || strings.HasPrefix(text, "till sandbox settings set") {
		// These examples act on a sandbox that is served, and are about a request to it.
		served = script
		script = "exec till sandbox run -- sh -ec '" + `till withdraw create --currency Btc --amount 0.02 --address ` +
			exampleAddress + ` --order-id 5001 --yes; eval "$SERVED"'`
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", "TMPDIR=" + dir,
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + dir + "/no-bus", "SERVED=" + served}
	return cmd
}

func runExample(t *testing.T, text string) {
	service := &exampleService{}
	cmd := exampleCommand(t, text, service)
	prepareExample(t, text, service, cmd)
	var out, errOut lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	listens := strings.HasPrefix(text, "till callback listen")
	if listens || strings.HasPrefix(text, "till sandbox serve") { // until a signal ends it, or the first post
		eventually(t, "the address", func() bool { return strings.Contains(out.String()+errOut.String(), "http://") })
	}
	_, url, _ := strings.Cut(strings.TrimSpace(errOut.String()), "listening on ")
	switch {
	case listens && strings.Contains(text, "--count 1"):
		answer(t, http.MethodPost, url, "{}")
	case listens, strings.HasPrefix(text, "till sandbox serve"):
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s%s", err, out.String(), errOut.String())
	}
	if strings.Contains(out.String()+errOut.String(), "key-1234") {
		t.Errorf("it shows the key:\n%s%s", out.String(), errOut.String())
	}
}

// preparations are what has to be done before some examples: a shell script, which knows the example. The one about a
// run prints its name, which differs from that of the example, because a plan's digest depends on the time.
var preparations = []struct {
	examples *regexp.Regexp
	script   string
}{
	{regexp.MustCompile(`^till payout`), `
case "$EXAMPLE" in
*--auto-order-id*) printf 'currency,amount,address,note\nBtc,0.015,%s,Ann\nBtc,25.00 USD,%s,Bob\n' $ADDRESS $ADDRESS ;;
*apply*) printf 'order_id,currency,amount,address\n5001,Btc,0.015,%s\n' $ADDRESS ;; # every order gets the same id
*) printf 'order_id,currency,amount,address,note\n5001,Btc,0.015,%s,Ann\n5002,Btc,25.00 USD,%s,Bob\n' \
	$ADDRESS $ADDRESS ;;
esac >staff.csv
printf 'order_id,currency,amount,Pay to\n1,Btc,0.015,%s\n' $ADDRESS >people.csv
printf '{"order_id":"5001","currency":"Btc","amount":"0.015","address":"%s"}\n' $ADDRESS >staff.jsonl
case "$EXAMPLE" in "till payout plan"*) ;; *) till payout plan staff.csv --out staff.plan -q >approved.txt ;; esac`},
	{regexp.MustCompile(`^till payout approve|--approval`), `
mkdir -m 700 -p home/.ssh
ssh-keygen -q -t ed25519 -N '' -f home/.ssh/id_ed25519
echo "ann $(cat home/.ssh/id_ed25519.pub)" >home/.ssh/allowed_signers
till profile set live approvers="$HOME/.ssh/allowed_signers"`},
	{regexp.MustCompile(`^till payout (status|list|export|wait|reconcile|resolve)`), `
printf 'order_id,currency,amount,address\n5001,Btc,0.015,%s\n' $ADDRESS >run.csv
case "$EXAMPLE" in *5002*) echo 5002,Btc,0.015,bc1qother >>run.csv ;; esac
till payout plan run.csv --out run.plan >plan.out
till payout apply run.plan --yes --keep-going >apply.out || test $? = 20
till payout list -q`},
	{regexp.MustCompile(`^till (journal (show|check|copy|rename|adopt-merchant)|withdraw (reconcile|resolve)|` +
		`withdraw (get|wait) --order-id)`), `
till withdraw create --currency Btc --amount 0.015 --order-id 5001 --yes --address $ADDRESS >create.out ||
	test $? = 20`},
}

// exampleRun is the name of a run in the examples.
const exampleRun = "1f60bd0c"

// prepareExample does what has to be done before an example. Answers are lost if it is about finding out the outcome.
func prepareExample(t *testing.T, text string, service *exampleService, cmd *exec.Cmd) {
	t.Helper()
	service.loses.Store(strings.Contains(text, "reconcile") || strings.Contains(text, "resolve"))
	for _, p := range preparations {
		if !p.examples.MatchString(text) {
			continue
		}
		if strings.Contains(p.script, "ssh-keygen") {
			needProgram(t, "ssh-agent")
		}
		prepare := exec.Command("sh", "-ec", p.script)
		prepare.Dir, prepare.Env = cmd.Dir, append(cmd.Env, "EXAMPLE="+text, "ADDRESS="+exampleAddress)
		f := finish(t, prepare)
		if f.code != 0 {
			t.Fatalf("the preparation ended with %d: %s%s", f.code, f.out, f.err)
		}
		if run := strings.TrimSpace(f.out); run != "" {
			cmd.Args[2] = strings.ReplaceAll(cmd.Args[2], exampleRun, run)
		}
	}
	service.loses.Store(false)
	service.hides.Store(strings.Contains(text, "--not-sent"))
	if strings.Contains(text, "--agent") {
		cmd.Args[2] = "exec ssh-agent sh -c 'ssh-add -q home/.ssh/id_ed25519 2>/dev/null; " + cmd.Args[2] + "'"
	}
}

const exampleAddress = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"

// TestDryRunSendsNothing runs every example with --dry-run. A command either shows its call or refuses the
// flag. In both cases it sends nothing, and till's files on this machine stay the same, byte for byte.
func TestDryRunSendsNothing(t *testing.T) {
	till, err := exec.LookPath("till")
	must(t, err)
	dry := t.TempDir() // its till adds the flag to the real one
	writeProgram(t, filepath.Join(dry, "till"), "exec '"+till+"' --dry-run \"$@\"")
	for _, text := range examples(tree(t)) {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			service := &exampleService{}
			cmd := exampleCommand(t, text, service)
			prepareExample(t, text, service, cmd)
			cmd.Env = append(cmd.Env, "PATH="+dry+":"+os.Getenv("PATH"))
			before, asked := filesBelow(t, filepath.Join(cmd.Dir, "home")), service.requests.Load()
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 0 && code != exit.Usage {
				t.Errorf("it ended with %d\n%s", code, out)
			}
			if diff := gocmp.Diff(before, filesBelow(t, filepath.Join(cmd.Dir, "home"))); diff != "" {
				t.Errorf("it has changed something:\n%s\n%s", diff, out)
			}
			if n := service.requests.Load() - asked; n > 0 {
				t.Errorf("it has made %d requests", n)
			}
		})
	}
}

// filesBelow returns the contents of the files in a directory by their names.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	must(t, err)
	return files
}

// exampleService has one of everything, with any id. Its list of withdrawals is empty until one is created.
type exampleService struct {
	requests atomic.Int64
	created  atomic.Bool
	loses    atomic.Bool // accepts creates but does not answer
	hides    atomic.Bool // its list stays empty
}

func (s *exampleService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	const (
		id         = `7c9e6679-7425-40de-944b-e07fc1f90ae7`
		invite     = `{"invite":"` + id + `","label":"North shop"}`
		reseller   = `{"id":"` + id + `","invite_info":` + invite + `,"rebates":{"Usd":{"Fiat":{"USD":250}}}}`
		withdrawal = `{"id":"` + id +
			`","external_id":5001,"merchant_id":"m","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1500000}},` +
			`"statuses":[{"status":"New","at":"2026-05-03T10:00:00"},{"status":"Completed","at":"2026-05-03T10:05:00"}],` +
			`"current":"Completed",` +
			`"address":%s,"is_testnet":false,"external_order_id":"5001"}`
		invoice = `{"id":"` + id +
			`","external_order_id":"A-17","external_number":1001,"tittle":"Order 1001","currency":{"Fiat":"Usd"},` +
			`"items":[{"amount":"250","name":"Coffee"}],"created_date":"2026-05-03T10:00:00","due_date":"-","choosen":{},` +
			`"status":"Paid","state":"Closed"}`
	)
	one := fmt.Sprintf(withdrawal, `"`+exampleAddress+`"`)
	page := fmt.Sprintf(`{"page_content":[`+withdrawal+`],"page_count":1,"total":1}`,
		`{"Crypto":{"currency":"Btc","address":"`+exampleAddress+`"}}`)
	own := page
	if s.hides.Load() || !s.created.Load() {
		own = `{"page_content":[],"page_count":0,"total":0}`
	}
	answers := map[string]string{
		"POST /api/merchant_withdrawal/create": `"` + id + `"`,
		"GET /api/merchant_withdrawal":         one,
		"POST /api/merchant_withdrawal/list":   own,
		"POST /api/invoice":                    `"` + id + `"`,
		"GET /api/invoice":                     invoice,
		"GET /api/invites":                     `[` + invite + `]`,
		"GET /api/invite":                      invite,
		"POST /api/invite":                     `{"invite":"` + id + `","label":"","url":"https://pay.example.com/i/1"}`,
		"GET /api/resellers":                   `{"` + id + `":` + reseller + `}`,
		"GET /api/resellers/ids":               `["` + id + `"]`,
		"GET /api/reseller/info":               reseller,
		"GET /api/reseller/invite":             invite,
		"GET /api/reseller/stats": `{"id":"` + id +
			`","label":"North shop","invoice_stats":{"Awaiting":3},"invoice_rebates":{"` + id + `":{"id":"` + id +
			`","paid_amount":{"USD":25000},"rebate":{"USD":250},"created":"2026-05-03T10:00:00"}},` +
			`"total_volume":{"USD":{"USD":25000}},"total_rebates":{"USD":{"USD":250}}}`,
		"POST /api/reseller/withdraw/list":   page,
		"GET /api/reseller/withdraw":         one,
		"GET /api/reseller/balance":          `{"Fiat":{"USD":25000}}`,
		"GET /api/reseller/balance/currency": `{"balance":1}`,
		"GET /api/reseller/rebate":           `[{"Fiat":{"USD":250}}]`,
		"GET /api/reseller/rebate/currency":  `{"Usd":{"Fiat":{"USD":250}}}`,
		"POST /api/reseller/invoice/list":    `{"page_content":[]}`,
		"GET /api/reseller/invoice":          invoice,
		"GET /api/reseller/invoice/finished": `true`,
	}
	answer, known := answers[r.Method+" "+r.URL.Path]
	if !known || r.Header.Get("Authorization") != "Bearer key-1234" {
		http.Error(w, `{"error":{"code":1,"reason":"no","description":"It is not known, or the key is wrong."}}`,
			http.StatusNotFound)
		return
	}
	if r.URL.Path == "/api/merchant_withdrawal/create" {
		s.created.Store(true)
		if s.loses.Load() {
			panic(http.ErrAbortHandler)
		}
	}
	fmt.Fprint(w, answer)
}
