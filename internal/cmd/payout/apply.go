package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/orders"
	"example.com/till/internal/progress"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// applyFlags are the flags of payout apply.
type applyFlags struct {
	payout.ApplyOptions
	digest  string
	rate    string
	results string
	paid    int // orders that are already paid; -1: not given
}

func applyCommand(a *cmdutil.App) *cobra.Command {
	var flags applyFlags
	cmd := cmdutil.NewCommand(a, cmdutil.One, appliedView, &cobra.Command{
		Use:   "apply PLAN",
		Short: "Send what a plan says, each row at most once",
		Long: `Send the rows of a plan, each at most once. To continue a run that stopped,
apply the same plan again: accepted orders stay as they are, and unknown ones
are looked up on the service's list first.

On a terminal, type the total to confirm. In a script, --digest names the plan
that was approved; --yes accepts any plan. If some orders were accepted before,
and not by this run, type their number too, or give --already-paid.

See: till help runs, till help payouts, till help approvals.`,
		Example: `  till payout apply staff.plan --digest "$(cat approved.txt)"
  till payout apply staff.plan --yes --concurrency 8 --rate 20/s`,
		Args: cmdutil.Args("PLAN"),
	}, func(s *cmdutil.Session, out cmdutil.Output[applied], args []string) error {
		if err := flags.check(s.Cmd, args[0]); err != nil {
			return err
		}
		plan, err := payout.OpenPlan(args[0])
		if err != nil {
			return err
		}
		return apply(s, plan, flags, out)
	})
	f := cmd.Flags()
	f.StringVar(&flags.digest, "digest", "", "digest of the plan that was approved, with or without sha256:")
	f.IntVar(&flags.paid, "already-paid", -1, "how many of the plan's orders were accepted before, by another run or command")
	f.Lookup("already-paid").DefValue = "0" // help leaves it out: -1 means that it was not given
	f.IntVar(&flags.Concurrency, "concurrency", 1, "how many calls are under way at a time")
	f.StringVar(&flags.rate, "rate", "", "most calls a second, such as 5/s")
	f.BoolVar(&flags.KeepGoing, "keep-going", false, "send the rest although an outcome is unknown")
	f.BoolVar(&flags.RetryRejected, "retry-rejected", false, "send once more what the service has rejected")
	f.BoolVar(&flags.AllowDuplicate, "allow-duplicate", false, "send what has the same content as an unknown order")
	f.StringArrayVar(&flags.Approvals, "approval", nil,
		"file of a signature that approves the plan; PLAN*.sig unless given")
	f.StringVar(&flags.results, "results", "", "results file; PLAN.results.csv unless given")
	cmdutil.OfferFiles(cmd, "approval")
	orders.AddLookupFlags(cmd)
	cmdutil.AddFinishFlags(cmd)
	return cmd
}

// Sending makes short-lived garbage many times faster than a list does, and a run is worth some more memory.
const (
	sendingMemory    = 128 << 20
	sendingGCPercent = 400
)

// mostCalls is the largest --concurrency. No service should get more calls at a time.
const mostCalls = 256

func (f *applyFlags) check(cmd *cobra.Command, plan string) error {
	if cmd.Flags().Changed("already-paid") && f.paid < 0 {
		return cmdutil.UsageError(fmt.Sprintf("--already-paid: %d is not a number of orders", f.paid),
			"give how many of its orders were accepted before: 0 or more")
	}
	if f.Concurrency < 1 || f.Concurrency > mostCalls {
		return cmdutil.UsageError(fmt.Sprintf("--concurrency: %d is not a possible number of calls", f.Concurrency),
			fmt.Sprintf("give a number from 1 to %d", mostCalls))
	}
	if f.rate != "" {
		number, _ := strings.CutSuffix(f.rate, "/s")
		rate, err := strconv.ParseFloat(number, 64)
		if err != nil || !(rate > 0 && rate <= 1e6) {
			return cmdutil.UsageError(fmt.Sprintf("--rate: %q is not a number of calls a second", f.rate),
				"write it like 5/s or 0.5/s")
		}
		f.Rate = rate
	}
	if f.digest != "" {
		digest, err := parseDigest(f.digest)
		if err != nil {
			return err
		}
		f.digest = digest
	}
	if f.results == "" {
		f.results = plan + ".results.csv"
	}
	return nil
}

