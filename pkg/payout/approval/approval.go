// Package approval says who must approve a plan of package payout, and who has. An approval is an OpenSSH
// signature over the file of the plan, as ssh-keygen -Y sign -n till-payout writes it.
//
// A signature counts if its key is listed among the approvers, for the namespace and for today, and if it is
// a signature over exactly the given text. Persons count, not keys: a person is everything that principals
// and keys connect. If a key is listed under two principals, these are one person, and so are all keys of
// both. Principals that differ only in the form of their letters are one, such as Ann and ann.
package approval

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api"
)

// A Policy says how many persons must approve what a Sender sends. The zero Policy demands nothing.
//
// A plan is approved by signatures over its file, see Plan.Sign and ApplyOptions.Approvals. A single
// withdrawal cannot be approved: Send refuses it, unless it is below the totals in Above.
//
// The journal remembers the strictest Policy that the account was used with. A Sender with a less strict one
// is refused until a person ends that with Ledger.SetApprovals.
type Policy struct {
	Required  int // how many persons
	Approvers Approvers
	// Above are totals up to which no approval is needed. Totals in any other unit must be approved.
	Above []api.Amount
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

	person int // see line.person
}

// A Rejected signature is one that approves nothing.
type Rejected struct {
	File      string // empty: the journal has it
	Principal string // whose it was when the journal recorded it; empty: it is a file's
	Why       string
}

func (r Rejected) String() string {
	if r.File == "" {
		return fmt.Sprintf("the signature of %s in the journal does not count any more: %s", r.Principal, r.Why)
	}
	return fmt.Sprintf("the signature %s does not count: %s", filepath.Clean(r.File), r.Why)
}

// Status says who has approved a plan and who may.
type Status struct {
	Required int // how many persons must approve
	Approved []Approval
	Missing  []string   // principals of the others who may approve, one for each person
	Joined   []string   // for each person on lines with different principals, why these are one
	Rejected []Rejected // signatures that do not count
}

// Enough reports whether as many persons as required have approved.
func (s Status) Enough() bool { return len(s.Approved) >= s.Required }

// String says who has signed, who has not, and what is missing.
func (s Status) String() string {
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

func nameList(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// mostRejected is how many signatures that do not count are named.
const mostRejected = 5

// Notes names the signatures that do not count, and says why.
func (s Status) Notes() (notes []string) {
	for i, r := range s.Rejected {
		if i == mostRejected {
			return append(notes, fmt.Sprintf("%d more signatures do not count", len(s.Rejected)-i))
		}
		notes = append(notes, r.String())
	}
	return notes
}

// Count says who has signed a message. An error beside a signature says why it could not be read. Another signature of
// the same person changes nothing.
func (a Approvers) Count(required int, m *Message, now time.Time, signatures iter.Seq2[Approval, error]) Status {
	s := Status{Required: required, Joined: a.joined()}
	var ended []Rejected // those of the journal
	for given, err := range signatures {
		var valid Approval
		if err == nil {
			valid, err = a.verify(m, []byte(given.Signature), now)
		}
		switch same := func(o Approval) bool { return o.person == valid.person }; {
		case err != nil && given.File == "":
			ended = append(ended, Rejected{Principal: given.Principal, Why: err.Error()})
		case err != nil:
			s.Rejected = append(s.Rejected, Rejected{File: given.File, Why: err.Error()})
		case !slices.ContainsFunc(s.Approved, same):
			valid.File, valid.Seen, valid.User, valid.Host = given.File, given.Seen, given.User, given.Host
			s.Approved = append(s.Approved, valid)
		}
	}
	for _, r := range ended {
		same := func(file Rejected) bool { return file.Why == r.Why } // it names the key
		if !slices.ContainsFunc(s.Rejected, same) {
			s.Rejected = append(s.Rejected, r)
		}
	}
	s.Missing = a.missing(s.Approved, now)
	return s
}

// A Consent is what approved the attempts that name it: how many persons had to approve the plan of a run
// when it was applied, and the approvals that counted then. Approvals that were recorded later are those of
// another Consent.
type Consent struct {
	Number    int64 // an attempt names it
	Run       string
	Digest    string // of the plan
	Required  int
	Approvals []Approval // in the order in which they were seen
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
	Number    int64 // an attempt names it
}
