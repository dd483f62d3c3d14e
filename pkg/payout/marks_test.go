package payout

import "testing"

func TestMarksKeepTheirOrder(t *testing.T) {
	for _, n := range []int{0, 1, marksInPiece - 1, marksInPiece, marksInPiece + 1, 3*marksInPiece + 7} {
		var m marks
		for i := range n {
			m.add(mark{id: int64(i + 1), same: hash128{uint64(i+1) << 32, 7}})
		}
		if m.len() != n {
			t.Errorf("%d marks: there are %d", n, m.len())
		}
		i := 0
		for mk := range m.all() {
			if mk.id != int64(i+1) || m.at(i) != mk {
				t.Fatalf("%d marks: mark %d is %d, and %d at its place", n, i, mk.id, m.at(i).id)
			}
			i++
		}
		if i != n {
			t.Errorf("%d marks: all has %d", n, i)
		}
	}
}

func TestMaySameFindsEqualContents(t *testing.T) {
	for _, n := range []int{2, 100, 2*marksInPiece + 1} {
		for name, at := range map[string][2]int{"neighbours": {n - 2, n - 1}, "the first and the last": {0, n - 1}} {
			var m marks
			for i := range n {
				m.add(mark{same: hash128{uint64(i+1) * 0x9e3779b97f4a7c15, 7}})
			}
			if m.maySame() {
				t.Errorf("%d rows: some may be the same, and none are", n)
			}
			m.at(at[1]).same = m.at(at[0]).same
			if !m.maySame() {
				t.Errorf("%d rows: %s are the same, and it says that none are", n, name)
			}
		}
	}
}
