package report

import (
	"fmt"
	"strings"
	"time"

	"example.com/till/internal/usage"
)

// ParseWritten reads a date and time as the service writes created: 2026-05-03T10:00:00. It also accepts a
// space or a t instead of the T, a time without seconds or with a fraction of them, and a date alone. rest is
// what follows it, such as a Z.
func ParseWritten(text string) (at time.Time, rest string, ok bool) {
	const day, minute, second = len("2006-01-02"), len("2006-01-02T15:04"), len(writtenLayout)
	if len(text) <= day || !strings.Contains("Tt ", text[day:day+1]) {
		at, err := time.Parse(time.DateOnly, text)
		return at, "", err == nil
	}
	rest = strings.TrimLeft(text[day+1:], ":"+digits)
	if rest != "" && (rest[0] == '.' || rest[0] == ',') && rest[1:] != strings.TrimLeft(rest[1:], digits) {
		rest = strings.TrimLeft(rest[1:], digits) // behind a fraction, which time.Parse reads although no layout has it
	}
	written, layout := text[:len(text)-len(rest)], strings.Replace(writtenLayout, "T", text[day:day+1], 1)
	switch {
	case len(written) == minute:
		layout = layout[:minute]
	case len(written) < second:
		return at, "", false
	case written[minute:second] == ":60": // a leap second is the end of its minute and its day
		written = written[:minute] + ":59.999999999"
	}
	at, err := time.Parse(layout, written)
	return at, rest, err == nil
}

// ParseCreated reads a time in a layout, or else as ParseWritten does. A zone in it does not count, because all
// times are as the service wrote them.
func ParseCreated(text, layout string) (at time.Time, ok bool) {
	at, err := time.Parse(layout, text)
	if err != nil {
		at, _, ok = ParseWritten(text)
		return at, ok
	}
	_, offset := at.Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second), true
}

// Unread returns the error about n things whose time matters and cannot be read.
func Unread(first, created string, n int) error {
	more := ""
	if n > 1 {
		more = fmt.Sprintf(", and %d more like it", n-1)
	}
	return &usage.Error{
		Advice: "set time_layout in the profile to how the service writes times",
		Msg:    fmt.Sprintf("%s is in no period, because its time of creation cannot be read: %.60q%s", first, created, more),
	}
}

const (
	writtenLayout = "2006-01-02T15:04:05"
	digits        = "0123456789"
)

// Span is the time from From until just before To. An end that is zero is open.
type Span struct {
	From, To time.Time

	// Unit is ByWeek or ByMonth if From was given as a week or month, and otherwise empty. Until such a span
	// is over, it counts as whole weeks or months of which the rest is still to come.
	Unit Unit
}

// Open reports whether the span is all time.
func (s Span) Open() bool { return s.From.IsZero() && s.To.IsZero() }

// Contains reports whether a time is in the span.
func (s Span) Contains(at time.Time) bool {
	return (s.From.IsZero() || !at.Before(s.From)) && (s.To.IsZero() || at.Before(s.To))
}

// Running reports whether the span has begun and is not over. now is the present second.
func (s Span) Running(now time.Time) bool {
	return !s.Open() && (s.From.IsZero() || !now.Before(s.From)) && (s.To.IsZero() || s.To.After(now.Add(time.Second)))
}

// SoFar returns the span, which is running, until the end of today at most.
func (s Span) SoFar(now time.Time) Span {
	if tomorrow := ByDay.Step(dayOf(now), 1); s.To.IsZero() || s.To.After(tomorrow) {
		s.To = tomorrow
	}
	return s
}

// whole returns the span with the rest of the week or month in which it ends, if it is running and has a
// Unit.
func (s Span) whole(now time.Time) Span {
	if s.Unit != "" && !s.To.IsZero() && s.Running(now) {
		s.To = s.Unit.Step(s.Unit.Begin(s.To.Add(-time.Nanosecond)), 1)
	}
	return s
}

