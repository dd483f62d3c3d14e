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
	parsed chan struct{} // receives a value when all are parsed
}

// rowsInGroup is how many rows one goroutine parses at a time. It is large enough to make the cost of the
// channels negligible.
const rowsInGroup = 256

// A rowPipe passes groups of rows from the input to the parsers and on to the maker. It has a fixed number of
// groups, which are used again and again, so only free is waited for with stop: the others have room for all.
type rowPipe struct {
	free, toParse, inOrder chan *rowGroup
	stop                   chan struct{} // closed when no more rows are wanted
}

func newRowPipe(groups int) *rowPipe {
	p := &rowPipe{make(chan *rowGroup, groups), make(chan *rowGroup, groups), make(chan *rowGroup, groups),
		make(chan struct{})}
	for range groups {
		p.free <- &rowGroup{make([]parsedRow, 0, rowsInGroup), make(chan struct{}, 1)}
	}
	return p
}

// parsed reads the input and yields its rows in order. Several goroutines parse, because checking an address
// takes longer than reading it. The last row has an error. A row is valid until the next one.
func (m *maker) parsed() iter.Seq[*parsedRow] {
	return func(yield func(*parsedRow) bool) {
		workers := min(runtime.GOMAXPROCS(0), 4)
		pipe := newRowPipe(4 * workers)
		defer close(pipe.stop)
		for range workers {
			go m.parseGroups(pipe.toParse)
		}
		go m.readGroups(pipe)
		for group := range pipe.inOrder {
			<-group.parsed
			for i := range group.rows {
				if !yield(&group.rows[i]) {
					return
				}
			}
			pipe.free <- group
		}
	}
}

// readGroups reads the input until it ends or the pipe is stopped. The caller does not wait for it to return,
// because a read may block forever.
func (m *maker) readGroups(pipe *rowPipe) {
	defer close(pipe.inOrder)
	defer close(pipe.toParse)
	rows := newSource(m.Input, m.Format, m.Delimiter, m.Batch != "")
	for ended := false; !ended; {
		var group *rowGroup
		select {
		case group = <-pipe.free:
		case <-pipe.stop:
			return
		}
		group.rows = group.rows[:0]
		for len(group.rows) < rowsInGroup && !ended {
			var r parsedRow
			r.cells, r.line, r.wrong, r.err = rows.next()
			ended = r.err != nil
			group.rows = append(group.rows, r)
		}
		pipe.toParse <- group
		pipe.inOrder <- group
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
		group.parsed <- struct{}{}
	}
}
