package payout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/pkg/payout/sheet"
	"github.com/go-json-experiment/json"
)

// The kinds of changes.
const (
	NewPayee   = "new payee"   // the last run has nobody like that
	NewAddress = "new address" // the last run paid the same payee to another address
	NewAmount  = "new amount"  // it moved by more than half of what the last run paid the same payee
)

// A Change is how a row of a plan differs from the last run of the same batch or layout.
type Change struct {
	Kind  string // NewPayee, NewAddress or NewAmount
	Row   PlanRow
	Was   Content // what the last run paid; zero for a new payee
	Times int     // how many orders were accepted for the address that the last run paid
	Run   string  // the last run
}

// Who returns the name by which a person knows the row.
func (c Change) Who() string { return whoOf(c.Row) }

func whoOf(r PlanRow) string {
	switch {
	case r.Note != "":
		return sheet.Shorten(r.Note)
	case r.Reference != "":
		return sheet.Shorten(r.Reference)
	}
	return "order " + r.ExternalOrderID
}

// Changes yields how the rows of a plan differ from the last run of the same batch or, if the plan has one, of the
// same layout. A payee is known by the reference, else by the note, else by the address. It yields nothing if there
// was no such run.
func (l *Ledger) Changes(ctx context.Context, p *Plan) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		run, err := lastRun(ctx, l.ledger, p.Batch, layoutKey(p.Layout), p.Name())
		if err != nil {
			yield(Change{}, asError(err))
			return
		}
		if run.Name == "" {
			return
		}
		before, err := payeesOf(ctx, l.ledger, run)
		if err != nil {
			yield(Change{}, asError(err))
			return
		}
		for _, r := range p.Rows {
			for _, c := range before.changes(r) {
				if c.Run = run.Name; c.Kind == NewAddress {
					c.Times, err = l.ledger.TimesPaid(ctx, c.Was.Address)
				}
				if !yield(c, asError(err)) || err != nil {
					return
				}
			}
		}
	}
}

