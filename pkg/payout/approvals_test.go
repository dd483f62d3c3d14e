package payout

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
)

func newApprover(t testing.TB, name string) (signer ssh.Signer, line string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	ok(t, err)
	if signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	return signer, fmt.Sprintf("%s %s", name, ssh.MarshalAuthorizedKey(signer.PublicKey()))
}

// approvedBy makes a sender demand the approval of two persons, and returns their keys.
func (d *desk) approvedBy(names ...string) (approvals approval.Policy, keys []ssh.Signer) {
	d.t.Helper()
	text := ""
	for _, name := range names {
		key, line := newApprover(d.t, name)
		keys, text = append(keys, key), text+line
	}
	list, err := approval.ParseApprovers("/etc/till/allowed_signers", []byte(text), time.UTC)
	ok(d.t, err)
	return approval.Policy{Required: 2, Approvers: list}, keys
}

// signed makes the desk demand the approval of two persons, and returns a plan that they have signed.
func (d *desk) signed(rows ...PlanRow) *Plan { return d.signedBy("ann", "bob", rows...) }

// signedBy is signed with the persons as a file of approvers has them, with options behind their names.
func (d *desk) signedBy(ann, bob string, rows ...PlanRow) *Plan {
	d.t.Helper()
	approvals, keys := d.approvedBy(ann, bob)
	d.options.Approvals = approvals
	p := d.plan(nil, rows...)
	signPlan(d.t, p, keys[0], "ann")
	signPlan(d.t, p, keys[1], "bob")
	return p
}

func signPlan(t testing.TB, p *Plan, key ssh.Signer, name string) {
	t.Helper()
	signature, err := p.Sign(key)
	ok(t, err)
	ok(t, os.WriteFile(p.Path+"."+name+".sig", signature, 0o600))
}

// TestApprovalsOnSeveralMachines checks that each machine that shares a journal verifies the approvals
// itself.
func TestApprovalsOnSeveralMachines(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		approvals, keys := d.approvedBy("ann", "bob", "cleo")
		d.options.Approvals = approvals
		p := d.plan(nil, due("101"), due("102"))
		signPlan(t, p, keys[0], "ann")
		wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Refused, RuleApproval,
			"signed: ann; not signed: bob, cleo; missing: 1")
		signPlan(t, p, keys[1], "bob")
		d.s.onCreate = on("102", tooMany)
		if _, err := d.apply(p, ApplyOptions{}); err == nil {
			t.Fatal("the service took 102")
		}

		// Another machine begins where the first one stopped, and has no files. With a journal in a file, the
		// first process has to end before.
		if !d.ledger.Journal().Shared() {
			d.ledger.Journal().Close()
		}
		d.s.onCreate = nil
		for _, name := range []string{"ann", "bob"} {
			ok(t, os.Remove(p.Path+"."+name+".sig"))
		}
		other := d.another().Sender
		other.options.Approvals = approval.Policy{}
		_, err := other.Apply(t.Context(), p, ApplyOptions{})
		wantKind(t, err, Refused, RuleApproval, "the journal remembers that 2 persons must approve this")
		foreign, _ := d.approvedBy("ann", "bob")
		foreign.Approvers.Path = "/home/eve/signers"
		other.options.Approvals = foreign
		_, err = other.Apply(t.Context(), p, ApplyOptions{})
		wantKind(t, err, Refused, RuleApproval,
			"the journal remembers the approvers in /etc/till/allowed_signers, and those in /home/eve/signers are others")
		other.options.Approvals = approvals
		if tally, err := other.Apply(t.Context(), p, ApplyOptions{}); err != nil || tally.States[StateAccepted] != 2 {
			t.Errorf("it ended with %+v, %v", tally, err)
		}
		runs, err := other.Consents(t.Context())
		if err != nil || len(runs) != 1 || len(runs[0].Approvals) != 2 || runs[0].Approvals[1].Principal != "bob" ||
			runs[0].Required != 2 {
			t.Fatalf("recorded is %+v, %v", runs, err)
		}
		for o, err := range other.Orders(t.Context(), Filter{Run: p.Name()}) {
			if err != nil || o.Attempts[len(o.Attempts)-1].Consent != runs[0].Number {
				t.Errorf("order %s was sent with %+v, %v; want the consent %d", o.OrderID, o.Attempts, err, runs[0].Number)
			}
		}
		if n := len(d.arrived()); n < 2 || n > 3 { // the rows of a shared run are sent in any order
			t.Errorf("%d creates arrived", n)
		}
	})
}

// TestApprovalOfOtherRows checks that rows which somebody else has recorded for the run after the approvals were
// verified are compared with the signed plan.
func TestApprovalOfOtherRows(t *testing.T) {
	d := newDesk(t)
	p := d.signed(due("101"))
	a := d.applier(p, ApplyOptions{})
	ok(t, errorOf(d.ledger.BeginRun(t.Context(), journal.Run{Name: p.Name(), Digest: p.Digest, Plan: p.Path},
		recorded(d.plan(nil, due("101"), due("102")).Rows))))
	wantKind(t, a.Begin(t.Context(), 0), Refused, RulePlanChanged)
	d.wantArrived()
}

