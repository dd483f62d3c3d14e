package payout

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"os"

	"example.com/till/pkg/api"
	"github.com/go-json-experiment/json"
)

// A spool keeps the rows of an input in a file, because memory is not for them, and the input can be read only once.
type spool struct {
	file  *os.File
	out   *bufio.Writer
	marks []mark
}

// A mark is what is kept in memory of a row.
type mark struct {
	id    int64 // its order id; 0: it has none yet
	minor int64
	same  [16]byte // contentHash
	line  uint32
	unit  uint32 // its place among the spool's units
}

// newSpool makes the file in a directory. It has no name for longer than it takes, where the system lets it go.
func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, ".till-rows.*") // mode 0600
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // where it is refused, close tries once more
	return &spool{file: f, out: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (s *spool) close() error {
	err := s.file.Close()
	if e := os.Remove(s.file.Name()); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// add keeps a row. One that is wrong is only marked, for its order id.
func (s *spool) add(row PlanRow, m mark) error {
	s.marks = append(s.marks, m)
	if err := json.MarshalWrite(s.out, lineOf(row, "")); err != nil {
		return err
	}
	return s.out.WriteByte('\n')
}

// rows returns what was added, in the same order, with the order ids that the marks have by now.
func (s *spool) rows() iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		if err := s.out.Flush(); err != nil {
			yield(PlanRow{}, err)
			return
		}
		in := readLines(io.NewSectionReader(s.file, 0, 1<<62), maxLine)
		for _, m := range s.marks {
			var l planLine
			text, _, err := in.next()
			if err == nil {
				err = json.Unmarshal(text, &l)
			}
			row := l.row()
			if m.id != 0 {
				row.ExternalOrderID = formatID(m.id)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// unitsOf numbers units.
type unitsOf struct {
	units []api.Amount // without a count
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
