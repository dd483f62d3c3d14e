package cli

import (
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

// record opens the journal for reading, without creating or changing it.
func record(a *cmdutil.App, cmd *cobra.Command) (*cmdutil.Session, *payout.Ledger, bool) {
	s, err := a.Start(cmd)
	if err != nil {
		return nil, nil, false
	}
	s.Retries = 0
	account, err := s.JournalAccount()
	if err != nil {
		return nil, nil, false
	}
	j, err := s.ExistingJournal()
	if err != nil {
		return nil, nil, false
	}
	return s, j.Ledger(account), true
}

// completeRuns offers the runs of the account, the newest first, each with its plan.
func completeRuns(a *cmdutil.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		s, ledger, ok := record(a, cmd)
		if !ok {
			return nil, none
		}
		runs, err := ledger.Runs(s.Ctx)
		if err != nil {
			return nil, none
		}
		var offers []string
		for i := len(runs) - 1; i >= 0; i-- {
			if strings.HasPrefix(runs[i].Name, typed) {
				offers = append(offers, cmdutil.WithText(runs[i].Name, runs[i].Plan+" "+views.Moment(runs[i].Began)))
			}
		}
		return offers, none
	}
}

// completeOrders offers the account's order ids that are in one of the states, or all if there are no states.
func completeOrders(a *cmdutil.App, states ...payout.State) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		s, ledger, ok := record(a, cmd)
		if !ok {
			return nil, none
		}
		taken := map[string]bool{}
		for _, orderID := range given {
			taken[orderID] = true
		}
		var offers []string
		for o, err := range ledger.Orders(s.Ctx, payout.Filter{States: states}) {
			if err != nil || len(offers) == maxOffers {
				break
			}
			if strings.HasPrefix(o.OrderID, typed) && !taken[o.OrderID] {
				offers = append(offers, cmdutil.WithText(o.OrderID, string(o.State)))
			}
		}
		return offers, none
	}
}

// completeStates completes the last state of a comma-separated list.
func completeStates(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return cmdutil.CompleteList(cmdutil.StateNames(), typed),
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
