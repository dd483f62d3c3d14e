package payout

import (
	"fmt"
	"iter"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// A Plan is what a plan file had when it was opened, after its digest was verified.
type Plan struct {
	Path          string
	Digest        string // "sha256:" and 64 hexadecimal digits
	Account       Account
	Made, Expires time.Time // UTC
	Batch         string    // from which the order ids were derived; empty: the input had them
	Since         string    // the batch's newest run when the plan was made; empty: none had begun
	Gone          int64     // how many accepted orders of the batch the plan lacks
	Rows          []PlanRow
	Totals        []Total       // by unit, in the order of first appearance
	OneCase       int           // rows that pay to an Ethereum address without a checksum, as all its letters have one case
	Layout        *sheet.Layout // of the file of the rows; nil: a plain one
	Limits        Limits        // when the plan was made
	Warnings      []string

	decimals decimals
}

// A Total is the sum of the rows of one unit.
type Total struct {
	Amount api.BigAmount
	Rows   int
}

// A PlanRow is one withdrawal of a plan. ExternalOrderID is its order id.
type PlanRow struct {
	api.CreateWithdrawal
	sheet.Kept      // an order id is derived from the reference too
	Line       int  // of the file that the plan was made of; 0: it has no lines
	Warned     bool // one of the plan's warnings is about it
}

// row returns the row in the journal's type.
func (r PlanRow) row() journal.Row {
	return journal.Row{OrderID: r.ExternalOrderID, Content: contentOf(r.CreateWithdrawal), Callback: r.Callback, Kept: r.Kept}
}

// recorded yields rows as the journal records them when their run begins.
func recorded(rows []PlanRow) iter.Seq2[journal.Row, error] {
	return func(yield func(journal.Row, error) bool) {
		for i := 0; i < len(rows) && yield(rows[i].row(), nil); i++ {
		}
	}
}

// Expired reports whether it is too late for the plan's run to begin.
func (p *Plan) Expired(now time.Time) bool { return !now.Before(p.Expires) }

// Decimals returns the number of decimals with which the plan shows amounts of a unit, or -1.
func (p *Plan) Decimals(a api.BigAmount) int { return p.decimals.of(a) }

// CheckAccount refuses a plan of another account. Payments of it that were made there are not known here.
func (p *Plan) CheckAccount(account Account) error {
	if p.Account == account {
		return nil
	}
	return refused(RuleAccount, "the plan is for %s, and this is %s", p.Account, account).
		hint("apply it there, or make a plan for this account if it is to be paid from here as well")
}

// CheckDecimals refuses a plan that shows amounts with other decimals than the currencies have today. The
// person who approved it has read amounts that differ from what would be shown now.
func (p *Plan) CheckDecimals(added []Currency) error { return p.checkDecimals(registryOf(added)) }

func (p *Plan) checkDecimals(m money.Registry) error {
	for _, t := range p.Totals {
		then, now := p.Decimals(t.Amount), m.DecimalsOf(t.Amount.Kind, t.Amount.Code)
		if then != now {
			return refused(RuleDecimals,
				"the plan %s was made with %s of %s, and the profile has %s now: %s in the plan is %s today",
				p.Path, decimalsText(then), t.Amount.Code, decimalsText(now), p.Pays(t.Amount), m.FormatBig(t.Amount)).
				hint("find out how many decimals the service counts, set them with till currency set, and make a new plan")
		}
	}
	return nil
}

// decimalsText returns a number of decimals in words.
func decimalsText(n int) string {
	switch n {
	case money.Unknown:
		return "no decimals known"
	case 1:
		return "1 decimal"
	}
	return fmt.Sprintf("%d decimals", n)
}

// Pays formats an amount with the decimals of the plan, such as "25.00 USD", or "1500000 minor Btc" if they
// are unknown.
func (p *Plan) Pays(a api.BigAmount) string { return money.FormatBig(a, p.decimals.of(a)) }

// decimals has the number of decimals of each unit. Codes are in lower case.
type decimals map[api.Currency]int

func (d decimals) of(a api.BigAmount) int {
	if n, known := d[journal.LowerCase(a.Unit())]; known {
		return n
	}
	return money.Unknown
}

// count adds one more row, with the decimals of its amount, to the fields that follow from the rows.
func (p *Plan) count(row PlanRow, decimals int) {
	p.Totals = addTotal(p.Totals, Total{api.Big(row.Amount), 1})
	p.decimals[journal.LowerCase(row.Amount.Unit())] = decimals
	if address.OneCase(row.Address) {
		p.OneCase++
	}
}

// maxLife is the longest time in which the run of a plan can begin. Who approved a plan has forgotten it by then.
const maxLife = 30 * 24 * time.Hour

// clockSlack is how far the clock of the machine that made a plan may be ahead.
const clockSlack = 24 * time.Hour

// CheckLife refuses a plan whose run could begin for more than 30 days.
func (p *Plan) CheckLife(now time.Time) error {
	switch {
	case p.Expires.Sub(p.Made) > maxLife:
		return p.changed("it expires at %s, more than 30 days after it was made", p.Expires.Format(time.RFC3339))
	case p.Made.Sub(now) > clockSlack:
		return p.changed("it says that it is made at %s, which is not yet over", p.Made.Format(time.RFC3339))
	}
	return nil
}

// changed returns the error for a plan that has been changed.
func (p *Plan) changed(format string, args ...any) error {
	return refused(RulePlanChanged, "the plan %s is not as it was written: %s", p.Path,
		sheet.Shorten(fmt.Sprintf(format, args...))).hint("make a new plan", "payout", "plan", "FILE", "--out", "PLAN")
}

// addTotal adds to the total of a unit.
func addTotal(totals []Total, more Total) []Total {
	for i := range totals {
		if totals[i].Amount.SameUnit(more.Amount) {
			totals[i].Amount.Minor.Plus(more.Amount.Minor)
			totals[i].Rows += more.Rows
			return totals
		}
	}
	return append(totals, more)
}
