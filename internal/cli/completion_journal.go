package cli

import (
	"context"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// maxOffers limits the order ids that are offered. A journal may have millions, but a person reads at most a
// screen of them.
const maxOffers = 200

// completeArguments sets the completion of arguments and flags that name files, runs, orders and states.
func completeArguments(a *cmdutil.App, root *cobra.Command) {
	undecided := completeOrders(a, payout.StateUnknown, payout.StateSending, payout.StateConflict)
	for path, complete := range map[string]cobra.CompletionFunc{
		"payout apply":       first(cmdutil.FileNames),
		"payout status":      first(completeRuns(a)),
		"payout export":      first(completeRuns(a)),
		"payout wait":        first(completeRuns(a)),
		"payout reconcile":   first(completeRuns(a)),
		"payout resolve":     undecided,
		"withdraw resolve":   undecided,
		"withdraw reconcile": first(undecided),
		"journal show":       first(completeOrders(a)),
		"journal copy":       first(cmdutil.FileNames),
	} {
		commandAt(root, path).ValidArgsFunction = complete
	}
	accepted := completeOrders(a, payout.StateAccepted)
	for _, f := range []struct {
		path, flag string
		complete   cobra.CompletionFunc
	}{
		{"payout apply", "results", cmdutil.FileNames},
		{"callback listen", "ready-file", cmdutil.FileNames},
		{"sandbox serve", "ready-file", cmdutil.FileNames},
		{"sandbox serve", "env-file", cmdutil.FileNames},
		{"sandbox run", "ready-file", cmdutil.FileNames},
		{"sandbox run", "env-file", cmdutil.FileNames},
		{"withdraw get", "order-id", accepted},
		{"withdraw wait", "order-id", accepted},
		{"journal list", "run", completeRuns(a)},
		{"journal list", "state", completeStates},
		{"payout status", "state", completeStates},
		{"payout apply", "lookup",
			cobra.FixedCompletions([]string{"auto", "never"}, cobra.ShellCompDirectiveNoFileComp)},
		{"withdraw create", "lookup",
			cobra.FixedCompletions([]string{"auto", "never"}, cobra.ShellCompDirectiveNoFileComp)},
	} {
		cmdutil.Offer(commandAt(root, f.path), f.flag, f.complete)
	}
}

// commandAt returns the command at a path below root. It panics if there is none.
func commandAt(root *cobra.Command, path string) *cobra.Command {
	cmd, rest, err := root.Find(strings.Fields(path))
	if err != nil || len(rest) > 0 {
		panic("there is no command " + path)
	}
	return cmd
}

// first offers only for the first argument.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, given, typed)
	}
}

// fromJournal offers what find reads from the journal, which it neither creates nor changes. If it cannot be read,
// nothing is offered. The function offer reports whether more may be offered.
func fromJournal(
	a *cmdutil.App, how cobra.ShellCompDirective,
	find func(ctx context.Context, ledger *payout.Ledger, offer func(value, about string) (more bool)),
) cobra.CompletionFunc {
	how |= cobra.ShellCompDirectiveNoFileComp
	return func(cmd *cobra.Command, given []string, typed string) (offers []string, _ cobra.ShellCompDirective) {
		s, err := a.Start(cmd)
		if err != nil {
			return nil, how
		}
		s.Retries = 0
		account, err := s.JournalAccount()
		if err != nil {
			return nil, how
		}
		j, err := s.ExistingJournal()
		if err != nil {
			return nil, how
		}
		find(s.Ctx, j.Ledger(account), func(value, about string) bool {
			if strings.HasPrefix(value, typed) && !slices.Contains(given, value) {
				offers = append(offers, cmdutil.WithText(value, about))
			}
			return len(offers) < maxOffers
		})
		return offers, how
	}
}

// completeRuns offers the runs of the account, the newest first, each with its plan.
func completeRuns(a *cmdutil.App) cobra.CompletionFunc {
	return fromJournal(a, cobra.ShellCompDirectiveKeepOrder,
		func(ctx context.Context, ledger *payout.Ledger, offer func(value, about string) bool) {
			runs, _ := ledger.Runs(ctx)
			for _, run := range slices.Backward(runs) {
				offer(run.Name, run.Plan+" "+views.Moment(run.Began))
			}
		})
}

// completeOrders offers the account's order ids that are in one of the states, or all if there are no states.
func completeOrders(a *cmdutil.App, states ...payout.State) cobra.CompletionFunc {
	return fromJournal(a, cobra.ShellCompDirectiveDefault,
		func(ctx context.Context, ledger *payout.Ledger, offer func(value, about string) bool) {
			for o, err := range ledger.Orders(ctx, payout.Filter{States: states}) {
				if err != nil || !offer(o.OrderID, string(o.State)) {
					return
				}
			}
		})
}

// completeStates completes the last state of a comma-separated list.
func completeStates(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return cmdutil.CompleteList(cmdutil.StateNames(), typed),
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
