package payout

import (
	"bufio"
	"cmp"
	"context"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"example.com/till/pkg/payout/sheet/xlsx"
)

// lastWords bounds the use of the journal at the end of a run, which reads all its rows. Nothing else bounds
// it: even after a second signal, the run must report unknown orders.
func lastWords(rows int) time.Duration { return 10*time.Second + time.Duration(rows)*time.Millisecond }

// finish prints the state of the run and writes its results, even if the run failed.
func (a *applying) finish(sending error, out cmdutil.Output[runCounts]) error {
	a.Spinner.Stop()
	ctx, done := context.WithTimeout(context.WithoutCancel(a.SendCtx), lastWords(len(a.plan.Rows)))
	defer done()
	run := payout.Run{Name: a.plan.Name(), Digest: a.plan.Digest, Plan: a.plan.Path}
	sending = cmp.Or(sending, a.sender.Reap(ctx))
	tally, err := a.sender.Tally(ctx, run.Name)
	switch sent := a.batch.Sent(); {
	case err != nil && sent > 0: // their states are no longer readable
		return exit.Failure(exit.Unknown, err,
			fmt.Sprintf("%s sent, and the state of the run cannot be read: %v", countWas(sent, "order"), err),
			"do not send them again: apply the plan again when the journal can be read")
	case err != nil:
		return cmp.Or(sending, err)
	}
	written := writeResults(ctx, a.sender, a.plan, a.flags.results)
	printed := printApplied(a.Session, ctx, a.sender, runCounts{run: run, tally: tally, money: a.Money, results: a.flags.results.Path}, out)
	if lost, ok := errors.AsType[*render.WriteError](printed); ok {
		printed = exit.Failure(exit.Output, lost, fmt.Sprintf("run %s has ended, %s accepted, but %v", run.Name,
			isOf(tally.States[payout.StateAccepted], tally.Rows), lost), "see the state of each order", "payout", "export", run.Name)
	}
	if a.batch.Sent() == 0 {
		printed = exit.NothingSent(printed)
	}
	if a.idle && !exit.ReaderGone(printed) {
		a.Note("nothing was left to send")
	}
	if written == nil && !exit.ReaderGone(printed) {
		a.Note("results in %s", a.flags.results.Path)
	}
	verdict := runFailure(tally, run, a.began, sending)
	if verdict == nil { // all orders are accepted, but there may be something to report
		a.noteAccepted(run.Name, tally.Rows, sending)
		return cmp.Or(written, printed)
	}
	for _, err := range []error{written, printed} {
		if err != nil && !exit.ReaderGone(err) {
			a.Note("%v", err)
		}
	}
	if tally.States[payout.StateUnknown] > 0 {
		aboutUnknown(a.Session, ctx, a.sender.Ledger, run.Name)
	}
	return verdict
}

func (a *applying) noteAccepted(run string, rows int, sending error) {
	if sending != nil && exit.Explain(sending).Code != exit.Interrupted {
		a.Note("%v; all the same, every order of the run is recorded as accepted", sending)
	}
	if a.TableOnTerminal() && rows > 0 {
		a.NoteCommand([]string{"payout", "status", run, "--live"},
			"accepted is not yet paid; to see the service's own statuses:")
	}
}

// aboutUnknown makes the error of a command name the orders of a run that are unknown.
func aboutUnknown(s *cmdutil.Session, ctx context.Context, ledger *payout.Ledger, run string) {
	var ids []string
	for o, err := range ledger.Orders(ctx, payout.Filter{Run: run, States: []payout.State{payout.StateUnknown}}) {
		if err != nil {
			return // the error without them is worth more
		}
		ids = append(ids, o.OrderID)
	}
	s.Subject = exit.AboutOrders(ids...).Or(s.Subject)
}

