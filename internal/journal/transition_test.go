package journal

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

func TestSameOrderIDAgain(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for _, state := range order.States() {
			for _, same := range []bool{true, false} {
				id := map[bool]string{true: "1", false: "2"}[same] + string(state)
				bring(t, j, id, state)
				before := len(story(t, j, id))
				c := claim(id)
				if !same {
					c.Amount.Minor++
				}
				ticket, err := j.Claim(t.Context(), c)
				sends := state == order.Planned || state == order.Rejected
				if sends {
					if err != nil {
						t.Errorf("%s, same content %v: %v", state, same, err)
					}
					if o := wantState(t, j, id, order.Sending); o.Content != c.Content {
						t.Errorf("%s: the content is %+v, want %+v", state, o.Content, c.Content)
					}
					events := story(t, j, id)
					if first, last := events[0].Content,
						events[len(events)-1].Content; first != claim(id).Content || last != c.Content {
						t.Errorf("%s: the story has %+v and %+v", state, first, last)
					}
					continue
				}
				if e := AsError(err); !errors.Is(err, Exists) || e.Same != same || e.Order.State != state ||
					e.Alive != (state == order.Sending) || ticket.order.OrderID != "" {
					t.Errorf("%s, same content %v: got %+v, %v", state, same, ticket, err)
				}
				if n := len(story(t, j, id)); n != before {
					t.Errorf("%s: a refusal left %d events", state, n-before)
				}
			}
		}
		bring(t, j, "9", order.Rejected)
		c := claim("9")
		c.NotRejected = true
		wantErr(t, "a rejected order that is not to be sent again", Exists)(j.Claim(t.Context(), c))
		mustDo(t)(j.in(t, order.Account{Address: shop.Address, Name: "other"}).Claim(t.Context(), claim("9")))
	})
}

func TestClaimRefusesDuplicates(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		at := &clock{noon}
		j := open(func(o *Options) { o.Now = at.now })
		other := func(id string, window time.Duration) Claim {
			c := claim(id)
			c.OrderID, c.Window = "another of "+id, window
			return c
		}
		tests := []struct {
			name   string
			state  order.State
			ago    time.Duration
			window time.Duration
			want   order.State // the state that does not let it be sent; empty: none
		}{
			{"unknown", order.Unknown, time.Hour, 0, order.Unknown},
			{"unknown, with a window", order.Unknown, time.Hour, time.Minute, order.Unknown},
			{"accepted, the id was chosen", order.Accepted, 0, 0, ""},
			{"accepted within", order.Accepted, 9 * time.Minute, 10 * time.Minute, order.Accepted},
			{"accepted before", order.Accepted, 10 * time.Minute, 10 * time.Minute, ""},
			{"accepted in the future", order.Accepted, -time.Hour, 10 * time.Minute, order.Accepted},
			{"sending", order.Sending, time.Hour, 10 * time.Minute, order.Sending},
			{"sending, the id was chosen", order.Sending, time.Hour, 0, ""},
			{"rejected", order.Rejected, 0, 10 * time.Minute, ""},
			{"planned", order.Planned, 0, 10 * time.Minute, ""},
		}
		for _, test := range tests {
			at.Time = noon.Add(-test.ago)
			bring(t, j, test.name, test.state)
			at.Time = noon
			c := other(test.name, test.window)
			_, err := j.Claim(t.Context(), c)
			switch e := AsError(err); {
			case test.want == "" && err != nil:
				t.Errorf("%s: %v", test.name, err)
			case test.want != "" && (!errors.Is(err, Duplicate) || e.Order.State != test.want || e.Order.OrderID != test.name ||
				e.Alive != (test.want == order.Sending)):
				t.Errorf("%s: got %v, want a duplicate that is %s", test.name, err, test.want)
			case test.want != "":
				c.AllowDuplicate = true
				mustClaim(t, j, c)
			}
		}
		// An order that was sent by a slow clock, and is accepted now, counts from now.
		at.Time = noon.Add(-time.Hour)
		slow := mustClaim(t, j, claim("slow"))
		at.Time = noon
		mustFinish(t, j, slow, accepted("wslow"))
		wantErr(t, "sent by a slow clock", Duplicate)(j.Claim(t.Context(), other("slow", 10*time.Minute)))
		// For a file, the clock that cannot be set counts too, if the other one was set forward since the order was
		// sent.
		since := time.Hour
		set := open(func(o *Options) {
			o.Now, o.SinceBoot = at.now, func() (string, time.Duration) { return "start", since }
		})
		mustFinish(t, set, mustClaim(t, set, claim("set")), accepted("wset"))
		at.Time, since = noon.Add(time.Hour), since+time.Minute
		if _, err := set.Claim(t.Context(), other("set", 10*time.Minute)); errors.Is(err, Duplicate) == j.Shared() {
			t.Errorf("sent before the clock was set: %v", err)
		}
		at.Time = noon
		// A change of any part of the content makes another withdrawal.
		bring(t, j, "parts", order.Unknown)
		for i, change := range []func(*order.Content){
			func(c *order.Content) { c.Currency.Code = "Eth" },
			func(c *order.Content) { c.Amount.Kind, c.Amount.Code = api.Fiat, "USD" },
			func(c *order.Content) { c.Amount.Minor++ },
			func(c *order.Content) { c.Address = "x" }, func(c *order.Content) { c.Memo = "x" },
		} {
			c := other("parts", 0)
			c.OrderID += string(rune('a' + i))
			change(&c.Content)
			mustClaim(t, j, c)
		}
		// Another callback does not.
		c := other("parts", 0)
		c.Callback = "http://elsewhere.test"
		wantErr(t, "another callback", Duplicate)(j.Claim(t.Context(), c))
	})
}

