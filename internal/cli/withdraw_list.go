package cli

import (
	"iter"

	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func withdrawList(a *app) *cobra.Command {
	var flags listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List withdrawals, the whole list or a part of it",
		Long: `List withdrawals. Into a pipe or a file the whole list is read, page after
page; a table on a terminal stops after the first page and says how many there
are.`,
		Example: `  till withdraw list --from 7d --status New
  till withdraw list --from 2026-05 --to 2026-05 --currency Btc -o csv`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listWithdrawals(cmd, flags, func(s *session) (withdrawalList, error) {
				client, err := s.client()
				if err != nil {
					return withdrawalList{}, err
				}
				return withdrawalList{
					page: func(filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error) {
						return client.Withdrawals.List(s.ctx, filter, page, size)
					},
					all: func(filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error] {
						return client.Withdrawals.All(s.ctx, filter, opts)
					},
				}, nil
			})
		},
	}
	a.addListFlags(cmd, &flags)
	return shows(cmd, views.Withdrawals)
}
