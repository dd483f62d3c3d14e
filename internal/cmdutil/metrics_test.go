//go:build unix

package cmdutil

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/exit"
	"example.com/till/internal/metrics"
)

// mostBytes is the size of the largest metrics file.
const mostBytes = 1 << 20

// promFile is a metrics file. What a command writes into it alone is in testdata/script/metrics.txtar of package cli.
type promFile struct {
	*testing.T
	path string
}

func newPromFile(t *testing.T) promFile { return promFile{t, filepath.Join(t.TempDir(), "till.prom")} }

func (p promFile) end(f Finished) error {
	return metrics.Write(p.path, f.Account, f.Command, metrics.Wait, f.samples())
}

func (p promFile) start(account, command string, at time.Time) error {
	return metrics.Write(p.path, account, command, metrics.Wait,
		map[string][]metrics.Sample{metrics.Start: timestamp(at), metrics.Success: nil})
}

func (p promFile) ends(all ...Finished) {
	p.Helper()
	for _, f := range all {
		must(p.T, p.end(f))
	}
}

func (p promFile) text() string {
	p.Helper()
	text, err := os.ReadFile(p.path)
	must(p.T, err)
	return string(text)
}

// has checks that the file has each of the lines once.
func (p promFile) has(lines ...string) {
	p.Helper()
	for _, line := range lines {
		if text := p.text(); strings.Count(text, line+"\n") != 1 {
			p.Errorf("%s is missing in\n%s", line, text)
		}
	}
}

// TestMetricsOfForeignText checks that text of the service cannot add a line or end a label.
func TestMetricsOfForeignText(t *testing.T) {
	p, one := newPromFile(t), "0.5"
	finished := Finished{Command: "reseller report", Account: "shop",
		Amounts: []FinishedAmount{{"rebates", "A\"} 1\nB\\,command=\"x\xff", &one, big.NewInt(5)}}}
	p.ends(finished, finished) // the second time it reads its own lines
	p.has(`till_last_amount_minor_units{file="till.prom",account="shop",command="reseller ` +
		`report",of="rebates",currency="A\"} 1\nB\\,command=\"x` + "\uFFFD" + `"} 5`)
	if n := strings.Count(p.text(), "till_last_amount_minor_units{"); n != 1 {
		t.Errorf("there are %d amounts", n)
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip(err)
	}
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(p.text())
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestMetricsOfManyAreKept checks that commands that write one file at the same time lose nothing of each
// other.
func TestMetricsOfManyAreKept(t *testing.T) {
	p := newPromFile(t)
	const commands, rounds = 8, 20
	var writers sync.WaitGroup
	for i := range commands {
		writers.Go(func() {
			f := Finished{Account: fmt.Sprint("shop", i%2), Command: fmt.Sprint("command ", i),
				began: time.Unix(1, 0), ended: time.Unix(int64(1000+i), 0)}
			for range rounds {
				// On a busy machine, eight commands that write all the time keep one waiting longer than metrics.Wait.
				if err := metrics.Write(p.path, f.Account, f.Command, time.Hour, f.samples()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for i := range commands {
		p.has(fmt.Sprintf(`%s{file="till.prom",account="shop%d",command="command %d"} %d.000`,
			metrics.Success, i%2, i, 1000+i))
	}
}

// TestMetricsOfALockedFile checks that a process that keeps the lock, as one that was stopped does, does not
// keep others from telling how they have ended.
func TestMetricsOfALockedFile(t *testing.T) {
	t.Parallel()
	p := newPromFile(t)
	unlock, err := atomicfile.Lock(p.path, time.Hour)
	must(t, err)
	defer unlock()
	err = p.end(Finished{Command: "payout apply", ExitCode: exit.Unknown})
	if unlocked, ok := errors.AsType[metrics.UnlockedError](err); !ok || !errors.Is(unlocked.Err, atomicfile.ErrLocked) {
		t.Errorf("got %v", err)
	}
	p.has(`till_last_exit_code{file="till.prom",command="payout apply"} 20`)
}

// TestMetricsWithoutAccount checks that the end of a command that could not read its configuration, and so
// has no account, lasts until the command runs again with one.
func TestMetricsWithoutAccount(t *testing.T) {
	p := newPromFile(t)
	good := Finished{Account: "shop", Command: "payout apply", ended: time.Unix(9, 0),
		Unsettled: &FinishedUnsettled{Unknown: 1}}
	bad := Finished{Command: "payout apply", ExitCode: exit.Config}
	another := Finished{Account: "shop", Command: "journal check", Unsettled: &FinishedUnsettled{Unknown: 1}}
	for i, finished := range []Finished{good, bad, another, good} {
		p.ends(finished)
		p.has(metrics.Success+`{file="till.prom",account="shop",command="payout apply"} 9.000`,
			`till_unsettled_orders{file="till.prom",account="shop",state="unknown"} 1`)
		isBad := strings.Contains(p.text(), `till_last_exit_code{file="till.prom",command="payout apply"} 11`+"\n")
		if isBad != (i == 1 || i == 2) {
			t.Errorf("after %d:\n%s", i, p.text())
		}
	}
}

// TestMetricsOfEarlierVersion checks that the last success in a file without accounts is taken over.
func TestMetricsOfEarlierVersion(t *testing.T) {
	p := newPromFile(t)
	p.ends(Finished{Command: "payout apply", ended: time.Unix(7, 0)})
	must(t, p.start("shop", "payout apply", time.Unix(8, 0)))
	p.has(metrics.Success + `{file="till.prom",account="shop",command="payout apply"} 7.000`)
	if n := strings.Count(p.text(), metrics.Success+"{"); n != 1 {
		t.Errorf("there are %d successes", n)
	}
}

// TestLargeMetrics checks that a long text of the service does not end what other commands have in the file,
// and that no file is written that could not be read again.
func TestLargeMetrics(t *testing.T) {
	p := newPromFile(t)
	p.ends(Finished{Command: "payout apply", ended: time.Unix(9, 0)})
	for _, length := range []int{200 << 10, mostBytes} {
		amount := FinishedAmount{"rebates", strings.Repeat("A", length), nil, big.NewInt(5)}
		err := errors.Join(p.end(Finished{Command: "reseller report", Amounts: []FinishedAmount{amount}}),
			p.start("", "reseller report", time.Unix(1, 0)))
		tooLarge := err != nil && strings.Contains(err.Error(), "they are larger than 1024 KiB")
		if tooLarge != (length == mostBytes) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	p.has(metrics.Success + `{file="till.prom",command="payout apply"} 9.000`)
}
