package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/render"
	"example.com/till/pkg/payout"
)

// lastWords bounds the use of the journal at the end of a run, which reads all its rows. Nothing else bounds
// it: even after a second signal, the run must report unknown orders.
func lastWords(rows int) time.Duration { return 10*time.Second + time.Duration(rows)*time.Millisecond }

// finishRun prints the state of the run and writes its results, even if the run failed.
func finishRun(
	s *cmdutil.Session, sender *payout.Sender, batch *payout.Applier, plan *payout.Plan, ended sendingEnd,
	results cmdutil.OutFile, out cmdutil.Output[applied],
) error {
	s.Spinner.Stop()
	ctx, done := context.WithTimeout(context.WithoutCancel(s.SendCtx), lastWords(len(plan.Rows)))
	defer done()
	sending := ended.err
	run := payout.Run{Name: plan.Name(), Digest: plan.Digest, Plan: plan.Path}
	if err := sender.Reap(ctx); err != nil && sending == nil {
		sending = err
	}
	tally, err := sender.Tally(ctx, run.Name)
	switch {
	case err != nil && batch.Sent() > 0: // their states are no longer readable
		return &cmdutil.Error{Code: cmdutil.ExitUnknown, Err: err,
			Msg: fmt.Sprintf("%s sent, and the state of the run cannot be read: %v",
				countWas(batch.Sent(), "order"), err),
			Hint: payout.NewHint("do not send them again: apply the plan again when the journal can be read")}
	case err != nil:
		return cmp.Or(sending, err)
	}
	written := writeResults(s, ctx, sender, plan, results)
	printed := printApplied(s, ctx, sender, applied{run, tally, results.Path, plan, false}, out)
	verdict := runFailure(tally, run, ended.began, sending)
	if lost, ok := errors.AsType[*render.WriteError](printed); ok {
		printed = &cmdutil.Error{Code: cmdutil.ExitOutput, Err: lost,
			Msg: fmt.Sprintf("run %s has ended, %s accepted, but %v", run.Name,
				isOf(tally.States[payout.StateAccepted], tally.Rows), lost),
			Hint: payout.NewHint("see the state of each order", "payout", "export", run.Name)}
	}
	if batch.Sent() == 0 {
		printed = cmdutil.NothingSent(printed)
	}
	if !cmdutil.ReaderGone(printed) {
		noteEnd(s, ended.idle, written, results.Path)
	}
	if verdict == nil {
		// all orders are accepted, but there is something to report
		if sending != nil && cmdutil.Explain(sending).Code != cmdutil.ExitInterrupted {
			s.Note("%v; all the same, every order of the run is recorded as accepted", sending)
		}
		if s.TableOnTerminal() && tally.Rows > 0 {
			s.NoteCommand([]string{"payout", "status", run.Name, "--live"},
				"accepted is not yet paid; to see the service's own statuses:")
		}
		return cmp.Or(written, printed)
	}
	for _, err := range []error{written, printed} {
		if err != nil && !cmdutil.ReaderGone(err) {
			s.Note("%v", err)
		}
	}
	if tally.States[payout.StateUnknown] > 0 {
		aboutUnknown(s, ctx, sender.Ledger, run.Name)
	}
	return verdict
}