// TestApprovalOfChangedRecord checks that a row which somebody has changed in the journal's record of a run,
// or added to it, is not sent. After LookUp, the record is not read any more.
func TestApprovalOfChangedRecord(t *testing.T) {
	const theirs = `run_id = (SELECT id FROM runs WHERE name = ?1)`
	for name, change := range map[string]string{
		"another callback": `UPDATE run_rows SET callback = 'http://elsewhere.test/' WHERE ` + theirs,
		"the other order": `UPDATE run_rows SET (order_row, minor, address) = (SELECT id, minor, address FROM orders ` +
			`WHERE order_id = '102') WHERE ` + theirs,
		"no row":     `DELETE FROM run_rows WHERE ` + theirs,
		"a row more": fmt.Sprintf(`UPDATE run_rows SET place = %d, %s WHERE run_id <> (SELECT id FROM runs WHERE name = ?1)`, chunk, theirs),
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %t", name, late), func(t *testing.T) {
				d := newDesk(t)
				p := d.signed(due("101"))
				a, tally := d.begun(p, ApplyOptions{})
				d.begins("other", "102")
				d.sql(change, p.Name())
				if late {
					ok(t, a.Send(t.Context(), t.Context(), tally))
					d.wantArrived("101")
					return
				}
				wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Refused, RulePlanChanged)
				d.wantArrived()
			})
		}
	}
}

// TestKeptApprovalEnds checks that a signature which the journal has kept does not count any more when its
// key has expired.
func TestKeptApprovalEnds(t *testing.T) {
	d := newDesk(t)
	until := d.clock.Now().Add(time.Hour).UTC().Format(` valid-before="20060102150405Z"`)
	p := d.signedBy("ann"+until, "bob"+until, due("101"), due("102"))
	d.s.onCreate = on("102", tooMany)
	wantErr(t, errorOf(d.apply(p, ApplyOptions{})), "rejected")
	for _, name := range []string{"ann", "bob"} {
		ok(t, os.Remove(p.Path+"."+name+".sig"))
	}
	arrived := d.arrived()
	d.clock.move(2 * time.Hour)
	wantKind(t, errorOf(d.apply(p, ApplyOptions{})), Refused, RuleApproval, "signed: none")
	d.wantArrived(arrived...)
}

// TestApprovalsWithoutFiles checks that the status says how many must approve, even if they are more than the
// approvers, or if there are too many signatures to read, or none; and that changed rows are not signed.
func TestApprovalsWithoutFiles(t *testing.T) {
	d := newDesk(t)
	approvals, keys := d.approvedBy("ann", "bob")
	p := d.plan(nil, due("101"))
	more := approvals
	more.Required = 5
	status, err := d.PlanApprovals(t.Context(), p, more, nil, d.Sender.now())
	if want := "5 persons must approve it; "; !errors.Is(err, Settings) || !strings.HasPrefix(status.String(), want) {
		t.Errorf("the status is %q (%v), not %q", status, err, want)
	}
	for n := range mostSignatures + 1 {
		ok(t, os.WriteFile(fmt.Sprintf("%s.%d.sig", p.Path, n), nil, 0o600))
	}
	status, err = d.PlanApprovals(t.Context(), p, approvals, nil, d.Sender.now())
	wantKind(t, err, Refused, RuleApproval, "more than 10000 files")
	if want := "2 persons must approve it; signed: none; not signed: ann, bob; missing: 2"; status.String() != want {
		t.Errorf("the status is %q, want %q", status, want)
	}
	p.Path = "gone/staff.plan"
	for _, files := range [][]string{nil, {"gone.sig"}} {
		wantKind(t, errorOf(d.PlanApprovals(t.Context(), p, approvals, files, p.Made)), Invalid, "", "gone", " cannot be ")
	}
	p.Rows[0].Address = "another"
	if signature, err := p.Sign(keys[0]); !errors.Is(err, Refused) || len(signature) > 0 {
		t.Errorf("a plan whose rows were changed is signed: %q, %v", signature, err)
	}
}

