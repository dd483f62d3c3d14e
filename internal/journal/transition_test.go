package journal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

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
		mustFinish(t, j, mustClaim(t, j, Claim{Row: Row{OrderID: "1", Content: small}, Key: "key1"}), unknown)
		refused := func(what string, c Claim, want Kind) {
			t.Helper()
			_, err := j.Claim(t.Context(), c)
			if e := AsError(err); !errors.Is(err, want) || e.Order.OrderID != "1" || want == Exists && !e.Same {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("the same order", Claim{Row: Row{OrderID: "1", Content: capitals}, Key: "key1"}, Exists)
		refused("another order", Claim{Row: Row{OrderID: "2", Content: capitals}, Key: "key1"}, Duplicate)
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, Row{OrderID: "3", Content: capitals})
		refused("a row of a run", rowClaims(t, j.Ledger, run)[0], Duplicate)
		mustSettle(t, j, Evidence{OrderID: "1", Withdrawal: "w1"})
		refused("accepted a moment ago", Claim{Row: Row{OrderID: "4", Content: capitals}, Key: "key1", Window: time.Hour}, Duplicate)
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
