package payout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/big"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func showCommand(a *cmdutil.App) *cobra.Command {
	var approvals, changes, verbose bool
	cmd := &cobra.Command{
		Use:   "show PLAN",
		Short: "Show a plan to the person who approves it",
		Long: `Show a plan to the person who approves it: its account, totals, warnings and
rows, and whether it has expired. A plan with a changed byte does not match its
digest and is refused, and so is one that expires more than 30 days after it
was made. till finds the warnings again that the rows and the journal in use
prove. The others are what the plan says, and are marked so.

Somebody who edits the plan can compute a new digest. Only a digest that
reached you through a different channel than the plan protects from that: read
it to each other, and give it to till payout apply PLAN --digest sha256:...
The digest is the SHA-256 of the file with an empty digest in it:

  sed 's/^  "digest": .*/  "digest": ""/' staff.plan | sha256sum

With -o json the output is the plan file. With csv and jsonl it is the rows;
the CSV can be planned again.

--changes shows new payees, other addresses and memos, and amounts that moved
by more than half, since the last runs of the same batch or layout paid the
same payee. --approvals shows who has signed: see till help approvals.`,
		Example: `  till payout show staff.plan
  till payout show staff.plan -o csv >again.csv
  till payout show staff.plan --changes`,
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
	a.Prints(cmd, cmdutil.PrintedApart[planfile.File, plannedLine]())
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
	if err == nil {
		err = p.CheckLife(s.IO.Now())
	}
	if err != nil {
		return err
	}
	return show(p)
}

// planned is a row of a plan, with the decimals of the profile in use.
type planned struct {
	payout.PlanRow
	marked   bool // a warning is about it
	decimals int
	pays     string
}

// plannedLine is a row of a plan as JSON. The file of the plan does not have the decimal, but the amount in pays.
type plannedLine struct {
	planfile.Row
	Decimal *string `json:"decimal" schema:"decimal"`
}

