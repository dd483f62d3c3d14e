package explore

import (
	"fmt"
	"hash/fnv"
	"time"
)

// before reports whether the state was reached before, with at least as much of the bound left. Then
// everything that can follow was or will be explored from there.
func (r *run) before() bool {
	if r.visited == nil || len(r.steps) < len(r.schedule) {
		return false
	}
	left := cost{r.bound.switches - r.spent.switches, r.bound.faults - r.spent.faults}
	key := r.state()
	for _, had := range r.visited[key] {
		if left.within(had) {
			return true
		}
	}
	r.visited[key] = append(r.visited[key], left)
	return false
}

// state returns a hash of everything on which the future depends, and what the checks have noted. What a
// process will do depends on what it has learned so far, and the journal's content on what was committed.
func (r *run) state() uint64 {
	h := mix(r.commits, r.service.hash(), time.Now().UnixNano())
	for _, p := range r.processes {
		switch {
		case p.dead, p.ended:
			h = mix(h, p.name, "gone")
		default:
			h = mix(h, p.name, p.seen, p == r.current, r.jumped < p.listed, p.listedAt.UnixNano(), p.halted)
			for _, at := range p.parked { // in any order
				h += mix(2, p.name, at.what)
			}
		}
	}
	for id := range r.owner { // in any order
		h += mix(0, id, r.owner[id].name, r.owner[id].dead, r.claimed[id], r.sent[id])
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