// TestClaimRecordsItsContent checks that an order that is sent again with other content has that content from
// then on, also for what looks for the same content.
func TestClaimRecordsItsContent(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Rejected)
		again, twin := claim("1"), claim("2")
		again.Amount.Minor++
		again.Address = "bc1qanother"
		twin.Content = again.Content
		mustFinish(t, j, mustClaim(t, j, again), accepted("w1"))
		if o := wantState(t, j, "1", order.Accepted); o.Content != again.Content {
			t.Errorf("the order has the content %+v", o.Content)
		}
		twin.Window = time.Hour
		wantErr(t, "the same content", Duplicate)(j.Claim(t.Context(), twin))
		twin.Content = claim("1").Content
		mustClaim(t, j, twin)
	})
}

func TestFinish(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for _, out := range []Outcome{accepted("w1"), rejected, unknown, limited, notLeft} {
			id := "1" + string(out.Ending) + out.Reason
			o := mustFinish(t, j, mustClaim(t, j, claim(id)), out)
			if want := stateAfter(out); !reflect.DeepEqual(o, wantState(t, j, id, want)) || o.ID != out.Withdrawal ||
				o.Code != out.Code || o.Reason != out.Reason {
				t.Errorf("%+v led to %+v", out, o)
			}
			last := story(t, j, id)[1]
			if last.What != eventAnswered || last.ID != out.Withdrawal || last.HTTPStatus != out.Status ||
				last.Code != out.Code || last.Reason != out.Reason {
				t.Errorf("%+v is told as %+v", out, last)
			}
		}
		for _, out := range []Outcome{{}, {Ending: order.WasAccepted}} {
			if _, err := j.Finish(t.Context(), mustClaim(t, j, claim("bad"+string(out.Ending))), out); err == nil {
				t.Errorf("%+v was taken for an outcome", out)
			}
		}
		if _, err := j.Finish(t.Context(), Ticket{}, unknown); err == nil {
			t.Error("an outcome without a ticket was taken")
		}
	})
}

