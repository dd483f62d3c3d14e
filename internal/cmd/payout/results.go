package payout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// resultsRow is the approximate length of a row in the results file, in bytes: an order id, a state and a
// UUID.
const resultsRow = 64

// parseDigest reads the value of --digest: 64 hex digits in any case, with or without the prefix sha256:.
func parseDigest(text string) (string, error) {
	digits := strings.ToLower(text)
	digits = strings.TrimPrefix(digits, "sha256:")
	if sum, err := hex.DecodeString(digits); err != nil || len(sum) != sha256.Size {
		return "", cmdutil.UsageError(fmt.Sprintf("--digest: %q is not a digest, which has 64 hex digits", text),
			"give the digest that was approved, all of it")
	}
	return "sha256:" + digits, nil
}

// checkResults refuses to replace a file that is not an earlier results file.
func checkResults(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cmdutil.UsageError(fmt.Sprintf("--results: %s cannot be looked at: %v", path, err), "name another file")
	}
	defer f.Close()
	head := strings.Join(resultsView().Names(), ",")
	begins := make([]byte, len(head))
	if n, err := io.ReadFull(f, begins); err == io.EOF || n == len(head) && string(begins) == head {
		return nil
	}
	return cmdutil.UsageError(fmt.Sprintf("--results: %s exists and is not a results file", path),
		"name another file, or remove this one")
}

// writeResults replaces the results file with the states of the run's orders, in the order of the plan.
func writeResults(
	s *cmdutil.Session, ctx context.Context, sender *payout.Sender, run payout.Run, file cmdutil.OutFile,
) error {
	err := file.Write(func(w io.Writer) error {
		return resultsView().List(w, render.Options{Format: render.CSV}, func(yield func(payout.Order, error) bool) {
			for o, err := range sender.Results(ctx, run.Name) {
				if !yield(o, err) {
					return
				}
			}
		})
	})
	if lost, ok := errors.AsType[*cmdutil.Error](err); ok {
		lost.Hint = payout.NewHint("the journal has them", "payout", "export", run.Name)
	}
	return err
}

// aboutCount says what the number of orders in a state means.
func aboutCount(state payout.State) string {
	if state == payout.StateConflict {
		return "number of orders in conflict"
	}
	return "number of orders that are " + string(state)
}

func resultsView() render.View[payout.Order] {
	type row = payout.Order
	return render.View[row]{Columns: []render.Column[row]{
		{Name: "order_id", About: "your own number for the withdrawal",
			Cell: func(o row) render.Cell { return render.Own(o.OrderID) }},
		{Name: "state", About: "state of the order in the journal",
			Cell: func(o row) render.Cell { return render.Own(string(o.State)) }},
		{Name: "id", About: "the service's id of the withdrawal",
			Cell: func(o row) render.Cell { return render.Text(render.Safe(o.ID)) }},
		// on one line
		{Name: "reason", About: "why the order has its state",
			Cell: func(o row) render.Cell { return render.Text(render.Safe(o.Reason)) }},
	}}
}

// appliedLine is an applied plan as JSON.
type appliedLine struct {
	Run      string          `json:"run" schema:"run"`
	Plan     string          `json:"plan"`
	Digest   string          `json:"digest" schema:"digest"`
	Rows     int             `json:"rows"`
	Accepted int             `json:"accepted"`
	Rejected int             `json:"rejected"`
	Unknown  int             `json:"unknown"`
	Conflict int             `json:"conflict"`
	Planned  int             `json:"planned"`
	Before   int             `json:"already_paid"`
	Totals   []planTotalLine `json:"totals"`
	Paid     []planTotalLine `json:"accepted_totals"`
	Results  string          `json:"results"`
}

func (r applied) line() appliedLine {
	t := r.tally
	return appliedLine{
		Run: r.run.Name, Plan: r.run.Plan, Digest: r.run.Digest, Rows: t.Rows, Accepted: t.States[payout.StateAccepted],
		Rejected: t.States[payout.StateRejected],
		Unknown:  t.States[payout.StateUnknown] + t.States[payout.StateSending],
		Conflict: t.States[payout.StateConflict], Planned: t.States[payout.StatePlanned], Before: t.Before,
		Totals: r.totals(t.Totals), Paid: r.totals(t.Accepted), Results: r.results,
	}
}

func (r applied) totals(totals []payout.Total) []planTotalLine {
	lines := make([]planTotalLine, len(totals))
	for i, total := range totals {
		lines[i] = planTotalLine{total.Amount, r.plan.Pays(total.Amount), total.Rows}
	}
	return lines
}

func appliedView(m money.Registry) render.View[applied] {
	type row = applied
	sum := func(r row, ofUnit api.BigAmount, all []planTotalLine) render.Cell {
		if r.byUnit && ofUnit.Code != "" {
			return sumCell(m, ofUnit, r.plan.Decimals(ofUnit))
		}
		return render.Own(joinTotals(all))
	}
	count := func(name, about string, n func(appliedLine) int) render.Column[row] {
		return render.Column[row]{Name: name, About: about,
			Cell: func(r row) render.Cell { return render.Int(int64(n(r.line()))) }}
	}
	view := render.View[row]{
		ID:   func(r row) string { return r.run.Name },
		JSON: render.Encoded(row.line),
		Columns: []render.Column[row]{
			{Name: "run", About: "name of the run",
				Whole: true, Cell: func(r row) render.Cell { return render.Own(r.run.Name) }},
			count("rows", "number of orders", func(l appliedLine) int { return l.Rows }),
			count("accepted", aboutCount(payout.StateAccepted), func(l appliedLine) int { return l.Accepted }),
			count("rejected", aboutCount(payout.StateRejected), func(l appliedLine) int { return l.Rejected }),
			count("unknown", aboutCount(payout.StateUnknown), func(l appliedLine) int { return l.Unknown }),
			count("conflict", aboutCount(payout.StateConflict), func(l appliedLine) int { return l.Conflict }),
			count("planned", aboutCount(payout.StatePlanned), func(l appliedLine) int { return l.Planned }),
			count("already_paid", "accepted orders that this run did not send",
				func(l appliedLine) int { return l.Before }),
			{Name: "total", About: "total of the plan", Amount: true, Cell: func(r row) render.Cell {
				total, _ := unitOf(r.tally)
				return sum(r, total, r.line().Totals)
			}},
			{Name: "accepted_total", About: "total of the accepted orders",
				Amount: true, Cell: func(r row) render.Cell {
					_, accepted := unitOf(r.tally)
					return sum(r, accepted, r.line().Paid)
				}},
		},
	}
	return view
}

func joinTotals(totals []planTotalLine) (text string) {
	for i, t := range totals {
		if i > 0 {
			text += ", "
		}
		text += t.Pays
	}
	return text
}
