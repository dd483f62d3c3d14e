//go:build unix

package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/pkg/api/sandbox"
)

// perDay is the budget of a day, in minor units of Btc.
const perDay = 300

// TestBudget has 32 processes at a time send withdrawals that come to several times the budget of a day, and
// kills them, while answers are lost and requests rejected. No day gets more than its budget, and once all is
// settled, the rest of the budget can be sent. A freeze stops all of them.
func TestBudget(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { newBudget(t, "").days(2) })
	t.Run("postgres", func(t *testing.T) {
		server := pgtest.Shared(t)
		place := server.Database(t)
		// the server's clock, which decides, goes on with the others
		for _, statement := range []string{"CREATE SCHEMA clock", "CREATE TABLE clock.ahead AS SELECT interval '0' AS by",
			`CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE SQL
				AS 'SELECT pg_catalog.clock_timestamp() + by FROM clock.ahead'`,
			`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog, public', current_database()); END $$`} {
			server.Exec(t, place, statement)
		}
		b := newBudget(t, place)
		b.move = func() { server.Exec(t, place, "UPDATE clock.ahead SET by = by + interval '24 hours'") }
		b.days(2)
	})
}

// budget is a merchant whose service is a sandbox.
type budget struct {
	t             *testing.T
	rng           *rand.Rand
	box           *sandbox.Server
	program, note string
	env           []string
	move          func() // moves the clock of the journal by a day
	order         int    // the last order
	spent         int64  // on the days before
	killed        int    // times
	decided       int    // by a person

	mu    sync.Mutex
	ahead time.Duration // the clocks of the machine and of the service
	left  int           // the create at which everything is killed; 0: none
	after bool          // it is carried out before
	group int           // the processes that are killed
}

func newBudget(t *testing.T, place string) *budget {
	dir := t.TempDir()
	b := &budget{t: t, rng: rand.New(rand.NewPCG(*seed, 1<<45)), note: t.TempDir(), move: func() {}}
	_, b.program = built.get(t)
	start := time.Now().Truncate(time.Second)
	box, err := sandbox.New(sandbox.WithClock(func() time.Time {
		b.mu.Lock()
		defer b.mu.Unlock()
		return start.Add(time.Since(start) + b.ahead)
	}))
	if err != nil {
		t.Fatal(err)
	}
	b.box = box
	server := httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(server.Close)
	b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_STATE_HOME=" + dir,
		"TILL_TORTURE_NOTES=" + b.note, "TILL_API_KEY=" + box.Key(), "TILL_RETRIES=1", "TILL_TIMEOUT=500ms"}
	if place != "" {
		b.env = append(b.env, "TILL_JOURNAL="+place)
	}
	noon := 12 - time.Now().UTC().Hour() // so that no real midnight comes
	b.text("profile", "set", "shop", "base_url="+server.URL, "settle_after=0s", fmt.Sprintf("time_zone=Etc/GMT%+d", -noon))
	b.text("currency", "set", "Btc", "--decimals", "8")
	b.text("profile", "set", "shop", fmt.Sprintf("max_per_day=0.%08d Btc", perDay))
	return b
}

// serve is the service, and kills all processes at the create that was drawn.
func (b *budget) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", b.box.Now().UTC().Format(http.TimeFormat))
	if kill, after := b.isLast(r); kill {
		if after {
			b.box.ServeHTTP(httptest.NewRecorder(), r)
		}
		b.mu.Lock()
		syscall.Kill(-b.group, syscall.SIGKILL)
		b.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	b.box.ServeHTTP(w, r)
}

func (b *budget) isLast(r *http.Request) (kill, after bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.HasSuffix(r.URL.Path, "/create") || b.left == 0 {
		return false, false
	}
	b.left--
	return b.left == 0, b.after
}

func (b *budget) days(n int) {
	for day := range n {
		for round := range 4 {
			b.trouble(round > 0)
			b.together()
			b.checkSpent(day)
		}
		if day == n-1 {
			b.freeze()
		}
		b.quiet()
		for {
			if _, code := b.run(b.command(1)...); code == 12 {
				break
			} else if code != 0 {
				b.t.Fatalf("day %d: a withdrawal ended with %d", day, code)
			}
		}
		if spent := b.checkSpent(day); spent != perDay {
			b.t.Errorf("day %d: it is over with %d spent, of %d", day, spent, perDay)
		}
		b.spent += perDay
		b.tomorrow()
	}
	b.t.Logf("%d orders, 32 processes killed %d times, %d decisions by a person", b.order, b.killed, b.decided)
}