func TestRejectionAfterUnknown(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Unknown)
		notSent := Decision{OrderID: "1", NotSent: true, Reason: "asked them"}
		mustDecide(t, j, notSent)
		o := mustFinish(t, j, mustClaim(t, j, claim("1")), rejected)
		if o.State != order.Unknown || !strings.Contains(o.Reason, "no funds") || o.Code != 7 || o.Resolved != nil {
			t.Errorf("a rejection after an unknown: %+v", o)
		}
		mustDecide(t, j, notSent)
		o = mustFinish(t, j, mustClaim(t, j, claim("1")), limited)
		if o.State != order.Planned || o.Resolved == nil || o.Resolved.Reason != "asked them" {
			t.Errorf("an attempt that says nothing: %+v", o)
		}
		other := claim("1")
		other.Amount.Minor++
		if _, err := j.Claim(t.Context(), other); !errors.Is(err, Exists) || AsError(err).Same {
			t.Errorf("other content: %v", err)
		}
		if o := wantState(t, j, "1", order.Planned); o.Content != claim("1").Content || !o.InDoubt() {
			t.Errorf("other content: %+v", o)
		}
	})
}

func TestAnswerWithAnotherOrdersID(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Accepted)
		o := mustFinish(t, j, mustClaim(t, j, claim("2")), accepted("w1"))
		if o.State != order.Unknown || o.ID != "" || !strings.Contains(o.Reason, "w1") ||
			!strings.Contains(o.Reason, "order 1") {
			t.Errorf("got %+v", o)
		}
		wantState(t, j, "1", order.Accepted)
		// The list cannot be trusted more, and the order that has the id does not change.
		wantIs(t, "found under the same id", mustSettle(t, j, Evidence{OrderID: "2", Withdrawal: "w1"}), order.Conflict)
		wantIs(t, "the one that has it", mustSettle(t, j, Evidence{OrderID: "1", Withdrawal: "w1"}), order.Accepted)
		if _, err := j.Decide(t.Context(), Decision{OrderID: "2", PaidAs: "w1"}); !errors.Is(err, HeldByOther) ||
			AsError(err).OrderID != "1" || AsError(err).Withdrawal != "w1" {
			t.Errorf("a person who names it: %v", err)
		}
		// Ids belong to an account.
		elsewhere := order.Account{Address: "http://other.test", Name: "shop"}
		mustFinishFor(t, j, elsewhere, claim("2"), accepted("w1"))
	})
}

// TestContentInAnotherCase checks that two spellings of an address or a code are the same content, under the
// same order id and under another one.
func TestContentInAnotherCase(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		small := order.Content{Currency: api.CryptoCurrency("Btc"), Amount: api.FiatAmount("Usd", 5000),
			Address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", Memo: "leaf"}
		capitals := order.Content{Currency: api.CryptoCurrency("BTC"), Amount: api.FiatAmount("USD", 5000),
			Address: strings.ToUpper(small.Address), Memo: "leaf"}
		mustFinish(t, j, mustClaim(t, j, Claim{OrderID: "1", Content: small, Key: "key1"}), unknown)
		refused := func(what string, c Claim, want Kind) {
			t.Helper()
			_, err := j.Claim(t.Context(), c)
			if e := AsError(err); !errors.Is(err, want) || e.Order.OrderID != "1" || want == Exists && !e.Same {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("the same order", Claim{OrderID: "1", Content: capitals, Key: "key1"}, Exists)
		refused("another order", Claim{OrderID: "2", Content: capitals, Key: "key1"}, Duplicate)
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, Row{OrderID: "3", Content: capitals})
		refused("a row of a run", rowClaims(t, j.Ledger, run)[0], Duplicate)
		mustSettle(t, j, Evidence{OrderID: "1", Withdrawal: "w1"})
		refused("accepted a moment ago", Claim{OrderID: "4", Content: capitals, Key: "key1", Window: time.Hour}, Duplicate)
		if paid, err := j.Paid(t.Context(), []string{capitals.Address}); err != nil || !paid[capitals.Address] {
			t.Errorf("paid are %v, %v", paid, err)
		}
	})
}

