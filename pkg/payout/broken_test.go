package payout

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/pkg/api"

	"example.com/till/internal/journal"
)

// TestFailedLookUpForgetsNothing checks that what Preview found still counts if LookUp fails while it
// records, and is called again.
func TestFailedLookUpForgetsNothing(t *testing.T) {
	d := usedDesk(t)
	d.takes("101")
	x := d.applier(d.plan(nil, dueTo(2)...), ApplyOptions{})
	wantKind(t, x.Send(t.Context(), t.Context(), Tally{}), Invalid, "") // it has not begun
	ok(t, errorOf(x.Preview(t.Context())))
	ok(t, x.Begin(t.Context(), 1))
	d.hide("101")
	mends := d.closeOrders()
	if _, err := x.LookUp(t.Context()); !errors.Is(err, journal.Broken) {
		t.Fatal(err)
	}
	mends()
	if tally, err := x.LookUp(t.Context()); err != nil || tally.Before != 1 {
		t.Errorf("%+v, %v", tally.States, err)
	}
}

// TestPhantomThatCannotBeRecorded checks that a withdrawal which the service denies is reported as unknown,
// also if the journal cannot be written.
func TestPhantomThatCannotBeRecorded(t *testing.T) {
	d := newDesk(t)
	d.s.onCreate = func(map[string]any) (int, string, bool) { return 200, `"w1"`, false }
	w := asked("4711")
	w.accepted = func(Order) { d.closeOrders() }
	wantKind(t, errorOf(d.send(w)), Unknown, "")
}

// failsAt is a context under which one wait is interrupted: the one that begins when left becomes 0.
type failsAt struct {
	context.Context
	left  atomic.Int64
	ended atomic.Bool
}

func (f *failsAt) Done() <-chan struct{} {
	if f.left.Add(-1) != 0 {
		return nil
	}
	f.ended.Store(true)
	over := make(chan struct{})
	close(over)
	return over
}

func (f *failsAt) Err() error {
	if f.ended.Swap(false) {
		return context.Canceled
	}
	return nil
}

// TestNoFailedStepIsIgnored lets each read of what decides about a plan or an order fail, one at a time. Then there
// is an error, and no answer made of the rest.
func TestNoFailedStepIsIgnored(t *testing.T) {
	p := newPlanner(t)
	p.history()
	p.bring(asked("2"), outRejected)
	approvals, _ := p.approvedBy("ann", "bob")
	approvals.Above = []api.Amount{api.CryptoAmount("Btc", math.MaxInt64)}
	p.Batch, p.IdenticalWithin = "", time.Hour
	made, _ := p.must(header, "1,Btc,0.00005,bc1q1", "3,Btc,1,bc1qfirst")
	plan, begun := open(t, made.Plan.Path), p.plan(nil, due("101"))
	ok(t, errorOf(p.apply(begun, ApplyOptions{})))
	p.bring(asked("5"), outUnknown)
	elsewhere := due("101")
	elsewhere.Address = "bc1qelsewhere"
	other := p.plan(nil, elsewhere, due("102"))
	ok(t, p.Remember(t.Context(), approvals))
	p.options.Approvals = approvals
	p.clock.move(time.Hour)
	frozen, spent := newDesk(t), usedDesk(t)
	ok(t, frozen.Freeze(t.Context(), "x"))
	spent.options.TimeZone, spent.options.Limits.MaxPerDay = time.UTC, []api.Amount{api.CryptoAmount("Btc", 9999)}
	previews := func(d *desk, plan *Plan) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) {
			x, err := d.Applier(ctx, plan, ApplyOptions{DryRun: true})
			if errors.Is(err, Refused) {
				return err.Error(), nil
			}
			if err != nil {
				return nil, err
			}
			tally, err := x.Preview(ctx)
			rows, e := collect(x.Due(ctx))
			return []any{tally, rows}, errors.Join(err, e)
		}
	}
	for name, do := range map[string]func(context.Context) (any, error){
		"plan": func(ctx context.Context) (any, error) {
			p.Input = strings.NewReader(header + "\n1,Btc,0.00005,bc1q1\n3,Btc,1,bc1qfirst\n4,Btc,1,bc1qfirst\n6,Btc,0.00005,bc1q5\n")
			made, err := p.desk.MakePlan(ctx, p.input())
			return []any{made.Warnings, made.Known, made.Digest}, err
		},
		"preview": previews(p.desk, plan), "begun": previews(p.desk, begun),
		"frozen": previews(frozen, frozen.plan(nil, due("2"))), "spent": previews(spent, spent.plan(nil, due("2"))),
		"decision": func(ctx context.Context) (any, error) {
			c, err := p.Sender.Check(ctx, notSent("5"))
			return c.Undated, err
		},
		"comparison": func(ctx context.Context) (any, error) { return p.Compare(ctx, api.WithdrawalFilter{}, Filter{}) },
		"approvals":  func(ctx context.Context) (any, error) { return p.PlanApprovals(ctx, plan, approvals, nil, p.Now) },
		"alike":      func(ctx context.Context) (any, error) { return p.LookAlike(ctx, "bc1qar0srrr7xfkvy5l643lydnw9re59") },
		"findings": func(ctx context.Context) (any, error) {
			all, marked, err := p.Findings(ctx, plan, nil)
			return []any{all, marked}, err
		},
		"live":     func(ctx context.Context) (any, error) { return p.Live(ctx, Filter{}) },
		"run":      func(ctx context.Context) (any, error) { return p.Ledger.Run(ctx, begun.Name()) },
		"tally":    func(ctx context.Context) (any, error) { return p.Ledger.Tally(ctx, begun.Name()) },
		"units":    func(ctx context.Context) (any, error) { return p.TallyByUnit(ctx, begun.Name()) },
		"decimals": func(ctx context.Context) (any, error) { return p.DecimalsSent(ctx, begun.Name()) },
		"orders":   func(ctx context.Context) (any, error) { return collect(p.Ledger.Orders(ctx, Filter{})) },
		"export": func(ctx context.Context) (any, error) {
			all := (&Journal{p.ledger.Journal()}).Export(ctx)
			for range all {
				break // which ends it
			}
			return collect(all)
		},
		"changes":  func(ctx context.Context) (any, error) { return collect(p.Changes(ctx, other)) },
		"consents": func(ctx context.Context) (any, error) { return p.Consents(ctx) },
		"demands":  func(ctx context.Context) (any, error) { return p.Demands(ctx) },
		"freezes":  func(ctx context.Context) (any, error) { return p.Freezes(ctx) },
		"restored": func(ctx context.Context) (any, error) { return p.Restored(ctx) },
		"wait": func(ctx context.Context) (any, error) {
			done, err := p.WaitRun(ctx, begun.Name(), RunWait{Statuses: []string{"new"}, Interval: 1})
			return done.Left, err
		},
	} {
		want, err := do(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := int64(1); ; n++ {
			ctx := &failsAt{Context: t.Context()}
			ctx.left.Store(n)
			got, err := do(ctx)
			if ctx.left.Load() > 0 {
				break
			}
			if err == nil && !reflect.DeepEqual(got, want) || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s without step %d: %+v, %v, want %+v", name, n, got, err, want)
			}
		}
	}
}
