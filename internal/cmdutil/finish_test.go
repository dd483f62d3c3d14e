//go:build unix

package cmdutil

import (
	"bytes"
	"context"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/till/internal/process"
)

// TestOnFinishIsKilled checks that a program of on_finish that does not end is killed with what it has started, and
// that the command goes on.
func TestOnFinishIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const limit = 2 * time.Second // enough to start
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntrap '' TERM INT HUP\necho $$\nsleep 600 &\nsleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ended, cancel := context.WithCancel(context.Background())
	cancel() // as after a second signal
	a := &App{IO: IO{Err: &out, Environ: os.Environ, Now: time.Now}, Ctx: ended, SendCtx: ended}
	err := a.runOnFinish([]string{program}, &Finished{}, limit)
	if err == nil || !strings.Contains(err.Error(), "did not end within 2s, and was killed") {
		t.Errorf("%v", err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatalf("it wrote %q", out.String())
	}
	for process.GroupRuns(group) { // the system may need a moment, and the test runs into its time limit otherwise
		time.Sleep(10 * time.Millisecond)
	}
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
				if err := writeMetrics(path, finished); err != nil {
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
	finished := Finished{Command: "reseller report", Amounts: []FinishedAmount{{"rebates", code, &one, big.NewInt(5)}}}
	for range 2 { // the second time it reads its own lines
		if err := writeMetrics(path, finished); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `till_last_amount_minor_units{file="till.prom",command="reseller report",of="rebates",currency="A\"} 1\nB\\,command=\"x` + "\uFFFD" + `"} 5` + "\n"
	if strings.Count(string(text), "till_last_amount_minor_units{") != 1 || !strings.Contains(string(text), want) {
		t.Errorf("it is\n%s", text)
	}
}

// TestMetricsOfAnother checks that a file that till has not written, or not all of it, is left as it is.
func TestMetricsOfAnother(t *testing.T) {
	begin := "# HELP " + metricStart + " When.\n"
	for name, text := range map[string]string{
		"another program": "node_load1 0.5\n",
		"too large":       begin + strings.Repeat("# more\n", mostMetrics/7),
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
}
