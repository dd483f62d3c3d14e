package payout

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"github.com/spf13/cobra"
)

func showCommand(a *cmdutil.App) *cobra.Command {
	var approvals, changes, verbose bool
	cmd := &cobra.Command{
		Use:               "show PLAN",
		Short:             "Show a plan to the person who approves it",
		ValidArgsFunction: cmdline.FileNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case approvals:
				return show(a, cmd, args[0], cmdutil.StructView[approverLine]("principal"), showApprovals)
			case changes:
				return show(a, cmd, args[0], changeView, showChanges)
			}
			return show(a, cmd, args[0], plannedView, func(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[planned]) error {
				return showPlan(s, p, verbose, out)
			})
		},
	}
	cmd.Flags().BoolVar(&approvals, "approvals", false, "show who has approved the plan, and who may")
	cmd.Flags().BoolVar(&changes, "changes", false, "show what is different from the last run")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show all warnings on a terminal")
	cmd.MarkFlagsMutuallyExclusive("approvals", "changes")
	cmdutil.Prints[planfile.File](a, cmdutil.Whole, cmd)
	cmdutil.Prints[plannedLine](a, cmdutil.Lines, cmd)
	cmdutil.Prints[approverLine](a, cmdutil.List, cmd)
	cmdutil.Prints[changeLine](a, cmdutil.List, cmd)
	return cmdutil.WithView(a, cmdutil.Apart, plannedView, cmd)
}

func show[T any](
	a *cmdutil.App, cmd *cobra.Command, path string, view func(money.Registry) render.View[T],
	print func(*cmdutil.Session, *payout.Plan, cmdutil.Output[T]) error,
) error {
	s, out, err := cmdutil.Begin(a, cmd, view)
	if err != nil {
		return err
	}
	p, err := openPlan(path)
	if err == nil {
		err = p.CheckLife(s.IO.Now())
	}
	if err != nil {
		return err
	}
	return print(s, p, out)
}

// planned is a row of a plan. Its amounts are shown in the units of the profile in use, even if those of the
// plan differ.
type planned struct {
	payout.PlanRow
	marked bool // a warning is about it
}

// plannedLine is a row of a plan as JSON. The file of the plan does not have the decimal, but the amount in pays.
type plannedLine struct {
	planfile.Row
	Decimal *string `json:"decimal" schema:"decimal"`
}

func plannedView(m money.Registry) render.View[planned] {
	order := func(r planned) payout.Order {
		return payout.Order{OrderID: r.ExternalOrderID, Callback: r.Callback, Kept: r.Kept,
			Content: payout.Content{Currency: r.Currency, Amount: r.Amount, Address: r.Address, Memo: r.Memo}}
	}
	view := render.Map(rowOrders(m), order).Select(slices.Concat([]string{"order_id", "currency", "amount", "address", "memo"},
		sheet.Names()[sheet.Note:], []string{"callback"})...).Default("order_id", "currency", "amount", "address", "memo", "note").Whole("note", "reference", "callback")
	view.JSON = render.Encoded(func(r planned) plannedLine {
		return plannedLine{planfile.Row{OrderID: r.ExternalOrderID, Currency: r.Currency, Amount: r.Amount,
			Pays: m.Format(r.Amount), Address: r.Address, Memo: r.Memo, Callback: r.Callback,
			KeptIfAny: sheet.KeptIfAny(r.Kept), Line: r.Line}, views.DecimalOf(m, r.Amount)}
	})
	view.Again = true // the file of a plan can be read more than once
	return view
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
	whole := o.Filter != nil
	switch {
	case onScreen(s):
		if err := look(s, p).show(s.IO.Out, s.Render, verbose); err != nil {
			return err
		}
		return s.NoteCommand([]string{"payout", "apply", p.Path, "--digest", p.Digest}, "to send it:")
	case o.Quiet || !whole && (o.Format == render.CSV || o.Format == render.JSONL):
		return out.List(looked{plan: p}.rows())
	case !whole && o.Format == render.Table:
		l := look(s, p)
		o.Columns, o.Sort, o.NoHeaders = nil, "", false
		out.View = l.rowsView(false)
		return l.print(s.IO.Out, o, l.facts(), func() error { return out.List(l.rows()) })
	}
	var text bytes.Buffer
	if _, err := p.WriteTo(&text); err != nil {
		return err
	}
	if !whole && o.Format == render.JSON && o.Width == 0 {
		return s.Write(text.String())
	}
	file := render.View[[]byte]{JSON: render.Received[planfile.File](func(t []byte) []byte { return t })}
	return file.One(s.IO.Out, o, text.Bytes())
}

