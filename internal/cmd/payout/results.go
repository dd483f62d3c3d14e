package payout

import (
	"bufio"
	"context"
	"crypto/sha256"
	stdcsv "encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"example.com/till/pkg/payout/sheet/xlsx"
)

// resultsRow is the approximate length of a row in the results file, in bytes: an order id, an address,
// a state and a UUID.
const resultsRow = 128

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

// resultsHeader is the first line of a results file. oldHeader is that of earlier versions.
const (
	resultsHeader = "order_id,reference,note,state,id,currency,amount,address,reason"
	oldHeader     = "order_id,state,id,reason"
)

const utf8Mark = "\ufeff"

// isWorkbook reports whether a results file is to be a workbook.
func isWorkbook(path string) bool { return strings.EqualFold(filepath.Ext(path), "."+workbook) }

// checkResults refuses to replace a file that is not an earlier results file. If it was named, it must also
// be one of this plan: the results of another run may be wanted.
func checkResults(path string, plan *payout.Plan, named bool) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cmdutil.UsageError(fmt.Sprintf("--results: %s cannot be looked at: %v", path, err), "name another file")
	}
	defer f.Close()
	place := -1 // of a row; that of the header is -1
	for record := range recordsIn(f, isWorkbook(path)) {
		switch head := strings.Join(record, ","); {
		case place < 0 && head != resultsHeader && head != oldHeader:
			return cmdutil.UsageError(fmt.Sprintf("--results: %s exists and is not a results file", path),
				"name another file, or remove this one")
		case place < 0:
		case !named:
			return nil
		case place == len(plan.Rows) || record[0] != plan.Rows[place].ExternalOrderID:
			return cmdutil.UsageError(fmt.Sprintf("--results: %s has the results of another run, with order %s", path, record[0]),
				"name another file, or move this one away")
		}
		place++
	}
	return nil
}

// recordsIn yields the records of a results file, the header first, or one record that is no header. It
// yields nothing if the file is empty.
func recordsIn(f io.Reader, workbook bool) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		in, found := bufio.NewReader(f), false
		if start, _ := in.Peek(1); len(start) == 0 {
			return
		}
		if workbook {
			data, _ := io.ReadAll(io.LimitReader(in, xlsx.MaxFile))
			xlsx.Texts(data)(func(record []string) bool { found = true; return len(record) > 0 && yield(record) })
			if !found {
				yield([]string{"no results"})
			}
			return
		}
		if start, _ := in.Peek(len(utf8Mark)); string(start) == utf8Mark {
			in.Discard(len(utf8Mark))
		}
		const first = "order_id"
		start, _ := in.Peek(len(first) + 1)
		if !strings.HasPrefix(string(start), first) || len(start) == len(first) || !strings.ContainsAny(string(start), ",;\t") {
			yield([]string{"no results"})
			return
		}
		records := stdcsv.NewReader(in)
		records.Comma = rune(start[len(first)])
		for {
			record, err := records.Read()
			if err != nil || !yield(record) {
				return
			}
		}
	}
}

// writeResults replaces the results file with the run's orders, in the order of the plan. It has the
// delimiter and the decimal mark of the plan's layout.
func writeResults(
	s *cmdutil.Session, ctx context.Context, sender *payout.Sender, plan *payout.Plan, file cmdutil.OutFile,
) error {
	var l sheet.Layout
	if plan.Layout != nil {
		l = *plan.Layout
	}
	err := file.Write(func(w io.Writer) error {
		if isWorkbook(file.Path) {
			return xlsx.Write(w, records(sender.Results(ctx, plan.Name()), plan, sheet.Layout{}), "amount")
		}
		if plan.Layout != nil { // the mark of UTF-8, without which Excel takes another encoding
			io.WriteString(w, utf8Mark)
		}
		out, comma := bufio.NewWriter(w), ','
		switch {
		case l.Delimiter != "":
			comma = rune(l.Delimiter[0])
		case l.Decimal == ",": // as programs do where the decimal mark is a comma
			comma = ';'
		}
		for record, err := range records(sender.Results(ctx, plan.Name()), plan, l) {
			if err != nil {
				return err
			}
			if err := render.CSVLine(out, comma, record); err != nil {
				return err
			}
		}
		return out.Flush()
	})
	if lost, ok := errors.AsType[*cmdutil.Error](err); ok {
		lost.Hint = payout.NewHint("the journal has them", "payout", "export", plan.Name())
	}
	return err
}

// records yields the lines of a results file.
func records(orders iter.Seq2[payout.Order, error], plan *payout.Plan, l sheet.Layout) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		if !yield(strings.Split(resultsHeader, ","), nil) {
			return
		}
		for o, err := range orders {
			amount := plan.Pays(api.Big(o.Amount))
			if number, code, _ := strings.Cut(amount, " "); strings.EqualFold(code, o.Currency.Code) {
				amount = number
			}
			if l.Decimal == "," {
				amount = strings.Replace(amount, ".", ",", 1)
			}
			if !yield([]string{o.OrderID, o.Reference, o.Note, string(o.State), render.CSVText(render.Safe(o.ID)),
				o.Currency.Code, amount, o.Address, render.CSVText(render.Safe(o.Reason))}, err) {
				return
			}
		}
	}
}

// aboutCount says what the number of orders in a state means.
func aboutCount(state payout.State) string {
	if state == payout.StateConflict {
		return "number of orders in conflict"
	}
	return "number of orders that are " + string(state)
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
		lines[i] = newTotalLine(total, r.plan.Decimals(total.Amount), r.plan.Pays(total.Amount))
	}
	return lines
}

func appliedView(m money.Registry) render.View[applied] {
	type row = applied
	sum := func(r row, ofUnit api.BigAmount, all []planTotalLine) render.Cell {
		if r.byUnit && ofUnit.Code != "" {
			return sumCell(m, ofUnit, r.plan.Decimals(ofUnit))
		}
		return sumsCell(all)
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

// sumsCell returns all totals as one text.
func sumsCell(totals []planTotalLine) render.Cell {
	amounts := make([]string, len(totals))
	for i, t := range totals {
		amounts[i] = t.Pays
	}
	return render.Sums(amounts)
}
