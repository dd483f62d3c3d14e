package cmdutil

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// CompleteCurrencies offers the currencies of the current profile.
func (a *App) CompleteCurrencies(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	settings, err := config.Resolve(a.Input(cmd))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return CompleteCodes(settings.Money.Entries(), typed), cobra.ShellCompDirectiveNoFileComp
}

// CompleteCodes returns the codes that begin with typed, ignoring case. It keeps the typed part as it was
// typed, because a shell drops offers that begin differently.
func CompleteCodes(entries []money.Entry, typed string) []string {
	var offers []string
	for _, e := range entries {
		code := e.Currency().Code
		if len(code) < len(typed) || !strings.EqualFold(code[:len(typed)], typed) {
			continue
		}
		about := strings.ToLower(string(e.Kind))
		if e.Decimals != money.Unknown {
			about += fmt.Sprintf(", decimals %d", e.Decimals)
		}
		offers = append(offers, cmdline.WithText(typed+code[len(typed):], about))
	}
	return offers
}

// CompleteProfiles offers the profiles of the configuration and the built-in one.
func (a *App) CompleteProfiles(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	file, _ := a.Input(cmd).Load() // empty after an error
	var offers []string
	for _, name := range append(file.Names(), config.Sandbox) {
		about := file.Profiles[name].Values["base_url"]
		if name == config.Sandbox {
			about = "built in"
		}
		if strings.HasPrefix(name, typed) {
			offers = append(offers, cmdline.WithText(name, about))
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// maxOffers limits the order ids that are offered. A journal may have millions, but a person reads at most a
// screen of them.
const maxOffers = 200

// fromJournal offers what find reads from the journal, which it neither creates nor changes. If it cannot be read,
// nothing is offered. The function offer reports whether more may be offered.
func (a *App) fromJournal(
	how cobra.ShellCompDirective,
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
				offers = append(offers, cmdline.WithText(value, about))
			}
			return len(offers) < maxOffers
		})
		return offers, how
	}
}

// CompleteRuns offers the runs of the account, the newest first, each with its plan.
func (a *App) CompleteRuns() cobra.CompletionFunc {
	return a.fromJournal(cobra.ShellCompDirectiveKeepOrder,
		func(ctx context.Context, ledger *payout.Ledger, offer func(value, about string) bool) {
			runs, _ := ledger.Runs(ctx)
			for _, run := range slices.Backward(runs) {
				offer(run.Name, run.Plan+" "+views.Moment(run.Began))
			}
		})
}

// CompleteOrders offers the account's order ids that are in one of the states, or all if there are no states.
func (a *App) CompleteOrders(states ...payout.State) cobra.CompletionFunc {
	return a.fromJournal(cobra.ShellCompDirectiveDefault,
		func(ctx context.Context, ledger *payout.Ledger, offer func(value, about string) bool) {
			for o, err := range ledger.Orders(ctx, payout.Filter{States: states}) {
				if err != nil || !offer(o.OrderID, string(o.State)) {
					return
				}
			}
		})
}

// CompleteUndecided offers the account's orders whose outcome a person may have to decide.
func (a *App) CompleteUndecided() cobra.CompletionFunc {
	return a.CompleteOrders(payout.StateUnknown, payout.StateSending, payout.StateConflict)
}

// CompleteStates completes the last state of a comma-separated list.
func CompleteStates(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return cmdline.CompleteList(cmdline.StateNames(), typed),
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
