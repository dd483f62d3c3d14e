package payout

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"example.com/till/internal/journal"
	"example.com/till/pkg/payout/sheet"
	"golang.org/x/text/unicode/norm"
)

// askedAtOnce is how many rows one query to the journal is about.
const askedAtOnce = 100

// compareWithJournal compares the rows with the orders in the journal.
func (m *maker) compareWithJournal() error {
	if err := m.ledger.Reap(m.ctx); err != nil {
		return err
	}
	status, err := m.ledger.Status(m.ctx)
	if err != nil {
		return err
	}
	if status.Newest == nil && len(m.rows) > 0 {
		m.warn.add(newAddress,
			Detail{Message: "the journal has nothing accepted for this account yet, so that every address is new to it"})
		m.warnLookAlikes(m.all())
	}
	var other details
	var worst journal.Record
	for _, err := range m.ledger.Orders(m.ctx, Filter{}) { // not one: there is nothing to compare
		if err == nil {
			err = m.compareOrders(&other, &worst)
		}
		if err != nil {
			return err
		}
		break
	}
	switch {
	case len(other.list) > 0:
		e := refused(RuleOrderID, "the journal has order ids of %s with other content", m.Name)
		e.Hint = insteadOf(worst, "give such a row an order id of its own")
		return other.of(e)
	case status.Newest == nil:
		return nil
	}
	fresh, err := m.fresh()
	if err != nil {
		return err
	}
	m.warnLookAlikes(fresh)
	err = m.warnLikeKnown(fresh)
	for _, i := range fresh {
		if m.marks == nil || !m.marks[i] { // worse is told of the others
			m.about(newAddress, i, "order %d pays to %s, to which nothing was paid before", m.rows[i].id, sheet.Shorten(m.rows[i].address()))
		}
	}
	return err
}

// all returns the indexes of all rows.
func (m *maker) all() []int {
	all := make([]int, len(m.rows))
	for i := range all {
		all[i] = i
	}
	return all
}

// compareOrders compares the rows with the orders in the journal, some at a time. Of the orders with other content,
// worst becomes one that may be paid besides a row with another order id.
func (m *maker) compareOrders(other *details, worst *journal.Record) error {
	grave := []State{StateRejected, StatePlanned, StateSending, StateConflict, StateUnknown}
	for rows := range slices.Chunk(m.rows, askedAtOnce) {
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = formatID(r.id)
		}
		held, err := m.ledger.Held(m.ctx, ids)
		if err != nil {
			return err
		}
		for i, r := range rows {
			o, found := held[ids[i]]
			switch {
			case !found:
			case o.Content.Key() != r.key:
				if worst.State == "" || slices.Index(grave, o.State) > slices.Index(grave, worst.State) {
					*worst = o
				}
				other.add(sheet.Wrongf(int(r.line), "order_id", "%s is %s in the journal, and is %s", o.OrderID,
					describeSent(m.money, o.Order), stateText(o.State))...)
			default:
				m.made.Known.count(o, false, false)
			}
		}
	}
	return nil
}

// fresh returns the rows with addresses to which no withdrawal in the journal was accepted.
func (m *maker) fresh() (fresh []int, err error) {
	for first := 0; first < len(m.rows); first += askedAtOnce {
		part := m.rows[first:min(first+askedAtOnce, len(m.rows))]
		addresses := make([]string, len(part))
		for i := range part {
			addresses[i] = part[i].address()
		}
		paid, err := m.ledger.Paid(m.ctx, addresses)
		if err != nil {
			return nil, err
		}
		for i, to := range addresses {
			if !paid[to] {
				fresh = append(fresh, first+i)
			}
		}
	}
	return fresh, nil
}

// batch compares the derived order ids with those of the batch's newest run.
func (m *maker) batch() error {
	if m.Batch == "" {
		return nil
	}
	runs, err := m.ledger.Runs(m.ctx)
	if err == nil {
		err = nearBatch(runs, m.Batch)
	}
	runs = slices.DeleteFunc(runs, func(r journal.Run) bool { return r.Batch != m.Batch })
	if err != nil || len(runs) == 0 {
		return err
	}
	newest := runs[len(runs)-1]
	m.made.Since = newest.Name
	err = m.since(newest)
	if m.BatchChanged && err == nil {
		err = m.warnUnderWay(runs)
	}
	return err
}

