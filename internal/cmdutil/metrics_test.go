//go:build unix

package cmdutil

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/metrics"
)

// mostBytes is the size of the largest metrics file.
const mostBytes = 1 << 20

func writeMetrics(path string, f Finished) error {
	return metrics.Write(path, f.Account, f.Command, metrics.Wait, f.samples())
}

func writeStart(path, account, command string, at time.Time) error {
	return metrics.Write(path, account, command, metrics.Wait,
		map[string][]metrics.Sample{metrics.Start: timestamp(at), metrics.Success: nil})
}

// lastSuccess returns the time of a command's last success in a metrics file.
func lastSuccess(t *testing.T, path, labels string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+metrics.Success+`{file="till.prom",`+labels+"} ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestMetricsAreWhole checks that a reader sees a whole file at any time, while several programs write it.
func TestMetricsAreWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	finished := Finished{Command: "payout apply", Orders: &FinishedOrders{Accepted: 3}, Unsettled: &FinishedUnsettled{}}
	if err := writeMetrics(path, finished); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 20 {
				if err := writeMetrics(path, finished); err != nil &&
					!errors.As(err, new(metrics.UnlockedError)) { // a slow disk
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: it is\n%s\nand not\n%s", err, got, want)
		}
	}
	writers.Wait()
}

