package journal

import (
	"iter"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"github.com/spf13/cobra"
)

func exportCommand(a *cmdutil.App) *cobra.Command {
	return a.Prints(&cobra.Command{
		Use:   "export",
		Short: "Print everything in the journal, of every account",
		Long: `Print everything in the journal, of every account, oldest first: each order
with all its attempts and events. The first order of each account also has how
many approvals the account required, and since when. The output is a line of
JSON for each order; with -o json it is an array.`,
		Example: `  till journal export >journal.jsonl
  till journal export -o json >journal.json`,
		Args: cmdutil.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			options, err := s.LineOptions("journal export")
			if err != nil {
				return err
			}
			if s.Output == "json" {
				options.Format = render.JSON
			}
			j, err := s.JournalToList()
			if err != nil {
				return err
			}
			return exportView(s.Money).List(s.IO.Out, options, exportAll(s, j))
		},
	}, cmdutil.PrintedAs[exportedLine](cmdutil.List))
}

// exportedLine is an order with its account.
type exportedLine struct {
	Account payout.Account `json:"account"`
	views.HistoryLine
	Demands []demandLine `json:"demands,omitempty"` // of the account, the oldest first: only in its first line
}

// exported is an order of any account with what approved it.
type exported struct {
	payout.Exported
	approval *views.ApprovalLine
	demands  []approval.Demand
}

func exportView(m money.Registry) render.View[exported] {
	return render.View[exported]{JSON: render.Encoded(func(e exported) exportedLine {
		line := exportedLine{Account: e.Account, HistoryLine: views.NewHistoryLine(m, e.Order, e.Events)}
		line.Approval = e.approval
		for _, d := range e.demands {
			line.Demands = append(line.Demands, newDemandLine(m, d))
		}
		return line
	})}
}

func exportAll(s *cmdutil.Session, j *payout.Journal) iter.Seq2[exported, error] {
	return func(yield func(exported, error) bool) {
		if j == nil {
			return
		}
		var account payout.Account
		var consents cmdutil.Consents // of that account
		for e, err := range j.Export(s.Ctx) {
			var demands []approval.Demand
			if err == nil && (consents == nil || e.Account != account) {
				account = e.Account
				if consents, err = cmdutil.ConsentsOf(s.Ctx, j.Ledger(account)); err == nil {
					demands, err = j.Ledger(account).Demands(s.Ctx)
				}
			}
			if !yield(exported{e, consents[e.Order.Consent()], demands}, err) || err != nil {
				return
			}
		}
	}
}
