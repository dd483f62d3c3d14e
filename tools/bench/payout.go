package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/till/pkg/api"
	gojson "github.com/go-json-experiment/json"
)

// These rows compare applying a plan with programs that send the same. When till applies a plan, it syncs
// each row to the journal before it sends the row, and after the answer.

const (
	appliedRows  = 10_000
	appliedPairs = 5
	curledRows   = 300
	curledPairs  = 3
	fewRows      = 1_000
	manyRows     = 100_000
	growthRounds = 3
)

// payments returns rows that differ as real ones do.
func payments(n int) []api.CreateWithdrawal {
	all := make([]api.CreateWithdrawal, n)
	for i := range all {
		all[i] = api.CreateWithdrawal{
			Currency:        api.Currency{Kind: api.Crypto, Code: "Btc"},
			Amount:          api.Amount{Kind: api.Crypto, Code: "Btc", Minor: int64(100_000 + i*7919%900_000)},
			Address:         bitcoinAddress(i),
			ExternalOrderID: strconv.Itoa(1_000_000 + i),
		}
	}
	return all
}

// payoutWorld is a new sandbox of the binary, and plans to apply to it.
type payoutWorld struct {
	service
	till, self, dir string
}

// inWorld measures something in a new world.
func (b *bench) inWorld(measure func(*payoutWorld) time.Duration) func() time.Duration {
	return func() time.Duration {
		w := &payoutWorld{service: b.sandbox(), till: b.till, self: b.self, dir: must(os.MkdirTemp(b.dir, ""))}
		defer os.RemoveAll(w.dir)
		defer w.stop()
		return measure(w)
	}
}

func (w *payoutWorld) command(args ...string) *program {
	return command(append(environment(w.url), "TILL_JOURNAL="+filepath.Join(w.dir, "journal.db")), w.till, args...)
}

// plan makes a plan of the given number of rows.
func (w *payoutWorld) plan(rows int) (plan string) {
	path := filepath.Join(w.dir, "rows.csv")
	plan = path + ".plan"
	var text bytes.Buffer
	file := csv.NewWriter(&text)
	file.Write([]string{"order_id", "currency", "amount_minor", "address"})
	for _, r := range payments(rows) {
		file.Write([]string{r.ExternalOrderID, "crypto:Btc", strconv.FormatInt(r.Amount.Minor, 10), r.Address})
	}
	file.Flush()
	check(os.WriteFile(path, text.Bytes(), 0o600))
	w.command("payout", "plan", path, "--out", plan, "--expires", "720h").run()
	return plan
}

// apply makes a plan of the given number of rows and applies it. It returns how long the whole process of
// payout apply took.
func (w *payoutWorld) apply(rows int) time.Duration {
	var out bytes.Buffer
	apply := w.command("payout", "apply", w.plan(rows), "--yes", "--concurrency", strconv.Itoa(connections), "--jq",
		".accepted")
	apply.stdout = &out
	took := apply.run()
	if accepted := strings.TrimSpace(out.String()); accepted != strconv.Itoa(rows) {
		check(fmt.Errorf("%s of %d rows were accepted", accepted, rows))
	}
	return took
}

// post sends the same with net/http, with connections calls at a time, and keeps no record.
func (w *payoutWorld) post(bodies [][]byte) time.Duration {
	client := poster()
	defer client.CloseIdleConnections()
	return together(connections, len(bodies), func(_, number int) error {
		var id string
		return exchange(context.Background(), client, http.MethodPost, w.url+createPath, bodies[number], &id)
	})
}

func poster() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: 128, MaxIdleConnsPerHost: 128,
		IdleConnTimeout: time.Minute}}
}

// curl sends rows as a shell script would, with a process for each.
func (w *payoutWorld) curl(bodies [][]byte) time.Duration {
	path := filepath.Join(w.dir, "bodies")
	check(os.WriteFile(path, append(bytes.Join(bodies, []byte("\n")), '\n'), 0o600))
	return command(append(os.Environ(), "URL="+w.url+createPath), "sh", "-c",
		`while read -r body; do curl -sSf -o "$2" -H "Authorization: Bearer `+sandboxKey+`" -H "Content-Type: application/json" -d "$body" "$URL" || exit; done <"$1"`,
		"sh", path, os.DevNull).run()
}

// payout compares the sending of a plan with a sender that checks nothing, and with a shell script.
func payout(b *bench) []row {
	var bodies [][]byte
	for _, r := range payments(appliedRows) {
		bodies = append(bodies, must(gojson.Marshal(r)))
	}
	apply := b.inWorld(func(w *payoutWorld) time.Duration { return w.apply(appliedRows) })
	floor := b.inWorld(func(w *payoutWorld) time.Duration { return w.floor(appliedRows) })
	ofFloor := pairs(appliedPairs, floor, apply)
	reach := pairs(appliedPairs, b.inWorld(func(w *payoutWorld) time.Duration { return w.post(bodies) }), floor)
	perRow := float64(appliedRows) / curledRows // the rates are compared, and the scripts send less
	curl := pairs(curledPairs,
		b.inWorld(func(w *payoutWorld) time.Duration { return w.curl(bodies[:curledRows]) }), apply)
	name := fmt.Sprintf("payout apply --concurrency %d, whole process", connections)
	return []row{
		{what: name + " / a program that records the same and checks nothing, rows per second", got: ofFloor,
			unit: "x", limit: 0.65,
			detail: fmt.Sprintf("median of %d pairs; this program: %.2fx of net/http without a journal, about %.0fx of curl",
				appliedPairs, reach, curl*perRow/ofFloor)},
		{what: name + " / a shell loop of curl, rows per second", got: curl * perRow, unit: "x", limit: 40,
			detail: fmt.Sprintf("median of %d pairs of %d rows and %d", curledPairs, appliedRows, curledRows)},
	}
}

// payoutGrowth shows that a row costs the same in a plan of any size. It measures the whole process,
// including what is done only once, which is most of what makes a row cheaper in a large plan.
func payoutGrowth(b *bench) []row {
	// perRow is the time per row in nanoseconds, as the median of the given number of runs.
	perRow := func(times, rows int) float64 {
		measure := b.inWorld(func(w *payoutWorld) time.Duration { return w.apply(rows) })
		all := make([]float64, times)
		for i := range all {
			all[i] = float64(measure()) / float64(rows)
		}
		return median(all)
	}
	var byFew, bySome []float64
	for range growthRounds {
		few, some, many := perRow(9, fewRows), perRow(3, appliedRows), perRow(1, manyRows)
		byFew, bySome = append(byFew, many/few), append(bySome, many/some)
	}
	return []row{{what: "payout apply, time per row at 100,000 rows / at 1,000", got: median(byFew), unit: "x",
		limit: 1.2, atMost: true,
		detail: fmt.Sprintf("median of %d rounds; against 10,000 rows: %.2fx", growthRounds, median(bySome))}}
}
