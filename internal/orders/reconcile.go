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
	var unknown, conflict []string
	var why, shown string
	var settle payout.Hint
	var last payout.Result // of the unknown orders, the one that can be decided last
	for _, r := range results {
		if r.Wait > last.Wait {
			last = r
		}
		switch r.Order.State {
		case payout.StateUnknown:
			unknown, shown = append(unknown, r.Order.OrderID), r.Shown
		case payout.StateConflict:
			conflict = append(conflict, r.Order.OrderID)
			if why, settle = r.Order.Reason, r.Hint(); r.Agrees {
				why = "it was put there because " + why +
					"; the list agrees with the order now, and a person settles it"
			}
		}
	}
	switch {
	case len(unknown) > 0:
		it, them, each, which := "it", "it", "", unknown[0]
		if shown != "" && len(unknown) == 1 { // it is never called not sent
			return &exit.Error{Code: exit.Unknown, About: exit.AboutOrders(unknown...),
				Msg: "order " + which + " is unknown: the service has named withdrawal " + shown + ", and its list does not have it",
				Hint: payout.NewHint("ask its provider, and record what became of it with",
					append(resolve, which, "--paid-as", shown, "--although-different", "--reason", "TEXT")...)}
		}
		if len(unknown) > 1 {
			it, them, each, which = "they", "them", " of each", "ORDER..."
		}
		why = fmt.Sprintf("not on the service's list, which proves nothing: the list may miss %s, or %s may arrive late", them, it)
		if results[0].NoList {
			why = "unknown, and the service shows no list: only its provider knows what became of " + them
		}
		when := ""
		if last.Wait > 0 {
			when = "in " + last.WaitText() + " (settle_after in the profile) "
		}
		return &exit.Error{Code: exit.Unknown, About: exit.AboutOrders(unknown...),
			Msg: cmdutil.IsOrAre("order", unknown) + " " + why,
			Hint: payout.NewHint("run this again later, or "+when+"say what you know"+each+
				", with --paid-as ID in place of --not-sent if it was paid",
				append(resolve, which, "--not-sent", "--reason", "TEXT")...)}
	case len(conflict) > 1:
		return &exit.Error{Code: exit.Conflict, About: exit.AboutOrders(conflict...),
			Msg:  cmdutil.IsOrAre("order", conflict) + " in conflict",
			Hint: payout.NewHint("see what happened to each", "journal", "show", "ORDER")}
	case len(conflict) > 0:
		return &exit.Error{Code: exit.Conflict, About: exit.AboutOrders(conflict...),
			Msg: fmt.Sprintf("%s in conflict: %s", cmdutil.IsOrAre("order", conflict), why), Hint: settle}
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
