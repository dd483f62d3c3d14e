package payout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"

	"example.com/till/pkg/api"
	"github.com/go-json-experiment/json"
)

// A spool keeps the rows of an input in a file. They may be too many for memory, and the input can be read
// only once.
type spool struct {
	file  *os.File
	out   *bufio.Writer
	line  []byte
	marks []mark
}

// A mark is the part of a row that is kept in memory.
type mark struct {
	id    int64 // its order id; 0: it has none yet
	minor int64
	same  hash128 // contentHash
	line  uint32
	unit  uint32 // its index in the spool's units
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

// mark adds a mark. It doubles the room for them: append would copy millions of marks far more often.
func (s *spool) mark(m mark) {
	if len(s.marks) == cap(s.marks) {
		s.marks = slices.Grow(s.marks, max(len(s.marks), 1024))
	}
	s.marks = append(s.marks, m)
}

// add adds a row as its line in a plan.
func (s *spool) add(row PlanRow, pays string, m mark) error {
	s.mark(m)
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
		for _, m := range s.marks {
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

// unitsOf numbers units.
type unitsOf struct {
	units []api.Amount // without amounts
	place map[api.Amount]uint32
}

func (u *unitsOf) of(a api.Amount) uint32 {
	a.Minor = 0
	n, known := u.place[a]
	if !known {
		if u.place == nil {
			u.place = map[api.Amount]uint32{}
		}
		n = uint32(len(u.units))
		u.place[a] = n
		u.units = append(u.units, a)
	}
	return n
}