// layoutKey returns a text that is equal for equal layouts; empty: there is none.
func layoutKey(l *sheet.Layout) string {
	if l == nil {
		return ""
	}
	text, _ := json.Marshal(l, json.Deterministic(true)) // it has texts, numbers and a map of texts
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// lastRun returns the last run of a batch or layout, apart from one; its name is empty if there is none.
func lastRun(ctx context.Context, l *journal.Ledger, batch, layout, but string) (journal.Run, error) {
	runs, err := l.Runs(ctx)
	for _, r := range slices.Backward(runs) {
		if r.Name != but && (batch != "" && r.Batch == batch || layout != "" && r.Layout == layout) {
			return r, err
		}
	}
	return journal.Run{}, err
}

// payees has the rows of a run by what a payee is known by. A row is nil if several payees are known by the same.
type payees struct{ byReference, byNote, byAddress map[string]*journal.Row }

func payeesOf(ctx context.Context, l *journal.Ledger, run journal.Run) (payees, error) {
	p := payees{map[string]*journal.Row{}, map[string]*journal.Row{}, map[string]*journal.Row{}}
	enter := func(in map[string]*journal.Row, key string, r *journal.Row) {
		if _, doubled := in[key]; doubled {
			r = nil
		}
		in[key] = r
	}
	for r, err := range l.RunRows(ctx, run) {
		if err != nil {
			return p, err
		}
		enter(p.byReference, r.Reference, &r)
		enter(p.byNote, r.Note, &r)
		enter(p.byAddress, address.Canonical(r.Address), &r)
	}
	return p, nil
}

// changes returns how a row differs from what was paid to the same payee.
func (p payees) changes(r PlanRow) (all []Change) {
	was, known := p.byReference[r.Reference]
	if !known || r.Reference == "" {
		was, known = p.byNote[r.Note]
		known = known && r.Note != ""
	}
	if !known {
		was, known = p.byAddress[address.Canonical(r.Address)]
	}
	switch {
	case !known:
		return []Change{{Kind: NewPayee, Row: r}}
	case was == nil:
		return nil
	}
	if address.Canonical(was.Address) != address.Canonical(r.Address) {
		all = append(all, Change{Kind: NewAddress, Row: r, Was: was.Content})
	}
	if minor, before := r.Amount.Minor, was.Amount.Minor; was.Amount.Unit() == r.Amount.Unit() &&
		(minor-before > before/2 || before-minor > before/2) {
		all = append(all, Change{Kind: NewAmount, Row: r, Was: was.Content})
	}
	return all
}

// changes warns of what has changed since the last run of the batch or layout.
func (m *maker) changes() error {
	run, err := lastRun(m.ctx, m.ledger, m.Batch, layoutKey(m.made.Plan.Layout), "")
	if err != nil || run.Name == "" {
		return err
	}
	before, err := payeesOf(m.ctx, m.ledger, run)
	if err != nil {
		return err
	}
	for i := range m.rows {
		r := m.planRow(i)
		for _, c := range before.changes(r) {
			switch who := whoOf(r); c.Kind {
			case NewPayee:
				m.about(newPayee, i, "%s: a payee that run %s does not have", who, run.Name)
			case NewAddress:
				times := 0
				if len(m.warn[changedAddress].list) < maxWarnings {
					if times, err = m.ledger.TimesPaid(m.ctx, c.Was.Address); err != nil {
						return err
					}
				}
				m.about(changedAddress, i, "%s: another address than %s: %s, and not %s", who, lastTimes(times),
					sheet.Shorten(r.Address), sheet.Shorten(c.Was.Address))
			case NewAmount:
				m.about(movedAmount, i, "%s: %s, and %s the last time", who, m.money.Format(r.Amount), m.money.Format(c.Was.Amount))
			}
		}
	}
	return nil
}

func lastTimes(n int) string {
	if n < 2 {
		return "the last time"
	}
	return fmt.Sprintf("the last %d times", n)
}

// lookAlike returns what people compare of an address: its beginning, and its end. It is empty for a text
// that is too short to be taken for another one.
func lookAlike(text string) string {
	text = address.Canonical(text)
	if len(text) < 20 {
		return ""
	}
	begin := 4
	if address.IsBech32Shape(text) { // the network is no part of the address
		begin += strings.Index(text, "1")
	}
	return text[:begin] + " " + text[len(text)-4:]
}

// warnLookAlikes warns of new addresses that look like a known one, or like another one of the file. Somebody
// may have sent a little money from such an address, for it to be copied.
func (m *maker) warnLookAlikes(fresh []int, history bool) error {
	alike := make(map[string][]int, len(fresh))
	for _, i := range fresh {
		if key := lookAlike(m.rows[i].address()); key != "" {
			alike[key] = append(alike[key], i)
		}
	}
	other := func(i int, than string) bool {
		return address.Canonical(m.rows[i].address()) != address.Canonical(than)
	}
	for _, i := range fresh {
		rows := alike[lookAlike(m.rows[i].address())]
		if len(rows) > 1 && other(i, m.rows[rows[0]].address()) {
			first := &m.rows[rows[0]]
			m.about(lookAlikes, i, "order %d pays to %s, which looks like the address of order %d on line %d, but is another address",
				m.rows[i].id, sheet.Shorten(m.rows[i].address()), first.id, first.line)
		}
	}
	if !history || len(alike) == 0 {
		return nil
	}
	told := map[int]bool{}
	for known, err := range m.ledger.AcceptedAddresses(m.ctx) {
		if err != nil {
			return err
		}
		for _, i := range alike[lookAlike(known[1])] {
			if other(i, known[1]) && !told[i] {
				told[i] = true
				m.about(lookAlikes, i, "order %d pays to %s, which looks like the address of order %s, but is another address",
					m.rows[i].id, sheet.Shorten(m.rows[i].address()), known[0])
			}
		}
	}
	return nil
}
