package payout

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/orders"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"github.com/spf13/cobra"
)

func listCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, runView, &cobra.Command{
		Use:   "list",
		Short: "List the runs and the states of their orders",
	}, func(s *cmdutil.Session, out cmdutil.Output[runCounts], _ []string) error {
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		var runs []payout.Run
		if ledger != nil {
			if runs, err = ledger.Runs(s.Ctx); err != nil {
				return err
			}
		}
		if len(runs) == 0 {
			s.Note("no plan was applied yet")
		}
		return out.List(listRuns(s, ledger, runs, csvOfSums(out, "total", "accepted_total")))
	})
}

func askAbout(s *cmdutil.Session, name string) (sender *payout.Sender, run payout.Run, err error) {
	if sender, err = s.OpenSender(); err == nil {
		run, err = findRun(s, sender.Ledger, name)
	}
	return sender, run, err
}

// findRun finds a run by the first characters of its plan's digest: the eight that name it, or more. Without a
// name, all runs are meant.
func findRun(s *cmdutil.Session, ledger *payout.Ledger, name string) (run payout.Run, err error) {
	switch {
	case name == "":
	case ledger == nil:
		err = exit.UsageError(fmt.Sprintf("there is no run %q in this account", name),
			"give the id of a run, not the name of its plan; see which there are", "payout", "list")
	default:
		run, err = ledger.Run(s.Ctx, name)
		if s.Subject.Run = run.Name; run.ReplacedBy != "" {
			s.Note("run %s of the batch %q has taken the place of run %s, which will send nothing more",
				run.ReplacedBy, run.Batch, run.Name)
		}
	}
	return run, err
}

// rowsOf selects the orders of a run, or those of all runs.
func rowsOf(run payout.Run) payout.Filter {
	return payout.Filter{Run: run.Name, Runs: run.Name == ""}
}

func listRuns(s *cmdutil.Session, ledger *payout.Ledger, runs []payout.Run, byUnit bool) iter.Seq2[runCounts, error] {
	return func(yield func(runCounts, error) bool) {
		for _, run := range runs {
			then, err := cmdutil.SentWith(s.Ctx, s.Money, ledger, run.Name)
			tallies := make([]payout.Tally, 1)
			if err == nil && byUnit {
				tallies, err = ledger.TallyByUnit(s.Ctx, run.Name)
			} else if err == nil {
				tallies[0], err = ledger.Tally(s.Ctx, run.Name)
			}
			if err != nil {
				yield(runCounts{}, err)
				return
			}
			for _, t := range tallies {
				if !yield(runCounts{run: run, tally: t, byUnit: byUnit, money: then}, nil) {
					return
				}
			}
		}
	}
}

type planTotalLine struct {
	Amount  api.BigAmount `json:"amount"`
	Decimal *string       `json:"decimal" schema:"decimal"`
	Pays    string        `json:"pays"`
	Rows    int           `json:"rows"`
}

func totalLines(m money.Registry, totals []payout.Total) []planTotalLine {
	lines := make([]planTotalLine, len(totals))
	for i, t := range totals {
		decimal := views.Decimal(t.Amount.Minor.Big(), m.DecimalsOf(t.Amount.Kind, t.Amount.Code))
		lines[i] = planTotalLine{t.Amount, decimal, m.FormatBig(t.Amount), t.Rows}
	}
	return lines
}

// amountCell shows an amount with its code in the form that till accepts.
func amountCell(m money.Registry, a api.BigAmount) render.Cell {
	return render.BigAmount(a.Minor.Big(), codeIn(m, a.Kind, a.Code), m.DecimalsOf(a.Kind, a.Code))
}

// csvOfSums reports whether the output is CSV with one of the columns named in sums. A number in CSV has one
// unit, so such output has a line for each unit, which counts only what is in that unit.
func csvOfSums[T any](o cmdutil.Output[T], sums ...string) bool {
	columns := o.Session.Render.Columns
	return o.Session.Render.Format == render.CSV && o.Tabular() &&
		(len(columns) == 0 || slices.ContainsFunc(sums, func(name string) bool { return slices.Contains(columns, name) }))
}

