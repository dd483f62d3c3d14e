package explore

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"example.com/till/pkg/payout"
)

// interrupts is the event that a person interrupts a process with Ctrl-C. It happens where the process does
// not read the journal, because a read may end in two ways then.
func interrupts(name string) event {
	at := []string{"begins", "is about to commit", "has committed", "writes the create", "gets the outcome"}
	find := func(r *run) *process {
		i := slices.IndexFunc(r.processes, func(p *process) bool { return p.name == name })
		if i < 0 || r.processes[i].dead || len(r.processes[i].parked) != 1 {
			return nil
		}
		p := r.processes[i]
		if !slices.ContainsFunc(at, func(what string) bool { return strings.HasPrefix(p.parked[0].what, what) }) {
			return nil
		}
		return p
	}
	return event{what: name + " is interrupted",
		ready: func(r *run) bool { return find(r) != nil },
		do: func(r *run) {
			p := find(r)
			p.interrupted = true
			p.stop()
		}}
}

// previews is till payout apply --already-paid --retry-rejected, and the person says no.
func previews(name string) actor {
	return tries(name, "looks at what the plan would do", func(p *process) error {
		plan, err := payout.OpenPlan(filepath.Join(p.r.dir, planFile))
		if err != nil {
			panic(err)
		}
		applier, err := p.sender().Applier(p.given, plan, payout.ApplyOptions{RetryRejected: true})
		if err == nil {
			_, err = applier.Preview(p.given)
		}
		return err
	})
}

// hangs is the event that a machine loses its connections to the database and hangs, while another one goes
// on.
func hangs(name string) event {
	find := func(r *run, is bool) *process {
		i := slices.IndexFunc(r.processes,
			func(p *process) bool { return (p.name == name) == is && !p.dead && len(p.parked) > 0 })
		if i < 0 {
			return nil
		}
		return r.processes[i]
	}
	return event{what: name + " loses its connections and hangs",
		ready: func(r *run) bool { return find(r, true) != nil && find(r, false) != nil },
		do: func(r *run) {
			for _, c := range find(r, true).conns {
				c.breakNow()
			}
			r.current = find(r, false)
		}}
}

// names is till withdraw resolve --paid-as. The person tries the withdrawals of other orders first, and then
// the one that bears the order's id, if there is one.
func names(name, orderID string) actor {
	return actor{name, func(p *process) {
		ids := []string{} // the oldest first
		for _, w := range p.r.service.rows {
			ids = slices.Insert(ids, 0, w.id)
		}
		s := p.sender()
		for _, id := range ids {
			checked, err := s.Check(p.ctx, payout.Decision{OrderIDs: []string{orderID}, PaidAs: id})
			if err == nil {
				_, err = s.Resolve(p.ctx, checked)
			}
			if p.dead {
				return
			}
			p.r.tell("%s says that order %s was paid as %s: %v", name, orderID, id, err)
		}
	}}
}

// reconcilesRun is till payout reconcile.
func reconcilesRun(name string) actor {
	return actor{name, func(p *process) {
		s := p.sender()
		runs, err := s.Runs(p.ctx)
		if p.dead || err != nil || len(runs) == 0 {
			return
		}
		settled, err := s.ReconcileRun(p.ctx, runs[0].Name)
		if p.dead {
			return
		}
		p.r.tell("%s reconciles the run: %v", name, err)
		for _, one := range settled.Results {
			o := one.Order
			if o.State == payout.StateAccepted {
				p.reports(o.OrderID, o.Amount.Minor, o.ID, nil)
			}
			if !one.Listed && p.r.service.has(o.ID, o.OrderID) {
				p.r.violated("%s reports that order %s is not on the list, which has it", name, o.OrderID)
			}
		}
	}}
}

// halts returns the orders of the plan that must keep a process from sending others.
func (p *process) halts() (all []string) {
	for _, id := range slices.Sorted(maps.Keys(p.r.journal.now)) {
		state := p.r.journal.now[id].state
		if _, found := p.r.world.row(id); found && (state == "conflict" || state == "unknown") {
			all = append(all, id)
		}
	}
	return all
}

// alone reports whether no other process is there.
func (p *process) alone() bool {
	return !slices.ContainsFunc(p.r.processes, func(o *process) bool { return o != p && !o.ended && !o.dead })
}

