package payout

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func showCommand(a *cmdutil.App) *cobra.Command {
	var approvals, changes, verbose bool
	cmd := &cobra.Command{
		Use:   "show PLAN",
		Short: "Show a plan to the person who approves it",
		Long: `Show a plan to the person who approves it: its account, totals and warnings,
whether it has expired, and every row with its amount, as a decimal where the
profile in use knows the decimals. A plan with a changed byte does not match
its digest and is refused.

Somebody who edits the plan can compute a new digest. Only a digest that
reached you through a different channel than the plan protects from that: read
it to each other, and give it to till payout apply PLAN --digest sha256:...

The digest is the SHA-256 of the file with an empty digest in it. To compute it
without till:

  sed 's/^  "digest": .*/  "digest": ""/' staff.plan | sha256sum

With -o json the output is the plan file. With csv and jsonl it is the rows;
the CSV can be planned again. -q prints the order ids. On a terminal, the rows
that a warning is about are marked with an exclamation mark.

--changes shows new payees, other addresses and memos, and amounts that moved
by more than half, since the last runs of the same batch or layout paid the
same payee. --approvals shows who has signed the plan, and who may: see till
help approvals.`,
		Example: `  till payout show staff.plan
  till payout show staff.plan -o csv >again.csv
  till payout show staff.plan --changes
  till payout show staff.plan --approvals`,
		Args:              cmdutil.Args("PLAN"),
		ValidArgsFunction: cmdutil.FileNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if approvals {
				s, out, err := cmdutil.Begin(a, cmd, approverView)
				if err != nil {
					return err
				}
				return showOpened(s, args[0], func(p *payout.Plan) error { return showApprovals(s, p, out) })
			}
			if changes {
				s, out, err := cmdutil.Begin(a, cmd, changeView)
				if err != nil {
					return err
				}
				return showOpened(s, args[0], func(p *payout.Plan) error { return showChanges(s, p, out) })
			}
			s, out, err := cmdutil.Begin(a, cmd, plannedView)
			if err != nil {
				return err
			}
			return showOpened(s, args[0], func(p *payout.Plan) error { return showPlan(s, p, verbose, out) })
		},
	}
	cmd.Flags().BoolVar(&approvals, "approvals", false, "show who has approved the plan, and who may")
	cmd.Flags().BoolVar(&changes, "changes", false, "show what is different from the last run")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show all warnings on a terminal")
	cmdutil.Exclude(cmd, "approvals", "changes")
	a.Prints(cmd, cmdutil.PrintedApart[planfile.File, planfile.Row]())
	a.Prints(cmd, cmdutil.PrintedAs[approverLine](cmdutil.List))
	a.Prints(cmd, cmdutil.PrintedAs[changeLine](cmdutil.List))
	return cmdutil.WithView(a, cmdutil.Apart, plannedView, cmd)
}

// showOpened opens a plan and shows it.
func showOpened(s *cmdutil.Session, path string, show func(*payout.Plan) error) error {
	if err := s.NoDryRun("payout show"); err != nil {
		return err
	}
	p, err := payout.OpenPlan(path)
	if err != nil {
		return err
	}
	return show(p)
}

// planned is a row of a plan, with the decimals of the profile in use.
type planned struct {
	payout.PlanRow
	decimals int
	pays     string
}

