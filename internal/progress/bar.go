package progress

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"example.com/till/internal/render"
)

// Bar is a progress bar in the place of the spinner.
type Bar struct {
	spinner *Spinner
	text    string
	total   int
	begun   time.Time
	done    atomic.Int64
	more    atomic.Pointer[string]
	end     time.Duration // the end that was told, from the beginning; 0: none yet
}

// Bar begins a bar with a total count. The caller must call Finish in every case.
func (s *Spinner) Bar(text string, total int, quiet bool) *Bar {
	if quiet {
		s = new(Spinner)
	}
	b := &Bar{spinner: s, text: text, total: total, begun: time.Now()}
	s.show(b.line)
	return b
}

// Add adds n to the count. It is safe for concurrent use.
func (b *Bar) Add(n int) { b.done.Add(int64(n)) }

// Also shows the speed from now on, and a text after it.
func (b *Bar) Also(text string) { b.more.Store(&text) }

// Finish removes the bar from the screen.
func (b *Bar) Finish() { b.spinner.Stop() }

// The bar takes a quarter of the line, within these bounds. A shorter one is left out.
const (
	shortestBar = 8
	longestBar  = 40
)

// line returns the bar and its words. The terminal asks for one line at a time. The width of the bar depends
// on the room alone, so that it stays the same while the words grow. If there is no room for all of them, the
// speed or the time left is left out, or both.
func (b *Bar) line(room int) string {
	done, elapsed := int(b.done.Load()), time.Since(b.begun)
	before, after := b.text+" ", ""
	if length := min(room/4, longestBar); length >= shortestBar {
		full := length * min(done, b.total) / max(b.total, 1)
		before += "▕" + strings.Repeat("█", full) + strings.Repeat("░", length-full) + "▏ "
	}
	words, speed := fmt.Sprintf("%d of %d", done, b.total), ""
	if more := b.more.Load(); more != nil && done > 0 {
		speed, after = fmt.Sprintf(", %.1f/s", float64(done)/elapsed.Seconds()), *more
	}
	left := b.left(elapsed, done)
	for _, line := range []string{words + speed + after + left, words + after + left, words + speed + after} {
		if line = before + line; render.Width(line) <= room {
			return line
		}
	}
	return before + words + after
}

// A shorter or smaller beginning says little about the rest.
const (
	forecastFrom  = 2 * time.Second
	forecastCount = 2
)

// left says how long it will still take, if done took the time elapsed. If nothing is known, it is empty. The
// words do not change back and forth: it keeps the end that it has told until it is clearly wrong.
func (b *Bar) left(elapsed time.Duration, done int) string {
	if elapsed < forecastFrom || done < forecastCount || done >= b.total {
		return ""
	}
	left := time.Duration(math.Min(float64(elapsed)/float64(done)*float64(b.total-done), math.MaxInt64/4))
	told := b.end - elapsed
	if b.end == 0 || (left-told).Abs() > max(left/5, 5*time.Second) {
		b.end, told = elapsed+left, left
	}
	return ", " + leftInWords(told) + " left"
}

func leftInWords(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "a few seconds"
	case d < 45*time.Second:
		return "less than a minute"
	case d < 90*time.Second:
		return "about a minute"
	case d < 50*time.Minute:
		return fmt.Sprintf("about %.0f minutes", d.Minutes())
	case d < 90*time.Minute:
		return "about an hour"
	}
	return fmt.Sprintf("about %.0f hours", d.Hours())
}
