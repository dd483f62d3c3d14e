// Package orders has what the commands of withdrawals and of plans share: flags, lists of withdrawals, and
// decisions about orders whose outcome is unknown.
package orders

import (
	"fmt"
	"slices"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
)

// Reconciled returns the error with which a reconciliation ends. Unknown orders take precedence over
// conflicts. resolve is the command that records a person's decision.
func Reconciled(results []payout.Result, resolve ...string) error {
	ids, last := map[payout.State][]string{}, map[payout.State]payout.Result{}
	var latest payout.Result // the one that can be decided last
	for _, r := range results {
		state := r.Order.State
		if ids[state], last[state] = append(ids[state], r.Order.OrderID), r; r.Wait > latest.Wait {
			latest = r
		}
	}
	end := func(code int, ids []string, why string, hint payout.Hint) error {
		msg := cmdutil.IsOrAre("order", ids) + why
		return &exit.Error{Code: code, About: exit.AboutOrders(ids...), Msg: msg, Hint: hint}
	}
	unknown, shown := ids[payout.StateUnknown], last[payout.StateUnknown].Shown
	conflict, one := ids[payout.StateConflict], last[payout.StateConflict]
	switch {
	case len(unknown) == 1 && shown != "": // it is never called not sent
		return end(exit.Unknown, unknown,
			" unknown: the service has named withdrawal "+shown+", and its list does not have it",
			payout.NewHint("ask its provider, and record what became of it with",
				append(resolve, unknown[0], "--paid-as", shown, "--although-different", "--reason", "TEXT")...))
	case len(unknown) > 0:
		it, them, each, which := "it", "it", "", unknown[0]
		if len(unknown) > 1 {
			it, them, each, which = "they", "them", " of each", "ORDER..."
		}
		why := fmt.Sprintf(" not on the service's list, which proves nothing: the list may miss %s, or %s may arrive late", them, it)
		if results[0].NoList {
			why = " unknown, and the service shows no list: only its provider knows what became of " + them
		}
		when := ""
		if latest.Wait > 0 {
			when = "in " + latest.WaitText() + " (settle_after in the profile) "
		}
		return end(exit.Unknown, unknown, why, payout.NewHint("run this again later, or "+when+"say what you know"+each+
			", with --paid-as ID in place of --not-sent if it was paid",
			append(resolve, which, "--not-sent", "--reason", "TEXT")...))
	case len(conflict) > 1:
		return end(exit.Conflict, conflict, " in conflict",
			payout.NewHint("see what happened to each", "journal", "show", "ORDER"))
	case one.Agrees:
		return end(exit.Conflict, conflict, " in conflict: it was put there because "+one.Order.Reason+
			"; the list agrees with the order now, and a person settles it", one.Hint())
	case len(conflict) > 0:
		return end(exit.Conflict, conflict, " in conflict: "+one.Order.Reason, one.Hint())
	}
	return nil
}

type reconciledLine struct {
	views.OrderLine
	Listed bool   `json:"listed"`
	Status string `json:"status,omitempty"` // missing if the list shows none
}

// ReconciledView shows the results of a reconciliation.
func ReconciledView(m money.Registry) render.View[payout.Result] {
	type row = payout.Result
	view := render.Map(views.Orders(m), func(r row) payout.Order { return r.Order })
	view.JSON = render.Encoded(func(r row) reconciledLine {
		return reconciledLine{views.NewOrderLine(m, r.Order), r.Listed, r.Status}
	})
	amount := slices.IndexFunc(view.Columns, func(c render.Column[row]) bool { return c.Name == "amount" })
	view.Columns = slices.Insert(view.Columns, amount, // the findings come before the rest of the order
		render.Column[row]{Name: "listed", About: "whether the order is on the service's list",
			Cell: func(r row) render.Cell { return render.Bool(r.Listed) }},
		render.Column[row]{Name: "status", About: "the service's own status of the withdrawal",
			Cell: func(r row) render.Cell { return render.Word(r.Status) }})
	return view.Default("order_id", "state", "listed", "status", "amount", "reason")
}
