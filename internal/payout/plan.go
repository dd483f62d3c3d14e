package payout

import (
	"iter"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

type Plan struct {
	Path          string
	Digest        string
	Account       journal.Account
	Made, Expires time.Time
	Batch, Since  string
	Rows          int
	Totals        []Total
	Limits        money.Limits
	Warnings      []string
	all           []PlanRow
}
type Total struct {
	Amount api.Amount
	Rows   int
}
type PlanRow struct {
	api.CreateWithdrawal
	Note string
}

func (r PlanRow) Row() journal.Row {
	return journal.Row{OrderID: r.ExternalOrderID, Content: ContentOf(r.CreateWithdrawal), Callback: r.Callback, Note: r.Note}
}
func (p *Plan) Name() string { return p.Digest[7:15] }
func (p *Plan) All() iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		for _, r := range p.all {
			if !yield(r, nil) {
				return
			}
		}
	}
}