// runCounts is a run with the states of its orders, or of those in one unit.
type runCounts struct {
	run     payout.Run
	tally   payout.Tally
	byUnit  bool
	money   money.Registry // with the decimals with which the run was sent
	results string         // the results file of payout apply
}

// The parts of a run as JSON.
type (
	runNames struct {
		Run    string `json:"run" schema:"run" column:"own whole: name of the run"`
		Plan   string `json:"plan" column:"own: file of the plan"`
		Digest string `json:"digest" schema:"digest" column:"id: digest of the plan"`
	}
	stateCounts struct {
		Rows     int `json:"rows" column:"count: number of orders"`
		Accepted int `json:"accepted" column:"count: number of orders that are accepted"`
		Rejected int `json:"rejected" column:"count: number of orders that are rejected"`
		Unknown  int `json:"unknown" column:"count: number of orders that are unknown"`
		Conflict int `json:"conflict" column:"count: number of orders in conflict"`
		Planned  int `json:"planned" column:"count: number of orders that are planned"`
	}
	runTotals struct {
		AlreadyPaid int             `json:"already_paid" column:"value: accepted orders that this run did not send"`
		Totals      []planTotalLine `json:"totals"`
		Paid        []planTotalLine `json:"accepted_totals"`
	}
)

type runLine struct {
	runNames
	Batch string `json:"batch" column:"own: batch that the order ids were made for"`
	Began string `json:"began" schema:"moment" column:"time: when the run began"`
	User  string `json:"user" column:"own: who began the run"`
	Host  string `json:"host" column:"own: machine on which it began"`
	stateCounts
	Sending int `json:"sending" column:"count: orders that a process is sending"`
	runTotals
}

type appliedLine struct {
	runNames
	stateCounts
	runTotals
	Results string `json:"results"`
}

func (r runCounts) line() runLine {
	n := r.tally.States
	return runLine{
		runNames{r.run.Name, r.run.Plan, r.run.Digest}, r.run.Batch, views.Moment(r.run.Began), r.run.User, r.run.Host,
		stateCounts{r.tally.Rows, n[payout.StateAccepted], n[payout.StateRejected], n[payout.StateUnknown],
			n[payout.StateConflict], n[payout.StatePlanned]}, n[payout.StateSending],
		runTotals{r.tally.Before, totalLines(r.money, r.tally.Totals), totalLines(r.money, r.tally.Accepted)},
	}
}

// sum shows the total of one unit as a number, and those of several as text.
func (r runCounts) sum(totals []payout.Total) render.Cell {
	if r.byUnit && len(r.tally.Totals) > 0 {
		a := api.BigAmount{Kind: r.tally.Totals[0].Amount.Kind, Code: r.tally.Totals[0].Amount.Code}
		if len(totals) > 0 {
			a.Minor = totals[0].Amount.Minor
		}
		return amountCell(r.money, a)
	}
	amounts := make([]render.Step, len(totals))
	for i, t := range totals {
		amounts[i].At = r.money.FormatBig(t.Amount)
	}
	return render.Sums(amounts)
}

func runView(money.Registry) render.View[runCounts] {
	view := render.Map(render.Struct[runLine]("run"), runCounts.line)
	view.Columns = append(view.Columns,
		render.AmountField("total", "total of the plan", func(r runCounts) render.Cell { return r.sum(r.tally.Totals) }),
		render.AmountField("accepted_total", "total of the accepted orders",
			func(r runCounts) render.Cell { return r.sum(r.tally.Accepted) }))
	return view.Select("run", "plan", "began", "rows", "accepted", "rejected", "unknown", "conflict", "planned", "sending",
		"already_paid", "total", "accepted_total", "batch", "user", "host", "digest").
		Default("run", "plan", "began", "rows", "accepted", "rejected", "unknown", "conflict", "planned").Whole("total", "accepted_total")
}

