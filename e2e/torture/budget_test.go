//go:build unix

package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
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

type budget struct {
	*month
	move  func() // moves the clock of the journal by a day
	order int    // the last order
	spent int64  // on the days before
}

func newBudget(t *testing.T, place string) *budget {
	b := &budget{month: startMonth(t), move: func() {}}
	noon := (12 - time.Now().UTC().Hour()) // so that no real midnight comes
	b.env = append(b.env, "TILL_PROFILE=shop", "TILL_BASE_URL=")
	if place != "" {
		b.env = append(b.env, "TILL_JOURNAL="+place)
	}
	b.text("till", "profile", "set", "shop", "base_url="+b.address, "settle_after=0s",
		fmt.Sprintf("time_zone=Etc/GMT%+d", -noon))
	b.text("till", "currency", "set", "Btc", "--decimals", "8")
	b.text("till", "profile", "set", "shop", fmt.Sprintf("max_per_day=0.%08d Btc", perDay))
	return b
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
			if _, code := b.send(1); code == 12 {
				break
			} else if code != 0 {
				b.t.Fatalf("day %d: a withdrawal ended with %d", day, code)
			}
		}
		if spent := b.checkSpent(day); spent != perDay {
			b.t.Errorf("day %d: it is over with %d spent, of %d", day, spent, perDay)
		}
		b.spent += perDay
		b.advance(24 * time.Hour)
		b.move()
	}
	b.t.Logf("%d orders, 32 processes killed %d times, %d decisions by a person", b.order, b.killed, b.decided)
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
	b.left, b.after = 0, b.rng.IntN(2) == 0
	if kill {
		b.left = 3 + b.rng.IntN(8)
	}
	b.mu.Unlock()
}

// quiet ends what goes wrong, and has a person decide about each order that is unknown then.
func (b *budget) quiet() {
	if _, err := b.box.ClearFaults(); err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.left = 0
	b.mu.Unlock()
	for _, order := range strings.Fields(b.text("till", "journal", "list", "--state", "unknown,sending", "-q")) {
		if _, code := b.run("till", "withdraw", "reconcile", order, unhurried); code == 0 {
			continue
		}
		b.text("till", "withdraw", "resolve", order, "--not-sent", "--reason", "it is not on the list", "--yes", unhurried)
		b.decided++
	}
}

func (b *budget) command(minor int) []string {
	b.order++
	return []string{"till", "withdraw", "create", "--currency", "Btc", "--amount", fmt.Sprintf("0.%08d", minor),
		"--address", fmt.Sprintf("bc1qperson%d", b.order), "--order-id", fmt.Sprint(b.order), "--yes"}
}

// unhurried follows the commands that nothing keeps from being answered, however busy the machine is.
const unhurried = "--timeout=60s"

func (b *budget) send(minor int) (string, int) { return b.run(append(b.command(minor), unhurried)...) }

// together sends with 32 processes in one group.
func (b *budget) together() string {
	var script strings.Builder
	for range 32 {
		script.WriteString(strings.Join(b.command(1+b.rng.IntN(10)), " ") + " & ")
	}
	cmd := b.month.command("sh", "-c", script.String()+"wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
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
	total := -b.spent
	for _, w := range b.withdrawals() {
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
	b.text("till", "journal", "freeze", "--reason", "a test")
	before := b.checkSpent(0)
	out := b.together()
	if after := b.checkSpent(0); after != before || strings.Count(out, "till: frozen: ") != 32 {
		b.t.Errorf("%d was paid of a frozen account, and its processes said\n%s", after-before, out)
	}
	b.text("till", "journal", "unfreeze", "--reason", "it is over")
}
