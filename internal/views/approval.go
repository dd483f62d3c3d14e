package views

import (
	"strings"

	"example.com/till/pkg/payout/approval"
)

// ApprovalLine says as JSON what approved the last attempt of an order.
type ApprovalLine struct {
	Run       string          `json:"run"`
	Digest    string          `json:"digest"`   // of the plan
	Required  int             `json:"required"` // how many persons had to approve it
	Approvals []SignatureLine `json:"approvals"`
}

// SignatureLine is an approval of one person as JSON. The key, the principal and the signature are what
// ssh-keygen -Y verify needs.
type SignatureLine struct {
	Principal   string `json:"principal"`
	Fingerprint string `json:"fingerprint"`
	Key         string `json:"key"`
	Signature   string `json:"signature"`
	Seen        string `json:"seen"` // when it was recorded
	User        string `json:"user"` // who applied the plan then
	Host        string `json:"host"`
}

// NewApprovalLine returns what approved an attempt as JSON.
func NewApprovalLine(c approval.Consent) *ApprovalLine {
	line := &ApprovalLine{Run: c.Run, Digest: c.Digest, Required: c.Required, Approvals: []SignatureLine{}}
	for _, a := range c.Approvals {
		line.Approvals = append(line.Approvals,
			SignatureLine{a.Principal, a.Fingerprint, a.Key, a.Signature, Moment(a.Seen), a.User, a.Host})
	}
	return line
}

// By names those who have approved. It is empty if no approval was needed.
func (l *ApprovalLine) By() string {
	if l == nil {
		return ""
	}
	names := make([]string, len(l.Approvals))
	for i, a := range l.Approvals {
		names[i] = a.Principal + " (" + a.Fingerprint + ")"
	}
	return strings.Join(names, ", ")
}
