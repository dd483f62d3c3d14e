package payout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
)

// demand returns how many persons must approve a send with these totals, and the number of the demand that
// says so. It refuses a policy that demands less than the account did before. The journal does not remember the
// demand of a dry run.
func (l *Ledger) demand(
	ctx context.Context, a approval.Policy, totals []Total, dry bool,
) (required int, number int64, err error) {
	if err := l.meetable(ctx, a); err != nil {
		return 0, 0, err
	}
	ask := l.ledger.Demand
	if dry {
		ask = l.ledger.Remembered
	}
	remembered, err := ask(ctx, demandOf(a))
	if err != nil {
		return 0, 0, accountChanged(err)
	}
	required, err = l.requiredBy(a, remembered, totals)
	return required, remembered.Number, err
}

// meetable refuses to demand more persons than the file of the approvers has, if the account did not demand
// as many before. The journal must not remember that: a mistyped number would keep everything from being
// sent. If it did, persons were removed from the file, and the plan is not approved.
func (l *Ledger) meetable(ctx context.Context, a approval.Policy) error {
	if a.Required <= a.Approvers.Persons() {
		return nil
	}
	before, err := l.ledger.Remembered(ctx, journal.Demand{})
	if err != nil || before.Persons >= int64(a.Required) {
		return err
	}
	return unmeetable(a)
}

func unmeetable(a approval.Policy) *Error {
	return failed(Settings, "%s must approve what is sent, and %s has only %s",
		persons(a.Required), a.Approvers.Path, persons(a.Approvers.Persons())).
		hint("require fewer approvals, or add the others to that file")
}

// requiredBy returns how many persons must approve a send with these totals. It refuses what the account does
// not allow as the journal remembers it. The number is right even then.
func (l *Ledger) requiredBy(a approval.Policy, remembered journal.Demand, totals []Total) (int, error) {
	now, sums := demandOf(a), byUnit(totals)
	demands, demanded := now.Need(sums), remembered.Need(sums)
	what, advice := "", ""
	switch {
	case demands < demanded:
		given := fmt.Sprintf("require %d", now.Persons)
		if demands == 0 && now.Persons > 0 {
			given = "require nobody for these totals"
		}
		what = fmt.Sprintf("that %s must approve this, and the settings in use %s", persons(int(demanded)), given)
		advice = "use the profile that requires them or, if that is over, say so"
	case demands > 0 && now.Digest != remembered.Digest:
		what = fmt.Sprintf("the approvers in %s, and those in %s are others", remembered.Approvers, now.Approvers)
		advice = "use that file or, if the other is right, say so"
	default:
		return int(demands), nil
	}
	return int(max(demands, demanded)), refused(RuleApproval, "for %s, the journal remembers %s", l.Account(), what).
		hint(advice, "journal", "approvals", fmt.Sprint(now.Persons), "--reason", "TEXT")
}

// PlanApprovals says who has approved a plan, and how many must, as Sender.Apply would. Unlike that, it
// records nothing. An error that is ErrRefused says why the settings cannot be used, and the status is valid;
// that too few have approved is no error. The files are those of ApplyOptions.Approvals.
func (l *Ledger) PlanApprovals(
	ctx context.Context, p *Plan, a approval.Policy, files []string, now time.Time,
) (status approval.Status, err error) {
	defer toError(&err)
	var kept []approval.Approval
	runs, err := l.ledger.Runs(ctx)
	for _, r := range runs {
		if err == nil && r.Name == p.Name() && r.Digest == p.Digest {
			kept, err = l.ledger.Approvals(ctx, r.Name)
		}
	}
	if err == nil {
		status, err = p.approvals(a, files, kept, now)
	}
	if err == nil {
		var required int
		required, _, err = l.demand(ctx, a, p.Totals, true)
		status.Required = max(status.Required, required) // settings that cannot be used say how many, too
	}
	return status, err
}