func appliedView(m money.Registry) render.View[runCounts] {
	view := runView(m).Without("plan", "began", "sending", "batch", "user", "host", "digest").Default("run", "rows",
		"accepted", "rejected", "unknown", "conflict", "planned", "already_paid", "total", "accepted_total")
	view.JSON = render.Encoded(func(r runCounts) appliedLine {
		l := r.line()
		return appliedLine{l.runNames, l.stateCounts, l.runTotals, r.results}
	})
	return view
}

// codeIn returns a code in the form that till accepts: with its kind if the registry does not know it.
func codeIn(m money.Registry, kind api.Kind, code string) string {
	if e, known := m.Lookup(code); code != "" && (!known || e.Kind != kind) {
		return strings.ToLower(string(kind)) + ":" + code
	}
	return code
}

func exportCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, exportView, &cobra.Command{
		Use:               "export RUN",
		Short:             "Print the rows of a run for a file, as CSV",
		ValidArgsFunction: a.CompleteRuns(),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Order], args []string) error {
		if s.Origin("output").IsDefault() && s.Render.Filter == nil {
			s.Render.Format = render.CSV
		}
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		run, err := findRun(s, ledger, args[0])
		if err != nil {
			return err
		}
		return out.List(ledger.Orders(s.Ctx, rowsOf(run)))
	})
}

type exportLine struct {
	OrderID  string       `json:"order_id" schema:"order-id"`
	State    payout.State `json:"state"`
	ID       string       `json:"id"`
	Reason   string       `json:"reason"`
	Currency api.Currency `json:"currency"`
	Amount   api.Amount   `json:"amount"`
	Decimal  *string      `json:"decimal" schema:"decimal"` // the amount, with the decimals of the last attempt
	Address  string       `json:"address"`
	Memo     string       `json:"memo"`
	Callback string       `json:"callback"`
	sheet.Kept
}

// rowOrders is the view of orders in columns that can be planned again: it has codes as till accepts them.
func rowOrders(m money.Registry) render.View[payout.Order] {
	view := views.Orders(m).Without("currency", "amount")
	amount := render.AmountField("amount", "amount to withdraw", func(o payout.Order) render.Cell {
		return render.Amount(o.Amount.Minor, codeIn(m, o.Amount.Kind, o.Amount.Code),
			views.AsSent(m, o).DecimalsOf(o.Amount.Kind, o.Amount.Code))
	})
	amount.CodeIn = "currency"
	view.Columns = append(view.Columns, amount, render.Field("currency", "currency that is withdrawn", render.Own,
		func(o payout.Order) string { return codeIn(m, o.Currency.Kind, o.Currency.Code) }))
	return view.Whole("currency")
}

func exportView(m money.Registry) render.View[payout.Order] {
	columns := []string{"order_id", "state", "id", "reason", "currency", "amount", "address", "memo", "callback"}
	view := rowOrders(m).Select(append(columns, sheet.Names()[sheet.Note:]...)...).Default("order_id", "state", "currency", "amount", "address")
	view.JSON = render.Encoded(func(o payout.Order) exportLine {
		return exportLine{o.OrderID, o.State, o.ID, o.Reason, o.Currency, o.Amount, views.DecimalOf(views.AsSent(m, o), o.Amount),
			o.Address, o.Memo, o.Callback, o.Kept}
	})
	return view
}

func reconcileCommand(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.NewCommand(a, cmdutil.List, orders.ReconciledView, &cobra.Command{
		Use:               "reconcile [RUN]",
		Short:             "Find out from the service's list what became of a run",
		ValidArgsFunction: a.CompleteRuns(),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Result], args []string) error {
		sender, run, err := askAbout(s, cmdutil.FirstOf(args))
		if err != nil {
			return err
		}
		settled, err := sender.ReconcileRun(s.Ctx, run.Name)
		if err != nil {
			return err
		}
		printed := out.Slice(settled.Results)
		if len(settled.Results) == 0 && run.Name == "" {
			s.Note("no order of a run is unknown")
		} else if len(settled.Results) == 0 {
			s.Note("nothing is unknown; %s compared with the list, and nothing differs",
				countWas(settled.Held, "order"))
		}
		noteSettled(s, settled)
		return exit.WithPrintError(orders.Reconciled(settled.Results, "payout", "resolve"), printed)
	})
	cmdutil.AddFinishFlags(cmd)
	return cmd
}