// TestOneIDForTwoOrders checks that the second of two outcomes with the same id, in the same commit, says
// nothing about its order.
func TestOneIDForTwoOrders(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		one, two := mustClaim(t, j, claim("1")), mustClaim(t, j, claim("2"))
		atOnce(j, func() { mustFinish(t, j, one, accepted("w1")) }, func() { mustFinish(t, j, two, accepted("w1")) })
		wantState(t, j, "1", order.Accepted)
		if o := wantState(t, j, "2", order.Unknown); o.ID != "" || !strings.Contains(o.Reason, "order 1 has") {
			t.Errorf("got %+v", o)
		}
	})
}

// TestLateOutcome has a sender that was taken for dead, and comes back with an outcome.
func TestLateOutcome(t *testing.T) {
	type change func(t *testing.T, other *book)
	decided := func(d Decision) change { return func(t *testing.T, other *book) { mustDecide(t, other, d) } }
	given := decided(Decision{OrderID: "1", NotSent: true, Reason: "asked"})
	paidAs := decided(Decision{OrderID: "1", PaidAs: "w9"})
	found := func(id, differs string) change {
		return func(t *testing.T, other *book) {
			mustSettle(t, other, Evidence{OrderID: "1", Withdrawal: id, Differs: differs})
		}
	}
	again := func(t *testing.T, other *book) {
		given(t, other)
		mustClaim(t, other, claim("1"))
	}
	second := func(out Outcome) change { // the order was sent again
		return func(t *testing.T, other *book) {
			given(t, other)
			mustFinish(t, other, mustClaim(t, other, claim("1")), out)
		}
	}
	tests := []struct {
		name      string
		meanwhile change // while the order is unknown, because its sender was taken for dead
		out       Outcome
		want      order.State
		id        string
		decided   bool
	}{
		{"rejected", nil, rejected, order.Rejected, "", false},
		{"never left", nil, notLeft, order.Planned, "", false},
		{"unknown", nil, unknown, order.Unknown, "", false},
		{"accepted, a person had given it up", given, accepted("w1"), order.Accepted, "w1", false},
		{"rejected, a person had given it up", given, rejected, order.Planned, "", true},
		{"accepted as a person had said", paidAs, accepted("w9"), order.Accepted, "w9", false},
		{"accepted, but not as a person had said", paidAs, accepted("w1"), order.Conflict, "w9", true},
		{"rejected, but not as a person had said", paidAs, rejected, order.Accepted, "w9", true},
		{"accepted, in conflict meanwhile", found("w9", "the memo is another"), accepted("w1"), order.Conflict, "w9", false},
		{"accepted, found meanwhile", found("w1", ""), accepted("w1"), order.Accepted, "w1", false},
		{"accepted, found under another id", found("w9", ""), accepted("w1"), order.Conflict, "w9", false},
		{"accepted, while it is sent again", again, accepted("w1"), order.Conflict, "w1", true},
		{"rejected, while it is sent again", again, rejected, order.Sending, "", true},
		{"accepted, the second was rejected", second(rejected), accepted("w1"), order.Accepted, "w1", false},
		{"accepted, the second was too", second(accepted("w2")), accepted("w1"), order.Conflict, "w2", false},
		{"accepted, the second is unknown", second(unknown), accepted("w1"), order.Conflict, "w1", false},
		{"never left, the second was rejected", second(rejected), notLeft, order.Unknown, "", false},
		{"accepted, other content was sent since, which an older till let pass", func(t *testing.T, other *book) {
			given(t, other)
			mustExec(t, other, "UPDATE orders SET minor = minor * 10")
			c := claim("1")
			c.Amount.Minor *= 10
			mustFinish(t, other, mustClaim(t, other, c), notLeft)
		}, accepted("w1"), order.Conflict, "w1", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, open opener) {
				j, other := open(), open()
				ticket := mustClaim(t, j, claim("1"))
				loseLock(t, j)
				if n, err := other.Reap(t.Context()); n != 1 || err != nil {
					t.Fatalf("Reap: %d, %v", n, err)
				}
				if test.meanwhile != nil {
					test.meanwhile(t, other)
				}
				before := story(t, other, "1")
				mustFinish(t, j, ticket, test.out)
				o := wantState(t, other, "1", test.want)
				if o.ID != test.id || (o.Resolved != nil) != test.decided {
					t.Errorf("got %+v (decided %v)", o, o.Resolved)
				}
				after := story(t, other, "1")
				if len(after) != len(before)+1 || !slices.Equal(after[:len(before)], before) {
					t.Fatalf("the story went from %v to %v", whats(before), whats(after))
				}
				if e := after[len(before)]; e.What != eventLate || e.ID != test.out.Withdrawal || e.State != test.want {
					t.Errorf("it is told as %+v", e)
				}
			})
		})
	}
}

