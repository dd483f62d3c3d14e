package report

import (
	"fmt"
	"time"
)

// ParseWritten reads a date and time as the service writes created: 2026-05-03T10:00:00. It also accepts a
// space or a t instead of the T, a time without seconds or with a fraction of them, and a date alone. rest is
// what follows it, such as a Z.
func ParseWritten(text string) (at time.Time, rest string, ok bool) {
	year, ok1 := digits(text, 0, 4)
	month, ok2 := digits(text, 5, 2)
	day, ok3 := digits(text, 8, 2)
	if !ok1 || !ok2 || !ok3 || text[4] != '-' || text[7] != '-' {
		return at, "", false
	}
	rest = text[10:]
	hour, minute, second, nano := 0, 0, 0, 0
	if rest != "" {
		var ok4, ok5 bool
		hour, ok4 = digits(rest, 1, 2)
		minute, ok5 = digits(rest, 4, 2)
		if !ok4 || !ok5 || rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ' || rest[3] != ':' {
			return at, "", false
		}
		rest = rest[6:]
		if n, ok := digits(rest, 1, 2); ok && rest[0] == ':' {
			second, rest = n, rest[3:]
			nano, rest = fraction(rest)
		}
	}
	if hour > 23 || minute > 59 || second > 60 {
		return at, "", false
	}
	if second == 60 { // a leap second is the end of its minute and its day
		second, nano = 59, 999_999_999
	}
	at = time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return at, rest, date.Month() == time.Month(month) && date.Day() == day // no 30 February
}

func digits(text string, from, count int) (n int, ok bool) {
	if len(text) < from+count {
		return 0, false
	}
	for _, c := range []byte(text[from : from+count]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// fraction reads a fraction of a second, up to nanoseconds.
func fraction(text string) (nano int, rest string) {
	if len(text) < 2 || text[0] != '.' && text[0] != ',' || text[1] < '0' || text[1] > '9' {
		return 0, text
	}
	scale := 100_000_000
	i := 1
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		nano += int(text[i]-'0') * scale
		scale /= 10
	}
	return nano, text[i:]
}

// Span is the time from From until just before To. An end that is nil is open. No time can mean that, because
// the service can write every time.
type Span struct {
	From, To *time.Time

	// Unit is ByWeek or ByMonth if From was given as a week or month, and otherwise empty. Until such a span
	// is over, it counts as whole weeks or months of which the rest is still to come.
	Unit Unit
}

// Open reports whether the span is all time.
func (s Span) Open() bool { return s.From == nil && s.To == nil }

// Contains reports whether a time is in the span.
func (s Span) Contains(at time.Time) bool {
	return (s.From == nil || !at.Before(*s.From)) && (s.To == nil || at.Before(*s.To))
}

// Running reports whether the span has begun and is not over. now is the present second.
func (s Span) Running(now time.Time) bool {
	return !s.Open() && (s.From == nil || !now.Before(*s.From)) && (s.To == nil || s.To.After(now.Add(time.Second)))
}

// whole returns the span with the rest of the week or month in which it ends, if it is running and has a
// Unit.
func (s Span) whole(now time.Time) Span {
	if s.Unit != "" && s.To != nil && s.Running(now) {
		s.To = new(dayOf(s.To.Add(-time.Nanosecond)).begin(s.Unit).step(s.Unit, 1).time())
	}
	return s
}

// months returns how many months the span has, or 0 if it does not begin and end with a month.
func (s Span) months() int {
	if !startsMonth(*s.From) || !startsMonth(*s.To) {
		return 0
	}
	return monthOf(*s.To) - monthOf(*s.From)
}

// Before returns the span to compare with. Whole months are preceded by as many months; otherwise it has the
// same length in days, hours and seconds, and ends where this one begins. If the span is running, the one
// before it ends after the same number of days: up to 23 November is compared with up to 23 October, and up
// to 31 March with all of February. Both ends must be set.
func (s Span) Before(now time.Time) Span {
	whole := s.whole(now)
	before := Span{From: new(whole.shift(*s.From, -1)), To: s.From}
	if s.Running(now) {
		end := *s.To
		if tomorrow := (dayOf(now) + 1).time(); tomorrow.Before(end) {
			end = tomorrow
		}
		before.To = new(whole.shift(end.Add(-time.Nanosecond), -1).Add(time.Nanosecond))
	}
	return before
}

// shift returns the time that corresponds to at in the span after (1) or before (-1). In whole months it is
// the same day of another month, or the last day if that month is shorter. Otherwise it is as many days,
// hours and seconds away as the span is long.
func (s Span) shift(at time.Time, direction int) time.Time {
	months := s.months()
	if months == 0 {
		return time.Unix(at.Unix()+int64(direction)*(s.To.Unix()-s.From.Unix()),
			int64(at.Nanosecond()+direction*(s.To.Nanosecond()-s.From.Nanosecond()))).UTC()
	}
	first := time.Date(at.Year(), at.Month()+time.Month(direction*months), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(at.Day(), last.Day())-1).Add(at.Sub(dayOf(at).time()))
}

// startsMonth reports whether a time is the beginning of a month.
func startsMonth(at time.Time) bool { return at.Day() == 1 && at.Equal(dayOf(at).time()) }

func monthOf(at time.Time) int { return 12*at.Year() + int(at.Month()) }

const writtenLayout = "2006-01-02T15:04:05"

// Bounds returns the first and the last second of the span as text, empty for an open end.
func (s Span) Bounds() (from, to string) {
	if s.From != nil {
		from = s.From.Format(writtenLayout)
	}
	if s.To != nil {
		to = s.To.Add(-time.Nanosecond).Format(writtenLayout)
	}
	return from, to
}

// date is a day, counted from 1 January 1970.
type date int32

const secondsOfDay = 24 * 60 * 60

func dayOf(at time.Time) date {
	seconds := at.Unix()
	day := seconds / secondsOfDay
	if seconds%secondsOfDay < 0 {
		day--
	}
	return date(day)
}

func (d date) time() time.Time { return time.Unix(int64(d)*secondsOfDay, 0).UTC() }

// Unit is a kind of period: a Group that is a period of time, or Year.
type Unit = Group

// begin returns the first day of the unit that contains a day.
func (d date) begin(unit Unit) date {
	switch unit {
	case ByWeek:
		return d - ((d+3)%7+7)%7 // 1 January 1970 was a Thursday
	case ByMonth:
		at := d.time()
		return d - date(at.Day()-1)
	case Year:
		return d - date(d.time().YearDay()-1)
	}
	return d
}

// step returns the first day of the unit that is n units later. The day must be the first of its unit.
func (d date) step(unit Unit, n int) date {
	switch unit {
	case ByWeek:
		return d + date(7*n)
	case ByMonth:
		return dayOf(d.time().AddDate(0, n, 0))
	case Year:
		return dayOf(d.time().AddDate(n, 0, 0))
	}
	return d + date(n)
}

// steps returns how many units later another first day is.
func (d date) steps(unit Unit, to date) int {
	switch unit {
	case ByWeek:
		return int(to-d) / 7
	case ByMonth:
		return monthOf(to.time()) - monthOf(d.time())
	case Year:
		return to.time().Year() - d.time().Year()
	}
	return int(to - d)
}

// name formats the unit that begins with a day: 2026-05-03, 2026-W18, 2026-05 or 2026.
func (d date) name(unit Unit) string {
	at := d.time()
	switch unit {
	case ByWeek:
		year, week := at.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case ByMonth:
		return at.Format("2006-01")
	case Year:
		return at.Format("2006")
	}
	return at.Format(time.DateOnly)
}
