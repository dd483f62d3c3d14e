package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/till/internal/money"
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

func TestTemplateSeesExactJSON(t *testing.T) {
	value := map[string]any{"z": json.Number("12345678901234567890"), "html": "<a&b>", "l": []any{}}
	for text, want := range map[string]string{
		"{{.z}}\n": "12345678901234567890\n", "{{.html}}": "<a&b>\n", "{{.missing}}": "<no value>\n",
		`{{json .html}} {{json .l}} {{json .z}}`: "\"<a&b>\" [] 12345678901234567890\n", "{{if false}}x{{end}}": "",
	} {
		filter, err := templateFilter(money.NewRegistry(), text)
		must(t, err)
		var b strings.Builder
		must(t, filter(value, &b))
		if b.String() != want {
			t.Errorf("%s prints %q, want %q", text, &b, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
