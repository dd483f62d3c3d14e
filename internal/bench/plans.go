package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// payoutPlan measures what a row takes of the memory of payout plan, with order ids that are given and with derived ones. What
// the program takes for few rows is the floor, and not counted.
func payoutPlan(till string) ([]row, error) {
	const few, many, rounds = 1_000, 100_000, 3
	var rows []row
	for _, kind := range []struct {
		what    string
		derived bool
	}{{"order ids given", false}, {"order ids derived", true}} {
		peaks := map[int]float64{}
		var took time.Duration
		for _, n := range []int{few, many} {
			var all []float64
			for range rounds {
				p, err := planRows(till, n, kind.derived)
				if err != nil {
					return nil, err
				}
				all = append(all, p.peak)
				took = p.wall
			}
			slices.Sort(all)
			peaks[n] = all[rounds/2]
		}
		rows = append(rows, row{what: fmt.Sprintf("payout plan, memory for a row above the floor, 100,000 rows, %s", kind.what),
			got: (peaks[many] - peaks[few]) * (1 << 20) / (many - few), unit: " B", limit: 200, atMost: true,
			detail: fmt.Sprintf("median of %d; peak %.1f MiB at 1,000 rows, %.1f MiB at 100,000, which took %.1f s", rounds, peaks[few], peaks[many], took.Seconds())})
	}
	return rows, nil
}

// planRows makes a plan of so many rows, against a journal of its own.
func planRows(till string, n int, derived bool) (process, error) {
	dir, err := os.MkdirTemp("", "till-bench")
	if err != nil {
		return process{}, err
	}
	defer os.RemoveAll(dir)
	args := []string{"payout", "plan", filepath.Join(dir, "rows.csv"), "--out", filepath.Join(dir, "rows.plan"), "--journal", filepath.Join(dir, "journal.db"), "-q"}
	if derived {
		args = append(args, "--auto-order-id", "bench")
	}
	if err := writeRows(args[2], n, derived); err != nil {
		return process{}, err
	}
	return start(nil, environment("https://pay.example.com"), till, args...)
}

func writeRows(path string, n int, derived bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	id := "order_id,"
	if derived {
		id = ""
	}
	fmt.Fprintf(out, "%scurrency,amount_minor,address,memo,note\n", id)
	for i := range n {
		if !derived {
			id = fmt.Sprintf("%d,", i+1)
		}
		fmt.Fprintf(out, "%sBtc,%d,bc1qar0srrr7xfkvy5l643lydnw9re59%09d,,salary of person %d\n", id, 1_000_000+i*7%500_000, i, i)
	}
	return out.Flush()
}
