package journal

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

func rows(all ...Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// numbered returns the rows 0 to n-1.
func numbered(n int) (all []Row) {
	for i := range n {
		all = append(all, row(fmt.Sprint(i)))
	}
	return all
}

func row(id string) Row {
	c := claim(id)
	return Row{OrderID: id, Content: c.Content, Callback: c.Callback, Kept: kept(id)}
}

// kept has another text in each column.
func kept(id string) (k sheet.Kept) {
	for i, text := range k.Texts(new(string), new(string), new(string)) {
		*text = fmt.Sprint(id, " in ", sheet.Address+sheet.Column(i))
	}
	return k
}

func mustBegin(t *testing.T, j *book, r Run, all ...Row) Run {
	t.Helper()
	run, err := j.BeginRun(t.Context(), r, rows(all...))
	must(t, err)
	return run
}

func wantRows(t *testing.T, j *book, run Run, want ...string) {
	t.Helper()
	wantOrders(t, "the run", j.Orders(t.Context(), order.Filter{Run: run.Name}), want...)
}

// wantOrders checks a list of orders: each with its id and, if one that is wanted has one, its state.
func wantOrders(t *testing.T, what string, orders iter.Seq2[Record, error], want ...string) {
	t.Helper()
	var got []string
	for o, err := range orders {
		must(t, err)
		text := o.OrderID
		if len(want) > 0 && strings.Contains(want[0], " ") {
			text += " " + string(o.State)
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has %q, want %q", what, got, want)
	}
}

func TestBeginRun(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		for _, s := range []order.State{order.Accepted, order.Rejected, order.Unknown, order.Planned} {
			bring(t, j, string(s), s)
		}
		r := Run{Name: "cafe", Digest: "sha256:cafe1", Plan: "staff.plan", Batch: "may", Before: 1}
		all := []Row{row("9"), row("accepted"), row("1"), row("rejected"), row("unknown"), row("planned")}
		run := mustBegin(t, j, r, all...)
		want := []string{"9 planned", "accepted accepted", "1 planned", "rejected rejected",
			"unknown unknown", "planned planned"}
		wantRows(t, j, run, want...)
		for _, r := range all {
			o, err := j.Order(t.Context(), r.OrderID)
			must(t, err)
			if own := r.OrderID == "9" || r.OrderID == "1"; (o.Run == "cafe") != own || o.SentBy("cafe") ||
				own && (o.Kept != r.Kept || o.Callback != r.Callback || len(story(t, j, r.OrderID)) != 1) {
				t.Errorf("the order is %+v", o)
			}
		}
		// A run begins once. The number of orders that may be paid already only grows.
		r.Before = 3
		if again := mustBegin(t, j, r, row("7")); again.Before != 3 || again.Plan != "staff.plan" || again.Batch != "may" ||
			again.User != "ann" {
			t.Errorf("begun again: %+v", again)
		}
		r.Before = 2
		mustBegin(t, j, r)
		must(t, j.discard(t.Context(), run)) // as a process does that found it dead a moment before it began
		wantRows(t, j, run, want...)
		all2, err := j.Runs(t.Context())
		if err != nil || len(all2) != 1 || all2[0].Before != 3 || all2[0].Digest != r.Digest ||
			!all2[0].Began.Equal(run.Began) {
			t.Errorf("the runs are %+v, %v", all2, err)
		}
		// Another plan may have some of the same orders, but not the same name.
		r.Digest = "sha256:cafe2"
		wantErr(t, "another plan of the same name", RunChanged)(j.BeginRun(t.Context(), r, rows(row("8"))))
		second := mustBegin(t, j, Run{Name: "beef", Digest: "sha256:beef"}, row("1"), row("8"))
		wantRows(t, j, second, "1 planned", "8 planned")
		if third := mustBegin(t, j, Run{Name: "pie", Digest: "sha256:pie"}, row("10")); !third.New || second.New || run.New {
			t.Error("it is not known which run has made every order of it")
		}
		c := claim("1")
		c.Run = "beef"
		mustFinish(t, j, mustClaim(t, j, c), accepted("w1"))
		if o := wantState(t, j, "1", order.Accepted); o.SentBy("cafe") || !o.SentBy("beef") {
			t.Errorf("sent by %q", o.Run)
		}
	})
}