// TestNeeds checks that thresholds are about totals, in the unit of the amounts.
func TestNeeds(t *testing.T) {
	btc, eur := api.CryptoAmount("Btc", 10), api.FiatAmount("EUR", 500)
	needs := func(above []api.Amount, all ...api.Amount) int {
		p := new(Plan)
		for _, one := range all {
			p.Totals = append(p.Totals, Total{api.Big(one), 1})
		}
		return p.Needs(approval.Policy{Required: 2, Above: above})
	}
	above := []api.Amount{btc, eur}
	for name, got := range map[string]int{
		"0, the most":            needs(above, btc),
		"2, one more":            needs(above, api.CryptoAmount("Btc", 11)),
		"2, two spellings":       needs(above, api.CryptoAmount("Btc", 6), api.CryptoAmount("BTC", 6)),
		"2, more than 64 bits":   needs(above, api.CryptoAmount("Btc", 5), api.CryptoAmount("BTC", math.MaxInt64)),
		"2, a unit without one":  needs(above, api.FiatAmount("USD", 1)),
		"2, a crypto named EUR":  needs(above, api.CryptoAmount("EUR", 1)),
		"0, both up to the most": needs(above, btc, eur),
		"2, a larger limit too":  needs([]api.Amount{btc, api.CryptoAmount("BTC", 99)}, api.CryptoAmount("Btc", 11)),
		"2, and before it":       needs([]api.Amount{api.CryptoAmount("BTC", 99), btc}, api.CryptoAmount("Btc", 11)),
	} {
		if want := int(name[0] - '0'); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestSendUnderADemand checks that a withdrawal that needs no approval is sent under the demand that says so.
func TestSendUnderADemand(t *testing.T) {
	d := usedDesk(t)
	wantKind(t, d.Ledger.SetApprovals(t.Context(), approval.Policy{}, " "), Invalid, "")
	ok(t, d.Ledger.SetApprovals(t.Context(), approval.Policy{}, "it is over"))
	d.mustSend("2")
	if o := d.wantState("2", StateAccepted); o.Last().Demand == 0 {
		t.Errorf("the attempt is %+v", o.Last())
	}
}

// TestDemandOfSmallSums checks what is sent where only large sums must be approved, if the settings in use are others
// than the journal remembers.
func TestDemandOfSmallSums(t *testing.T) {
	for _, test := range map[string]struct {
		above int64  // up to which the settings require no approval
		file  string // of the settings
		minor int64
		says  string // the refusal; empty: it is sent
	}{
		"nothing must be approved":  {100, "ann", 100, ""},
		"the approvers are others":  {100, "eve", 100, ""},
		"the settings require less": {200, "ann", 101, "the settings in use require nobody for these totals"},
	} {
		d := newDesk(t)
		remembered, _ := d.approvedBy("ann", "bob")
		remembered.Required, remembered.Above = 1, []api.Amount{api.CryptoAmount("Btc", 100)}
		ok(t, d.Remember(t.Context(), remembered))
		now := remembered
		if test.file != "ann" {
			now, _ = d.approvedBy(test.file, "bob")
		}
		now.Above = []api.Amount{api.CryptoAmount("Btc", test.above)}
		d.options.Approvals = now
		row := due("1")
		row.Amount.Minor = test.minor
		_, err := d.apply(d.plan(nil, row), ApplyOptions{})
		if test.says == "" {
			ok(t, err)
			continue
		}
		wantKind(t, err, Refused, RuleApproval, test.says)
	}
}

// TestDemandWhileSending checks that nothing more is sent once the account demands more than when the sender
// found out, although the sender is at work.
func TestDemandWhileSending(t *testing.T) {
	eachJournal(t, func(t *testing.T, d *desk) {
		approvals, _ := d.approvedBy("ann", "bob")
		other := d.open()
		d.onPage(1, func() { ok(t, (&Ledger{other}).Remember(t.Context(), approvals)) })
		wantKind(t, errorOf(d.send(asked("1"))), Refused, RuleApproval,
			"nothing more is sent: what must be approved for ", " has changed meanwhile")
		wantKind(t, errorOf(d.send(asked("1"))), Refused, RuleApproval,
			"the journal remembers that 2 persons must approve this")
		d.wantArrived()
	})
	d := newDesk(t)
	approvals, _ := d.approvedBy("ann", "bob")
	d.s.onCreate = during("101", func() { ok(t, d.Ledger.Remember(t.Context(), approvals)) })
	wantKind(t, errorOf(d.apply(d.plan(nil, dueTo(3)...), ApplyOptions{})), Refused, RuleApproval, "has changed meanwhile")
	d.wantArrived("101")
}

// TestDryRunDemandsNothing checks that the journal does not remember what a dry run would have demanded, and that a
// signed plan is due although it does not.
func TestDryRunDemandsNothing(t *testing.T) {
	d := newDesk(t)
	approvals, keys := d.approvedBy("ann", "bob")
	d.options.Approvals = approvals
	_, _, err := d.Try(t.Context(), due("1").CreateWithdrawal)
	wantKind(t, err, Refused, RuleApproval)
	p := d.plan(nil, dueTo(1)...)
	wantKind(t, errorOf(d.Applier(t.Context(), p, ApplyOptions{DryRun: true})), Refused, RuleApproval, "have it approved")
	signPlan(t, p, keys[0], "ann")
	signPlan(t, p, keys[1], "bob")
	a := d.applier(p, ApplyOptions{DryRun: true})
	for _, err := range a.Due(t.Context()) {
		ok(t, err)
	}
	if demands, err := d.ledger.Demands(t.Context()); err != nil || len(demands) > 0 {
		t.Errorf("the journal remembers %v, %v", demands, err)
	}
}
