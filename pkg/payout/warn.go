package payout

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

// warnings warns of rows that are allowed, but rarely intended.
func (m *maker) warnings() error {
	m.warnRows()
	if r := m.grouped; m.mayGroup() {
		m.warn.add(pointOfThousands, Detail{Line: r.Line, Message: fmt.Sprintf(
			"%s is taken for a number with three decimals, and every other point in the amounts has three digits after it too: "+
				"say what it is, with --decimal . or, if it separates thousands, with --decimal , --group .", sheet.Quote(r.Cells[sheet.Amount]))})
	}
	if err := cmp.Or(m.warnLikeJournal(), m.warnPaidReferences()); err != nil {
		return err
	}
	m.made.Warned = m.warn.told()
	for _, d := range m.made.Warned {
		m.made.Plan.Warnings = append(m.made.Plan.Warnings, d.String())
	}
	if m.FailOnWarning && len(m.made.Warned) > 0 {
		e := refused(RuleWarning, "%s is warned about, and nothing is planned", m.Name).
			hint("leave --fail-on-warning out if all of it is meant")
		e.Details = m.made.Warned
		return e
	}
	return nil
}

// mayGroup reports whether every point in the amounts has three digits after it, so that it may separate thousands.
func (m *maker) mayGroup() bool { return m.grouped != nil && !m.plainPoint }

// warnRows warns of what the rows alone prove.
func (m *maker) warnRows() {
	for i := range m.rows {
		r := &m.rows[i]
		to := m.coins[r.coin].currency
		if why := cmp.Or(m.money.AddressMistake(to, r.address()), m.money.AddressWarning(to, r.address())); why != "" {
			m.about(doubtful, i, "order %d pays to %s: %s", r.id, sheet.Shorten(r.address()), why)
		}
		for _, f := range [][2]string{{"address", r.address()}, {"memo", r.memo()}} {
			if money.Rounded(f[1]) {
				m.about(doubtful, i, "the %s of order %d, %s, %s", f[0], r.id, sheet.Shorten(f[1]), money.RoundedWhy)
			}
		}
	}
	m.warnOtherAddresses()
	m.warnIdentical()
	m.warnOutliers()
}

// warnOtherAddresses warns of addresses that are not of the kind that three of four in their currency are.
func (m *maker) warnOtherAddresses() {
	kinds, rows := make([]map[string]int, len(m.coins)), make([]int, len(m.coins))
	for _, r := range m.rows {
		if m.money.AddressFormat(m.coins[r.coin].currency) != "" {
			continue
		}
		if rows[r.coin]++; kinds[r.coin] == nil {
			kinds[r.coin] = map[string]int{}
		}
		kinds[r.coin][address.Detect(r.address())]++
	}
	for coin, n := range rows {
		for kind, of := range kinds[coin] {
			if kind == "" || of == n || of < n-n/4 {
				continue
			}
			for i, r := range m.rows {
				if r.coin == uint32(coin) && address.Detect(r.address()) != kind {
					m.about(doubtful, i, "order %d pays to %s, which is not %s, as the addresses of the %d other rows are", r.id, sheet.Shorten(r.address()), kind, of)
				}
			}
		}
	}
}

func (m *maker) warnIdentical() {
	first := make(map[order.Key]*inputRow, len(m.rows))
	for i := range m.rows {
		r := &m.rows[i]
		before, found := first[r.key]
		if !found {
			first[r.key] = r
			continue
		}
		m.about(identical, i, "order %d pays the same amount to the same address as order %d on line %d", r.id, before.id, before.line)
	}
}