// Before returns the span to compare with. Whole months are preceded by as many months; otherwise it has the
// same length in days, hours and seconds, and ends where this one begins. If the span is running, the one
// before it ends after the same number of days: up to 23 November is compared with up to 23 October, and up
// to 31 March with all of February. Both ends must be set.
func (s Span) Before(now time.Time) Span {
	whole := s.whole(now)
	before := Span{From: whole.shift(s.From, -1), To: s.From}
	if s.Running(now) {
		before.To = whole.shift(s.SoFar(now).To.Add(-time.Nanosecond), -1).Add(time.Nanosecond)
	}
	return before
}

// shift returns the time that corresponds to at in the span after (1) or before (-1). In whole months it is
// the same day of another month, or the last day if that month is shorter. Otherwise it is as many days,
// hours and seconds away as the span is long.
func (s Span) shift(at time.Time, direction int) time.Time {
	if !s.From.Equal(ByMonth.Begin(s.From)) || !s.To.Equal(ByMonth.Begin(s.To)) || s.From.Equal(s.To) {
		return time.Unix(at.Unix()+int64(direction)*(s.To.Unix()-s.From.Unix()),
			int64(at.Nanosecond()+direction*(s.To.Nanosecond()-s.From.Nanosecond()))).UTC()
	}
	first := ByMonth.Step(ByMonth.Begin(at), direction*ByMonth.steps(s.From, s.To))
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(at.Day(), last.Day())-1).Add(at.Sub(dayOf(at)))
}

// Bounds returns the first and the last second of the span as text, empty for an open end.
func (s Span) Bounds() (from, to string) {
	if !s.From.IsZero() {
		from = s.From.Format(writtenLayout)
	}
	if !s.To.IsZero() {
		to = s.To.Add(-time.Nanosecond).Format(writtenLayout)
	}
	return from, to
}

// dayOf returns the midnight before a time.
func dayOf(at time.Time) time.Time { return at.Truncate(24 * time.Hour) }

// Unit is a kind of period: a Group that is a period of time, or Year.
type Unit = Group

// lengths has how long each unit is, and how its periods are named.
var lengths = map[Unit]struct {
	days, months int
	layout       string
}{
	ByDay: {1, 0, time.DateOnly}, ByWeek: {7, 0, ""}, ByMonth: {0, 1, "2006-01"}, Year: {0, 12, "2006"},
}

// Begin returns the first midnight of the period that contains a time.
func (g Group) Begin(at time.Time) time.Time {
	day := dayOf(at)
	switch g {
	case ByWeek:
		return day.AddDate(0, 0, -((int(day.Weekday()) + 6) % 7))
	case ByMonth:
		return day.AddDate(0, 0, 1-day.Day())
	case Year:
		return day.AddDate(0, 0, 1-day.YearDay())
	}
	return day
}

// Step returns the beginning of the period that is n later than the one that begins at a time.
func (g Group) Step(begin time.Time, n int) time.Time {
	return begin.AddDate(0, n*lengths[g].months, n*lengths[g].days)
}

// steps returns how many periods later another one begins.
func (g Group) steps(from, to time.Time) int {
	if months := lengths[g].months; months > 0 {
		return (12*(to.Year()-from.Year()) + int(to.Month()-from.Month())) / months
	}
	days := int((to.Unix() - from.Unix()) / (24 * 60 * 60)) // a Duration has 292 years at most
	return days / lengths[g].days
}

// count returns how many periods there are from one day to another.
func (g Group) count(first, last time.Time) int { return 1 + g.steps(g.Begin(first), g.Begin(last)) }

// name formats the period that begins at a time: 2026-05-03, 2026-W18, 2026-05 or 2026.
func (g Group) name(begin time.Time) string {
	if g == ByWeek {
		year, week := begin.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	}
	return begin.Format(lengths[g].layout)
}
