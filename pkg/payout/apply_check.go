package payout

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
)

// alone refuses the plan while another process applies one, where a journal allows only one.
func (a *Applier) alone(ctx context.Context) error {
	if !a.options.DryRun {
		return a.sender.ledger.Alone(ctx, a.plan.Name(), true)
	}
	j := a.sender.ledger.Journal()
	living, err := j.Appliers(ctx)
	if err != nil || len(living) == 0 || j.Shared() {
		return err
	}
	return &journal.Error{Kind: journal.Busy, Run: living[0].Run, User: living[0].User, Host: living[0].Host}
}

// checkRows refuses rows that are not those of the plan's file or of the run, or not within the limits.
func (a *Applier) checkRows(ctx context.Context) error {
	if _, err := a.plan.WriteTo(io.Discard); err != nil {
		return err
	}
	if a.Begun() {
		if err := a.compareRows(ctx, a.run); err != nil {
			return err
		}
	}
	return a.plan.within(a.sender.options.Limits, a.sender.money)
}

// mayLeave refuses the rest of the plan if it is more than what is left for the day or month, or if the
// account is frozen.
func (a *Applier) mayLeave(ctx context.Context) (err error) {
	var t Tally
	if len(a.sender.budgets()) > 0 {
		if t, err = a.Tally(ctx); err != nil {
			return err
		}
	}
	return a.sender.mayLeave(ctx, t.Left)
}

// endApplying lets other processes apply their plans, although this one goes on. If the journal fails, they
// have to wait for its end: that is no reason to report a run as failed.
func (a *Applier) endApplying(ctx context.Context) {
	if !a.options.DryRun {
		a.sender.ledger.Leave(ctx, a.plan.Name())
	}
}

// checkBatch finds the plan's run, and refuses the plan if its batch has gone on without it, or if it has
// expired.
func (a *Applier) checkBatch(ctx context.Context) error {
	s, plan := a.sender, a.plan
	runs, err := s.ledger.Runs(ctx)
	if err != nil {
		return err
	}
	newest := ""               // the newest run of the plan's batch
	batch := map[string]bool{} // names of all runs of the batch
	for _, r := range runs {
		if r.Name == plan.Name() && r.Digest == plan.Digest {
			newest = r.Name
			if !a.Begun() {
				a.run = r
			}
		}
		if plan.Batch != "" && r.Batch == plan.Batch {
			batch[r.Name], newest = true, r.Name
		}
	}
	again := fmt.Sprintf("make a new plan from the file, and look at what has changed since run %s", newest)
	switch {
	case a.Begun() && newest != a.run.Name:
		return refused(RuleBatchChanged, "the batch %q has gone on without this plan, with run %s", plan.Batch, newest).
			hint(again)
	case a.Begun():
	case plan.Batch != "" && newest != plan.Since:
		return refused(RuleBatchChanged, "run %s of the batch %q has begun since this plan was made",
			newest, plan.Batch).hint(again)
	default:
		if err = nearBatch(runs, plan.Batch); err == nil {
			err = plan.CheckLife(s.now())
		}
		if err == nil && plan.Expired(s.now()) {
			err = refused(RulePlanExpired, "the plan expired at %s, before it was begun",
				plan.Expires.UTC().Format(time.RFC3339)).hint("make a new plan, and look at it again")
		}
	}
	if err != nil {
		return err
	}
	return cmp.Or(a.checkBatchIdle(ctx, batch), a.checkReplaced(ctx))
}