// onScreen reports whether a plan is shown to a person who did not say how.
func onScreen(s *cmdutil.Session) bool { return s.TableOnTerminal() && s.Plain() }

// looked is a plan as a person looks at it, with what till finds in it.
type looked struct {
	*cmdutil.Session
	plan   *payout.Plan
	found  []payout.Detail
	marked []bool // the rows that a warning is about
}

// look finds what the journal in use shows too. An approver's machine need not have one.
func look(s *cmdutil.Session, p *payout.Plan) looked {
	const lacking = "so only the plan says what it has of these payments"
	if ledger, _ := ledgerOfPlan(s, p, lacking); ledger != nil {
		found, marked, err := ledger.Findings(s.Ctx, p, s.PayoutCurrencies())
		if err == nil {
			return looked{s, p, found, marked}
		}
		s.Note("the journal was not read, %s: %v", lacking, err)
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
func (l looked) show(to io.Writer, o render.Options, verbose bool) error {
	f, rows := l.facts(), o
	o.Columns, o.Sort = []string{"totals", "rows", "plan", "run", "account", "base_url", "made", "expires", "digest"}, ""
	if l.plan.Batch != "" {
		o.Columns = append(o.Columns, "batch")
	}
	for i := range f.Totals {
		f.Totals[i].Pays = render.Group(f.Totals[i].Pays)
	}
	l.Spinner.Stop()
	if _, err := io.WriteString(to, l.warningText(o, verbose)); err != nil {
		return &render.WriteError{Err: err}
	}
	return l.print(to, o, f, func() error { return l.rowsView(true).List(to, rows, l.rows()) })
}

// print prints the facts of a plan and, below an empty line, its rows if there are any.
func (l looked) print(to io.Writer, o render.Options, f planFacts, rows func() error) error {
	if err := planFactsView(l.Money).One(to, o, f); err != nil || len(l.plan.Rows) == 0 {
		return err
	}
	if _, err := io.WriteString(to, "\n"); err != nil {
		return &render.WriteError{Err: err}
	}
	return rows()
}

func (l looked) rows() iter.Seq2[planned, error] {
	return func(yield func(planned, error) bool) {
		for i, r := range l.plan.Rows {
			if !yield(planned{r, l.marked != nil && l.marked[i]}, nil) {
				return
			}
		}
	}
}

// rowsView shows what is kept and the callbacks too, if there are any, and can mark rows.
func (l looked) rowsView(mark bool) render.View[planned] {
	view := plannedView(l.Money)
	for i := range view.Columns {
		c := &view.Columns[i]
		place := slices.Index(sheet.Names()[sheet.Address:], c.Name)
		c.Extra = c.Extra && !slices.ContainsFunc(l.plan.Rows, func(r payout.PlanRow) bool {
			return *r.Texts(&r.Address, &r.Memo, &r.Callback)[place] != ""
		})
	}
	if mark && slices.Contains(l.marked, true) {
		view.Columns = slices.Insert(view.Columns, 0, render.Field("!", "a warning is about it", render.Own,
			func(r planned) string { return map[bool]string{true: "!"}[r.marked] }))
	}
	return view
}

// A warned row has what it pays and what is to be looked at. What is about no single row has no amount.
type warned struct{ pays, why string }

func (l looked) warned() []warned {
	all := make([]warned, len(l.found))
	for i, d := range l.found {
		at := slices.IndexFunc(l.plan.Rows, func(r payout.PlanRow) bool { return r.Line == d.Line })
		if d.Line == 0 || at < 0 {
			all[i].why = d.String()
			continue
		}
		r := l.plan.Rows[at]
		pays := l.Money.Format(r.Amount)
		all[i] = warned{render.Group(pays) + "  ", fmt.Sprintf("line %d, ", d.Line) +
			strings.TrimPrefix(d.Message, "order "+r.ExternalOrderID+" pays "+pays+", ")}
	}
	return all
}

// screenful is how many lines the warnings take at most, so that the totals are on the same screen.
const screenful = 16

// warningText returns the warnings of a plan, the worst first, and as many as a screen has room for.
func (l looked) warningText(o render.Options, verbose bool) (text string) {
	all := l.warned()
	lines := 0
	for i, w := range all {
		part := render.WrapWords(render.Safe(l.InText(w.pays+w.why)), o.Width, 2) + "\n"
		if lines += strings.Count(part, "\n"); lines > screenful && i > 0 && !verbose {
			n := len(all) - i
			return text + "and " + oneOrMore(n, "one more warning", fmt.Sprintf("%d more warnings", n)) + ": --verbose\n\n"
		}
		text += strings.Replace(part, w.pays, o.Styled(render.Bold, w.pays), 1)
	}
	if text != "" {
		text += "\n"
	}
	return text
}

type changeLine struct {
	Change    string      `json:"change" column:"own: new payee, new address, new memo or new amount"`
	Line      int         `json:"line,omitempty" column:"value: line of the file"`
	OrderID   string      `json:"order_id" schema:"order-id" column:"word: order id of the row"`
	Payee     string      `json:"payee" column:"own: the note and the reference, or the order id"`
	Amount    api.Amount  `json:"amount"`
	Decimal   *string     `json:"decimal" schema:"decimal"`
	Address   string      `json:"address" column:"own whole: address of the plan"`
	Memo      string      `json:"memo,omitempty" column:"own whole: memo of the plan"`
	WasAmount *api.Amount `json:"was_amount,omitempty"` // missing for a new payee
	WasNumber *string     `json:"was_decimal,omitempty" schema:"decimal"`
	Was       string      `json:"was_address,omitempty" column:"own whole: address that was paid then"`
	WasMemo   string      `json:"was_memo,omitempty" column:"own whole: memo that was paid then"`
	Times     int         `json:"times_paid,omitempty"`
	Run       string      `json:"run" schema:"run" column:"own: the run that paid it"` // of a new payee, the last one
}

func newChangeLine(m money.Registry, c payout.Change) changeLine {
	line := changeLine{Change: c.Kind, Line: c.Row.Line, OrderID: c.Row.ExternalOrderID, Payee: c.Who(), Amount: c.Row.Amount,
		Decimal: views.DecimalOf(m, c.Row.Amount), Address: c.Row.Address, Memo: c.Row.Memo, Was: c.Was.Address,
		WasMemo: c.Was.Memo, Times: c.Times, Run: c.Run}
	if c.Kind != payout.NewPayee {
		line.WasAmount, line.WasNumber = &c.Was.Amount, views.DecimalOf(m, c.Was.Amount)
	}
	return line
}

func showChanges(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[changeLine]) error {
	ledger, err := ledgerOfPlan(s, p, "and may require more or have other signatures")
	if err != nil {
		return err
	}
	if ledger == nil {
		s.Note("there is no journal here to compare the plan with")
		return out.Slice(nil)
	}
	any := false
	err = out.List(func(yield func(changeLine, error) bool) {
		for c, err := range ledger.Changes(s.Ctx, p) {
			any = true
			if !yield(newChangeLine(s.Money, c), err) {
				return
			}
		}
	})
	if err == nil && !any {
		return s.Note("nothing has changed, or no run before it has the batch or layout of the plan and one of its payees")
	}
	return err
}

func changeView(m money.Registry) render.View[changeLine] {
	type row = changeLine
	view := render.Struct[row]("order_id")
	view.Columns = append(view.Columns,
		render.AmountField("amount", "what the plan pays", func(c row) render.Cell { return amountCell(m, api.Big(c.Amount)) }),
		render.AmountField("was", "what the same payee was paid the last time", func(c row) render.Cell {
			if c.WasAmount == nil {
				return render.Own("")
			}
			return amountCell(m, api.Big(*c.WasAmount))
		}),
		render.Field("times", "how many orders were accepted for that address", render.Int,
			func(c row) int64 { return int64(c.Times) }))
	return view.Select("change", "line", "payee", "amount", "was", "address", "was_address", "memo", "was_memo", "times", "order_id", "run").
		Default("change", "line", "payee", "amount", "was", "address", "was_address", "memo", "was_memo")
}