// warnLikeJournal warns of rows that pay the same as an order of another id that is unknown, or that was accepted
// or planned lately: perhaps something has changed the order ids of a file. It also warns of those that pay another
// amount to where one that is not in the file may have been sent: perhaps a person has corrected it.
func (m *maker) warnLikeJournal() error {
	like, open, err := m.alike()
	for i, r := range m.rows {
		if len(open) > 0 {
			if o, found := open[destination{address.Canonical(r.address()), r.memo()}]; found && o.Content.Key() != r.key {
				m.about(likeUnknown, i, "order %d pays to the address of order %s, whose outcome is unknown: till withdraw reconcile %s",
					r.id, o.OrderID, o.OrderID)
			}
		}
		for _, o := range like[r.key] {
			if o.State == StateAccepted || o.State == StatePlanned {
				why := "may still be sent: till journal show " + o.OrderID
				if o.State == StateAccepted {
					why = "was accepted on " + sentAt(o).UTC().Format(time.DateOnly)
				}
				m.about(likeAccepted, i, "order %d pays the same as order %s, which %s", r.id, o.OrderID, why)
				break // one is enough
			}
			if r.id != parseID(o.OrderID) {
				m.about(likeUnknown, i, "order %d pays the same as order %s, whose outcome is unknown: till withdraw reconcile %s",
					r.id, o.OrderID, o.OrderID)
			}
		}
	}
	return err
}

// alike returns the unknown orders with the content of a row, and then those that were accepted or planned lately and
// are no rows themselves. It also returns the unknown orders that are no rows, by their destination.
func (m *maker) alike() (like map[order.Key][]journal.Record, open map[destination]journal.Record, err error) {
	ids, keys := make([]int64, len(m.rows)), make([]order.Key, len(m.rows)) // they take less memory than maps
	for i, r := range m.rows {
		ids[i], keys[i] = r.id, r.key
	}
	byBytes := func(a, b order.Key) int { return bytes.Compare(a[:], b[:]) }
	slices.Sort(ids)
	slices.SortFunc(keys, byBytes)
	like, open = map[order.Key][]journal.Record{}, map[destination]journal.Record{}
	gone, err := m.gone()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range []Filter{{States: []State{StateUnknown, StateSending}}, {States: []State{StateAccepted, StatePlanned}, From: m.lately()}} {
		for o, err := range m.ledger.Orders(m.ctx, f) {
			if err != nil {
				return nil, nil, err
			}
			_, own := slices.BinarySearch(ids, parseID(o.OrderID))
			key, settled := o.Content.Key(), !f.From.IsZero()
			left := o.State == StatePlanned && gone[o.OrderID] || settled && own
			if _, found := slices.BinarySearchFunc(keys, key, byBytes); found && !left {
				like[key] = append(like[key], o)
			}
			if !own && !settled {
				open[destination{address.Canonical(o.Content.Address), o.Content.Memo}] = o
			}
		}
	}
	return like, open, nil
}

// lately returns since when an accepted order is warned of that pays the same as a row.
func (m *maker) lately() time.Time { return m.Now.Add(-cmp.Or(m.IdenticalWithin, defaultIdentical)) }