// checkReplaced refuses the plan if an order of its batch that it lacks may have been paid since it was made:
// what it has instead would be paid as well. A plan without a batch is refused if it has an order that a
// batch has replaced.
func (a *Applier) checkReplaced(ctx context.Context) error {
	plan, since, own, accepted := a.plan, "", map[string]bool{}, int64(0)
	if !a.Begun() { // until then, that is the newest run of the batch
		since = plan.Since
	}
	for o, err := range a.sender.ledger.Replaced(ctx, plan.Batch, since) {
		if len(own) == 0 {
			for _, r := range plan.Rows {
				own[r.ExternalOrderID] = true
			}
		}
		switch {
		case err != nil:
			return err
		case plan.Batch == "" && own[o.OrderID] && a.sendable(o):
			return &journal.Error{Kind: journal.BatchChanged, OrderID: o.OrderID}
		case plan.Batch == "" || own[o.OrderID] || o.State == StatePlanned || o.State == StateRejected:
			continue
		case o.State == StateAccepted:
			if accepted++; accepted <= plan.Gone {
				continue
			}
		}
		e := refused(RuleBatchChanged, "order %s of the batch %q, which the plan lacks, is %s, and may have been sent since the plan was made",
			o.OrderID, plan.Batch, stateText(o.State)).about(o.OrderID, o.ID)
		if e.Hint = unsettled(o).Hint; o.State == StateAccepted {
			return e.hint("make a new plan from the file, and look at what it warns of")
		}
		return e
	}
	return nil
}

// checkBatchIdle refuses the plan while another one of the runs of its batch is being applied: a row that differs
// between the two would be paid under both.
func (a *Applier) checkBatchIdle(ctx context.Context, batch map[string]bool) error {
	if len(batch) == 0 {
		return nil
	}
	appliers, err := a.sender.ledger.Journal().Appliers(ctx)
	for _, other := range appliers {
		if batch[other.Run] && other.Run != a.plan.Name() {
			return &journal.Error{Kind: journal.Busy, Run: other.Run, User: other.User, Host: other.Host}
		}
	}
	return err
}

// compareRows refuses a run for which the journal has recorded other rows than the plan has: somebody has
// changed the journal.
func (a *Applier) compareRows(ctx context.Context, run journal.Run) error {
	place := 0
	for r, err := range a.sender.ledger.RunRows(ctx, run) {
		switch {
		case err != nil:
			return err
		case place == len(a.plan.Rows) || r != a.plan.Rows[place].row():
			return a.otherRows()
		}
		place++
	}
	if place < len(a.plan.Rows) {
		return a.otherRows()
	}
	return nil
}

func (a *Applier) otherRows() error {
	return refused(RulePlanChanged, "the rows that the journal recorded for run %s are not those of the plan %s",
		a.plan.Name(), a.plan.Path).
		hint("find out who has changed the journal, and make a new plan of what is still to be paid", "payout", "plan", "FILE", "--out", "PLAN")
}

// approve refuses a plan that not enough persons have approved.
func (a *Applier) approve(ctx context.Context) error {
	policy := a.sender.options.Approvals
	required, number, err := a.sender.demand(ctx, policy, a.plan.Totals, a.options.DryRun)
	a.demand, a.approvals = number, approval.Status{}
	if err != nil || required == 0 {
		return err
	}
	var kept []approval.Approval
	if a.Begun() {
		kept, err = a.sender.ledger.Approvals(ctx, a.plan.Name())
	}
	if err == nil {
		a.approvals, err = a.plan.approvals(policy, a.options.Approvals, kept, a.sender.now())
	}
	if err != nil {
		return err
	}
	for _, text := range a.approvals.Notes() {
		a.note(text)
	}
	return a.plan.CheckApproved(a.approvals)
}

// CheckPlan refuses a plan whose amounts have other decimals today, or whose rows are not within the limits, as
// Sender.Applier does. It does not know what the journal has.
func (o Options) CheckPlan(p *Plan) error {
	m := registryOf(o.Currencies)
	if err := p.checkDecimals(m); err != nil {
		return err
	}
	return p.within(o.Limits, m)
}

// within refuses a plan with rows that break limits.
func (p *Plan) within(l Limits, m money.Registry) error {
	l.AllowBadAddress = l.AllowBadAddress || p.Limits.AllowBadAddress
	return l.check(m, func(yield func(api.CreateWithdrawal) bool) {
		for i := 0; i < len(p.Rows) && yield(p.Rows[i].CreateWithdrawal); i++ {
		}
	})
}