// approveSingle refuses a single withdrawal that breaks the limits, or that has to be approved, and one of a
// frozen account.
func (s *Sender) approveSingle(ctx context.Context, w *withdrawal) error {
	one := func(yield func(api.CreateWithdrawal) bool) { yield(w.request) }
	if err := s.options.Limits.check(s.money, one); err != nil {
		return err
	}
	amount := w.request.Amount
	totals := []Total{{api.Big(amount), 1}}
	if err := s.mayLeave(ctx, totals); err != nil {
		return err
	}
	required, number, err := s.demand(ctx, s.options.Approvals, totals, w.dry)
	w.demand = number
	if err != nil || required == 0 {
		return err
	}
	return needsPlan(required, s.money.Format(amount))
}

func needsPlan(required int, amount string) error {
	return refused(RuleApproval, "%s must approve a withdrawal of %s, and only a plan can be approved",
		persons(required), amount).
		hint("write it into a file, make a plan of that one row, and have it approved", "payout", "plan", "FILE", "--out", "PLAN")
}

// CheckSingle refuses a single withdrawal that has to be approved, as Sender.Send does. It does not know what
// the journal remembers.
func (o Options) CheckSingle(amount api.Amount) error {
	required := int(demandOf(o.Approvals).Need(byUnit([]Total{{api.Big(amount), 1}})))
	if required == 0 {
		return nil
	}
	return needsPlan(required, registryOf(o.Currencies).Format(amount))
}

// Demands returns what the account has demanded, the oldest first. The last one is in force.
func (l *Ledger) Demands(ctx context.Context) ([]approval.Demand, error) {
	own, err := l.ledger.Demands(ctx)
	all := make([]approval.Demand, len(own))
	for i, d := range own {
		all[i] = approval.Demand{Required: int(d.Persons), Approvers: d.Approvers, Digest: d.Digest, Reason: d.Reason, User: d.User, Host: d.Host,
			At: d.At, Number: d.Number}
		for u, minor := range d.Above {
			all[i].Above = append(all[i].Above, api.Amount{Kind: u.Kind, Code: u.Code, Minor: minor})
		}
		slices.SortFunc(all[i].Above, func(a, b api.Amount) int { return strings.Compare(a.Code, b.Code) })
	}
	return all, asError(err)
}

// Remember records that the account demands approvals, before anything is sent. A Sender records it when it
// sends.
func (l *Ledger) Remember(ctx context.Context, a approval.Policy) error {
	err := checkPolicy(a)
	if err == nil {
		err = l.meetable(ctx, a)
	}
	if err == nil {
		_, err = l.ledger.Demand(ctx, demandOf(a))
	}
	return asError(err)
}

// SetApprovals records a person's decision, with its reason, about what the account demands from now on. It
// can demand less than before. An account with Approvals of 0 demands nothing, until a Sender demands more.
func (l *Ledger) SetApprovals(ctx context.Context, a approval.Policy, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return failed(Invalid, "the reason for the change of approvals is missing").hint("give one")
	}
	if a.Required < 0 {
		return checkPolicy(a)
	}
	if a.Approvers.Path != "" && a.Required > a.Approvers.Persons() {
		return unmeetable(a)
	}
	d := demandOf(a)
	d.Reason = reason
	return asError(l.ledger.SetDemand(ctx, d))
}

// Needs returns how many persons must approve the plan.
func (p *Plan) Needs(a approval.Policy) int { return int(demandOf(a).Need(byUnit(p.Totals))) }

// demandOf returns a policy in the journal's type.
func demandOf(a approval.Policy) journal.Demand {
	d := journal.Demand{Persons: int64(a.Required)}
	if a.Required == 0 {
		return d
	}
	if d.Above = map[api.Currency]int64{}; a.Approvers.Path != "" {
		d.Approvers, d.Digest = a.Approvers.Path, a.Approvers.Digest()
	}
	for _, most := range a.Above {
		u, minor := journal.LowerCase(most.Unit()), most.Minor
		if other, found := d.Above[u]; found {
			minor = min(minor, other)
		}
		d.Above[u] = minor
	}
	return d
}

// byUnit returns the totals by unit. Units that differ only in case are one.
func byUnit(totals []Total) map[api.Currency]api.Sum {
	sums := map[api.Currency]api.Sum{}
	for _, t := range totals {
		u := journal.LowerCase(t.Amount.Unit())
		sum := sums[u]
		sum.Plus(t.Amount.Minor)
		sums[u] = sum
	}
	return sums
}
