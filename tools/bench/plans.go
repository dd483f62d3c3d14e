package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// plannedRows is the size of the files that payout plan is measured with, and fewPlannedRows the floor of its memory.
const (
	plannedRows    = 100_000
	fewPlannedRows = 1_000
	planPairs      = 5
	planRounds     = 3
)

// payoutPlan measures payout plan with the addresses checked.
func payoutPlan(till string) ([]row, error) {
	dir, err := os.MkdirTemp("", "till-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "rows.csv")
	rows, err := planSpeed(till, file)
	if err != nil {
		return nil, err
	}
	more, err := planMemory(till, file)
	return append(rows, more...), err
}

// planSpeed compares it with a program that reads and hashes the same file.
func planSpeed(till, file string) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := writeRows(file, plannedRows, false); err != nil {
		return nil, err
	}
	peak := 0.0
	ratio, err := pairs(planPairs, func() (time.Duration, error) {
		p, err := planFile(till, file, false)
		peak = max(peak, p.peak)
		return p.wall, err
	}, func() (time.Duration, error) {
		p, err := start(nil, os.Environ(), self, "-read-csv", file)
		return p.wall, err
	})
	what := "payout plan, 100,000 rows, addresses checked"
	return []row{
		{what: what + " / reading and hashing the same CSV, wall time", got: ratio, unit: "x", limit: 6, atMost: true, detail: fmt.Sprintf("median of %d pairs, whole processes", planPairs)},
		{what: what + ", peak memory", got: peak, unit: " MiB", limit: 64, atMost: true, detail: fmt.Sprintf("largest of %d runs", planPairs+1)},
	}, err
}

// planMemory measures what a row takes of its memory, with order ids that are given and with derived ones. What the program
// takes for few rows is the floor, and not counted.
func planMemory(till, file string) (rows []row, err error) {
	for _, kind := range []struct {
		what    string
		derived bool
	}{{"order ids given", false}, {"order ids derived", true}} {
		peaks := map[int]float64{}
		var took time.Duration
		for _, n := range []int{fewPlannedRows, plannedRows} {
			if err := writeRows(file, n, kind.derived); err != nil {
				return nil, err
			}
			var all []float64
			for range planRounds {
				p, err := planFile(till, file, kind.derived)
				if err != nil {
					return nil, err
				}
				all = append(all, p.peak)
				took = p.wall
			}
			slices.Sort(all)
			peaks[n] = all[planRounds/2]
		}
		rows = append(rows, row{what: fmt.Sprintf("payout plan, memory for a row above the floor, 100,000 rows, %s", kind.what),
			got: (peaks[plannedRows] - peaks[fewPlannedRows]) * (1 << 20) / (plannedRows - fewPlannedRows), unit: " B", limit: 200, atMost: true,
			detail: fmt.Sprintf("median of %d; peak %.1f MiB at 1,000 rows, %.1f MiB at 100,000, which took %.1f s", planRounds, peaks[fewPlannedRows], peaks[plannedRows], took.Seconds())})
	}
	return rows, nil
}

// planFile makes a plan of a file, against a journal of its own, with a format for the addresses of Btc.
func planFile(till, file string, derived bool) (process, error) {
	dir, err := os.MkdirTemp("", "till-bench")
	if err != nil {
		return process{}, err
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("currencies: [{code: Btc, decimals: 8, address_format: bitcoin}]\n"), 0o600); err != nil {
		return process{}, err
	}
	args := []string{"payout", "plan", file, "--out", filepath.Join(dir, "rows.plan"), "--journal", filepath.Join(dir, "journal.db"), "-q"}
	if derived {
		args = append(args, "--auto-order-id", "bench")
	}
	return start(nil, append(environment("https://pay.example.com"), "TILL_CONFIG="+config), till, args...)
}

// readCSV is the baseline: it reads a file with encoding/csv and hashes it on the way.
func readCSV(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	rows := csv.NewReader(io.TeeReader(f, sum))
	count := 0
	for {
		_, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		count++
	}
	_, err = fmt.Printf("%d %x\n", count, sum.Sum(nil))
	return err
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
		to, err := bitcoinAddress(i)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%sBtc,%d,%s,,salary of person %d\n", id, 1_000_000+i*7%500_000, to, i)
	}
	return out.Flush()
}

// bitcoinAddress is a valid address for each number.
func bitcoinAddress(i int) (string, error) {
	var program [20]byte
	binary.BigEndian.PutUint64(program[:], uint64(i)*0x9e3779b97f4a7c15)
	data, err := bech32.ConvertBits(program[:], 8, 5, true)
	if err != nil {
		return "", err
	}
	return bech32.Encode("bc", append([]byte{0}, data...))
}
