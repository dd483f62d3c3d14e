package cmdutil

import (
	"example.com/till/internal/config"
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
		return payout.Approvals{}, &config.Error{Msg: err.Error(), Err: err,
			Advice: "write it in the format allowed_signers, which man ssh-keygen describes"}
	}
	return payout.Approvals{Required: s.Approvals, Approvers: list, Above: s.ApprovalsAbove}, nil
}
