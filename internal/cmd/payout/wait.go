package payout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	cmd := &cobra.Command{
		Use:   "wait RUN --status S[,S]",
		Short: "Wait until every accepted row of a run has reached a status",
		Long: `Accepted is not yet paid. Read the service's list again and again until every
order of the run that was accepted has had one of the statuses named; one that
has is not looked at any more. How the service calls them is shown by
till payout status --live. It ends with 33 as soon as one has a status of
--fail-on, and with 42 when the time runs out. Readings that fail are repeated
until then; if none succeeded, it ends with 41.

Orders that are unknown (20), in conflict (21) or being sent (13) are to be
settled before: it does not begin to wait. Those that were rejected or not sent
get nowhere by waiting: it waits for the others, and then ends with 50. A run
of which nothing was accepted is refused (10).`,
		Example: `  till payout wait 1f60bd0c --status Completed --fail-on Failed,Cancelled
  till payout wait 1f60bd0c --status Completed --interval 1m --timeout 6h -q`,
		Args: cmdutil.Args("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := cmdutil.Begin(a, cmd, rowView(true))
			if err != nil {
				return err
			}
			if err := flags.Check(); err != nil {
				return err
			}
			sender, err := askAboutRuns(s, cmd)
			if err != nil {
				return err
			}
			run, err := findRun(s, sender.Ledger, args[0])
			if err != nil {
				return err
			}
			tally, err := sender.Tally(s.Ctx, run.Name)
			if err != nil {
				return err
			}
			if err := worthWaiting(run, tally); err != nil {
				return err
			}
			statuses, err := waitForRun(s, sender, run, flags)
			if err != nil {
				return err
			}
			_, printed := printRows(s, out, sender.Ledger, run, statuses)
			if accepted := tally.States[payout.StateAccepted]; accepted < tally.Rows {
				return cmdutil.Beside(&cmdutil.Error{Code: cmdutil.ExitPartial, Msg: fmt.Sprintf("%d of %d orders were accepted and have reached it; %d were rejected, %d not sent",
					accepted, tally.Rows, tally.States[payout.StateRejected], tally.States[payout.StatePlanned]), Hint: payout.NewHint("see which", "payout", "status", run.Name)}, printed)
			}
			return printed
		},
	}
	cmdutil.AddWaitFlags(cmd, &flags)
	cmdutil.Require(cmd, "status")
	return cmdutil.WithColumns(cmd, rowView(true))
}

// worthWaiting refuses a run of which something has to be settled first, or of which there is nothing to wait for.
func worthWaiting(run payout.Run, t payout.Tally) error {
	words := func(state payout.State, what string) string {
		return isOf(t.States[state], t.Rows) + " " + what
	}
	switch {
	case t.States[payout.StateUnknown] > 0:
		return &cmdutil.Error{Code: cmdutil.ExitUnknown, Msg: words(payout.StateUnknown, "unknown") + ", such as " + t.Unknown, Hint: payout.NewHint("find out whether they were taken", "payout", "reconcile", run.Name)}
	case t.States[payout.StateConflict] > 0:
		return &cmdutil.Error{Code: cmdutil.ExitConflict, Msg: words(payout.StateConflict, "in conflict") + ", such as " + t.Conflict, Hint: payout.NewHint("see what happened", "journal", "show", t.Conflict)}
	case t.States[payout.StateSending] > 0:
		return &cmdutil.Error{Code: cmdutil.ExitBusy, Msg: words(payout.StateSending, "being sent by another process"), Hint: payout.NewHint("wait for that first")}
	case t.States[payout.StateAccepted] == 0 && t.Rows > 0:
		return cmdutil.UsageError("no order of run "+run.Name+" was accepted, so there is nothing to wait for", "see their states", "payout", "status", run.Name)
	}
	return nil
}

// waiting is the orders of a run that have not got there yet, in the order of the plan.
type waiting struct {
	orders []payout.Order
	left   map[string]bool // by withdrawal
	status map[string]string
}

// waitForRun reads the service's list until every accepted order has had one of the statuses, and returns those.
func waitForRun(s *cmdutil.Session, sender *payout.Sender, run payout.Run, flags cmdutil.WaitFlags) (map[string]string, error) {
	w := waiting{left: map[string]bool{}, status: map[string]string{}}
	filter := rowsOf(run)
	filter.States = []payout.State{payout.StateAccepted}
	for o, err := range sender.Orders(s.Ctx, filter) {
		if err != nil {
			return nil, err
		}
		w.orders = append(w.orders, o)
		w.left[o.ID] = true
	}
	admitted := false
	err := cmdutil.Repeat(s, flags, "run "+run.Name, func(ctx context.Context) (bool, error) {
		if !admitted {
			if err := sender.VerifyKey(ctx); err != nil { // another merchant's list has none of the orders
				return false, err
			}
			admitted = true
		}
		seen, err := sender.Glance(ctx, w.left)
		if err != nil {
			return false, err
		}
		return w.take(seen, flags, run)
	}, func() *cmdutil.Error { return w.ranOut(flags, run) })
	return w.status, err
}

// take notes what was seen, and reports whether all have got there.
func (w *waiting) take(seen map[string]string, flags cmdutil.WaitFlags, run payout.Run) (done bool, err error) {
	var failed, statuses []string
	for _, o := range w.orders {
		status, found := seen[o.ID]
		if !found {
			continue
		}
		w.status[o.ID] = status
		switch {
		case cmdutil.Among(status, flags.FailOn):
			failed = append(failed, o.OrderID)
			if quoted := fmt.Sprintf("%q", status); !slices.Contains(statuses, quoted) {
				statuses = append(statuses, quoted)
			}
		case cmdutil.Among(status, flags.Status):
			delete(w.left, o.ID)
		}
	}
	switch len(failed) {
	case 0:
		return len(w.left) == 0, nil
	case 1:
		err = fmt.Errorf("order %s has the status %s, which --fail-on names", failed[0], statuses[0])
	default:
		err = fmt.Errorf("%d orders (%s) have a status that --fail-on names: %s", len(failed), strings.Join(cmdutil.Few(failed), ", "), strings.Join(statuses, ", "))
	}
	return false, &cmdutil.Error{Code: cmdutil.ExitFailedStatus, About: cmdutil.AboutOrders(failed...), Msg: err.Error(), Hint: payout.NewHint("see all of them", "payout", "status", run.Name, "--live")}
}

// ranOut counts the statuses of those that have not got there.
func (w *waiting) ranOut(flags cmdutil.WaitFlags, run payout.Run) *cmdutil.Error {
	var names, late []string
	counts := map[string]int{}
	for _, o := range w.orders {
		if !w.left[o.ID] {
			continue
		}
		late = append(late, o.OrderID)
		name, seen := w.status[o.ID]
		if !seen {
			name = "not seen on its list"
		}
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	return &cmdutil.Error{Code: cmdutil.ExitNotYet, About: cmdutil.AboutOrders(late...), Msg: fmt.Sprintf("%d of %s did not reach it within %s: %s", len(w.left), cmdutil.CountOf(len(w.orders), "accepted order"), flags.Timeout, strings.Join(names, ", ")),
		Hint: payout.NewHint("wait longer with --timeout, or see what the service calls its statuses", "payout", "status", run.Name, "--live")}
}
