package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

// TestListWriterAfterSignal checks that after a signal a reader that does not read no longer delays the end
// of a list.
func TestListWriterAfterSignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	defer reader.Close()
	cancel()
	l := newListWriter(ctx, writer)
	for range 2 {
		if n, err := l.Write([]byte("rows")); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("got %d, %v", n, err)
		}
	}
}

// TestOutputIsDrainedAfterASignal checks that after a signal output is still written if the reader reads it.
func TestOutputIsDrainedAfterASignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	l := newListWriter(ctx, &out)
	for _, text := range []string{"one ", "two ", "three"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if text == "two " {
			cancel()
		}
	}
	if out.String() != "one two three" {
		t.Errorf("%q", out.String())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
