package payout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/crypto/ssh"

	"example.com/till/pkg/payout/approval"
)

// Sign signs the text of the plan with a key. The signature is what ssh-keygen -Y sign -n till-payout writes.
func (p *Plan) Sign(signer ssh.Signer) (signature []byte, err error) {
	text, end := io.Pipe()
	go func() {
		_, err := p.WriteTo(end)
		end.CloseWithError(err)
	}()
	defer text.Close()
	signature, err = approval.Sign(text, signer)
	if changed, ok := errors.AsType[*Error](err); ok {
		return nil, changed // it says what is wrong with the plan
	}
	if err != nil {
		err = failed(Invalid, "the plan %s is not signed: %w", p.Path, err).hint("look at the key, or use another one")
	}
	return signature, err
}

// Approvals says who has approved the plan, as its file is now. It reads the signatures in the given files
// or, if there are none, in all files next to the plan whose names begin with its name and end with .sig.
func (p *Plan) Approvals(a approval.Policy, files []string, now time.Time) (approval.Status, error) {
	return p.approvals(a, files, nil, now)
}

// approvals also counts signatures that the journal has. If the files cannot be read, the status is without
// them.
func (p *Plan) approvals(
	a approval.Policy, files []string, kept []approval.Approval, now time.Time,
) (approval.Status, error) {
	message := approval.NewMessage()
	if _, err := p.WriteTo(message); err != nil {
		return approval.Status{}, err
	}
	c := a.Approvers.Count(p.Needs(a), message, now)
	for _, k := range kept {
		c.Add(k)
	}
	err := p.eachSignature(files, c)
	return c.Status(), err
}

// approve refuses a plan that not enough persons have approved.
func (a *Applier) approve(ctx context.Context) error {
	required, number, err := a.sender.demand(ctx, a.plan.Totals, a.options.DryRun)
	a.demand, a.approvals = number, approval.Status{}
	if err != nil || required == 0 {
		return err
	}
	kept, err := a.sender.ledger.Approvals(ctx, a.plan.Name())
	if err != nil {
		return err
	}
	if !a.Begun() {
		kept = nil
	}
	a.approvals, err = a.plan.approvals(a.sender.options.Approvals, a.options.Approvals, kept, a.sender.now())
	if err != nil {
		return err
	}
	for _, text := range a.approvals.Notes() {
		a.note(text)
	}
	return a.plan.CheckApproved(a.approvals)
}

// CheckApproved refuses a plan that not enough persons have approved, as Sender.Apply does.
func (p *Plan) CheckApproved(s approval.Status) error {
	if s.Enough() {
		return nil
	}
	if may := len(s.Approved) + len(s.Missing); may < s.Required {
		return refused(RuleApproval, "the plan %s is not approved: %s, and only %s may approve now",
			p.Path, s, persons(may)).hint("add the others to the file of the approvers")
	}
	return refused(RuleApproval, "the plan %s is not approved: %s", p.Path, s).
		hint("have it approved with", "payout", "approve", p.Path)
}

func persons(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d persons", n)
}

// Consents returns what approved the runs of the account, the oldest first.
func (l *Ledger) Consents(ctx context.Context) ([]approval.Consent, error) {
	all, err := l.ledger.Consents(ctx)
	return all, asError(err)
}