// warnPaidReferences warns of rows that pay the same as an order of the same reference that was accepted longer ago:
// perhaps the file has an invoice once more. If at least half of its references were paid before, they name payees.
func (m *maker) warnPaidReferences() error {
	rows := map[string][]int{}
	for i := range m.rows {
		if reference := m.planRow(i).Reference; reference != "" {
			rows[reference] = append(rows[reference], i)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	known, paid := map[string]bool{}, map[int]string{}
	for o, err := range m.ledger.Orders(m.ctx, Filter{States: []State{StateAccepted}, To: m.lately()}) {
		same := rows[o.Reference]
		own := func(i int) bool { return m.rows[i].id == parseID(o.OrderID) }
		switch {
		case err != nil:
			return err
		case len(same) == 0 || slices.ContainsFunc(same, own):
			continue
		}
		if known[o.Reference] = true; 2*len(known) >= len(rows) {
			return nil
		}
		for _, i := range same {
			if m.rows[i].key == o.Content.Key() {
				paid[i] = fmt.Sprintf("order %d pays the same as order %s, which was accepted on %s under the same reference, %s", m.rows[i].id,
					o.OrderID, sentAt(o).UTC().Format(time.DateOnly), sheet.Quote(o.Reference))
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(paid)) {
		m.about(likeAccepted, i, "%s", paid[i])
	}
	return nil
}

// gone returns the ids of the orders that no run sends any more, and of the rows whose place the plan takes.
func (m *maker) gone() (map[string]bool, error) {
	ids := map[string]bool{}
	for o, err := range m.ledger.Replaced(m.ctx, "", m.made.Since) {
		if err != nil {
			return nil, err
		}
		ids[o.OrderID] = true
	}
	return ids, nil
}

// destination is where money goes to: an address in its canonical form, and a memo.
type destination struct{ address, memo string }

// fewAmounts is the number of amounts below which the median means nothing.
const fewAmounts = 3

// warnOutliers warns of amounts that are at least ten times, or at most a tenth of, the median of their unit.
func (m *maker) warnOutliers() {
	amounts, medians := make([][]int64, len(m.made.Totals)), make([]int64, len(m.made.Totals)) // 0: none
	for i, total := range m.made.Totals {
		amounts[i] = make([]int64, 0, total.Rows)
	}
	for _, r := range m.rows {
		total := m.coins[r.coin].total
		amounts[total] = append(amounts[total], r.minor)
	}
	for i, amounts := range amounts {
		if n := len(amounts); n >= fewAmounts {
			slices.Sort(amounts)
			low, high := amounts[(n-1)/2], amounts[n/2]
			medians[i] = low + (high-low)/2
		}
	}
	type outlying struct{ row, median, times int64 }
	var far []outlying
	for i, r := range m.rows {
		if median := medians[m.coins[r.coin].total]; median != 0 {
			if times := max(r.minor/median, median/max(r.minor, 1)); times >= 10 {
				far = append(far, outlying{int64(i), median, times})
			}
		}
	}
	tooLittle := func(f outlying) int { return cmp.Compare(f.median, m.rows[f.row].minor) } // too much is worse
	slices.SortStableFunc(far, func(a, b outlying) int {
		return cmp.Or(tooLittle(a)-tooLittle(b), cmp.Compare(b.times, a.times))
	})
	for _, f := range far {
		i, how := int(f.row), "far less than"
		amount := m.planRow(i).Amount
		usual := amount
		if usual.Minor = f.median; amount.Minor > f.median {
			how = fmt.Sprintf("%d times", f.times)
		}
		m.about(outlier, i, "order %d pays %s, %s the usual %s", m.rows[i].id, m.money.Format(amount), how, m.money.Format(usual))
	}
}

// Findings returns what a person who reads the plan must look at, the worst first, and which rows it is about.
// What the rows alone prove is found in them again, because somebody who edits a plan can take its warnings
// out. What the journal showed to the preparer is only known from the plan, and begins with "the plan says".
func (p *Plan) Findings(added []Currency) (all []Detail, marked []bool) {
	m := p.maker(added)
	_ = m.rounded(true) // without a journal, it cannot fail
	return p.findings(m), m.marks
}

// Findings returns what Plan.Findings does, and which rows pay the same as an order in the journal that is unknown
// or was accepted lately, or to an address that looks like one that was paid.
func (l *Ledger) Findings(ctx context.Context, p *Plan, added []Currency) (all []Detail, marked []bool, err error) {
	defer toError(&err)
	m := p.maker(added)
	m.ledger, m.ctx, m.Now = l.ledger, ctx, time.Now()
	fresh, err := m.fresh()
	if err == nil {
		err = m.warnLikeKnown(fresh)
	}
	if err == nil {
		err = cmp.Or(m.warnLikeJournal(), m.warnPaidReferences(), m.rounded(true))
	}
	return p.findings(m), m.marks, err
}

// Alike returns what Findings says of rows that pay the same as orders that were accepted or planned since the plan was
// made, or as unknown ones, as far as the plan does not say it.
func (l *Ledger) Alike(ctx context.Context, p *Plan, added []Currency) (found []Detail, err error) {
	defer toError(&err)
	m := p.maker(added)
	m.ledger, m.ctx, m.Now = l.ledger, ctx, time.Now()
	m.IdenticalWithin = max(1, m.Now.Sub(p.Made))
	err = m.warnLikeJournal()
	said := func(d Detail) bool { return slices.Contains(p.Warnings, d.String()) }
	return slices.DeleteFunc(m.warn.told(), said), err
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
	first, seen := map[destination]int{}, map[order.Key]bool{}
	for i, r := range p.Rows {
		key := destination{address.Canonical(r.Address), r.Memo}
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
