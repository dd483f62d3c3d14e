package payout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// Changes yields how the rows of a plan differ from the last runs of the same batch or layout. A payee is known
// by note and address, by the reference, by the note, or by the address, in one currency. Files with till's
// own columns have one layout: unless the batch is the same, only their rows with a note or a reference are
// compared.
func (l *Ledger) Changes(ctx context.Context, p *Plan) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		m := p.maker(nil)
		m.ctx, m.ledger = ctx, l.ledger
		enough := errors.New("no more is wanted")
		err := m.changed(p.Name(), func(c Change) (err error) {
			if c.Kind == NewAddress {
				c.Times, err = l.ledger.TimesPaid(ctx, c.Was.Address)
			}
			if err == nil && !yield(c, nil) {
				err = enough
			}
			return err
		})
		if err != nil && err != enough {
			yield(Change{}, asError(err))
		}
	}
}

const (
	maxRuns    = 100       // with which a plan is compared
	maxRunRows = 2_000_000 // that are read for it, give or take a run
)

// unfound is a row whose payee the newer runs do not have.
type unfound struct {
	row    uint32
	unlike [keys]bool // what it is known by was paid to several addresses, so that it says nothing
}

// changed passes to each how rows differ from the newest run that has the same payee: first what differs from
// the newest run, then what differs from the one before, and at last the new payees. It leaves out the run of
// a name.
func (m *maker) changed(but string, each func(Change) error) error {
	runs, related, err := m.earlier(but)
	if err != nil || len(runs) == 0 {
		return err
	}
	var left []unfound
	for i := range m.rows { // if nothing else relates the file to the runs, only the rows that name somebody
		if r := m.planRow(i); related || r.Note+r.Reference != "" {
			left = append(left, unfound{row: uint32(i)})
		}
	}
	all, read := len(left), 0
	for _, run := range runs[:min(len(runs), maxRuns)] {
		if len(left) == 0 || read > maxRunRows {
			break
		}
		before, err := payeesOf(m.ctx, m.ledger, run, len(m.rows))
		if err != nil {
			return err
		}
		read += len(before.rows)
		if left, err = m.changedSince(&before, left, each); err != nil {
			return err
		}
	}
	if len(left) == all && !related { // the file is about other people
		return nil
	}
	for _, u := range left {
		if err := each(Change{Kind: NewPayee, Row: m.planRow(int(u.row)), Run: runs[0].Name, at: int(u.row)}); err != nil {
			return err
		}
	}
	return nil
}

// changedSince passes to each how rows differ from a run. It returns those whose payees the run does not have, in
// the memory of rows.
func (m *maker) changedSince(run *payees, rows []unfound, each func(Change) error) (left []unfound, err error) {
	left = rows[:0]
	for _, u := range rows {
		changes, known := run.changes(m.planRow(int(u.row)), &u)
		if !known {
			left = append(left, u)
		}
		for _, change := range changes {
			change.at = int(u.row)
			if err := each(change); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// earlier returns the runs of the same batch or layout, but for the one that is left out, the newest first. Files
// with till's own columns have one layout: related reports whether more than that relates the runs to the file.
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

// payees has what a run paid, by what a payee is known by. A run may have a million rows, so it is small.
type payees struct {
	run   string
	seed  maphash.Seed
	rows  []paidRow
	texts []byte // the address and the memo of each row
	coins []coin
	keys  []payee // by hash
}

type paidRow struct {
	minor              int64
	address, memo, end uint32 // where they begin in the texts, and the memo ends
	coin               uint32
}

// A payee is what some rows are known by: the note with the address and the memo, the reference, the note, or
// the address with the memo, and the currency.
type payee struct {
	hash   uint64
	row    uint32 // the one of the largest amount
	shared uint32 // twice how many rows there are besides, and 1 more if they go to different addresses or memos
}

func (k payee) others() int  { return int(k.shared >> 1) }
func (k payee) unlike() bool { return k.shared&1 == 1 }

// keys is how many things a row is known by.
const keys = 4

// says reports whether a payee says anything about another row. What many rows have in common, and what goes to
// several addresses, is no name.
func (p *payees) says(k payee) bool { return !k.unlike() || k.others()+1 <= len(p.rows)/3 }

// payeesOf reads the rows of a run, which are likely to be about n.
func payeesOf(ctx context.Context, l *journal.Ledger, run journal.Run, n int) (payees, error) {
	p := payees{run: run.Name, seed: maphash.MakeSeed()} // growing the slices would take twice the memory
	p.rows, p.texts, p.keys = make([]paidRow, 0, n), make([]byte, 0, 48*n), make([]payee, 0, 3*n)
	for r, err := range l.SentRows(ctx, run) {
		if err != nil {
			return p, err
		}
		c := coin{currency: r.Currency, unit: r.Amount.Unit()}
		i := slices.Index(p.coins, c)
		if i < 0 {
			i, p.coins = len(p.coins), append(p.coins, c)
		}
		address := len(p.texts)
		memo := address + len(r.Address)
		p.texts = append(append(p.texts, r.Address...), r.Memo...)
		for _, h := range p.hashes(r.Reference, r.Note, r.Content) {
			if h != 0 {
				p.keys = append(p.keys, payee{hash: h, row: uint32(len(p.rows))})
			}
		}
		p.rows = append(p.rows, paidRow{r.Amount.Minor, uint32(address), uint32(memo), uint32(len(p.texts)), uint32(i)})
	}
	slices.SortFunc(p.keys, func(a, b payee) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row)) })
	kept := p.keys[:0]
	for _, k := range p.keys {
		if n := len(kept); n == 0 || kept[n-1].hash != k.hash {
			kept = append(kept, k)
			continue
		}
		same := &kept[len(kept)-1]
		a, b := p.paid(same.row), p.paid(k.row)
		if same.shared += 2; a.Memo != b.Memo || address.Canonical(a.Address) != address.Canonical(b.Address) {
			same.shared |= 1
		}
		if p.rows[k.row].minor > p.rows[same.row].minor {
			same.row = k.row
		}
	}
	p.keys = kept
	return p, nil
}

