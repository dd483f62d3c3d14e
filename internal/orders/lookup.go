package orders

import (
	"fmt"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// AddLookupFlags adds the flags that control how the service's list is read before sending. The configuration
// reads them; they override TILL_LOOKUP and the profile.
func AddLookupFlags(cmd *cobra.Command) {
	cmd.Flags().String("lookup", "auto",
		"when to read the service's list before sending: auto, always or never")
	cmd.Flags().String("lookup-since", "", "read that list from this time on only")
	complete := cobra.FixedCompletions(config.Values("lookup"), cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("lookup", complete); err != nil {
		panic(err) // the flag is not declared
	}
}

// MinorUnits returns the count of minor units that is sent, to be added to an amount in decimals.
func MinorUnits(s *cmdutil.Session, a api.BigAmount) string {
	if s.Money.Decimals(a.Code) == money.Unknown {
		return ""
	}
	return fmt.Sprintf(" (%s minor units)", a.Minor)
}
