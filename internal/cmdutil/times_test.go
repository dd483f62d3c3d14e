package cmdutil

import (
	"testing"
	"time"
)

func TestPeriod(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	now := time.Date(2026, 5, 3, 10, 20, 30, 0, time.UTC)
	for _, c := range []struct {
		layout   string
		zone     *time.Location
		text     string
		from, to string
	}{
		// An age is that long ago, both in --from and in --to.
		{"2006-01-02T15:04:05", time.UTC, "7d", "2026-04-26T10:20:30", "2026-04-26T10:20:30"},
		{"2006-01-02T15:04:05", time.UTC, "12h", "2026-05-02T22:20:30", "2026-05-02T22:20:30"},
		{"2006-01-02T15:04:05", time.UTC, "2w", "2026-04-19T10:20:30", "2026-04-19T10:20:30"},
		{"2006-01-02T15:04:05", time.UTC, "90m", "2026-05-03T08:50:30", "2026-05-03T08:50:30"},
		{"2006-01-02T15:04:05", berlin, "0s", "2026-05-03T12:20:30", "2026-05-03T12:20:30"},
		// A date or a month begins and ends in the zone. Its end is its last second.
		{"2006-01-02T15:04:05", time.UTC, "2026-05-03", "2026-05-03T00:00:00", "2026-05-03T23:59:59"},
		{"2006-01-02T15:04:05", time.UTC, "2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59"},
		{"2006-01-02T15:04:05", time.UTC, "2026-12", "2026-12-01T00:00:00", "2026-12-31T23:59:59"},
		{"2006-01-02T15:04:05Z07:00", berlin, "2026-05-03", "2026-05-03T00:00:00+02:00", "2026-05-03T23:59:59+02:00"},
		// The clocks change on this day.
		{"2006-01-02T15:04:05Z07:00", berlin, "2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		{"02.01.2006", time.UTC, "2026-05", "01.05.2026", "31.05.2026"},
		// A full date-time is sent as it was typed, with any layout and zone.
		{"02.01.2006", berlin, "2026-05-03T10:00:00", "2026-05-03T10:00:00", "2026-05-03T10:00:00"},
		{"02.01.2006", berlin, "2026-05-03 10:00", "2026-05-03 10:00", "2026-05-03 10:00"},
		{"02.01.2006", berlin, "2026-05-03T10:00:00.5+07:00", "2026-05-03T10:00:00.5+07:00", "2026-05-03T10:00:00.5+07:00"},
		{"02.01.2006", berlin, "", "", ""},
	} {
		p := Period{now: now, layout: c.layout, zone: c.zone}
		if got, err := p.from(c.text); err != nil || got != c.from {
			t.Errorf("--from %q: %q, %v, want %q", c.text, got, err, c.from)
		}
		if got, err := p.to(c.text); err != nil || got != c.to {
			t.Errorf("--to %q: %q, %v, want %q", c.text, got, err, c.to)
		}
	}
}

func TestPeriodRefuses(t *testing.T) {
	p := Period{now: time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC), layout: time.DateTime, zone: time.UTC}
	for _, text := range []string{"yesterday", "2026", "2026-13", "2026-02-30", "26-05-03", "7", "d", "-7d", "+7d", "1.5d", "7 d", "7y", "99999999999d", " ", "2026-05-03 "} {
		if got, err := p.from(text); err == nil || Explain(err).Code != ExitUsage {
			t.Errorf("--from %q: %q, %v", text, got, err)
		}
	}
}
