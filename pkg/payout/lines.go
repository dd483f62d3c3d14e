package payout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxRecord is how long a line of an input may be, in bytes. A plan has more around the same fields, and escapes some.
const (
	maxRecord = 64 << 10
	maxLine   = 4 * maxRecord
)

// lines reads a text line by line, in memory that a hostile one cannot make larger.
type lines struct {
	in   *bufio.Reader
	long []byte // of a line that was cut off: its beginning
}

func readLines(in io.Reader, most int) *lines { return &lines{in: bufio.NewReaderSize(in, most)} }

// errLong says that a line is longer than lines are. The next call goes on behind it.
var errLong = errors.New("the line is too long")

// next returns a line without its end, valid until the next call, and whether it had one; at the end of the text io.EOF.
func (l *lines) next() (line []byte, ended bool, err error) {
	line, err = l.in.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], true, nil
	case err == io.EOF && len(line) > 0:
		return line, false, nil
	case errors.Is(err, bufio.ErrBufferFull):
		l.long = append(l.long[:0], line[:64]...)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, false, err
		}
		return bytes.Clone(l.long), err == nil, errLong
	}
	return nil, false, err
}

// nextOf is next for a line that may be longer than others.
func (l *lines) nextOf(most int) (line []byte, ended bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], true, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, false, err
		case len(line) > most:
			return nil, false, errLong
		}
	}
}
