package cli

import "github.com/spf13/cobra"

func (a *app) payoutCommand() *cobra.Command {
	return group("payout", "Pay a list of people, each once", a.payoutApply(),
		a.payoutStatus(), a.payoutList(), a.payoutExport(), a.payoutWait(), a.payoutReconcile(), a.payoutResolve())
}
