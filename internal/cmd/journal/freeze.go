package journal

import (
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func freezeCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	return reasonFlag(cmdutil.NewCommand(a, cmdutil.List, freezeView, &cobra.Command{
		Use:   "freeze --reason TEXT",
		Short: "Stop every payment of the account",
		Long: `Stop every payment of the account, on every machine that shares the journal,
until till journal unfreeze. A call that is in flight ends as it would. What
was sent before can still be settled and looked at. Invoices and invites are
still created: a profile that is read_only creates nothing.

Without --reason, show when the account was frozen and unfrozen, the oldest
first; the last line is in force.`,
		Example: `  till journal freeze --reason "the key may have leaked"
  till journal freeze -o json`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Freeze], _ []string) error {
		if s.Cmd.Flags().Changed("reason") {
			return setFrozen(s, true, reason)
		}
		return cmdutil.ListOfLedger(s, out, (*payout.Ledger).Freezes)
	}), &reason, "why, for the record")
}

func unfreezeCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	return reasonFlag(noted(a, &cobra.Command{
		Use:   "unfreeze --reason TEXT",
		Short: "Let the account send again",
		Long: `Record that a freeze of the account is over. Everybody who shares the journal
can send for it again.`,
		Example: `  till journal unfreeze --reason "the key was replaced"`,
		Args:    cmdutil.NoArgs,
	}, func(s *cmdutil.Session, _ []string) error {
		return setFrozen(s, false, reason)
	}), &reason, "why, for the record")
}

// setFrozen records a person's decision that the account sends nothing, or sends again.
func setFrozen(s *cmdutil.Session, frozen bool, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return cmdutil.UsageError("the reason is missing", "give one", "journal", s.Cmd.Name(), "--reason", "TEXT")
	}
	ledger, err := s.LedgerToChange(s.OpenJournal)
	if err != nil {
		return err
	}
	account := ledger.Account()
	if !frozen {
		all, err := ledger.Freezes(s.Ctx)
		switch {
		case err != nil:
			return err
		case len(all) == 0 || !all[len(all)-1].Frozen:
			return s.Note("%s is not frozen", account)
		}
		if err := ledger.Unfreeze(s.Ctx, reason); err != nil {
			return err
		}
		return s.Note("%s sends again", account)
	}
	if err := ledger.Freeze(s.Ctx, reason); err != nil {
		return err
	}
	if err := s.Note("nothing more is paid for %s, until till journal unfreeze", account); err != nil {
		return err
	}
	for o, err := range ledger.Orders(s.Ctx, payout.Filter{States: []payout.State{payout.StateSending}}) {
		if err != nil {
			return err
		}
		s.Note("order %s was being sent at that moment (%s on %s)", o.OrderID, o.User, o.Host)
	}
	return nil
}

// freezeLine is a decision that an account sends nothing, or sends again, as JSON.
type freezeLine struct {
	At     string `json:"at"`
	Frozen bool   `json:"frozen"`
	Reason string `json:"reason"`
	User   string `json:"user"`
	Host   string `json:"host"`
}

func freezeView(money.Registry) render.View[payout.Freeze] {
	type row = payout.Freeze
	state := func(f row) string {
		if f.Frozen {
			return "frozen"
		}
		return "unfrozen"
	}
	return render.View[row]{
		ID: state,
		JSON: render.Encoded(func(f row) freezeLine {
			return freezeLine{views.Moment(f.At), f.Frozen, f.Reason, f.User, f.Host}
		}),
		Columns: []render.Column[row]{
			render.Field("at", "when", views.MomentCell, func(f row) time.Time { return f.At }),
			render.Field("state", "frozen or unfrozen", render.Own, state),
			render.Field("reason", "why", render.Own, func(f row) string { return f.Reason }),
			render.Field("user", "who was at the keyboard", render.Own, func(f row) string { return f.User }),
			render.Field("host", "on which machine", render.Own, func(f row) string { return f.Host }),
		},
	}
}
