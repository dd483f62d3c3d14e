package period

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/report"
	"example.com/till/internal/usage"
)

func TestPeriod(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	azores, _ := time.LoadLocation("Atlantic/Azores")
	const layout, zoned = "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00"
	now := time.Date(2026, 5, 3, 10, 20, 30, 0, time.UTC)
	for _, c := range []struct {
		layout   string
		zone     *time.Location
		text     string
		from, to string
	}{
		// An age is that long ago, both in --from and in --to.
		{layout, time.UTC, "7d", "2026-04-26T10:20:30", "2026-04-26T10:20:30"},
		{layout, berlin, "0s", "2026-05-03T12:20:30", "2026-05-03T12:20:30"},
		// A date or a month begins and ends in the zone. It ends with the next midnight.
		{layout, time.UTC, "2026-05-03", "2026-05-03T00:00:00", "2026-05-04T00:00:00"},
		{layout, time.UTC, "2024-02", "2024-02-01T00:00:00", "2024-03-01T00:00:00"},
		{zoned, berlin, "2026-05-03", "2026-05-03T00:00:00+02:00", "2026-05-04T00:00:00+02:00"},
		// The clocks change on this day.
		{zoned, berlin, "2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{zoned, azores, "2027-03-27", "2027-03-27T00:00:00-01:00", "2027-03-28T01:00:00Z"}, // at midnight
		{zoned, azores, "2027-03-28", "2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z"},
		{"02.01.2006", time.UTC, "2026-05", "01.05.2026", "01.06.2026"},
		// A week begins on a Monday, and the first one has 4 January.
		{layout, time.UTC, "2026-W40", "2026-09-28T00:00:00", "2026-10-05T00:00:00"},
		{layout, time.UTC, "2026-W01", "2025-12-29T00:00:00", "2026-01-05T00:00:00"},
		{zoned, berlin, "2026-W13", "2026-03-23T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		// A full date-time is sent as it was typed, with any layout and zone.
		{"02.01.2006", berlin, "2026-05-03T10:00:00", "2026-05-03T10:00:00", "2026-05-03T10:00:00"},
		{"02.01.2006", berlin, "2026-05-03 10:00", "2026-05-03 10:00", "2026-05-03 10:00"},
		{"02.01.2006", berlin, "2026-05-03T10:00:00.5+07:00", "2026-05-03T10:00:00.5+07:00",
			"2026-05-03T10:00:00.5+07:00"},
		{"02.01.2006", berlin, "", "", ""},
	} {
		p := Parser{Now: now, Layout: c.layout, Zone: c.zone}
		if from, to, _, err := p.Sent(c.text, c.text); err != nil || from != c.from || to != c.to {
			t.Errorf("%q: from %q to %q, %v, want %q to %q", c.text, from, to, err, c.from, c.to)
		}
	}
}

func TestPeriodRefuses(t *testing.T) {
	p := Parser{Now: time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC), Layout: time.DateTime, Zone: time.UTC}
	for _, text := range []string{"tomorrow", "Today", "2026-W00", "2025-W53", "2026-W54", "2026-W1", "2026-w18",
		"2026", "2026-13", "2026-02-30", "26-05-03", "7", "d", "-7d", "+7d", "1.5d", "7 d", "7y", "99999999999d",
		" ", "2026-05-03 "} {
		if got, _, _, err := p.Sent(text, ""); !errors.As(err, new(*usage.Error)) {
			t.Errorf("--from %q: %q, %v", text, got, err)
		}
	}
}

// TestWords checks the first days that the words name, in a zone where it is another day.
func TestWords(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*60*60)
	for now, want := range map[time.Time]string{
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC):               "2026-01-01 2025-12-31 2026-01-01 2025-12-01",
		time.Date(2026, 3, 31, 14, 59, 59, 0, time.UTC).In(tokyo): "2026-03-31 2026-03-30 2026-03-01 2026-02-01",
		time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC).In(tokyo):   "2026-04-01 2026-03-31 2026-04-01 2026-03-01",
		time.Date(2028, 3, 1, 12, 0, 0, 0, time.UTC):              "2028-03-01 2028-02-29 2028-03-01 2028-02-01",
	} {
		p := Parser{Now: now.UTC(), Layout: time.DateOnly, Zone: now.Location()}
		var got []string
		for _, word := range Words() {
			day, _, _, _ := p.Sent(word, "")
			got = append(got, day)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("at %s: %s, want %s", now, text, want)
		}
	}
}

func TestPeriodSuggests(t *testing.T) {
	p := Parser{Now: time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC), Layout: time.DateTime, Zone: time.UTC}
	for text, want := range map[string]string{
		"last_month": "did you mean last-month?",
		"2026/05": "write today, yesterday, this-month, last-month, a date (2026-05-03), " +
			"a week (2026-W18), a month (2026-05), " +
			"an age (7d, 12h, 90m, 2w) or a full date-time (2026-05-03T10:00:00)",
	} {
		_, _, _, err := p.Sent(text, "")
		if typed := new(usage.Error); !errors.As(err, &typed) || typed.Advice != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestWrittenPeriod checks the period of times without a zone, and whether it counts as weeks or months.
func TestWrittenPeriod(t *testing.T) {
	p := Parser{Now: time.Date(2026, 11, 22, 23, 30, 0, 999, time.UTC), Layout: time.DateTime,
		Zone: time.FixedZone("JST", 9*60*60)}
	for _, c := range []struct {
		from, to, want string
		unit           report.Unit
	}{
		{"this-month", "this-month", "2026-11-01T00:00:00 2026-11-30T23:59:59", report.ByMonth},
		{"this-month", "", "2026-11-01T00:00:00 ", report.ByMonth},
		{"last-month", "last-month", "2026-10-01T00:00:00 2026-10-31T23:59:59", report.ByMonth},
		{"last-month", "today", "2026-10-01T00:00:00 2026-11-23T23:59:59", report.ByMonth},
		{"2026-10", "yesterday", "2026-10-01T00:00:00 2026-11-22T23:59:59", report.ByMonth},
		{"2026-W47", "2026-W47", "2026-11-16T00:00:00 2026-11-22T23:59:59", report.ByWeek},
		{"2026-11-01", "today", "2026-11-01T00:00:00 2026-11-23T23:59:59", ""},
		{"yesterday", "", "2026-11-22T00:00:00 ", ""},
		{"7d", "0s", "2026-11-16T08:30:00 2026-11-23T08:30:00", ""},
		{"", "2026-10", " 2026-10-31T23:59:59", ""},
	} {
		s, err := p.Written(c.from, c.to)
		if from, to := s.Bounds(); err != nil || from+" "+to != c.want || s.Unit != c.unit {
			t.Errorf("%s to %s: %s %s by %q, %v; want %s by %q", c.from, c.to, from, to, s.Unit, err, c.want, c.unit)
		}
	}
	if _, err := p.Written("today", "yesterday"); !errors.As(err, new(*usage.Error)) {
		t.Errorf("today is before yesterday: %v", err)
	}
	if got := p.WallClock().Format(time.DateTime); got != "2026-11-23 08:30:00" {
		t.Errorf("the clock shows %s", got)
	}
}
