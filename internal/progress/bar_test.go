package progress

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/render"
)

func TestTimeLeftInWords(t *testing.T) {
	for _, test := range []struct {
		elapsed     time.Duration
		done, total int
		want        string
	}{
		{time.Minute, 0, 40, ""},    // nothing is known
		{time.Minute, 1, 40, ""},    // one says little
		{time.Second, 20, 4000, ""}, // so does a second
		{time.Minute, 40, 40, ""},   // it is over
		{time.Minute, 41, 40, ""},   // more than was expected
		{10 * time.Second, 10, 19, "a few seconds left"},
		{10 * time.Second, 10, 40, "less than a minute left"},
		{10 * time.Second, 10, 70, "about a minute left"},
		{10 * time.Second, 10, 130, "about 2 minutes left"},
		{time.Minute, 10, 310, "about 30 minutes left"},
		{time.Minute, 10, 610, "about an hour left"},
		{time.Minute, 10, 1210, "about 2 hours left"},
		{1 << 62, 2, 1 << 30, "about 640512 hours left"}, // as long as can be said
	} {
		b := Bar{total: test.total}
		if got := strings.TrimPrefix(b.left(test.elapsed, test.done), ", "); got != test.want {
			t.Errorf("%d of %d after %s: got %q, want %q", test.done, test.total, test.elapsed, got, test.want)
		}
	}
}

// TestTimeLeftDoesNotFlicker takes a job whose steps take turns in being fast and slow. The words come in
// their order, and each only once.
func TestTimeLeftDoesNotFlicker(t *testing.T) {
	b := Bar{total: 300}
	var told []string
	elapsed := time.Duration(0)
	for done := 1; done < 300; done++ {
		elapsed += time.Duration(1+done%3*2) * time.Second
		if words := b.left(elapsed, done); words != "" {
			told = append(told, words)
		}
	}
	told = slices.Compact(told)
	sorted := slices.Sorted(slices.Values(told))
	if len(slices.Compact(sorted)) != len(told) || len(told) < 10 {
		t.Errorf("got %q", told)
	}
}

func TestProgressLine(t *testing.T) {
	p := new(Spinner).Bar("sending", 40, false)
	p.Add(10)
	for _, test := range []struct {
		room int
		want string
	}{
		{100, "sending ▕" + strings.Repeat("█", 6) + strings.Repeat("░", 19) + "▏ 10 of 40"},
		{36, "sending ▕██░░░░░░░▏ 10 of 40"},
		{20, "sending 10 of 40"}, // no room for a bar
	} {
		got := p.line(test.room)
		if got != test.want || render.Width(got) > test.room {
			t.Errorf("in %d columns: got %q, want %q", test.room, got, test.want)
		}
	}
	p.Also(", 1 rejected")
	if got := p.line(100); !strings.HasSuffix(got, "/s, 1 rejected") {
		t.Errorf("got %q", got)
	}
}

// TestBarKeepsItsWidth lets the words grow from a count to all that can be said.
func TestBarKeepsItsWidth(t *testing.T) {
	for _, test := range []struct {
		room, bar int
		last      string // the words in the end, without the speed
	}{
		{57, 14, "▏ 20 of 40, 1 rejected, 1 unknown"},
		{97, 24, ", 1 rejected, 1 unknown, less than a minute left"},
		{200, 40, ", 1 rejected, 1 unknown, less than a minute left"},
	} {
		p := new(Spinner).Bar("sending", 40, false)
		p.begun = time.Now().Add(-20 * time.Second)
		var got string
		for _, more := range []string{"", ", 1 rejected", ", 1 rejected, 1 unknown"} {
			p.Also(more)
			if got = p.line(test.room); strings.Count(got, "█")+strings.Count(got, "░") != test.bar ||
				render.Width(got) > test.room {
				t.Errorf("in %d columns: got %q, want a bar of %d", test.room, got, test.bar)
			}
			p.done.Store(20)
		}
		if !strings.HasSuffix(got, test.last) {
			t.Errorf("in %d columns: got %q, want %q at the end", test.room, got, test.last)
		}
	}
}
