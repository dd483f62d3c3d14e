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
	"time"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// plannedRows is the number of rows in the files for payout plan. fewPlannedRows gives the floor of its
// memory.
const (
	plannedRows    = 100_000
	fewPlannedRows = 1_000
	planPairs      = 5
	planRounds     = 3
)

// payoutPlan measures payout plan, including the check of the addresses.
func payoutPlan(b *bench) []row { return append(b.planSpeed(), b.planMemory()...) }

// planSpeed compares payout plan with a program that reads and hashes the same file.
func (b *bench) planSpeed() []row {
	file := b.writeRows(plannedRows, false)
	peak := 0.0
	ratio := pairs(planPairs, func() time.Duration {
		took, memory := b.planFile(file, false)
		peak = max(peak, memory)
		return took
	}, command(nil, b.self, "-read-csv", file).run)
	what := "payout plan, 100,000 rows, addresses checked"
	return []row{
		{what: what + " / reading and hashing the same CSV, wall time", got: ratio, unit: "x", limit: 6, atMost: true,
			detail: fmt.Sprintf("median of %d pairs, whole processes", planPairs)},
		{what: what + ", peak memory", got: peak, unit: " MiB", limit: 64, atMost: true,
			detail: fmt.Sprintf("largest of %d runs", planPairs+1)},
	}
}

// planMemory measures the memory per row, with given and with derived order ids. The memory for a few rows is
// the floor, which is not counted.
func (b *bench) planMemory() (rows []row) {
	for _, derived := range []bool{false, true} {
		var took time.Duration
		peak := func(n int) float64 {
			file := b.writeRows(n, derived)
			peaks := make([]float64, planRounds)
			for i := range peaks {
				took, peaks[i] = b.planFile(file, derived)
			}
			return median(peaks)
		}
		kind := "given"
		if derived {
			kind = "derived"
		}
		floor, full := peak(fewPlannedRows), peak(plannedRows)
		rows = append(rows, row{what: "payout plan, memory for a row above the floor, 100,000 rows, order ids " + kind,
			got: (full - floor) * (1 << 20) / (plannedRows - fewPlannedRows), unit: " B", limit: 380, atMost: true,
			detail: fmt.Sprintf("median of %d; peak %.1f MiB at 1,000 rows, %.1f MiB at 100,000, which took %.1f s",
				planRounds, floor, full, took.Seconds())})
	}
	return rows
}

// planFile makes a plan of a file, with its own journal and a format for the addresses of Btc.
func (b *bench) planFile(file string, derived bool) (took time.Duration, peak float64) {
	dir := must(os.MkdirTemp(b.dir, ""))
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "config.yaml")
	check(os.WriteFile(config, []byte("currencies: [{code: Btc, decimals: 8, address_format: bitcoin}]\n"), 0o600))
	till := command(append(environment("https://pay.example.com"), "TILL_CONFIG="+config), b.till,
		"payout", "plan", file, "--out", filepath.Join(dir, "rows.plan"), "--journal",
		filepath.Join(dir, "journal.db"), "-q")
	if derived {
		till.args = append(till.args, "--auto-order-id", "bench")
	}
	return till.run(), till.peak
}

// readCSV is the baseline: it reads a file with encoding/csv and hashes it at the same time.
func readCSV(args []string) {
	f := must(os.Open(args[0]))
	defer f.Close()
	sum := sha256.New()
	rows := csv.NewReader(io.TeeReader(f, sum))
	count := 0
	for {
		_, err := rows.Read()
		if err == io.EOF {
			break
		}
		check(err)
		count++
	}
	fmt.Printf("%d %x\n", count, sum.Sum(nil))
}

// writeRows returns a file with the given number of rows.
func (b *bench) writeRows(n int, derived bool) string {
	f := must(os.Create(filepath.Join(b.dir, "rows.csv")))
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
		fmt.Fprintf(out, "%sBtc,%d,%s,,salary of person %d\n", id, 1_000_000+i*7%500_000, bitcoinAddress(i), i)
	}
	check(out.Flush())
	return f.Name()
}

// bitcoinAddress returns a valid address for each number.
func bitcoinAddress(i int) string {
	var program [20]byte
	binary.BigEndian.PutUint64(program[:], uint64(i)*0x9e3779b97f4a7c15)
	data := must(bech32.ConvertBits(program[:], 8, 5, true))
	return must(bech32.Encode("bc", append([]byte{0}, data...)))
}
