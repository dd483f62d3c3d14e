package cli

import (
	"context"
	"fmt"

	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func (a *app) withdrawWait() *cobra.Command {
	var flags waitFlags
	cmd := &cobra.Command{
		Use:   "wait ID --status S[,S]",
		Short: "Wait until a withdrawal reaches a status",
		Long: `Read a withdrawal again and again until its status is one of those named. The
interface does not show which statuses there are, so till does not know either:
see what the service calls them with till withdraw get.`,
		Example: `  till withdraw wait 7c9e6679-7425-40de-944b-e07fc1f90ae7 \
    --status Completed --fail-on Failed,Cancelled --timeout 15m`,
		Args: args("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := begin(a, cmd, withdrawalView)
			if err != nil {
				return err
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			flags.show = "till withdraw get " + args[0]
			w, err := wait(s, flags, "withdrawal "+args[0], func(ctx context.Context) (api.Withdrawal, error) {
				w, err := client.Withdrawals.Get(ctx, args[0])
				if err == nil && w.ID != args[0] { // somebody else's status says nothing about this one
					err = &failure{code: exitReadFailed, msg: fmt.Sprintf("the answer is about withdrawal %q, and not about %q", w.ID, args[0]), hint: "nothing was changed, run it again"}
				}
				return w, err
			}, func(w api.Withdrawal) []condition {
				return []condition{{"status", w.Current, flags.status}}
			})
			if err != nil {
				return err
			}
			return out.one(w)
		},
	}
	addWaitFlags(cmd, &flags)
	require(cmd, "status")
	return shows(cmd, withdrawalView)
}
