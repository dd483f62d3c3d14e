package withdraw

import (
	"iter"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/orders"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func listCommand(a *cmdutil.App) *cobra.Command {
	return orders.ListCommand(a, &cobra.Command{
		Use:   "list",
		Short: "List withdrawals, the whole list or a part of it",
		Long: `List withdrawals. In a pipe or a file the output is the whole list, page by
page; a table on a terminal stops after the first page and says how many there
are.`,
		Example: `  till withdraw list --from 7d --status New
  till withdraw list --from 2026-05 --to 2026-05 --currency Btc -o csv`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, client *api.Client, _ []string) (orders.List, error) {
		return orders.List{
			Page: func(filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error) {
				return client.Withdrawals.List(s.Ctx, filter, page, size)
			},
			All: func(filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error] {
				return client.Withdrawals.All(s.Ctx, filter, opts)
			},
		}, nil
	})
}
