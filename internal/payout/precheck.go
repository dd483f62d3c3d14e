package payout

import (
	"fmt"
	"slices"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
)

// askedTogether is how many rows the journal is asked about at once.
const askedTogether = 100

// journal holds the rows against what the journal has under their order ids.
func (m *maker) journal() error {
	if err := m.Ledger.Reap(m.ctx); err != nil {
		return err
	}
	status, err := m.Ledger.Status(m.ctx)
	if err != nil {
		return err
	}
	if status.Newest == nil && len(m.spool.marks) > 0 {
		m.warn.add(newAddress, Detail{Message: "the journal has nothing accepted for this account yet, so that every address is new to it"})
	}
	var other details
	part := make([]PlanRow, 0, askedTogether)
	place := 0
	ask := func() error {
		err := m.askAbout(part, m.spool.marks[place:place+len(part)], status.Newest != nil, &other)
		place += len(part)
		part = part[:0]
		return err
	}
	for row, err := range m.spool.rows() {
		if err != nil {
			return err
		}
		if part = append(part, row); len(part) == askedTogether {
			if err := ask(); err != nil {
				return err
			}
		}
	}
	if err := ask(); err != nil {
		return err
	}
	if !other.empty() {
		return other.err(Error{Kind: Refused, Rule: RuleOrderID, Msg: "the journal has order ids of " + m.Name + " with other content", Hint: "give these rows order ids of their own, or see what was sent with: till journal show ORDER"})
	}
	return nil
}

// askAbout asks the journal about some rows, the marks of which these are.
func (m *maker) askAbout(rows []PlanRow, marks []mark, addresses bool, other *details) error {
	ids := make([]string, len(rows))
	var to []string
	for i, r := range rows {
		ids[i] = r.ExternalOrderID
		to = append(to, address.Spellings(r.Address)...)
	}
	held, err := m.Ledger.Held(m.ctx, ids)
	if err != nil {
		return err
	}
	for i, r := range rows {
		o, found := held[r.ExternalOrderID]
		if !found {
			continue
		}
		if !sameContent(o.Content, ContentOf(r.CreateWithdrawal)) {
			other.add(wrongf(int(marks[i].line), "order_id", "%s is %s in the journal, and is %s", o.OrderID, m.describe(o.Content), o.State)...)
			continue
		}
		m.made.count(o)
	}
	if !addresses {
		return nil
	}
	paid, err := m.Ledger.Paid(m.ctx, to)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if !slices.ContainsFunc(address.Spellings(r.Address), func(spelling string) bool { return paid[spelling] }) {
			m.warn.about(newAddress, &marks[i], "pays to %s, to which nothing was paid before", shortenText(r.Address))
		}
	}
	return nil
}

// describe is a content for a person.
func (m *maker) describe(c journal.Content) string {
	return m.Money.Format(Amount(c)) + " to " + c.Address
}

// count takes note of an order that the journal has already, as it was planned.
func (m *Made) count(o journal.Order) {
	switch o.State {
	case journal.Unknown, journal.Sending:
		m.Unknown++
	case journal.Conflict:
		m.Conflict++
	case journal.Accepted:
		m.Accepted++
		if o.Sent.IsZero() {
			m.Found++
			break
		}
		if m.First.IsZero() || o.Sent.Before(m.First) {
			m.First = o.Sent
		}
		m.Last = later(m.Last, o.Sent)
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// batch holds derived order ids against those of the batch's newest run.
func (m *maker) batch() error {
	if m.Batch == "" {
		return nil
	}
	runs, err := m.Ledger.Runs(m.ctx)
	if err != nil {
		return err
	}
	for _, run := range slices.Backward(runs) {
		if run.Batch == m.Batch {
			m.made.Since = run.Name
			if err := m.warnUnderWay(runs); err != nil {
				return err
			}
			return m.since(run)
		}
	}
	return nil
}

// warnUnderWay warns of runs of the batch that are being applied at this moment, where its rows may have changed: a row that
// was changed has another order id, and the other run may just be paying it as it was.
func (m *maker) warnUnderWay(runs []journal.Run) error {
	if !m.BatchChanged {
		return nil
	}
	appliers, err := m.Ledger.Journal().Appliers(m.ctx)
	if err != nil {
		return err
	}
	for _, a := range appliers {
		if slices.ContainsFunc(runs, func(r journal.Run) bool { return r.Batch == m.Batch && r.Name == a.Run }) {
			m.warn.add(underWay, Detail{Message: fmt.Sprintf("run %s of the batch is being applied (%s on %s): it pays its rows as they were; stop it, or wait for its end, and make this plan anew", a.Run, a.User, a.Host)})
		}
	}
	return nil
}

func (m *maker) since(run journal.Run) error {
	if m.BatchChanged {
		return nil
	}
	var changes details
	var before []int64
	places := m.sorted(byID)
	for o, err := range m.Ledger.Orders(m.ctx, journal.Filter{Run: run.Name}) {
		if err != nil {
			return err
		}
		id := parseID(o.OrderID)
		before = append(before, id)
		if _, found := slices.BinarySearchFunc(places, id, func(i uint32, id int64) int { return byID(&m.spool.marks[i], &mark{id: id}) }); !found {
			changes.add(Detail{Message: fmt.Sprintf("vanished since run %s: order %s, %s%s, which is %s", run.Name, o.OrderID, m.describe(o.Content), noted(o.Note), o.State)})
		}
	}
	slices.Sort(before)
	for _, mk := range m.spool.marks {
		if _, found := slices.BinarySearch(before, mk.id); !found {
			changes.add(wrongf(int(mk.line), "", "new since run %s: order %d", run.Name, mk.id)...)
		}
	}
	if changes.empty() {
		return nil
	}
	return changes.err(Error{Kind: Refused, Rule: RuleBatchChanged, Msg: fmt.Sprintf("the rows of batch %s are not those of its run %s", m.Batch, run.Name),
		Hint: "if that is meant, add --batch-changed; another batch needs another name"})
}

func noted(note string) string {
	if note == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", note)
}
