package journal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"github.com/spf13/cobra"
)

func renameCommand(a *cmdutil.App) *cobra.Command {
	var baseURL string
	cmd := noted(a, &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Move a history to a new account name or address",
	}, func(s *cmdutil.Session, args []string) error {
		base, err := s.RequireBaseURL()
		if err != nil {
			return err
		}
		if s.Sandbox {
			return exit.UsageError("the history of a sandbox belongs to that sandbox",
				"use a profile of a service")
		}
		to := base
		if baseURL != "" {
			if to, err = config.NormalizeBaseURL(baseURL); err != nil {
				return exit.UsageError("--to-base-url: "+err.Error(), "")
			}
		}
		if args[0] == args[1] && to == base {
			return exit.UsageError(fmt.Sprintf("%s at %s has that name already", args[0], base),
				"name another, or with --to-base-url another address")
		}
		j, err := s.ExistingJournal()
		if err != nil {
			return err
		}
		if err := j.Rename(s.Ctx, payout.Account{Address: base, Name: args[0]},
			payout.Account{Address: to, Name: args[1]}); err != nil {
			return err
		}
		s.Note("the history of %s at %s now belongs to %s at %s", args[0], base, args[1], to)
		return noteLeftBehind(s, args[0], args[1], to)
	})
	cmd.Flags().StringVar(&baseURL, "to-base-url", "", "the service's new address")
	return cmd
}

// noteLeftBehind says which settings the profile in use needs after the history of its account was renamed.
// If the address comes from a flag or the environment, it is not the profile's, so the note leaves base_url
// out.
func noteLeftBehind(s *cmdutil.Session, old, name, base string) error {
	var set []string
	if s.Profile == "" || s.Origin("base_url").Kind == config.FromProfile && base != s.BaseURL {
		set = append(set, "base_url="+base)
	}
	if name != s.Account {
		set = append(set, "account="+name)
	}
	if old != s.Account || len(set) == 0 {
		return nil
	}
	who := "the profile " + s.Profile + " looks"
	if s.Profile == "" {
		who = "without a profile, till looks"
	}
	return s.NoteCommand(append([]string{"profile", "set", s.ProfileOr("NAME")}, set...),
		"%s at the account %s, which has no history now:", who, s.Account)
}

var errAnySandboxKey = exit.UsageError("a sandbox takes any key that it has", "there is nothing to adopt")

func adoptKeyCommand(a *cmdutil.App) *cobra.Command {
	return noted(a, &cobra.Command{
		Use:   "adopt-key",
		Short: "Say that the key in use is this account's",
	}, func(s *cmdutil.Session, _ []string) error {
		if s.Sandbox {
			return errAnySandboxKey
		}
		client, err := s.Connect()
		if err != nil {
			return err
		}
		account, sandbox, err := s.AccountOf(client)
		if err != nil {
			return err
		}
		if sandbox {
			return errAnySandboxKey
		}
		j, err := s.OpenJournal()
		if err != nil {
			return err
		}
		fingerprint := client.KeyFingerprint()
		if err := s.Confirmed([]cmdutil.Fact{{Name: "account", Value: account.Name + " at " + account.Address},
			{Name: "key", Value: fingerprint}}, "Is this key that account's?", "note the key as this account's", "noted",
			""); err != nil {
			return err
		}
		if err := j.Ledger(account).AdoptKey(s.Ctx, fingerprint); err != nil {
			return err
		}
		return s.Note("the key %s is now one of %s", fingerprint, account)
	})
}

func adoptMerchantCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	return reasonFlag(noted(a, &cobra.Command{
		Use:   "adopt-merchant ID --reason TEXT",
		Short: "Say that the service has given the merchant another id",
	}, func(s *cmdutil.Session, args []string) error {
		if strings.TrimSpace(reason) == "" {
			return exit.UsageError("the reason for the change is missing", "give one",
				"journal", "adopt-merchant", args[0], "--reason", "TEXT")
		}
		ledger, err := s.LedgerToChange(s.ExistingJournal)
		if err != nil {
			return err
		}
		if err := ledger.AdoptMerchant(s.Ctx, args[0], reason); err != nil {
			return err
		}
		return s.Note("%s is the merchant %s now", ledger.Account(), args[0])
	}), &reason, "how you know, for the record")
}

func freezeCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	return reasonFlag(cmdutil.NewCommand(a, cmdutil.List, freezeView, &cobra.Command{
		Use:   "freeze --reason TEXT",
		Short: "Stop every payment of the account",
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
	}, func(s *cmdutil.Session, _ []string) error {
		return setFrozen(s, false, reason)
	}), &reason, "why, for the record")
}

