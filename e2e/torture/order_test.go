//go:build unix

package torture

import (
	"fmt"
	"strings"
	"time"
)

// order is a withdrawal and the state of everything that its plan does to it.
type order struct {
	*world
	plan
	number int
	tried  map[int]*attempt
	story  []string
	killed int
	// The last command said that the outcome of this content is unknown, and nothing has changed that since.
	unknown  *content
	doubted  *content // may have been taken under the id, so nothing else may be sent
	refused  int      // attempts in a row that sent nothing: something must be settled first
	accepted bool
}

func (w *world) torture(number int) {
	o := &order{world: w, plan: draw(w.seed, number), number: number, tried: map[int]*attempt{}}
	for _, s := range o.steps {
		if o.killed >= o.kills || o.accepted || o.stopped() {
			break
		}
		o.do(s)
	}
	if o.failed() {
		return
	}
	o.settle()
	o.check()
}

// wrong reports a violation, with everything that was done to the order.
func (o *order) wrong(format string, args ...any) {
	name := o.orderID
	if name == "" {
		name = "without an id"
	}
	o.violate("order %s (number %d, %s): %s\n  %s", name, o.number, o.content[0].address, fmt.Sprintf(format, args...),
		strings.Join(o.story, "\n  "))
}

// ended records an attempt and checks its output.
func (o *order) ended(a *attempt) *attempt {
	o.tried[a.n] = a
	printed := strings.TrimSpace(a.stdout.String())
	o.story = append(o.story, fmt.Sprintf("%s [%s ] exit %d, out %q, err %q", a.what, a.shot, a.exit, printed,
		strings.TrimSpace(a.stderr.String())))
	if o.refused++; a.exit == -1 || a.exit >= 30 {
		o.refused = 0
	}
	switch a.exit {
	case -1:
		o.killed++
	case 0:
		if printed == "" {
			o.wrong("it ended well, and printed no id")
		}
	case 12, 13, 14, 20, 30, 31, 32, 40, 41:
		if printed != "" {
			o.wrong("it ended with %d, and printed an id", a.exit)
		}
	default:
		o.wrong("it ended with %d", a.exit)
	}
	if printed != "" && (a.exit == 0 || a.exit == -1) { // it must be recorded by now
		found := false
		for _, r := range o.rows(o.content[0].address) {
			found = found || r.State == "accepted" && r.ID == printed
		}
		if !found {
			o.wrong("it printed %s, and the journal does not have it as accepted", printed)
		}
	}
	return a
}

func (o *order) do(s step) {
	// More attempts would be refused again and kill nothing.
	if o.refused > 1 && (s.what == doCreate || s.what == doTwo) {
		return
	}
	switch s.what {
	case doCreate:
		o.once(s.shots[0])
	case doTwo:
		both := o.meeting(2)
		first := o.create(o.orderID, o.content[which(s.shots[0])], s.shots[0], both)
		second := o.create(o.orderID, o.content[which(s.shots[1])], s.shots[1], both)
		ended := make(chan struct{})
		go func() {
			o.end(first)
			close(ended)
		}()
		o.end(second)
		<-ended
		o.ended(first)
		o.ended(second)
		o.unknown = nil
		for _, a := range []*attempt{first, second} {
			o.accepted = o.accepted || a.exit == 0
		}
	case doStop:
		o.stop(s.shots[0])
	case doReconcile:
		o.reconcile(s.shots[0])
	case doResolve:
		o.resolve(s.shots[0])
	case doRelease:
		o.ask("/release", nil, "address", o.content[0].address)
		o.story = append(o.story, "what was late is paid now")
	}
}

// stop stops a create between its record and the first byte. While it sleeps, no other process may send the
// order. If it has slept too long, it does not send either.
func (o *order) stop(s shot) {
	if o.orderID == "" {
		return
	}
	before := o.unknown
	a := o.create(o.orderID, o.content[0], s, nil)
	held := o.meanwhile(a, func() {
		if other := o.ended(o.end(o.create(o.orderID, o.content[0],
			shot{fault: instruction{fault: "ok", commit: true}, noLookup: true}, nil))); other.exit != 13 {
			o.wrong("a process is about to send it, and another create ended with %d", other.exit)
		}
		if s.ahead != "" {
			a.shot.notes.leave("ahead", s.ahead)
		}
	})
	o.ended(a)
	if held && s.ahead != "" && a.exit != 40 {
		o.wrong("it slept too long, and ended with %d", a.exit)
	}
	o.accepted = o.accepted || a.exit == 0
	if a.exit != 20 {
		return
	}
	if o.unknown = before; held {
		o.unknown, o.doubted = &o.content[0], &o.content[0]
	}
}

