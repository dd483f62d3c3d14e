package payout

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func statusCommand(a *cmdutil.App) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the state of every row of a run",
		Long: `Show the state of every order of a run in the journal, in the order of the
plan; without RUN, of all runs, the oldest first. After a table, standard error
has the number of orders in each state and their totals. RUN is the first eight
or more characters of the plan's digest: see till payout list.

Accepted means that the service has taken an order. --live adds a column with
the service's own status, from one reading of its list. An order that is not
listed has no status, and is named on standard error.`,
		Example: `  till payout status 1f60bd0c
  till payout status --live -o csv`,
		Args: cmdutil.OptionalArg("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := cmdutil.Begin(a, cmd, rowView(live))
			if err != nil {
				return err
			}
			var ledger *payout.Ledger
			var sender *payout.Sender
			if !live {
				ledger, err = s.LedgerToList()
			} else if sender, err = askAboutRuns(s, cmd); err == nil {
				ledger = sender.Ledger
			}
			if err != nil {
				return err
			}
			run, err := runOf(s, ledger, args)
			if err != nil {
				return err
			}
			var statuses map[string]string
			if live {
				if statuses, err = sender.Live(s.Ctx, rowsOf(run)); err != nil {
					return err
				}
			}
			missing, err := printRows(s, out, ledger, run, statuses)
			if live && len(missing) > 0 {
				s.NoteAbout(cmdutil.AboutOrders(missing...), "%s not on the service's list",
					cmdutil.IsOrAre("order", missing))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "add the service's own status, from one reading of its list")
	cmdutil.WithView(a, cmdutil.List, rowView(true), cmd)
	return a.Prints(cmd, cmdutil.PrintedAs[views.OrderLine](cmdutil.List))
}

// A runRow is an order of a run, with the service's own status if that was requested.
type runRow struct {
	payout.Order
	status   string
	approval *views.ApprovalLine
}

func (r runRow) line() views.OrderLine {
	line := views.NewOrderLine(r.Order)
	line.Approval = r.approval
	return line
}

// liveLine is an orderLine that always has a status, even an empty one.
type liveLine struct {
	views.OrderLine
	Status string `json:"status"`
}

func rowView(live bool) func(money.Registry) render.View[runRow] {
	return func(m money.Registry) render.View[runRow] {
		view := render.Map(views.Orders(m), func(r runRow) payout.Order { return r.Order })
		view.JSON = render.Encoded(runRow.line)
		if live {
			view.JSON = render.Encoded(func(r runRow) liveLine { return liveLine{r.line(), r.status} })
			amount := slices.IndexFunc(view.Columns, func(c render.Column[runRow]) bool { return c.Name == "amount" })
			status := render.Column[runRow]{Name: "status", About: "the service's own status of the withdrawal",
				Cell: func(r runRow) render.Cell { return render.Word(r.status) }}
			view.Columns = slices.Insert(view.Columns, amount, status)
		}
		// why an order is not accepted matters more than when it was sent
		return view.Default("order_id", "state", "status", "amount", "reason")
	}
}

// printRows prints the orders of a run, and their totals under a table. It returns the orders that have a
// withdrawal but no status.
func printRows(
	s *cmdutil.Session, out cmdutil.Output[runRow], ledger *payout.Ledger, run payout.Run, statuses map[string]string,
) (missing []string, err error) {
	foot := foot{run: run.Name, states: map[payout.State]int{}}
	var consents cmdutil.Consents
	if ledger != nil {
		if consents, err = cmdutil.ConsentsOf(s.Ctx, ledger); err != nil {
			return nil, err
		}
	}
	err = out.List(func(yield func(runRow, error) bool) {
		if ledger == nil {
			return
		}
		for o, err := range ledger.Orders(s.Ctx, rowsOf(run)) {
			status, listed := statuses[o.ID]
			approval := consents[o.Consent()]
			if err == nil {
				foot.add(o, approval.By())
				if o.ID != "" && !listed {
					missing = append(missing, o.OrderID)
				}
			}
			if !yield(runRow{o, status, approval}, err) {
				return
			}
		}
	})
	if err == nil && out.Tabular() && s.Render.Format == render.Table {
		for line := range foot.lines(s.Money) {
			s.Note("%s", line)
		}
		for _, line := range foot.approved() {
			s.Note("%s", line)
		}
	}
	return missing, err
}

// A foot is the summary of the rows of a table.
type foot struct {
	run    string
	rows   int
	states map[payout.State]int
	before int // accepted, but not sent by the run
	units  []unitSum
	by     []approvedRows // of a run
}

// approvedRows are the rows that were sent with the same approvals.
type approvedRows struct {
	by   string
	rows int
}

type unitSum struct{ all, accepted api.BigAmount }

func (f *foot) add(o payout.Order, by string) {
	if f.run != "" && o.SentBy(f.run) {
		i := slices.IndexFunc(f.by, func(a approvedRows) bool { return a.by == by })
		if i < 0 {
			i, f.by = len(f.by), append(f.by, approvedRows{by: by})
		}
		f.by[i].rows++
	}
	f.rows++
	f.states[o.State]++
	i := slices.IndexFunc(f.units, func(u unitSum) bool { return u.all.SameUnit(api.Big(o.Amount)) })
	if i < 0 {
		zero := api.BigAmount{Kind: o.Amount.Kind, Code: o.Amount.Code}
		i, f.units = len(f.units), append(f.units, unitSum{zero, zero})
	}
	f.units[i].all.Minor.Add(o.Amount.Minor)
	if o.State == payout.StateAccepted {
		f.units[i].accepted.Minor.Add(o.Amount.Minor)
		if f.run != "" && !o.SentBy(f.run) {
			f.before++
		}
	}
}

// approved says who had approved the rows of a run when they were sent. It is empty if nobody had to.
func (f *foot) approved() (lines []string) {
	for _, a := range f.by {
		switch {
		case a.by != "" && len(f.by) == 1:
			lines = append(lines, "approved by "+a.by)
		case a.by != "":
			lines = append(lines, cmdutil.CountOf(a.rows, "row")+" approved by "+a.by)
		case len(f.by) > 1:
			lines = append(lines, cmdutil.CountOf(a.rows, "row")+" sent without approvals")
		}
	}
	return lines
}

func (f *foot) lines(m money.Registry) iter.Seq[string] {
	return func(yield func(string) bool) {
		var parts []string
		for _, state := range payout.States() {
			n := f.states[state]
			if n == 0 {
				continue
			}
			part := fmt.Sprintf("%d %s", n, state)
			if state == payout.StateAccepted && f.before > 0 {
				part += fmt.Sprintf(" (%d not by this run)", f.before)
			}
			parts = append(parts, part)
		}
		if f.rows == 0 {
			yield("no rows")
			return
		}
		if !yield(cmdutil.CountOf(f.rows, "row") + ": " + strings.Join(parts, ", ")) {
			return
		}
		for _, u := range f.units {
			accepted := m.FormatBig(u.accepted) + " of it"
			switch u.accepted.Minor {
			case api.Sum{}:
				accepted = "none of it"
			case u.all.Minor:
				accepted = "all of it"
			}
			if !yield(m.FormatBig(u.all) + ", " + accepted + " accepted") {
				return
			}
		}
		if f.states[payout.StateUnknown] > 0 {
			yield("find out what became of what is unknown with: " + strings.TrimSpace("till payout reconcile "+f.run))
		}
	}
}
