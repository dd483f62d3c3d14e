package explore

import (
	"slices"
)

// The keys of the service. Two of them are of the merchant who has paid before.
const (
	firstKey = "key-of-acme"
	newKey   = "new-key-of-acme"
	otherKey = "key-of-other"
)

// merchant returns whose key it is.
func merchant(key string) string {
	if key == otherKey {
		return "m2"
	}
	return "m1"
}

// with gives an actor another key.
func with(key string, a actor) actor { return a.after(func(p *process) { p.key = key }) }

// paidByOne checks that a withdrawal is of the same merchant as all others: the list of one merchant does not
// show what another one has paid.
func (r *run) paidByOne(w *withdrawal) {
	for _, o := range slices.Concat(r.service.rows, r.service.late) {
		if o.merchant != w.merchant {
			r.violated("%s has sent order %s for the merchant %s, and order %s of the same account is of %s",
				w.by.name, w.orderID, w.merchant, o.orderID, o.merchant)
		}
	}
}

// keyWorlds returns the worlds in which an account has several keys.
func keyWorlds() []*world {
	return []*world{
		{name: "merchants", about: "the keys of two merchants are used for one account, with a new journal", empty: true,
			stages:  [][]actor{{sends("A", "8", 5), with(otherKey, sends("B", "9", 6))}, {with(otherKey, sends("C", "8", 5))}},
			service: conduct{creates: fewCreates}},
		{name: "new-key",
			about:   "an order is sent again with a new key, and then another one with the key of another merchant",
			stages:  [][]actor{{sends("A", "9", 5), with(newKey, sends("B", "9", 5))}, {with(otherKey, sends("C", "8", 6))}},
			service: conduct{creates: fewCreates, gets: []choice{listFails}}},
	}
}
