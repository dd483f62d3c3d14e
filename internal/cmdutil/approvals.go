package cmdutil

import (
	"context"
	"time"

	"example.com/till/internal/config"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
)

// PayoutApprovals returns what the profile demands of its approvers. It reads their file only if it demands
// anything, or if a command wants to know them.
func (s *Session) PayoutApprovals(wanted bool) (approval.Policy, error) {
	if s.Approvals == 0 && (!wanted || s.Approvers == "") {
		return approval.Policy{}, nil
	}
	text, err := s.ReadApprovers()
	if err != nil {
		return approval.Policy{}, err
	}
	list, err := approval.ParseApprovers(s.Approvers, text, time.Local)
	if err != nil {
		return approval.Policy{}, &config.Error{Msg: err.Error(),
			Advice: "write it in the format allowed_signers, which man ssh-keygen describes"}
	}
	return approval.Policy{Required: s.Approvals, Approvers: list, Above: s.ApprovalsAbove}, nil
}

// Consents are what approved the attempts of an account, by number. An attempt that nobody had to approve has none.
type Consents map[int64]*views.ApprovalLine

// ConsentsOf returns what approved the attempts of an account.
func ConsentsOf(ctx context.Context, ledger *payout.Ledger) (Consents, error) {
	all := Consents{}
	consents, err := ledger.Consents(ctx)
	for _, c := range consents {
		all[c.Number] = views.NewApprovalLine(c)
	}
	return all, err
}
