package payout

import (
	"iter"
	"runtime"
)

// A parsedRow is a row of an input, with everything that can be found out about it without other rows.
type parsedRow struct {
	cells cells
	line  int
	row   PlanRow
	wrong []Detail
	doubt string  // a warning about its address
	same  hash128 // contentHash
	err   error   // why the input ends here; io.EOF at its end
}

// A rowGroup is a group of rows that are parsed together.
type rowGroup struct {
	rows   []parsedRow
	parsed chan struct{} // closed when all are parsed
}

// rowsInGroup is how many rows one goroutine parses at a time. It is large enough to make the cost of the
// channels negligible.
const rowsInGroup = 256

// parsed reads the input and yields its rows in order. Several goroutines parse, because checking an address
// takes longer than reading it. The last row has an error.
func (m *maker) parsed() iter.Seq[parsedRow] {
	return func(yield func(parsedRow) bool) {
		workers := min(runtime.GOMAXPROCS(0), 4)
		stop, inOrder, toParse := make(chan struct{}), make(chan *rowGroup, workers), make(chan *rowGroup, workers)
		defer close(stop)
		for range workers {
			go m.parseGroups(toParse)
		}
		go m.readGroups(inOrder, toParse, stop)
		for group := range inOrder {
			<-group.parsed
			for _, r := range group.rows {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// readGroups reads the input until it ends or stop is closed. The caller does not wait for it to return,
// because a read may block forever.
func (m *maker) readGroups(inOrder, toParse chan<- *rowGroup, stop <-chan struct{}) {
	defer close(inOrder)
	defer close(toParse)
	rows := newSource(m.Input, m.Format, m.Delimiter, m.Batch != "")
	for ended := false; !ended; {
		group := &rowGroup{make([]parsedRow, 0, rowsInGroup), make(chan struct{})}
		for len(group.rows) < rowsInGroup && !ended {
			var r parsedRow
			r.cells, r.line, r.wrong, r.err = rows.next()
			ended = r.err != nil
			group.rows = append(group.rows, r)
		}
		for _, to := range []chan<- *rowGroup{toParse, inOrder} {
			select {
			case to <- group:
			case <-stop:
				return
			}
		}
	}
}

func (m *maker) parseGroups(groups <-chan *rowGroup) {
	p := parser{m.Currencies.registry, m.Batch != "", m.Format == CSV}
	for group := range groups {
		for i := range group.rows {
			r := &group.rows[i]
			if r.wrong != nil || r.err != nil {
				continue
			}
			if r.row, r.wrong = p.parse(r.cells, r.line); r.wrong == nil {
				r.doubt = m.Currencies.registry.AddressWarning(r.row.Currency, r.row.Address)
				r.same = contentHash(contentOf(r.row.CreateWithdrawal))
			}
		}
		close(group.parsed)
	}
}
