package payout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/orders"
	"example.com/till/internal/progress"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

type applyFlags struct {
	payout.ApplyOptions
	digest  string
	rate    string
	results cmdutil.OutFile
	paid    int // orders that are already paid; -1: not given
}

func applyCommand(a *cmdutil.App) *cobra.Command {
	flags := applyFlags{results: cmdutil.OutFile{Flag: "results", Mode: 0o600}}
	cmd := cmdutil.NewCommand(a, cmdutil.One, appliedView, &cobra.Command{
		Use:               "apply PLAN",
		Short:             "Send what a plan says, each row at most once",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, out cmdutil.Output[runCounts], args []string) error {
		if err := flags.check(s.Cmd, args[0]); err != nil {
			return err
		}
		plan, err := openPlan(args[0])
		if err != nil {
			return err
		}
		flags.results.Room = int64(len(plan.Rows)) * resultsRow
		return (&applying{Session: s, plan: plan, flags: flags}).apply(out)
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
	f.StringVar(&flags.results.Path, "results", "", "results file; PLAN.results.csv unless given")
	cmdline.OfferFiles(cmd, "approval", "results")
	orders.AddLookupFlags(cmd)
	cmdutil.AddFinishFlags(cmd)
	return cmd
}

// Sending makes short-lived garbage many times faster than a list does, and a run is worth some more memory, beside
// that of its rows.
const (
	sendingMemory    = 80 << 20
	memoryForRow     = 280
	sendingGCPercent = 400
)

// mostCalls is the largest --concurrency. No service should get more calls at a time.
const mostCalls = 256

func (f *applyFlags) check(cmd *cobra.Command, plan string) error {
	rate, noRate := strconv.ParseFloat(strings.TrimSuffix(f.rate, "/s"), 64)
	digits := strings.TrimPrefix(strings.ToLower(f.digest), "sha256:")
	sum, noDigest := hex.DecodeString(digits)
	switch {
	case cmd.Flags().Changed("already-paid") && f.paid < 0:
		return exit.UsageError(fmt.Sprintf("--already-paid: %d is not a number of orders", f.paid),
			"give how many of its orders were accepted before: 0 or more")
	case f.Concurrency < 1 || f.Concurrency > mostCalls:
		return exit.UsageError(fmt.Sprintf("--concurrency: %d is not a possible number of calls", f.Concurrency),
			fmt.Sprintf("give a number from 1 to %d", mostCalls))
	case f.rate != "" && (noRate != nil || !(rate > 0 && rate <= 1e6)):
		return exit.UsageError(fmt.Sprintf("--rate: %q is not a number of calls a second", f.rate),
			"write it like 5/s or 0.5/s")
	case f.digest != "" && (noDigest != nil || len(sum) != sha256.Size):
		return exit.UsageError(fmt.Sprintf("--digest: %q is not a digest, which has 64 hex digits", f.digest),
			"give the digest that was approved, all of it")
	}
	if f.Rate = rate; f.digest != "" {
		f.digest = "sha256:" + digits
	}
	f.results.Path = cmp.Or(f.results.Path, plan+".results.csv")
	return nil
}

type applying struct {
	*cmdutil.Session
	plan   *payout.Plan
	flags  applyFlags
	sender *payout.Sender
	batch  *payout.Applier

	began  bool // something was sent, or nothing was left to send
	idle   bool // the run was continued, and no row was left
	bar    *progress.Bar
	counts int // the calls that the bar has counted
}

// apply takes a plan from its file to a summary. It finds every objection before it records anything.
func (a *applying) apply(out cmdutil.Output[runCounts]) error {
	debug.SetMemoryLimit(sendingMemory + memoryForRow*int64(len(a.plan.Rows)))
	debug.SetGCPercent(sendingGCPercent)
	a.Subject.Run = a.plan.Name()
	if err := a.check(); err != nil {
		return err
	}
	client, err := a.ClientToCreate()
	if err != nil {
		return err
	}
	if err := a.flags.results.Check(); err != nil {
		return err
	}
	if err := a.checkResults(); err != nil {
		return err
	}
	a.flags.Note = func(text string) { a.Note("%s", text) }
	if a.DryRun {
		return a.try(client)
	}
	if a.sender, err = a.SenderFor(client); err != nil {
		return err
	}
	a.flags.Progress = a.progress
	if a.batch, err = a.sender.Applier(a.Ctx, a.plan, a.flags.ApplyOptions); err != nil {
		return err
	}
	resumed := a.batch.Begun()
	if err := a.begin(resumed); err != nil {
		return err
	}
	return a.finish(a.send(resumed), out)
}

// check refuses a plan that is not the one that was approved, or that the profile does not allow today.
func (a *applying) check() error {
	if digest := a.flags.digest; digest != "" && digest != a.plan.Digest {
		return exit.Refusal(payout.RulePlanChanged,
			fmt.Sprintf("the plan's digest is %s, and %s was approved", a.plan.Digest, digest),
			"apply the plan that was approved, or have this one approved", "payout", "show", a.plan.Path)
	}
	err := payout.Options{Currencies: a.PayoutCurrencies(), Limits: payout.Limits(a.Limits)}.CheckPlan(a.plan)
	if err != nil { // if the profile is the wrong one, it is not to be changed to fit the plan
		if account, unknown := a.JournalAccount(); unknown == nil {
			err = cmp.Or(a.plan.CheckAccount(account), err)
		}
	}
	return err
}

// begin asks whatever must be asked, and begins the run.
func (a *applying) begin(resumed bool) error {
	tally, err := a.batch.Tally(a.Ctx)
	if err != nil {
		return err
	}
	looked := false
	if a.flags.paid >= 0 && !resumed { // a wrong number must leave no run, and no results file
		if tally, err = a.batch.Preview(a.Ctx); err != nil {
			return err
		}
		looked = tally.Conflict == "" // LookUp records a conflict and explains it
	}
	paid, err := a.approvePaid(tally, looked)
	if err == nil {
		err = a.approveTotal(tally)
	}
	if err != nil {
		return err
	}
	return a.batch.Begin(a.Ctx, paid)
}

// send looks up the orders and sends the rest. Orders that the lookup finds already paid need approval too.
func (a *applying) send(resumed bool) error {
	tally, err := a.batch.LookUp(a.Ctx)
	if err != nil {
		return err
	}
	paid, err := a.approvePaid(tally, true)
	if err == nil && paid > a.batch.Approved() {
		err = a.batch.Begin(a.Ctx, paid)
	}
	if err != nil {
		return err
	}
	a.began, a.idle = true, resumed && tally.LeftRows() == 0
	a.bar = a.Spinner.Bar("sending", tally.LeftRows(), a.Debug)
	a.bar.Also("")
	defer a.bar.Finish()
	return a.Send(a.batch.UnderWay, func() error { return a.batch.Send(a.Ctx, a.SendCtx, tally) })
}

// progress gets the tally after each outcome, one at a time.
func (a *applying) progress(t payout.Tally) {
	text := ""
	for _, state := range []payout.State{payout.StateRejected, payout.StateUnknown, payout.StateConflict} {
		if n := t.States[state]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, state)
		}
	}
	a.bar.Also(text)
	a.bar.Add(t.Ended - a.counts)
	a.counts = t.Ended
}

