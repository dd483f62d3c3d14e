package payout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"example.com/till/internal/approval"
	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// ApprovalNamespace is the namespace of the OpenSSH signatures that approve a plan. An approval is what
// ssh-keygen -Y sign -n till-payout writes.
const ApprovalNamespace = approval.Namespace

// Approvals say how many persons must approve what a Sender sends. The zero value demands nothing.
//
// A plan is approved by signatures over its file, see Plan.Sign and ApplyOptions.Approvals. A single
// withdrawal cannot be approved: Send refuses it, unless it is below the totals in Above.
//
// The journal remembers the strictest Approvals that the account was used with. A Sender with less strict ones
// is refused until a person ends that with Ledger.SetApprovals.
type Approvals struct {
	Required  int // how many persons
	Approvers Approvers
	// Above are totals up to which nobody must approve. Totals in any other unit must be approved.
	Above []api.Amount
}

// Approvers are the keys of those who may approve. A person is everything that principals and keys connect:
// several keys of a principal are one person, and so are several principals of a key.
type Approvers struct {
	Path string
	list approval.Approvers
}

// ParseApprovers reads the text of a file in the format allowed_signers of OpenSSH: see ssh-keygen(1). The
// path is only the name by which the journal remembers the file. If a line is wrong, the error is ErrInvalid.
func ParseApprovers(path string, text []byte) (Approvers, error) {
	list, err := approval.ParseApprovers(text, time.Local)
	if err != nil {
		return Approvers{}, &Error{Kind: Invalid, Err: err,
			Msg:  fmt.Sprintf("the approvers in %s cannot be read: %v", path, err),
			Hint: NewHint("write it in the format of allowed_signers, which man ssh-keygen describes")}
	}
	return Approvers{path, list}, nil
}

// PrincipalOf returns the principal of a key, or an empty text if the key is not listed.
func (a Approvers) PrincipalOf(key ssh.PublicKey) string { return a.list.PrincipalOf(key) }

// Invalid says why a signature with a key would not count at a time; nil: it would.
func (a Approvers) Invalid(key ssh.PublicKey, at time.Time) error {
	err := a.list.Invalid(key, at)
	if err == nil {
		return nil
	}
	return &Error{Kind: Invalid, Err: err, Msg: fmt.Sprintf("a signature with it does not count: %v", err),
		Hint: NewHint("sign with a key of an approver")}
}

// An Approval is the signature of one person over a plan.
type Approval struct {
	Principal   string
	Key         string // in the format of authorized_keys
	Fingerprint string
	Signature   string    // in the format that ssh-keygen -Y verify reads
	File        string    // from which it was read; empty: the journal has it
	Seen        time.Time // when it was recorded with a run; zero: it was not
	User, Host  string    // who applied the plan then
}

// ApprovalStatus says who has approved a plan and who may.
type ApprovalStatus struct {
	Required int // how many persons must approve
	Approved []Approval
	Missing  []string            // principals of the others who may approve, one for each person
	Joined   []string            // for each person on lines with different principals, why these are one
	Rejected []RejectedSignature // signatures that do not count
}

// A RejectedSignature is one that approves nothing.
type RejectedSignature struct {
	File      string // empty: the journal has it
	Principal string // whose it was when the journal recorded it; empty: it is a file's
	Why       string
}

func (r RejectedSignature) String() string {
	if r.File == "" {
		return fmt.Sprintf("the signature of %s in the journal does not count any more: %s", r.Principal, r.Why)
	}
	return fmt.Sprintf("the signature %s does not count: %s", filepath.Clean(r.File), r.Why)
}

// Enough reports whether as many persons as required have approved.
func (s ApprovalStatus) Enough() bool { return len(s.Approved) >= s.Required }