// applied checks that a process that reports no error has left nothing of its plan open, and that what was
// paid is what the plan has. Another process of the same stage may still have a row.
func (p *process) applied(err error) {
	if err != nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(p.r.journal.now)) {
		minor, found := p.r.world.row(id)
		if !found {
			continue
		}
		state, w := p.r.journal.now[id].state, p.r.service.find(id)
		settled := state == "accepted" || state == "rejected"
		if !settled && len(p.r.world.stages[p.stage]) == 1 {
			p.r.violated("%s reports no error for its plan, and order %s is %s", p.name, id, state)
		}
		if state == "accepted" && w != nil && w.altered == 0 && w.amount() != inBtc(minor) {
			p.r.violated("%s reports no error for its plan, and order %s was paid with %s", p.name, id, w.amount())
		}
	}
}

// mayGoOn checks that nothing that a process knows forbids it to send one more order.
func (r *run) mayGoOn(w *withdrawal) {
	p := w.by
	if len(p.halted) > 0 {
		r.violated("%s has sent order %s, although order %s was not settled when it began", p.name,
			w.orderID, p.halted[0])
	}
	if p.plan != nil {
		for _, id := range p.halts() {
			if r.owner[id] == p && id != w.orderID && r.changed[id] <= r.changed[w.orderID] { // before it was claimed
				r.violated("%s has sent order %s, although its order %s has become unknown", p.name,
					w.orderID, id)
			}
		}
	}
	other := func(o *withdrawal) bool { return o != w && o.orderID == w.orderID && o.amount() != w.amount() }
	if all := slices.Concat(r.service.rows, r.service.late); p.plan == nil && slices.ContainsFunc(all, other) {
		r.violated("%s has sent order %s with another amount, and the first one may be paid", p.name, w.orderID)
	}
}

// find returns the newest withdrawal of an order; nil: there is none.
func (s *service) find(orderID string) *withdrawal {
	for _, w := range s.rows {
		if w.orderID == orderID {
			return w
		}
	}
	return nil
}

// alter gives an order another amount.
func (s *service) alter(orderID string) {
	w := s.find(orderID)
	w.body["amount"], w.altered = map[string]any{"Crypto": map[string]any{"Btc": 1}}, len(s.r.steps)
	s.content = mix(s.content, "alters", orderID)
}

