package sandbox

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/till/internal/render"
)

// TestCallbackListenHoldsLittle checks that incomplete bodies are refused and dropped before they fill the
// memory.
func TestCallbackListenHoldsLittle(t *testing.T) {
	in := &inbox{open: t.Context(), out: io.Discard, note: func(string, ...any) error { return nil }}
	answers := func(held int64) int {
		in.held.Store(held)
		w := httptest.NewRecorder()
		in.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader("12345")))
		if now := in.held.Load(); now != held {
			t.Errorf("%d bytes are held afterwards, not %d", now, held)
		}
		return w.Code
	}
	in.options.Format = render.JSONL
	in.flags.respond = 200
	if got := answers(maxCallbacks - 5); got != 200 {
		t.Errorf("the last body that there is room for is answered with %d", got)
	}
	if got := answers(maxCallbacks - 4); got != 503 {
		t.Errorf("one that there is no room for is answered with %d", got)
	}
}
