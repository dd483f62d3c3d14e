package payout

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// A plan may have a hundred thousand rows. Its file can be read again, so a table of them is never held in
// memory.
func TestPlanIsShownInLittleMemory(t *testing.T) {
	if !plannedView(money.NewRegistry()).Again {
		t.Error("a table of a plan keeps all of its rows")
	}
}

// Unknown orders matter most, then a conflict, a refused key and too many calls. If nothing was accepted, the
// code is the one that all orders share. If they share none, only the code for a partial result is right.
func TestRunFailureOrdersOutcomes(t *testing.T) {
	call := func(outcome api.Outcome, status int) error { return &api.Error{Outcome: outcome, Status: status} }
	unreachable, unauthorized, limited := call(api.NotSent, 0), call(api.Rejected, 401), call(api.Rejected, 429)
	unreadable := &payout.Error{Kind: payout.Partial, Msg: "it could not be read back"}
	const a, r, p, u, c = payout.StateAccepted, payout.StateRejected, payout.StatePlanned, payout.StateUnknown,
		payout.StateConflict
	for _, test := range []struct {
		states map[payout.State]int
		err    error
		want   int
	}{
		{map[payout.State]int{a: 4}, nil, exit.Done},
		{map[payout.State]int{}, nil, exit.Done},
		{map[payout.State]int{a: 4}, context.Canceled, exit.Done},
		{map[payout.State]int{a: 4}, unreadable, exit.Done},
		{map[payout.State]int{a: 4}, unreachable, exit.Done},
		{map[payout.State]int{a: 1, p: 3}, unreadable, exit.Partial},
		{map[payout.State]int{r: 4}, nil, exit.Rejected},
		{map[payout.State]int{p: 4}, unreachable, exit.Unreachable},
		{map[payout.State]int{r: 1, p: 3}, unreachable, exit.Partial},
		{map[payout.State]int{a: 1, p: 3}, unreachable, exit.Partial},
		{map[payout.State]int{a: 1, r: 3}, nil, exit.Partial},
		{map[payout.State]int{r: 1, p: 3}, nil, exit.Partial},
		{map[payout.State]int{r: 1, p: 3}, unauthorized, exit.Unauthorized},
		{map[payout.State]int{a: 1, r: 1, p: 2}, limited, exit.RateLimited},
		{map[payout.State]int{a: 1, p: 3}, context.Canceled, exit.Interrupted},
		{map[payout.State]int{a: 1, u: 1, p: 2}, unauthorized, exit.Unknown},
		{map[payout.State]int{u: 1, c: 1, p: 2}, nil, exit.Unknown},
		{map[payout.State]int{a: 1, c: 1, p: 2}, limited, exit.Conflict},
	} {
		tally := payout.Tally{States: test.states}
		for _, n := range test.states {
			tally.Rows += n
		}
		got, err := exit.Done, runFailure(tally, payout.Run{Name: "cafe0001"}, true, test.err)
		if err != nil {
			got = exit.Explain(err).Code
		}
		if got != test.want {
			t.Errorf("%v after %v: %d (%v), want %d", test.states, test.err, got, err, test.want)
		}
	}
}

// The message counts what an interruption or several conflicts have left.
func TestRunFailureCounts(t *testing.T) {
	tally := payout.Tally{Rows: 4, States: map[payout.State]int{payout.StateAccepted: 1, payout.StatePlanned: 3}}
	run := payout.Run{Name: "cafe0001", Plan: "my staff.plan"}
	err := runFailure(tally, run, true, context.Canceled)
	if err == nil || err.Error() != "interrupted: 1 of 4 orders is accepted, 0 rejected, 3 not sent" ||
		!strings.HasSuffix(exit.Explain(err).Hint.String(), ": till payout apply 'my staff.plan'") {
		t.Error(err)
	}
	tally.States, tally.Conflict = map[payout.State]int{payout.StateConflict: 2, payout.StatePlanned: 2}, "7"
	err = runFailure(tally, run, false, &payout.Error{Kind: payout.Conflict, Msg: "order 7 is in conflict"})
	if err == nil || err.Error() != "2 of 4 orders are in conflict: order 7 is in conflict" ||
		!strings.HasSuffix(exit.Explain(err).Hint.String(), ": till journal show 7") {
		t.Error(err)
	}
}

// If the journal cannot be read at the end of a run, there is no summary. It must not look as if nothing was
// sent.
func TestSummaryWithoutJournal(t *testing.T) {
	j, err := payout.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	ledger := j.Ledger(payout.Account{Address: "http://pay.test", Name: "shop"})
	j.Close()
	s := &cmdutil.Session{App: &cmdutil.App{}, Render: render.Options{Format: render.CSV}}
	err = printApplied(s, t.Context(), &payout.Sender{Ledger: ledger}, runCounts{},
		cmdutil.Output[runCounts]{Session: s, View: appliedView(money.NewRegistry())})
	if _, ok := errors.AsType[*render.WriteError](err); !ok {
		t.Errorf("%T: %v", err, err)
	}
}

// A plan that was made elsewhere may have rows that would have been refused here.
func TestRowsOfAPlanAreChecked(t *testing.T) {
	options := payout.Options{Currencies: []payout.Currency{
		{Code: "Xrp", Kind: api.Crypto, Decimals: 6, MemoRequired: true, AddressFormat: "ripple"}}}
	options.Limits.MaxPerWithdrawal = []api.Amount{{Kind: api.Crypto, Code: "Xrp", Minor: 5}}
	const to = "rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf"
	for want, r := range map[string]api.CreateWithdrawal{
		"order 7: its address: ":                           {Address: "r" + to, Memo: "7"},
		"order 7: its memo: a withdrawal in Xrp needs one": {Address: to},
		"order 7: its memo: \"x\" is no destination tag":   {Address: to, Memo: "x"},
		"is more than": {Address: to, Memo: "7", Amount: api.Amount{Minor: 6}},
	} {
		r.ExternalOrderID, r.Currency = "7", api.Currency{Kind: api.Crypto, Code: "Xrp"}
		r.Amount.Kind, r.Amount.Code = api.Crypto, "Xrp"
		err := options.CheckPlan(&payout.Plan{Rows: []payout.PlanRow{{CreateWithdrawal: r}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
