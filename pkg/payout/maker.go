package payout

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

// maker is the state of one MakePlan.
type maker struct {
	PlanInput
	ledger *journal.Ledger
	ctx    context.Context
	money  money.Registry
	made   Made

	grouped    *sheet.Row // the first one whose point may separate thousands; nil: none
	plainPoint bool       // another amount has a point that does not

	rows  []inputRow
	marks []bool // which of them are warned about; nil: none
	coins []coin // those of the rows
	wrong details
	tally *money.Tally
	over  details           // what exceeds the limits
	first *money.LimitError // of these
	warn  warnings
}

// A coin is the currency of a row, and the unit of its amount.
type coin struct {
	currency, unit api.Currency
	total          int // index of the unit's total
}

// An inputRow is a row of the input. A file may have a million, so it is small.
type inputRow struct {
	id    int64 // its order id; 0: it has none yet
	minor int64
	key   order.Key                                 // of its content
	texts string                                    // those of its columns from the address on, one after the other
	ends  [sheet.Columns - sheet.Address - 1]uint16 // of all but the last; see maxRow
	line  uint32
	coin  uint32 // index of maker.coins
}

// maxDetails is the most errors that are reported for a file. maxWarnings is the most warnings of one kind.
const (
	maxDetails  = 10_000
	maxWarnings = 10
)

// details has some details of a file, and counts the others.
type details struct {
	list []Detail
	more int
}

func (d *details) add(more ...Detail) { d.addUpTo(maxDetails, more...) }

func (d *details) addUpTo(most int, more ...Detail) {
	fits := min(len(more), most-len(d.list))
	d.list, d.more = append(d.list, more[:fits]...), d.more+len(more)-fits
}

// of returns e with all details.
func (d *details) of(e *Error) error {
	slices.SortStableFunc(d.list, func(a, b Detail) int { return cmp.Compare(a.Line, b.Line) })
	if d.more > 0 {
		d.list = append(d.list, Detail{Message: fmt.Sprintf("and %d more", d.more)})
	}
	e.Details = d.list
	return e
}

// coinOf returns the index of a row's coin. The row was counted in the totals.
func (m *maker) coinOf(r *PlanRow) uint32 {
	u := r.Amount.Unit()
	i := slices.IndexFunc(m.coins, func(c coin) bool { return c.currency == r.Currency && c.unit == u })
	if i < 0 {
		total := slices.IndexFunc(m.made.Totals, func(t Total) bool { return t.Amount.SameUnit(api.Big(r.Amount)) })
		i, m.coins = len(m.coins), append(m.coins, coin{r.Currency, u, total})
	}
	return uint32(i)
}

// pack keeps the texts of a row, and returns how many bytes they have.
func (r *inputRow) pack(row *PlanRow) int {
	all := make([]byte, 0, 256)
	for i, text := range row.Texts(&row.Address, &row.Memo, &row.Callback) {
		r.ends[max(i-1, 0)] = uint16(len(all)) // the first is written twice
		all = append(all, *text...)
	}
	r.texts = string(all)
	return len(all)
}

func (r *inputRow) address() string { return r.texts[:r.ends[0]] }

func (r *inputRow) memo() string { return r.texts[r.ends[0]:r.ends[1]] }

// planRow returns a row as it is planned.
func (m *maker) planRow(i int) PlanRow {
	r := &m.rows[i]
	c := m.coins[r.coin]
	row := PlanRow{Line: int(r.line), Warned: m.marks != nil && m.marks[i]}
	row.Currency, row.Amount = c.currency, api.Amount{Kind: c.unit.Kind, Code: c.unit.Code, Minor: r.minor}
	if r.id != 0 {
		row.ExternalOrderID = formatID(r.id)
	}
	texts, from := row.Texts(&row.Address, &row.Memo, &row.Callback), uint16(0)
	for i, end := range r.ends {
		*texts[i], from = r.texts[from:end], end
	}
	*texts[len(r.ends)] = r.texts[from:]
	return row
}

// maker returns a maker with the rows of the plan.
func (p *Plan) maker(added []Currency) *maker {
	m := &maker{money: registryOf(added), made: Made{Plan: &Plan{Batch: p.Batch, Since: p.Since, Layout: p.Layout, decimals: decimals{}}}, rows: make([]inputRow, len(p.Rows)),
		marks: make([]bool, len(p.Rows))}
	for i, r := range p.Rows {
		m.made.Plan.count(r, m.money.DecimalsOf(r.Amount.Kind, r.Amount.Code))
		m.rows[i] = inputRow{id: parseID(r.ExternalOrderID), minor: r.Amount.Minor, key: contentOf(r.CreateWithdrawal).Key(),
			line: uint32(r.Line), coin: m.coinOf(&r)}
		m.rows[i].pack(&r)
		m.marks[i] = r.Warned
	}
	return m
}

// The kinds of warning, the worst first.
const (
	pointOfThousands = iota
	lookAlikes
	underWay
	paidInstead
	changedAddress
	movedAmount
	outlier
	newPayee
	doubtful
	likeUnknown
	likeAccepted
	identical
	newAddress
	sameAddress
	kinds
)

// warnings has some warnings of each kind, and counts the others.
type warnings [kinds]details

func (w *warnings) add(kind int, d Detail) { w[kind].addUpTo(maxWarnings, d) }

// about adds a warning about a row. A person who reads the plan finds the row marked.
func (m *maker) about(kind, i int, format string, args ...any) {
	r := &m.rows[i]
	m.warn.add(kind, Detail{Line: int(r.line), Message: fmt.Sprintf(format, args...), OrderID: formatID(r.id)})
	if kind == newAddress || kind == sameAddress {
		return
	}
	if m.marks == nil {
		m.marks = make([]bool, len(m.rows))
	}
	m.marks[i] = true
}

// told returns all warnings.
func (w *warnings) told() (all []Detail) {
	for kind, what := range [kinds]string{"with a point that may separate thousands", "to addresses that look like another one", "about a run that is being applied",
		"gone from the file, and paid in the last run",
		"to other addresses than in the last run", "of amounts far from those of the last run", "far from the usual amount",
		"of payees that the last runs do not have", "to addresses that look wrong",
		"identical to an order with an unknown outcome, or to its address", "identical to an order that was accepted or planned before", "identical to an earlier one",
		"to addresses that are new", "to the address of an earlier one"} {
		all = append(all, w[kind].list...)
		if n := w[kind].more; n == 1 {
			all = append(all, Detail{Message: "one more row is " + what})
		} else if n > 1 {
			all = append(all, Detail{Message: fmt.Sprintf("%d more rows are %s", n, what)})
		}
	}
	return all
}
