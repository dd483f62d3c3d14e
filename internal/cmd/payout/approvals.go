package payout

import (
	"errors"
	"io/fs"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
)

// approverLine is a person who may approve a plan.
type approverLine struct {
	Principal   string `json:"principal"`
	Approved    bool   `json:"approved"`
	Fingerprint string `json:"fingerprint"` // of the key that signed; empty: none did
	File        string `json:"file"`        // the signature; empty: the journal has it
	Seen        string `json:"seen"`        // when it was recorded with the run; empty: it was not
}

func approverView(money.Registry) render.View[approverLine] {
	type row = approverLine
	return render.View[row]{
		ID:   func(r row) string { return r.Principal },
		JSON: render.Value[row](),
		Columns: []render.Column[row]{
			render.Field("principal", "who may approve the plan", render.Own, func(r row) string { return r.Principal }),
			render.Field("approved", "whether there is a valid signature", render.Bool, func(r row) bool { return r.Approved }),
			render.Field("fingerprint", "fingerprint of the key that signed", render.Own, func(r row) string { return r.Fingerprint }),
			render.Field("file", "file of the signature; empty: the journal has it", render.Own, func(r row) string { return r.File }),
			render.Field("seen", "when the signature was recorded with the run", render.Time, func(r row) string { return r.Seen }),
		},
	}.Default("principal", "approved", "fingerprint", "file")
}

// showApprovals shows who has signed a plan, in the files next to it and in the journal, and who may. It says
// what payout apply would say.
func showApprovals(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[approverLine]) error {
	approvals, err := s.PayoutApprovals(true)
	if err != nil {
		return err
	}
	ledger, err := ledgerOfPlan(s, p, "and may require more or have other signatures")
	if err != nil {
		return err
	}
	var status approval.Status
	if ledger == nil {
		status, err = p.Approvals(approvals, nil, s.IO.Now())
	} else {
		status, err = ledger.PlanApprovals(s.Ctx, p, approvals, nil, s.IO.Now())
	}
	if approvals.Approvers.Path == "" && err == nil {
		return &config.Error{Msg: "no profile in use says who may approve a plan",
			Advice: "type: till profile set " + s.ProfileOr("NAME") + " approvals=2 approvers=/etc/till/allowed_signers"}
	}
	refusal := (*payout.Error)(nil)
	if errors.As(err, &refusal) && (refusal.Rule == payout.RuleApproval || refusal.Kind == payout.Settings) &&
		approvals.Approvers.Path != "" {
		s.Note("till payout apply refuses it: %v", err)
	} else if err != nil {
		return err
	}
	for _, r := range status.Rejected { // all of them: payout apply does not name many
		s.Note("%s", r)
	}
	s.Note("%s", status)
	var rows []approverLine
	for _, a := range status.Approved {
		rows = append(rows, approverLine{a.Principal, true, a.Fingerprint, a.File, views.Moment(a.Seen)})
	}
	for _, name := range status.Missing {
		rows = append(rows, approverLine{Principal: name})
	}
	return out.Slice(rows)
}

// ledgerOfPlan returns what the journal in use has of the plan's account; nil: there is no journal. An
// approver's machine need not reach it: then lacking says what that means.
func ledgerOfPlan(s *cmdutil.Session, p *payout.Plan, lacking string) (*payout.Ledger, error) {
	j, err := s.ExistingJournal()
	switch {
	case err == nil:
		return j.Ledger(p.Account), nil
	case errors.Is(err, fs.ErrNotExist) && s.Origin("journal").IsDefault():
		return nil, nil
	}
	return nil, s.Note("the journal was not read, %s: %v", lacking, err)
}

// checkWithoutJournal refuses a plan in a dry run, which does not use the journal, if the files next to it do
// not approve it.
func checkWithoutJournal(s *cmdutil.Session, p *payout.Plan, files []string) error {
	approvals, err := s.PayoutApprovals(false)
	if err != nil || p.Needs(approvals) == 0 {
		return err
	}
	status, err := p.Approvals(approvals, files, s.IO.Now())
	if err != nil {
		return err
	}
	for _, text := range status.Notes() {
		s.Note("%s", text)
	}
	s.Note("the journal was not read, and may require more or have other signatures")
	return p.CheckApproved(status)
}
