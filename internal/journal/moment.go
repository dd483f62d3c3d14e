package journal

import (
	"context"
	"time"
)

// A Moment is a time by the journal's clock. In SQLite it is also a time since this machine has started,
// because that clock is not fooled if somebody sets the time of this machine.
type Moment struct {
	At    time.Time
	boot  string // names the start of this machine; empty: there is no such clock
	since time.Duration
}

// Moment returns the present moment.
func (l *Ledger) Moment(ctx context.Context) (Moment, error) {
	t := l.j.read(ctx)
	at := t.clock()
	return l.j.moment(at), t.err
}

func (j *Journal) moment(at time.Time) Moment {
	m := Moment{At: at}
	if j.options.SinceBoot != nil && !j.Shared() {
		m.boot, m.since = j.options.SinceBoot()
	}
	return m
}

// Age returns how long before a moment the last attempt of the order began. Skew is how far this machine's
// clock is ahead of the service's at that moment; nil: it is not known. If the machine has started again
// since the attempt, and the skew was known then too, the service's clock decides.
func (o Record) Age(m Moment, skew *time.Duration) time.Duration {
	last := o.origin()
	age := m.At.Sub(o.Sent)
	switch {
	case m.boot != "" && m.boot == last.boot:
		age = m.since - last.since
	case m.boot != "" && skew != nil && last.skew != "":
		then, _ := time.ParseDuration(last.skew)
		age -= *skew - then
	}
	return age
}
