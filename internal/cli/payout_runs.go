package cli

import (
	"fmt"
	"iter"
	"strings"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func (a *app) payoutList() *cobra.Command {
	return shows(&cobra.Command{
		Use:   "list",
		Short: "List the runs, each with where its orders stand",
		Long: `List the runs of the account, the oldest first: which plan, when it began, who
began it on which host, how many of its orders stand where, and what they come
to. A run is a plan that has begun to be applied, and is named by the first
eight characters of the plan's digest.

already_paid are those of the accepted orders that were not sent by this run.

With -o csv there is a line for each run and currency, with the orders in that
currency alone, so that a spreadsheet can add up what stands below each other;
without the columns total and accepted_total it is a line for each run. With
-o json a run is {"run","plan","digest","batch","began","user","host","rows",
"accepted","rejected","unknown","conflict","planned","sending","already_paid",
"totals":[{"amount","pays","rows"}],"accepted_totals":[...]}.`,
		Example: `  till payout list
  till payout list -o csv >runs.csv
  till payout list --columns run,plan,unknown,conflict -o csv`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, out, err := begin(a, cmd, runView)
			if err != nil {
				return err
			}
			book, err := s.openRuns(cmd)
			if err != nil {
				return err
			}
			runs, err := s.runs(book)
			if err != nil {
				return err
			}
			if len(runs) == 0 {
				s.note("no plan was applied yet")
			}
			return out.list(standOf(s, book, runs, out.byUnit("total", "accepted_total")))
		},
	}, runView)
}

// openRuns is the account's record, for commands that do not ask the service. It has no ledger if there is no journal yet.
func (s *session) openRuns(cmd *cobra.Command) (*payout.Sender, error) {
	if err := s.noDryRun(commandName(cmd)); err != nil {
		return nil, err
	}
	account, err := s.journalAccount()
	if err != nil {
		return nil, err
	}
	j, err := s.journalToList()
	if err != nil || j == nil {
		return &payout.Sender{}, err
	}
	ledger, err := j.Ledger(s.ctx, account)
	if err == nil {
		err = ledger.Reap(s.ctx)
	}
	return &payout.Sender{Ledger: ledger}, err
}

// askAboutRuns is openRuns for commands that ask the service.
func (s *session) askAboutRuns(cmd *cobra.Command) (*payout.Sender, error) {
	if err := s.noDryRun(commandName(cmd)); err != nil {
		return nil, err
	}
	book, err := s.openBook()
	if err != nil {
		return nil, err
	}
	err = book.Ledger.Reap(s.ctx)
	return book, err
}

func (s *session) runs(book *payout.Sender) ([]journal.Run, error) {
	if book.Ledger == nil {
		return nil, nil
	}
	return book.Ledger.Runs(s.ctx)
}

// findRun finds a run by the first characters of its plan's digest: the eight that name it, or more.
func (s *session) findRun(book *payout.Sender, name string) (journal.Run, error) {
	runs, err := s.runs(book)
	if err != nil {
		return journal.Run{}, err
	}
	digits := strings.TrimPrefix(name, "sha256:")
	for _, r := range runs {
		if len(digits) >= len(r.Name) && strings.HasPrefix(strings.TrimPrefix(r.Digest, "sha256:"), digits) {
			s.subject.Run = r.Name
			return r, nil
		}
	}
	return journal.Run{}, usageError(fmt.Sprintf("there is no run %q in this account", name), "see which there are", "payout", "list")
}

// runOf is the run that an argument names, if there is one.
func (s *session) runOf(book *payout.Sender, args []string) (run journal.Run, err error) {
	if len(args) > 0 {
		run, err = s.findRun(book, args[0])
	}
	return run, err
}

// rowsOf chooses the orders of a run, or those of all runs.
func rowsOf(run journal.Run) journal.Filter {
	return journal.Filter{Run: run.Name, Runs: run.Name == ""}
}

// stand is a run with the states of its orders, or of those in one unit.
type stand struct {
	run    journal.Run
	tally  payout.Tally
	byUnit bool
}

func standOf(s *session, book *payout.Sender, runs []journal.Run, byUnit bool) iter.Seq2[stand, error] {
	return func(yield func(stand, error) bool) {
		for _, run := range runs {
			tallies, err := []payout.Tally{{}}, error(nil)
			if byUnit {
				tallies, err = payout.StandByUnit(s.ctx, book.Ledger, run)
			} else {
				tallies[0], err = payout.Stand(s.ctx, book.Ledger, run)
			}
			if err != nil {
				yield(stand{}, err)
				return
			}
			for _, t := range tallies {
				if !yield(stand{run, t, byUnit}, nil) {
					return
				}
			}
		}
	}
}