// try shows the requests that apply would make, as far as the journal says. It asks nothing.
func (a *applying) try(client *api.Client) (err error) {
	if a.sender, err = a.SenderToTry(client); err != nil {
		return err
	}
	due, tally := cmdutil.Each(a.plan.Rows), payout.Tally{Rows: len(a.plan.Rows)}
	if a.sender == nil {
		err = checkWithoutJournal(a.Session, a.plan, a.flags.Approvals)
	} else {
		a.flags.DryRun = true
		if a.batch, err = a.sender.Applier(a.Ctx, a.plan, a.flags.ApplyOptions); err == nil {
			due = a.batch.Due(a.Ctx)
			tally, err = a.batch.Tally(a.Ctx)
		}
	}
	if err == nil {
		_, err = a.approvePaid(tally, false)
	}
	if err != nil {
		return err
	}
	shown := 0
	for row, err := range due {
		if err == nil {
			_, err = client.Withdrawals.Create(a.SendCtx, row.CreateWithdrawal)
		}
		if err != nil && !errors.Is(err, cmdutil.ErrDryRun) {
			return err
		}
		shown++
	}
	if n := len(a.plan.Rows); shown < n {
		a.Note("of %s, %d would be sent", cmdutil.CountOf(n, "row"), shown)
	}
	return nil
}