// noteEnd notes what the summary does not say.
func noteEnd(s *cmdutil.Session, idle bool, written error, results string) {
	if idle {
		s.Note("nothing was left to send")
	}
	if written == nil {
		s.Note("results in %s", results)
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
	s.Subject = cmdutil.AboutOrders(ids...).Or(s.Subject)
}

// printApplied prints the summary of the whole run. In CSV it prints one line for each unit.
func printApplied(
	s *cmdutil.Session, ctx context.Context, sender *payout.Sender, a applied, out cmdutil.Output[applied],
) error {
	if !csvOfSums(out, "total", "accepted_total") {
		if s.TableOnTerminal() && s.Plain() && s.Sort == "" { // which may name any column
			out.View = out.View.Without(a.zeroes()...)
		}
		return out.One(a)
	}
	tallies, err := sender.TallyByUnit(ctx, a.run.Name)
	if err != nil { // the run is over: no exit code may say that nothing was sent
		return &render.WriteError{Err: err}
	}
	units := make([]applied, len(tallies))
	for i, t := range tallies {
		units[i] = applied{a.run, t, a.results, a.plan, true}
	}
	return out.Slice(units)
}

// zeroes returns the columns that have nothing to say.
func (r applied) zeroes() (names []string) {
	line := r.line()
	for name, n := range map[string]int{"accepted": line.Accepted, "accepted_total": line.Accepted,
		"rejected": line.Rejected, "unknown": line.Unknown, "conflict": line.Conflict, "planned": line.Planned,
		"already_paid": line.Before} {
		if n == 0 {
			names = append(names, name)
		}
	}
	return names
}

// isOf begins a sentence about some of a run's orders.
func isOf(n, all int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s is", cmdutil.CountOf(all, "order"))
	}
	return fmt.Sprintf("%d of %s are", n, cmdutil.CountOf(all, "order"))
}

// runFailure returns the error that a run ends with. Unknown orders matter most. If nothing was sent now, or
// nothing was accepted at all, it returns the cause.
func runFailure(t payout.Tally, ran payout.Run, began bool, err error) error {
	run := ran.Name
	accepted, rejected := t.States[payout.StateAccepted], t.States[payout.StateRejected]
	unknown, conflict := t.States[payout.StateUnknown], t.States[payout.StateConflict]
	planned := t.States[payout.StatePlanned]
	code, why := cmdutil.ExitDone, ""
	if err != nil {
		code, why = cmdutil.Explain(err).Code, ": "+err.Error()
	}
	interrupted := code == cmdutil.ExitInterrupted
	if interrupted {
		why = ": interrupted"
	}
	grave := code == cmdutil.ExitUnknown || code == cmdutil.ExitConflict
	counts := fmt.Sprintf("%s accepted, %d rejected, %d not sent", isOf(accepted, t.Rows), rejected, planned)
	end := func(code int, msg, hint string, command ...string) error {
		return &cmdutil.Error{Code: code, Err: err, Msg: msg, Hint: payout.NewHint(hint, command...)}
	}
	for _, row := range []struct {
		when bool
		ends error
	}{
		{unknown > 0 && code != cmdutil.ExitUnknown, end(cmdutil.ExitUnknown, isOf(unknown, t.Rows)+" unknown"+why,
			"do not send again what is unknown; find out with", "payout", "reconcile", run)},
		{conflict > 1 && code != cmdutil.ExitUnknown, end(cmdutil.ExitConflict,
			isOf(conflict, t.Rows)+" in conflict"+why, "see why", "payout", "status", run)},
		{conflict > 0 && !grave, end(cmdutil.ExitConflict,
			isOf(conflict, t.Rows)+" in conflict"+why, "see what happened", "journal", "show", t.Conflict)},
		// Another process may have sent what this one could not.
		{accepted == t.Rows && (err == nil || interrupted || began && !grave), nil},
		{interrupted && began, end(code, "interrupted: "+counts, "to go on, apply the plan again",
			"payout", "apply", ran.Plan)},
		{!began || grave || code == cmdutil.ExitUnauthorized || code == cmdutil.ExitRateLimited, err},
		{accepted > 0 || err != nil && rejected > 0, end(cmdutil.ExitPartial, counts+why,
			"see which", "payout", "status", run)},
		{err != nil, err},
		{rejected == t.Rows, end(cmdutil.ExitRejected, fmt.Sprintf("all %d orders were rejected", rejected),
			"see why", "payout", "status", run)},
	} {
		if row.when {
			return row.ends
		}
	}
	return end(cmdutil.ExitPartial, fmt.Sprintf("%s rejected, and %d not sent", isOf(rejected, t.Rows), planned),
		"see which", "payout", "status", run)
}
