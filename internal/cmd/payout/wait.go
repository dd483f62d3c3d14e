package payout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	cmd := cmdutil.NewCommand(a, cmdutil.List, rowView(true), &cobra.Command{
		Use:   "wait RUN --status S[,S]",
		Short: "Wait until every accepted row of a run has reached a status",
		Long: `Wait until every accepted order of a run has reached one of the statuses named,
because accepted is not yet paid. The service's list is read repeatedly, and an
order that has reached one of them is not looked at again. till payout status
--live shows what the service calls its statuses.

The exit code is 33 as soon as an order has a status of --fail-on, and 42 when
the time runs out. Readings that fail are repeated until then; if none
succeeded, the exit code is 41.

Settle orders that are unknown (20), in conflict (21) or being sent (13) first:
until then, the wait does not begin. If orders were rejected or not sent, it
waits for the others and ends with 50. A run without accepted orders is refused
(10).`,
		Example: `  till payout wait 1f60bd0c --status Completed --fail-on Failed,Cancelled
  till payout wait 1f60bd0c --status Completed --interval 1m --timeout 6h -q`,
		Args: cmdutil.Args("RUN"),
	}, func(s *cmdutil.Session, out cmdutil.Output[runRow], args []string) error {
		if err := flags.Check(); err != nil {
			return err
		}
		sender, err := askAboutRuns(s)
		if err != nil {
			return err
		}
		run, err := findRun(s, sender.Ledger, args[0])
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
		rows, printed := newRunRows(s, sender.Ledger, run, waited.Statuses)
		if printed == nil {
			_, printed = rows.print(out, nil)
		}
		return cmdutil.WithPrintError(notAll(run.Name, waited.Tally), printed)
	})
	cmdutil.AddWaitFlags(cmd, &flags)
	cmdutil.AddFinishFlags(cmd)
	cmdutil.Require(cmd, "status")
	return cmd
}

// notAll returns the error of a wait for a run of which not all orders were accepted.
func notAll(run string, t payout.Tally) error {
	accepted := t.States[payout.StateAccepted]
	if accepted == t.Rows {
		return nil
	}
	return &cmdutil.Error{Code: cmdutil.ExitPartial,
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
		return &cmdutil.Error{Code: cmdutil.ExitReadFailed, Err: err, Msg: own.Msg, Hint: cmdutil.Explain(own.Err).Hint}
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