// printApplied prints the summary of the whole run. In CSV it prints one line for each unit. What another process is
// sending counts as unknown.
func printApplied(
	s *cmdutil.Session, ctx context.Context, sender *payout.Sender, all runCounts, out cmdutil.Output[runCounts],
) error {
	tallies := []payout.Tally{all.tally}
	if all.byUnit = csvOfSums(out, "total", "accepted_total"); all.byUnit {
		var err error
		if tallies, err = sender.TallyByUnit(ctx, all.run.Name); err != nil { // the run is over: no exit code may say that nothing was sent
			return &render.WriteError{Err: err}
		}
	}
	units := make([]runCounts, len(tallies))
	for i, t := range tallies {
		t.States = maps.Clone(t.States)
		t.States[payout.StateUnknown] += t.States[payout.StateSending]
		units[i], units[i].tally = all, t
	}
	if all.byUnit {
		return out.Slice(units)
	}
	if s.TableOnTerminal() && s.Plain() && s.Sort == "" { // which may name any column
		out.View = out.View.Without(units[0].zeroes()...)
	}
	return out.One(units[0])
}

// zeroes returns the columns that have nothing to say.
func (r runCounts) zeroes() (names []string) {
	counts := map[string]int{"accepted_total": r.tally.States[payout.StateAccepted], "already_paid": r.tally.Before}
	for _, state := range payout.States() {
		counts[string(state)] = r.tally.States[state]
	}
	for name, n := range counts {
		if n == 0 {
			names = append(names, name)
		}
	}
	return names
}

func countWas(n int, noun string) string {
	return cmdutil.CountOf(n, noun) + oneOrMore(n, " was", " were")
}

func oneOrMore(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func isOf(n, all int) string {
	return fmt.Sprintf("%d of %s %s", n, cmdutil.CountOf(all, "order"), oneOrMore(n, "is", "are"))
}

// runFailure returns the error that a run ends with. Unknown orders matter most. If nothing was sent now, or
// nothing was accepted at all, it returns the cause.
func runFailure(t payout.Tally, ran payout.Run, began bool, err error) error {
	run := ran.Name
	accepted, rejected := t.States[payout.StateAccepted], t.States[payout.StateRejected]
	unknown, conflict := t.States[payout.StateUnknown], t.States[payout.StateConflict]
	planned := t.States[payout.StatePlanned]
	code, why := exit.Done, ""
	if err != nil {
		code, why = exit.Explain(err).Code, ": "+err.Error()
	}
	interrupted := code == exit.Interrupted
	if interrupted {
		why = ": interrupted"
	}
	grave := code == exit.Unknown || code == exit.Conflict
	counts := fmt.Sprintf("%s accepted, %d rejected, %d not sent", isOf(accepted, t.Rows), rejected, planned)
	see := "see which"
	if rejected > 0 && err == nil {
		see = "to send again what was rejected, apply the plan with --retry-rejected; see why"
	}
	end := func(code int, msg, hint string, command ...string) error {
		return exit.Failure(code, err, msg, hint, command...)
	}
	switch {
	case unknown > 0 && code != exit.Unknown:
		return end(exit.Unknown, isOf(unknown, t.Rows)+" unknown"+why, "do not send again what is unknown; find out with",
			"payout", "reconcile", run)
	case conflict > 1 && code != exit.Unknown:
		return end(exit.Conflict, isOf(conflict, t.Rows)+" in conflict"+why, "see what happened to the first",
			"journal", "show", t.Conflict)
	case conflict > 0 && !grave:
		return end(exit.Conflict, isOf(conflict, t.Rows)+" in conflict"+why, "see what happened", "journal", "show", t.Conflict)
	case accepted == t.Rows && (err == nil || interrupted || began && !grave):
		return nil // another process may have sent what this one could not
	case interrupted && began:
		return end(code, "interrupted: "+counts, "to go on, apply the plan again", "payout", "apply", ran.Plan)
	case !began || grave || code == exit.Unauthorized || code == exit.RateLimited:
		return err
	case accepted > 0 || err != nil && rejected > 0:
		return end(exit.Partial, counts+why, see, "payout", "status", run)
	case err != nil:
		return err
	case rejected == t.Rows:
		return end(exit.Rejected, fmt.Sprintf("all %d orders were rejected", rejected), see, "payout", "status", run)
	}
	return end(exit.Partial, fmt.Sprintf("%s rejected, and %d not sent", isOf(rejected, t.Rows), planned),
		see, "payout", "status", run)
}

// resultsRow is the approximate length of a row in the results file, in bytes: an order id, an address,
// a state and a UUID.
const resultsRow = 128

// resultsHeader is the first line of a results file. oldHeader is that of earlier versions.
const (
	resultsHeader = "order_id,reference,note,state,id,currency,amount,address,reason"
	oldHeader     = "order_id,state,id,reason"
)

const utf8Mark = "\ufeff"

func isWorkbook(path string) bool { return strings.EqualFold(filepath.Ext(path), "."+workbook) }

// checkResults refuses to replace a file that is not an earlier results file. If it was named, it must also
// have the ids that the journal has of this run: the results of another one may be wanted.
func (a *applying) checkResults() error {
	path, named := a.flags.results.Path, a.Cmd.Flags().Changed("results")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return exit.UsageError(fmt.Sprintf("--results: %s cannot be looked at: %v", path, err), "name another file")
	}
	defer f.Close()
	notResults := exit.UsageError(fmt.Sprintf("--results: %s exists and is not a results file", path),
		"name another file, or remove this one")
	next, stop := iter.Pull2(a.recorded)
	defer stop()
	column := -1 // of the service's ids, once the header is read
	for record := range recordsIn(f, isWorkbook(path)) {
		line := strings.Join(record, ",")
		switch {
		case column < 0 && line != resultsHeader && line != oldHeader:
			return notResults
		case column < 0:
			column = slices.Index(record, "id")
			continue
		case !named || line == "":
			return nil
		}
		o, err, more := next()
		if err != nil {
			return err
		}
		known := []string{"", render.CSVText(render.Safe(o.ID))}
		if !more || record[0] != o.OrderID || len(record) > column && !slices.Contains(known, record[column]) {
			return exit.UsageError(fmt.Sprintf("--results: %s has other results than this run, for order %s", path, record[0]),
				"name another file, or move this one away")
		}
	}
	if column < 0 {
		return notResults
	}
	return nil
}

