// Command bench measures speed and memory against bare baselines, in the same run and on the same machine, and holds
// each ratio against its limit. No row depends on how fast the machine is, but for one that says so.
//
//	go run ./tools/bench bin/till [ROW...]
//
// A row is measured in rounds, in each of which both sides run one after the other; what counts is the median of the
// rounds' ratios, because the speed of a shared machine drifts. Servers run in processes of their own, so that their
// work is not counted. The benchmark's own process stays small, because on Linux the peak memory of a process that it
// starts is never less than its own.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is one line of the result.
type row struct {
	what   string
	got    float64
	unit   string
	limit  float64
	atMost bool // whether the limit is a ceiling
	detail string
}

func (r row) holds() bool {
	if r.atMost {
		return r.got <= r.limit
	}
	return r.got >= r.limit
}

// benchmarks are in this order because the first ones measure memory: see the package documentation.
var benchmarks = []struct {
	name string
	run  func(till string) ([]row, error)
}{
	{"version", version},
	{"get", get},
	{"payout-plan", payoutPlan},
	{"stream", stream},
	{"report", resellerReport},
	{"sdk", sdk},
	{"decode", decode},
	{"sandbox", sandboxInMemory},
	{"sandbox-start", sandboxStart},
	{"sandbox-durable", sandboxDurable},
	{"payout", payout},
	{"payout-growth", payoutGrowth},
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: bench PATH-TO-TILL [ROW...]")
	}
	if helper, ok := helpers[args[0]]; ok {
		return helper(args[1:])
	}
	till, remove, err := copyOf(args[0])
	if err != nil {
		return err
	}
	defer remove()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "WHAT\tMEASURED\tLIMIT\t\tDETAIL")
	failed := 0
	for _, b := range benchmarks {
		if len(args) > 1 && !slices.Contains(args[1:], b.name) {
			continue
		}
		rows, err := b.run(till)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		for _, r := range rows {
			sign, verdict := "at least", "ok"
			if r.atMost {
				sign = "at most"
			}
			if !r.holds() {
				verdict = "MISSED"
				failed++
			}
			fmt.Fprintf(out, "%s\t%.2f%s\t%s %.2f%s\t%s\t%s\n", r.what, r.got, r.unit, sign, r.limit, r.unit, verdict, r.detail)
		}
		out.Flush()
	}
	if failed > 0 {
		return fmt.Errorf("%d limits are missed", failed)
	}
	return nil
}

// copyOf copies the program. How much of a program's file counts as its memory depends on how the file came to lie in the
// page cache; a copy lies there in the same way each time.
func copyOf(program string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "till-bench-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	path = filepath.Join(dir, "till")
	from, err := os.Open(program)
	if err != nil {
		remove()
		return "", nil, err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}
