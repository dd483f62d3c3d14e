package reseller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func statsCommand(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.WithView(a, cmdutil.Apart, statsView, &cobra.Command{
		Use:               "stats [ID]",
		Short:             "Show volume, rebates and invoices by status over all time",
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			return figures[statsRow]{view: statsView,
				read: func(ctx context.Context, client *api.Client, r namedReseller) (answer[statsRow], error) {
					stats, err := client.Resellers.Stats(ctx, r.id)
					return answer[statsRow]{raw: stats.RawJSON(), rows: statsRows(stats)}, err
				},
				more: func(rows []statsRow) error { return printCounts(s, rows, len(args) == 0) },
			}.run(s, args)
		}),
	})
	return cmdutil.Prints[api.ResellerStats](a, cmdutil.OneOrList, cmd)
}

// statsRow has a reseller's figures in one currency. A reseller without volume has a row without a currency.
type statsRow struct {
	namedReseller
	currency, code string
	totals         [2]*api.CodeAmount // volume and rebates
	stats          *api.ResellerStats // which the row is a part of
}

func statsRows(stats api.ResellerStats) (rows []statsRow) {
	empty := statsRow{namedReseller: namedReseller{stats.ID, stats.Label}, stats: &stats}
	for kind, totals := range [2][]api.CodeTotal{stats.TotalVolume, stats.TotalRebates} {
		for _, total := range totals {
			for _, amount := range total.Amounts {
				same := func(r statsRow) bool { return r.currency == total.Code && r.code == amount.Code }
				i := slices.IndexFunc(rows, same)
				if i < 0 {
					i, rows = len(rows), append(rows, empty)
					rows[i].currency, rows[i].code = total.Code, amount.Code
				}
				rows[i].totals[kind] = &amount
			}
		}
	}
	if len(rows) == 0 {
		return []statsRow{empty}
	}
	return rows
}

func countLine(counts []api.StatusCount) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%s %d", c.Status, c.Count)
	}
	return strings.Join(parts, ", ")
}

func statsView(m money.Registry) render.View[statsRow] {
	type row = statsRow
	amount := func(a *api.CodeAmount) render.Cell {
		if a == nil {
			return render.Cell{}
		}
		return render.Amount(a.Minor, a.Code, m.Decimals(a.Code))
	}
	return render.View[row]{Columns: append(resellerColumns(row.named),
		render.Field("currency", "currency of the totals", render.Text, func(r row) string { return r.currency }),
		render.AmountField("volume", "total volume over all time", func(r row) render.Cell { return amount(r.totals[0]) }),
		render.AmountField("rebates", "total rebates over all time", func(r row) render.Cell { return amount(r.totals[1]) }),
		render.Field("invoices", "number of invoices in each status", render.Text,
			func(r row) string { return countLine(r.stats.InvoiceStats) }),
	)}.Default("label", "volume", "rebates")
}

// printCounts prints how many invoices of each reseller have each status. There is a column for each status that
// the service counts.
func printCounts(s *cmdutil.Session, rows []statsRow, labels bool) error {
	type row = statsRow
	rows = slices.CompactFunc(rows, func(a, b row) bool { return a.stats == b.stats })
	var view render.View[row]
	if labels {
		view.Columns = resellerColumns(row.named)[1:]
	}
	var statuses []string
	for _, r := range rows {
		for _, c := range r.stats.InvoiceStats {
			if slices.Contains(statuses, c.Status) {
				continue
			}
			statuses = append(statuses, c.Status)
			view.Columns = append(view.Columns, render.Field(render.Safe(c.Status), "", render.Int, func(r row) (count int64) {
				for _, other := range r.stats.InvoiceStats {
					if other.Status == c.Status {
						count += other.Count
					}
				}
				return count
			}))
		}
	}
	if len(statuses) == 0 {
		return nil
	}
	if err := s.Write("\nInvoices by status:\n"); err != nil {
		return err
	}
	o := s.Render
	o.Sort = ""
	return view.List(s.IO.Out, o, cmdutil.Each(rows))
}