// apply takes a plan from its file to a summary. It finds every objection before it records anything.
func apply(s *cmdutil.Session, plan *payout.Plan, flags applyFlags, out cmdutil.Output[applied]) error {
	debug.SetMemoryLimit(sendingMemory)
	debug.SetGCPercent(sendingGCPercent)
	s.Subject.Run = plan.Name()
	if flags.digest != "" && flags.digest != plan.Digest {
		return cmdutil.Refusal(payout.RulePlanChanged,
			fmt.Sprintf("the plan's digest is %s, and %s was approved", plan.Digest, flags.digest),
			"apply the plan that was approved, or have this one approved", "payout", "show", plan.Path)
	}
	if err := plan.CheckDecimals(s.PayoutCurrencies()); err != nil {
		return err
	}
	if err := withinLimits(s, plan); err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	if s.DryRun { // a dry run does not touch the journal
		if err := checkWithoutJournal(s, plan, flags.Approvals); err != nil {
			return err
		}
		for _, row := range plan.Rows {
			if _, err := client.Withdrawals.Create(s.SendCtx, row.CreateWithdrawal); err != nil &&
				!errors.Is(err, cmdutil.ErrDryRun) {
				return err
			}
		}
		return nil
	}
	results := cmdutil.OutFile{Flag: "results", Path: flags.results, Mode: 0o600, Room: int64(len(plan.Rows)) * resultsRow}
	if err := results.Check(); err != nil {
		return err
	}
	if err := checkResults(flags.results); err != nil {
		return err
	}
	sender, err := s.SenderFor(client)
	if err != nil {
		return err
	}
	flags.Note = func(text string) { s.Note("%s", text) }
	bar := &sendingBar{Session: s}
	flags.Progress = bar.show
	batch, err := sender.Applier(s.Ctx, plan, flags.ApplyOptions)
	if err != nil {
		return err
	}
	resumed := batch.Begun()
	tally, err := batch.Tally(s.Ctx)
	if err != nil {
		return err
	}
	looked := false
	if flags.paid >= 0 && !resumed { // a wrong number must leave no run, and no results file
		if tally, err = batch.Preview(s.Ctx); err != nil {
			return err
		}
		looked = tally.Conflict == "" // LookUp records a conflict and explains it
	}
	paid, err := approvePaid(s, tally, batch.Approved(), flags.paid, looked)
	if err != nil {
		return err
	}
	if err := approveTotal(s, plan, tally, flags); err != nil {
		return err
	}
	if err := batch.Begin(s.Ctx, paid); err != nil {
		return err
	}
	began, err := sendBatch(s, batch, resumed, flags, bar)
	return finishRun(s, sender, batch, plan, began, err, results, out)
}

// sendBatch looks up the orders and sends the rest. It reports whether sending began. Orders that the lookup
// finds already paid need approval too.
func sendBatch(
	s *cmdutil.Session, batch *payout.Applier, resumed bool, flags applyFlags, bar *sendingBar,
) (began bool, err error) {
	tally, err := batch.LookUp(s.Ctx)
	if err != nil {
		return false, err
	}
	paid, err := approvePaid(s, tally, batch.Approved(), flags.paid, true)
	if err != nil {
		return false, err
	}
	if paid > batch.Approved() {
		if err := batch.Begin(s.Ctx, paid); err != nil {
			return false, err
		}
	}
	if resumed && tally.LeftRows() == 0 {
		s.Note("nothing was left to send")
	}
	bar.begin(tally)
	defer bar.Finish()
	return true, s.Send(batch.UnderWay, func() error { return batch.Send(s.Ctx, s.SendCtx, tally) })
}

