package payout

import (
	"bufio"
	"context"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"example.com/till/pkg/payout/sheet/xlsx"
)

// resultsRow is the approximate length of a row in the results file, in bytes: an order id, an address,
// a state and a UUID.
const resultsRow = 128

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

// recordsIn yields the records of a results file, the header first, or one without fields that is no header. It
// yields nothing if the file is empty.
func recordsIn(f io.Reader, workbook bool) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		in := bufio.NewReader(f)
		if start, _ := in.Peek(1); len(start) == 0 {
			return
		}
		if workbook {
			data, _ := io.ReadAll(io.LimitReader(in, xlsx.MaxFile))
			found := false
			xlsx.Texts(data)(func(record []string) bool { found = true; return len(record) > 0 && yield(record) })
			if !found {
				yield(nil)
			}
			return
		}
		if start, _ := in.Peek(len(utf8Mark)); string(start) == utf8Mark {
			in.Discard(len(utf8Mark))
		}
		start, _ := in.Peek(len("order_id") + 1)
		comma, is := strings.CutPrefix(string(start), "order_id")
		if !is || comma == "" || !strings.Contains(",;\t", comma) {
			yield(nil)
			return
		}
		records := stdcsv.NewReader(in)
		records.Comma = rune(comma[0])
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
func writeResults(ctx context.Context, sender *payout.Sender, plan *payout.Plan, file cmdutil.OutFile) error {
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
