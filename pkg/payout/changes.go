package payout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	"github.com/go-json-experiment/json"
)

// The kinds of changes.
const (
	NewPayee   = "new payee"   // no earlier run has such a payee
	NewAddress = "new address" // the same payee was paid to another address the last time
	NewMemo    = "new memo"    // the same address, which the payees of an exchange share
	NewAmount  = "new amount"  // it moved by more than half of what the same payee was paid the last time
)

// A Change is how a row of a plan differs from the last run that paid the same payee.
type Change struct {
	Kind  string // NewPayee, NewAddress, NewMemo or NewAmount
	Row   PlanRow
	Was   Content // what that run paid; zero for a new payee
	Times int     // how many orders were accepted for the address that it paid
	Run   string  // that run; for a new payee, the last one

	at int // index of the row
}

// Who returns the name by which a person knows the row.
func (c Change) Who() string {
	switch note, reference := sheet.Shorten(c.Row.Note), sheet.Shorten(c.Row.Reference); {
	case note != "" && reference != "":
		return note + " (" + reference + ")"
	case note != "" || reference != "":
		return note + reference
	}
	return "order " + c.Row.ExternalOrderID
}

// Changes yields how the rows of a plan differ from the last runs of the same batch or layout. A payee is
// known by note and address, by the reference, by the note, or by the address, in one currency. Files with
// till's own columns have one layout: unless the batch is the same, only their rows with a note or a
// reference are compared.
func (l *Ledger) Changes(ctx context.Context, p *Plan) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		m := p.maker(nil)
		m.ctx, m.ledger = ctx, l.ledger
		for change, err := range m.changed(p.Name()) {
			if err == nil && change.Kind == NewAddress {
				change.Times, err = l.ledger.TimesPaid(ctx, change.Was.Address)
			}
			if !yield(change, asError(err)) || err != nil {
				return
			}
		}
	}
}

const (
	maxRuns    = 100       // with which a plan is compared
	maxRunRows = 2_000_000 // that are read for it, give or take a run
)

// keys is how many things a row is known by.
const keys = 4

// unfound is a row whose payee the newer runs do not have.
type unfound struct {
	row    uint32
	unlike [keys]bool // what it is known by was paid to several addresses, so that it says nothing
}

// changed yields how rows differ from the newest run that has the same payee: first what differs from the
// newest run, then what differs from the one before, and at last the new payees. It leaves out the run of a
// name.
func (m *maker) changed(but string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		runs, related, err := m.earlier(but)
		if err != nil {
			yield(Change{}, err)
		}
		if err != nil || len(runs) == 0 {
			return
		}
		var left []unfound
		for i := range m.rows { // if nothing else relates the file to the runs, only the rows that name somebody
			if r := m.planRow(i); related || r.Note+r.Reference != "" {
				left = append(left, unfound{row: uint32(i)})
			}
		}
		all, read := len(left), int32(0)
		for _, run := range runs[:min(len(runs), maxRuns)] {
			if len(left) == 0 || read > maxRunRows {
				break
			}
			paid, rows, err := m.paidBy(run, left)
			if err != nil {
				yield(Change{}, err)
				return
			}
			read += rows
			still := left[:0]
			for _, u := range left {
				changes, known := m.compare(&u, paid, rows)
				if !known {
					still = append(still, u)
				}
				for _, change := range changes {
					if change.Run = run.Name; !yield(change, nil) {
						return
					}
				}
			}
			left = still
		}
		if len(left) == all && !related { // the file is about other people
			return
		}
		for _, u := range left {
			if !yield(Change{Kind: NewPayee, Row: m.planRow(int(u.row)), Run: runs[0].Name, at: int(u.row)}, nil) {
				return
			}
		}
	}
}