// unitOf is the total of a tally of one unit, and what of it was accepted.
func unitOf(t payout.Tally) (total, accepted api.Amount) {
	if len(t.Totals) == 0 {
		return total, accepted
	}
	total = t.Totals[0].Amount
	accepted = api.Amount{Kind: total.Kind, Code: total.Code}
	if len(t.Accepted) > 0 {
		accepted.Minor = t.Accepted[0].Amount.Minor
	}
	return total, accepted
}

// runLine is a run as JSON.
type runLine struct {
	Run         string          `json:"run"`
	Plan        string          `json:"plan"`
	Digest      string          `json:"digest"`
	Batch       string          `json:"batch"`
	Began       string          `json:"began"`
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

func runView(m money.Registry) render.View[stand] {
	type row = stand
	line := func(r row) runLine {
		n := r.tally.States
		return runLine{
			Run: r.run.Name, Plan: r.run.Plan, Digest: r.run.Digest, Batch: r.run.Batch, Began: moment(r.run.Began), User: r.run.User, Host: r.run.Host, Rows: r.tally.Rows,
			Accepted: n[journal.Accepted], Rejected: n[journal.Rejected], Unknown: n[journal.Unknown], Conflict: n[journal.Conflict], Planned: n[journal.Planned],
			Sending: n[journal.Sending], AlreadyPaid: r.tally.Before, Totals: totalLines(m, r.tally.Totals), Paid: totalLines(m, r.tally.Accepted),
		}
	}
	count := func(name string, n func(row) int) render.Column[row] {
		return render.Column[row]{Name: name, Cell: func(r row) render.Cell { return render.Int(int64(n(r))) }}
	}
	inState := func(state journal.State) render.Column[row] {
		return count(string(state), func(r row) int { return r.tally.States[state] })
	}
	sum := func(r row, ofUnit api.Amount, all []planTotalLine) render.Cell {
		if r.byUnit && ofUnit.Code != "" {
			return sumCell(m, ofUnit, m.Decimals(ofUnit.Code))
		}
		return render.Own(joinTotals(all))
	}
	return render.View[row]{
		ID:   func(r row) string { return r.run.Name },
		JSON: func(r row) []byte { return asJSON(line(r)) },
		Columns: []render.Column[row]{
			{Name: "run", Whole: true, Cell: func(r row) render.Cell { return render.Own(r.run.Name) }},
			{Name: "plan", Cell: func(r row) render.Cell { return render.Own(r.run.Plan) }},
			{Name: "began", Cell: func(r row) render.Cell { return render.Own(moment(r.run.Began)) }},
			count("rows", func(r row) int { return r.tally.Rows }),
			inState(journal.Accepted), inState(journal.Rejected), inState(journal.Unknown), inState(journal.Conflict), inState(journal.Planned),
			{Name: "sending", Extra: true, Cell: inState(journal.Sending).Cell},
			{Name: "already_paid", Wide: true, Cell: func(r row) render.Cell { return render.Int(int64(r.tally.Before)) }},
			{Name: "total", Wide: true, Amount: true, Cell: func(r row) render.Cell {
				total, _ := unitOf(r.tally)
				return sum(r, total, line(r).Totals)
			}},
			{Name: "accepted_total", Wide: true, Amount: true, Cell: func(r row) render.Cell {
				_, accepted := unitOf(r.tally)
				return sum(r, accepted, line(r).Paid)
			}},
			{Name: "batch", Extra: true, Cell: func(r row) render.Cell { return render.Own(r.run.Batch) }},
			{Name: "user", Wide: true, Cell: func(r row) render.Cell { return render.Own(r.run.User) }},
			{Name: "host", Wide: true, Cell: func(r row) render.Cell { return render.Own(r.run.Host) }},
			{Name: "digest", Extra: true, Cell: func(r row) render.Cell { return render.Own(r.run.Digest) }},
		},
	}
}

func totalLines(m money.Registry, totals []payout.Total) []planTotalLine {
	lines := make([]planTotalLine, len(totals))
	for i, t := range totals {
		lines[i] = planTotalLine{t.Amount, m.Format(t.Amount), t.Rows}
	}
	return lines
}
