package journal

import (
	"strconv"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func showCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, storyView, &cobra.Command{
		Use:   "show ORDER",
		Short: "Show the history of an order",
		Long: `Show an order and then its history, a line for each event, with its time first:
every attempt with what was sent and what came back, what the service's list
showed, and what people decided.`,
		Example: `  till journal show 5001
  till journal show 5001 --jq '.events[].what'`,
		Args: cmdutil.Args("ORDER"),
	}, func(s *cmdutil.Session, out cmdutil.Output[story], args []string) error {
		if err := cmdutil.CheckOrderIDs(args); err != nil {
			return err
		}
		s.Subject.OrderID = args[0]
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		if ledger == nil {
			return cmdutil.NoOrder(args[0])
		}
		order, events, err := ledger.History(s.Ctx, args[0])
		if err != nil {
			return err
		}
		consents, err := cmdutil.ConsentsOf(s.Ctx, ledger)
		if err != nil {
			return err
		}
		told := story{order, events, consents[order.Consent()]}
		if !out.Tabular() || !s.Plain() || s.Sort != "" { // which may name any column
			return out.One(told)
		}
		out.View = out.View.Without("story")
		if err := out.One(told); err != nil {
			return err
		}
		return s.Write(told.text(s.Money, s.Render.Width))
	})
}

// story is an order with all its events.
type story struct {
	order  payout.Order
	events []payout.Event

	approval *views.ApprovalLine
}

func storyView(m money.Registry) render.View[story] {
	view := render.Map(views.Orders(m), func(t story) payout.Order { return t.order })
	view.JSON = render.Encoded(func(t story) views.HistoryLine {
		line := views.NewHistoryLine(m, t.order, t.events)
		line.Approval = t.approval
		return line
	})
	view.Columns = append(view.Columns,
		render.Field("decimals", "decimals of the amount at the last attempt", render.Own, func(t story) string {
			if n := t.order.DecimalsSent(); n >= 0 {
				return strconv.FormatInt(n, 10)
			}
			return ""
		}),
		render.Field("approved_by", "whose approvals counted when it was sent", render.Own,
			func(t story) string { return t.approval.By() }),
		render.Field("story", "every event with its time", render.History,
			func(t story) []render.Step { return t.steps(m) }))
	return view
}

// text returns an empty line and then a line for each event, with its time first.
func (t story) text(m money.Registry, width int) string {
	text := "\n"
	for _, step := range t.steps(m) {
		line := render.Safe(step.At + "  " + step.Status)
		if width > 0 {
			line = render.WrapWords(line, width, 2)
		}
		text += line + "\n"
	}
	return text
}

// steps returns the events as lines of a history.
func (t story) steps(m money.Registry) []render.Step {
	steps := make([]render.Step, len(t.events))
	for i, then := range views.AsThen(m, t.order, t.events) {
		e := t.events[i]
		parts := []string{e.What}
		if e.What == "sending" {
			parts = append(parts, then.Format(e.Amount)+" to "+e.Address)
		}
		if e.What != string(e.State) {
			parts = append(parts, "now "+string(e.State))
		}
		for _, more := range []string{e.ID, e.Reason} {
			if more != "" {
				parts = append(parts, more)
			}
		}
		parts = append(parts, "by "+e.User+" on "+e.Host)
		steps[i] = render.Step{Status: strings.Join(parts, ", "), At: views.Moment(e.At)}
	}
	return steps
}