// tomorrow moves the clocks of the machine, of the service and of the journal.
func (b *budget) tomorrow() {
	b.mu.Lock()
	b.ahead += 24 * time.Hour
	ahead := b.ahead
	b.mu.Unlock()
	if err := os.WriteFile(filepath.Join(b.note, "passed"), []byte(ahead.String()), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.move()
}

// trouble makes requests go wrong, and may have all processes killed at one of the next creates.
func (b *budget) trouble(kill bool) {
	for _, do := range []string{"drop-before", "drop-after", "status=503", "status=400"} {
		if _, err := b.box.AddFault(sandbox.Fault{On: "POST /api/merchant_withdrawal/create", Do: do, Rate: 0.1,
			Seed: 1 + b.rng.Int64N(1<<40)}); err != nil {
			b.t.Fatal(err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.after = 0, b.rng.IntN(2) == 0
	if kill {
		b.left = 3 + b.rng.IntN(8)
	}
}

// quiet ends what goes wrong, and has a person decide about each order that is unknown then.
func (b *budget) quiet() {
	if _, err := b.box.ClearFaults(); err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.left = 0
	b.mu.Unlock()
	for _, order := range strings.Fields(b.text("journal", "list", "--state", "unknown,sending", "-q")) {
		if _, code := b.run("withdraw", "reconcile", order); code == 0 {
			continue
		}
		b.text("withdraw", "resolve", order, "--not-sent", "--reason", "it is not on the list", "--yes")
		b.decided++
	}
}

// command sends a new order.
func (b *budget) command(minor int) []string {
	b.order++
	return []string{"withdraw", "create", "--currency", "Btc", "--amount", fmt.Sprintf("0.%08d", minor),
		"--address", fmt.Sprintf("bc1qperson%d", b.order), "--order-id", fmt.Sprint(b.order), "--yes"}
}

// together sends with 32 processes in one group.
func (b *budget) together() string {
	var script strings.Builder
	for range 32 {
		script.WriteString(b.program + " " + strings.Join(b.command(1+b.rng.IntN(10)), " ") + " & ")
	}
	cmd := exec.Command("sh", "-c", script.String()+"wait")
	cmd.Env, cmd.SysProcAttr = b.env, &syscall.SysProcAttr{Setpgid: true}
	var out heard
	cmd.Stdout, cmd.Stderr = &out, &out
	b.mu.Lock()
	err := cmd.Start()
	if err == nil {
		b.group = cmd.Process.Pid
	}
	b.mu.Unlock()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Wait(); errors.As(err, new(*exec.ExitError)) && cmd.ProcessState.ExitCode() < 0 {
		b.killed++
	}
	return out.String()
}

// checkSpent returns what the service has paid on a day.
func (b *budget) checkSpent(day int) int64 {
	b.t.Helper()
	var state struct {
		Withdrawals []struct{ Amount struct{ Minor int64 } }
	}
	if dump, err := b.box.Dump(); err != nil || json.Unmarshal(dump, &state) != nil {
		b.t.Fatal("the state cannot be read", err)
	}
	total := -b.spent
	for _, w := range state.Withdrawals {
		total += w.Amount.Minor
	}
	if total > perDay {
		b.t.Fatalf("day %d: %d is paid, of %d", day, total, perDay)
	}
	return total
}

// freeze checks that nothing is sent any more once the account is frozen.
func (b *budget) freeze() {
	b.quiet()
	b.text("journal", "freeze", "--reason", "a test")
	before := b.checkSpent(0)
	out := b.together()
	if after := b.checkSpent(0); after != before || strings.Count(out, "till: frozen: ") != 32 {
		b.t.Errorf("%d was paid of a frozen account, and its processes said\n%s", after-before, out)
	}
	b.text("journal", "unfreeze", "--reason", "it is over")
}

func (b *budget) run(args ...string) (out string, code int) {
	cmd := exec.Command(b.program, args...)
	cmd.Env = b.env
	text, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		b.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// text returns what a command prints that succeeds.
func (b *budget) text(args ...string) string {
	b.t.Helper()
	out, code := b.run(args...)
	if code != 0 {
		b.t.Fatalf("%v ended with %d\n%s", args, code, out)
	}
	return out
}
