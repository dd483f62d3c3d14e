package payout

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func statusCommand(a *cmdutil.App) *cobra.Command {
	var live, all bool
	var names []string
	cmd := &cobra.Command{
		Use:               "status [RUN]",
		Short:             "Show the state of every row of a run",
		ValidArgsFunction: a.CompleteRuns(),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := cmdutil.Begin(a, cmd, rowView(live))
			if err != nil {
				return err
			}
			states, err := cmdline.ParseStates(names)
			if err != nil {
				return err
			}
			rows, name := runRows{Session: s}, cmdutil.FirstOf(args)
			if live {
				var sender *payout.Sender
				if sender, rows.run, err = askAbout(s, name); err == nil {
					rows.ledger = sender.Ledger
					rows.statuses, err = sender.Live(s.Ctx, rowsOf(rows.run))
				}
			} else if rows.ledger, err = s.LedgerToList(); err == nil {
				rows.run, err = findRun(s, rows.ledger, name)
			}
			switch {
			case err != nil:
				return err
			case s.TableOnTerminal() && !all && !live:
				return rows.printBrief(out, states)
			}
			return rows.print(out, states)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&live, "live", false, "add the service's own status, from one reading of its list")
	f.BoolVar(&all, "all", false, "show every order on a terminal too")
	f.StringSliceVar(&names, "state", nil,
		"only orders in these states: planned, sending, accepted, rejected, unknown, conflict")
	cmdline.Offer(cmd, "state", cmdutil.CompleteStates)
	cmd.MarkFlagsMutuallyExclusive("all", "state")
	cmdutil.WithView(a, cmdutil.List, rowView(true), cmd)
	return cmdutil.Prints[views.OrderLine](a, cmdutil.List, cmd)
}

// A runRow is an order of a run, with the service's own status if that was requested.
type runRow struct {
	payout.Order
	status   string
	unlisted bool // the service's list was read, and does not have it
	approval *views.ApprovalLine
}

// liveLine is an orderLine that always has a status, even an empty one.
type liveLine struct {
	views.OrderLine
	Status string `json:"status"`
}

func rowView(live bool) func(money.Registry) render.View[runRow] {
	return func(m money.Registry) render.View[runRow] {
		line := func(r runRow) views.OrderLine {
			line := views.NewOrderLine(m, r.Order)
			line.Approval = r.approval
			return line
		}
		view := render.Map(views.Orders(m), func(r runRow) payout.Order { return r.Order })
		view.JSON = render.Encoded(line)
		if live {
			view.JSON = render.Encoded(func(r runRow) liveLine { return liveLine{line(r), r.status} })
			amount := slices.IndexFunc(view.Columns, func(c render.Column[runRow]) bool { return c.Name == "amount" })
			view.Columns = slices.Insert(view.Columns, amount, render.Field("status", "the service's own status of the withdrawal",
				render.Word, func(r runRow) string { return r.status }))
		}
		// why an order is not accepted matters more than when it was sent
		return view.Default("order_id", "state", "status", "amount", "reason")
	}
}

type runRows struct {
	*cmdutil.Session
	ledger   *payout.Ledger // nil: there is no journal
	run      payout.Run
	statuses map[string]string // the service's own, by the id of the withdrawal; nil: they are not wanted
}

func (r runRows) in(states ...payout.State) iter.Seq2[runRow, error] {
	return func(yield func(runRow, error) bool) {
		if r.ledger == nil {
			return
		}
		consents, err := cmdutil.ConsentsOf(r.Ctx, r.ledger)
		if err != nil {
			yield(runRow{}, err)
			return
		}
		filter := rowsOf(r.run)
		filter.States = states
		for o, err := range r.ledger.Orders(r.Ctx, filter) {
			status, listed := r.statuses[o.ID]
			unlisted := r.statuses != nil && o.ID != "" && !listed
			if !yield(runRow{o, status, unlisted, consents[o.Consent()]}, err) {
				return
			}
		}
	}
}

// print prints the orders in the given states, or all of them, and the totals of the run under a table.
func (r runRows) print(out cmdutil.Output[runRow], states []payout.State) error {
	foot := newFoot(r.run)
	err := out.List(func(yield func(runRow, error) bool) {
		for row, err := range r.in() {
			if err == nil {
				foot.add(row)
			}
			if (err != nil || len(states) == 0 || slices.Contains(states, row.State)) && !yield(row, err) {
				return
			}
		}
	})
	if err == nil && out.Tabular() && r.Render.Format == render.Table {
		for _, line := range foot.lines(r.Session) {
			r.Note("%s", line)
		}
		r.noteUnknown(foot)
		for _, line := range foot.approved() {
			r.Note("%s", line)
		}
	}
	if len(foot.unlisted) > 0 {
		r.NoteAbout(exit.AboutOrders(foot.unlisted...), "%s not on the service's list", cmdutil.IsOrAre("order", foot.unlisted))
	}
	return err
}

