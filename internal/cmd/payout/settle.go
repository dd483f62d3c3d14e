package payout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/orders"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func reconcileCommand(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.NewCommand(a, cmdutil.List, orders.ReconciledView, &cobra.Command{
		Use:               "reconcile [RUN]",
		Short:             "Find out from the service's list what became of a run",
		ValidArgsFunction: cmdline.FirstArg(a.CompleteRuns()),
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
			s.Note("nothing is unknown")
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

func resolveCommand(a *cmdutil.App) *cobra.Command {
	return orders.ResolveCommand(a, "Record what a person knows about rows of a run")
}

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	cmd := cmdutil.NewCommand(a, cmdutil.List, rowView(true), &cobra.Command{
		Use:               "wait RUN --status S[,S]",
		Short:             "Wait until every accepted row of a run has reached a status",
		ValidArgsFunction: cmdline.FirstArg(a.CompleteRuns()),
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
	return &exit.Error{Code: exit.Partial,
		Msg: fmt.Sprintf("%d of %d orders were accepted and have reached it; %d were rejected, %d not sent",
			accepted, t.Rows, t.States[payout.StateRejected], t.States[payout.StatePlanned]),
		Hint: payout.NewHint("see which", "payout", "status", run)}
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
