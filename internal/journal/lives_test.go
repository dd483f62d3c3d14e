package journal

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/payout/order"
)

// A life is what happens to an order of its own account. Two senders know it: the first one, and one that goes on
// when that was taken for dead.
type life struct {
	first, other *Ledger
	sender       *Ledger
	tickets      []Ticket
	was          Record // after the last outcome
}

// play goes through a life: what happens, separated by commas. What is refused is followed by "!" and the kind of
// the error, and what changes the state may be followed by ">" and the new state. The ids of withdrawals begin
// with w. It returns the order at the end.
func play(t *testing.T, j, other *book, steps string) Record {
	t.Helper()
	account := order.Account{Address: shop.Address, Name: steps}
	l := &life{first: j.in(t, account), other: other.of(account)}
	l.sender = l.first
	var now Record
	var told []order.Event
	for step := range strings.SplitSeq(steps, ", ") {
		what, state, _ := strings.Cut(step, " > ")
		what, kind, refused := strings.Cut(what, "! ")
		before, past := now, told
		if what == "dies" {
			loseLock(t, j)
			l.sender = l.other
		}
		returned, err := l.happens(t, what, before)
		if now, told = l.stored(t, other); refused {
			e := AsError(err)
			if !errors.Is(err, Kind(kind)) || e.Order.State != before.State || e.Order.Shown != before.Shown ||
				e.Kind == Exists && (e.Same != (what != "claim other") || e.Alive != (before.State == order.Sending)) {
				t.Errorf("%s: %s led to %+v, %v", steps, step, returned, err)
			}
			returned = before
		} else if err != nil {
			t.Fatalf("%s: %s: %v", steps, step, err)
		}
		events := len(past)
		if !reflect.DeepEqual(before, now) && what != "altered" {
			events++
		}
		if refused && events > len(past) || returned.OrderID != "" && !reflect.DeepEqual(returned, now) ||
			state != "" && now.State != order.State(state) {
			t.Errorf("%s: %s made it\n%+v, and returned\n%+v", steps, step, now, returned)
		}
		if len(told) != events || !slices.Equal(told[:len(past)], past) || events > 0 && told[events-1].State != now.State {
			t.Errorf("%s: %s made its story %v", steps, step, whats(told))
		}
		if kept, counted := spentOn(t, other, account); kept != counted && what != "altered" {
			t.Errorf("%s: after %s, %d is kept as spent, and the orders come to %d", steps, step, kept, counted)
		}
	}
	return now
}

// stored returns the order and its story as the journal has them.
func (l *life) stored(t *testing.T, j *book) (Record, []order.Event) {
	t.Helper()
	o, err := l.other.Order(t.Context(), "1")
	if errors.Is(err, NotFound) {
		return Record{}, nil
	}
	must(t, err)
	events, err := j.Story(t.Context(), o)
	must(t, err)
	return o, events
}

// happens lets one thing happen, and returns the order after that, if it is known.
func (l *life) happens(t *testing.T, what string, before Record) (Record, error) {
	verb, id, found := strings.Cut(what, " w")
	if found {
		id = "w" + id
	}
	seen := Evidence{OrderID: "1", Withdrawal: id, Content: before.Content}
	if before.State == "" {
		seen.Content = coffee
	}
	switch verb {
	case "claim", "claim other", "claim unless rejected":
		c := Claim{Row: Row{OrderID: "1", Content: coffee}, Key: "key1", Budgets: perDay(1_000_000),
			NotRejected: verb == "claim unless rejected"}
		if verb == "claim other" {
			c.Amount.Minor *= 10
		}
		tried := l.sender.Try(t.Context(), c)
		ticket, err := l.sender.Claim(t.Context(), c)
		if fmt.Sprint(tried) != fmt.Sprint(err) {
			t.Errorf("%s: Try returns %v, and Claim %v", what, tried, err)
		}
		if err == nil {
			l.tickets = append(l.tickets, ticket)
		}
		return ticket.order, err
	case "dies":
		return Record{}, l.sender.Reap(t.Context())
	case "altered": // as no till does it
		return Record{}, l.other.j.write(t.Context(), func(tx *tx) error {
			tx.exec("UPDATE orders SET minor = minor * 10 WHERE account = ?1", l.other.number(tx))
			return nil
		})
	case "found":
		return l.sender.Settle(t.Context(), seen)
	case "differs":
		seen.Differs = "the amount is another"
		return l.sender.Settle(t.Context(), seen)
	case "changed": // it had other content when it was compared
		seen.Content = tea
		return l.sender.Settle(t.Context(), seen)
	case "shown":
		return Record{}, l.sender.Show(t.Context(), map[string]string{"1": id})
	case "missing", "gone":
		return l.sender.Missing(t.Context(), l.was, verb == "gone")
	case "paid as", "not sent":
		o, err := l.sender.Decide(t.Context(), Decision{OrderID: "1", PaidAs: id, NotSent: id == "", Reason: "they say so"})
		if want := (order.Resolution{As: strings.ReplaceAll(verb, " ", "-"), Reason: "they say so", At: o.Changed,
			User: "ann", Host: "till1"}); err == nil && *o.Resolved != want {
			t.Errorf("%s: it is recorded as %+v", what, o.Resolved)
		}
		return o, err
	}
	return l.ends(t, verb, id, before)
}