// printBrief prints the totals of the run, and then the orders in the given states or, without states, those
// that need a person. What may have been paid comes first, in red.
func (r runRows) printBrief(out cmdutil.Output[runRow], states []payout.State) error {
	foot := newFoot(r.run)
	for row, err := range r.in() {
		if err != nil {
			return err
		}
		foot.add(row)
	}
	red := func(text string) string { return r.Render.Styled(render.Red, text) }
	text := ""
	for i, line := range append(foot.lines(r.Session), foot.approved()...) {
		line = render.WrapWords(render.Safe(line), r.Render.Width, 2)
		if i == 0 {
			line = strings.NewReplacer("unknown", red("unknown"), "conflict", red("conflict")).Replace(line)
		}
		text += line + "\n"
	}
	if err := r.Write(text); err != nil {
		return err
	}
	needy, hidden := len(states) == 0, foot.rows
	if needy {
		states = []payout.State{payout.StateUnknown, payout.StateConflict, payout.StateRejected}
	}
	for _, grave := range []bool{true, false} {
		var group []payout.State
		for _, state := range states {
			if n := foot.states[state]; n > 0 && grave == (state == payout.StateUnknown || state == payout.StateConflict) {
				group, hidden = append(group, state), hidden-n
			}
		}
		if err := r.printGroup(out, group, grave); err != nil {
			return err
		}
	}
	if needy && hidden > 0 {
		r.NoteCommand(append(r.command("status"), "--all"), "%s not shown; to see every order:", cmdutil.CountOf(hidden, "row"))
	}
	r.noteUnknown(foot)
	r.noteLeft(foot)
	return nil
}

func (r runRows) noteLeft(f *foot) {
	sending := f.states[payout.StateSending] > 0 // by a process that will send the rest
	if n := f.states[payout.StatePlanned]; n > 0 && !sending && r.run.Name != "" && r.run.ReplacedBy == "" {
		r.NoteCommand([]string{"payout", "apply", r.run.Plan}, "%s not sent yet; to send the rest:", cmdutil.CountOf(n, "row"))
	}
}

func (r runRows) noteUnknown(f *foot) {
	if f.states[payout.StateUnknown] > 0 {
		r.NoteCommand(r.command("reconcile"), "find out what became of what is unknown with:")
	}
}

// command returns a command about the run, or about all runs, without till.
func (r runRows) command(name string) []string {
	return strings.Fields("payout " + name + " " + r.run.Name)
}

// printGroup prints the orders in the given states, if there are any, below a blank line; grave ones in red if
// the terminal has colours.
func (r runRows) printGroup(out cmdutil.Output[runRow], states []payout.State, grave bool) error {
	if len(states) == 0 {
		return nil
	}
	if !grave {
		return cmp.Or(r.Write("\n"), out.List(r.in(states...)))
	}
	var table strings.Builder
	options := r.Render
	options.Color = false
	broken := out.View.List(&table, options, r.in(states...))
	text := "\n"
	for line := range strings.Lines(table.String()) {
		text += r.Render.Styled(render.Red, strings.TrimSuffix(line, "\n")) + "\n"
	}
	return cmp.Or(broken, r.Write(text))
}

// A foot is the summary of the rows of a table.
type foot struct {
	run    string
	rows   int
	states map[payout.State]int
	before int // accepted, but not sent by the run
	units  []unitSum
	by     []string       // the approvals under which rows of the run were sent
	sent   map[string]int // how many rows, by their approvals

	unlisted []string // orders
}

type unitSum struct {
	all, accepted api.BigAmount
	decimals      int64 // with which its amounts were shown when they were sent
}

func newFoot(run payout.Run) *foot {
	return &foot{run: run.Name, states: map[payout.State]int{}, sent: map[string]int{}}
}

func (f *foot) add(o runRow) {
	sent := f.run != "" && o.SentBy(f.run)
	if by := o.approval.By(); sent {
		if f.sent[by]++; f.sent[by] == 1 {
			f.by = append(f.by, by)
		}
	}
	if o.unlisted {
		f.unlisted = append(f.unlisted, o.OrderID)
	}
	f.rows++
	f.states[o.State]++
	i := slices.IndexFunc(f.units, func(u unitSum) bool { return u.all.SameUnit(api.Big(o.Amount)) })
	if i < 0 {
		zero := api.BigAmount{Kind: o.Amount.Kind, Code: o.Amount.Code}
		i, f.units = len(f.units), append(f.units, unitSum{zero, zero, -1})
	}
	u := &f.units[i]
	u.all.Minor.Add(o.Amount.Minor)
	u.decimals = max(u.decimals, o.DecimalsSent())
	if o.State == payout.StateAccepted {
		u.accepted.Minor.Add(o.Amount.Minor)
		if f.run != "" && !sent {
			f.before++
		}
	}
}

// approved says who had approved the rows of a run when they were sent. It is empty if no approval was needed.
func (f *foot) approved() (lines []string) {
	for _, by := range f.by {
		line := "approved by " + by
		if by == "" {
			line = "sent without approvals"
		}
		if len(f.by) > 1 {
			line = cmdutil.CountOf(f.sent[by], "row") + " " + line
		}
		if by != "" || len(f.by) > 1 {
			lines = append(lines, line)
		}
	}
	return lines
}

// lines returns the numbers of rows by state, and a line for the sums of each currency.
func (f *foot) lines(s *cmdutil.Session) []string {
	grouped := strings.Clone
	if s.TableOnTerminal() {
		grouped = render.Group
	}
	if f.rows == 0 {
		return []string{"no rows"}
	}
	var counts []string
	for _, state := range payout.States() {
		if n := f.states[state]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
		if state == payout.StateAccepted && f.before > 0 {
			counts[len(counts)-1] += fmt.Sprintf(" (%d not by this run)", f.before)
		}
	}
	lines := []string{cmdutil.CountOf(f.rows, "row") + ": " + strings.Join(counts, ", ")}
	for _, u := range f.units {
		then := s.Money.As(u.all.Unit(), u.decimals)
		accepted := grouped(then.FormatBig(u.accepted))
		switch u.accepted.Minor {
		case api.Sum{}:
			accepted = "none"
		case u.all.Minor:
			accepted = "all"
		}
		lines = append(lines, grouped(then.FormatBig(u.all))+", "+accepted+" of it accepted")
	}
	return lines
}
