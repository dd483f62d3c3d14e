package reseller

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
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
	id   string
}

func (f figures[R]) run(s *cmdutil.Session, args []string) error {
	view := f.view(s.Money)
	view.ID = func(R) string { return "" } // the answers have the ids and the JSON
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
	resellers, err := namedResellers(s, client, args)
	if err != nil {
		return err
	}
	if out.Tabular() {
		slices.SortStableFunc(resellers, func(a, b namedReseller) int {
			return report.CompareLabels(a.label, a.id, b.label, b.id)
		})
	}
	answers := make([]*answer[R], len(resellers))
	failed, err := readEach(s.Ctx, resellers, sideBySide, func(i int, r namedReseller) error {
		a, err := f.read(s.Ctx, client, r)
		if a.id = r.id; err == nil {
			answers[i] = &a
		}
		return err
	})
	answers = slices.DeleteFunc(answers, func(a *answer[R]) bool { return a == nil })
	switch {
	case err != nil && (!one || len(failed) == 0): // the error of a single call says more
		return err
	case len(answers) == 0 && len(failed) > 0:
		return failed[0].err
	}
	if err := f.print(out, one, answers); err != nil || len(failed) == 0 {
		return err
	}
	names := make([]string, len(failed))
	for i, r := range failed {
		names[i] = r.name
	}
	return unreadError(names, len(resellers), failed[0].err)
}

func (f figures[R]) print(out cmdutil.Output[R], one bool, all []*answer[R]) error {
	s := out.Session
	var rows []R
	odd := false
	for _, a := range all {
		rows, odd = append(rows, a.rows...), odd || a.odd
	}
	if odd && out.Tabular() && s.Render.Format == render.Table { // CSV has a column for what the service sent
		noteAsJSON(s)
	}
	answers := cmdutil.Output[*answer[R]]{Session: s, View: render.View[*answer[R]]{
		ID: func(a *answer[R]) string { return a.id },
		JSON: render.Received[json.RawMessage](func(a *answer[R]) []byte {
			if one || a.line == nil {
				return a.raw
			}
			return render.Encode(a.line)
		}),
	}}
	switch {
	case !out.Tabular() && one:
		return answers.One(all[0])
	case !out.Tabular():
		return answers.Slice(all)
	}
	err := out.Slice(rows)
	if err == nil && f.more != nil && s.Plain() && !s.NoHeaders {
		err = f.more(rows)
	}
	return err
}

func unreadError(names []string, all int, err error) *exit.Error {
	cause := exit.Explain(err)
	if cause.Retryable() {
		cause.Hint = payout.NewHint("the others are complete; run it again for those that failed")
	}
	return &exit.Error{Code: exit.Partial, Err: err, Hint: cause.Hint,
		Msg: fmt.Sprintf("%d of %d resellers could not be read (%s): %v", len(names), all, strings.Join(names, ", "), err)}
}

type failedReseller struct {
	ID    string `json:"id"`
	Error string `json:"error"`

	name string // its label, or its id
	err  error
}

// readEach calls read for each reseller, at most width at a time, and returns those for which it failed when all
// calls have returned. After the context ends, it starts no more calls and returns the context's error.
func readEach(
	ctx context.Context, resellers []namedReseller, width int, read func(i int, r namedReseller) error,
) (failed []failedReseller, err error) {
	errs := make([]error, len(resellers))
	var group errgroup.Group
	group.SetLimit(width)
	for i, r := range resellers {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			errs[i] = read(i, r)
			return nil
		})
	}
	group.Wait()
	for i, r := range resellers {
		if err := errs[i]; err != nil {
			failed = append(failed, failedReseller{r.id, err.Error(), cmp.Or(r.label, r.id), err})
		}
	}
	return failed, ctx.Err()
}