// hashes returns those of what a row is known by, in the order in which they count; 0: it has no such text.
func (p *payees) hashes(reference, note string, c Content) (all [keys]uint64) {
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
			all[i] = maphash.Comparable(p.seed, k)
		}
	}
	return all
}

// paid returns what a row of the run paid.
func (p *payees) paid(row uint32) Content {
	r := p.rows[row]
	c := p.coins[r.coin]
	return Content{Currency: c.currency, Amount: api.Amount{Kind: c.unit.Kind, Code: c.unit.Code, Minor: r.minor},
		Address: string(p.texts[r.address:r.memo]), Memo: string(p.texts[r.memo:r.end])}
}

// changes returns how a row differs from what was paid to the same payee, if there was one.
func (p *payees) changes(r PlanRow, u *unfound) (all []Change, found bool) {
	to := contentOf(r.CreateWithdrawal)
	for by, h := range p.hashes(r.Reference, r.Note, to) {
		i, found := slices.BinarySearchFunc(p.keys, h, func(k payee, h uint64) int { return cmp.Compare(k.hash, h) })
		u.unlike[by] = u.unlike[by] || found && !p.says(p.keys[i])
		if h == 0 || !found || u.unlike[by] {
			continue
		}
		was := p.paid(p.keys[i].row)
		add := func(kind string) { all = append(all, Change{Kind: kind, Row: r, Was: was, Run: p.run}) }
		switch {
		case address.Canonical(was.Address) != address.Canonical(to.Address):
			add(NewAddress)
		case was.Memo != to.Memo:
			add(NewMemo)
		}
		pays, before := to.Canonical().Amount, was.Canonical().Amount
		less := p.keys[i].others() == 0 && before.Minor-pays.Minor > before.Minor/2
		if pays.Unit() == before.Unit() && (less || pays.Minor-before.Minor > before.Minor/2) {
			add(NewAmount)
		}
		return all, true
	}
	return nil, false
}

// changes warns of what has changed since the last runs of the batch or layout.
func (m *maker) changes() error {
	return m.changed("", func(c Change) error {
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
		return nil
	})
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

// LookAlike returns an accepted order whose address begins and ends like an address and is another one; empty: there
// is none, or the address itself was paid.
func (l *Ledger) LookAlike(ctx context.Context, to string) (orderID string, err error) {
	key := lookOf(to)
	if times, err := l.ledger.TimesPaid(ctx, to); err != nil || times > 0 || key == (look{}) {
		return "", asError(err)
	}
	for paid, err := range l.ledger.AcceptedAddresses(ctx) {
		if err != nil {
			return "", asError(err)
		}
		if lookOf(paid[1]) == key {
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
