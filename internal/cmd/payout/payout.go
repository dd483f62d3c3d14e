// Package payout has the commands for batches: a file of payments becomes a plan, and a plan is applied.
package payout

import (
	"slices"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Command returns the payout command.
func Command(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.Group("payout", "Send a file of withdrawals, each at most once",
		planCommand(a), showCommand(a), rehearseCommand(a), approveCommand(a), applyCommand(a), statusCommand(a), waitCommand(a),
		reconcileCommand(a), resolveCommand(a), listCommand(a), exportCommand(a), layoutCommand(a))
	cmd.Long = `Send a file of withdrawals, each at most once. First make a plan of the file:
every row is checked, and another person can read and approve what will be
sent. Then apply the plan. till help payouts explains how till keeps a payment
from being made twice.`
	return cmd
}

// planFacts is a plan without its rows, for a person and as JSON.
type planFacts struct {
	Plan     string             `json:"plan"`
	Run      string             `json:"run" schema:"run"`
	Digest   string             `json:"digest" schema:"digest"`
	Account  string             `json:"account"`
	BaseURL  string             `json:"base_url"`
	Made     string             `json:"made" schema:"moment"`
	Expires  string             `json:"expires" schema:"moment"`
	Expired  bool               `json:"expired"`
	Batch    string             `json:"batch"`
	Since    string             `json:"since"`
	Rows     int                `json:"rows"`
	Totals   []planTotalLine    `json:"totals"`
	Journal  *accountStatusLine `json:"journal,omitempty"` // when the plan was made
	Warnings []string           `json:"warnings"`
	totals   []render.Step
	total    *render.Cell // replaces totals if the facts are about one unit
	warned   []render.Step
}

type planTotalLine struct {
	Amount  api.BigAmount `json:"amount"`
	Decimal *string       `json:"decimal" schema:"decimal"`
	Pays    string        `json:"pays"`
	Rows    int           `json:"rows"`
}

// newTotalLine returns a total as JSON. Its decimals may be unknown.
func newTotalLine(t payout.Total, decimals int, pays string) planTotalLine {
	return planTotalLine{t.Amount, views.Decimal(t.Amount.Minor.Big(), decimals), pays, t.Rows}
}

// accountStatusLine counts the order ids of a plan that the journal already has.
type accountStatusLine struct {
	Accepted int    `json:"accepted"`
	First    string `json:"first" schema:"moment"`
	Last     string `json:"last" schema:"moment"`
	Unknown  int    `json:"unknown"`
	Conflict int    `json:"conflict"`
}

func factsOf(s *cmdutil.Session, p *payout.Plan, rows int, warnings []string) planFacts {
	f := planFacts{
		Plan: p.Path, Run: p.Name(), Digest: p.Digest, Account: p.Account.Name, BaseURL: p.Account.Address,
		Made: views.Moment(p.Made), Expires: views.Moment(p.Expires), Expired: p.Expired(s.IO.Now()),
		Batch: p.Batch, Since: p.Since, Rows: rows, Totals: []planTotalLine{},
		Warnings: append([]string{}, warnings...),
	}
	for _, t := range p.Totals {
		pays := s.Money.FormatBig(t.Amount)
		f.Totals = append(f.Totals, newTotalLine(t, s.Money.DecimalsOf(t.Amount.Kind, t.Amount.Code), pays))
		f.totals = append(f.totals, render.Step{Status: pays, At: cmdutil.CountOf(t.Rows, "row")})
	}
	for _, text := range warnings {
		f.warned = append(f.warned, render.Step{Status: text})
	}
	return f
}

// factsByUnit returns the facts once for each unit of a plan, with the rows that are paid in it.
func factsByUnit(s *cmdutil.Session, p *payout.Plan, f planFacts) []planFacts {
	var units []planFacts
	for _, t := range p.Totals {
		sum := sumCell(s.Money, t.Amount, s.Money.DecimalsOf(t.Amount.Kind, t.Amount.Code))
		f.Rows, f.total = t.Rows, &sum
		units = append(units, f)
	}
	if units == nil {
		f.total = new(render.Cell)
		units = append(units, f)
	}
	return units
}

// sumCell returns a total as one number, for a file. A person gets all totals as one text instead.
func sumCell(m money.Registry, a api.BigAmount, decimals int) render.Cell {
	return render.BigAmount(a.Minor.Big(), codeIn(m, a.Kind, a.Code), decimals)
}

// csvOfSums reports whether the output is CSV with one of the columns named in sums. A number in CSV has one
// unit, so such output has a line for each unit, which counts only what is in that unit.
func csvOfSums[T any](o cmdutil.Output[T], sums ...string) bool {
	columns := o.Session.Render.Columns
	return o.Session.Render.Format == render.CSV && o.Tabular() &&
		(len(columns) == 0 ||
			slices.ContainsFunc(sums, func(name string) bool { return slices.Contains(columns, name) }))
}

func planFactsView(money.Registry) render.View[planFacts] {
	type row = planFacts
	expires := func(f row) string {
		if f.Expired {
			return f.Expires + " (it has expired)"
		}
		return f.Expires
	}
	return render.View[row]{
		ID:   func(f row) string { return f.Digest },
		JSON: render.Value[row](),
		Columns: []render.Column[row]{
			{Name: "plan", About: "file of the plan", Cell: func(f row) render.Cell { return render.Own(f.Plan) }},
			{Name: "run", About: "name of the run that the plan becomes",
				Cell: func(f row) render.Cell { return render.Own(f.Run) }},
			{Name: "account", About: "account that pays",
				Cell: func(f row) render.Cell { return render.Own(f.Account) }},
			{Name: "base_url", About: "address of the service",
				Cell: func(f row) render.Cell { return render.Own(f.BaseURL) }},
			{Name: "batch", About: "batch that the order ids were made for",
				Cell: func(f row) render.Cell { return render.Own(f.Batch) }},
			{Name: "since", About: "the batch's last run when the plan was made",
				Extra: true, Detail: true, Cell: func(f row) render.Cell { return render.Own(f.Since) }},
			{Name: "rows", About: "number of rows", Cell: func(f row) render.Cell { return render.Int(int64(f.Rows)) }},
			{Name: "totals", About: "total in each currency", Amount: true, Cell: func(f row) render.Cell {
				if f.total != nil {
					return *f.total
				}
				return render.History(f.totals)
			}},
			{Name: "warnings", About: "what a person should look at",
				Cell: func(f row) render.Cell { return render.History(f.warned) }},
			{Name: "made", About: "when the plan was made",
				Cell: func(f row) render.Cell { return render.Own(f.Made) }},
			{Name: "expires", About: "when its run must have begun",
				Cell: func(f row) render.Cell { return render.Own(expires(f)) }},
			{Name: "digest", About: "digest of the plan, to approve it",
				Cell: func(f row) render.Cell { return render.ID(f.Digest) }},
		},
	}
}