// recorded yields the orders of the run as the journal has them: none before it has begun.
func (a *applying) recorded(yield func(payout.Order, error) bool) {
	if j, err := a.ExistingJournal(); err == nil {
		for o, err := range j.Ledger(a.plan.Account).Results(a.Ctx, a.plan.Name()) {
			if errors.Is(err, payout.ErrNotFound) || !yield(o, err) {
				return
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		yield(payout.Order{}, err)
	}
}

// recordsIn yields the records of a results file, the header first, as far as they can be read.
func recordsIn(f io.Reader, workbook bool) iter.Seq[[]string] {
	if workbook {
		data, _ := io.ReadAll(io.LimitReader(f, xlsx.MaxFile))
		return xlsx.Texts(data)
	}
	in := bufio.NewReader(f)
	if start, _ := in.Peek(len(utf8Mark)); string(start) == utf8Mark {
		in.Discard(len(utf8Mark))
	}
	records := stdcsv.NewReader(in)
	start, _ := in.Peek(len("order_id") + 1)
	if _, comma, _ := strings.Cut(string(start), "order_id"); comma == ";" || comma == "\t" {
		records.Comma = rune(comma[0])
	}
	return func(yield func([]string) bool) {
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
	l := *cmp.Or(plan.Layout, new(sheet.Layout))
	err := file.Write(func(w io.Writer) error {
		if isWorkbook(file.Path) {
			return xlsx.Write(w, records(sender.Results(ctx, plan.Name()), plan, sheet.Layout{}), "amount")
		}
		if plan.Layout != nil { // the mark of UTF-8, without which Excel takes another encoding
			io.WriteString(w, utf8Mark)
		}
		out, usual := bufio.NewWriter(w), ","
		if l.Decimal == "," { // as programs do where the decimal mark is a comma
			usual = ";"
		}
		comma := rune(cmp.Or(l.Delimiter, usual)[0])
		var line []byte
		for record, err := range records(sender.Results(ctx, plan.Name()), plan, l) {
			if err != nil {
				return err
			}
			line = render.CSVLine(line[:0], comma, record)
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return out.Flush()
	})
	if lost, ok := errors.AsType[*exit.Error](err); ok {
		lost.Hint = payout.NewHint("the journal has them", "payout", "export", plan.Name())
	}
	return err
}

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
