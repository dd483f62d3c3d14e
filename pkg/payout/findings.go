package payout

import (
	"context"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/pkg/payout/order"
)

// Findings returns what a person who reads the plan must look at, the worst first, and which rows it is about.
// What the rows alone prove is found in them again, because somebody who edits a plan can take its warnings
// out. What the journal showed to the preparer is only known from the plan, and begins with "the plan says".
func (p *Plan) Findings(added []Currency) (all []Detail, marked []bool) {
	m := p.maker(added)
	_ = m.warnRounded() // without a journal, it cannot fail
	return p.findings(m), m.marks
}

// Findings returns what Plan.Findings does, and which rows pay the same as an order in the journal that is unknown
// or was accepted lately, or to an address that looks like one that was paid.
func (l *Ledger) Findings(ctx context.Context, p *Plan, added []Currency) (all []Detail, marked []bool, err error) {
	defer toError(&err)
	m := p.maker(added)
	m.ledger, m.ctx, m.Now = l.ledger, ctx, time.Now()
	fresh, err := m.fresh()
	for _, warn := range []func() error{func() error { return m.warnLikeKnown(fresh) }, m.warnLikeJournal, m.warnRounded} {
		if err == nil {
			err = warn()
		}
	}
	return p.findings(m), m.marks, err
}

// maker returns a maker with the rows of the plan.
func (p *Plan) maker(added []Currency) *maker {
	m := &maker{money: registryOf(added), made: Made{Plan: &Plan{Batch: p.Batch, Layout: p.Layout, decimals: decimals{}}}, rows: make([]inputRow, len(p.Rows)),
		marks: make([]bool, len(p.Rows))}
	for i, r := range p.Rows {
		m.made.Plan.count(m.money, r)
		m.rows[i] = inputRow{id: parseID(r.ExternalOrderID), minor: r.Amount.Minor, key: contentOf(r.CreateWithdrawal).Key(),
			line: uint32(r.Line), coin: m.coinOf(&r)}
		m.rows[i].pack(r.Address, r.Memo, r.Callback, r.Note, r.Reference)
		m.marks[i] = r.Warned
	}
	return m
}

// findings adds what the rows alone prove.
func (p *Plan) findings(m *maker) []Detail {
	m.warnRows()
	m.warnLookAlikes(m.all())
	all := p.compared(m.warn.told())
	m.warn = warnings{}
	m.warnSameAddress(p)
	return append(all, m.warn.told()...)
}

// compared returns what was found and the plan does not say, and then the plan's warnings.
func (p *Plan) compared(found []Detail) (all []Detail) {
	known, said := map[string]Detail{}, map[string]bool{}
	for _, text := range p.Warnings {
		said[text] = true
	}
	for _, d := range found {
		if known[d.String()] = d; !said[d.String()] {
			all = append(all, d)
		}
	}
	for _, text := range p.Warnings {
		d, isFound := known[text]
		if !isFound {
			d = saidOf(text)
		}
		all = append(all, d)
	}
	return all
}

// saidOf returns a warning that only the plan has, with the line that it begins with.
func saidOf(text string) Detail {
	if line, why, found := strings.Cut(strings.TrimPrefix(text, "line "), ": "); found {
		if n, err := strconv.Atoi(line); err == nil && n > 0 && text != line+": "+why {
			return Detail{Line: n, Message: "the plan says: " + why}
		}
	}
	return Detail{Message: "the plan says: " + text}
}

// warnSameAddress warns of rows that pay to the address of an earlier row, apart from those that are identical.
// It is too common to be a warning of the plan, and marks no row.
func (m *maker) warnSameAddress(p *Plan) {
	type to struct{ address, memo string }
	first, seen := map[to]int{}, map[order.Key]bool{}
	for i, r := range p.Rows {
		key := to{address.Canonical(r.Address), r.Memo}
		before, found := first[key]
		if !found {
			first[key] = i
		} else if !seen[m.rows[i].key] {
			m.about(sameAddress, i, "order %d pays to the same address as order %d on line %d", m.rows[i].id, m.rows[before].id,
				m.rows[before].line)
		}
		seen[m.rows[i].key] = true
	}
}

// maxLife is the longest time in which the run of a plan can begin. Who approved a plan has forgotten it by then.
const maxLife = 30 * 24 * time.Hour

// clockSlack is how far the clock of the machine that made a plan may be ahead.
const clockSlack = 24 * time.Hour

// CheckLife refuses a plan whose run could begin for more than 30 days.
func (p *Plan) CheckLife(now time.Time) error {
	switch {
	case p.Expires.Sub(p.Made) > maxLife:
		return p.changed("it expires at %s, more than 30 days after it was made", p.Expires.Format(time.RFC3339))
	case p.Made.Sub(now) > clockSlack:
		return p.changed("it says that it is made at %s, which is not yet over", p.Made.Format(time.RFC3339))
	}
	return nil
}
