//go:build unix

package torture

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

var nights = flag.Int("nights", 2, "how many nights TestMonth has")

// TestMonth pays a staff every night with examples/payroll.sh, and looks after it with examples/nightly.sh.
// The clocks of the machine and of the service go on by a day each night. Answers are lost, the list is
// stale, and everything is killed. What remains unknown after an hour, a person decides. Every morning,
// everybody is paid once.
func TestMonth(t *testing.T) {
	m := startMonth(t)
	for night := range *nights {
		m.advance(24 * time.Hour)
		m.payroll(night)
	}
	m.draw(false)
	if out, code := m.run("till", "journal", "check"); code != 0 {
		t.Errorf("the journal and the service do not agree: %d\n%s", code, out)
	}
	t.Logf("%d nights, %d payments, %d calls of payroll.sh, %d of them killed, %d faults, %d decisions by a person",
		*nights, len(m.paid()), m.calls, m.killed, m.struck, m.decided)
}

// month is a merchant whose service is a sandbox.
type month struct {
	t         *testing.T
	rng       *rand.Rand
	box       *sandbox.Server
	dir, note string
	address   string // of the service
	env       []string
	ahead     time.Duration
	staff     map[string]string // what each order of all nights pays, and to whom

	calls, killed, struck, decided int

	mu    sync.Mutex
	left  int  // the create at which everything is killed; 0: none
	after bool // it is carried out before
	group int  // the processes that are killed
}

func startMonth(t *testing.T) *month {
	m := &month{t: t, rng: rand.New(rand.NewPCG(*seed, 1<<45)), dir: t.TempDir(), note: t.TempDir(),
		staff: map[string]string{}}
	_, patched := built.get(t)
	if err := errors.Join(os.Mkdir(m.bin(), 0o700), os.Symlink(patched, filepath.Join(m.bin(), "till"))); err != nil {
		t.Fatal(err)
	}
	start := time.Now().Truncate(time.Second)
	clock := func() time.Time { m.mu.Lock(); defer m.mu.Unlock(); return start.Add(time.Since(start) + m.ahead) }
	box, err := sandbox.New(sandbox.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	m.box = box
	server := httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(server.Close)
	m.address = server.URL
	environ := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "TILL_") })
	m.env = append(environ, "PATH="+m.bin()+":"+os.Getenv("PATH"), "HOME="+m.dir, "XDG_CONFIG_HOME="+m.dir,
		"XDG_STATE_HOME="+m.dir,
		"TILL_TORTURE_NOTES="+m.note, "TILL_BASE_URL="+server.URL, "TILL_API_KEY="+box.Key(), "TILL_PROFILE=sandbox",
		"TILL_RETRIES=1", "TILL_TIMEOUT=500ms",
		"MAILER=true", "PAYROLL_TO=office@shop.example", "PAYROLL_TRIES=2", "PAYROLL_PAUSE=0",
		"PAGE=true", "TICKET=true", "NIGHTLY_TRIES=2", "NIGHTLY_PAUSE=0")
	return m
}

// serve is the service, and kills the payroll at the create that was drawn.
func (m *month) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", m.box.Now().UTC().Format(http.TimeFormat))
	kill, after := m.isLast(r)
	switch {
	case kill && after:
		m.box.ServeHTTP(httptest.NewRecorder(), r)
		fallthrough
	case kill:
		m.mu.Lock()
		syscall.Kill(-m.group, syscall.SIGKILL)
		m.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	m.box.ServeHTTP(w, r)
}

func (m *month) isLast(r *http.Request) (kill, after bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/create") || m.left == 0 {
		return false, false
	}
	m.left--
	return m.left == 0, m.after
}

