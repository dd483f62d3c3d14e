package cli

import (
	"context"
	"iter"

	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func resellerWithdraw(a *app) *cobra.Command {
	return group("withdraw", "Look at a reseller's withdrawals", resellerWithdrawList(a), resellerWithdrawGet(a))
}

func resellerWithdrawList(a *app) *cobra.Command {
	var flags listFlags
	cmd := &cobra.Command{
		Use:               "list ID",
		Short:             "List a reseller's withdrawals, the whole list or a part of it",
		Example:           `  till reseller withdraw list "North shop" --from 2026-05`,
		Args:              args("ID"),
		ValidArgsFunction: completeResellers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.listWithdrawals(cmd, flags, func(s *session) (withdrawalList, error) {
				client, err := s.client()
				if err != nil {
					return withdrawalList{}, err
				}
				id, err := findReseller(s, client, args[0])
				if err != nil {
					return withdrawalList{}, err
				}
				return withdrawalList{
					page: func(filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error) {
						return client.Resellers.Withdrawals(s.ctx, id, filter, page, size)
					},
					all: func(filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error] {
						return client.Resellers.AllWithdrawals(s.ctx, id, filter, opts)
					},
				}, nil
			})
		},
	}
	a.addListFlags(cmd, &flags)
	return shows(cmd, views.Withdrawals)
}

func resellerWithdrawGet(a *app) *cobra.Command {
	return aboutReseller(a, "get ID WITHDRAWAL", "Show one of a reseller's withdrawals",
		`  till reseller withdraw get "North shop" \
    7c9e6679-7425-40de-944b-e07fc1f90ae7`, views.Withdrawals,
		func(ctx context.Context, client *api.Client, id string, args []string) (api.Withdrawal, error) {
			return client.Resellers.Withdrawal(ctx, id, args[1])
		}, "WITHDRAWAL")
}