// TestBeginRunOfABatch checks that a run begins only if no other run of its batch has begun since its plan
// was made.
func TestBeginRunOfABatch(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		mustBegin(t, j, Run{Name: "cafe", Digest: "cafe", Batch: "may"}, row("1"))
		mustBegin(t, j, Run{Name: "cafe", Digest: "cafe", Batch: "may"})
		mustBegin(t, j, Run{Name: "tea", Digest: "tea", Batch: "june"}, row("2"))
		for _, since := range []string{"", "tea", "other"} {
			second := Run{Name: "beef", Digest: "beef", Batch: "may", Since: since}
			wantErr(t, "since "+since, BatchChanged)(j.BeginRun(t.Context(), second, rows(row("3"))))
		}
		beef := Run{Name: "beef", Digest: "beef", Batch: "may", Since: "cafe"}
		mustBegin(t, j, beef, row("3"))
		first := Run{Name: "cafe", Digest: "cafe", Batch: "may"}
		wantErr(t, "the first one goes on", BatchChanged)(j.BeginRun(t.Context(), first, rows()))
		older := Claim{Row: Row{OrderID: "1", Content: row("1").Content}, Key: "key1", Run: "cafe", Batch: "may", SameContent: true}
		wantErr(t, "a row of the first one is claimed", BatchChanged)(j.Claim(t.Context(), older))
		mustBegin(t, j, Run{Name: "rest", Digest: "rest"}, row("1"))
		if older.Run, older.Batch = "rest", ""; j.Shared() {
			wantErr(t, "a run without a batch goes on with it", BatchChanged)(j.Claim(t.Context(), older))
		}
	})
}

// TestBeginRunWhole checks that a run with an invalid row leaves nothing in the journal, however many rows
// came before it.
func TestBeginRunWhole(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "500", order.Accepted)
		all := numbered(501)
		changed := slices.Clone(all)
		changed[500].Amount.Minor++
		torn := errors.New("torn")
		for want, seq := range map[error]iter.Seq2[Row, error]{
			RunChanged: rows(changed...),
			torn: func(yield func(Row, error) bool) {
				rows(all[:300]...)(yield)
				yield(Row{}, torn)
			},
		} {
			wantErr(t, "it has begun", want)(j.BeginRun(t.Context(), Run{Name: "cafe", Digest: "cafe"}, seq))
		}
		if runs, err := j.Runs(t.Context()); err != nil || len(runs) > 0 {
			t.Errorf("there are runs: %v, %v", runs, err)
		}
		wantOrders(t, "the journal", j.Orders(t.Context(), order.Filter{}), "500")
		mustBegin(t, j, Run{Name: "whole", Digest: "whole"}, all...)
		var ids []string
		for _, r := range all {
			ids = append(ids, r.OrderID)
		}
		wantOrders(t, "the run", j.Orders(t.Context(), order.Filter{Run: "whole"}), ids...)
	})
}

// TestClaimOfARun checks that a run sends its own row and nothing else, even if the order was recorded before with
// another callback and note.
func TestClaimOfARun(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Planned)
		r := row("1")
		r.Callback, r.Kept = "http://shop.test/other", kept("other")
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, r, row("2"))
		c := rowClaims(t, j.Ledger, run)[0]
		changed := c
		changed.Amount.Minor++
		wantErr(t, "with other content", Exists)(j.Claim(t.Context(), changed))
		ticket := mustClaim(t, j, c)
		if o := ticket.Order(); o.Callback != r.Callback || o.Kept != r.Kept || o.Content != r.Content || !o.SentBy("cafe") {
			t.Errorf("it sends %+v", o)
		}
		mustFinish(t, j, ticket, rejected)
		if o := wantState(t, j, "1", order.Rejected); o.Kept != r.Kept {
			t.Errorf("it keeps %+v", o)
		}
		wantRows(t, j, run, "1 rejected", "2 planned")
	})
}

func TestHeldAndPaid(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		bring(t, j, "1", order.Accepted)
		bring(t, j, "2", order.Unknown)
		var ids []string
		for i := range 250 {
			ids = append(ids, fmt.Sprint(i))
		}
		held, err := j.Held(t.Context(), ids)
		none, err2 := j.of(order.Account{Address: "other", Name: ""}).Held(t.Context(), ids)
		if len(held) != 2 || held["1"].State != order.Accepted || held["2"].State != order.Unknown || len(none) > 0 {
			t.Errorf("held are %v, %v, and by another account %v, %v", held, err, none, err2)
		}
		addresses := append(ids, claim("1").Address)
		paid, err := j.Paid(t.Context(), addresses)
		if err != nil || len(paid) != 1 || !paid[claim("1").Address] {
			t.Errorf("paid are %v, %v", paid, err)
		}
	})
}

func TestAttempted(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		wants := func(want bool, unit string) {
			t.Helper()
			if got, err := j.Attempted(t.Context(), unitOf(unit)); err != nil || got != want {
				t.Errorf("%s is attempted: %v, %v", unit, got, err)
			}
		}
		mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, row("1"))
		wants(false, "crypto:Btc")
		mustClaim(t, j, claim("1"))
		wants(true, "crypto:Btc")
		wants(true, "crypto:BTC")
		wants(false, "fiat:Btc")
	})
}

