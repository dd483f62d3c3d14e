package payout

import (
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// totalLine is the sum of the rows of one unit as JSON.
type totalLine struct {
	Amount  api.BigAmount `json:"amount"`
	Decimal *string       `json:"decimal" schema:"decimal"`
	Pays    string        `json:"pays"`
	Rows    int           `json:"rows"`
}

func totalLines(m money.Registry, totals []payout.Total) []totalLine {
	lines := make([]totalLine, len(totals))
	for i, t := range totals {
		decimal := views.Decimal(t.Amount.Minor.Big(), m.DecimalsOf(t.Amount.Kind, t.Amount.Code))
		lines[i] = totalLine{t.Amount, decimal, m.FormatBig(t.Amount), t.Rows}
	}
	return lines
}

// sumCell returns a total as one number, for a file. A person gets all totals as one text instead.
func sumCell(m money.Registry, a api.BigAmount) render.Cell {
	return render.BigAmount(a.Minor.Big(), codeIn(m, a.Kind, a.Code), m.DecimalsOf(a.Kind, a.Code))
}

// csvOfSums reports whether the output is CSV with one of the columns named in sums. A number in CSV has one
// unit, so such output has a line for each unit, which counts only what is in that unit.
func csvOfSums[T any](o cmdutil.Output[T], sums ...string) bool {
	columns := o.Session.Render.Columns
	return o.Session.Render.Format == render.CSV && o.Tabular() &&
		(len(columns) == 0 || slices.ContainsFunc(sums, func(name string) bool { return slices.Contains(columns, name) }))
}

// runCounts is a run with the states of its orders, or of those in one unit.
type runCounts struct {
	run     payout.Run
	tally   payout.Tally
	byUnit  bool
	money   money.Registry // with the decimals with which the run was sent
	results string         // the results file of payout apply
}

// The parts of a run as JSON.
type (
	runNames struct {
		Run    string `json:"run" schema:"run"`
		Plan   string `json:"plan"`
		Digest string `json:"digest" schema:"digest"`
	}
	stateCounts struct {
		Rows     int `json:"rows"`
		Accepted int `json:"accepted"`
		Rejected int `json:"rejected"`
		Unknown  int `json:"unknown"`
		Conflict int `json:"conflict"`
		Planned  int `json:"planned"`
	}
	runTotals struct {
		AlreadyPaid int         `json:"already_paid"`
		Totals      []totalLine `json:"totals"`
		Paid        []totalLine `json:"accepted_totals"`
	}
)

// runLine is a run as JSON.
type runLine struct {
	runNames
	Batch string `json:"batch"`
	Began string `json:"began" schema:"moment"`
	User  string `json:"user"`
	Host  string `json:"host"`
	stateCounts
	Sending int `json:"sending"`
	runTotals
}

// appliedLine is an applied plan as JSON.
type appliedLine struct {
	runNames
	stateCounts
	runTotals
	Results string `json:"results"`
}

func (r runCounts) line() runLine {
	n := r.tally.States
	return runLine{
		runNames{r.run.Name, r.run.Plan, r.run.Digest}, r.run.Batch, views.Moment(r.run.Began), r.run.User, r.run.Host,
		stateCounts{r.tally.Rows, n[payout.StateAccepted], n[payout.StateRejected], n[payout.StateUnknown],
			n[payout.StateConflict], n[payout.StatePlanned]}, n[payout.StateSending],
		runTotals{r.tally.Before, totalLines(r.money, r.tally.Totals), totalLines(r.money, r.tally.Accepted)},
	}
}

func (r runCounts) applied() appliedLine {
	l := r.line()
	return appliedLine{l.runNames, l.stateCounts, l.runTotals, r.results}
}

// sum shows the total of one unit as a number, and those of several as text.
func (r runCounts) sum(totals []payout.Total) render.Cell {
	if r.byUnit && len(r.tally.Totals) > 0 {
		a := api.BigAmount{Kind: r.tally.Totals[0].Amount.Kind, Code: r.tally.Totals[0].Amount.Code}
		if len(totals) > 0 {
			a.Minor = totals[0].Amount.Minor
		}
		return sumCell(r.money, a)
	}
	amounts := make([]string, len(totals))
	for i, t := range totals {
		amounts[i] = r.money.FormatBig(t.Amount)
	}
	return render.Sums(amounts)
}

func runView(money.Registry) render.View[runCounts] {
	type row = runCounts
	text := render.Field[row, string]
	inState := func(state payout.State) render.Column[row] {
		about := "number of orders that are " + string(state)
		if state == payout.StateConflict {
			about = "number of orders in conflict"
		}
		return render.Field(string(state), about, render.Count, func(r row) int { return r.tally.States[state] })
	}
	sending := inState(payout.StateSending)
	sending.About = "orders that a process is sending"
	return render.View[row]{
		ID:   func(r row) string { return r.run.Name },
		JSON: render.Encoded(row.line),
		Columns: []render.Column[row]{
			text("run", "name of the run", render.Own, func(r row) string { return r.run.Name }),
			text("plan", "file of the plan", render.Own, func(r row) string { return r.run.Plan }),
			render.Field("began", "when the run began", views.MomentCell, func(r row) time.Time { return r.run.Began }),
			render.Field("rows", "number of orders", render.Count, func(r row) int { return r.tally.Rows }),
			inState(payout.StateAccepted), inState(payout.StateRejected), inState(payout.StateUnknown),
			inState(payout.StateConflict), inState(payout.StatePlanned), sending,
			render.Field("already_paid", "accepted orders that this run did not send", render.Int,
				func(r row) int64 { return int64(r.tally.Before) }),
			{Name: "total", About: "total of the plan", Amount: true,
				Cell: func(r row) render.Cell { return r.sum(r.tally.Totals) }},
			{Name: "accepted_total", About: "total of the accepted orders", Amount: true,
				Cell: func(r row) render.Cell { return r.sum(r.tally.Accepted) }},
			text("batch", "batch that the order ids were made for", render.Own, func(r row) string { return r.run.Batch }),
			text("user", "who began the run", render.Own, func(r row) string { return r.run.User }),
			text("host", "machine on which it began", render.Own, func(r row) string { return r.run.Host }),
			text("digest", "digest of the plan", render.ID, func(r row) string { return r.run.Digest }),
		},
	}.Default("run", "plan", "began", "rows", "accepted", "rejected", "unknown", "conflict").
		Whole("run", "total", "accepted_total")
}

func appliedView(m money.Registry) render.View[runCounts] {
	view := runView(m).Without("plan", "began", "sending", "batch", "user", "host", "digest").Default("run", "rows",
		"accepted", "rejected", "unknown", "conflict", "planned", "already_paid", "total", "accepted_total")
	view.JSON = render.Encoded(runCounts.applied)
	return view
}

// codeIn returns a code in the form that till accepts: with its kind if the registry does not know it.
func codeIn(m money.Registry, kind api.Kind, code string) string {
	if e, known := m.Lookup(code); code != "" && (!known || e.Kind != kind) {
		return strings.ToLower(string(kind)) + ":" + code
	}
	return code
}

// amountCell shows an amount with its code in the form that till accepts.
func amountCell(m money.Registry, a api.Amount) render.Cell {
	return render.Amount(a.Minor, codeIn(m, a.Kind, a.Code), m.DecimalsOf(a.Kind, a.Code))
}
