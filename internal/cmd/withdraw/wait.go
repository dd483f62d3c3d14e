package withdraw

import (
	"context"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func waitCommand(a *cmdutil.App) *cobra.Command {
	var flags cmdutil.WaitFlags
	var orderID string
	cmd := cmdutil.NewCommand(a, cmdutil.One, views.Withdrawals, &cobra.Command{
		Use:   "wait [ID] --status S[,S]",
		Short: "Wait until a withdrawal reaches a status",
		Long: `Wait until a withdrawal has one of the statuses named. The interface does not
list the statuses: till withdraw get shows what the service calls them. With
--order-id instead of ID, the journal says which withdrawal is meant.

A reading that fails is repeated until --timeout runs out. The exit code is
then 42, or 41 if no reading succeeded. A refused key or an unknown id ends the
wait at once.`,
		Example: `  till withdraw wait 7c9e6679-7425-40de-944b-e07fc1f90ae7 \
    --status Completed --fail-on Failed,Cancelled --timeout 15m
  till withdraw wait --order-id 5001 --status Completed`,
		Args: cmdutil.OptionalArg("ID"),
	}, func(s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], args []string) error {
		client, id, err := oneWithdrawal(s, args, orderID)
		if err != nil {
			return err
		}
		flags.Show = []string{"withdraw", "get", id}
		w, err := cmdutil.Wait(s, flags, "withdrawal "+id, func(ctx context.Context, wait api.Wait) (api.Withdrawal, error) {
			return client.Withdrawals.WaitFor(ctx, id, wait)
		})
		if err != nil {
			return notFound(err, cmdutil.FirstOf(args), orderID)
		}
		return out.One(w)
	})
	cmd.Flags().StringVar(&orderID, "order-id", "", "the withdrawal that the journal has under this order id")
	cmdutil.AddWaitFlags(cmd, &flags)
	cmdutil.AddFinishFlags(cmd)
	cmdutil.Require(cmd, "status")
	return cmd
}