// ends ends the last attempt or, with "first", the first one.
func (l *life) ends(t *testing.T, verb, id string, before Record) (o Record, err error) {
	ticket, sender := l.tickets[len(l.tickets)-1], l.sender
	verb, first := strings.CutPrefix(verb, "first ")
	if first {
		ticket, sender = l.tickets[0], l.first
	}
	out := map[string]Outcome{"accepted": accepted(id), "rejected": rejected, "unknown": unknown, "limited": limited,
		"not left": notLeft}[verb]
	if l.was, err = sender.Finish(t.Context(), ticket, out); err != nil {
		return Record{}, err
	}
	events, err := sender.j.Story(t.Context(), l.was)
	must(t, err)
	want := order.Event{What: eventAnswered, ID: id, HTTPStatus: out.Status, Code: out.Code, Reason: out.Reason}
	if before.State != order.Sending || ticket.order.Last().Number != before.Last().Number {
		want.What = eventLate
	}
	last := events[len(events)-1]
	if got := (order.Event{What: last.What, ID: last.ID, HTTPStatus: last.HTTPStatus, Code: last.Code,
		Reason: last.Reason}); got != want && !reflect.DeepEqual(before, l.was) {
		t.Errorf("%s is told as %+v", verb, got)
	}
	return l.was, nil
}

// lives has what becomes of an order: its state and the withdrawal's id, what the service has shown first if that
// is another one, whether a person has decided it, and words of the reason, which lacks those with "-" before them.
var lives = map[string]string{
	"claim, accepted w1": "accepted w1",
	"claim, rejected":    "rejected: no funds",
	"claim, unknown":     "unknown: no answer",
	"claim, limited":     "planned: too many",
	"claim, not left":    "planned: no connection",

	// It is claimed again.
	"claim, not left, claim > sending":                               "sending",
	"claim, not left, claim other > sending":                         "sending",
	"claim, rejected, claim > sending":                               "sending",
	"claim, rejected, claim other > sending":                         "sending",
	"claim, rejected, claim unless rejected! exists":                 "rejected",
	"claim, claim! exists, claim other! exists":                      "sending",
	"claim, accepted w1, claim! exists, claim other! exists":         "accepted w1",
	"claim, unknown, claim! exists, claim other! exists":             "unknown",
	"claim, unknown, differs w1, claim! exists, claim other! exists": "conflict w1",

	// A rejection settles only its own attempt, and an attempt that says nothing leaves a decision as it is.
	"claim, unknown, not sent, claim, rejected":                                          "unknown: no funds",
	"claim, unknown, not sent, claim, rejected, not sent, claim, limited":                "planned, decided: too many",
	"claim, unknown, not sent, claim other! exists, claim, limited, claim other! exists": "planned, decided",

	// The service shows it in a scan that settles it.
	"found w1":                             "accepted w1: found",
	"differs w1":                           "conflict w1: amount",
	"claim, not left, found w1":            "accepted w1",
	"claim, not left, differs w1":          "conflict w1: amount",
	"claim, rejected, found w1":            "accepted w1",
	"claim, rejected, differs w1":          "conflict w1: amount",
	"claim, found w1":                      "sending, shown as w1",
	"claim, differs w1":                    "sending, shown as w1",
	"claim, unknown, found w1":             "accepted w1",
	"claim, unknown, differs w1":           "conflict w1: amount",
	"claim, accepted w1, found w1":         "accepted w1",
	"claim, accepted w1, differs w1":       "conflict w1: amount",
	"claim, accepted w1, found w7":         "conflict w1: w7",
	"claim, unknown, differs w1, found w1": "conflict w1: amount",
	"claim, unknown, not sent, found w1":   "accepted w1",
	"claim, unknown, paid as w1, found w1, not sent! order changed": "accepted w1",

	"claim, rejected, claim, not left, claim, accepted w1, differs w1": "conflict w1: amount",

	// The service shows it in one that does not.
	"claim, not left, shown w1 > unknown, claim! exists, not sent! shown, found w2": "conflict w2, shown as w1: w1 w2",
	"claim, rejected, shown w1 > unknown, claim! exists, not sent! shown, found w1": "accepted w1",
	"claim, unknown, shown w1, claim! exists, not sent! shown":                      "unknown, shown as w1",
	"claim, not left, changed w1, claim! exists, not sent! shown":                   "unknown, shown as w1: w1",
	"claim, shown w1, accepted w1":                                                  "accepted w1",
	"claim, shown w1, accepted w2":                                                  "conflict w2, shown as w1: w1 w2",
	"claim, shown w1, rejected":                                                     "unknown, shown as w1: w1",
	"claim, shown w1, unknown":                                                      "unknown, shown as w1",
	"claim, changed w1, not left":                                                   "unknown, shown as w1: w1",
	"claim, unknown, not sent, shown w1":                                            "unknown, shown as w1: w1",
	"claim, unknown, shown w1, accepted w2":                                         "conflict w2, shown as w1: w1 w2",
	"claim, unknown, shown w1, found w2, paid as w2 > accepted, found w2":           "accepted w2, shown as w1",
	"shown w1": "",

	// The service has it no more.
	"claim, accepted w1, missing > unknown, accepted w1, missing": "unknown: w1",
	"claim, accepted w1, differs w1, paid as w1, missing":         "accepted w1, decided",
	"claim, accepted w1, gone, not sent! shown":                   "unknown, shown as w1",

	// A person decides.
	"not sent! not found":   "",
	"paid as w1! not found": "",
	"claim, not sent! order changed, paid as w1! order changed":                      "sending",
	"claim, not left, not sent! order changed, paid as w1! order changed":            "planned",
	"claim, rejected, not sent! order changed, paid as w1! order changed":            "rejected",
	"claim, accepted w1, not sent! order changed, paid as w1! order changed":         "accepted w1",
	"claim, unknown, not sent > planned, paid as w2, not sent, not sent, paid as w3": "accepted w3, decided: say",
	"claim, unknown, differs w1, not sent! shown, paid as w1":                        "accepted w1, decided",
	"claim, accepted w1, differs w2, not sent! shown, paid as w1":                    "accepted w1, decided",

	// Its sender was taken for dead, and comes back with an outcome.
	"claim, dies > unknown, first rejected":                                    "rejected",
	"claim, dies, first not left":                                              "planned",
	"claim, dies, first unknown":                                               "unknown",
	"claim, dies, not sent, first accepted w1":                                 "accepted w1: late",
	"claim, dies, not sent, first rejected":                                    "planned, decided",
	"claim, dies, paid as w9, first accepted w9":                               "accepted w9",
	"claim, dies, paid as w9, first accepted w1":                               "conflict w9, shown as w1, decided",
	"claim, dies, paid as w9, first rejected":                                  "accepted w9, decided",
	"claim, dies, differs w9, first accepted w1":                               "conflict w9: amount w1",
	"claim, dies, found w1, first accepted w1":                                 "accepted w1",
	"claim, dies, found w9, first accepted w1":                                 "conflict w9: w1",
	"claim, dies, not sent, claim, first accepted w1":                          "conflict w1, decided",
	"claim, dies, not sent, claim, first rejected":                             "sending, decided",
	"claim, dies, not sent, claim, rejected, first accepted w1":                "accepted w1",
	"claim, dies, not sent, claim, accepted w2, first accepted w1":             "conflict w2: w1",
	"claim, dies, not sent, claim, unknown, first accepted w1":                 "conflict w1: later",
	"claim, dies, not sent, claim, rejected, first not left":                   "unknown",
	"claim, dies, not sent, altered, claim other, not left, first accepted w1": "conflict w1, decided: late -connection",
}

