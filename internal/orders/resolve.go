package orders

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// ResolveCommand returns the command that records a person's decision.
func ResolveCommand(a *cmdutil.App, short string) *cobra.Command {
	var d payout.Decision
	var notSent bool
	cmd := cmdutil.NewCommand(a, cmdutil.List, views.Orders, &cobra.Command{
		Use:               "resolve ORDER... --paid-as ID | --not-sent --reason TEXT",
		Short:             short,
		ValidArgsFunction: a.CompleteUndecided(),
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Order], args []string) error {
		d.OrderIDs = args
		if err := checkDecision(s.Cmd, d, notSent); err != nil {
			return err
		}
		s.Subject = exit.AboutOrders(d.OrderIDs...)
		s.Subject.ID = d.PaidAs
		sender, err := s.OpenSender()
		if err != nil {
			return err
		}
		if after, usual := s.Settling(); d.PaidAs == "" && after < usual {
			s.Note("settle_after is %s: shorter than the recommended %s; a create may still arrive", after,
				strings.Replace(usual.String(), "m0s", "m", 1))
		}
		checked, err := sender.Check(s.Ctx, d)
		if err != nil {
			return err
		}
		if checked.Undated {
			s.Note("the service's answers have no date, so its clock and this machine's could not be compared: check that this one is right")
		}
		if checked.NoList {
			s.Note("the service shows no list: only your word says that this was not sent, and what the service has would be paid twice")
		}
		if err := confirmDecision(s, checked); err != nil {
			return err
		}
		resolved, err := sender.Resolve(s.Ctx, checked)
		printed := out.Slice(resolved)
		return cmp.Or(err, printed)
	})
	f := cmd.Flags()
	f.StringVar(&d.PaidAs, "paid-as", "", "the service's id of the withdrawal that it is")
	f.BoolVar(&notSent, "not-sent", false, "it never reached the service")
	f.StringVar(&d.Reason, "reason", "", "how you know; it is kept in the journal")
	f.BoolVar(&d.AlthoughDifferent, "although-different", false, "with --paid-as: although it differs; with --not-sent: although a withdrawal agrees")
	f.BoolVar(&d.AlthoughClock, "although-clock", false, "with --not-sent: record it although the service's clock and this machine's differ or differed")
	cmd.MarkFlagsOneRequired("paid-as", "not-sent")
	cmd.MarkFlagsMutuallyExclusive("paid-as", "not-sent")
	return cmd
}

func checkDecision(cmd *cobra.Command, d payout.Decision, notSent bool) error {
	if err := cmdutil.CheckOrderIDs(d.OrderIDs); err != nil {
		return err
	}
	for i, id := range d.OrderIDs {
		if slices.Contains(d.OrderIDs[:i], id) {
			return exit.UsageError(fmt.Sprintf("order %s is named twice", id), "leave one out")
		}
	}
	switch {
	case d.AlthoughDifferent && strings.TrimSpace(d.Reason) == "":
		return exit.UsageError("--although-different needs a reason: it goes against what the service shows", "add --reason TEXT, saying how you know")
	case d.AlthoughClock && !notSent:
		return exit.UsageError("--although-clock needs --not-sent: only that decision depends on time", "leave it out")
	case notSent && strings.TrimSpace(d.Reason) == "":
		return exit.UsageError("--not-sent needs a reason: it lets the order be sent again",
			"add --reason TEXT, saying how you know")
	case !notSent && d.PaidAs == "":
		return cmdline.HelpError(cmd, "one of --paid-as ID and --not-sent is needed", "")
	}
	return nil
}

// confirmDecision asks for confirmation if the withdrawal differs from the order, and shows both. For several
// orders, the person must type their number, so that a single careless key does not resolve a list.
func confirmDecision(s *cmdutil.Session, c payout.Checked) error {
	n, id := len(c.OrderIDs), c.OrderIDs[0]
	want, question := fmt.Sprint(n), fmt.Sprintf("%d orders would be recorded as not sent. Type their number: ", n)
	why, advice := fmt.Sprintf("%d orders at once need a confirmation", n), "add --yes, or resolve them one at a time"
	switch {
	case c.Differs != "":
		s.NoteFacts([]cmdutil.Fact{{Name: "asked for", Value: c.Asked}, {Name: "shown", Value: c.Shown},
			{Name: "differs", Value: c.Differs}})
		want, question = id, fmt.Sprintf("Order %s would be recorded as paid by it. Type the order id: ", id)
		why = fmt.Sprintf("order %s would be recorded as paid by a withdrawal that differs from it", id)
		advice = "compare the two, and add --yes"
	case n == 1:
		return nil
	}
	if s.Yes {
		return nil
	}
	if !s.CanAsk() {
		return exit.Refusal(exit.RuleConfirmation, why, advice)
	}
	answer, err := s.Ask(question)
	if err == nil && strings.TrimSpace(answer) != want {
		err = exit.Refusal(exit.RuleConfirmation, "not confirmed: nothing was recorded", "type "+want+" to record it")
	}
	return err
}