func TestSettle(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for _, from := range append(order.States(), "") {
			for _, differs := range []string{"", "the amount is 1, and 2 was asked for"} {
				id := "1" + string(from) + differs[:min(3, len(differs))]
				before, content := 0, tea
				if from != "" {
					bring(t, j, id, from)
					content = claim(id).Content
					before = len(story(t, j, id))
				}
				want := order.Accepted
				if differs != "" {
					want = order.Conflict
				}
				moves := from != order.Sending && from != order.Conflict && (from != order.Accepted || differs != "")
				noted := from == order.Sending // its sender decides, but knows what the list has shown
				if !moves {
					want = from
				}
				o := mustSettle(t, j, Evidence{OrderID: id, Withdrawal: "w" + id, Differs: differs, Content: content})
				if !reflect.DeepEqual(o, wantState(t, j, id, want)) && o.Resolved == nil {
					t.Errorf("%s, %q: %+v", from, differs, o)
				}
				if events := story(t, j, id); len(events) != before+map[bool]int{true: 1}[moves || noted] {
					t.Errorf("%s, %q: %v", from, differs, whats(events))
				}
				if noted && o.Shown != "w"+id {
					t.Errorf("%s, %q: shown as %q", from, differs, o.Shown)
				}
				if moves && (o.ID != "w"+id || want == order.Conflict && o.Reason != differs) {
					t.Errorf("%s, %q: %+v", from, differs, o)
				}
				if o.Content != content {
					t.Errorf("%s: the content became %+v", from, o.Content)
				}
			}
		}
		bring(t, j, "2", order.Accepted)
		if o := mustSettle(t, j, Evidence{OrderID: "2", Withdrawal: "w7"}); o.State != order.Conflict || o.ID != "w2" ||
			!strings.Contains(o.Reason, "w7") {
			t.Errorf("found under another id than it was accepted: %+v", o)
		}
		bring(t, j, "3", order.Unknown)
		mustDecide(t, j, Decision{OrderID: "3", NotSent: true, Reason: "x"})
		if o := mustSettle(t, j, Evidence{OrderID: "3", Withdrawal: "w3"}); o.State != order.Accepted || o.Resolved != nil {
			t.Errorf("found after a person had said that it was not sent: %+v", o)
		}
		if _, err := j.Settle(t.Context(), Evidence{OrderID: "3"}); err == nil {
			t.Error("a record without an id was taken")
		}
	})
}

