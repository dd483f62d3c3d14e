package render

import (
	"bufio"
	"errors"
	"io"
)

// output is the function output, with escapes if w is a terminal. Tables and ids are safe already.
func (o Options) output(w io.Writer, size int, print func(*bufio.Writer) error) error {
	table := o.Filter == nil && o.Template == "" && (o.Format == Table || o.Format == "")
	if !o.Screen || o.Quiet || table {
		return output(w, size, print)
	}
	screen := &screenWriter{w: w}
	err := output(screen, size, print)
	if flushed := screen.flush(); err == nil && flushed != nil {
		err = &WriteError{Err: flushed}
	}
	return err
}

// The sizes of the buffers in bytes: for a list large enough to be fast, for one thing no larger than needed.
const (
	listBuffer = 64 << 10
	oneBuffer  = 4 << 10
)

// output runs print with a buffer in front of w, and flushes the buffer even if print failed. A failure of w
// is always a *WriteError. An error of print itself takes precedence, because it says more.
func output(w io.Writer, size int, print func(*bufio.Writer) error) error {
	s := &sink{w: w}
	out := bufio.NewWriterSize(s, size)
	err := print(out)
	flushed := out.Flush()
	if err == nil {
		err = flushed
	}
	// A writer in between may have wrapped or replaced what the sink returned.
	if s.failed != nil && errors.Is(err, s.failed.Err) {
		return s.failed
	}
	return err
}

// sink turns the errors of the writer below into a *WriteError.
type sink struct {
	w      io.Writer
	failed *WriteError
}

func (s *sink) Write(p []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.failed = &WriteError{Err: err}
		return n, s.failed
	}
	return n, nil
}

// unwritable wraps an error between a result and the output.
func unwritable(err error) error {
	var failed *WriteError
	if err == nil || errors.As(err, &failed) {
		return err
	}
	return &WriteError{Err: err}
}
