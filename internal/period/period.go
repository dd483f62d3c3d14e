// Package period reads times and periods on the command line: days, weeks, months, ages and full date-times.
package period

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/near"
	"example.com/till/internal/report"
	"example.com/till/internal/usage"
)

// ageLimit keeps the arithmetic of ages in the range of time.Duration.
const ageLimit = 100 * 365 * 24 * time.Hour

// Parser translates the values of --from and --to into what is sent. The interface does not show the format
// of the times in its filter. So a full date-time is sent as it was typed. A day, a week, a month or an age
// is written in the layout and the zone of the profile. The end of a day, week or month is its last second.
//
// Its errors wrap *usage.Error.
type Parser struct {
	Now    time.Time
	Layout string
	Zone   *time.Location
}

func usageError(msg, advice string) error { return &usage.Error{Msg: msg, Advice: advice} }

// ends returns the first moment of a period and the first after it. An end that is open is zero. The function
// dateTime reads a full date-time.
func (p Parser) ends(
	from, to string, dateTime func(flag, text string) (time.Time, error),
) (first, after time.Time, err error) {
	read := func(flag, text string) (first, after time.Time, err error) {
		step := time.Second // a time names a whole second, unless it has a fraction
		switch {
		case text == "":
		case !IsDateTime(text):
			if first, err = p.Parse(text); err != nil {
				err = fmt.Errorf("%s: %w", flag, err)
			}
		default:
			if first, err = dateTime(flag, text); first.Nanosecond() != 0 {
				step = time.Nanosecond
			}
		}
		if day, unit, _ := p.named(text); unit != "" {
			return first, p.begin(unit.Step(day, 1)), err
		} else if first.IsZero() {
			return first, first, err
		}
		return first, first.Add(step), err
	}
	if first, _, err = read("--from", from); err == nil {
		_, after, err = read("--to", to)
	}
	if err == nil && !first.IsZero() && !after.IsZero() && !first.Before(after) {
		err = usageError(fmt.Sprintf("--from %s is later than --to %s", from, to), "exchange them")
	}
	return first, after, err
}

// Sent returns the ends of a period as they are sent. For a day, week or month, to is the first moment after it:
// a service that compares exactly would leave out what is in the last second. What begins then or later does not
// belong to the period, and end is that moment; a zero end means that the service alone decides.
func (p Parser) Sent(from, to string) (sentFrom, sentTo string, end time.Time, err error) {
	first, after, err := p.ends(from, to, func(string, string) (time.Time, error) { return time.Time{}, nil })
	if err != nil {
		return "", "", end, err
	}
	if _, unit, _ := p.named(to); unit != "" {
		end = after
	} else if !after.IsZero() {
		after = after.Add(-time.Second)
	}
	format := func(text string, at time.Time) string {
		if at.IsZero() {
			return text
		}
		return at.In(p.Zone).Format(p.Layout)
	}
	return format(from, first), format(to, after), end, nil
}

// Instants returns the first moment of a period in till's own times, and the first after it. An end that is open
// is zero.
func (p Parser) Instants(from, to string) (start, end time.Time, err error) {
	return p.ends(from, to, func(flag, text string) (time.Time, error) {
		at, ok := p.Reads(text)
		if !ok {
			return at, usageError(fmt.Sprintf("%s: %q is not a time", flag, text),
				"write it like 2026-05-03T10:00:00, or like 2026-05-03T10:00:00Z")
		}
		return at, nil
	})
}

// Written returns the period for times that were written without a time zone, on the clock that wrote them.
func (p Parser) Written(from, to string) (span report.Span, err error) {
	p.Now, p.Zone = p.WallClock(), time.UTC // as no zone: each day has 24 hours
	first, after, err := p.ends(from, to, func(flag, text string) (time.Time, error) {
		at, rest, ok := report.ParseWritten(text)
		if !ok || rest != "" {
			return at, usageError(fmt.Sprintf("%s: %q cannot be compared with times without a time zone", flag, text),
				"write it like 2026-05-03T10:00:00")
		}
		return at, nil
	})
	span = report.Span{From: first, To: after}
	if _, unit, _ := p.named(from); unit != report.ByDay {
		span.Unit = unit
	}
	return span, err
}

