package reseller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// sideBySide is how many resellers are read at the same time.
const sideBySide = 8

// figures is a command that reads the figures of one reseller, or of all resellers if none is named. Its JSON
// is what the service sent. Its table has a row for each reseller and currency.
type figures[R any] struct {
	read func(ctx context.Context, client *api.Client, r namedReseller) (answer[R], error)
	view func(money.Registry) render.View[R]
	more func(rows []R) error // prints a second table, which is not for scripts; nil: none
}

// answer is what the service sent about one reseller.
type answer[R any] struct {
	raw  json.RawMessage
	line any // the JSON of one of all resellers; nil: raw, which has the id
	rows []R
	odd  bool // the rows do not show it
}

func (f figures[R]) run(s *cmdutil.Session, args []string) error {
	view := f.view(s.Money)
	view.ID = func(R) string { return "" } // documents have the ids and the JSON
	view.JSON = render.Received[json.RawMessage](func(R) []byte { return nil })
	one := len(args) == 1
	if one && s.Render.Format == render.Table && len(s.Columns) == 0 {
		view = view.Without("id", "label") // the user has just named the reseller
	}
	out, err := cmdutil.NewOutput(s, view)
	if err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	resellers, err := namedResellers(s, client, args, func(all []api.Reseller) {
		if out.Tabular() {
			sortByLabel(all)
		}
	})
	if err != nil {
		return err
	}
	answers, errs := make([]answer[R], len(resellers)), make([]error, len(resellers))
	err = inParallel(s.Ctx, len(resellers), sideBySide, func(i int) {
		answers[i], errs[i] = f.read(s.Ctx, client, resellers[i])
	})
	if err != nil && (!one || errs[0] == nil) { // the error of a single call says more
		return err
	}
	return f.print(out, one, resellers, answers, errs)
}

// print prints the answers of the resellers that could be read.
func (f figures[R]) print(out cmdutil.Output[R], one bool, resellers []namedReseller, answers []answer[R], errs []error) error {
	s := out.Session
	var rows []R
	var docs []document
	var failed []string
	var first error
	odd := false
	for i, r := range resellers {
		if errs[i] != nil {
			first = cmp.Or(first, errs[i])
			failed = append(failed, r.id)
			continue
		}
		doc := document{r.id, answers[i].raw}
		if !one && answers[i].line != nil {
			doc.text = render.Encode(answers[i].line)
		}
		rows, docs, odd = append(rows, answers[i].rows...), append(docs, doc), odd || answers[i].odd
	}
	if first != nil && len(docs) == 0 {
		return first
	}
	if odd && out.Tabular() && s.Render.Format == render.Table { // CSV has a column for what the service sent
		noteAsJSON(s)
	}
	documents := cmdutil.Output[document]{Session: s, View: documentView()}
	var err error
	switch {
	case out.Tabular():
		if err = out.Slice(rows); err == nil && f.more != nil && s.Plain() && !s.NoHeaders {
			err = f.more(rows)
		}
	case one:
		err = documents.One(docs[0])
	default:
		err = documents.Slice(docs)
	}
	if err == nil && first != nil {
		err = unreadError(failed, len(resellers), first)
	}
	return err
}

// unreadError returns the error of a command that could not read some of the resellers.
func unreadError(names []string, all int, err error) *cmdutil.Error {
	return &cmdutil.Error{Code: cmdutil.ExitPartial, Err: err,
		Msg:  fmt.Sprintf("%d of %d resellers could not be read (%s): %v", len(names), all, strings.Join(names, ", "), err),
		Hint: payout.NewHint("the others are complete; run it again for those that failed")}
}

// inParallel calls do with every number below count, at most width at a time, and returns when all calls have
// returned. After the context ends, it starts no more calls and returns the context's error.
func inParallel(ctx context.Context, count, width int, do func(i int)) error {
	var group errgroup.Group
	group.SetLimit(width)
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	group.Wait()
	return ctx.Err()
}

// noteAsJSON makes JSON of the output, because the service sent something whose shape the interface does not
// show.
func noteAsJSON(s *cmdutil.Session) {
	s.Note("the service sends another shape than that of amounts or invoices, so this is its JSON")
	s.Render.Format, s.Render.NoHeaders, s.Render.Columns, s.Render.Sort = render.JSON, false, nil, ""
}

// document is the JSON of one reseller.
type document struct {
	id   string
	text json.RawMessage
}

