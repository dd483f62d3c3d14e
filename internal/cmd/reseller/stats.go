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
		Use:   "stats [ID]",
		Short: "Show volume, rebates and invoices by status over all time",
		Example: `  till reseller stats
  till reseller stats "North shop" -o json`,
		Args:              cmdutil.OptionalArg("ID"),
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
	return a.Prints(cmd, cmdutil.PrintedAs[api.ResellerStats](cmdutil.OneOrList))
}

// statsRow has a reseller's figures in one currency. A reseller without volume has a row without a currency.
type statsRow struct {
	namedReseller
	currency        string
	volume, rebates *api.CodeAmount
	stats           *api.ResellerStats // which the row is a part of
}

func statsRows(stats api.ResellerStats) []statsRow {
	var rows []statsRow
	row := func(currency, code string) *statsRow {
		for i := range rows {
			if r := &rows[i]; r.currency == currency && (r.volume == nil || r.volume.Code == code) &&
				(r.rebates == nil || r.rebates.Code == code) {
				return r
			}
		}
		rows = append(rows, statsRow{namedReseller: namedReseller{stats.ID, stats.Label}, currency: currency,
			stats: &stats})
		return &rows[len(rows)-1]
	}
	for _, total := range stats.TotalVolume {
		for _, amount := range total.Amounts {
			row(total.Code, amount.Code).volume = &amount
		}
	}
	for _, total := range stats.TotalRebates {
		for _, amount := range total.Amounts {
			row(total.Code, amount.Code).rebates = &amount
		}
	}
	if len(rows) == 0 {
		row("", "")
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
	amount := func(name, about string, of func(row) *api.CodeAmount) render.Column[row] {
		return render.Column[row]{Name: name, About: about, Amount: true, Cell: func(r row) render.Cell {
			a := of(r)
			if a == nil {
				return render.Cell{}
			}
			return render.Amount(a.Minor, a.Code, m.Decimals(a.Code))
		}}
	}
	return render.View[row]{Columns: append(resellerColumns(row.named),
		render.Field("currency", "currency of the totals", render.Text, func(r row) string { return r.currency }),
		amount("volume", "total volume over all time", func(r row) *api.CodeAmount { return r.volume }),
		amount("rebates", "total rebates over all time", func(r row) *api.CodeAmount { return r.rebates }),
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
	seen := map[string]bool{}
	for _, r := range rows {
		for _, c := range r.stats.InvoiceStats {
			if seen[c.Status] {
				continue
			}
			seen[c.Status] = true
			view.Columns = append(view.Columns, render.Column[row]{Name: render.Safe(c.Status),
				Cell: func(r row) render.Cell { return render.Int(countOf(r.stats.InvoiceStats, c.Status)) }})
		}
	}
	if len(seen) == 0 {
		return nil
	}
	if err := s.Write("\nInvoices by status:\n"); err != nil {
		return err
	}
	o := s.Render
	o.Sort = ""
	return view.List(s.IO.Out, o, cmdutil.Limited(rows, 0))
}

func countOf(counts []api.StatusCount, status string) (count int64) {
	for _, c := range counts {
		if c.Status == status {
			count += c.Count
		}
	}
	return count
}
