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
func (a *applying) approvePaid(t payout.Tally, asked bool) (int, error) {
	approved, given := 0, a.flags.paid
	if a.batch != nil {
		approved = a.batch.Approved()
	}
	switch {
	case t.Before <= approved && (given < 0 || given == approved): // already asked
		return approved, nil
	case given == t.Before:
		return given, nil
	case given > t.Before && given <= t.Rows-t.States[payout.StateAccepted]+t.Before && !asked:
		if a.DryRun {
			a.Note("the journal has %d of %s of --already-paid: payout apply looks for the rest on the service's list, "+
				"and sends nothing if they are not there", t.Before, cmdutil.CountOf(given, "order"))
		}
		return approved, nil
	case given >= 0:
		return 0, cmdutil.Refusal(payout.RulePaidBefore, fmt.Sprintf("--already-paid says %d, and %s", given, paidBefore(t)),
			"look at each of them, and give the right number", "journal", "show", "ORDER")
	case a.Yes || a.DryRun || !a.CanAsk():
		return 0, cmdutil.Refusal(payout.RulePaidBefore,
			paidBefore(t)+", by another run or command: an earlier run stopped half-way, or old order ids were used again",
			fmt.Sprintf("to send only the rest: --already-paid %d", t.Before))
	}
	again, send := "They", fmt.Sprintf("To send the other %d, type", t.LeftRows())
	if t.Before == 1 {
		again = "It"
	}
	switch t.LeftRows() {
	case 0:
		send = "To go on, type"
	case 1:
		send = "To send the other one, type"
	}
	question := fmt.Sprintf(`%s, by another run or command.
%s will not be sent again. This is right if an earlier run stopped half-way, and wrong if old order ids were used again.
%s how many were accepted before: `, paidBefore(t), again, send)
	count := strconv.Itoa(t.Before)
	return t.Before, a.typed(question, count, "in a script, add --already-paid "+count)
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
	verb := "were"
	if t.Before == 1 {
		verb = "was"
	}
	return fmt.Sprintf("%d of the plan's %s %s accepted before (%s)", t.Before, cmdutil.CountOf(t.Rows, "order"), verb,
		strings.Join(when, "; "))
}

// approveTotal asks a person to type the total that is still to be sent, for one currency after the other.
func (a *applying) approveTotal(t payout.Tally) error {
	asks := a.flags.digest == "" && !a.Yes
	amounts := make([]api.BigAmount, len(t.Left))
	for i, total := range t.Left {
		amounts[i] = total.Amount
	}
	first, err := orders.FirstPayments(a.Session, a.sender.Ledger, asks, amounts...)
	if err != nil || !asks || t.LeftRows() == 0 {
		return err
	}
	if !a.CanAsk() {
		return cmdutil.Refusal(cmdutil.RuleConfirmation, "there is no terminal to confirm it on",
			"add --digest with the digest that was approved or, to send whatever the plan says, --yes")
	}
	var facts []cmdutil.Fact
	for _, total := range t.Left {
		facts = append(facts, cmdutil.Fact{Name: "total", Style: render.Bold, Value: render.Group(a.Money.FormatBig(total.Amount)) +
			orders.MinorUnits(a.Session, total.Amount, first...) + " in " + cmdutil.CountOf(total.Rows, "row")})
	}
	if all := look(a.Session, a.plan).warned(); len(all) > 0 {
		worst := cmdutil.Fact{Name: "warning", Value: all[0].pays + all[0].why, Style: render.Red}
		if n := len(all); n > 1 {
			worst.Value += fmt.Sprintf(" (and %d more: till payout show %s)", n-1, a.plan.Path)
		}
		facts = append(facts, worst)
	}
	facts = append(facts,
		cmdutil.Fact{Name: "rows", Value: fmt.Sprintf("%d of %d are to be sent", t.LeftRows(), len(a.plan.Rows))},
		cmdutil.Fact{Name: "plan", Value: a.plan.Path},
		cmdutil.Fact{Name: "digest", Value: a.plan.Digest, Copy: true})
	if n := t.States[payout.StateUnknown]; n > 0 {
		facts = append(facts, cmdutil.Fact{Name: "unknown",
			Value: cmdutil.CountOf(n, "row") + ", looked for on the service's list first"})
	}
	a.NoteFacts(append(facts, a.ServiceFact()))
	for _, amount := range amounts {
		want := a.Money.FormatBig(amount)
		err := a.typed(fmt.Sprintf("Type the total in %s to send it: ", amount.Code), want, "the total is "+want)
		if err != nil {
			return err
		}
	}
	return nil
}

// typed asks a question and accepts only the answer want. An amount may omit its code and trailing zeros. A
// refusal has the advice.
func (a *applying) typed(question, want, advice string) error {
	answer, err := a.Ask(question)
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

// plainAmount joins the groups of digits of an amount. It removes its code if that is the one of want, and the
// zeros at the end of its decimals.
func plainAmount(text, want string) string {
	fields, groups := strings.Fields(text), 1
	for groups < len(fields) && fields[groups][0] >= '0' && fields[groups][0] <= '9' {
		groups++
	}
	number, code := strings.Join(fields[:groups], ""), strings.Join(fields[groups:], " ")
	if _, wanted, _ := strings.Cut(want, " "); code != "" && !strings.EqualFold(code, wanted) {
		return text
	}
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return number
}
