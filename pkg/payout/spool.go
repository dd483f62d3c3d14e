package payout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/go-json-experiment/json"
)

// A spool keeps the rows of an input in a file. They may be too many for memory, and the input can be read
// only once.
type spool struct {
	file  *os.File
	out   *bufio.Writer
	line  []byte
	marks marks
}

// A mark is the part of a row that is kept in memory.
type mark struct {
	id    int64 // its order id; 0: it has none yet
	minor int64
	same  hash128 // contentHash
	line  uint32
	unit  uint32 // the index of its total in the plan
}

// marks is a list of marks in pieces. A slice that grows is copied many times, and takes more memory while it is.
type marks struct{ pieces [][]mark }

const marksInPiece = 4096

func (m *marks) add(one mark) {
	last := len(m.pieces) - 1
	if last < 0 || len(m.pieces[last]) == marksInPiece {
		m.pieces = append(m.pieces, make([]mark, 0, marksInPiece))
		last++
	}
	m.pieces[last] = append(m.pieces[last], one)
}

func (m *marks) at(i int) *mark { return &m.pieces[i/marksInPiece][i%marksInPiece] }

func (m *marks) len() int {
	last := len(m.pieces) - 1
	if last < 0 {
		return 0
	}
	return last*marksInPiece + len(m.pieces[last])
}

func (m *marks) all() iter.Seq[*mark] {
	return func(yield func(*mark) bool) {
		for _, piece := range m.pieces {
			for i := range piece {
				if !yield(&piece[i]) {
					return
				}
			}
		}
	}
}

// newSpool makes the file in a directory. It removes the file's name immediately, on systems that allow it.
func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, ".till-rows.*") // mode 0600
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // if this fails, close tries again
	return &spool{file: f, out: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (s *spool) close() error {
	err := s.file.Close()
	if e := os.Remove(s.file.Name()); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// add adds a row as its line in a plan.
func (s *spool) add(row PlanRow, pays string, m mark) error {
	s.marks.add(m)
	var err error
	if s.line, err = appendLine(s.line[:0], row, pays); err != nil {
		return err
	}
	_, err = s.out.Write(append(s.line, '\n'))
	return err
}

// lines returns the lines of the rows that were added, in the same order, with the current order ids of the
// marks. A line is valid until the next one.
func (s *spool) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := s.out.Flush(); err != nil {
			yield(nil, err)
			return
		}
		in := readLines(io.NewSectionReader(s.file, 0, 1<<62), maxLine)
		var line []byte
		for m := range s.marks.all() {
			text, _, err := in.next()
			if derived, found := bytes.CutPrefix(text, []byte(noOrderID)); found {
				line = strconv.AppendInt(append(line[:0], noOrderID[:len(noOrderID)-1]...), m.id, 10)
				text = append(append(line, '"'), derived...)
			}
			if !yield(text, err) || err != nil {
				return
			}
		}
	}
}

// rows returns the rows that were added, in the same order, with the current order ids of the marks.
func (s *spool) rows() iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		for text, err := range s.lines() {
			var l planLine
			if err == nil {
				err = json.Unmarshal(text, &l)
			}
			if !yield(l.row(), err) || err != nil {
				return
			}
		}
	}
}