// nearBatch refuses a new name that people would take for that of another batch: its rows would be paid again.
func nearBatch(runs []journal.Run, batch string) error {
	if batch == "" || slices.ContainsFunc(runs, func(r journal.Run) bool { return r.Batch == batch }) {
		return nil
	}
	for _, run := range slices.Backward(runs) {
		if run.Batch != "" && spoken(run.Batch) == spoken(batch) {
			return refused(RuleBatchChanged, "the batch %q has nearly the name of %q, of run %s, and would be paid again", batch, run.Batch, run.Name).
				hint("write it as before if it is that batch; if not, name it otherwise")
		}
	}
	return nil
}

// spoken returns a name without what people do not tell each other: capitals, what separates words, and whether an
// accent is a character of its own.
func spoken(name string) string {
	words := strings.FieldsFunc(strings.ToLower(norm.NFKC.String(name)), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) })
	return strings.Join(words, "-")
}

// warnUnderWay warns of runs of the batch that are being applied now. A changed row has another order id, and the
// other run may be paying the old row at this moment.
func (m *maker) warnUnderWay(runs []journal.Run) error {
	appliers, err := m.ledger.Journal().Appliers(m.ctx)
	for _, a := range appliers {
		if slices.ContainsFunc(runs, func(r journal.Run) bool { return r.Name == a.Run }) {
			m.warn.add(underWay, Detail{Message: fmt.Sprintf(
				"run %s of the batch is being applied (%s on %s): it pays its rows as they were; stop it, or wait for its end, and make a new plan", a.Run, a.User, a.Host)})
		}
	}
	return err
}

// vanished describes an order of the batch that the file does not have, and warns if it was paid.
func (m *maker) vanished(o journal.Record) (what string) {
	what = describeSent(m.money, o.Order)
	if o.Note != "" {
		what += " (" + o.Note + ")"
	}
	if o.State == StateAccepted {
		m.made.Gone++
		m.warn.add(paidInstead, Detail{Message: fmt.Sprintf("the batch has paid order %s, %s, which the file no longer has: a row in its place is paid as well",
			o.OrderID, what)})
	}
	return what
}

// since refuses rows that are not those of a run, unless they may differ. A row that has vanished, and may have been
// paid, has to be settled first: it may be one of the new ones.
func (m *maker) since(run journal.Run) error {
	var changes details
	open := false
	fresh := make(map[int64]bool, len(m.rows)) // by order id; false: the run has it
	for _, r := range m.rows {
		fresh[r.id] = true
	}
	for o, err := range m.ledger.Orders(m.ctx, Filter{Run: run.Name}) {
		if err != nil {
			return err
		}
		id := parseID(o.OrderID)
		if _, has := fresh[id]; has {
			fresh[id] = false
			continue
		}
		open = open || o.State == StateUnknown || o.State == StateConflict
		changes.add(Detail{Message: fmt.Sprintf("vanished since run %s: order %s, %s, which is %s", run.Name, o.OrderID, m.vanished(o), stateText(o.State))})
	}
	for o, err := range m.ledger.Replaced(m.ctx, m.Batch, "") { // what older runs have besides is no change
		if err != nil {
			return err
		}
		if _, has := fresh[parseID(o.OrderID)]; !has {
			m.vanished(o)
		}
	}
	for _, r := range m.rows {
		if fresh[r.id] {
			changes.add(sheet.Wrongf(int(r.line), "", "new since run %s: order %d", run.Name, r.id)...)
		}
	}
	e := refused(RuleBatchChanged, "the rows of batch %s are not those of its run %s", m.Batch, run.Name).
		hint("if that is meant, add --batch-changed; another batch needs another name")
	switch {
	case open:
		return changes.of(e.hint("find out first what became of those that are unknown or in conflict with", "payout", "reconcile", run.Name))
	case m.BatchChanged || len(changes.list) == 0:
		return nil
	}
	return changes.of(e)
}