// noteAsJSON makes JSON of the output, because the service sent something whose shape the interface does not
// show.
func noteAsJSON(s *cmdutil.Session) {
	s.Note("what the service sent cannot be shown as amounts or invoices, so this is its JSON")
	s.Render.Format, s.Render.NoHeaders, s.Render.Columns, s.Render.Sort = render.JSON, false, nil, ""
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

// amountRow is what a reseller has in one currency or, if the record has another shape, the whole of it.
type amountRow struct {
	namedReseller
	amount api.Amount
	record json.RawMessage
}

func amountRows(r namedReseller, amounts []api.Amount) (rows []amountRow) {
	for _, amount := range amounts {
		rows = append(rows, amountRow{namedReseller: r, amount: amount})
	}
	return rows
}

func amountView(m money.Registry, name, about string) render.View[amountRow] {
	return render.View[amountRow]{Columns: append(resellerColumns(amountRow.named),
		render.AmountField(name, about, func(r amountRow) render.Cell { return views.AmountCell(m, r.amount) }))}
}

func rebateCommand(a *cmdutil.App) *cobra.Command {
	var currency, by string
	cmd := &cobra.Command{
		Use:               "rebate [ID]",
		Short:             "Show what resellers have earned, per currency",
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			switch {
			case by == string(report.ByInvoice): // as a report has them
				p := reporting{Session: s, groups: []string{by}, currency: currency, concurrency: sideBySide}
				return p.run(args)
			case by != "":
				return exit.UsageError(fmt.Sprintf("--by: there are no rebates by %q", by), "write invoice, or see", "reseller", "report")
			}
			code, err := currencyCode(s, currency)
			if err != nil {
				return err
			}
			return figures[amountRow]{view: rebateView,
				read: func(ctx context.Context, client *api.Client, r namedReseller) (a answer[amountRow], err error) {
					if code == "" {
						list, err := client.Resellers.Rebate(ctx, r.id)
						return answer[amountRow]{raw: list.RawJSON(), line: labelledRebatesLine{r.id, r.label, list},
							rows: amountRows(r, list.Amounts)}, err
					}
					byCode, err := client.Resellers.RebateIn(ctx, r.id, code)
					for _, rebate := range byCode.Rebates {
						a.rows = append(a.rows, amountRows(r, []api.Amount{rebate.Amount})...)
					}
					a.raw, a.line = byCode.RawJSON(), labelledRebateLine{r.id, r.label, byCode}
					return a, err
				}}.run(s, args)
		}),
	}
	cmd.Flags().StringVar(&currency, "currency", "", "only this currency")
	cmd.Flags().StringVar(&by, "by", "", `"invoice" has a row for each invoice and currency`)
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	cmdutil.Prints[api.RebateList](a, cmdutil.One, cmd)
	cmdutil.Prints[api.RebateMap](a, cmdutil.One, cmd)
	cmdutil.Prints[reportJSON](a, cmdutil.One, cmd)
	cmdutil.Prints[figuresJSON](a, cmdutil.List, cmd)
	cmdutil.Prints[labelledRebatesLine](a, cmdutil.List, cmd)
	cmdutil.Prints[labelledRebateLine](a, cmdutil.List, cmd)
	return cmdutil.WithView(a, cmdutil.Apart, rebateView, cmd)
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

func rebateView(m money.Registry) render.View[amountRow] {
	return amountView(m, "rebate", "what the reseller has earned in one currency")
}