// Parse returns the first moment of what a text names. It reads no full date-time.
func (p Parser) Parse(text string) (time.Time, error) {
	switch first, unit, ok := p.named(text); {
	case unit != "":
		return p.begin(first), nil
	case ok:
		return first, nil
	}
	return time.Time{}, usageError(fmt.Sprintf("%q is not a time", text),
		cmp.Or(near.Question(text, "", Words()), "write "+strings.Join(Words(), ", ")+", a date "+
			"(2026-05-03), a week (2026-W18), a month (2026-05), an age (7d, 12h, 90m, 2w) or a full date-time "+
			"(2026-05-03T10:00:00)"))
}

// Reads reads a full date-time, as the service has written one. Without a zone, it is in the profile's.
func (p Parser) Reads(text string) (time.Time, bool) {
	at, rest, ok := report.ParseWritten(text)
	if ok && rest == "" {
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), p.Zone), true
	}
	for _, layout := range []string{time.RFC3339, p.Layout} {
		if at, err := time.ParseInLocation(layout, text, p.Zone); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Words returns the words for days and months.
func Words() []string { return []string{"today", "yesterday", "this-month", "last-month"} }

// named returns the moment of an age, or the first day of a day, week or month, in UTC as no zone, and which of
// the three it is. In --from a name is the beginning of that day, week or month, and in --to its end.
func (p Parser) named(text string) (first time.Time, unit report.Unit, ok bool) {
	if age, ok := ParseAge(text); ok {
		return p.Now.Add(-age), "", true
	}
	now := p.Now.In(p.Zone)
	day := func(month time.Month, day int) time.Time {
		return time.Date(now.Year(), month, day, 0, 0, 0, 0, time.UTC)
	}
	switch text {
	case "today":
		return day(now.Month(), now.Day()), report.ByDay, true
	case "yesterday":
		return day(now.Month(), now.Day()-1), report.ByDay, true
	case "this-month":
		return day(now.Month(), 1), report.ByMonth, true
	case "last-month":
		return day(now.Month()-1, 1), report.ByMonth, true
	}
	if first, err := time.Parse(time.DateOnly, text); err == nil {
		return first, report.ByDay, true
	}
	if first, err := time.Parse("2006-01", text); err == nil {
		return first, report.ByMonth, true
	}
	var year, week int
	if n, _ := fmt.Sscanf(text, "%d-W%d", &year, &week); n == 2 {
		fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC) // is always in week 1
		monday := fourth.AddDate(0, 0, 7*(week-1)-(int(fourth.Weekday())+6)%7)
		if y, w := monday.ISOWeek(); fmt.Sprintf("%04d-W%02d", y, w) == text {
			return monday, report.ByWeek, true
		}
	}
	return time.Time{}, "", false
}

func (p Parser) begin(day time.Time) time.Time {
	return Midnight(day.Year(), day.Month(), day.Day(), p.Zone)
}

// Midnight returns when a day begins in a zone. If the clocks are set forward at midnight, time.Date may return a
// time of the day before: the day begins with the change.
func Midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	at := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if at.Hour() > 12 {
		_, at = at.ZoneBounds()
	}
	return at
}

// WallClock returns the present second on a clock in the zone, in UTC as no zone.
func (p Parser) WallClock() time.Time {
	now := p.Now.In(p.Zone)
	return time.Date(now.Year(), now.Month(), now.Day(), now.Hour(), now.Minute(), now.Second(), 0, time.UTC)
}

// Today returns the default end of a period: now if from is an age, and otherwise the end of today.
func (p Parser) Today(from string) string {
	if _, age := ParseAge(from); age {
		return "0s"
	}
	return p.Now.In(p.Zone).Format(time.DateOnly)
}

// IsDateTime reports whether text is a date with a time, in any usual spelling, or a count of seconds.
func IsDateTime(text string) bool {
	return regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}|\d{9,}$)`).MatchString(text)
}

// ParseDuration parses a duration as Go writes it, such as 1h30m, or an age, such as 30d.
func ParseDuration(text string) (time.Duration, bool) {
	if age, ok := ParseAge(text); ok {
		return age, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// ParseAge parses an age such as 7d, 12h, 90m or 2w.
func ParseAge(text string) (time.Duration, bool) {
	if len(text) < 2 {
		return 0, false
	}
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour,
		'w': 7 * 24 * time.Hour}[text[len(text)-1]]
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 31)
	if err != nil || time.Duration(n) > ageLimit/unit {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
