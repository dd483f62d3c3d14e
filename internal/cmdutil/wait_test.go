package cmdutil

import (
	"testing"
	"time"
)

func TestSighting(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	sight := sighting{clock: func() time.Time { return now }}
	for _, test := range []struct{ status, since, want string }{
		{"Awaiting", "", "invoice 1: Awaiting at least since 2026-05-04T03:02:01Z"},
		{"Awaiting", "", "invoice 1: Awaiting at least since 2026-05-04T03:02:01Z"},
		{"Paid", "", "invoice 1: Paid since 2026-05-04T03:02:05Z"},
		{"Paid", "yesterday", "invoice 1: Paid since yesterday"},
	} {
		if got := sight.text("invoice 1", test.status, test.since); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		now = now.Add(2 * time.Second)
	}
}