// balancesIn returns the amounts of a balance record. The interface does not show its shape. Those of its
// other amounts are taken: a list of amounts, codes with integers by kind or without a kind, and codes with amounts.
// What has a currency twice is another shape, and so are texts and integers of which none belongs to a known code.
func balancesIn(m money.Registry, record json.RawMessage) (amounts []api.Amount, ok bool) {
	var parts []json.RawMessage
	var codes map[string]int64
	var kinds map[api.Kind]map[string]int64
	var named map[string]api.Amount
	switch {
	case bytes.Contains(record, []byte("null")): // which would be read as 0, or as nothing
		return nil, false
	case json.Unmarshal(record, &parts) == nil:
		return balancesOf(m, parts)
	case json.Unmarshal(record, &codes) == nil:
		ok = len(codes) == 0
		for code, minor := range codes {
			entry, known := m.Lookup(code)
			ok = ok || known
			amounts = append(amounts, api.Amount{Kind: cmp.Or(entry.Kind, api.Crypto), Code: code, Minor: minor})
		}
		if !ok {
			return nil, false // as "held" is no code
		}
	case json.Unmarshal(record, &kinds) == nil:
		for kind, codes := range kinds {
			if kind != api.Crypto && kind != api.Fiat {
				return nil, false
			}
			for code, minor := range codes {
				amounts = append(amounts, api.Amount{Kind: kind, Code: code, Minor: minor})
			}
		}
	case json.Unmarshal(record, &named) == nil:
		amounts = slices.Collect(maps.Values(named))
		if maps.DeleteFunc(named, func(code string, a api.Amount) bool { return strings.EqualFold(code, a.Code) }); len(named) > 0 {
			return nil, false
		}
	default:
		return nil, false
	}
	slices.SortFunc(amounts, func(a, b api.Amount) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Code, b.Code)) })
	return amounts, true
}

// balancesOf returns the amounts of all parts of a list, in its order.
func balancesOf(m money.Registry, parts []json.RawMessage) (amounts []api.Amount, ok bool) {
	for _, part := range parts {
		some, ok := balancesIn(m, part)
		same := func(a api.Amount) bool {
			return slices.ContainsFunc(amounts, func(b api.Amount) bool { return a.Unit() == b.Unit() })
		}
		if !ok || slices.ContainsFunc(some, same) {
			return nil, false
		}
		amounts = append(amounts, some...)
	}
	return amounts, true
}

func balanceCommand(a *cmdutil.App) *cobra.Command {
	var currency, fiat string
	cmd := &cobra.Command{
		Use:               "balance [ID]",
		Short:             "Show the balances of resellers",
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			code, err := currencyCode(s, currency)
			if err != nil {
				return err
			}
			if code == "" && s.Cmd.Flags().Changed("include-fiat") {
				return exit.UsageError("--include-fiat goes with --currency", "add --currency CODE, or leave it out")
			}
			return figures[amountRow]{view: balanceView,
				read: func(ctx context.Context, client *api.Client, r namedReseller) (a answer[amountRow], err error) {
					if code == "" {
						a.raw, err = client.Resellers.Balance(ctx, r.id)
					} else {
						a.raw, err = client.Resellers.BalanceIn(ctx, r.id, code, fiat)
					}
					a.line = labelledBalanceLine{r.id, r.label, a.raw}
					amounts, ok := balancesIn(s.Money, a.raw)
					if a.rows, a.odd = amountRows(r, amounts), !ok; a.odd {
						a.rows = []amountRow{{namedReseller: r, record: a.raw}}
					}
					return a, err
				}}.run(s, args)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&currency, "currency", "", "only this currency")
	f.StringVar(&fiat, "include-fiat", "", "value of include_fiat, true when none is given; goes with --currency")
	f.Lookup("include-fiat").NoOptDefVal = "true"
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	cmdutil.Prints[json.RawMessage](a, cmdutil.One, cmd)
	cmdutil.Prints[labelledBalanceLine](a, cmdutil.List, cmd)
	return cmdutil.WithView(a, cmdutil.Apart, balanceView, cmd)
}

func balanceView(m money.Registry) render.View[amountRow] {
	v := amountView(m, "balance", "balance in one currency")
	v.Columns = append(v.Columns, render.Column[amountRow]{Name: "answer", Extra: true,
		About: "what the service sent, in JSON, if it has another shape",
		Cell:  func(r amountRow) render.Cell { return render.JSONText(r.record) }})
	return v
}
