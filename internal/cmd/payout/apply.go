package payout

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strconv"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/orders"
	"example.com/till/internal/progress"
	"example.com/till/pkg/api"
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
See: till help runs.`,
		Example: `  till payout apply staff.plan --digest "$(cat approved.txt)"
  till payout apply staff.plan --yes --rate 20/s`,
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
	f.StringVar(&flags.digest, "digest", "", "digest of the plan that was approved")
	f.IntVar(&flags.paid, "already-paid", -1, "how many orders another run has sent already")
	f.Lookup("already-paid").DefValue = "0" // help leaves it out: -1 means that it was not given
	f.IntVar(&flags.Concurrency, "concurrency", 1, "how many calls are under way at a time")
	f.StringVar(&flags.rate, "rate", "", "most calls a second, such as 5/s")
	f.BoolVar(&flags.KeepGoing, "keep-going", false, "send the rest although an outcome is unknown")
	f.BoolVar(&flags.RetryRejected, "retry-rejected", false, "send once more what the service has rejected")
	f.BoolVar(&flags.AllowDuplicate, "allow-duplicate", false, "send what has the same content as an unknown order")
	f.StringArrayVar(&flags.Approvals, "approval", nil,
		"signature of the plan; PLAN*.sig unless given")
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
	client, err := s.ClientToCreate()
	if err != nil {
		return err
	}
	results := cmdutil.OutFile{Flag: "results", Path: flags.results, Mode: 0o600, Room: int64(len(plan.Rows)) * resultsRow}
	if err := results.Check(); err != nil {
		return err
	}
	if err := checkResults(flags.results, plan, s.Cmd.Flags().Changed("results")); err != nil {
		return err
	}
	if s.DryRun {
		return tryApply(s, client, plan, flags)
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
	if err := approveTotal(s, sender.Ledger, plan, tally, flags); err != nil {
		return err
	}
	if err := batch.Begin(s.Ctx, paid); err != nil {
		return err
	}
	ended := sendBatch(s, batch, resumed, flags, bar)
	return finishRun(s, sender, batch, plan, ended, results, out)
}

// tryApply shows the requests that apply would make, as far as the journal says. It asks nothing.
func tryApply(s *cmdutil.Session, client *api.Client, plan *payout.Plan, flags applyFlags) error {
	sender, err := s.SenderToTry(client)
	if err != nil {
		return err
	}
	due := func(yield func(payout.PlanRow, error) bool) {
		for i := 0; i < len(plan.Rows) && yield(plan.Rows[i], nil); i++ {
		}
	}
	if sender == nil {
		if err = checkWithoutJournal(s, plan, flags.Approvals); err == nil {
			_, err = approvePaid(s, payout.Tally{Rows: len(plan.Rows)}, 0, flags.paid, false)
		}
	} else {
		due, err = dueRows(s, sender, plan, flags)
	}
	if err != nil {
		return err
	}
	shown := 0
	for row, err := range due {
		if err == nil {
			_, err = client.Withdrawals.Create(s.SendCtx, row.CreateWithdrawal)
		}
		if err != nil && !errors.Is(err, cmdutil.ErrDryRun) {
			return err
		}
		shown++
	}
	if n := len(plan.Rows); shown < n {
		s.Note("of %s, %d would be sent", cmdutil.CountOf(n, "row"), shown)
	}
	return nil
}

// dueRows returns the rows that are still to be sent, if nothing forbids it.
func dueRows(
	s *cmdutil.Session, sender *payout.Sender, plan *payout.Plan, flags applyFlags,
) (iter.Seq2[payout.PlanRow, error], error) {
	flags.Note, flags.DryRun = func(text string) { s.Note("%s", text) }, true
	batch, err := sender.Applier(s.Ctx, plan, flags.ApplyOptions)
	if err != nil {
		return nil, err
	}
	tally, err := batch.Tally(s.Ctx)
	if err == nil {
		_, err = approvePaid(s, tally, batch.Approved(), flags.paid, false)
	}
	return batch.Due(s.Ctx), err
}

// A sendingEnd says how the sending of a run has ended.
type sendingEnd struct {
	began bool
	idle  bool // the run was continued, and no row was left
	err   error
}

// sendBatch looks up the orders and sends the rest. Orders that the lookup finds already paid need approval too.
func sendBatch(
	s *cmdutil.Session, batch *payout.Applier, resumed bool, flags applyFlags, bar *sendingBar,
) sendingEnd {
	tally, err := batch.LookUp(s.Ctx)
	if err != nil {
		return sendingEnd{err: err}
	}
	paid, err := approvePaid(s, tally, batch.Approved(), flags.paid, true)
	if err == nil && paid > batch.Approved() {
		err = batch.Begin(s.Ctx, paid)
	}
	if err != nil {
		return sendingEnd{err: err}
	}
	bar.begin(tally)
	defer bar.Finish()
	err = s.Send(batch.UnderWay, func() error { return batch.Send(s.Ctx, s.SendCtx, tally) })
	return sendingEnd{began: true, idle: resumed && tally.LeftRows() == 0, err: err}
}

// withinLimits checks a plan with the limits that the profile has now.
func withinLimits(s *cmdutil.Session, plan *payout.Plan) error {
	limits := s.Limits
	limits.AllowBadAddress = plan.Limits.AllowBadAddress
	t := limits.Tally(s.Money)
	for _, row := range plan.Rows {
		if s.Money.LacksMemo(row.Currency, row.Address, row.Memo) {
			return cmdutil.UsageError(fmt.Sprintf("order %s: a withdrawal in %s needs a memo, or it may never arrive",
				row.ExternalOrderID, row.Currency.Code), "add it to the file, and make a new plan")
		}
		if err := s.Money.CheckAddress(row.Currency, row.Address); err != nil {
			return cmdutil.UsageError(fmt.Sprintf("order %s: its address: %v", row.ExternalOrderID, err),
				"correct it in the file, and make a new plan")
		}
		if err := s.Money.CheckMemo(row.Currency, row.Address, row.Memo); err != nil {
			return cmdutil.UsageError(fmt.Sprintf("order %s: its memo: %v", row.ExternalOrderID, err),
				"correct it in the file, and make a new plan")
		}
		if err := t.Add(money.Payment{Currency: row.Currency, Amount: row.Amount, Address: row.Address, Memo: row.Memo}); err != nil {
			return err
		}
	}
	if all := t.Done(); len(all) > 0 {
		return all[0]
	}
	return nil
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
