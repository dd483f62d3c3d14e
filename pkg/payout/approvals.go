package payout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/till/pkg/payout/approval"
	"golang.org/x/crypto/ssh"
)

// Sign signs the text of the plan with a key. The signature is what ssh-keygen -Y sign -n till-payout writes.
func (p *Plan) Sign(signer ssh.Signer) (signature []byte, err error) {
	var text bytes.Buffer
	if _, err := p.WriteTo(&text); err != nil {
		return nil, err
	}
	if signature, err = approval.Sign(&text, signer); err != nil {
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
	var err error
	status := a.Approvers.Count(p.Needs(a), message, now, func(yield func(approval.Approval, error) bool) {
		for _, k := range kept {
			if !yield(k, nil) {
				return
			}
		}
		err = p.eachSignature(files, yield)
	})
	return status, err
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
	return own(l.ledger.Consents(ctx))
}

// mostSignatures is how many files next to a plan are read. Everybody who can write there can make more.
const mostSignatures = 10_000

// eachSignature yields the signature in each file, or why the file cannot be read.
func (p *Plan) eachSignature(files []string, yield func(approval.Approval, error) bool) error {
	if len(files) > 0 {
		for _, name := range files {
			text, err := readSignature(os.OpenFile, name)
			if err != nil {
				return failed(Invalid, "the approval %s cannot be used: %w", name, errors.New(cause(err))).
					hint("name a file that till payout approve or ssh-keygen -Y sign has written")
			}
			if !yield(approval.Approval{Signature: string(text), File: name}, nil) {
				return nil
			}
		}
		return nil
	}
	dir, base := filepath.Split(p.Path)
	var names []string
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err == nil {
		defer root.Close()
		names, err = signaturesIn(root, base)
	}
	if err != nil {
		return failed(Invalid, "the signatures in %s cannot be read: %s", filepath.Clean(dir), cause(err)).because(err).
			hint("name the files of the signatures with --approval")
	}
	if len(names) > mostSignatures {
		return refused(RuleApproval, "more than %d files next to the plan %s have the name of a signature",
			mostSignatures, p.Path).hint("remove those that are none, or name the right ones with --approval")
	}
	for _, name := range names {
		text, err := readSignature(root.OpenFile, name)
		if err != nil {
			err = errors.New(cause(err))
		}
		if !yield(approval.Approval{Signature: string(text), File: filepath.Join(dir, name)}, err) {
			return nil
		}
	}
	return nil
}

// signaturesIn returns the names in a directory that begin with a plan's name and end with .sig, sorted.
func signaturesIn(root *os.Root, plan string) (names []string, err error) {
	all, err := fs.ReadDir(root.FS(), ".")
	for _, file := range all {
		if name := file.Name(); strings.HasPrefix(name, plan) && strings.HasSuffix(name, ".sig") {
			names = append(names, name)
		}
	}
	return names, err
}

// readSignature reads a file that can be a signature. It must not wait for a pipe.
func readSignature(open func(string, int, fs.FileMode) (*os.File, error), name string) ([]byte, error) {
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil && !errors.As(err, new(syscall.Errno)) { // os.Root refuses it, in words that are not for a person
		return nil, errors.New("it is a link that leads out of the directory of the plan")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, approval.MaxSignature+1))
	if len(text) > approval.MaxSignature {
		err = fmt.Errorf("it is larger than %d bytes", approval.MaxSignature)
	}
	return text, err
}
