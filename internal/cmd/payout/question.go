package payout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/orders"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// approvePaid asks about orders that were accepted before, but not by this run. It returns how many of them a
// person has approved. Once the service was asked (asked), a number given on the command line must be exact.
func approvePaid(s *cmdutil.Session, t payout.Tally, approved, given int, asked bool) (int, error) {
	switch {
	case t.Before <= approved && (given < 0 || given == approved): // already asked
		return approved, nil
	case given == t.Before:
		return given, nil
	case given > t.Before && given <= t.Rows-t.States[payout.StateAccepted]+t.Before && !asked:
		if s.DryRun {
			s.Note("the journal has %d of %s of --already-paid: payout apply looks for the rest on the service's list, "+
				"and sends nothing if they are not there", t.Before, cmdutil.CountOf(given, "order"))
		}
		return approved, nil
	case given >= 0:
		return 0, cmdutil.Refusal(payout.RulePaidBefore, fmt.Sprintf("--already-paid says %d, and %s", given, paidBefore(t)),
			"look at each of them, and give the right number", "journal", "show", "ORDER")
	case s.Yes || s.DryRun || !s.CanAsk():
		return 0, cmdutil.Refusal(payout.RulePaidBefore,
			paidBefore(t)+", by another run or command: an earlier run stopped half-way, or old order ids were used again",
			fmt.Sprintf("to send only the rest: --already-paid %d", t.Before))
	}
	again, send := "They", ""
	if t.Before == 1 {
		again = "It"
	}
	switch n := t.LeftRows(); n {
	case 0:
		send = "To go on, type"
	case 1:
		send = "To send the other one, type"
	default:
		send = fmt.Sprintf("To send the other %d, type", n)
	}
	question := fmt.Sprintf(`%s, by another run or command.
%s will not be sent again. This is right if an earlier run stopped half-way, and wrong if old order ids were used again.
%s how many were accepted before: `, paidBefore(t), again, send)
	count := strconv.Itoa(t.Before)
	return t.Before, typed(s, question, count, "in a script, add --already-paid "+count)
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func paidBefore(t payout.Tally) string {
	if t.Before == 0 {
		return fmt.Sprintf("none of the plan's %s was accepted before", cmdutil.CountOf(t.Rows, "order"))
	}
	var when []string
	switch {
	case t.Found == t.Before:
	case t.First.Equal(t.Last):
		when = append(when, "at "+views.Moment(t.First))
	default:
		when = append(when, "from "+views.Moment(t.First)+" to "+views.Moment(t.Last))
	}
	if t.Found > 0 {
		found := fmt.Sprintf("%d found on the service's list", t.Found)
		switch {
		case t.DatedFirst == "":
		case t.DatedFirst == t.DatedLast:
			found += ", dated " + render.Safe(t.DatedFirst)
		default:
			found += ", dated " + render.Safe(t.DatedFirst) + " to " + render.Safe(t.DatedLast)
		}
		when = append(when, found)
	}
	return fmt.Sprintf("%d of the plan's %s %s accepted before (%s)", t.Before, cmdutil.CountOf(t.Rows, "order"),
		wasOrWere(t.Before), strings.Join(when, "; "))
}

// approveTotal asks a person to type the total that is still to be sent, for one currency after the other.
func approveTotal(s *cmdutil.Session, l *payout.Ledger, plan *payout.Plan, t payout.Tally, flags applyFlags) error {
	asks := flags.digest == "" && !s.Yes
	amounts := make([]api.BigAmount, len(t.Left))
	for i, total := range t.Left {
		amounts[i] = total.Amount
	}
	first, err := orders.FirstPayments(s, l, asks, amounts...)
	if err != nil || !asks || t.LeftRows() == 0 {
		return err
	}
	if !s.CanAsk() {
		return cmdutil.Refusal(cmdutil.RuleConfirmation, "there is no terminal to confirm it on",
			"add --digest with the digest that was approved or, to send whatever the plan says, --yes")
	}
	var facts []cmdutil.Fact
	for _, total := range t.Left {
		facts = append(facts, cmdutil.Fact{Name: "total", Style: render.Bold, Value: render.Group(s.Money.FormatBig(total.Amount)) +
			orders.MinorUnits(s, total.Amount, first...) + " in " + cmdutil.CountOf(total.Rows, "row")})
	}
	if all := look(s, plan).warned(); len(all) > 0 {
		worst := cmdutil.Fact{Name: "warning", Value: all[0].pays + all[0].why, Style: render.Red}
		if n := len(all); n > 1 {
			worst.Value += fmt.Sprintf(" (and %d more: till payout show %s)", n-1, plan.Path)
		}
		facts = append(facts, worst)
	}
	facts = append(facts,
		cmdutil.Fact{Name: "rows", Value: fmt.Sprintf("%d of %d are to be sent", t.LeftRows(), len(plan.Rows))},
		cmdutil.Fact{Name: "plan", Value: plan.Path},
		cmdutil.Fact{Name: "digest", Value: plan.Digest, Copy: true})
	if n := t.States[payout.StateUnknown]; n > 0 {
		facts = append(facts, cmdutil.Fact{Name: "unknown",
			Value: cmdutil.CountOf(n, "row") + ", looked for on the service's list first"})
	}
	s.NoteFacts(append(facts, s.ServiceFact()))
	for _, total := range t.Left {
		question := fmt.Sprintf("Type the total in %s to send it: ", total.Amount.Code)
		want := s.Money.FormatBig(total.Amount)
		if err := typed(s, question, want, "the total is "+want); err != nil {
			return err
		}
	}
	return nil
}

// typed asks a question and accepts only the answer want. An amount may omit its code and trailing zeros. A
// refusal has the advice.
func typed(s *cmdutil.Session, question, want, advice string) error {
	answer, err := s.Ask(question)
	if err != nil {
		return err
	}
	switch answer = strings.TrimSpace(answer); {
	case answer != "" && plainAmount(answer, want) == plainAmount(want, want):
		return nil
	case slices.Contains([]string{"n", "no"}, strings.ToLower(answer)):
		return cmdutil.Declined("sent")
	}
	return cmdutil.Refusal(cmdutil.RuleConfirmation, "not confirmed: nothing was sent", advice)
}

// ungrouped takes out the spaces between the digits of an amount.
func ungrouped(text string) string {
	fields := strings.Fields(text)
	for len(fields) > 1 && fields[1][0] >= '0' && fields[1][0] <= '9' {
		fields = slices.Replace(fields, 0, 2, fields[0]+fields[1])
	}
	return strings.Join(fields, " ")
}

// plainAmount removes the code of an amount if it is that of want, and the zeros at the end of its decimals.
func plainAmount(text, want string) string {
	number, code, _ := strings.Cut(ungrouped(text), " ")
	if _, wanted, _ := strings.Cut(want, " "); code != "" && !strings.EqualFold(code, wanted) {
		return text
	}
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return number
}