// TestShown checks what becomes of an order that a scan has shown without settling it.
func TestShown(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		show := func(id, withdrawal string) {
			must(t, j.Show(t.Context(), id, withdrawal))
		}
		changed := func(id, withdrawal string) { // shown with the content that the order had before
			mustSettle(t, j, Evidence{OrderID: id, Withdrawal: withdrawal, Content: tea})
		}
		for how, see := range map[string]func(id, withdrawal string){"shown": show, "changed": changed} {
			for _, from := range []order.State{order.Planned, order.Rejected, order.Unknown} {
				id := how + string(from)
				bring(t, j, id, from)
				see(id, "w1"+id)
				if o := wantState(t, j, id, order.Unknown); o.Shown != "w1"+id || o.Code != 0 ||
					from != order.Unknown && !strings.Contains(o.Reason, "w1"+id) {
					t.Errorf("%s: %+v", id, o)
				}
				if events := whats(story(t, j, id)); events[len(events)-1] != "shown>unknown" {
					t.Errorf("%s: %v", id, events)
				}
				wantErr(t, id+" is sent again", Exists)(j.Claim(t.Context(), claim(id)))
				notSent := Decision{OrderID: id, NotSent: true, Reason: "x"}
				wantErr(t, "a person says that "+id+" was not sent", Shown)(j.Decide(t.Context(), notSent))
				if o := mustSettle(t, j, Evidence{OrderID: id, Withdrawal: "w2" + id}); o.State != order.Conflict ||
					!strings.Contains(o.Reason, "w1"+id) || !strings.Contains(o.Reason, "w2"+id) {
					t.Errorf("%s, then found under another id: %+v", id, o)
				}
				wantIs(t, "settled by a person", mustDecide(t, j, Decision{OrderID: id, PaidAs: "w2" + id}), order.Accepted)
				confirmed := mustSettle(t, j, Evidence{OrderID: id, Withdrawal: "w2" + id})
				wantIs(t, "a decision that the list confirms", confirmed, order.Accepted)
			}
			for _, end := range []Outcome{accepted("w1"), accepted("w2"), rejected, unknown, notLeft} {
				id := how + " sending " + end.Withdrawal + string(end.Ending)
				if end.Withdrawal != "" {
					end.Withdrawal += id
				}
				ticket := mustClaim(t, j, claim(id))
				see(id, "w1"+id)
				wantState(t, j, id, order.Sending)
				want := order.Unknown
				switch end.Withdrawal {
				case "w1" + id:
					want = order.Accepted
				case "w2" + id:
					want = order.Conflict
				}
				o := mustFinish(t, j, ticket, end)
				if o.State != want || want == order.Conflict &&
					(o.ID != "w2"+id || !strings.Contains(o.Reason, "w1"+id) || !strings.Contains(o.Reason, "w2"+id)) {
					t.Errorf("%s: %+v", id, o)
				}
			}
		}
		bring(t, j, "not sent", order.Unknown)
		mustDecide(t, j, Decision{OrderID: "not sent", NotSent: true, Reason: "x"})
		show("not sent", "w1 of it")
		if o := wantState(t, j, "not sent", order.Unknown); o.Resolved != nil {
			t.Errorf("what the list contradicts is still decided: %+v", o.Resolved)
		}
		ticket := mustClaim(t, j, claim("late"))
		mustFinish(t, j, ticket, unknown)
		show("late", "w1")
		if o := mustFinish(t, j, ticket, accepted("w2")); o.State != order.Conflict || !strings.Contains(o.Reason, "w1") ||
			!strings.Contains(o.Reason, "w2") {
			t.Errorf("accepted late under another id than it was shown: %+v", o)
		}
		show("never recorded", "w1")
		wantErr(t, "never recorded", NotFound)(j.Order(t.Context(), "never recorded"))
	})
}

