package explore

import (
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// accepts is till journal check --accept.
func accepts(name string) actor {
	return tries(name, "accepts what the list shows", func(p *process) error {
		s := p.sender()
		c, err := s.Compare(p.ctx, api.WithdrawalFilter{}, payout.Filter{})
		if err == nil {
			err = s.Accept(p.ctx, c, "it belongs to the old shop")
		}
		return err
	})
}

// goingBack gives an actor a lookup_since.
func goingBack(a actor) actor { return a.after(func(p *process) { p.since = true }) }

// listWorlds returns the worlds in which the list, or an answer, cannot be trusted.
func listWorlds() []*world {
	one := [][]actor{{sends("A", "9", 5)}}
	always := looking(payout.LookupAlways, sends("A", "9", 5))
	setsRight := event{what: "the clocks of the machines are set right", do: (*run).setsRight}
	return []*world{
		{name: "nameless", about: "the list shows an order that a lost journal had without its id",
			stages: one, empty: true, paid: []string{"9"}, service: conduct{drops: true}},
		{name: "hidden", about: "the list counts an order that a lost journal had, and does not show it",
			stages: one, empty: true, paid: []string{"700", "9"}, service: conduct{hides: true}},
		{name: "blind", about: "another program pays an order that was rejected, and the list is empty",
			stages:  [][]actor{{sends("A", "9", 5)}, {pays("9", 5)}, {sends("B", "9", 5)}},
			service: conduct{lost: 1, loses: isRejected, blind: true}},
		{name: "mixed", about: "the list shows an order of another merchant",
			stages: [][]actor{{with(otherKey, pays("9", 5))}, {always}}, service: conduct{mixed: true}},
		{name: "two-faced", about: "the list shows an order that a lost journal had twice, with two amounts",
			stages: one, empty: true, paid: []string{"9"}, service: conduct{doubles: true}},
		{name: "stranger", about: "a person accepts an order on the list that the journal lacks, and it is sent again",
			stages: [][]actor{{accepts("P")}, {always}}, paid: []string{"9"}},
		{name: "filtered", about: "the service takes the time from which the list is read for another one",
			stages: [][]actor{{goingBack(sends("A", "9", 5))}}, empty: true, paid: []string{"9"},
			service: conduct{filters: true}},
		{name: "behind", about: "an order is lost, and a clock that was behind is set right before a person decides",
			stages:  [][]actor{{sends("A", "9", 5)}, {resolves("P", "9")}, {sends("C", "9", 5)}},
			service: conduct{lost: 1, behind: true}, events: []event{setsRight}},
		{name: "phantom", about: "the service gives an order an id, and does not have it",
			stages: [][]actor{{sends("A", "9", 5), reconciles("R", "9")}, {waits()}, {resolves("P", "9")},
				{sends("C", "9", 5)}},
			service: conduct{lost: 1, loses: invents}},
		{name: "denied", about: "the service says that it does not have an order, while its list shows it",
			stages: [][]actor{{sends("A", "9", 5), reconciles("R", "9")}, {waits()}, {resolves("P", "9")},
				{sends("C", "9", 5)}},
			service: conduct{denies: true}},
	}
}
