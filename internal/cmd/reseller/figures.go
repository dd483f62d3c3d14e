package reseller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
type figures[T, R any] struct {
	read func(ctx context.Context, client *api.Client, id string) (T, error)
	raw  func(T) json.RawMessage
	line func(id, label string, value T) any // the JSON of one of all resellers; nil: raw, which has the id
	rows func(id, label string, value T) []R
	view func(money.Registry) render.View[R]
	more func(values []T) render.View[T] // a second table, of invoices by status; nil: none
	fits func(T) bool                    // whether the rows show the answer; nil: always. If not, a table is JSON
}

func (f figures[T, R]) run(s *cmdutil.Session, args []string) error {
	view := f.view(s.Money)
	view.ID = func(R) string { return "" } // documents have the ids and the JSON
	view.JSON = render.Received[json.RawMessage](func(R) []byte { return nil })
	if len(args) == 1 && s.Render.Format == render.Table && len(s.Columns) == 0 {
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
	if len(args) == 1 {
		id, err := findReseller(s, client, args[0])
		if err != nil {
			return err
		}
		value, err := f.read(s.Ctx, client, id)
		if err != nil {
			return err
		}
		if out.Tabular() && f.shows(s, []T{value}) {
			label := ""
			if args[0] != id {
				label = args[0]
			}
			return f.tables(out, f.rows(id, label, value), []T{value})
		}
		return cmdutil.Output[document]{Session: s, View: documentView()}.One(document{id, f.raw(value)})
	}
	return f.all(s, client, out)
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

func (f figures[T, R]) all(s *cmdutil.Session, client *api.Client, out cmdutil.Output[R]) error {
	resellers, err := client.Resellers.List(s.Ctx)
	if err != nil {
		return err
	}
	if out.Tabular() {
		sortByLabel(resellers)
	}
	values, errs := make([]T, len(resellers)), make([]error, len(resellers))
	if err := inParallel(s.Ctx, len(resellers), sideBySide, func(i int) {
		values[i], errs[i] = f.read(s.Ctx, client, resellers[i].ID)
	}); err != nil {
		return err
	}
	var rows []R
	var read []T
	var docs []document
	var failed []string
	var first error
	for i, r := range resellers {
		if errs[i] != nil {
			first = cmp.Or(first, errs[i])
			failed = append(failed, r.ID)
			continue
		}
		rows = append(rows, f.rows(r.ID, r.InviteInfo.Label, values[i])...)
		read = append(read, values[i])
		docs = append(docs, f.document(r, values[i]))
	}
	if first != nil && len(docs) == 0 {
		return first
	}
	if out.Tabular() && f.shows(s, read) {
		err = f.tables(out, rows, read)
	} else {
		err = cmdutil.Output[document]{Session: s, View: documentView()}.Slice(docs)
	}
	if err == nil && first != nil {
		err = &cmdutil.Error{Code: cmdutil.ExitPartial, Err: first,
			Msg: fmt.Sprintf("%d of %d resellers could not be read (%s): %v", len(failed), len(resellers),
				strings.Join(failed, ", "), first),
			Hint: payout.NewHint("the others are complete; run it again for those")}
	}
	return err
}

// shows reports whether a table can show the answers. If not, it says so, and the output becomes JSON. CSV has
// a column for what the service sent.
func (f figures[T, R]) shows(s *cmdutil.Session, values []T) bool {
	other := func(value T) bool { return !f.fits(value) }
	if f.fits == nil || s.Render.Format != render.Table || !slices.ContainsFunc(values, other) {
		return true
	}
	noteAsJSON(s)
	return false
}

// noteAsJSON makes JSON of the output, because the service sent something whose shape the interface does not
// show.
func noteAsJSON(s *cmdutil.Session) {
	s.Note("the service sends another shape than that of amounts or invoices, so this is its JSON")
	s.Render.Format, s.Render.NoHeaders, s.Render.Columns, s.Render.Sort = render.JSON, false, nil, ""
}

// tables prints the rows and, unless the output is for a script, the second table.
func (f figures[T, R]) tables(out cmdutil.Output[R], rows []R, values []T) error {
	s := out.Session
	if err := out.Slice(rows); err != nil || f.more == nil || !s.Plain() || s.NoHeaders {
		return err
	}
	view := f.more(values)
	if len(view.Columns) == 0 {
		return nil
	}
	if err := s.Write("\nInvoices by status:\n"); err != nil {
		return err
	}
	o := s.Render
	o.Sort = ""
	return view.List(s.IO.Out, o, cmdutil.Limited(values, 0))
}

// document is the JSON of one reseller.
type document struct {
	id   string
	text json.RawMessage
}

func (f figures[T, R]) document(r api.Reseller, value T) document {
	text := f.raw(value)
	if f.line != nil {
		text = render.Encode(f.line(r.ID, r.InviteInfo.Label, value))
	}
	return document{r.ID, text}
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
	id, label string
	amount    api.Amount
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
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			if by != "" {
				return rebatesBy(s, by, currency, args)
			}
			code, err := currencyCode(s, currency)
			if err != nil {
				return err
			}
			if code == "" {
				return figures[api.RebateList, rebateRow]{
					read: func(ctx context.Context, client *api.Client, id string) (api.RebateList, error) {
						return client.Resellers.Rebate(ctx, id)
					},
					raw:  api.RebateList.RawJSON,
					line: func(id, label string, r api.RebateList) any { return labelledRebatesLine{id, label, r} },
					rows: func(id, label string, r api.RebateList) (rows []rebateRow) {
						for _, amount := range r.Amounts {
							rows = append(rows, rebateRow{id, label, amount})
						}
						return rows
					},
					view: rebateView,
				}.run(s, args)
			}
			return figures[api.RebateMap, rebateRow]{
				read: func(ctx context.Context, client *api.Client, id string) (api.RebateMap, error) {
					return client.Resellers.RebateIn(ctx, id, code)
				},
				raw:  api.RebateMap.RawJSON,
				line: func(id, label string, r api.RebateMap) any { return labelledRebateLine{id, label, r} },
				rows: func(id, label string, r api.RebateMap) (rows []rebateRow) {
					for _, rebate := range r.Rebates {
						rows = append(rows, rebateRow{id, label, rebate.Amount})
					}
					return rows
				},
				view: rebateView,
			}.run(s, args)
		},
	}
	cmd.Flags().StringVar(&currency, "currency", "", "only this currency")
	cmd.Flags().StringVar(&by, "by", "", `"invoice" has a row for each invoice`)
	a.CompleteCurrencies(cmd, "currency")
	a.Prints(cmd, cmdutil.PrintedAs[api.RebateList](cmdutil.One))
	a.Prints(cmd, cmdutil.PrintedAs[api.RebateMap](cmdutil.One))
	a.Prints(cmd, cmdutil.PrintedAs[labelledRebatesLine](cmdutil.List))
	a.Prints(cmd, cmdutil.PrintedAs[labelledRebateLine](cmdutil.List))
	return cmdutil.WithView(a, cmdutil.Apart, rebateView, cmd)
}

// rebatesBy prints the rebates of single invoices, as a report does.
func rebatesBy(s *cmdutil.Session, by, currency string, args []string) error {
	if by != string(report.ByInvoice) {
		return cmdutil.UsageError(fmt.Sprintf("--by: there are no rebates by %q", by), "write invoice, or see", "reseller", "report")
	}
	p, err := planReport(s, reportFlags{by: []string{by}, currency: currency, concurrency: sideBySide})
	if err != nil {
		return err
	}
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
	return render.View[row]{Columns: append(resellerColumns(func(r row) (id, label string) { return r.id, r.label }), []render.Column[row]{
		{Name: "rebate", About: "what the reseller has earned in one currency",
			Amount: true, Cell: func(r row) render.Cell { return views.AmountCell(m, r.amount) }},
	}...)}
}