func documentView() render.View[document] {
	return render.View[document]{
		ID:   func(d document) string { return d.id },
		JSON: render.Received[json.RawMessage](func(d document) []byte { return d.text }),
	}
}

// The JSON of one of all resellers.
type (
	labelledRebatesLine struct {
		ID      string         `json:"id"`
		Label   string         `json:"label"`
		Rebates api.RebateList `json:"rebates"`
	}
	labelledRebateLine struct {
		ID      string        `json:"id"`
		Label   string        `json:"label"`
		Rebates api.RebateMap `json:"rebates"`
	}
	labelledBalanceLine struct {
		ID      string          `json:"id"`
		Label   string          `json:"label"`
		Balance json.RawMessage `json:"balance"`
	}
)

// rebateRow is what a reseller has earned in one currency.
type rebateRow struct {
	namedReseller
	amount api.Amount
}

func rebateCommand(a *cmdutil.App) *cobra.Command {
	var currency, by string
	cmd := &cobra.Command{
		Use:   "rebate [ID]",
		Short: "Show what resellers have earned, per currency",
		Long: `Show what resellers have earned, a row for each reseller and currency, as the
service counts it over all time. --by invoice has a row for each invoice: see
till reseller report, which also takes a period.`,
		Example: `  till reseller rebate
  till reseller rebate "North shop" --currency Usd
  till reseller rebate --by invoice -o csv >rebates.csv`,
		Args:              cmdutil.OptionalArg("ID"),
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			if by != "" {
				return rebatesBy(s, by, currency, args)
			}
			code, err := currencyCode(s, currency)
			if err != nil {
				return err
			}
			return figures[rebateRow]{view: rebateView,
				read: func(ctx context.Context, client *api.Client, r namedReseller) (answer[rebateRow], error) {
					return readRebates(ctx, client, r, code)
				}}.run(s, args)
		}),
	}
	cmd.Flags().StringVar(&currency, "currency", "", "only this currency")
	cmd.Flags().StringVar(&by, "by", "", `"invoice" has a row for each invoice`)
	cmdutil.Offer(cmd, "currency", a.CompleteCurrencies)
	a.Prints(cmd, cmdutil.PrintedAs[api.RebateList](cmdutil.One))
	a.Prints(cmd, cmdutil.PrintedAs[api.RebateMap](cmdutil.One))
	a.Prints(cmd, cmdutil.PrintedAs[labelledRebatesLine](cmdutil.List))
	a.Prints(cmd, cmdutil.PrintedAs[labelledRebateLine](cmdutil.List))
	return cmdutil.WithView(a, cmdutil.Apart, rebateView, cmd)
}

// readRebates reads what a reseller has earned, in all currencies or in one.
func readRebates(ctx context.Context, client *api.Client, r namedReseller, code string) (a answer[rebateRow], err error) {
	if code == "" {
		list, err := client.Resellers.Rebate(ctx, r.id)
		for _, amount := range list.Amounts {
			a.rows = append(a.rows, rebateRow{r, amount})
		}
		a.raw, a.line = list.RawJSON(), labelledRebatesLine{r.id, r.label, list}
		return a, err
	}
	byCode, err := client.Resellers.RebateIn(ctx, r.id, code)
	for _, rebate := range byCode.Rebates {
		a.rows = append(a.rows, rebateRow{r, rebate.Amount})
	}
	a.raw, a.line = byCode.RawJSON(), labelledRebateLine{r.id, r.label, byCode}
	return a, err
}

// rebatesBy prints the rebates of single invoices, as a report does.
func rebatesBy(s *cmdutil.Session, by, currency string, args []string) error {
	if by != string(report.ByInvoice) {
		return cmdutil.UsageError(fmt.Sprintf("--by: there are no rebates by %q", by), "write invoice, or see", "reseller", "report")
	}
	p := reporting{Session: s, groups: []string{by}, currency: currency, concurrency: sideBySide}
	return p.run(args)
}

// currencyCode returns the code for a query, spelled as in a currency, or "" for all currencies.
func currencyCode(s *cmdutil.Session, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	c, err := s.Money.ParseCurrency(text)
	if err != nil {
		return "", fmt.Errorf("--currency: %w", err)
	}
	return c.Code, nil
}

func rebateView(m money.Registry) render.View[rebateRow] {
	type row = rebateRow
	return render.View[row]{Columns: append(resellerColumns(row.named), render.Column[row]{
		Name: "rebate", About: "what the reseller has earned in one currency",
		Amount: true, Cell: func(r row) render.Cell { return views.AmountCell(m, r.amount) },
	})}
}