// setFrozen records a person's decision that the account sends nothing, or sends again.
func setFrozen(s *cmdutil.Session, frozen bool, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return exit.UsageError("the reason is missing", "give one", "journal", s.Cmd.Name(), "--reason", "TEXT")
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
	if err := s.NoteCommand([]string{"journal", "unfreeze", "--reason", "TEXT"},
		"nothing more is paid for %s; when that is over:", account); err != nil {
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

// freezeLine is a freeze with its time in the format of all other times.
type freezeLine struct {
	At string `json:"at"`
	payout.Freeze
}

func freezeView(money.Registry) render.View[payout.Freeze] {
	type row = payout.Freeze
	state := func(f row) string { return map[bool]string{true: "frozen", false: "unfrozen"}[f.Frozen] }
	return views.Of(state, render.Encoded(func(f row) freezeLine { return freezeLine{views.Moment(f.At), f} }),
		render.Field("at", "when", views.MomentCell, func(f row) time.Time { return f.At }),
		render.Field("state", "frozen or unfrozen", render.Own, state),
		render.Field("reason", "why", render.Own, func(f row) string { return f.Reason }),
		render.Field("user", "who was at the keyboard", render.Own, func(f row) string { return f.User }),
		render.Field("host", "on which machine", render.Own, func(f row) string { return f.Host }))
}

func approvalsCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	return reasonFlag(cmdutil.NewCommand(a, cmdutil.List, demandView, &cobra.Command{
		Use:   "approvals [N]",
		Short: "Show or change how many persons must approve what is sent",
	}, func(s *cmdutil.Session, out cmdutil.Output[approval.Demand], args []string) error {
		if len(args) > 0 || s.Cmd.Flags().Changed("reason") {
			return setApprovals(s, cmdutil.FirstOf(args), reason)
		}
		return cmdutil.ListOfLedger(s, out, (*payout.Ledger).Demands)
	}), &reason, "why it is changed, for the record")
}

func setApprovals(s *cmdutil.Session, number, reason string) error {
	n, err := strconv.ParseUint(number, 10, 8)
	switch {
	case number == "":
		return exit.UsageError("--reason is about a change, and no number of approvals is given", "name one",
			"journal", "approvals", "N", "--reason", "TEXT")
	case err != nil:
		return exit.UsageError(fmt.Sprintf("%q is not a number of approvals", number), "write digits, such as 2")
	case strings.TrimSpace(reason) == "":
		return exit.UsageError("the reason for the change is missing", "give one",
			"journal", "approvals", number, "--reason", "TEXT")
	}
	ledger, err := s.LedgerToChange(s.OpenJournal)
	if err != nil {
		return err
	}
	var policy approval.Policy
	if n > 0 {
		if policy, err = s.PayoutApprovals(true); err != nil {
			return err
		}
		policy.Required = int(n)
	}
	if err := ledger.SetApprovals(s.Ctx, policy, reason); err != nil {
		return err
	}
	if n == 0 {
		return s.Note("nobody must approve what is sent for %s, until a profile requires it", ledger.Account())
	}
	return s.Note("%s must approve what is sent for %s", cmdutil.CountOf(int(n), "person"), ledger.Account())
}

// demandLine is what an account required from a moment on, as JSON.
type demandLine struct {
	Number    int64       `json:"number"` // an attempt names it
	At        string      `json:"at" column:"time: from when on"`
	Required  int         `json:"required" column:"value: how many persons must approve"`
	Above     []aboveLine `json:"above"` // totals up to which no approval is needed
	Approvers string      `json:"approvers" column:"own: the file of those who may approve"`
	Digest    string      `json:"digest"` // of the keys in that file
	Reason    string      `json:"reason" column:"own: why a person decided it; empty: a profile requires it"`
	User      string      `json:"user" column:"own: who was at the keyboard"`
	Host      string      `json:"host" column:"own: on which machine"`
}

type aboveLine struct {
	Amount  api.Amount `json:"amount"`
	Decimal *string    `json:"decimal" schema:"decimal"`
	Pays    string     `json:"pays"`
}

func newDemandLine(m money.Registry, d approval.Demand) demandLine {
	line := demandLine{Number: d.Number, At: views.Moment(d.At), Required: d.Required, Above: []aboveLine{},
		Approvers: d.Approvers, Digest: d.Digest, Reason: d.Reason, User: d.User, Host: d.Host}
	for _, amount := range d.Above {
		if e, known := m.Lookup(amount.Code); known && e.Kind == amount.Kind {
			amount.Code = e.Code
		}
		line.Above = append(line.Above, aboveLine{amount, views.DecimalOf(m, amount), m.Format(amount)})
	}
	return line
}

func demandView(m money.Registry) render.View[approval.Demand] {
	type row = approval.Demand
	view := render.Map(render.Struct[demandLine](""), func(d row) demandLine { return newDemandLine(m, d) })
	view.ID = func(d row) string { return strconv.Itoa(d.Required) }
	view.Columns = append(view.Columns,
		render.Field("above", "totals up to which no approval is needed", render.Own, func(d row) string {
			var all []string
			for _, line := range newDemandLine(m, d).Above {
				all = append(all, line.Pays)
			}
			return strings.Join(all, ", ")
		}),
		render.Field("digest", "digest of the keys in that file; a table has its beginning", render.Own,
			func(d row) string { return d.Digest[:min(len(d.Digest), 8)] }))
	return view.Select("at", "required", "above", "approvers", "digest", "reason", "user", "host").
		Default("at", "required", "above", "approvers", "digest", "reason")
}
