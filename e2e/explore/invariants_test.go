package explore

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"example.com/till/internal/journal"
	"example.com/till/pkg/payout"
)

// An inspector reads the journal directly, without the code that is explored.
type inspector struct {
	db  *sql.DB
	now map[string]entry // by order id, as of the last commit
}

// An entry is what the journal says about an order.
type entry struct {
	state, id string
	content   string
	reason    string
	notSent   int // how often a person has decided that it was not sent
	paidAs    bool
}

func inspect(place string) (*inspector, error) {
	kind := "sqlite"
	if journal.IsPostgres(place) {
		kind = "pgx"
	}
	db, err := sql.Open(kind, place)
	if err != nil {
		return nil, err
	}
	i := &inspector{db: db}
	i.now, err = i.read()
	return i, err
}

func (i *inspector) close() error { return i.db.Close() }

func (i *inspector) read() (map[string]entry, error) {
	all := map[string]entry{}
	rows, err := i.db.Query(`SELECT order_id, state, withdrawal, content, reason, decided,
		(SELECT count(*) FROM events WHERE order_row = orders.id AND what = 'not-sent') FROM orders`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, decided string
		var e entry
		if err := rows.Scan(&id, &e.state, &e.id, &e.content, &e.reason, &decided, &e.notSent); err != nil {
			return nil, err
		}
		e.paidAs = decided == "paid-as"
		all[id] = e
	}
	return all, rows.Err()
}

// recorded checks what a process has just committed, and returns it for the story.
func (r *run) recorded(p *process) (told string) {
	now, err := r.journal.read()
	if err != nil {
		r.violated("the journal cannot be read: %v", err)
		return ""
	}
	before := r.journal.now
	r.journal.now = now
	for _, id := range slices.Sorted(maps.Keys(now)) {
		was, is := before[id], now[id]
		if was == is {
			continue
		}
		r.changed[id] = len(r.steps)
		told += fmt.Sprintf(": order %s is %s", id, strings.TrimSpace(is.state+" "+is.id))
		if is.state == "conflict" {
			told += " (" + is.reason + ")"
		}
		r.moved(p, id, was, is)
		if is.state == "sending" {
			r.owner[id], r.claimed[id] = p, r.clock()
			r.mayClaim(p, id)
		}
	}
	r.begun()
	for id, was := range before {
		if _, there := now[id]; !there && was.state != "planned" { // a run that has not begun leaves no rows
			r.violated("order %s was %s, and is forgotten", id, was.state)
		}
	}
	r.check()
	return told
}

// moved checks a change that a process has made to an order.
func (r *run) moved(p *process, id string, was, is entry) {
	owner := r.owner[id]
	decided, since := is.notSent > was.notSent, r.clock().Sub(r.sent[id])
	switch {
	case was.state == "sending" && owner != p && !owner.dead && !owner.ended && !owner.lost():
		r.violated("%s has changed order %s, which %s is sending", p.name, id, owner.name)
	case was.state == "unknown" && (is.state == "planned" || is.state == "rejected") && !decided &&
		owner != p:
		r.violated("order %s was unknown, and %s calls it %s", id, p.name, is.state)
	case was.state == "accepted" && is.state == "unknown" && r.service.denied[was.id]:
	case was.state == "accepted" && !was.paidAs && is.state != "accepted" && is.state != "conflict":
		r.violated("order %s was accepted, and is %s", id, is.state)
	case decided && !r.sent[id].IsZero() && since < settleAfter:
		r.violated("%s has decided about order %s %s after it was sent", p.name, id, since)
	case decided && !r.sent[id].IsZero() && p.listed > 0 && p.listedAt.Sub(r.sent[id]) < settleAfter:
		r.violated("%s has decided about order %s by a list that it read %s after it was sent", p.name, id,
			p.listedAt.Sub(r.sent[id]))
	case decided && r.shown[id] != "":
		r.violated("%s has decided that order %s was not sent, and %s had found it on the list", p.name, id, r.shown[id])
	case decided && p.listed == 0:
		r.violated("%s has decided about order %s and has read no list", p.name, id)
	case decided && r.service.skew > time.Minute && r.jumped < p.listed:
		r.violated("%s has decided about order %s by a clock that is wrong by %s", p.name, id, r.service.skew)
	case is.state == "sending" && was.state != "sending" && r.twin(id) != "":
		r.violated("order %s is sent while order %s, with the same content, is unknown", id, r.twin(id))
	case was.state == "accepted" && is.state == "accepted" && was.id != is.id && !is.paidAs:
		r.violated("order %s was accepted as %s, and is accepted as %s", id, was.id, is.id)
	}
}

// settleAfter is for how long no one may decide that an order was not sent.
const settleAfter = 15 * time.Minute

// twin returns another order with the same content that is unknown; empty: there is none.
func (r *run) twin(id string) string {
	for other, e := range r.journal.now {
		if other != id && (e.state == "unknown" || e.state == "sending" && r.owner[other].dead) &&
			e.content == r.journal.now[id].content {
			return other
		}
	}
	return ""
}

