package payout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// demand returns how many persons must approve a send with these totals, and the number of the demand that says
// so. It refuses a Sender that demands less than the account did before.
func (s *Sender) demand(ctx context.Context, totals []Total) (required int, number int64, err error) {
	a := s.options.Approvals
	if err := s.meetable(ctx, a); err != nil {
		return 0, 0, err
	}
	remembered, err := s.ledger.Demand(ctx, a.demand())
	if err != nil {
		return 0, 0, accountChanged(err)
	}
	required, err = a.required(s.Account(), remembered, totals)
	return required, remembered.Number, err
}

// meetable refuses to demand more persons than the file of the approvers has, if the account did not demand as
// many before. The journal must not remember that: a mistyped number would keep everything from being sent. If
// it did, persons were removed from the file, and the plan is not approved.
func (l *Ledger) meetable(ctx context.Context, a Approvals) error {
	if a.Required <= a.Approvers.list.Count() {
		return nil
	}
	before, err := l.ledger.Remembered(ctx, journal.Demand{})
	if err != nil || before.Persons >= int64(a.Required) {
		return err
	}
	return a.tooMany()
}

func (a Approvals) tooMany() error {
	return &Error{Kind: Settings,
		Msg: fmt.Sprintf("%s must approve what is sent, and %s has only %s", persons(a.Required), a.Approvers.Path,
			persons(a.Approvers.list.Count())),
		Hint: NewHint("require fewer approvals, or add the others to that file")}
}

// required returns how many persons must approve a send with these totals. It refuses what the account does not
// allow as the journal remembers it. The number is right even then.
func (a Approvals) required(account Account, remembered journal.Demand, totals []Total) (int, error) {
	now, sums := a.demand(), byUnit(totals)
	demands, demanded := now.Need(sums), remembered.Need(sums)
	switch {
	case demands < demanded:
		given := fmt.Sprintf("require %d", now.Persons)
		if demands == 0 && now.Persons > 0 {
			given = "require nobody for these totals"
		}
		return int(demanded), refused(RuleApproval,
			fmt.Sprintf("for %s, the journal remembers that %s must approve this, and the settings in use %s", account,
				persons(int(demanded)), given),
			"use the profile that requires them or, if that is over, say so", "journal", "approvals",
			fmt.Sprint(now.Persons), "--reason", "TEXT")
	case demands > 0 && now.Digest != remembered.Digest:
		return int(demands), refused(RuleApproval,
			fmt.Sprintf("for %s, the journal remembers the approvers in %s, and those in %s are others", account,
				remembered.Approvers, now.Approvers),
			"use that file or, if the other is right, say so", "journal", "approvals", fmt.Sprint(now.Persons), "--reason", "TEXT")
	}
	return int(demands), nil
}

// PlanApprovals says who has approved a plan, and how many must, as Sender.Apply would. Unlike that, it records
// nothing. An error that is ErrRefused says why the settings cannot be used, and the status is valid; that too few
// have approved is no error. The files are those of ApplyOptions.Approvals.
func (l *Ledger) PlanApprovals(
	ctx context.Context, p *Plan, a Approvals, files []string, now time.Time,
) (status ApprovalStatus, err error) {
	defer toError(&err)
	var kept []journal.Approval
	runs, err := l.ledger.Runs(ctx)
	for _, r := range runs {
		if err == nil && r.Name == p.Name() && r.Digest == p.Digest {
			kept, err = l.ledger.Approvals(ctx, r.Name)
		}
	}
	if err != nil {
		return status, err
	}
	if status, err = p.approvals(a, files, kept, now); err != nil {
		return status, err
	}
	if err := l.meetable(ctx, a); err != nil {
		return status, err
	}
	remembered, err := l.ledger.Remembered(ctx, a.demand())
	if err != nil {
		return status, err
	}
	status.Required, err = a.required(l.Account(), remembered, p.Totals)
	return status, err
}

// approveSingle refuses a single withdrawal that breaks the limits, or that has to be approved.
func (s *Sender) approveSingle(ctx context.Context, w *withdrawal) error {
	one := func(yield func(api.CreateWithdrawal) bool) { yield(w.request) }
	if err := s.within(one); err != nil {
		return err
	}
	amount := w.request.Amount
	required, number, err := s.demand(ctx, []Total{{money.Big(amount), 1}})
	w.demand = number
	if err != nil || required == 0 {
		return err
	}
	return needsPlan(required, amount, s.options.Currencies)
}

func needsPlan(required int, amount api.Amount, c Currencies) error {
	return refused(RuleApproval,
		fmt.Sprintf("%s must approve a withdrawal of %s, and only a plan can be approved", persons(required), c.Format(amount)),
		"write it into a file, make a plan of that one row, and have it approved", "payout", "plan", "FILE", "--out", "PLAN")
}

// CheckSingle refuses a single withdrawal that has to be approved, as Sender.Send does. It does not know what the
// journal remembers.
func (a Approvals) CheckSingle(amount api.Amount, c Currencies) error {
	required := a.Needs([]Total{{money.Big(amount), 1}})
	if required == 0 {
		return nil
	}
	return needsPlan(required, amount, c)
}

// A Demand is what an account demanded of its approvals from a moment on.
type Demand struct {
	Required  int
	Above     []api.Amount
	Approvers string // path of the file of those who may approve; empty: any file
	Digest    string // of the keys in it, by which two lists of approvers can be told apart
	Reason    string // why a person decided it; empty: a profile demanded it
	User      string
	Host      string
	At        time.Time
	Number    int64 // see Attempt.Demand
}

// Demands returns what the account has demanded, the oldest first. The last one is in force.
func (l *Ledger) Demands(ctx context.Context) ([]Demand, error) {
	own, err := l.ledger.Demands(ctx)
	all := make([]Demand, len(own))
	for i, d := range own {
		all[i] = Demand{Required: int(d.Persons), Approvers: d.Approvers, Digest: d.Digest, Reason: d.Reason, User: d.User, Host: d.Host,
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
func (l *Ledger) Remember(ctx context.Context, a Approvals) error {
	if err := a.check(); err != nil {
		return err
	}
	if err := l.meetable(ctx, a); err != nil {
		return asError(err)
	}
	_, err := l.ledger.Demand(ctx, a.demand())
	return asError(err)
}

// SetApprovals records a person's decision, with its reason, about what the account demands from now on. It
// can demand less than before. An account with Approvals of 0 demands nothing, until a Sender demands more.
func (l *Ledger) SetApprovals(ctx context.Context, a Approvals, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return &Error{Kind: Invalid, Msg: "the reason for the change of approvals is missing", Hint: NewHint("give one")}
	}
	if a.Required < 0 {
		return a.check()
	}
	if a.Approvers.Path != "" && a.Required > a.Approvers.list.Count() {
		return a.tooMany()
	}
	d := a.demand()
	d.Reason = reason
	return asError(l.ledger.SetDemand(ctx, d))
}