func plannedView(m money.Registry) render.View[planned] {
	type row = planned
	return render.View[row]{
		Again: true, // the file of a plan can be read more than once
		ID:    func(r row) string { return r.ExternalOrderID },
		JSON: render.Encoded(func(r row) planfile.Row {
			return planfile.Row{OrderID: r.ExternalOrderID, Currency: r.Currency, Amount: r.Amount, Pays: r.pays, Address: r.Address,
				Memo: r.Memo, Callback: r.Callback, Note: r.Note, Reference: r.Reference, Line: r.Line}
		}),
		Columns: []render.Column[row]{
			{Name: "order_id", About: "your own number for the withdrawal",
				Cell: func(r row) render.Cell { return render.Word(r.ExternalOrderID) }},
			{Name: "currency", About: "currency that is withdrawn",
				Whole: true, Cell: func(r row) render.Cell { return render.Own(codeIn(m, r.Currency.Kind, r.Currency.Code)) }},
			{Name: "amount", About: "amount to withdraw", Amount: true, CodeIn: "currency", Cell: func(r row) render.Cell {
				return render.Amount(r.Amount.Minor, codeIn(m, r.Amount.Kind, r.Amount.Code), r.decimals)
			}},
			{Name: "address", About: "address that the money goes to",
				Whole: true, Cell: func(r row) render.Cell { return render.Own(r.Address) }},
			{Name: "memo", About: "memo of the transfer",
				Whole: true, Cell: func(r row) render.Cell { return render.Own(r.Memo) }},
			{Name: "note", About: "your note in the payout file",
				Cell: func(r row) render.Cell { return render.Own(r.Note) }},
			{Name: "reference", About: "your reference in the payout file",
				Extra: true, Cell: func(r row) render.Cell { return render.Own(r.Reference) }},
			{Name: "callback", About: "URL to which the service sends its response",
				Extra: true, Cell: func(r row) render.Cell { return render.Own(r.Callback) }},
		},
	}
}

// codeIn returns a code in the form that till accepts: with its kind if the registry does not know it.
func codeIn(m money.Registry, kind api.Kind, code string) string {
	if e, known := m.Lookup(code); code != "" && (!known || e.Kind != kind) {
		return strings.ToLower(string(kind)) + ":" + code
	}
	return code
}

// noteShown says what a person who reads a plan should know.
func noteShown(s *cmdutil.Session, p *payout.Plan) {
	if p.Expired(s.IO.Now()) {
		s.Note("the plan has expired: a run that has begun can continue, a new one cannot begin")
	}
	if err := p.CheckDecimals(s.PayoutCurrencies()); err != nil {
		s.Warn(payout.Detail{Message: fmt.Sprintf("%v; till payout apply refuses it", err)})
	}
	tellOneCase(s, p)
}

func showPlan(s *cmdutil.Session, p *payout.Plan, verbose bool, out cmdutil.Output[planned]) error {
	noteShown(s, p)
	o := s.Render
	if onScreen(s) {
		if err := showTables(s, p, verbose); err != nil {
			return err
		}
		return s.NoteCopy(payout.NewHint("", "payout", "apply", p.Path, "--digest", p.Digest).String(), "to send it:")
	}
	whole := o.Filter != nil || o.Template != ""
	switch {
	case o.Quiet || !whole && (o.Format == render.CSV || o.Format == render.JSONL):
		return out.List(plannedRows(p, s.Money))
	case whole || o.Format == render.YAML || o.Screen && o.Format == render.JSON:
		var text bytes.Buffer
		if _, err := p.WriteTo(&text); err != nil {
			return err
		}
		return render.View[[]byte]{JSON: render.Received[planfile.File](func(t []byte) []byte { return t })}.One(s.IO.Out, o,
			text.Bytes())
	case o.Format == render.JSON:
		_, err := p.WriteTo(written{s.IO.Out})
		return err
	}
	summary := o
	summary.Columns, summary.Sort, summary.NoHeaders = nil, "", false
	if err := planFactsView(s.Money).One(s.IO.Out, summary, factsOf(s, p, len(p.Rows))); err != nil || len(p.Rows) == 0 {
		return err
	}
	if err := s.Write("\n"); err != nil {
		return err
	}
	return out.List(plannedRows(p, s.Money))
}

// onScreen reports whether a plan is shown to a person who did not say how.
func onScreen(s *cmdutil.Session) bool {
	o := s.Render
	return o.Screen && o.Filter == nil && o.Template == "" && o.Format == render.Table && len(o.Columns) == 0 && !o.Quiet
}