func TestLives(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		for steps, want := range lives {
			o := play(t, j, other, steps)
			got := strings.TrimSpace(string(o.State) + " " + o.ID)
			if o.Shown != "" && o.Shown != o.ID {
				got += ", shown as " + o.Shown
			}
			if o.Resolved != nil {
				got += ", decided"
			}
			want, says, _ := strings.Cut(want, ": ")
			for word := range strings.FieldsSeq(says) {
				if word, absent := strings.CutPrefix(word, "-"); strings.Contains(o.Reason, word) == absent {
					got += ", because " + o.Reason
				}
			}
			if got != want {
				t.Errorf("%s: it is %s, want %s", steps, got, want)
			}
		}
	})
}

// TestBadRequests checks that what says nothing, or two things, is not recorded.
func TestBadRequests(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for _, out := range []Outcome{{}, {Ending: order.WasAccepted}} {
			ticket := mustClaim(t, j, claim("bad"+string(out.Ending)))
			_, alone := j.Finish(t.Context(), ticket, out)
			if _, err, _, _ := j.FinishAndClaim(t.Context(), ticket, out, claim("5")); alone == nil || err == nil {
				t.Errorf("%+v was taken for an outcome: %v, %v", out, alone, err)
			}
		}
		if _, err := j.Finish(t.Context(), Ticket{}, unknown); err == nil {
			t.Error("an outcome without a ticket was taken")
		}
		if _, err := j.Settle(t.Context(), Evidence{OrderID: "3"}); err == nil {
			t.Error("a record without an id was taken")
		}
		bring(t, j, "4", order.Unknown)
		for _, d := range []Decision{{OrderID: "4"}, {OrderID: "4", Reason: "x"}, {OrderID: "4", NotSent: true},
			{OrderID: "4", NotSent: true, PaidAs: "w", Reason: "x"}} {
			if _, err := j.Decide(t.Context(), d); err == nil {
				t.Errorf("%+v was taken for a decision", d)
			}
		}
	})
}
