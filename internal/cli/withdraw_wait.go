package cli

import (
	"context"

	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func withdrawWait(a *app) *cobra.Command {
	var flags waitFlags
	var orderID string
	cmd := &cobra.Command{
		Use:   "wait ID --status S[,S]",
		Short: "Wait until a withdrawal reaches a status",
		Long: `Read a withdrawal again and again until its status is one of those named. The
interface does not show which statuses there are, so till does not know either:
see what the service calls them with till withdraw get. With --order-id instead
of ID, the journal says which withdrawal is meant.

Readings that fail are repeated until --timeout is over. Then it ends with 42,
or with 41 if none succeeded. A refused key and an id that the service does not
know end it at once.`,
		Example: `  till withdraw wait 7c9e6679-7425-40de-944b-e07fc1f90ae7 \
    --status Completed --fail-on Failed,Cancelled --timeout 15m
  till withdraw wait --order-id 4711 --status Completed`,
		Args: optionalArg("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := begin(a, cmd, views.Withdrawals)
			if err != nil {
				return err
			}
			client, id, err := oneWithdrawal(s, cmd, args, orderID)
			if err != nil {
				return err
			}
			flags.show = []string{"withdraw", "get", id}
			w, err := wait(s, flags, "withdrawal "+id, func(ctx context.Context) (api.Withdrawal, error) {
				w, err := client.Withdrawals.Get(ctx, id)
				if err == nil { // somebody else's status says nothing about this one
					err = aboutThis("withdrawal", id, w.ID)
				}
				return w, err
			}, func(w api.Withdrawal) []condition {
				return []condition{{"status", w.Current, flags.status}}
			})
			if err != nil {
				return perhapsOrderID(err, firstOf(args))
			}
			return out.one(w)
		},
	}
	cmd.Flags().StringVar(&orderID, "order-id", "", "the withdrawal that the journal has under this order id")
	addWaitFlags(cmd, &flags)
	require(cmd, "status")
	return shows(cmd, views.Withdrawals)
}
