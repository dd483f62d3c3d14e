package reseller

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// balancesIn returns the amounts of a balance record. The interface does not show its shape. Those of its other
// amounts are taken: a list of amounts, codes with integers by kind or without a kind, and codes with amounts.
func balancesIn(m money.Registry, record json.RawMessage) (amounts []api.Amount, ok bool) {
	var parts []json.RawMessage
	var codes map[string]int64
	var kinds map[api.Kind]map[string]int64
	var named map[string]api.Amount
	switch {
	case json.Unmarshal(record, &parts) == nil:
		for _, part := range parts {
			some, ok := balancesIn(m, part)
			if !ok {
				return nil, false
			}
			amounts = append(amounts, some...)
		}
		return amounts, true // in the order of the list
	case json.Unmarshal(record, &codes) == nil:
		for code, minor := range codes {
			known, _ := m.Lookup(code)
			amounts = append(amounts, api.Amount{Kind: cmp.Or(known.Kind, api.Crypto), Code: code, Minor: minor})
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
	default:
		return nil, false
	}
	slices.SortFunc(amounts, func(a, b api.Amount) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Code, b.Code)) })
	return amounts, true
}

// readBalance reads the balance of a reseller, in all currencies or in one.
func readBalance(
	ctx context.Context, client *api.Client, m money.Registry, r namedReseller, code, fiat string,
) (a answer[amountRow], err error) {
	if code == "" {
		a.raw, err = client.Resellers.Balance(ctx, r.id)
	} else {
		a.raw, err = client.Resellers.BalanceIn(ctx, r.id, code, fiat)
	}
	a.line = labelledBalanceLine{r.id, r.label, a.raw}
	amounts, ok := balancesIn(m, a.raw)
	if a.rows, a.odd = amountRows(r, amounts), !ok; a.odd {
		a.rows = []amountRow{{namedReseller: r, record: a.raw}}
	}
	return a, err
}

func balanceCommand(a *cmdutil.App) *cobra.Command {
	var currency, fiat string
	cmd := &cobra.Command{
		Use:   "balance [ID]",
		Short: "Show the balances of resellers",
		Long: `Show the balances of resellers, a row for each currency. The interface does not
show the shape of a balance. If the service sends another shape than that of
its other amounts, its JSON is printed as it came. The interface does not say
what include_fiat means either, so it is sent as given.`,
		Example: `  till reseller balance
  till reseller balance "North shop" --currency Btc --include-fiat`,
		Args:              cmdutil.OptionalArg("ID"),
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			code, err := currencyCode(s, currency)
			if err != nil {
				return err
			}
			if code == "" && s.Cmd.Flags().Changed("include-fiat") {
				return cmdutil.UsageError("--include-fiat goes with --currency", "add --currency CODE, or leave it out")
			}
			return figures[amountRow]{view: balanceView,
				read: func(ctx context.Context, client *api.Client, r namedReseller) (answer[amountRow], error) {
					return readBalance(ctx, client, s.Money, r, code, fiat)
				}}.run(s, args)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&currency, "currency", "", "only this currency")
	f.StringVar(&fiat, "include-fiat", "", "value of include_fiat, true when none is given; goes with --currency")
	f.Lookup("include-fiat").NoOptDefVal = "true"
	cmdutil.Offer(cmd, "currency", a.CompleteCurrencies)
	a.Prints(cmd, cmdutil.PrintedAs[json.RawMessage](cmdutil.One))
	a.Prints(cmd, cmdutil.PrintedAs[labelledBalanceLine](cmdutil.List))
	return cmdutil.WithView(a, cmdutil.Apart, balanceView, cmd)
}

func balanceView(m money.Registry) render.View[amountRow] {
	v := amountView(m, "balance", "balance in one currency")
	v.Columns = append(v.Columns, render.Column[amountRow]{Name: "answer", Extra: true,
		About: "what the service sent, in JSON, if it has another shape",
		Cell:  func(r amountRow) render.Cell { return render.JSONText(r.record) }})
	return v
}