// earlier returns the runs of the same batch or layout, but for the one that is left out, the newest first.
// Files with till's own columns have one layout: related reports whether more than that relates the runs to
// the file.
func (m *maker) earlier(but string) (runs []journal.Run, related bool, err error) {
	all, err := m.ledger.Runs(m.ctx)
	layout := layoutKey(m.made.Layout)
	related = layout != ""
	for _, r := range slices.Backward(all) {
		sameBatch := m.made.Batch != "" && r.Batch == m.made.Batch
		if r.Name != but && (sameBatch || r.Layout == layout) {
			runs, related = append(runs, r), related || sameBatch
		}
	}
	return runs, related, err
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

// A payee is what some rows of a run are known by.
type payee struct {
	was    *Content // what the one of the largest amount paid; nil: there is none
	rows   int32
	unlike bool // they go to different addresses or memos
}

// paidBy returns what a run paid, by the hashes of what the rows of the plan are known by, and how many rows
// the run has. It may have a million, so the others are not kept.
func (m *maker) paidBy(run journal.Run, rows []unfound) (paid map[uint64]payee, count int32, err error) {
	paid = make(map[uint64]payee, len(rows))
	for _, u := range rows {
		r := m.planRow(int(u.row))
		for _, h := range m.hashes(r.Reference, r.Note, contentOf(r.CreateWithdrawal)) {
			paid[h] = payee{}
		}
	}
	delete(paid, 0)
	for r, err := range m.ledger.SentRows(m.ctx, run) {
		if err != nil {
			return nil, 0, err
		}
		count++
		c := r.Content
		for _, h := range m.hashes(r.Reference, r.Note, c) {
			p, wanted := paid[h]
			if !wanted {
				continue
			}
			if p.was != nil && (c.Memo != p.was.Memo || address.Canonical(c.Address) != address.Canonical(p.was.Address)) {
				p.unlike = true
			}
			if p.was == nil || c.Amount.Minor > p.was.Amount.Minor {
				p.was = &c
			}
			p.rows++
			paid[h] = p
		}
	}
	return paid, count, nil
}

// hashes returns those of what a row is known by, in the order in which they count: the note with the address
// and the memo, the reference, the note, and the address with the memo, each with the currency; 0: it has no
// such text.
func (m *maker) hashes(reference, note string, c Content) (all [keys]uint64) {
	c = c.Canonical()
	type key struct {
		by         int
		currency   api.Currency
		text, memo string
	}
	plain := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
	note, reference = plain(note), plain(reference)
	name := cmp.Or(note, reference)
	for i, k := range [keys]key{{text: name + "\n" + c.Address, memo: c.Memo}, {text: reference}, {text: note}, {text: c.Address, memo: c.Memo}} {
		if k.by, k.currency = i, c.Currency; k.text != "" && (i > 0 || name != "") {
			all[i] = maphash.Comparable(m.seed, k)
		}
	}
	return all
}

// compare returns how a row differs from what a run of some rows paid to the same payee, if it paid one. What
// many rows have in common, and what goes to several addresses, is no name.
func (m *maker) compare(u *unfound, paid map[uint64]payee, rows int32) (all []Change, found bool) {
	r := m.planRow(int(u.row))
	to := contentOf(r.CreateWithdrawal)
	for by, h := range m.hashes(r.Reference, r.Note, to) {
		p := paid[h]
		if p.was == nil {
			continue
		}
		if u.unlike[by] = u.unlike[by] || p.unlike && p.rows > rows/3; u.unlike[by] {
			continue
		}
		add := func(kind string) { all = append(all, Change{Kind: kind, Row: r, Was: *p.was, at: int(u.row)}) }
		switch {
		case address.Canonical(p.was.Address) != address.Canonical(to.Address):
			add(NewAddress)
		case p.was.Memo != to.Memo:
			add(NewMemo)
		}
		pays, before := to.Canonical().Amount, p.was.Canonical().Amount
		less := p.rows == 1 && before.Minor-pays.Minor > before.Minor/2
		if pays.Unit() == before.Unit() && (less || pays.Minor-before.Minor > before.Minor/2) {
			add(NewAmount)
		}
		return all, true
	}
	return nil, false
}

// changes warns of what has changed since the last runs of the batch or layout.
func (m *maker) changes() error {
	for c, err := range m.changed("") {
		if err != nil {
			return err
		}
		switch who, i := c.Who(), c.at; c.Kind {
		case NewPayee:
			m.about(newPayee, i, "%s: a payee in %s that the last runs do not have", who, c.Row.Currency.Code)
		case NewAddress:
			last := "the last time"
			if len(m.warn[changedAddress].list) < maxWarnings {
				times, err := m.ledger.TimesPaid(m.ctx, c.Was.Address)
				if err != nil {
					return err
				}
				if times > 1 {
					last = fmt.Sprintf("the last %d times", times)
				}
			}
			m.about(changedAddress, i, "%s: another address than %s: %s, and not %s", who, last,
				sheet.Shorten(c.Row.Address), sheet.Shorten(c.Was.Address))
		case NewMemo:
			m.about(changedAddress, i, "%s: another memo than the last time: %q, and not %q", who, c.Row.Memo, c.Was.Memo)
		case NewAmount:
			m.about(movedAmount, i, "%s: %s, and %s the last time", who, m.money.Format(c.Row.Amount), m.money.Format(c.Was.Amount))
		}
	}
	return nil
}

// A look is what people compare of an address: its beginning, and its end.
type look [16]byte

// lookOf returns the look of an address. It is zero for a text that is too short to be taken for another one.
func lookOf(text string) (l look) {
	text = address.Canonical(text)
	if len(text) < 20 {
		return l
	}
	begin := 4
	if address.IsBech32Shape(text) { // the network is no part of the address
		begin += strings.Index(text, "1")
	}
	copy(l[copy(l[:], text[:begin]):], text[len(text)-4:])
	return l
}

// LookAlike returns an accepted order whose address begins and ends like an address and is another one;
// empty: there is none, or the address itself was paid.
func (l *Ledger) LookAlike(ctx context.Context, to string) (orderID string, err error) {
	key := lookOf(to)
	if key == (look{}) {
		return "", nil
	}
	for paid, err := range l.ledger.AcceptedAddresses(ctx) {
		switch {
		case err != nil:
			return "", asError(err)
		case address.Canonical(paid[1]) == address.Canonical(to):
			return "", nil
		case lookOf(paid[1]) == key:
			orderID = paid[0]
		}
	}
	return orderID, nil
}

// warnLookAlikes warns of new addresses that look like a known one, or like another one of the file. Somebody
// may have sent a little money from such an address, for it to be copied.
func (m *maker) warnLookAlikes(fresh []int) {
	first := make(map[look]int, len(fresh)) // the first row of each look
	for _, i := range fresh {
		to := m.rows[i].address()
		key := lookOf(to)
		before, found := first[key]
		switch {
		case key == look{}:
		case !found:
			first[key] = i
		case address.Canonical(to) != address.Canonical(m.rows[before].address()):
			m.about(lookAlikes, i, "order %d pays to %s, which looks like the address of order %d on line %d, but is another address",
				m.rows[i].id, sheet.Shorten(to), m.rows[before].id, m.rows[before].line)
		}
	}
}

// warnLikeKnown warns of addresses to which nothing was paid, and that look like one that was paid.
func (m *maker) warnLikeKnown(fresh []int) error {
	looks := make(map[look]bool, len(fresh))
	for _, i := range fresh {
		if key := lookOf(m.rows[i].address()); key != (look{}) {
			looks[key] = true
		}
	}
	if len(looks) == 0 {
		return nil
	}
	known := map[look]string{} // an order that was paid to such an address; nothing was paid to those of the rows
	for paid, err := range m.ledger.AcceptedAddresses(m.ctx) {
		if err != nil {
			return err
		}
		if key := lookOf(paid[1]); looks[key] && known[key] == "" {
			known[key] = paid[0]
		}
	}
	for _, i := range fresh {
		if id := known[lookOf(m.rows[i].address())]; id != "" {
			m.about(lookAlikes, i, "order %d pays to %s, which looks like the address of order %s, but is another address",
				m.rows[i].id, sheet.Shorten(m.rows[i].address()), id)
		}
	}
	return nil
}
