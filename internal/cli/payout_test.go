package cli

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// A plan may have a hundred thousand rows. Its file can be read again, so that a table of them is never in memory.
func TestPlanIsShownInLittleMemory(t *testing.T) {
	if !plannedView(money.NewRegistry()).Again {
		t.Error("a table of a plan keeps all of its rows")
	}
}

// How a run has ended: what is unknown matters most, then a conflict, a refused key and too many calls. Where nothing was
// accepted, it is what all orders share; where they share nothing, no code but that of a part is right for all of them.
func TestRunFailure(t *testing.T) {
	call := func(outcome api.Outcome, status int) error { return &api.Error{Outcome: outcome, Status: status} }
	unreachable, unauthorized, limited := call(api.NotSent, 0), call(api.Rejected, 401), call(api.Rejected, 429)
	unreadable := &payout.Error{Kind: payout.Partial, Msg: "it could not be read back"}
	const a, r, p, u, c = journal.Accepted, journal.Rejected, journal.Planned, journal.Unknown, journal.Conflict
	for _, test := range []struct {
		states map[journal.State]int
		err    error
		want   int
	}{
		{map[journal.State]int{a: 4}, nil, exitDone},
		{map[journal.State]int{}, nil, exitDone},
		{map[journal.State]int{a: 4}, context.Canceled, exitDone},
		{map[journal.State]int{a: 4}, unreadable, exitDone},
		{map[journal.State]int{a: 4}, unreachable, exitDone},
		{map[journal.State]int{a: 1, p: 3}, unreadable, exitPartial},
		{map[journal.State]int{r: 4}, nil, exitRejected},
		{map[journal.State]int{p: 4}, unreachable, exitUnreachable},
		{map[journal.State]int{r: 1, p: 3}, unreachable, exitPartial},
		{map[journal.State]int{a: 1, p: 3}, unreachable, exitPartial},
		{map[journal.State]int{a: 1, r: 3}, nil, exitPartial},
		{map[journal.State]int{r: 1, p: 3}, nil, exitPartial},
		{map[journal.State]int{r: 1, p: 3}, unauthorized, exitUnauthorized},
		{map[journal.State]int{a: 1, r: 1, p: 2}, limited, exitRateLimited},
		{map[journal.State]int{a: 1, p: 3}, context.Canceled, exitInterrupted},
		{map[journal.State]int{a: 1, u: 1, p: 2}, unauthorized, exitUnknown},
		{map[journal.State]int{u: 1, c: 1, p: 2}, nil, exitUnknown},
		{map[journal.State]int{a: 1, c: 1, p: 2}, limited, exitConflict},
	} {
		tally := payout.Tally{States: test.states}
		for _, n := range test.states {
			tally.Rows += n
		}
		got, err := exitDone, runFailure(tally, "cafe0001", true, test.err)
		if err != nil {
			got = explain(err).code
		}
		if got != test.want {
			t.Errorf("%v after %v: %d (%v), want %d", test.states, test.err, got, err, test.want)
		}
	}
}

// What an interruption or several conflicts have left is counted.
func TestRunFailureCounts(t *testing.T) {
	tally := payout.Tally{Rows: 4, States: map[journal.State]int{journal.Accepted: 1, journal.Planned: 3}}
	if err := runFailure(tally, "cafe0001", true, context.Canceled); err == nil || err.Error() != "interrupted: 1 of 4 orders is accepted, 0 rejected, 3 not sent" {
		t.Error(err)
	}
	tally.States = map[journal.State]int{journal.Conflict: 2, journal.Planned: 2}
	conflict := &payout.Error{Kind: payout.Conflict, Msg: "order 7 is in conflict"}
	if err := runFailure(tally, "cafe0001", false, conflict); err == nil || err.Error() != "2 of 4 orders are in conflict: order 7 is in conflict" {
		t.Error(err)
	}
}

// A journal that cannot be read when a run has ended takes away its summary. It must not look as if nothing had been sent.
func TestSummaryWithoutJournal(t *testing.T) {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), journal.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := j.Ledger(t.Context(), journal.Account{Address: "http://pay.test", Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.Close()
	s := &session{app: &app{}, out: render.Options{Format: render.CSV}}
	err = s.printApplied(t.Context(), &payout.Sender{Ledger: ledger}, applied{}, output[applied]{s, appliedView(money.NewRegistry())})
	if _, ok := errors.AsType[*render.WriteError](err); !ok {
		t.Errorf("%T: %v", err, err)
	}
}