func TestDecide(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		at := &clock{noon}
		j := open(func(o *Options) { o.Now = at.now })
		for _, from := range append(order.States(), "") {
			for _, d := range []Decision{{PaidAs: "p", Reason: "they say so"}, {NotSent: true, Reason: "they say so"}} {
				d.OrderID = "1" + string(from) + d.PaidAs
				if d.PaidAs != "" {
					d.PaidAs = "p" + d.OrderID
				}
				if from != "" {
					bring(t, j, d.OrderID, from)
				}
				o, err := j.Decide(t.Context(), d)
				if from != order.Unknown && from != order.Conflict {
					if e := AsError(err); e == nil || e.Order.State != from || cmp.Or(e.OrderID, e.Order.OrderID) != d.OrderID ||
						errors.Is(err, NotFound) != (from == "") {
						t.Errorf("%q: %v", from, err)
					}
					continue
				}
				want, as := order.Planned, eventNotSent
				if d.PaidAs != "" {
					want, as = order.Accepted, eventPaidAs
				}
				if from == order.Conflict && d.NotSent { // the service has shown it in some form
					if !errors.Is(err, Shown) || AsError(err).Order.Shown != "w"+d.OrderID {
						t.Errorf("%q, %+v: %v", from, d, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%q, %+v: %v", from, d, err)
					continue
				}
				if w := (order.Resolution{As: as, Reason: "they say so", User: "ann", Host: "till1", At: noon}); o.State != want ||
					o.ID != d.PaidAs || o.Resolved == nil || *o.Resolved != w {
					t.Errorf("%q, %+v: %+v %+v", from, d, o, o.Resolved)
				}
			}
		}
		// A person may correct a person's decision, and both stay in the history.
		bring(t, j, "2", order.Unknown)
		for _, d := range []Decision{
			{OrderID: "2", NotSent: true, Reason: "a"}, {OrderID: "2", PaidAs: "w2"}, {OrderID: "2", NotSent: true, Reason: "b"},
			{OrderID: "2", NotSent: true, Reason: "c"}, {OrderID: "2", PaidAs: "w2b"},
		} {
			mustDecide(t, j, d)
		}
		want := []string{"sending>sending", "answered>unknown", "not-sent>planned", "paid-as>accepted", "not-sent>planned",
			"not-sent>planned", "paid-as>accepted"}
		if got := whats(story(t, j, "2")); !slices.Equal(got, want) {
			t.Errorf("the story is %v", got)
		}
		// An accepted order cannot be decided not sent, even after a conflict.
		bring(t, j, "3", order.Accepted)
		mustSettle(t, j, Evidence{OrderID: "3", Withdrawal: "w3x", Differs: "the amount is another"})
		undo := Decision{OrderID: "3", NotSent: true, Reason: "x"}
		wantErr(t, "undo what the service accepted", Shown)(j.Decide(t.Context(), undo))
		wantIs(t, "and say which it is", mustDecide(t, j, Decision{OrderID: "3", PaidAs: "w3"}), order.Accepted)
		// Each decision must say exactly one thing.
		bring(t, j, "4", order.Unknown)
		for _, d := range []Decision{{OrderID: "4"}, {OrderID: "4", Reason: "x"}, {OrderID: "4", NotSent: true},
			{OrderID: "4", NotSent: true, PaidAs: "w", Reason: "x"}} {
			if _, err := j.Decide(t.Context(), d); err == nil {
				t.Errorf("%+v was taken for a decision", d)
			}
		}
	})
}

// TestTextThatCannotBeKept checks that any text of the service, even one that PostgreSQL does not accept,
// lets an outcome be recorded.
func TestTextThatCannotBeKept(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for n, text := range []string{"no\x00funds", "no\xfffunds"} {
			id := fmt.Sprint(n + 1)
			o := mustFinish(t, j, mustClaim(t, j, claim(id)), Outcome{Ending: order.WasRejected, Status: 422, Reason: text})
			bring(t, j, id+"0", order.Unknown)
			found := mustSettle(t, j, Evidence{OrderID: id + "0", Withdrawal: "w" + id, Differs: text})
			if o.Reason != "no\uFFFDfunds" || found.Reason != "no\uFFFDfunds" {
				t.Errorf("%q: got %q and %q", text, o.Reason, found.Reason)
			}
		}
	})
}

