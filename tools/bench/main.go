// Command bench measures speed and memory in comparison with bare baselines, in the same run and on the same
// machine. It compares each ratio with its limit. Except for one row, which says so, no row depends on the
// speed of the machine.
//
//	go run ./tools/bench bin/till [ROW...]
//
// A row is measured in rounds. In each round both sides run one after the other, and the result is the median
// of the rounds' ratios, because the speed of a shared machine drifts. Servers run in their own processes, so
// that their work is not counted. The benchmark's own process stays small, because on Linux the peak memory
// of a process that it starts is never less than its own.
package main

import (
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
	atMost bool // whether the limit is an upper one
	detail string
}

func (r row) holds() bool {
	if r.atMost {
		return r.got <= r.limit
	}
	return r.got >= r.limit
}

// benchmarks begin with those that measure memory, before this process grows: see the package documentation.
var benchmarks = []struct {
	name string
	run  func(*bench) []row
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

// bench is the environment of a benchmark: the measured program, this program, and a new directory on a disk,
// where a sync has its real cost.
type bench struct{ till, self, dir string }

func run(args []string) (err error) {
	if len(args) == 0 {
		return fmt.Errorf("usage: bench PATH-TO-TILL [ROW...]")
	}
	doing := args[0]
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s: %w", doing, f.err)
		default:
			panic(f)
		}
	}()
	if helper, ok := helpers[args[0]]; ok {
		helper(args[1:])
		return nil
	}
	dir := must(os.MkdirTemp("", "till-bench-*"))
	defer os.RemoveAll(dir)
	till, self := filepath.Join(dir, "till"), must(os.Executable())
	copyTo(till, args[0])
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "WHAT\tMEASURED\tLIMIT\t\tDETAIL")
	failed := 0
	for _, benchmark := range benchmarks {
		if len(args) > 1 && !slices.Contains(args[1:], benchmark.name) {
			continue
		}
		doing = benchmark.name
		b := &bench{till: till, self: self, dir: filepath.Join(dir, benchmark.name)}
		check(os.Mkdir(b.dir, 0o700))
		for _, r := range benchmark.run(b) {
			sign, verdict := "at least", "ok"
			if r.atMost {
				sign = "at most"
			}
			if !r.holds() {
				verdict = "MISSED"
				failed++
			}
			fmt.Fprintf(out, "%s\t%.2f%s\t%s %.2f%s\t%s\t%s\n", r.what, r.got, r.unit, sign, r.limit, r.unit,
				verdict, r.detail)
		}
		out.Flush()
		check(os.RemoveAll(b.dir))
	}
	if failed > 0 {
		return fmt.Errorf("%d limits are missed", failed)
	}
	return nil
}

// copyTo copies the program. How much of a program's file counts as its memory depends on how the file got
// into the page cache. A copy gets there in the same way each time.
func copyTo(path, program string) {
	from := must(os.Open(program))
	defer from.Close()
	to := must(os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755))
	defer to.Close()
	must(io.Copy(to, from))
	check(to.Close())
}

// failure is a panic with an error that ends the run: nothing can be measured after an error.
type failure struct{ err error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