func which(s shot) int {
	if s.other {
		return 1
	}
	return 0
}

// once runs a create, and checks its exit code by what was known before.
func (o *order) once(s shot) *attempt {
	c := o.content[which(s)]
	before := o.unknown
	a := o.ended(o.end(o.create(o.orderID, c, s, nil)))
	if before != nil && a.exit != -1 && !s.refuse {
		switch {
		case *before == c && a.exit == 20, *before != c && a.exit == 12:
		case o.orderID == "" && a.exit == 41: // without an order id, the list may be read first
		default:
			o.wrong("it is unknown, and the next attempt ended with %d", a.exit)
		}
	}
	if o.doubted != nil && *o.doubted != c && a.exit != -1 && a.exit != 12 && !s.refuse {
		o.wrong("something else may have been taken under this id, and the next attempt ended with %d", a.exit)
	}
	switch {
	case a.exit == 0:
		o.accepted, o.unknown = true, nil
	case a.exit == 20:
		if o.unknown = &c; o.orderID != "" {
			o.doubted = &c
		}
	case before == nil:
		o.unknown = nil
	}
	return a
}

// open returns the row of the order that is unknown or accepted.
func (o *order) open() (found row) {
	for _, r := range o.rows(o.content[0].address) {
		switch {
		case r.State == "planned" || r.State == "rejected":
		case found.OrderID != "":
			o.wrong("orders %s and %s are both open, and have the same content", found.OrderID, r.OrderID)
		default:
			found = r
		}
	}
	return found
}

// noticed is open when no process of the order is left. The lock of a file is released when its process ends,
// but a database takes a while to notice it on a busy machine.
func (o *order) noticed() row {
	found := o.open()
	for began := time.Now(); found.State == "sending" && o.journal != "" &&
		time.Since(began) < patience; found = o.open() {
		time.Sleep(100 * time.Millisecond)
	}
	return found
}

func (o *order) reconcile(s shot) {
	id := o.orderID
	if id == "" {
		if id = o.open().OrderID; id == "" {
			return
		}
	}
	a := o.till(&attempt{shot: s}, "withdraw", "reconcile", id, "-o", "jsonl")
	o.noteRun(a)
	if a.exit == 13 && o.journal != "" { // the database has not noticed yet that the create before was killed
		o.noticed()
		a = o.till(&attempt{}, "withdraw", "reconcile", id, "-o", "jsonl")
		o.noteRun(a)
	}
	switch a.exit {
	case 0, -1:
		o.accepted = strings.Contains(a.stdout.String(), `"state":"accepted"`)
		if a.exit == 0 && o.unknown != nil && !o.accepted {
			o.wrong("it was unknown, and reconcile made something else of it: %s", strings.TrimSpace(a.stdout.String()))
		}
		o.unknown = nil
	case 10: // it is not in the journal yet
		if o.unknown != nil {
			o.wrong("it is unknown, and the journal does not have it")
		}
	case 20, 41:
	default:
		o.wrong("reconcile ended with %d", a.exit)
	}
}

func (o *order) noteRun(a *attempt) {
	if a.exit == -1 {
		o.killed++
	}
	if a.exit == -1 || a.exit == 0 { // it may have another state now
		o.refused = 0
	}
	o.story = append(o.story, fmt.Sprintf("%s [%s ] exit %d, err %q", a.what, a.shot, a.exit,
		strings.TrimSpace(a.stderr.String())))
}

// resolve decides as a person who has asked the provider and got a true answer.
func (o *order) resolve(s shot) {
	o.ask("/quiet", nil)
	address := o.content[0].address
	open, truth := o.open(), o.paid("address", address)
	if open.State != "unknown" {
		return
	}
	var a *attempt
	switch {
	case len(o.held("address", address)) > 0: // the provider is still checking
		return
	case len(truth) == 0:
		a = o.till(&attempt{shot: s}, "withdraw", "resolve", open.OrderID, "--not-sent", "--reason",
			"the provider says so", "--yes")
	default:
		a = o.till(&attempt{shot: s}, "withdraw", "resolve", open.OrderID, "--paid-as", truth[0].ID, "--yes")
	}
	o.noteRun(a)
	switch a.exit {
	case 0, -1:
		o.unknown = nil
		o.accepted = a.exit == 0 && len(truth) > 0
	case 41:
	default:
		o.wrong("resolve ended with %d", a.exit)
	}
}