func TestAloneAllowsOneRunUnlessShared(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		for range 2 {
			must(t, j.Alone(t.Context(), "cafe"))
		}
		wantAppliers(t, other, "cafe by ann on till1")
		for _, run := range []string{"cafe", "beef"} {
			err := other.Alone(t.Context(), run)
			if IsPostgres(placeOf(j)) {
				must(t, err)
				continue
			}
			wantErr(t, run, Busy, "another process applies a plan from this journal: run cafe, by ann on till1")(nil, err)
		}
		if IsPostgres(placeOf(j)) {
			wantAppliers(t, other, "beef by ann on till1", "cafe by ann on till1")
		}
		j.Close()
		must(t, other.Alone(t.Context(), "beef"))
		third := open()
		wantAppliers(t, third, "beef by ann on till1")
		other.Close()
		wantAppliers(t, third)
		for range 3 { // processes that are gone are removed
			one := open()
			must(t, one.Alone(t.Context(), "beef"))
			one.Close()
			wantAppliers(t, third)
		}
		r := third.read(t.Context())
		if noted := all(r, (*Applier).fields, appliers); r.err != nil || len(noted) != 1 {
			t.Errorf("%v, %v", noted, r.err)
		}
	})
}

// TestLeave checks that a process which goes on does not count as applying a run that it has left, as long as
// it does not send its rows.
func TestLeave(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		must(t, j.Alone(t.Context(), "cafe"))
		must(t, other.Leave(t.Context(), "cafe"))
		must(t, j.Leave(t.Context(), "beef"))
		wantAppliers(t, other, "cafe by ann on till1")
		ended := j.Sending("cafe")
		must(t, j.Leave(t.Context(), "cafe"))
		wantAppliers(t, other, "cafe by ann on till1")
		ended()
		must(t, j.Leave(t.Context(), "cafe"))
		wantAppliers(t, other)
		must(t, other.Alone(t.Context(), "beef"))
	})
}

func wantAppliers(t *testing.T, j *book, want ...string) {
	t.Helper()
	var got []string
	for range 500 { // PostgreSQL takes a moment to notice that a process is gone
		living, err := j.Appliers(t.Context())
		must(t, err)
		got = nil
		for _, a := range living {
			got = append(got, a.Run+" by "+a.User+" on "+a.Host)
		}
		if slices.Sort(got); slices.Equal(got, want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%q, want %q", got, want)
}

// TestOthersWriteWhileARunBegins checks that others can write while a long plan is recorded, and that the run
// does not begin before all of it is.
func TestOthersWriteWhileARunBegins(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open(func(o *Options) { o.wait = 100 * time.Millisecond })
		wrote := 0
		run, err := j.BeginRun(t.Context(), Run{Name: "cafe", Digest: "cafe"}, func(yield func(Row, error) bool) {
			for i := range 3*rowsInAPiece + 1 {
				if i%rowsInAPiece == 0 {
					bring(t, other, fmt.Sprint("single ", i), order.Accepted)
					wrote++
				}
				if i%1000 == 0 {
					if runs, err := other.Runs(t.Context()); err != nil || len(runs) > 0 {
						t.Errorf("it is said to have begun: %v, %v", runs, err)
					}
				}
				if !yield(row(fmt.Sprint(i)), nil) {
					return
				}
			}
		})
		if err != nil || wrote != 4 {
			t.Fatal(wrote, err)
		}
		sums, err := other.Sums(t.Context(), run.Name)
		if err != nil || len(sums) != 1 || sums[0].Rows != 3*rowsInAPiece+1 {
			t.Errorf("it has %+v, %v", sums, err)
		}
	})
}

// TestDeadBeginningIsForgotten checks that the rows that a process recorded before it died are removed by Reap, or
// by the next run that begins, except for orders that have changed since.
func TestDeadBeginningIsForgotten(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j := open()
		for _, reaps := range []bool{true, false} {
			dying := open()
			_, err := dying.BeginRun(t.Context(), Run{Name: "dead", Digest: "dead"}, func(yield func(Row, error) bool) {
				rows(numbered(rowsInAPiece + 1)...)(yield)
				if reaps {
					c := claim("7")
					c.Content = row("7").Content
					mustFinish(t, j, mustClaim(t, j, c), unknown)
				}
				mustEnd(t, dying, j)
			})
			if err == nil {
				t.Fatal("it has begun")
			}
			if reaps {
				mustDo(t)(j.Reap(t.Context()))
				wantOrders(t, "the journal", j.Orders(t.Context(), order.Filter{}), "7 unknown")
			}
		}
		mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, row("a"), row("b"))
		wantOrders(t, "the journal", j.Orders(t.Context(), order.Filter{}), "7 unknown", "a planned", "b planned")
	})
}