func noteSettled(s *cmdutil.Session, settled payout.Settled) {
	var hidden []string
	for _, r := range settled.Results {
		if r.Order.State == payout.StateAccepted && !r.Listed {
			hidden = append(hidden, r.Order.OrderID)
		}
	}
	if len(hidden) > 0 {
		s.NoteAbout(exit.AboutOrders(hidden...), "%s accepted, and not on the service's list",
			cmdutil.IsOrAre("order", hidden))
	}
	if settled.Uncompared > 0 {
		s.Note("the amount of %s could not be compared: %s", cmdutil.CountOf(settled.Uncompared, "order"),
			settled.Note)
	}
	if settled.Sending > 0 {
		s.Note("another process is sending %s: that process will record the outcome",
			cmdutil.CountOf(settled.Sending, "order"))
	}
}

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	cmd := cmdutil.NewCommand(a, cmdutil.List, rowView(true), &cobra.Command{
		Use:               "wait RUN --status S[,S]",
		Short:             "Wait until every accepted row of a run has reached a status",
		ValidArgsFunction: a.CompleteRuns(),
	}, func(s *cmdutil.Session, out cmdutil.Output[runRow], args []string) error {
		if err := flags.Check(); err != nil {
			return err
		}
		sender, run, err := askAbout(s, args[0])
		if err != nil {
			return err
		}
		waited, err := sender.WaitRun(s.Ctx, run.Name, payout.RunWait{
			Statuses: flags.Status, FailOn: flags.FailOn, Interval: flags.Interval, Timeout: flags.Timeout,
			Progress: func(p payout.RunProgress) {
				s.Waiting(fmt.Sprintf("run %s: %d of %d %s", run.Name, len(p.Orders)-p.Left, len(p.Orders),
					strings.Join(flags.Status, " or ")))
			},
			Trouble: func(err error) { s.NoteTrouble("run "+run.Name, err, flags) },
		})
		if waited.Tally.States[payout.StateUnknown] > 0 {
			aboutUnknown(s, s.Ctx, sender.Ledger, run.Name)
		}
		if err != nil {
			return waitFailure(err, waited)
		}
		printed := runRows{s, sender.Ledger, run, waited.Statuses}.print(out, nil)
		return exit.WithPrintError(notAll(run.Name, waited.Tally), printed)
	})
	cmdutil.AddWaitFlags(cmd, &flags)
	cmdutil.AddFinishFlags(cmd)
	cmdline.Require(cmd, "status")
	return cmd
}

func notAll(run string, t payout.Tally) error {
	accepted := t.States[payout.StateAccepted]
	if accepted == t.Rows {
		return nil
	}
	return exit.Failure(exit.Partial, nil,
		fmt.Sprintf("%d of %d orders were accepted and have reached it; %d were rejected, %d not sent",
			accepted, t.Rows, t.States[payout.StateRejected], t.States[payout.StatePlanned]), "see which", "payout", "status", run)
}

// waitFailure adds to the error of a wait the names of its flags, and a hint for a connection that fails.
func waitFailure(err error, waited payout.RunProgress) error {
	var own *payout.Error
	switch {
	case !errors.As(err, &own):
		return err
	case own.Kind == payout.ReadFailed && own.Err != nil:
		return &exit.Error{Code: exit.ReadFailed, Err: err, Msg: own.Msg, Hint: exit.Explain(own.Err).Hint}
	case own.Kind == payout.FailedStatus && len(waited.Failed) == 1:
		own.Msg += ", which --fail-on names"
	case own.Kind == payout.FailedStatus:
		var statuses []string
		for _, o := range waited.Failed {
			if quoted := fmt.Sprintf("%q", waited.Statuses[o.ID]); !slices.Contains(statuses, quoted) {
				statuses = append(statuses, quoted)
			}
		}
		own.Msg = fmt.Sprintf("%d orders (%s) have a status that --fail-on names: %s",
			len(own.OrderIDs), strings.Join(cmdutil.Few(own.OrderIDs), ", "), strings.Join(statuses, ", "))
	}
	return err
}