// TestIDsOfAnyKind checks that any id of the service is kept exactly, because it is needed to ask for the
// withdrawal, and to find it on the list.
func TestIDsOfAnyKind(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for n, id := range []string{"a\x00b", "a\x01b", "a\x010b", "a\x011b", "\x01\x00", strings.Repeat("x", 300) + "1",
			strings.Repeat("x", 300) + "2", "w'; --"} {
			own := fmt.Sprint(n)
			mustFinish(t, j, mustClaim(t, j, claim(own)), accepted(id))
			if o := wantState(t, j, own, order.Accepted); o.ID != id || o.Shown != id {
				t.Errorf("%q is read again as %q, and %q", id, o.ID, o.Shown)
			}
			if events := story(t, j, own); events[len(events)-1].ID != id {
				t.Errorf("%q is told as %q", id, events[len(events)-1].ID)
			}
			wantIs(t, "found", mustSettle(t, j, Evidence{OrderID: own, Withdrawal: id}), order.Accepted)
			other := fmt.Sprint("other ", n)
			wantIs(t, "of two", mustFinish(t, j, mustClaim(t, j, claim(other)), accepted(id)), order.Unknown)
			wantIs(t, "found for two", mustSettle(t, j, Evidence{OrderID: other, Withdrawal: id}), order.Conflict)
			wantIs(t, "another id", mustSettle(t, j, Evidence{OrderID: own, Withdrawal: id + "\x00"}), order.Conflict)
			if o := mustDecide(t, j, Decision{OrderID: own, PaidAs: id, Reason: "no\xff\x00good"}); o.ID != id {
				t.Errorf("a person who says %q has said %q", id, o.ID)
			}
		}
	})
}

// TestSettleConfirmsAPerson checks that a person's decision that the list confirms counts as the service's
// word from then on.
func TestSettleConfirmsAPerson(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Unknown)
		mustDecide(t, j, Decision{OrderID: "1", PaidAs: "w1"})
		o := mustSettle(t, j, Evidence{OrderID: "1", Withdrawal: "w1"})
		if wantIs(t, "the order", o, order.Accepted); o.ID != "w1" || o.Resolved != nil {
			t.Errorf("the order is %+v", o)
		}
		undo := Decision{OrderID: "1", NotSent: true, Reason: "it was a mistake"}
		wantErr(t, "undone by a person", OrderChanged)(j.Decide(t.Context(), undo))
	})
}

// TestMissing checks that an accepted order becomes unknown if the service does not have its withdrawal, and
// that what has happened to it since counts.
func TestMissing(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	for id, state := range map[string]order.State{"1": order.Unknown, "2": order.Accepted} {
		ticket := mustClaim(t, j, claim(id))
		was := mustFinish(t, j, ticket, accepted("w"+id))
		if state == order.Accepted {
			mustSettle(t, j, Evidence{OrderID: id, Withdrawal: "w" + id, Differs: "its amount is 2"})
			mustDecide(t, j, Decision{OrderID: id, PaidAs: "w" + id, AlthoughDifferent: true, Reason: "it is this one"})
		}
		mustDo(t)(j.Missing(t.Context(), was))
		wantState(t, j, id, state)
		if state == order.Accepted {
			continue
		}
		again := mustFinish(t, j, ticket, accepted("w"+id)) // its sender does not know that this is recorded
		mustDo(t)(j.Missing(t.Context(), again))
		wantState(t, j, id, state)
	}
}

// TestAge checks that the clock of a machine that somebody sets does not count, unless the machine has
// started again.
func TestAge(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	skew := func(d time.Duration) *time.Duration { return &d }
	last := origin{boot: "a", since: time.Minute, skew: "-1h0m0s"}
	for name, tt := range map[string]struct {
		boot string
		skew *time.Duration
		want time.Duration
	}{
		"the same start":                        {"a", skew(0), time.Minute},
		"another start":                         {"b", skew(0), time.Hour},
		"another start, and no date of service": {"b", nil, 2 * time.Hour},
		"no clock since the start":              {"", skew(0), 2 * time.Hour},
	} {
		o := Record{Order: order.Order{Sent: noon}, origins: []origin{last}}
		m := Moment{At: noon.Add(2 * time.Hour), boot: tt.boot, since: 2 * time.Minute}
		if got := o.Age(m, tt.skew); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