// approvePaid asks about orders that were accepted before, but not by this run. It returns how many of them a
// person has approved. Once the service was asked (asked), a number given on the command line must be exact.
func (a *applying) approvePaid(t payout.Tally, asked bool) (int, error) {
	approved, given := 0, a.flags.paid
	if a.batch != nil {
		approved = a.batch.Approved()
	}
	switch {
	case t.Before <= approved && (given < 0 || given == approved): // already asked
		return approved, nil
	case given == t.Before:
		return given, nil
	case given > t.Before && given <= t.Rows-t.States[payout.StateAccepted]+t.Before && !asked:
		if a.DryRun {
			a.Note("the journal has %d of %s of --already-paid: payout apply looks for the rest on the service's list, "+
				"and sends nothing if they are not there", t.Before, cmdutil.CountOf(given, "order"))
		}
		return approved, nil
	case given >= 0:
		return 0, exit.Refusal(payout.RulePaidBefore, fmt.Sprintf("--already-paid says %d, and %s", given, paidBefore(t)),
			"look at each of them, and give the right number", "journal", "show", "ORDER")
	case a.Yes || a.DryRun || !a.CanAsk():
		return 0, exit.Refusal(payout.RulePaidBefore,
			paidBefore(t)+", by another run or command: an earlier run stopped half-way, or old order ids were used again",
			fmt.Sprintf("to send only the rest: --already-paid %d", t.Before))
	}
	send := "To go on, type"
	if n := t.LeftRows(); n > 0 {
		send = "To send the other " + oneOrMore(n, "one", strconv.Itoa(n)) + ", type"
	}
	question := fmt.Sprintf(`%s, by another run or command.
%s will not be sent again. This is right if an earlier run stopped half-way, and wrong if old order ids were used again.
%s how many were accepted before: `, paidBefore(t), oneOrMore(t.Before, "It", "They"), send)
	count := strconv.Itoa(t.Before)
	return t.Before, a.typed(question, count, "in a script, add --already-paid "+count)
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
		oneOrMore(t.Before, "was", "were"), strings.Join(when, "; "))
}

// approveTotal asks a person to type the total that is still to be sent, for one currency after the other.
func (a *applying) approveTotal(t payout.Tally) error {
	asks := a.flags.digest == "" && !a.Yes
	amounts := make([]api.BigAmount, len(t.Left))
	for i, total := range t.Left {
		amounts[i] = total.Amount
	}
	first, err := orders.FirstPayments(a.Session, a.sender.Ledger, asks, amounts...)
	if err != nil || t.LeftRows() == 0 {
		return err
	}
	if !asks { // nobody sees the warnings of a question
		found, err := a.sender.Alike(a.Ctx, a.plan, a.PayoutCurrencies())
		for _, d := range found {
			a.Warn(d)
		}
		return err
	}
	if !a.CanAsk() {
		return exit.Refusal(exit.RuleConfirmation, a.WhyUnasked(),
			"add --digest with the digest that was approved or, to send whatever the plan says, --yes")
	}
	var facts []cmdutil.Fact
	for _, total := range t.Left {
		facts = append(facts, cmdutil.Fact{Name: "total", Style: render.Bold, Value: render.Group(a.Money.FormatBig(total.Amount)) +
			orders.MinorUnits(a.Session, total.Amount, first...) + " in " + cmdutil.CountOf(total.Rows, "row")})
	}
	if all := look(a.Session, a.plan).warned(); len(all) > 0 {
		worst := cmdutil.Fact{Name: "warning", Value: all[0].pays + all[0].why, Style: render.Red}
		if n := len(all); n > 1 {
			worst.Value += fmt.Sprintf(" (and %d more: till payout show %s)", n-1, a.plan.Path)
		}
		facts = append(facts, worst)
	}
	facts = append(facts,
		cmdutil.Fact{Name: "rows", Value: fmt.Sprintf("%d of %d are to be sent", t.LeftRows(), len(a.plan.Rows))},
		cmdutil.Fact{Name: "plan", Value: a.plan.Path},
		cmdutil.Fact{Name: "digest", Value: a.plan.Digest, Copy: true})
	if n := t.States[payout.StateUnknown]; n > 0 {
		facts = append(facts, cmdutil.Fact{Name: "unknown",
			Value: cmdutil.CountOf(n, "row") + ", looked for on the service's list first"})
	}
	a.NoteFacts(append(facts, a.ServiceFact()))
	for _, amount := range amounts {
		want := a.Money.FormatBig(amount)
		err := a.typed(fmt.Sprintf("Type the total in %s to send it: ", amount.Code), want, "the total is "+want)
		if err != nil {
			return err
		}
	}
	return nil
}

// typed asks a question and accepts only the answer want. An amount may omit its code and trailing zeros. A
// refusal has the advice.
func (a *applying) typed(question, want, advice string) error {
	answer, err := a.Ask(question)
	if err != nil {
		return err
	}
	switch answer = strings.TrimSpace(answer); {
	case answer != "" && plainAmount(answer, want) == plainAmount(want, want):
		return nil
	case slices.Contains([]string{"n", "no"}, strings.ToLower(answer)):
		return cmdutil.Declined("sent")
	}
	return exit.Refusal(exit.RuleConfirmation, "not confirmed: nothing was sent", advice)
}

// plainAmount joins the groups of digits of an amount. It removes its code if that is the one of want, and the
// zeros at the end of its decimals.
func plainAmount(text, want string) string {
	fields, groups := strings.Fields(text), 1
	for groups < len(fields) && fields[groups][0] >= '0' && fields[groups][0] <= '9' {
		groups++
	}
	number, code := strings.Join(fields[:groups], ""), strings.Join(fields[groups:], " ")
	if _, wanted, _ := strings.Cut(want, " "); code != "" && !strings.EqualFold(code, wanted) {
		return text
	}
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return number
}