// String says who has signed, who has not, and what is missing.
func (s ApprovalStatus) String() string {
	var signed []string
	for _, a := range s.Approved {
		signed = append(signed, a.Principal)
	}
	text := fmt.Sprintf("%s must approve it; signed: %s; not signed: %s", persons(s.Required), nameList(signed),
		nameList(s.Missing))
	if n := s.Required - len(s.Approved); n > 0 {
		text += fmt.Sprintf("; missing: %d", n)
	}
	for _, why := range s.Joined {
		text += "; " + why
	}
	return text
}

func persons(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d persons", n)
}

func nameList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Needs returns how many persons must approve a plan with these totals.
func (a Approvals) Needs(totals []Total) int {
	return int(a.demand().Need(byUnit(totals)))
}

func (a Approvals) demand() journal.Demand {
	d := journal.Demand{Persons: int64(a.Required)}
	if a.Required == 0 {
		return d
	}
	if d.Above = map[api.Currency]int64{}; a.Approvers.Path != "" {
		d.Approvers, d.Digest = a.Approvers.Path, a.Approvers.list.Digest()
	}
	for _, most := range a.Above {
		u, minor := journal.LowerCase(api.Currency{Kind: most.Kind, Code: most.Code}), most.Minor
		if other, found := d.Above[u]; found {
			minor = min(minor, other)
		}
		d.Above[u] = minor
	}
	return d
}

// byUnit returns the totals by unit. Units that differ only in case are one.
func byUnit(totals []Total) map[api.Currency]money.Sum {
	sums := map[api.Currency]money.Sum{}
	for _, t := range totals {
		u := journal.LowerCase(api.Currency{Kind: t.Amount.Kind, Code: t.Amount.Code})
		sum := sums[u]
		sum.Plus(t.Amount.Minor)
		sums[u] = sum
	}
	return sums
}

func (a Approvals) check() error {
	switch {
	case a.Required < 0:
		return &Error{Kind: Invalid, Msg: fmt.Sprintf("payout.New: %d approvals cannot be required", a.Required),
			Hint: NewHint("give the number of persons, from 0 on")}
	case a.Required > 0 && a.Approvers.Path == "":
		return &Error{Kind: Invalid, Msg: "payout.New: approvals are required, and there are no approvers",
			Hint: NewHint("read them with payout.ParseApprovers")}
	}
	return nil
}

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
		err = &Error{Kind: Invalid, Err: err, Msg: fmt.Sprintf("the plan %s is not signed: %v", p.Path, err),
			Hint: NewHint("look at the key, or use another one")}
	}
	return signature, err
}

// Approvals says who has approved the plan, as its file is now. It reads the signatures in the given files or,
// if there are none, in all files next to the plan whose names begin with its name and end with .sig.
func (p *Plan) Approvals(a Approvals, files []string, now time.Time) (ApprovalStatus, error) {
	return p.approvals(a, files, nil, now)
}

// approvals also counts signatures that the journal has. If the files cannot be read, the status is without them.
func (p *Plan) approvals(
	a Approvals, files []string, kept []journal.Approval, now time.Time,
) (status ApprovalStatus, err error) {
	message := approval.NewMessage()
	if _, err := p.WriteTo(message); err != nil {
		return status, err
	}
	c := counting{list: a.Approvers.list, message: message, now: now}
	c.Required, c.Joined = a.Needs(p.Totals), a.Approvers.list.Joined()
	var ended []RejectedSignature
	for _, k := range kept {
		if err := c.count(Approval{Signature: k.Signature, Seen: k.Seen, User: k.User, Host: k.Host}); err != nil {
			ended = append(ended, RejectedSignature{Principal: k.Principal, Why: err.Error()})
		}
	}
	err = p.eachSignature(files, c.file)
	for _, r := range ended {
		same := func(file RejectedSignature) bool { return file.Why == r.Why } // it names the key
		if !slices.ContainsFunc(c.Rejected, same) {
			c.Rejected = append(c.Rejected, r)
		}
	}
	for _, person := range c.list.People(now) {
		if !slices.ContainsFunc(c.people, person.Same) {
			c.Missing = append(c.Missing, person.Principal)
		}
	}
	return c.ApprovalStatus, err
}

