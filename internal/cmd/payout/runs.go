package payout

import (
	"fmt"
	"iter"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func listCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, runView, &cobra.Command{
		Use:   "list",
		Short: "List the runs and the states of their orders",
		Long: `List the runs of the account, the oldest first: the plan, when, by whom and
where the run began, the number of orders in each state, and the totals. A run
is a plan that was applied at least once. Its name is the first eight
characters of the plan's digest.

With -o csv there is a line for each run and currency, so that a spreadsheet
can add up a column; without the columns total and accepted_total there is a
line for each run. till help runs describes the JSON.`,
		Example: `  till payout list
  till payout list -o csv >runs.csv
  till payout list --columns run,plan,unknown,conflict -o csv`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[runCounts], _ []string) error {
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		runs, err := runsOf(s, ledger)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			s.Note("no plan was applied yet")
		}
		return out.List(listRuns(s, ledger, runs, csvOfSums(out, "total", "accepted_total")))
	})
}

// askAboutRuns returns the sender for commands that ask the service.
func askAboutRuns(s *cmdutil.Session, cmd *cobra.Command) (*payout.Sender, error) {
	if err := s.NoDryRun(cmdutil.CommandName(cmd)); err != nil {
		return nil, err
	}
	return s.OpenSender()
}

func runsOf(s *cmdutil.Session, ledger *payout.Ledger) ([]payout.Run, error) {
	if ledger == nil {
		return nil, nil
	}
	return ledger.Runs(s.Ctx)
}

// findRun finds a run by the first characters of its plan's digest: the eight that name it, or more.
func findRun(s *cmdutil.Session, ledger *payout.Ledger, name string) (payout.Run, error) {
	if ledger == nil {
		return payout.Run{},
			cmdutil.UsageError(fmt.Sprintf("there is no run %q in this account", name), "give the id of a run, not the name of its plan; see which there are",
				"payout", "list")
	}
	run, err := ledger.Run(s.Ctx, name)
	s.Subject.Run = run.Name
	return run, err
}

// runOf returns the run that the argument names, if there is one.
func runOf(s *cmdutil.Session, ledger *payout.Ledger, args []string) (run payout.Run, err error) {
	if len(args) > 0 {
		run, err = findRun(s, ledger, args[0])
	}
	return run, err
}

// rowsOf selects the orders of a run, or those of all runs.
func rowsOf(run payout.Run) payout.Filter {
	return payout.Filter{Run: run.Name, Runs: run.Name == ""}
}

// runCounts is a run with the states of its orders, or of those in one unit.
type runCounts struct {
	run    payout.Run
	tally  payout.Tally
	byUnit bool
	money  money.Registry // with the decimals with which the run was sent
}

func listRuns(s *cmdutil.Session, ledger *payout.Ledger, runs []payout.Run, byUnit bool) iter.Seq2[runCounts, error] {
	return func(yield func(runCounts, error) bool) {
		for _, run := range runs {
			tallies, err := []payout.Tally{{}}, error(nil)
			if byUnit {
				tallies, err = ledger.TallyByUnit(s.Ctx, run.Name)
			} else {
				tallies[0], err = ledger.Tally(s.Ctx, run.Name)
			}
			then := s.Money
			if err == nil {
				then, err = cmdutil.SentWith(s.Ctx, s.Money, ledger, run.Name)
			}
			if err != nil {
				yield(runCounts{}, err)
				return
			}
			for _, t := range tallies {
				if !yield(runCounts{run, t, byUnit, then}, nil) {
					return
				}
			}
		}
	}
}

// unitOf returns the total of a tally of one unit, and the accepted part of it.
func unitOf(t payout.Tally) (total, accepted api.BigAmount) {
	if len(t.Totals) == 0 {
		return total, accepted
	}
	total = t.Totals[0].Amount
	accepted = api.BigAmount{Kind: total.Kind, Code: total.Code}
	if len(t.Accepted) > 0 {
		accepted.Minor = t.Accepted[0].Amount.Minor
	}
	return total, accepted
}

// runLine is a run as JSON.
type runLine struct {
	Run         string          `json:"run" schema:"run"`
	Plan        string          `json:"plan"`
	Digest      string          `json:"digest" schema:"digest"`
	Batch       string          `json:"batch"`
	Began       string          `json:"began" schema:"moment"`
	User        string          `json:"user"`
	Host        string          `json:"host"`
	Rows        int             `json:"rows"`
	Accepted    int             `json:"accepted"`
	Rejected    int             `json:"rejected"`
	Unknown     int             `json:"unknown"`
	Conflict    int             `json:"conflict"`
	Planned     int             `json:"planned"`
	Sending     int             `json:"sending"`
	AlreadyPaid int             `json:"already_paid"`
	Totals      []planTotalLine `json:"totals"`
	Paid        []planTotalLine `json:"accepted_totals"`
}

