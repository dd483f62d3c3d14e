package payout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxRecord is the most bytes in a line of an input. A line of a plan may be longer, because it has more text
// around the same fields and escapes some characters.
const (
	maxRecord = 64 << 10
	maxLine   = 4 * maxRecord
)

// lines reads a text line by line. A line of any length needs only limited memory.
type lines struct {
	in   *bufio.Reader
	long []byte // the beginning of a line that is too long
}

func readLines(in io.Reader, most int) *lines { return &lines{in: bufio.NewReaderSize(in, most)} }

// errLong says that a line is too long. The next call returns the line after it.
var errLong = errors.New("the line is too long")

// next returns a line without its end, and reports whether it had one. The line is valid until the next call.
// At the end of the text, the error is io.EOF.
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

// nextOf is next with another limit for the length of the line.
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
