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

// bench is what a benchmark works with: the program that is measured, this one, and a directory of its own on a disk,
// where a sync costs what it costs there.
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
			fmt.Fprintf(out, "%s\t%.2f%s\t%s %.2f%s\t%s\t%s\n", r.what, r.got, r.unit, sign, r.limit, r.unit, verdict, r.detail)
		}
		out.Flush()
		check(os.RemoveAll(b.dir))
	}
	if failed > 0 {
		return fmt.Errorf("%d limits are missed", failed)
	}
	return nil
}

// copyTo copies the program. How much of a program's file counts as its memory depends on how the file came to lie in
// the page cache; a copy lies there in the same way each time.
func copyTo(path, program string) {
	from := must(os.Open(program))
	defer from.Close()
	to := must(os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755))
	defer to.Close()
	must(io.Copy(to, from))
	check(to.Close())
}

// failure is a panic with an error that ends the run: there is nothing to measure after one.
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
