package cmdutil

import (
	"context"

	"example.com/till/internal/config"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
)

// PayoutApprovals returns what the profile demands of its approvers. It reads their file only if it demands
// anything, or if a command wants to know them.
func (s *Session) PayoutApprovals(wanted bool) (payout.Approvals, error) {
	if s.Approvals == 0 && (!wanted || s.Approvers == "") {
		return payout.Approvals{}, nil
	}
	text, err := s.ReadApprovers()
	if err != nil {
		return payout.Approvals{}, err
	}
	list, err := payout.ParseApprovers(s.Approvers, text)
	if err != nil {
		return payout.Approvals{}, &config.Error{Msg: err.Error(),
			Advice: "write it in the format allowed_signers, which man ssh-keygen describes"}
	}
	return payout.Approvals{Required: s.Approvals, Approvers: list, Above: s.ApprovalsAbove}, nil
}

// RunApprovals are the approvals of the runs of an account by name. A run that nobody had to approve has none.
type RunApprovals map[string]*views.ApprovalLine

// ApprovalsOf returns the approvals of the runs of an account.
func ApprovalsOf(ctx context.Context, ledger *payout.Ledger) (RunApprovals, error) {
	all := RunApprovals{}
	runs, err := ledger.ApprovedRuns(ctx)
	for _, run := range runs {
		all[run.Name] = views.NewApprovalLine(run)
	}
	return all, err
}