// foundWorlds returns the worlds in which the list, another program or a person knows more than the journal.
func foundWorlds() []*world {
	two := []string{row(8, "0.1"), row(9, "0.2")}
	alters := event{what: "the service alters the amount of order 8",
		ready: func(r *run) bool { return r.service.find("8") != nil },
		do:    func(r *run) { r.service.alter("8") }}
	setsRight := event{what: "the clocks of the machines are set right", do: (*run).setsRight}
	all := []*world{
		{name: "claimed", about: "a plan of two orders is applied while the second one is sent by itself",
			stages: [][]actor{{applies("A"), sends("B", "9", 20_000_000)}}, plan: two},
		{name: "rewritten", about: "an order of a plan is sent by itself with another amount, and does not leave",
			stages: [][]actor{{begins("A")}, {sends("B", "8", 5)}, {applies("C")}}, plan: two[:1],
			service: conduct{lost: 1, loses: neverLeaves}},
		{name: "taken", about: "an order of a plan is sent by itself with another amount while the plan is applied",
			stages: [][]actor{{begins("A")}, {applies("C"), sends("B", "8", 5)}}, plan: two[:1]},
		{name: "differs", about: "another program pays an order of a plan with another amount",
			stages: [][]actor{{pays("8", 7)}, {applies("A")}, {applies("B")}}, plan: two},
		{name: "meanwhile", about: "the orders of a run are reconciled while it is applied",
			stages: [][]actor{{begins("A")}, {reconcilesRun("B"), applies("C")}}, plan: two[:1],
			service: conduct{creates: []choice{lostAnswer}}},
		{name: "altered", about: "the service alters an order of a run that it has accepted",
			stages: [][]actor{{applies("A")}, {reconcilesRun("B")}, {reconciles("C", "8")}}, plan: two[:1],
			events: []event{alters}},
		{name: "named", about: "a person says which withdrawal an order is, and another one that it was not sent",
			stages: [][]actor{{sends("A", "9", 5)}, {waits()}, {names("P", "9"), resolves("Q", "9")},
				{sends("C", "9", 5)}},
			paid: []string{"700"}, service: conduct{lost: 1, loses: lostAnswer}},
		{name: "other-amount", about: "an order that was not sent, as a person has said, is sent with another amount",
			stages:  [][]actor{{sends("A", "9", 5)}, {waits()}, {resolves("P", "9")}, {sends("C", "9", 6)}},
			service: conduct{lost: 1}},
		{name: "known", about: "two orders that a lost journal had are sent one after the other",
			stages: [][]actor{{sends("A", "8", 5)}, {sends("B", "9", 5)}}, empty: true, paid: []string{"8", "9"}},
		{name: "interrupted", about: "a process that sends an order is interrupted, and it is sent again",
			stages:  [][]actor{{sends("A", "9", 5)}, {sends("B", "9", 5)}},
			service: conduct{creates: []choice{neverLeaves, lostAnswer}}, events: []event{interrupts("A")}},
		{name: "stopped", about: "a process that applies a plan is interrupted, and the plan is applied again",
			stages: [][]actor{{applies("A")}, {applies("B")}}, plan: two, events: []event{interrupts("A")}},
		{name: "looked-up", about: "an order is rejected, another program pays it, and a third process reads the list",
			stages:  [][]actor{{sends("A", "9", 5)}, {pays("9", 5)}, {reconciles("R", "1")}, {sends("B", "9", 5)}},
			service: conduct{lost: 1, loses: isRejected, lists: []choice{isStale}, steady: true}},
		{name: "sighted",
			about: "two orders get lost, another one is reconciled, and a person says that one of them was not sent",
			stages: [][]actor{{sends("A", "8", 6)}, {sends("B", "9", 5)}, {waits()}, {reconciles("R", "1")},
				{resolves("Q", "9")}, {sends("C", "9", 5)}},
			service: conduct{lost: 2, loses: lostAnswer, lists: []choice{isStale}, steady: true}},
		{name: "confirmed",
			about: "the list confirms what a person has said, and another person says that the order was not sent",
			stages: [][]actor{{sends("A", "9", 5)}, {waits()}, {names("P", "9")}, {reconciles("R", "9")},
				{resolves("Q", "9")}, {sends("C", "9", 5)}},
			service: conduct{lost: 1, loses: lostAnswer, lists: []choice{isStale}, steady: true}},
		{name: "twins-at-once",
			about:   "two processes send two orders with the same content at once, and two others try again",
			stages:  [][]actor{{sends("A", "8", 5), sends("B", "9", 5)}, {sends("C", "8", 5), sends("D", "9", 5)}},
			service: conduct{creates: fewCreates}},
		{name: "raised", about: "more persons are demanded between two rows of a plan",
			stages: [][]actor{{demanding(2, begins("A"))}, {demanding(2, applies("B")), raises("D", 3)}}, plan: two,
			signed: []string{"ann", "bob"}},
		{name: "previewed", about: "an order is rejected, another program pays it, and a person looks at a plan that has it",
			stages: [][]actor{{sends("A", "8", 10_000_000)}, {pays("8", 10_000_000)}, {previews("R")},
				{sends("B", "8", 10_000_000)}},
			plan: two[:1], service: conduct{lost: 1, loses: isRejected, lists: []choice{isStale}, steady: true}},
		{name: "corrected",
			about:  "a corrected plan of a batch is made and applied while the first one is, and then that is again",
			stages: [][]actor{{applies("A"), corrects("B", row(8, "0.3"))}, {applies("C")}}, plan: two[:1], batch: true,
			service: conduct{creates: []choice{lostAnswer}}},
		{name: "overtaken", about: "a machine that applies a plan of a batch hangs, and another one applies a corrected plan",
			journal: "postgres",
			stages:  [][]actor{{applies("A"), corrects("B", row(8, "0.3"))}}, plan: two[:1], batch: true,
			events: []event{hangs("A")}},
		{name: "behind", about: "an order is lost, and a clock that was behind is set right before a person decides",
			stages:  [][]actor{{sends("A", "9", 5)}, {resolves("P", "9")}, {sends("C", "9", 5)}},
			service: conduct{lost: 1, behind: true}, events: []event{setsRight}},
		{name: "phantom", about: "the service gives an order an id, and does not have it",
			stages: [][]actor{{sends("A", "9", 5), reconciles("R", "9")}, {waits()}, {resolves("P", "9")},
				{sends("C", "9", 5)}},
			service: conduct{lost: 1, loses: invents}},
	}
	for _, w := range all {
		w.long = w.service.lists == nil && !w.batch &&
			(w.events == nil || w.plan != nil) // nearly all that they show needs no fault
	}
	return all
}