// settle brings the order to its end without further faults.
func (o *order) settle() {
	address := o.content[0].address
	reject, other := o.reject, false
	for range 30 {
		if o.failed() {
			return
		}
		o.ask("/release", nil, "address", address)
		o.ask("/quiet", nil)
		truth, open := o.paid("address", address), o.noticed()
		if len(truth) > 1 {
			o.wrong("it was paid %d times: %s and %s", len(truth), truth[0].ID, truth[1].ID)
			return
		}
		if len(truth) == 1 && (open.OrderID != truth[0].OrderID || open.State != "accepted" && open.State != "unknown") {
			o.wrong("it was paid as %s under the order id %s, and the journal says that %q is %q", truth[0].ID, truth[0].OrderID,
				open.OrderID, open.State)
			return
		}
		switch open.State {
		case "accepted":
			o.again(truth)
			return
		case "unknown":
			if len(truth) == 0 || o.paidAs {
				o.resolve(shot{random: o.ending.next()})
			} else {
				o.reconcile(shot{random: o.ending.next()})
			}
		case "":
			s := shot{fault: instruction{fault: "ok", commit: true}, other: other}
			if reject {
				// Only the first attempt is rejected.
				s.fault, reject = instruction{fault: "422e"}, false
			}
			o.unknown = nil
			switch a := o.once(s); a.exit {
			case 30:
				return
			case 12: // the other content was in doubt, so only it may be sent
				other = !other
			}
		default:
			o.wrong("it is %s", open.State)
			return
		}
	}
	o.wrong("it cannot be settled")
}

// again sends a paid order once more: this must have no effect.
func (o *order) again(truth []payment) {
	if len(truth) == 0 {
		return // check reports that
	}
	paid := o.tried[truth[0].Attempt]
	s := shot{fault: instruction{fault: "ok", commit: true}}
	a := o.ended(o.end(o.create(o.orderID, paid.content, s, nil)))
	printed := strings.TrimSpace(a.stdout.String())
	if named := o.orderID != ""; named && (a.exit != 0 || printed != truth[0].ID) || !named && a.exit != 12 {
		o.wrong("it was paid as %s, and asking once more ended with %d and printed %q", truth[0].ID, a.exit, printed)
	}
	if o.orderID == "" {
		return
	}
	other := o.content[0]
	if other == paid.content {
		other = o.content[1]
	}
	if a := o.ended(o.end(o.create(o.orderID, other, s, nil))); a.exit != 12 {
		o.wrong("it was paid, and asking for something else under the same order id ended with %d", a.exit)
	}
}

// check compares the settled order with the ledger.
func (o *order) check() {
	address := o.content[0].address
	truth := o.paid("address", address)
	if len(truth) > 1 {
		o.wrong("it was paid %d times: %s and %s", len(truth), truth[0].ID, truth[1].ID)
	}
	open := o.open()
	if open.State == "accepted" && len(truth) == 0 {
		o.wrong("the journal says that it was accepted as %s, and the ledger does not have it", open.ID)
	}
	for _, p := range truth {
		if o.orderID != "" && p.OrderID != o.orderID {
			o.wrong("it was paid under the order id %s", p.OrderID)
		}
		if why := differ(open, p); why != "" {
			o.wrong("%s", why)
		}
		a := o.tried[p.Attempt]
		if a == nil {
			o.wrong("it was paid by an attempt that nobody has made")
			continue
		}
		if p.pays() != a.content.pays() {
			o.wrong("it was paid as %q, where %+v was asked for", p.pays(), a.content)
		}
		switch a.exit {
		case 0, 20, -1:
		default:
			o.wrong("the attempt that paid it ended with %d: %s", a.exit, a.what)
		}
	}
	for _, a := range o.tried {
		if id := strings.TrimSpace(a.stdout.String()); id != "" && (len(truth) == 0 || truth[0].ID != id) {
			o.wrong("an attempt printed %s, which the ledger does not have: %s", id, a.what)
		}
	}
	o.ask("/settle", nil, "address", address)
}