// approvePaid asks about orders that were accepted before, but not by this run. It returns how many of them a
// person has approved. Once the service was asked (asked), a number given on the command line must be exact.
func approvePaid(s *cmdutil.Session, t payout.Tally, approved, given int, asked bool) (int, error) {
	switch {
	case t.Before <= approved && (given < 0 || given == approved): // already asked
		return approved, nil
	case given == t.Before:
		return given, nil
	case given > t.Before && !asked: // the rest may be on the service's list
		return approved, nil
	case given >= 0:
		return 0, cmdutil.Refusal(payout.RulePaidBefore, fmt.Sprintf("--already-paid says %d, and %s", given, paidBefore(t)),
			"look at each of them, and give the right number", "journal", "show", "ORDER")
	case s.Yes || !s.CanAsk():
		return 0, cmdutil.Refusal(payout.RulePaidBefore,
			paidBefore(t)+", by another run or command: an earlier run stopped half-way, or old order ids were used again",
			fmt.Sprintf("to send only the rest: --already-paid %d", t.Before))
	}
	again, send := "They", ""
	if t.Before == 1 {
		again = "It"
	}
	switch n := t.LeftRows(); n {
	case 0:
		send = "To go on, type"
	case 1:
		send = "To send the other one, type"
	default:
		send = fmt.Sprintf("To send the other %d, type", n)
	}
	question := fmt.Sprintf(`%s, by another run or command.
%s will not be sent again. This is right if an earlier run stopped half-way, and wrong if old order ids were used again.
%s how many were accepted before: `, paidBefore(t), again, send)
	count := strconv.Itoa(t.Before)
	return t.Before, typed(s, question, count, "in a script, add --already-paid "+count)
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func paidBefore(t payout.Tally) string {
	if t.Before == 0 {
		return fmt.Sprintf("none of the plan's %s was accepted before", cmdutil.CountOf(t.Rows, "order"))
	}
	var when []string
	switch {
	case t.Found == t.Before:
	case t.First.Equal(t.Last):
		when = append(when, "at "+views.Moment(t.First))
	default:
		when = append(when, "from "+views.Moment(t.First)+" to "+views.Moment(t.Last))
	}
	if t.Found > 0 {
		found := fmt.Sprintf("%d found on the service's list", t.Found)
		switch {
		case t.DatedFirst == "":
		case t.DatedFirst == t.DatedLast:
			found += ", dated " + render.Safe(t.DatedFirst)
		default:
			found += ", dated " + render.Safe(t.DatedFirst) + " to " + render.Safe(t.DatedLast)
		}
		when = append(when, found)
	}
	return fmt.Sprintf("%d of the plan's %s %s accepted before (%s)", t.Before, cmdutil.CountOf(t.Rows, "order"),
		wasOrWere(t.Before), strings.Join(when, "; "))
}

// approveTotal asks a person to type the total that is still to be sent, for one currency after the other.
func approveTotal(s *cmdutil.Session, plan *payout.Plan, t payout.Tally, flags applyFlags) error {
	if flags.digest != "" || s.Yes || t.LeftRows() == 0 {
		return nil
	}
	if !s.CanAsk() {
		return cmdutil.Refusal(cmdutil.RuleConfirmation, "there is no terminal to confirm it on",
			"add --digest with the digest that was approved or, to send whatever the plan says, --yes")
	}
	facts := []cmdutil.Fact{
		{Name: "profile", Value: s.ProfileName()},
		{Name: "service", Value: s.ServiceName()},
		{Name: "plan", Value: plan.Path},
		{Name: "digest", Value: plan.Digest, Copy: true},
		{Name: "rows", Value: fmt.Sprintf("%d of %d are to be sent", t.LeftRows(), len(plan.Rows))},
	}
	for _, total := range t.Left {
		facts = append(facts, cmdutil.Fact{Name: "total", Value: s.Money.FormatBig(total.Amount) +
			orders.MinorUnits(s, total.Amount) + " in " + cmdutil.CountOf(total.Rows, "row")})
	}
	if n := t.States[payout.StateUnknown]; n > 0 {
		facts = append(facts, cmdutil.Fact{Name: "unknown",
			Value: cmdutil.CountOf(n, "row") + ", looked for on the service's list first"})
	}
	s.NoteFacts(facts)
	for _, total := range t.Left {
		question := fmt.Sprintf("Type the total in %s to send it: ", total.Amount.Code)
		want := s.Money.FormatBig(total.Amount)
		if err := typed(s, question, want, "the total is "+want); err != nil {
			return err
		}
	}
	return nil
}

// typed asks a question and accepts only the answer want. An amount may omit its code and trailing zeros. A
// refusal has the advice.
func typed(s *cmdutil.Session, question, want, advice string) error {
	answer, err := s.Ask(question)
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "" && plainAmount(answer, want) == plainAmount(want, want) {
		return nil
	}
	return cmdutil.Refusal(cmdutil.RuleConfirmation, "not confirmed: nothing was sent", advice)
}

// plainAmount removes the code of an amount if it is that of want, and the zeros at the end of its decimals.
func plainAmount(text, want string) string {
	number, code, _ := strings.Cut(text, " ")
	if _, wanted, _ := strings.Cut(want, " "); code != "" && !strings.EqualFold(code, wanted) {
		return text
	}
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return number
}

// withinLimits checks a plan with the limits that the profile has now.
func withinLimits(s *cmdutil.Session, plan *payout.Plan) error {
	t := s.Limits.Tally(s.Money)
	for _, row := range plan.Rows {
		if s.Money.LacksMemo(row.Currency, row.Memo) {
			return cmdutil.UsageError(fmt.Sprintf("order %s: a withdrawal in %s needs a memo, or it may never arrive",
				row.ExternalOrderID, row.Currency.Code), "add it to the file, and make a new plan")
		}
		if err := s.Money.CheckAddress(row.Currency, row.Address); err != nil {
			return cmdutil.UsageError(fmt.Sprintf("order %s: its address: %v", row.ExternalOrderID, err),
				"correct it in the file, and make a new plan")
		}
		if err := t.Add(money.Payment{Currency: row.Currency, Amount: row.Amount, Address: row.Address}); err != nil {
			return err
		}
	}
	if all := t.Done(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// lastWords bounds the use of the journal at the end of a run, which reads all its rows. Nothing else bounds
// it: even after a second signal, the run must report unknown orders.
func lastWords(rows int) time.Duration { return 10*time.Second + time.Duration(rows)*time.Millisecond }

// finishRun prints the state of the run and writes its results, even if the run failed.
func finishRun(
	s *cmdutil.Session, sender *payout.Sender, batch *payout.Applier, plan *payout.Plan, began bool, sending error,
	results cmdutil.OutFile, out cmdutil.Output[applied],
) error {
	s.Spinner.Stop()
	ctx, done := context.WithTimeout(context.WithoutCancel(s.SendCtx), lastWords(len(plan.Rows)))
	defer done()
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
	written := writeResults(s, ctx, sender, run, results)
	if written == nil {
		s.Note("results in %s", results.Path)
	}
	printed := printApplied(s, ctx, sender, applied{run, tally, results.Path, plan, false}, out)
	verdict := runFailure(tally, run.Name, began, sending)
	if lost, ok := errors.AsType[*render.WriteError](printed); ok {
		printed = &cmdutil.Error{Code: cmdutil.ExitOutput, Err: lost,
			Msg: fmt.Sprintf("run %s has ended, %s accepted, but %v", run.Name,
				isOf(tally.States[payout.StateAccepted], tally.Rows), lost),
			Hint: payout.NewHint("see the state of each order", "payout", "export", run.Name)}
	}
	if verdict == nil {
		// all orders are accepted, but there is something to report
		if sending != nil && cmdutil.Explain(sending).Code != cmdutil.ExitInterrupted {
			s.Note("%v", sending)
		}
		return cmp.Or(written, printed)
	}
	for _, err := range []error{written, printed} {
		if err != nil {
			s.Note("%v", err)
		}
	}
	return verdict
}

// printApplied prints the summary of the whole run. In CSV it prints one line for each unit.
func printApplied(
	s *cmdutil.Session, ctx context.Context, sender *payout.Sender, a applied, out cmdutil.Output[applied],
) error {
	if !csvOfSums(out, "total", "accepted_total") {
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

// isOf begins a sentence about some of a run's orders.
func isOf(n, all int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s is", cmdutil.CountOf(all, "order"))
	}
	return fmt.Sprintf("%d of %s are", n, cmdutil.CountOf(all, "order"))
}

// runFailure returns the error that a run ends with. Unknown orders matter most. If nothing was sent now, or
// nothing was accepted at all, it returns the cause.
func runFailure(t payout.Tally, run string, began bool, err error) error {
	accepted, rejected := t.States[payout.StateAccepted], t.States[payout.StateRejected]
	unknown, why := t.States[payout.StateUnknown], ""
	code := cmdutil.ExitDone
	if err != nil {
		code, why = cmdutil.Explain(err).Code, ": "+err.Error()
	}
	if code == cmdutil.ExitInterrupted {
		why = ": interrupted"
	}
	switch {
	case unknown > 0 && code != cmdutil.ExitUnknown:
		return &cmdutil.Error{Code: cmdutil.ExitUnknown, Err: err,
			Msg:  fmt.Sprintf("%s unknown%s", isOf(unknown, t.Rows), why),
			Hint: payout.NewHint("do not send again what is unknown; find out with", "payout", "reconcile", run)}
	case t.States[payout.StateConflict] > 1 && code != cmdutil.ExitUnknown:
		return &cmdutil.Error{Code: cmdutil.ExitConflict, Err: err,
			Msg:  fmt.Sprintf("%s in conflict%s", isOf(t.States[payout.StateConflict], t.Rows), why),
			Hint: payout.NewHint("see why", "payout", "status", run)}
	case t.States[payout.StateConflict] > 0 && code != cmdutil.ExitConflict && code != cmdutil.ExitUnknown:
		return &cmdutil.Error{Code: cmdutil.ExitConflict, Err: err,
			Msg:  fmt.Sprintf("%s in conflict%s", isOf(t.States[payout.StateConflict], t.Rows), why),
			Hint: payout.NewHint("see what happened", "journal", "show", t.Conflict)}
	case accepted == t.Rows &&
		(err == nil || code == cmdutil.ExitInterrupted ||
			began && code != cmdutil.ExitUnknown && code != cmdutil.ExitConflict):
		return nil // another process may have sent what this one could not
	case code == cmdutil.ExitInterrupted && began:
		return &cmdutil.Error{Code: cmdutil.ExitInterrupted, Err: err,
			Msg: fmt.Sprintf("interrupted: %s accepted, %d rejected, %d not sent", isOf(accepted, t.Rows), rejected,
				t.States[payout.StatePlanned]),
			Hint: payout.NewHint("to go on, apply the plan again")}
	case !began, code == cmdutil.ExitUnknown, code == cmdutil.ExitConflict, code == cmdutil.ExitUnauthorized,
		code == cmdutil.ExitRateLimited:
		return err
	case accepted > 0 || err != nil && rejected > 0:
		return &cmdutil.Error{Code: cmdutil.ExitPartial, Err: err,
			Msg: fmt.Sprintf("%s accepted, %d rejected, %d not sent%s", isOf(accepted, t.Rows), rejected,
				t.States[payout.StatePlanned], why),
			Hint: payout.NewHint("see which", "payout", "status", run)}
	case err != nil:
		return err
	case rejected == t.Rows:
		return &cmdutil.Error{Code: cmdutil.ExitRejected, Msg: fmt.Sprintf("all %d orders were rejected", rejected),
			Hint: payout.NewHint("see why", "payout", "status", run)}
	}
	return &cmdutil.Error{Code: cmdutil.ExitPartial,
		Msg:  fmt.Sprintf("%s rejected, and %d not sent", isOf(rejected, t.Rows), t.States[payout.StatePlanned]),
		Hint: payout.NewHint("see which", "payout", "status", run)}
}

// applied is a run after an apply, as it is printed.
type applied struct {
	run     payout.Run
	tally   payout.Tally
	results string
	plan    *payout.Plan
	byUnit  bool // the tally is of one unit
}

// sendingBar shows the progress of a run.
type sendingBar struct {
	*cmdutil.Session
	*progress.Bar
	shown int // the calls already shown
}

func (b *sendingBar) begin(t payout.Tally) {
	b.Bar = b.Spinner.Bar("sending", t.LeftRows(), b.Debug)
	b.Also("")
}

// show gets the tally after each outcome, one at a time.
func (b *sendingBar) show(t payout.Tally) {
	text := ""
	for _, state := range []payout.State{payout.StateRejected, payout.StateUnknown, payout.StateConflict} {
		if n := t.States[state]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, state)
		}
	}
	b.Also(text)
	b.Add(t.Ended - b.shown)
	b.shown = t.Ended
}
