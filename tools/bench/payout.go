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
	"sync"
	"time"

	"example.com/till/pkg/api"
	gojson "github.com/go-json-experiment/json"
)

// These rows hold a plan that is applied, each row of it synced to the journal before it is sent and after it is answered,
// against programs that send the same and keep no record.

const (
	appliedRows  = 10_000
	appliedPairs = 5
	curledRows   = 300
	curledPairs  = 3
	fewRows      = 1_000
	manyRows     = 100_000
	growthRounds = 3
)

// payments are rows that differ as people do.
func payments(n int) []api.CreateWithdrawal {
	all := make([]api.CreateWithdrawal, n)
	for i := range all {
		all[i] = api.CreateWithdrawal{
			Currency: api.Currency{Kind: api.Crypto, Code: "Btc"}, Amount: api.Amount{Kind: api.Crypto, Code: "Btc", Minor: int64(100_000 + i*7919%900_000)},
			Address: fmt.Sprintf("bc1q%08xrr7xfkvy5l643lydnw9re59gtzzwf5mdq", uint32(i)*2654435761), ExternalOrderID: strconv.Itoa(1_000_000 + i),
		}
	}
	return all
}

// payoutWorld is a sandbox as the binary serves it, and plans to apply to it.
type payoutWorld struct {
	service
	till, dir string
}

// newPayoutWorld is one in which nothing was ever sent.
func newPayoutWorld(till string) (*payoutWorld, error) {
	dir, err := os.MkdirTemp("", "till-bench") // on a disk: a sync costs what it costs there
	if err != nil {
		return nil, err
	}
	s, err := startSandbox(till)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	stop := s.stop
	s.stop = func() { stop(); os.RemoveAll(dir) }
	return &payoutWorld{service: s, till: till, dir: dir}, nil
}

// inWorld measures something in a world of its own.
func inWorld(till string, measure func(*payoutWorld) (time.Duration, error)) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		w, err := newPayoutWorld(till)
		if err != nil {
			return 0, err
		}
		defer w.stop()
		return measure(w)
	}
}

// plan makes a plan of so many rows, which can be applied with any number of journals.
func (w *payoutWorld) plan(n int) (string, error) {
	path := filepath.Join(w.dir, fmt.Sprintf("%d.csv", n))
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	out.Write([]string{"order_id", "currency", "amount_minor", "address"})
	for _, r := range payments(n) {
		out.Write([]string{r.ExternalOrderID, "crypto:Btc", strconv.FormatInt(r.Amount.Minor, 10), r.Address})
	}
	out.Flush()
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return "", err
	}
	_, err := start(nil, w.environment(), w.till, "payout", "plan", path, "--out", path+".plan", "--expires", "720h")
	return path + ".plan", err
}

func (w *payoutWorld) environment() []string {
	return append(environment(w.url), "TILL_JOURNAL="+filepath.Join(w.dir, "journal.db"))
}

// apply makes a plan and applies it, and returns how long the whole process took that applied it.
func (w *payoutWorld) apply(rows int) (time.Duration, error) {
	plan, err := w.plan(rows)
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	p, err := start(&out, w.environment(), w.till, "payout", "apply", plan, "--yes", "--concurrency", strconv.Itoa(connections), "--jq", ".accepted")
	if err == nil && strings.TrimSpace(out.String()) != strconv.Itoa(rows) {
		err = fmt.Errorf("%s of %d rows were accepted", strings.TrimSpace(out.String()), rows)
	}
	return p.wall, err
}

// post sends the same with net/http, so many at a time, and keeps no record.
func (w *payoutWorld) post(bodies [][]byte) (time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 128, MaxIdleConnsPerHost: 128, IdleConnTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	queue := make(chan []byte)
	errs := make(chan error, connections)
	var group sync.WaitGroup
	begin := time.Now()
	for range connections {
		group.Go(func() {
			for body := range queue {
				var id string
				if err := exchange(context.Background(), client, http.MethodPost, w.url+createPath, body, &id); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for _, body := range bodies {
		queue <- body
	}
	close(queue)
	group.Wait()
	took := time.Since(begin)
	select {
	case err := <-errs:
		return 0, err
	default:
		return took, nil
	}
}

// curl sends rows as a shell script would: a process for each.
func (w *payoutWorld) curl(bodies [][]byte) (time.Duration, error) {
	path := filepath.Join(w.dir, "bodies")
	if err := os.WriteFile(path, append(bytes.Join(bodies, []byte("\n")), '\n'), 0o600); err != nil {
		return 0, err
	}
	p, err := start(nil, append(os.Environ(), "URL="+w.url+createPath), "sh", "-c",
		`while read -r body; do curl -sSf -o "$2" -H "Authorization: Bearer `+sandboxKey+`" -H "Content-Type: application/json" -d "$body" "$URL" || exit; done <"$1"`,
		"sh", path, os.DevNull)
	return p.wall, err
}

// payout holds the sending of a plan against senders without a journal.
func payout(till string) ([]row, error) {
	var bodies [][]byte
	for _, r := range payments(appliedRows) {
		body, err := gojson.Marshal(r)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	apply := inWorld(till, func(w *payoutWorld) (time.Duration, error) { return w.apply(appliedRows) })
	bare, err := pairs(appliedPairs, inWorld(till, func(w *payoutWorld) (time.Duration, error) { return w.post(bodies) }), apply)
	if err != nil {
		return nil, err
	}
	perRow := float64(appliedRows) / curledRows // the rates are compared, and the scripts send less
	curl, err := pairs(curledPairs, inWorld(till, func(w *payoutWorld) (time.Duration, error) { return w.curl(bodies[:curledRows]) }), apply)
	name := fmt.Sprintf("payout apply --concurrency %d, whole process", connections)
	return []row{
		{what: name + " / net/http without a journal, rows per second", got: bare, unit: "x", limit: 0.35, detail: fmt.Sprintf("median of %d pairs of %d rows, sent to a sandbox", appliedPairs, appliedRows)},
		{what: name + " / a shell loop of curl, rows per second", got: curl * perRow, unit: "x", limit: 40, detail: fmt.Sprintf("median of %d pairs of %d rows and %d", curledPairs, appliedRows, curledRows)},
	}, err
}

// payoutGrowth shows that a row costs the same however many there are. The whole process counts, also what it does but
// once, which is most of what a row costs less among many.
func payoutGrowth(till string) ([]row, error) {
	perRow := func(n int) func() (time.Duration, error) {
		return inWorld(till, func(w *payoutWorld) (time.Duration, error) {
			took, err := w.apply(n)
			return took / time.Duration(n), err
		})
	}
	var byFew, bySome []float64
	for range growthRounds {
		var took [3]time.Duration
		var err error
		for i, measure := range []func() (time.Duration, error){middle(9, perRow(fewRows)), middle(3, perRow(appliedRows)), perRow(manyRows)} {
			if took[i], err = measure(); err != nil {
				return nil, err
			}
		}
		byFew, bySome = append(byFew, float64(took[2])/float64(took[0])), append(bySome, float64(took[2])/float64(took[1]))
	}
	return []row{{what: "payout apply, time per row at 100,000 rows / at 1,000", got: median(byFew), unit: "x", limit: 1.2, atMost: true,
		detail: fmt.Sprintf("median of %d rounds; against 10,000 rows: %.2fx", growthRounds, median(bySome))}}, nil
}

// middle measures several times and takes the median.
func middle(times int, measure func() (time.Duration, error)) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		var all []float64
		for range times {
			took, err := measure()
			if err != nil {
				return 0, err
			}
			all = append(all, float64(took))
		}
		return time.Duration(median(all)), nil
	}
}