func plannedView(m money.Registry) render.View[planned] {
	type row = planned
	return render.View[row]{
		Again: true, // the file of a plan can be read more than once
		ID:    func(r row) string { return r.ExternalOrderID },
		JSON: render.Encoded(func(r row) plannedLine {
			return plannedLine{planfile.Row{OrderID: r.ExternalOrderID, Currency: r.Currency, Amount: r.Amount, Pays: r.pays, Address: r.Address,
				Memo: r.Memo, Callback: r.Callback, Note: r.Note, Reference: r.Reference, Line: r.Line},
				views.Decimal(big.NewInt(r.Amount.Minor), r.decimals)}
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
				Extra: true, Whole: true, Cell: func(r row) render.Cell { return render.Own(r.Reference) }},
			{Name: "callback", About: "URL to which the service sends its response",
				Extra: true, Whole: true, Cell: func(r row) render.Cell { return render.Own(r.Callback) }},
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
		if err := look(s, p).show(verbose); err != nil {
			return err
		}
		return s.NoteCommand([]string{"payout", "apply", p.Path, "--digest", p.Digest}, "to send it:")
	}
	whole := o.Filter != nil || o.Template != ""
	switch {
	case o.Quiet || !whole && (o.Format == render.CSV || o.Format == render.JSONL):
		return out.List(plannedRows(p, s.Money, nil))
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
	l := look(s, p)
	if err := l.showFacts(s.IO.Out, summary, l.facts()); err != nil || len(p.Rows) == 0 {
		return err
	}
	out.View = l.rowsView(false)
	return out.List(l.rows())
}

// onScreen reports whether a plan is shown to a person who did not say how.
func onScreen(s *cmdutil.Session) bool {
	o := s.Render
	return o.Screen && o.Filter == nil && o.Template == "" && o.Format == render.Table && len(o.Columns) == 0 && !o.Quiet
}

// looked is a plan as a person looks at it, with what till finds in it.
type looked struct {
	*cmdutil.Session
	plan   *payout.Plan
	found  []payout.Detail
	marked []bool // the rows that a warning is about
}

// look finds what the journal in use shows too. An approver's machine need not have one.
func look(s *cmdutil.Session, p *payout.Plan) looked {
	j, err := s.ExistingJournal()
	if err == nil {
		var found []payout.Detail
		var marked []bool
		if found, marked, err = j.Ledger(p.Account).Findings(s.Ctx, p, s.PayoutCurrencies()); err == nil {
			return looked{s, p, found, marked}
		}
	}
	if !errors.Is(err, fs.ErrNotExist) || !s.Origin("journal").IsDefault() {
		s.Note("the journal was not read, so only the plan says what it has of these payments: %v", err)
	}
	found, marked := p.Findings(s.PayoutCurrencies())
	return looked{s, p, found, marked}
}

func (l looked) facts() planFacts {
	texts := make([]string, len(l.found))
	for i, d := range l.found {
		texts[i] = d.String()
	}
	return factsOf(l.Session, l.plan, len(l.plan.Rows), texts)
}

// show shows a plan to a person: what to look at, the worst first, then the totals, and then the rows.
func (l looked) show(verbose bool) error {
	o, f := l.Render, l.facts()
	o.Columns, o.Sort = []string{"totals", "rows", "plan", "run", "account", "base_url", "made", "expires", "digest"}, ""
	if l.plan.Batch != "" {
		o.Columns = append(o.Columns, "batch")
	}
	for i := range f.totals {
		f.totals[i].Status = render.Group(f.totals[i].Status)
	}
	if err := l.Write(l.warningText(verbose)); err != nil {
		return err
	}
	if err := l.showFacts(l.IO.Out, o, f); err != nil || len(l.plan.Rows) == 0 {
		return err
	}
	return l.rowsView(true).List(l.IO.Out, l.Render, l.rows())
}

// showFacts shows the facts of a plan, with an empty line between them and the rows.
func (l looked) showFacts(to io.Writer, o render.Options, f planFacts) error {
	if err := planFactsView(l.Money).One(to, o, f); err != nil || len(l.plan.Rows) == 0 {
		return err
	}
	if _, err := io.WriteString(to, "\n"); err != nil {
		return &render.WriteError{Err: err}
	}
	return nil
}

func (l looked) rows() iter.Seq2[planned, error] { return plannedRows(l.plan, l.Money, l.marked) }

// rowsView shows the references and callbacks too, if there are any, and can mark rows.
func (l looked) rowsView(mark bool) render.View[planned] {
	view := plannedView(l.Money)
	for i := range view.Columns {
		c := &view.Columns[i]
		c.Extra = c.Extra && !slices.ContainsFunc(l.plan.Rows, func(r payout.PlanRow) bool {
			return c.Name == "reference" && r.Reference != "" || c.Name == "callback" && r.Callback != ""
		})
	}
	if mark && slices.Contains(l.marked, true) {
		view.Columns = slices.Insert(view.Columns, 0, render.Column[planned]{Name: "!", About: "a warning is about it",
			Cell: func(r planned) render.Cell { return render.Own(map[bool]string{true: "!"}[r.marked]) }})
	}
	return view
}

// A warned row has what it pays and what is to be looked at. What is about no single row has no amount.
type warned struct{ pays, why string }

// warned returns the warnings of a plan as a person reads them.
func (l looked) warned() []warned {
	rows := map[int]payout.PlanRow{}
	for _, r := range l.plan.Rows {
		rows[r.Line] = r
	}
	all := make([]warned, len(l.found))
	for i, d := range l.found {
		r, found := rows[d.Line]
		if !found || d.Line == 0 {
			all[i].why = d.String()
			continue
		}
		pays := l.Money.Format(r.Amount)
		all[i] = warned{render.Group(pays) + "  ", fmt.Sprintf("line %d, ", d.Line) +
			strings.TrimPrefix(d.Message, "order "+r.ExternalOrderID+" pays "+pays+", ")}
	}
	return all
}

// screenful is how many lines the warnings take at most, so that the totals are on the same screen.
const screenful = 16

// warningText returns the warnings of a plan, the worst first, and as many as a screen has room for.
func (l looked) warningText(verbose bool) (text string) {
	all := l.warned()
	lines := 0
	for i, w := range all {
		part := render.WrapWords(render.Safe(w.pays+w.why), l.Render.Width, 2) + "\n"
		if lines += strings.Count(part, "\n"); lines > screenful && i > 0 && !verbose {
			return text + fmt.Sprintf("and %s: --verbose\n\n", moreWarnings(len(all)-i))
		}
		if l.Render.Color {
			part = strings.Replace(part, w.pays, render.Styled(render.Bold, w.pays, l.Render.Colors256), 1)
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
func plannedRows(p *payout.Plan, m money.Registry, marked []bool) iter.Seq2[planned, error] {
	return func(yield func(planned, error) bool) {
		for i, r := range p.Rows {
			if !yield(planned{r, marked != nil && marked[i], m.DecimalsOf(r.Amount.Kind, r.Amount.Code), m.Format(r.Amount)}, nil) {
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