// TestRunBeginsWhollyOrNotAtAll checks that a run does not begin if another process took its sender for dead, and
// has removed some of its rows.
func TestRunBeginsWhollyOrNotAtAll(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		must(t, j.Enter(t.Context()))
		_, err := j.BeginRun(t.Context(), Run{Name: "cafe", Digest: "cafe"}, func(yield func(Row, error) bool) {
			rows(numbered(2*rowsInAPiece + 1)...)(yield)
			must(t, other.write(t.Context(), func(tx *tx) error {
				_, alive := tx.unfinished(other.number(tx))
				tx.discardPiece(other.number(tx), alive[0])
				return nil
			}))
		})
		wantErr(t, "the run", RunChanged)(nil, err)
		wantOrders(t, "the journal", j.Orders(t.Context(), order.Filter{}))
		mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, row("1"))
	})
}

// TestRunIsNotBegunByItsLastPiece checks that a run does not begin if its batch has gone on meanwhile.
func TestRunIsNotBegunByItsLastPiece(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		mustBegin(t, j, Run{Name: "beef", Digest: "beef", Batch: "may"}, row("9"))
		cafe := Run{Name: "cafe", Digest: "cafe", Batch: "june"}
		_, err := j.BeginRun(t.Context(), cafe, func(yield func(Row, error) bool) {
			yield(row("1"), nil)
			mustExec(t, other, `UPDATE runs SET batch = 'june', began = 'now' WHERE name = 'beef'`)
		})
		wantErr(t, "the run", BatchChanged)(nil, err)
		runs, err := j.Runs(t.Context())
		if err != nil || slices.ContainsFunc(runs, func(r Run) bool { return r.Name == "cafe" }) {
			t.Errorf("the runs are %+v, %v", runs, err)
		}
	})
}

// TestClaimOfARowThatIsGone checks that a row whose order is gone is not sent, and that its claim makes no
// order.
func TestClaimOfARowThatIsGone(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "cafe"}, row("1"))
		recorded := rowClaims(t, j.Ledger, run)
		mustExec(t, j, "DELETE FROM run_rows; DELETE FROM events; DELETE FROM orders")
		wantErr(t, "its claim", NotFound)(j.Claim(t.Context(), recorded[0]))
		wantOrders(t, "the journal", j.Orders(t.Context(), order.Filter{}))
	})
}

// TestLivingBeginningIsLeftAlone checks that a process does not remove a run that a living one is still
// recording, and that another run of the account waits for it.
func TestLivingBeginningIsLeftAlone(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		ended := make(chan error, 1)
		_, err := j.BeginRun(t.Context(), Run{Name: "cafe", Digest: "sha256:cafe"}, func(yield func(Row, error) bool) {
			must(t, other.Ledger.Reap(t.Context()))
			go func() {
				_, err := other.BeginRun(t.Context(), Run{Name: "beef", Digest: "beef"}, rows(row("2")))
				ended <- err
			}()
			time.Sleep(50 * time.Millisecond)
			yield(row("1"), nil)
		})
		must(t, errors.Join(err, <-ended))
		runs, err := j.Runs(t.Context())
		if err != nil || len(runs) != 2 || runs[0].Name != "cafe" || runs[1].Name != "beef" {
			t.Errorf("the runs are %+v, %v", runs, err)
		}
	})
}

// TestSumsHaveDecimals checks that a run has the most decimals of the last attempts of its orders, and none unless
// they were sent.
func TestSumsHaveDecimals(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		run := mustBegin(t, j, Run{Name: "cafe", Digest: "sha256:cafe"}, row("1"), row("2"), row("3"))
		l := j.Ledger
		send := func(i int, decimals int64, o Outcome) {
			c := rowClaims(t, l, run)[i]
			c.Decimals = decimals
			mustFinish(t, j, mustClaim(t, j, c), o)
		}
		wants := func(want int64) {
			t.Helper()
			sums, err := l.Sums(t.Context(), run.Name)
			got := int64(-1)
			for _, s := range sums {
				got = max(got, s.Decimals)
			}
			if got != want || err != nil {
				t.Errorf("got %v and %v, not %v", got, err, want)
			}
		}
		wants(-1)
		send(2, -1, accepted("w3"))
		wants(-1)
		send(0, 9, notLeft)
		wants(9)
		send(0, 6, accepted("w1"))
		wants(6)
		send(1, 8, accepted("w2"))
		wants(8)
	})
}
