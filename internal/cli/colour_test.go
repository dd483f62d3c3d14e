package cli

import (
	"bytes"
	"testing"

	"example.com/till/internal/cmdutil"
)

func TestPaint(t *testing.T) {
	env := []string{"CLICOLOR_FORCE=1"}
	a := &cmdutil.App{IO: cmdutil.IO{Err: &bytes.Buffer{}, Environ: func() []string { return env }}}
	if got := paint(a, "till: no", "auto"); got != "\x1b[31mtill:\x1b[0m no" {
		t.Errorf("got %q", got)
	}
	if got := paint(a, "another line", "auto"); got != "another line" {
		t.Errorf("got %q", got)
	}
	env = nil
	if got := paint(a, "till: no", "auto"); got != "till: no" {
		t.Errorf("colour where there is no terminal: %q", got)
	}
}
