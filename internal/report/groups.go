package report

import (
	"iter"
	"slices"
)

// groups holds figures by their key. There can be as many groups as invoices, so only those that still grow
// take more memory than their own size.
type groups struct {
	settled [][]group
	growing []group
	index   map[key]int32 // the index of a key in growing
}

type group struct {
	key
	figure
}

// at returns a key's figures, valid until the next call.
func (g *groups) at(k key) *figure {
	i, ok := g.index[k]
	if !ok {
		if g.index == nil {
			g.index = map[key]int32{}
		}
		i = int32(len(g.growing))
		g.index[k] = i
		g.growing = append(g.growing, group{key: k})
	}
	return &g.growing[i].figure
}

// settle says that none of the present keys will come again.
func (g *groups) settle() {
	if len(g.growing) > 0 {
		g.settled = append(g.settled, slices.Clone(g.growing))
		g.growing = g.growing[:0]
		clear(g.index)
	}
}

func (g *groups) count() int {
	n := len(g.growing)
	for _, some := range g.settled {
		n += len(some)
	}
	return n
}

func (g *groups) all() iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for _, some := range append(g.settled[:len(g.settled):len(g.settled)], g.growing) {
			for i := range some {
				if !yield(&some[i]) {
					return
				}
			}
		}
	}
}