// showTables shows a plan to a person: what to look at, the worst first, then the totals, and then the rows.
func showTables(s *cmdutil.Session, p *payout.Plan, verbose bool) error {
	o, f := s.Render, factsOf(s, p, len(p.Rows))
	o.Columns, o.Sort = []string{"totals", "rows", "plan", "run", "account", "base_url", "made", "expires", "digest"}, ""
	if p.Batch != "" {
		o.Columns = append(o.Columns, "batch")
	}
	for i := range f.totals {
		f.totals[i].Status = render.Group(f.totals[i].Status)
	}
	if err := s.Write(warningText(s, p, verbose)); err != nil {
		return err
	}
	if err := planFactsView(s.Money).One(s.IO.Out, o, f); err != nil || len(p.Rows) == 0 {
		return err
	}
	if err := s.Write("\n"); err != nil {
		return err
	}
	view := plannedView(s.Money)
	if slices.ContainsFunc(p.Rows, func(r payout.PlanRow) bool { return r.Warned }) {
		mark := render.Column[planned]{Name: "!", About: "a warning is about it", Cell: func(r planned) render.Cell {
			if r.Warned {
				return render.Own("!")
			}
			return render.Own("")
		}}
		view.Columns = append([]render.Column[planned]{mark}, view.Columns...)
	}
	return view.List(s.IO.Out, s.Render, plannedRows(p, s.Money))
}

// A warned row has what it pays and what is to be looked at. What is about no single row has no amount.
type warned struct{ pays, why string }

// warnedRows returns the warnings of a plan as a person reads them.
func warnedRows(s *cmdutil.Session, p *payout.Plan) []warned {
	rows := map[string]payout.PlanRow{}
	for _, r := range p.Rows {
		rows[fmt.Sprintf("line %d", r.Line)] = r
	}
	all := make([]warned, len(p.Warnings))
	for i, text := range p.Warnings {
		line, why, _ := strings.Cut(text, ": ")
		r, found := rows[line]
		if !found {
			all[i].why = text
			continue
		}
		pays := s.Money.Format(r.Amount)
		all[i] = warned{render.Group(pays) + "  ",
			line + ", " + strings.TrimPrefix(why, "order "+r.ExternalOrderID+" pays "+pays+", ")}
	}
	return all
}

// screenful is how many lines the warnings take at most, so that the totals are on the same screen.
const screenful = 16

// warningText returns the warnings of a plan, the worst first, and as many as a screen has room for.
func warningText(s *cmdutil.Session, p *payout.Plan, verbose bool) (text string) {
	all := warnedRows(s, p)
	lines := 0
	for i, w := range all {
		part := render.WrapWords(render.Safe(w.pays+w.why), s.Render.Width, 2) + "\n"
		if lines += strings.Count(part, "\n"); lines > screenful && i > 0 && !verbose {
			return text + fmt.Sprintf("and %s: --verbose\n\n", moreWarnings(len(all)-i))
		}
		if s.Render.Color {
			part = strings.Replace(part, w.pays, render.Styled(render.Bold, w.pays, s.Render.Colors256), 1)
		}
		text += part
	}
	if text != "" {
		text += "\n"
	}
	return text
}

func moreWarnings(n int) string {
	if n == 1 {
		return "one more warning"
	}
	return fmt.Sprintf("%d more warnings", n)
}

// plannedRows shows amounts in the units of the profile in use, even if those of the plan differ.
func plannedRows(p *payout.Plan, m money.Registry) iter.Seq2[planned, error] {
	return func(yield func(planned, error) bool) {
		for _, r := range p.Rows {
			if !yield(planned{r, m.DecimalsOf(r.Amount.Kind, r.Amount.Code), m.Format(r.Amount)}, nil) {
				return
			}
		}
	}
}

// written is standard output. It marks its errors as errors of the output.
type written struct{ out io.Writer }

func (w written) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil {
		err = &render.WriteError{Err: err}
	}
	return n, err
}