// counting counts the persons who have signed a message.
type counting struct {
	ApprovalStatus
	list    approval.Approvers
	message *approval.Message
	now     time.Time
	people  []approval.Person
}

// file counts the signature of a file, or rejects it if it could not be read.
func (c *counting) file(name string, text []byte, err error) {
	if err == nil {
		err = c.count(Approval{Signature: string(text), File: name})
	}
	if err != nil {
		c.Rejected = append(c.Rejected, RejectedSignature{File: name, Why: err.Error()})
	}
}

func (c *counting) count(a Approval) error {
	s, err := c.list.Verify(c.message, []byte(a.Signature), c.now)
	if err != nil || slices.ContainsFunc(c.people, s.Same) {
		return err
	}
	c.people = append(c.people, s.Person)
	a.Principal, a.Key, a.Fingerprint, a.Signature = s.Principal, s.Key, s.Fingerprint, s.Armored
	c.Approved = append(c.Approved, a)
	return nil
}

// approve refuses a plan that not enough persons have approved, or whose recorded rows are not those that they
// have signed.
func (a *Applier) approve(ctx context.Context) error {
	required, number, err := a.sender.demand(ctx, a.plan.Totals)
	a.demand, a.approvals = number, ApprovalStatus{}
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
		if a.options.Note != nil {
			a.options.Note(text)
		}
	}
	if !a.approvals.Enough() {
		return a.approvals.refusal(a.plan)
	}
	return nil
}

// Check refuses a plan that not enough persons have approved, as Sender.Apply does.
func (s ApprovalStatus) Check(p *Plan) error {
	if s.Enough() {
		return nil
	}
	return s.refusal(p)
}

func (s ApprovalStatus) refusal(p *Plan) error {
	if may := len(s.Approved) + len(s.Missing); may < s.Required {
		return refused(RuleApproval, fmt.Sprintf("the plan %s is not approved: %s, and only %s may approve now", p.Path, s, persons(may)),
			"add the others to the file of the approvers")
	}
	return refused(RuleApproval, fmt.Sprintf("the plan %s is not approved: %s", p.Path, s), "have it approved with",
		"payout", "approve", p.Path)
}

// mostRejected is how many signatures that do not count are named.
const mostRejected = 5

// Notes names the signatures that do not count, and says why.
func (s ApprovalStatus) Notes() (notes []string) {
	for i, r := range s.Rejected {
		if i == mostRejected {
			return append(notes, fmt.Sprintf("%d more signatures do not count", len(s.Rejected)-i))
		}
		notes = append(notes, r.String())
	}
	return notes
}

// recorded returns the approvals in the journal's type.
func (s ApprovalStatus) recorded() []journal.Approval {
	var all []journal.Approval
	for _, a := range s.Approved {
		all = append(all, journal.Approval{Principal: a.Principal, Key: a.Key, Fingerprint: a.Fingerprint,
			Signature: a.Signature})
	}
	return all
}

// A Consent is what approved the attempts that name it: how many persons had to approve the plan of a run when it was
// applied, and the approvals that counted then. Approvals that were recorded later are those of another Consent.
type Consent struct {
	Number    int64 // see Attempt.Consent
	Run       string
	Digest    string // of the plan
	Required  int
	Approvals []Approval // in the order in which they were seen
}

// Consents returns what approved the runs of the account, the oldest first.
func (l *Ledger) Consents(ctx context.Context) ([]Consent, error) {
	own, err := l.ledger.Consents(ctx)
	all := make([]Consent, len(own))
	for i, c := range own {
		all[i] = Consent{Number: c.Number, Run: c.Run, Digest: c.Digest, Required: int(c.Required)}
		for _, a := range c.Approvals {
			all[i].Approvals = append(all[i].Approvals, Approval{Principal: a.Principal, Key: a.Key,
				Fingerprint: a.Fingerprint, Signature: a.Signature, Seen: a.Seen, User: a.User, Host: a.Host})
		}
	}
	return all, asError(err)
}
