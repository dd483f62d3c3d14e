package cli

import (
	"bytes"
	"strings"
	"testing"
)

// A line without an end is not kept without an end.
func TestNoteLinesOfAnySize(t *testing.T) {
	var out bytes.Buffer
	a := &app{io: IO{Err: &out}, json: true}
	a.others.app = a
	for range 100 {
		a.others.Write(bytes.Repeat([]byte("x"), 10_000))
	}
	if kept := len(a.others.rest); kept >= maxNoteLine {
		t.Errorf("%d bytes are kept", kept)
	}
	a.others.flush()
	if n := strings.Count(out.String(), "x"); n != 1_000_000 {
		t.Errorf("%d bytes of a million were passed on", n)
	}
}
