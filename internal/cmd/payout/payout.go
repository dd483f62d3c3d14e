// Package payout has the commands for batches: a file of payments becomes a plan, and a plan is applied.
package payout

import (
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
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
	total    *render.Cell       // replaces the totals if the facts are about one unit
	warned   []render.Step      // the warnings, in a table
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
		Batch: p.Batch, Since: p.Since, Rows: rows, Totals: totalLines(s.Money, p.Totals),
		Warnings: append([]string{}, warnings...),
	}
	for _, text := range warnings {
		f.warned = append(f.warned, render.Step{Status: text})
	}
	return f
}

// factsByUnit returns the facts once for each unit of a plan, with the rows that are paid in it.
func factsByUnit(s *cmdutil.Session, p *payout.Plan, f planFacts) []planFacts {
	if len(p.Totals) == 0 {
		f.total = new(render.Cell)
		return []planFacts{f}
	}
	var units []planFacts
	for _, t := range p.Totals {
		sum := sumCell(s.Money, t.Amount)
		f.Rows, f.total = t.Rows, &sum
		units = append(units, f)
	}
	return units
}

func planFactsView(money.Registry) render.View[planFacts] {
	type row = planFacts
	text := render.Field[row, string]
	return render.ViewOf(func(f row) string { return f.Digest },
		text("plan", "file of the plan", render.Own, func(f row) string { return f.Plan }),
		text("run", "name of the run that the plan becomes", render.Own, func(f row) string { return f.Run }),
		text("account", "account that pays", render.Own, func(f row) string { return f.Account }),
		text("base_url", "address of the service", render.Own, func(f row) string { return f.BaseURL }),
		text("batch", "batch that the order ids were made for", render.Own, func(f row) string { return f.Batch }),
		text("since", "the batch's last run when the plan was made", render.Own, func(f row) string { return f.Since }),
		render.Field("rows", "number of rows", render.Int, func(f row) int64 { return int64(f.Rows) }),
		render.Column[row]{Name: "totals", About: "total in each currency", Amount: true, Cell: func(f row) render.Cell {
			if f.total != nil {
				return *f.total
			}
			steps := make([]render.Step, len(f.Totals))
			for i, t := range f.Totals {
				steps[i] = render.Step{Status: t.Pays, At: cmdutil.CountOf(t.Rows, "row")}
			}
			return render.History(steps)
		}},
		render.Field("warnings", "what a person should look at", render.History, func(f row) []render.Step { return f.warned }),
		text("made", "when the plan was made", render.Own, func(f row) string { return f.Made }),
		text("expires", "when its run must have begun", render.Own, func(f row) string {
			if f.Expired {
				return f.Expires + " (it has expired)"
			}
			return f.Expires
		}),
		text("digest", "digest of the plan, to approve it", render.ID, func(f row) string { return f.Digest })).
		Default("plan", "run", "account", "base_url", "batch", "rows", "totals", "warnings", "made", "expires", "digest")
}
