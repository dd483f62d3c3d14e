package reseller

import (
	"context"
	"iter"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/orders"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func withdrawCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group("withdraw", "Look at a reseller's withdrawals", withdrawListCommand(a), withdrawGetCommand(a))
}

func withdrawListCommand(a *cmdutil.App) *cobra.Command {
	return orders.ListCommand(a, &cobra.Command{
		Use:               "list ID",
		Short:             "List a reseller's withdrawals, the whole list or a part of it",
		Example:           `  till reseller withdraw list "North shop" --from 2026-05`,
		Args:              cmdutil.Args("ID"),
		ValidArgsFunction: completeResellers(a),
	}, func(s *cmdutil.Session, client *api.Client, args []string) (orders.List, error) {
		id, err := findReseller(s, client, args[0])
		return orders.List{
			Page: func(filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error) {
				return client.Resellers.Withdrawals(s.Ctx, id, filter, page, size)
			},
			All: func(filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error] {
				return client.Resellers.AllWithdrawals(s.Ctx, id, filter, opts)
			},
		}, err
	})
}

func withdrawGetCommand(a *cmdutil.App) *cobra.Command {
	return aboutReseller(a, "get ID WITHDRAWAL", "Show one of a reseller's withdrawals",
		`  till reseller withdraw get "North shop" \
    7c9e6679-7425-40de-944b-e07fc1f90ae7`, views.Withdrawals,
		func(ctx context.Context, client *api.Client, id string, args []string) (api.Withdrawal, error) {
			return client.Resellers.Withdrawal(ctx, id, args[1])
		}, "WITHDRAWAL")
}
