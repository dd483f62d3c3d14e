package payout

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// The kinds of warning, in the order of their output.
const (
	underWay = iota
	doubtful
	identical
	likeUnknown
	outlier
	newAddress
	kinds
)

// warnings has some warnings of each kind, and counts the others.
type warnings [kinds]struct {
	list []Warning
	more int
}

func (w *warnings) add(kind int, d Detail) { w.addAbout(kind, Warning{Detail: d}) }

func (w *warnings) addAbout(kind int, d Warning) {
	if of := &w[kind]; len(of.list) < maxWarnings {
		of.list = append(of.list, d)
	} else {
		of.more++
	}
}

// about adds a warning about a row. The reader of a plan knows the row by its order id.
func (w *warnings) about(kind int, m *mark, format string, args ...any) {
	w.addAbout(kind,
		Warning{Detail{Line: int(m.line), Message: fmt.Sprintf("order %d ", m.id) + fmt.Sprintf(format, args...)},
			formatID(m.id)})
}

// told returns all warnings.
func (w *warnings) told() (all []Warning) {
	for kind, what := range [kinds]string{"about a run that is being applied", "to addresses that look mistyped",
		"identical to an earlier one", "identical to an order with an unknown outcome", "far from the usual amount",
		"to addresses that are new"} {
		all = append(all, w[kind].list...)
		if n := w[kind].more; n == 1 {
			all = append(all, Warning{Detail: Detail{Message: "one more row is " + what}})
		} else if n > 1 {
			all = append(all, Warning{Detail: Detail{Message: fmt.Sprintf("%d more rows are %s", n, what)}})
		}
	}
	return all
}

// warnings warns of rows that are allowed, but rarely intended.
func (m *maker) warnings() error {
	for _, d := range m.doubts {
		m.warn.about(doubtful, m.spool.marks.at(d.place), "pays to %s: %s", d.address, d.why)
	}
	m.warn[doubtful].more += m.moreDoubts
	m.warnIdentical()
	if err := m.warnLikeUnknown(); err != nil {
		return err
	}
	m.warnOutliers()
	m.made.Warned = m.warn.told()
	for _, d := range m.made.Warned {
		m.made.Details = append(m.made.Details, d.Detail)
		m.made.Plan.Warnings = append(m.made.Plan.Warnings, d.String())
	}
	if m.FailOnWarning && len(m.made.Details) > 0 {
		return &Error{Kind: Refused, Rule: RuleWarning, Msg: m.Name + " is warned about, and nothing is planned",
			Hint: NewHint("leave --fail-on-warning out if all of it is meant"), Details: m.made.Details}
	}
	return nil
}

// A doubt is a warning about the address of a row. The row may not have its order id yet.
type doubt struct {
	place        int // index of its mark
	address, why string
}

// noteDoubt keeps the warning about the address of the last row that was kept.
func (m *maker) noteDoubt(r *parsedRow) {
	if r.doubt == "" {
		return
	}
	if len(m.doubts) == maxWarnings {
		m.moreDoubts++
		return
	}
	m.doubts = append(m.doubts, doubt{m.spool.marks.len() - 1, shortenText(r.row.Address), r.doubt})
}

// maySame reports whether two rows may have the same content. This is cheaper than finding such rows. A part
// of each hash goes into a table, at the first free place from its own place on; 0 means that a place is free.
func (m *marks) maySame() bool {
	table := make([]uint32, 2<<bits.Len(uint(m.len())))
	for mk := range m.all() {
		part := uint32(mk.same[0] >> 32)
		place := mk.same[0] % uint64(len(table))
		for ; table[place] != 0; place = (place + 1) % uint64(len(table)) {
			if table[place] == part {
				return true
			}
		}
		if part == 0 {
			return true
		}
		table[place] = part
	}
	return false
}

func (m *maker) warnIdentical() {
	marks := &m.spool.marks
	if !marks.maySame() {
		return
	}
	var found [][2]*mark
	var first *mark
	for _, i := range m.sorted(bySame) {
		mk := marks.at(int(i))
		if first == nil || first.same != mk.same {
			first = mk
			continue
		}
		found = append(found, [2]*mark{mk, first})
	}
	slices.SortFunc(found, func(a, b [2]*mark) int { return cmp.Compare(a[0].line, b[0].line) })
	for _, pair := range found {
		m.warn.about(identical, pair[0], "pays the same amount to the same address as order %d on line %d", pair[1].id,
			pair[1].line)
	}
}

func (m *maker) warnLikeUnknown() error {
	marks := &m.spool.marks
	var places []uint32
	for o, err := range m.ledger.Orders(m.ctx,
		journal.Filter{States: []journal.State{journal.Unknown, journal.Sending}}) {
		if err != nil {
			return err
		}
		if places == nil {
			places = m.sorted(bySame)
		}
		like := mark{same: contentHash(o.Content)}
		from, _ := slices.BinarySearchFunc(places, &like,
			func(i uint32, like *mark) int { return bySame(marks.at(int(i)), like) })
		for _, i := range places[from:] {
			mk := marks.at(int(i))
			if mk.same != like.same {
				break
			}
			if mk.id != parseID(o.OrderID) {
				m.warn.about(likeUnknown, mk,
					"pays the same as order %s, whose outcome is unknown: till withdraw reconcile %s",
					o.OrderID, o.OrderID)
			}
		}
	}
	return nil
}

// fewAmounts is the number of amounts below which the median means nothing.
const fewAmounts = 3

// warnOutliers warns of amounts that are at least ten times, or at most a tenth of, the median of their unit.
func (m *maker) warnOutliers() {
	marks := &m.spool.marks
	totals := m.made.Totals
	amounts := make([][]int64, len(totals))
	for unit, total := range totals {
		amounts[unit] = make([]int64, 0, total.Rows)
	}
	for mk := range marks.all() {
		amounts[mk.unit] = append(amounts[mk.unit], mk.minor)
	}
	medians := make([]int64, len(amounts)) // 0: none
	for unit, amounts := range amounts {
		if n := len(amounts); n >= fewAmounts {
			slices.Sort(amounts)
			low, high := amounts[(n-1)/2], amounts[n/2]
			medians[unit] = low + (high-low)/2
		}
	}
	for mk := range marks.all() {
		median := medians[mk.unit]
		if median == 0 || mk.minor/10 < median && mk.minor > median/10 {
			continue
		}
		of := totals[mk.unit].Amount
		amount, usual := api.Amount{Kind: of.Kind, Code: of.Code, Minor: mk.minor}, api.Amount{Kind: of.Kind, Code: of.Code, Minor: median}
		m.warn.about(outlier, mk, "pays %s, which is far from the usual %s of this file",
			m.Currencies.registry.Format(amount), m.Currencies.registry.Format(usual))
	}
}
