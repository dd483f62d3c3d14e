package journal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// steps are all the ways that there are from one state to another. The empty state is that of an order which is not there.
// move looks here, so a step that is not in this table cannot be made. What happens to an order may also leave it where it is.
func steps(from State) []State {
	switch from {
	case "":
		return []State{Planned, Sending, Accepted, Conflict}
	case Planned, Rejected:
		return []State{Sending, Accepted, Conflict}
	case Sending:
		return []State{Accepted, Rejected, Planned, Unknown, Conflict}
	case Unknown:
		return []State{Accepted, Rejected, Planned, Conflict}
	case Accepted:
		return []State{Conflict, Planned} // planned only where it was a person who said accepted
	case Conflict:
		return []State{Accepted, Planned}
	}
	return nil
}

// A change takes an order from where it stands to where next says, together with the event that tells of it.
type change struct {
	old, next Order
	event     Event
	made      bool // the order still stood there
}

// move makes a change, and returns the order as it then stands.
func (t *tx) move(old, next Order, e Event) (Order, error) {
	c := &change{old: old, next: next, event: e}
	err := t.moveAll([]*change{c}, "TRUE")
	if err == nil && !c.made {
		err = fmt.Errorf("order %s was changed by another process meanwhile", old.OrderID)
	}
	return c.next, err
}

// moveAll makes those of some changes whose order still is what it is said to be, in all that this depends on, and of which a
// further condition holds, where {withdrawal} is the withdrawal's id that the order is given. It is the only place that changes
// orders.
func (t *tx) moveAll(changes []*change, only string) error {
	now := unstamp(t.now)
	for _, c := range changes {
		if !slices.Contains(steps(c.old.State), c.next.State) && c.old.State != c.next.State {
			return fmt.Errorf("there is no step from %q to %q (order %s)", c.old.State, c.next.State, c.old.OrderID)
		}
		if c.next.State == Sending {
			c.next.attempt = c.old.attempt + 1
		}
		c.next.Changed = now
	}
	return inPieces(firstOfEach(changes), func(some []*change) error { return t.moveSome(some, only) })
}

// firstOfEach leaves out what would change an order a second time: a statement makes one of the two, and does not say which.
func firstOfEach(changes []*change) []*change {
	seen := make(map[int64]bool, len(changes))
	return slices.DeleteFunc(slices.Clone(changes), func(c *change) bool {
		again := seen[c.old.id]
		seen[c.old.id] = true
		return again
	})
}

func (t *tx) moveSome(changes []*change, only string) error {
	rows := make([][]any, len(changes))
	for i, c := range changes {
		o := c.old
		rows[i] = []any{o.id, o.OrderID, string(o.State), o.attempt, stamp(o.Changed), o.Currency, o.Unit, o.Minor, o.Address, o.Memo, o.Callback, o.Note}
	}
	var columns []string // an index is written anew for every column that is named
	for _, column := range changingColumns() {
		if !slices.ContainsFunc(changes, func(c *change) bool { return column.differs(&c.old, &c.next) }) {
			continue
		}
		columns = append(columns, column.name)
		for i, c := range changes {
			rows[i] = append(rows[i], column.value(&c.next))
		}
	}
	list, names, args := together(filled(rows), t.now)
	set, where := "changed = ?1", "id = "+names[0]
	compared := []string{"order_id", "state", "attempt", "changed", "currency", "unit", "minor", "address", "memo", "callback", "note"}
	for i, name := range compared {
		where += " AND " + name + " = " + names[1+i]
	}
	withdrawal := "''"
	for i, name := range columns {
		value := names[1+len(compared)+i]
		if set += ", " + name + " = " + value; name == "withdrawal" {
			withdrawal = value
		}
	}
	where += " AND " + strings.ReplaceAll(only, "{withdrawal}", withdrawal)
	made, err := t.numbers(list+` UPDATE orders SET `+set+` FROM v WHERE `+where+` RETURNING id`, args...)
	if err != nil {
		return err
	}
	rows = rows[:0]
	for _, c := range changes {
		if c.made = made[c.old.id]; c.made {
			e := c.event
			rows = append(rows, []any{c.old.id, e.What, e.Key, e.Withdrawal, e.Status, e.Code, e.Reason})
		}
	}
	return inPieces(rows, t.addEvents)
}

// addEvents tells what has happened to some orders, as they stand now.
func (t *tx) addEvents(rows [][]any) error {
	list, names, args := together(filled(rows), t.now, t.j.options.User, t.j.options.Host)
	_, err := t.exec(list+` INSERT INTO events (order_row, at, user_name, host, state, currency, unit, minor, address, memo, callback, what, fingerprint, withdrawal, status, code, reason)
		SELECT id, ?1, ?2, ?3, state, currency, unit, minor, address, memo, callback, `+strings.Join(names[1:], ", ")+` FROM v JOIN orders ON id = `+names[0], args...)
	return err
}

// column is one of an order that a step can change.
type column struct {
	name    string
	differs func(a, b *Order) bool
	value   func(*Order) any
}

var changingColumns = sync.OnceValue(func() []column {
	return []column{
		of("state", func(o *Order) State { return o.State }, func(s State) any { return string(s) }),
		text("run", func(o *Order) string { return o.Run }),
		text("currency", func(o *Order) string { return o.Currency }),
		text("unit", func(o *Order) string { return o.Unit }),
		number("minor", func(o *Order) int64 { return o.Minor }),
		text("address", func(o *Order) string { return o.Address }),
		text("memo", func(o *Order) string { return o.Memo }),
		text("callback", func(o *Order) string { return o.Callback }),
		text("note", func(o *Order) string { return o.Note }),
		text("withdrawal", func(o *Order) string { return o.Withdrawal }),
		number("attempt", func(o *Order) int64 { return o.attempt }),
		number("sender", func(o *Order) int64 { return o.sender }),
		number("doubt", func(o *Order) int64 { return o.doubt }),
		number("last_doubt", func(o *Order) int64 { return o.lastDoubt }),
		moment("sent", func(o *Order) time.Time { return o.Sent }),
		number("code", func(o *Order) int64 { return o.Code }),
		text("reason", func(o *Order) string { return o.Reason }),
		text("user_name", func(o *Order) string { return o.User }),
		text("host", func(o *Order) string { return o.Host }),
		text("fingerprint", func(o *Order) string { return o.Key }),
		text("decided", func(o *Order) string { return o.decided().As }),
		moment("decided_at", func(o *Order) time.Time { return o.decided().At }),
		text("decided_user", func(o *Order) string { return o.decided().User }),
		text("decided_host", func(o *Order) string { return o.decided().Host }),
		text("decided_why", func(o *Order) string { return o.decided().Reason }),
	}
})

func text(name string, get func(*Order) string) column {
	return of(name, get, func(s string) any { return s })
}

func number(name string, get func(*Order) int64) column {
	return of(name, get, func(n int64) any { return n })
}

func moment(name string, get func(*Order) time.Time) column {
	return of(name, get, func(t time.Time) any { return stamp(t) })
}

func of[V comparable](name string, get func(*Order) V, value func(V) any) column {
	return column{name, func(a, b *Order) bool { return get(a) != get(b) }, func(o *Order) any { return value(get(o)) }}
}

func (o *Order) decided() Decided {
	if o.Decided == nil {
		return Decided{}
	}
	return *o.Decided
}