// lost reports whether a process has lost the lock that shows others that it is alive, because its connection
// to a database broke.
func (p *process) lost() bool {
	return slices.ContainsFunc(p.conns, func(c *conn) bool { return c.broken && !c.file })
}

// check compares the journal with the service. It is called after everything that changes one of them.
func (r *run) check() {
	if r.service == nil {
		return
	}
	paid := map[string]int{}
	for _, w := range slices.Concat(r.service.rows, r.service.late) { // what is late may still be paid
		paid[w.orderID]++
	}
	for _, id := range slices.Sorted(maps.Keys(paid)) {
		if n := paid[id]; n > 1+r.journal.now[id].notSent {
			r.violated("order %s is paid %d times", id, n)
		}
	}
	for _, w := range slices.Concat(r.service.rows, r.service.late) {
		if w.by == nil {
			continue
		}
		switch e := r.journal.now[w.orderID]; {
		case e.notSent > 0:
		case e.state == "", e.state == "planned", e.state == "rejected":
			r.violated("order %s may be paid, and the journal has it as %q", w.orderID, e.state)
		}
	}
	accepted, merchants := map[string]string{}, map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(r.journal.now)) {
		e := r.journal.now[id]
		if other := accepted[e.id]; e.state == "accepted" && other != "" {
			r.violated("the journal has the orders %s and %s with the same id %q", other, id, e.id)
		} else if e.state == "accepted" {
			accepted[e.id] = id
		}
		for _, w := range r.service.rows {
			if e.state == "accepted" && w.id == e.id {
				merchants[w.merchant] = true
			}
		}
		if len(merchants) > 1 {
			r.violated("the journal has orders of one account as accepted that belong to several merchants")
		}
		if e.state == "accepted" && !r.service.has(e.id, id) && !r.service.lied && r.service.phantom[e.id] == nil {
			r.violated("the journal has order %s as accepted with the id %q, and the service does not",
				id, e.id)
		}
	}
}

func (s *service) has(id, orderID string) bool {
	return slices.ContainsFunc(s.rows, func(w *withdrawal) bool { return w.id == id && w.orderID == orderID })
}

// left checks that a create that leaves is in the journal.
func (r *run) left(w *withdrawal) {
	r.sent[w.orderID] = w.at
	if w.late {
		r.violated("%s has sent order %s after the log of the journal was removed", w.by.name, w.orderID)
	}
	r.asPlanned(w)
	r.paidByOne(w)
	r.mayGoOn(w)
	e := r.journal.now[w.orderID]
	if e.state != "sending" && e.state != "unknown" || r.owner[w.orderID] != w.by {
		r.violated("%s has sent order %s without a record of it: the journal has it as %q", w.by.name,
			w.orderID, e.state)
	}
	if d := w.at.Sub(r.claimed[w.orderID]); d > 5*time.Second {
		r.violated("%s has sent order %s %s after its record", w.by.name, w.orderID, d)
	}
}

// reports checks what a process reports about an order that it was to send.
func (p *process) reports(orderID string, minor int64, id string, err error) {
	r := p.r
	if p.dead {
		return
	}
	p.saw("reports", id, err)
	if owner := r.owner[orderID]; errors.Is(err, payout.Busy) && owner != nil && owner.stage < p.stage {
		r.violated("%s reports that order %s is being sent, and %s ended before", p.name, orderID, owner.name)
	}
	said := "was accepted as " + id
	if err != nil {
		said = "has an error: " + err.Error()
	}
	r.tell("%s reports that order %s %s", p.name, orderID, said)
	if err == nil && id == "" {
		r.violated("%s reports neither an id nor an error for order %s", p.name, orderID)
	}
	if r.service.lied {
		return
	}
	if id != "" && !r.service.has(id, orderID) && r.service.phantom[id] == nil {
		r.violated("%s reports the id %s for order %s, which the service does not have", p.name, id, orderID)
	}
	if err == nil || errors.Is(err, payout.Unknown) || errors.Is(err, payout.Conflict) {
		gone := r.service.phantom[id] != nil || r.service.denied[id] // meanwhile, another process may have asked for it
		if e := r.journal.now[orderID]; err == nil && (e.state != "accepted" || e.id != id) &&
			!(gone && e.state == "unknown") {
			r.violated("%s reports that order %s was accepted, and the journal has it as %s", p.name,
				orderID, e.state)
		}
		for _, w := range r.service.rows {
			shown := w.altered == 0 || p.found[orderID] > w.altered // as it is now
			if err == nil && w.id == id && minor != 0 && w.amount() != inBtc(minor) && shown {
				r.violated("%s reports that %d were paid, and the service has %s", p.name, minor, w.amount())
			}
		}
		return
	}
	if r.owner[orderID] == p && r.journal.now[orderID].state == "unknown" {
		r.violated("%s reports that order %s was not sent, and the journal has it as unknown", p.name, orderID)
	}
	for _, w := range slices.Concat(r.service.rows, r.service.late) {
		if w.by == p && w.orderID == orderID && w.id != id {
			r.violated("%s reports that order %s was not sent, and it was", p.name, orderID)
		}
	}
}
