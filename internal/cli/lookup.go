package cli

import (
	"fmt"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// addLookupFlags adds the flags that say how the service's list is asked before anything is sent. The configuration reads
// them, beneath TILL_LOOKUP and the profile.
func addLookupFlags(cmd *cobra.Command) {
	cmd.Flags().String("lookup", "auto", "whether the service's list is asked before sending: auto, always,\nor never, which relies on the journal alone")
	cmd.Flags().String("lookup-since", "", "read that list from this time on only")
	complete := cobra.FixedCompletions(config.Values("lookup"), cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("lookup", complete); err != nil {
		panic(err) // the flag is not declared
	}
}

// minorUnits adds the count that is sent to an amount that is shown as a decimal.
func (s *session) minorUnits(a api.Amount) string {
	if s.money.Decimals(a.Code) == money.Unknown {
		return ""
	}
	return fmt.Sprintf(" (%d minor units)", a.Minor)
}
