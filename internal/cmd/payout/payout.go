// Package payout has the commands for batches: a file of payments becomes a plan, and a plan is applied.
package payout

import (
	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Command returns the payout command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("payout", "Send a file of withdrawals, each at most once",
		planCommand(a), showCommand(a), rehearseCommand(a), approveCommand(a), applyCommand(a), statusCommand(a), waitCommand(a),
		reconcileCommand(a), resolveCommand(a), listCommand(a), exportCommand(a), layoutCommand(a))
}

// planFacts is a plan without its rows, for a person and as JSON.
type planFacts struct {
	Plan     string             `json:"plan" column:"own: file of the plan"`
	Run      string             `json:"run" schema:"run" column:"own: name of the run that the plan becomes"`
	Digest   string             `json:"digest" schema:"digest" column:"id: digest of the plan, to approve it"`
	Account  string             `json:"account" column:"own: account that pays"`
	BaseURL  string             `json:"base_url" column:"own: address of the service"`
	Made     string             `json:"made" schema:"moment" column:"own: when the plan was made"`
	Expires  string             `json:"expires" schema:"moment"`
	Expired  bool               `json:"expired"`
	Batch    string             `json:"batch" column:"own: batch that the order ids were made for"`
	Since    string             `json:"since" column:"own detail: the batch's last run when the plan was made"`
	Rows     int                `json:"rows" column:"value: number of rows"`
	Totals   []planTotalLine    `json:"totals"`
	Journal  *accountStatusLine `json:"journal,omitempty"` // when the plan was made
	Warnings []string           `json:"warnings"`
	byUnit   bool               // the facts are about one unit, or about none
	told     bool               // the warnings are on standard error
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
	return planFacts{
		Plan: p.Path, Run: p.Name(), Digest: p.Digest, Account: p.Account.Name, BaseURL: p.Account.Address,
		Made: views.Moment(p.Made), Expires: views.Moment(p.Expires), Expired: p.Expired(s.IO.Now()),
		Batch: p.Batch, Since: p.Since, Rows: rows, Totals: totalLines(s.Money, p.Totals),
		Warnings: append([]string{}, warnings...),
	}
}

// units returns the facts once for each unit of a plan, with the rows that are paid in it.
func (f planFacts) units() []planFacts {
	units := make([]planFacts, max(len(f.Totals), 1))
	for i := range units {
		units[i] = f
		if units[i].byUnit = true; len(f.Totals) > 0 {
			units[i].Rows, units[i].Totals = f.Totals[i].Rows, f.Totals[i:i+1]
		}
	}
	return units
}

func (f planFacts) totals(m money.Registry) render.Cell {
	if f.byUnit && len(f.Totals) == 0 {
		return render.Own("")
	}
	steps := make([]render.Step, len(f.Totals))
	for i, t := range f.Totals {
		if f.byUnit {
			return sumCell(m, t.Amount)
		}
		steps[i] = render.Step{Status: t.Pays, At: cmdutil.CountOf(t.Rows, "row")}
	}
	return render.History(steps)
}

func (f planFacts) warnings() (steps []render.Step) {
	if n := len(f.Warnings); f.told && n > 0 {
		return []render.Step{{Status: cmdutil.CountOf(n, "warning"), At: "told on standard error"}}
	}
	for _, text := range f.Warnings {
		steps = append(steps, render.Step{Status: text})
	}
	return steps
}

func planFactsView(m money.Registry) render.View[planFacts] {
	view := render.Struct[planFacts]("digest")
	view.Columns = append(view.Columns,
		render.AmountField("totals", "total in each currency", func(f planFacts) render.Cell { return f.totals(m) }),
		render.Field("warnings", "what a person should look at", render.History, planFacts.warnings),
		render.Field("expires", "when its run must have begun", render.Own, func(f planFacts) string {
			if f.Expired {
				return f.Expires + " (it has expired)"
			}
			return f.Expires
		}))
	return view.Select("plan", "run", "account", "base_url", "batch", "since", "rows", "totals", "warnings", "made", "expires", "digest")
}
