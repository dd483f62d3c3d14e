package cmdutil

import (
	"bytes"
	"strings"
	"testing"
)

// TestNoteLinesOfAnySize checks that a line without an end is not buffered without limit.
func TestNoteLinesOfAnySize(t *testing.T) {
	var out bytes.Buffer
	a := &App{IO: IO{Err: &out}}
	a.JSON.Store(true)
	a.Others.App = a
	for range 100 {
		a.Others.Write(bytes.Repeat([]byte("x"), 10_000))
	}
	if kept := len(a.Others.rest); kept >= maxNoteLine {
		t.Errorf("%d bytes are kept", kept)
	}
	a.Others.Flush()
	if n := strings.Count(out.String(), "x"); n != 1_000_000 {
		t.Errorf("%d bytes of a million were passed on", n)
	}
}
