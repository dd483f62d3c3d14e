package explore

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// before reports whether the state was reached before, with at least as much of the bound left. Then
// everything that can follow was or will be explored from there.
func (r *run) before() bool {
	if r.visited == nil || len(r.steps) < len(r.schedule) {
		return false
	}
	left := cost{r.bound.switches - r.spent.switches, r.bound.faults - r.spent.faults}
	key := r.state(nil)
	for _, had := range r.visited[key] {
		if left.within(had) {
			return true
		}
	}
	r.visited[key] = append(r.visited[key], left)
	return false
}

// sameDeath reports whether a process could have died earlier in this run, at no higher cost, with the same
// state after it. From a read to the next one, for example, its death makes no difference.
func (r *run) sameDeath(o option) bool {
	if o.taken != dead {
		return false
	}
	key, total := r.state(o.at.p), r.spent.plus(o.cost)
	if slices.ContainsFunc(r.deaths[key], func(had cost) bool { return had.within(total) }) {
		return true
	}
	r.deaths[key] = append(r.deaths[key], total)
	return false
}

// state returns a hash of everything on which the future depends, and what the checks have noted. What a
// process will do depends on what it has learned so far, and the journal's content on what was committed.
// If a process is dying, it is the state after that.
func (r *run) state(dying *process) uint64 {
	h := mix(r.commits, r.service.hash(), time.Now().UnixNano())
	current := cmp.Or(dying, r.current)
	for _, p := range r.processes {
		switch {
		case p.dead, p.ended, p == dying:
			h = mix(h, p.name, "gone")
		default:
			h = mix(h, p.name, p.seen, p == current, r.jumped < p.listed, p.listedAt.UnixNano(), p.halted)
			for _, at := range p.parked { // in any order
				h += mix(2, p.name, at.what, p == current && at.fresh())
			}
		}
	}
	for id := range r.owner { // in any order
		h += mix(0, id, r.owner[id].name, r.owner[id].dead || r.owner[id] == dying, r.claimed[id], r.sent[id])
	}
	for _, e := range r.events {
		h = mix(h, e.done)
	}
	return h
}

func mix(h uint64, parts ...any) uint64 {
	f := fnv.New64a()
	fmt.Fprint(f, h)
	for _, p := range parts {
		fmt.Fprint(f, "\x00", p)
	}
	return f.Sum64()
}