// TestMetricsOfForeignText checks that text of the service cannot add a line or end a label.
func TestMetricsOfForeignText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	code := "A\"} 1\nB\\,command=\"x\xff"
	one := "0.5"
	finished := Finished{Command: "reseller report", Account: "shop",
		Amounts: []FinishedAmount{{"rebates", code, &one, big.NewInt(5)}}}
	for range 2 { // the second time it reads its own lines
		if err := writeMetrics(path, finished); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `till_last_amount_minor_units{file="till.prom",account="shop",command="reseller ` +
		`report",of="rebates",currency="A\"} 1\nB\\,command=\"x` + "\uFFFD" + `"} 5` + "\n"
	if strings.Count(string(text), "till_last_amount_minor_units{") != 1 || !strings.Contains(string(text), want) {
		t.Errorf("it is\n%s", text)
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip(err)
	}
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = bytes.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestMetricsOfAnother checks that what till has not written, or not all of it, is left as it is.
func TestMetricsOfAnother(t *testing.T) {
	begin := "# HELP " + metrics.Start + " When.\n"
	for name, text := range map[string]string{
		"another program": "node_load1 0.5\n",
		"too large":       begin + strings.Repeat("# more\n", mostBytes/7),
	} {
		path := filepath.Join(t.TempDir(), "till.prom")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := writeMetrics(path, Finished{Command: "payout apply"}); err == nil {
			t.Errorf("%s: it was replaced", name)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: it was changed: %v", name, err)
		}
	}
	for name, occupy := range map[string]func(string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe": func(path string) error {
			return syscall.Mkfifo(path,
				0o600)
		}, // opening it would wait for a reader
		"a loop": func(path string) error { return os.Symlink(path, path) },
	} {
		path := filepath.Join(t.TempDir(), "till.prom")
		if err := occupy(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeMetrics(path, Finished{Command: "payout apply"}); err == nil {
			t.Errorf("%s: it was replaced", name)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: it was changed: %v", name, err)
		}
	}
}

// TestMetricsOfManyAreKept checks that commands that write one file at the same time lose nothing of each
// other.
func TestMetricsOfManyAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	const commands, rounds = 8, 20
	end := func(i int) time.Time { return time.Unix(int64(1000+i), 0) }
	var writers sync.WaitGroup
	for i := range commands {
		writers.Go(func() {
			f := Finished{Account: fmt.Sprint("shop", i%2), Command: fmt.Sprint("command ", i),
				began: time.Unix(1, 0), ended: end(i)}
			for range rounds {
				// On a busy machine, eight commands that write all the time keep one waiting longer than metrics.Wait.
				if err := metrics.Write(path, f.Account, f.Command, time.Hour, f.samples()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for i := range commands {
		got := lastSuccess(t, path, fmt.Sprintf(`account="shop%d",command="command %d"`, i%2, i))
		if want := timestamp(end(i))[0].Value; got != want {
			t.Errorf("the last success of command %d is %s", i, got)
		}
	}
}

// TestMetricsOfALockedFile checks that a process that keeps the lock, as one that was stopped does, does not
// keep others from telling how they have ended.
func TestMetricsOfALockedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "till.prom")
	unlock, err := atomicfile.Lock(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	err = writeMetrics(path, Finished{Command: "payout apply", ExitCode: ExitUnknown})
	if !errors.As(err, new(metrics.UnlockedError)) ||
		!errors.Is(err.(metrics.UnlockedError).Err, atomicfile.ErrLocked) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `command="payout apply"} 20`) {
		t.Errorf("%v: it is\n%s", err, text)
	}
}

// TestMetricsOfTwoAccounts checks that two accounts that share a file do not hide each other's failures and
// open orders.
func TestMetricsOfTwoAccounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	shop := Finished{Account: "shop", Command: "payout apply", ExitCode: ExitUnknown,
		Unsettled: &FinishedUnsettled{Unknown: 3}}
	cafe := Finished{Account: "cafe", Command: "payout apply", ended: time.Unix(9, 0), Unsettled: &FinishedUnsettled{}}
	if err := errors.Join(writeMetrics(path, shop), writeMetrics(path, cafe)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`till_last_exit_code{file="till.prom",account="shop",command="payout apply"} 20`,
		`till_last_exit_code{file="till.prom",account="cafe",command="payout apply"} 0`,
		`till_last_success_timestamp_seconds{file="till.prom",account="shop",command="payout apply"} 0`,
		`till_last_success_timestamp_seconds{file="till.prom",account="cafe",command="payout apply"} 9.000`,
		`till_unsettled_orders{file="till.prom",account="shop",state="unknown"} 3`,
		`till_unsettled_orders{file="till.prom",account="cafe",state="unknown"} 0`,
	} {
		if strings.Count(string(text), line+"\n") != 1 {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
}

// TestMetricsWithoutAccount checks that the end of a command that could not read its configuration, and so
// has no account, lasts until the command runs again with one.
func TestMetricsWithoutAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	const code = `till_last_exit_code{file="till.prom",command="payout apply"} 11` + "\n"
	good := Finished{Account: "shop", Command: "payout apply", ended: time.Unix(9, 0),
		Unsettled: &FinishedUnsettled{Unknown: 1}}
	bad := Finished{Command: "payout apply", ExitCode: ExitConfig}
	another := Finished{Account: "shop", Command: "journal check", Unsettled: &FinishedUnsettled{Unknown: 1}}
	for i, c := range []struct {
		finished Finished
		bad      bool // whether the file has the bad end now
	}{{good, false}, {bad, true}, {another, true}, {good, false}} {
		if err := writeMetrics(path, c.finished); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), code) != c.bad ||
			!strings.Contains(string(text), `,account="shop",command="payout apply"} 9.000`) ||
			!strings.Contains(string(text), `till_unsettled_orders{file="till.prom",account="shop",state="unknown"} 1`) {
			t.Errorf("after %d:\n%s", i, text)
		}
	}
}

// TestMetricsOfEarlierVersion checks that the last success in a file without accounts is taken over.
func TestMetricsOfEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	if err := writeMetrics(path, Finished{Command: "payout apply", ended: time.Unix(7, 0)}); err != nil {
		t.Fatal(err)
	}
	if err := writeStart(path, "shop", "payout apply", time.Unix(8, 0)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), metrics.Success+"{") != 1 ||
		!strings.Contains(string(text), metrics.Success+`{file="till.prom",account="shop",command="payout apply"} 7.000`) {
		t.Errorf("it is\n%s", text)
	}
}

// TestLargeMetrics checks that a long text of the service does not end what other commands have in the file,
// and that no file is written that could not be read again.
func TestLargeMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "till.prom")
	report := func(length int) error {
		amount := FinishedAmount{"rebates", strings.Repeat("A", length), nil, big.NewInt(5)}
		return errors.Join(writeMetrics(path, Finished{Command: "reseller report", Amounts: []FinishedAmount{amount}}),
			writeStart(path, "", "reseller report", time.Unix(1, 0)))
	}
	if err := errors.Join(writeMetrics(path, Finished{Command: "payout apply", ended: time.Unix(9, 0)}),
		report(200<<10)); err != nil {
		t.Fatal(err)
	}
	if err := report(mostBytes); err == nil || !strings.Contains(err.Error(), "they are larger than 1024 KiB") {
		t.Errorf("got %v", err)
	}
	if got := lastSuccess(t, path, `command="payout apply"`); got != "9.000" {
		t.Errorf("the last success of the other command is %s", got)
	}
}
