package render

import (
	"bufio"
	"errors"
	"io"
)

// output is the function output, with escapes if w is a terminal. Tables and ids are safe already.
func (o Options) output(w io.Writer, print func(*bufio.Writer) error) error {
	if !o.Screen || o.Quiet || o.tabular() && o.Format != CSV {
		return output(w, print)
	}
	screen := &screenWriter{w: w}
	err := output(screen, print)
	if flushed := screen.flush(); err == nil && flushed != nil {
		err = &WriteError{Err: flushed}
	}
	return err
}

// output runs print with a buffer in front of w, and flushes the buffer even if print failed. A failure of w
// is always a *WriteError. Another error of print takes precedence, because it says more.
func output(w io.Writer, print func(*bufio.Writer) error) error {
	out := bufio.NewWriterSize(w, 64<<10)
	err := print(out)
	if failed := out.Flush(); failed != nil && (err == nil || errors.Is(err, failed)) { // out keeps its first error
		return &WriteError{Err: failed}
	}
	return err
}

// unwritable wraps an error between a result and the output.
func unwritable(err error) error {
	var failed *WriteError
	if err == nil || errors.As(err, &failed) {
		return err
	}
	return &WriteError{Err: err}
}