func runView(money.Registry) render.View[runCounts] {
	type row = runCounts
	line := func(r row) runLine {
		n := r.tally.States
		return runLine{
			Run: r.run.Name, Plan: r.run.Plan, Digest: r.run.Digest, Batch: r.run.Batch,
			Began: views.Moment(r.run.Began), User: r.run.User, Host: r.run.Host, Rows: r.tally.Rows,
			Accepted: n[payout.StateAccepted], Rejected: n[payout.StateRejected], Unknown: n[payout.StateUnknown],
			Conflict: n[payout.StateConflict], Planned: n[payout.StatePlanned],
			Sending: n[payout.StateSending], AlreadyPaid: r.tally.Before, Totals: totalLines(r.money, r.tally.Totals),
			Paid: totalLines(r.money, r.tally.Accepted),
		}
	}
	count := func(name, about string, n func(row) int) render.Column[row] {
		return render.Column[row]{Name: name, About: about,
			Cell: func(r row) render.Cell { return render.Count(n(r)) }}
	}
	inState := func(state payout.State) render.Column[row] {
		return count(string(state), aboutCount(state), func(r row) int { return r.tally.States[state] })
	}
	sum := func(r row, ofUnit api.BigAmount, all []planTotalLine) render.Cell {
		if r.byUnit && ofUnit.Code != "" {
			return sumCell(r.money, ofUnit, r.money.DecimalsOf(ofUnit.Kind, ofUnit.Code))
		}
		return sumsCell(all)
	}
	planned := inState(payout.StatePlanned)
	planned.Extra = true // the rows less the others
	return render.View[row]{
		ID:   func(r row) string { return r.run.Name },
		JSON: render.Encoded(line),
		Columns: []render.Column[row]{
			{Name: "run", About: "name of the run",
				Whole: true, Cell: func(r row) render.Cell { return render.Own(r.run.Name) }},
			{Name: "plan", About: "file of the plan", Cell: func(r row) render.Cell { return render.Own(r.run.Plan) }},
			{Name: "began", About: "when the run began",
				Cell: func(r row) render.Cell { return render.Time(views.Moment(r.run.Began)) }},
			count("rows", "number of orders", func(r row) int { return r.tally.Rows }),
			inState(payout.StateAccepted), inState(payout.StateRejected), inState(payout.StateUnknown),
			inState(payout.StateConflict), planned,
			{Name: "sending", About: "orders that a process is sending",
				Extra: true, Cell: inState(payout.StateSending).Cell},
			{Name: "already_paid", About: "accepted orders that this run did not send", Extra: true,
				Cell: func(r row) render.Cell { return render.Int(int64(r.tally.Before)) }},
			{Name: "total", About: "total of the plan", Whole: true, Extra: true, Amount: true, Cell: func(r row) render.Cell {
				total, _ := unitOf(r.tally)
				return sum(r, total, line(r).Totals)
			}},
			{Name: "accepted_total", About: "total of the accepted orders",
				Whole: true, Extra: true, Amount: true, Cell: func(r row) render.Cell {
					_, accepted := unitOf(r.tally)
					return sum(r, accepted, line(r).Paid)
				}},
			{Name: "batch", About: "batch that the order ids were made for",
				Extra: true, Cell: func(r row) render.Cell { return render.Own(r.run.Batch) }},
			{Name: "user", About: "who began the run",
				Extra: true, Cell: func(r row) render.Cell { return render.Own(r.run.User) }},
			{Name: "host", About: "machine on which it began",
				Extra: true, Cell: func(r row) render.Cell { return render.Own(r.run.Host) }},
			{Name: "digest", About: "digest of the plan",
				Extra: true, Cell: func(r row) render.Cell { return render.ID(r.run.Digest) }},
		},
	}
}

func totalLines(m money.Registry, totals []payout.Total) []planTotalLine {
	lines := make([]planTotalLine, len(totals))
	for i, t := range totals {
		lines[i] = newTotalLine(t, m.DecimalsOf(t.Amount.Kind, t.Amount.Code), m.FormatBig(t.Amount))
	}
	return lines
}
