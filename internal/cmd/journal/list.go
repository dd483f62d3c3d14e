package journal

import (
	"cmp"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func listCommand(a *cmdutil.App) *cobra.Command {
	var from, to, currency string
	var filter payout.Filter
	var states []string
	var status bool
	cmd := cmdutil.NewCommand(a, cmdutil.List, views.Orders, &cobra.Command{
		Use:   "list",
		Short: "List the orders and their states",
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Order], _ []string) (err error) {
		if filter.From, filter.To, err = s.Period().Instants(from, to); err != nil {
			return err
		}
		if filter.States, err = cmdline.ParseStates(states); err != nil {
			return err
		}
		if currency != "" {
			if filter.Currency, err = s.Money.ParseCurrency(currency); err != nil {
				return fmt.Errorf("--currency: %w", err)
			}
		}
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		if ledger == nil {
			return out.Slice(nil)
		}
		orders := ledger.Orders(s.Ctx, filter)
		if !status {
			return out.List(orders)
		}
		return listWithStatus(out, orders)
	})
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "start of the period: a date, week or month, last-month, an age such as 7d, or a full date-time")
	f.StringVar(&to, "to", "", "end of the period, in the same forms")
	f.StringSliceVar(&states, "state", nil,
		"only orders in these states: planned, sending, accepted, rejected, unknown, conflict")
	f.StringVar(&currency, "currency", "", "only this currency")
	f.StringVar(&filter.Address, "address", "", "only this address")
	f.StringVar(&filter.Run, "run", "", "only this run")
	f.StringVar(&filter.Reference, "reference", "", "only this reference of a payout file")
	f.BoolVar(&status, "exit-status", false, "end with 20 or 21 when one of them is unknown or in conflict")
	cmdline.Offer(cmd, "state", cmdutil.CompleteStates)
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	cmdline.Offer(cmd, "run", a.CompleteRuns())
	return cmd
}

// listWithStatus prints orders, and returns the error of --exit-status. That counts every order, even after printing
// has failed.
func listWithStatus(out cmdutil.Output[payout.Order], orders iter.Seq2[payout.Order, error]) error {
	ids := map[payout.State][]string{}
	err := out.List(func(yield func(payout.Order, error) bool) {
		wanted := true
		for o, err := range orders {
			if o.State == payout.StateUnknown || o.State == payout.StateConflict {
				ids[o.State] = append(ids[o.State], o.OrderID)
			}
			if wanted = wanted && yield(o, err); !wanted && err != nil {
				return
			}
		}
	})
	ended := func(code int, ids []string, what, hint string, command ...string) error {
		return exit.WithPrintError(&exit.Error{Code: code, About: exit.AboutOrders(ids...),
			Msg: cmdutil.IsOrAre("order", ids) + what, Hint: payout.NewHint(hint, command...)}, err)
	}
	if unknown := ids[payout.StateUnknown]; len(unknown) > 0 {
		return ended(exit.Unknown, unknown, " unknown", "find out with", "withdraw", "reconcile")
	}
	if conflict := ids[payout.StateConflict]; len(conflict) > 0 {
		return ended(exit.Conflict, conflict, " in conflict", "see what happened", "journal", "show", conflict[0])
	}
	return err
}

func showCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, storyView, &cobra.Command{
		Use:               "show ORDER",
		Short:             "Show the history of an order",
		ValidArgsFunction: a.CompleteOrders(),
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
		history := ""
		if out.Tabular() && s.Plain() && s.Sort == "" { // which may name any column
			out.View, history = out.View.Without("story"), told.text(s.Money, s.Render.Width)
		}
		err = cmp.Or(out.One(told), s.Write(history))
		if order.State == payout.StateConflict {
			s.NoteCommand(payout.Result{Order: order}.Hint().Command, "to settle it, if that withdrawal is the order:")
		}
		return err
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

func (t story) text(m money.Registry, width int) string {
	text := "\n"
	for _, step := range t.steps(m) {
		text += render.WrapWords(render.Safe(step.At+"  "+step.Status), width, 2) + "\n"
	}
	return text
}

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
