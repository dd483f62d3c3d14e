package orders

import (
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// AddLookupFlags adds the flags that control how the service's list is read before sending. The configuration
// reads them; they override TILL_LOOKUP and the profile.
func AddLookupFlags(cmd *cobra.Command) {
	cmd.Flags().String("lookup", "auto", "read the list: always or never")
	cmd.Flags().String("lookup-since", "", "read that list from this time on only")
	cmdline.OfferWords(cmd, "lookup", config.Values("lookup")...)
}

// MinorUnits returns the count of minor units that is sent, to be added to an amount in decimals. If the
// amount is one of the first payments, it says the decimals too.
func MinorUnits(s *cmdutil.Session, a api.BigAmount, first ...api.BigAmount) string {
	decimals, minor := s.Money.Decimals(a.Code), a.Minor.String()
	if s.CanAsk() { // a person reads it
		minor = render.Group(minor)
	}
	switch {
	case decimals == money.Unknown:
		return ""
	case slices.ContainsFunc(first, a.SameUnit):
		return fmt.Sprintf(" (%s minor units, %s)", minor, cmdutil.CountOf(decimals, "decimal"))
	}
	return fmt.Sprintf(" (%s minor units)", minor)
}

// FirstPayments returns those of the amounts in whose unit the account has sent nothing yet, and whose
// decimals the profile says. If no question shows them, it notes them.
func FirstPayments(s *cmdutil.Session, l *payout.Ledger, asked bool, amounts ...api.BigAmount) ([]api.BigAmount, error) {
	if s.Sandbox { // its decimals are its own
		return nil, nil
	}
	amounts = slices.DeleteFunc(amounts, func(a api.BigAmount) bool { return s.Money.Decimals(a.Code) == money.Unknown })
	first, err := l.FirstPayments(s.Ctx, amounts...)
	if asked || err != nil || len(first) == 0 {
		return first, err
	}
	codes, texts := make([]string, len(first)), make([]string, len(first))
	for i, a := range first {
		codes[i], texts[i] = a.Code, s.Money.FormatBig(a)+MinorUnits(s, a, a)
	}
	s.NoteCommand([]string{"currency", "check"},
		"the account's first payment in %s: %s. To compare the decimals with the service:",
		strings.Join(codes, " and "), strings.Join(texts, ", "))
	return first, nil
}
