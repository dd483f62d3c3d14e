package journal

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// A change is the effect of an event on an order.
type change struct {
	old, next Order
	event     Event
	made      bool // the order still had the version of old, and is changed
}

// changed returns the change that an event makes, or nil if it leaves the order unchanged.
func changed(old Order, e event) (*change, error) {
	now, err := next(old, e)
	if err != nil || reflect.DeepEqual(old, now) {
		return nil, err
	}
	return &change{old: old, next: now, event: e.told(old, now)}, nil
}

// happen makes the change of one event, and returns the order after that.
func (t *tx) happen(old Order, e event) (Order, error) {
	c, err := changed(old, e)
	if c == nil || err != nil {
		return old, err
	}
	if err := t.move([]*change{c}, "TRUE"); err != nil {
		return old, err
	}
	if !c.made {
		return old, changedMeanwhile(old)
	}
	return c.next, nil
}

func changedMeanwhile(o Order) error {
	return fmt.Errorf("order %s was changed by another process meanwhile", o.OrderID)
}

// move makes the changes whose orders still have the version of old and meet the condition only. In the
// condition, {withdrawal} is the withdrawal id that the order is given. move is the only place that changes
// orders and attempts.
func (t *tx) move(changes []*change, only string) error {
	for _, c := range changes {
		c.next.Changed, c.next.version = t.at, c.old.version+1
	}
	return inPieces(firstOfEach(changes), func(some []*change) error { return t.moveSome(some, only) })
}

// firstOfEach removes all but the first change of each order. A statement would make only one of them, and
// not report which.
func firstOfEach(changes []*change) []*change {
	seen := make(map[int64]bool, len(changes))
	return slices.DeleteFunc(slices.Clone(changes), func(c *change) bool {
		again := seen[c.old.id]
		seen[c.old.id] = true
		return again
	})
}

// moveSome updates the orders with one statement. For two claims it is
//
//	WITH v (c0, c1, c4) AS (VALUES (CAST(?2 AS BIGINT), CAST(?3 AS TEXT), CAST(?6 AS BIGINT)), (?7, ?8, ?9))
//	UPDATE orders SET changed = ?1, version = version + 1, state = ?4, ... FROM v
//	WHERE id = v.c0 AND order_id = v.c1 AND version = ?5 AND <only> RETURNING id
//
// Then it writes the attempts and the history of the orders that were updated.
func (t *tx) moveSome(changes []*change, only string) error {
	rows := make([][]any, len(changes))
	for i, c := range changes {
		rows[i] = []any{c.old.id, c.old.OrderID, c.old.version}
	}
	var columns []string // only those that change: naming a column rewrites its indexes
	for _, column := range changingColumns() {
		if !slices.ContainsFunc(changes, func(c *change) bool { return column.differs(&c.old, &c.next) }) {
			continue
		}
		columns = append(columns, column.name)
		for i, c := range changes {
			rows[i] = append(rows[i], column.value(&c.next))
		}
	}
	list, names, args := valueList(filled(rows), t.now)
	set, withdrawal := "changed = ?1, version = version + 1", "''"
	for i, name := range columns {
		value := names[3+i]
		if set += ", " + name + " = " + value; name == "withdrawal" {
			withdrawal = value
		}
	}
	only = strings.ReplaceAll(only, "{withdrawal}", withdrawal)
	update := fmt.Sprintf(`%s UPDATE orders SET %s FROM v WHERE id = %s AND order_id = %s AND version = %s AND %s RETURNING id`,
		list, set, names[0], names[1], names[2], only)
	made, err := t.numbers(update, args...)
	if err != nil {
		return err
	}
	var attempts, events [][]any
	for _, c := range changes {
		if c.made = made[c.old.id]; !c.made {
			continue
		}
		for i, a := range c.next.Attempts {
			if i >= len(c.old.Attempts) || a != c.old.Attempts[i] {
				attempts = append(attempts,
					[]any{c.old.id, a.Number, a.sender, stamp(a.Began), stamp(a.Ended), string(a.Outcome), a.Decimals, a.Demand,
						a.Consent, a.boot, int64(a.since), a.skewText()})
			}
		}
		e := c.event
		events = append(events, []any{c.old.id, e.What, e.Key, storable(e.Withdrawal), e.Status, e.Code, e.Reason})
	}
	if err := inPieces(attempts, t.putAttempts); err != nil {
		return err
	}
	return inPieces(events, t.addEvents)
}

// putAttempts records attempts, both new ones and those that have changed.
func (t *tx) putAttempts(rows [][]any) error {
	list, names, args := valueList(filled(rows))
	_, err := t.exec(list+` INSERT INTO attempts (order_row, number, sender, began, ended, outcome, decimals, demand, consent, boot, since_boot, skew)
		SELECT `+strings.Join(names, ", ")+` FROM v WHERE `+names[0]+` <> 0
		ON CONFLICT (order_row, number) DO UPDATE SET ended = excluded.ended, outcome = excluded.outcome, skew = excluded.skew`, args...)
	return err
}

func (a Attempt) skewText() string {
	if !a.Dated {
		return ""
	}
	return a.Skew.String()
}

// addEvents adds events to the history of orders, with the orders' current states.
func (t *tx) addEvents(rows [][]any) error {
	list, names, args := valueList(filled(rows), t.now, t.j.options.User, t.j.options.Host)
	_, err := t.exec(list+` INSERT INTO events (order_row, at, user_name, host, state, currency, unit, minor, address, memo, callback, what, fingerprint, withdrawal, status, code, reason)
		SELECT id, ?1, ?2, ?3, state, currency, unit, minor, address, memo, callback, `+strings.Join(names[1:], ", ")+` FROM v JOIN orders ON id = `+names[0], args...)
	return err
}

// A column is a column of the table orders that a change can name.
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
		of("content", func(o *Order) Content { return o.Content }, func(c Content) any { return c.Key().String() }),
		of("payee", func(o *Order) string { return o.Address }, func(to string) any { return payee(to) }),
		text("callback", func(o *Order) string { return o.Callback }),
		text("note", func(o *Order) string { return o.Note }),
		of("withdrawal", func(o *Order) string { return o.Withdrawal }, func(id string) any { return storable(id) }),
		of("shown", func(o *Order) string { return o.Shown }, func(id string) any { return storable(id) }),
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