// advance moves the clocks of the machine and of the service.
func (m *month) advance(by time.Duration) {
	m.mu.Lock()
	m.ahead += by
	ahead := m.ahead
	m.mu.Unlock()
	if err := os.WriteFile(filepath.Join(m.note, "passed"), []byte(ahead.String()), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// payroll pays the staff of a night until everybody is paid.
func (m *month) payroll(night int) {
	name := fmt.Sprintf("payroll-%02d", night+1)
	file, plan := filepath.Join(m.dir, name+".csv"), filepath.Join(m.dir, name+".plan")
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write([]string{"currency", "amount", "address"})
	for person := range 5 + m.rng.IntN(20) {
		w.Write([]string{"Btc", fmt.Sprintf("0.%08d", 1+m.rng.IntN(50_000)), fmt.Sprintf("bc1qperson%d", person)})
	}
	w.Flush()
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if out, code := m.run("sh", m.script("payroll.sh"), "plan", file); code != 0 {
		m.t.Fatalf("night %d: plan ended with %d\n%s", night, code, out)
	}
	var made struct {
		Digest string `json:"digest"`
		Rows   []struct {
			OrderID string                      `json:"order_id"`
			Amount  map[string]map[string]int64 `json:"amount"`
			Address string                      `json:"address"`
		} `json:"rows"`
	}
	if text, err := os.ReadFile(plan); err != nil || json.Unmarshal(text, &made) != nil {
		m.t.Fatalf("night %d: the plan cannot be read: %v", night, err)
	}
	for _, row := range made.Rows {
		m.staff[row.OrderID] = fmt.Sprintf("%d to %s", row.Amount["Crypto"]["Btc"], row.Address)
	}
	for call := 1; ; call++ {
		m.draw(call <= 8)
		out, code := m.pay(plan, made.Digest)
		paid := m.paid()
		if code == 0 && len(paid) != len(m.staff) {
			m.t.Fatalf("night %d: it ended with 0, and %d of %d are paid", night, len(paid), len(m.staff))
		}
		if code == 0 {
			return
		}
		stale := strings.Contains(out, "till: list: ") // the list proves nothing tonight, and may later
		if code == 12 && !stale || code == 21 || call == 30 {
			m.t.Fatalf("night %d: call %d ended with %d\n%s", night, call, code, out)
		}
		m.run("sh", m.script("nightly.sh"))
		m.decide()
	}
}

// draw makes requests go wrong until the payroll is called again, and may have all of it killed.
func (m *month) draw(troubled bool) {
	cleared, err := m.box.ClearFaults()
	for _, f := range cleared {
		m.struck += int(f.Fired)
	}
	m.mu.Lock()
	m.left, m.after = 0, m.rng.IntN(2) == 0
	if troubled && m.rng.IntN(2) == 0 {
		m.left = 1 + m.rng.IntN(10)
	}
	m.mu.Unlock()
	var faults []sandbox.Fault
	if m.rng.IntN(2) == 0 {
		faults = append(faults, sandbox.Fault{On: "POST /api/merchant_withdrawal/list", Do: "stale-list=30m"})
	}
	for range 2 {
		faults = append(faults, sandbox.Fault{On: []string{"POST /api/merchant_withdrawal/create", "*"}[m.rng.IntN(2)],
			Do: []string{"refuse", "drop-before", "drop-after", "truncate", "status=503", "status=429,retry-after=0", "html",
				"delay=700ms"}[m.rng.IntN(8)],
			Rate: []float64{0.1, 0.3, 0.6}[m.rng.IntN(3)]})
	}
	for _, f := range faults {
		f.Seed = 1 + m.rng.Int64N(1<<40)
		if troubled && err == nil {
			_, err = m.box.AddFault(f)
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// pay calls the payroll, and returns -1 if it was killed.
func (m *month) pay(plan, digest string) (string, int) {
	m.calls++
	cmd := m.command("sh", m.script("payroll.sh"), "pay", plan, digest)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	m.mu.Lock()
	err := cmd.Start()
	if err == nil {
		m.group = cmd.Process.Pid
	}
	m.mu.Unlock()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd.Wait()
	if cmd.ProcessState.ExitCode() < 0 {
		m.killed++
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// decide lets an hour go by, and then a person decides about each order that is still unknown.
func (m *month) decide() {
	open := strings.Fields(m.text("till", "journal", "list", "--state", "unknown,sending", "-q"))
	if len(open) == 0 || m.rng.IntN(2) == 0 {
		return
	}
	m.advance(time.Hour)
	for _, order := range open {
		if _, code := m.run("till", "withdraw", "resolve", order, "--not-sent", "--reason", "it is not on the list",
			"--yes"); code == 0 {
			m.decided++
		}
	}
}

// A withdrawal is one that the service has.
type withdrawal struct {
	OrderID string `json:"order_id"`
	Amount  struct {
		Minor int64 `json:"minor"`
	} `json:"amount"`
	Address string `json:"address"`
}

func (m *month) withdrawals() []withdrawal {
	m.t.Helper()
	var state struct {
		Withdrawals []withdrawal `json:"withdrawals"`
	}
	if dump, err := m.box.Dump(); err != nil || json.Unmarshal(dump, &state) != nil {
		m.t.Fatal("the state cannot be read", err)
	}
	return state.Withdrawals
}

// paid returns the payments, and fails if one was not asked for or an order was paid twice.
func (m *month) paid() map[string]string {
	m.t.Helper()
	paid := map[string]string{}
	for _, w := range m.withdrawals() {
		order, what := w.OrderID, fmt.Sprintf("%d to %s", w.Amount.Minor, w.Address)
		if paid[order] != "" || what != m.staff[order] {
			m.t.Fatalf("order %s pays %s, and %s was paid after %q", order, m.staff[order], what, paid[order])
		}
		paid[order] = what
	}
	return paid
}

func (m *month) bin() string { return filepath.Join(m.dir, "bin") }

func (m *month) script(name string) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", name))
	if err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *month) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	m.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if args[0] == "till" {
		cmd.Path, cmd.Err = filepath.Join(m.bin(), "till"), nil
	}
	cmd.Dir, cmd.Env = m.dir, m.env
	return cmd
}

func (m *month) run(args ...string) (out string, code int) {
	text, err := m.command(args...).CombinedOutput()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		m.t.Fatal(err)
	} else if err != nil {
		code = exited.ExitCode()
	}
	return string(text), code
}

// text returns what a command prints that succeeds.
func (m *month) text(args ...string) string {
	m.t.Helper()
	out, code := m.run(args...)
	if code != 0 {
		m.t.Fatalf("%v ended with %d\n%s", args, code, out)
	}
	return out
}
