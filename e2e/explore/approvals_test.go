package explore

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"

	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
)

// keys are those of the persons who may approve, by their names.
var keys = []string{"ann", "bob", "cleo"}

func signer(key string) ssh.Signer {
	seed := sha256.Sum256([]byte(key))
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		panic(err)
	}
	return s
}

// persons demands the approval of so many persons.
func persons(n int) approval.Policy {
	text := ""
	for _, key := range keys {
		text += key + " " + string(ssh.MarshalAuthorizedKey(signer(key).PublicKey()))
	}
	approvers, err := approval.ParseApprovers("/etc/till/approvers", []byte(text), time.UTC)
	if err != nil {
		panic(err)
	}
	return approval.Policy{Required: n, Approvers: approvers}
}

// demanding lets an actor have a profile that demands the approval of so many persons.
func demanding(n int, a actor) actor { return a.after(func(p *process) { p.demands = persons(n) }) }

// raises is the first command with a profile that demands more.
func raises(name string, n int) actor {
	return tries(name, fmt.Sprintf("demands the approval of %d persons", n), func(p *process) error {
		return p.sender().Remember(p.ctx, persons(n))
	})
}

// makePlans writes the plan of a world, and the signatures over it. All other signatures are kept for later.
func (w *world) makePlans(ctx context.Context, j *payout.Journal, dir string) error {
	path := filepath.Join(dir, planFile)
	if err := makePlan(ctx, j, path, w.batch, w.plan); err != nil || w.signed == nil {
		return err
	}
	plan, err := payout.OpenPlan(path)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "signatures"), 0o700); err != nil {
		return err
	}
	for _, key := range keys {
		text, err := plan.Sign(signer(key))
		if err := errors.Join(err, os.WriteFile(kept(dir, key), text, 0o600)); err != nil {
			return err
		}
	}
	for _, key := range w.signed {
		if err := os.Link(kept(dir, key), signature(dir, key)); err != nil {
			return err
		}
	}
	return nil
}

func kept(dir, key string) string      { return filepath.Join(dir, "signatures", key) }
func signature(dir, key string) string { return filepath.Join(dir, planFile+"."+key+".sig") }

func (r *run) signs(key string) {
	r.outside.signers[key] = true
	text, err := os.ReadFile(kept(r.dir, key))
	if err := errors.Join(err, os.WriteFile(signature(r.dir, key), text, 0o600)); err != nil {
		panic(err)
	}
}

func (r *run) takesBack(key string) {
	if err := os.Remove(signature(r.dir, key)); err != nil {
		panic(err)
	}
}

// mayClaim checks that a process may send an order: its account has its name still, no newer plan of its
// batch has begun, and as many persons as the account demands have approved it, and that is recorded.
func (r *run) mayClaim(p *process, orderID string) {
	if r.outside.renamed {
		r.violated("%s claims order %s, and its account has another name", p.name, orderID)
	}
	r.query(`SELECT newer.name FROM orders JOIN runs ON runs.account = orders.account AND runs.name = orders.run
		JOIN runs newer ON newer.account = runs.account AND newer.batch = runs.batch AND newer.id > runs.id
		WHERE runs.batch <> '' AND newer.began <> '' AND orders.order_id = '`+orderID+`'`, func(rows *sql.Rows) error {
		newer := ""
		err := rows.Scan(&newer)
		r.violated("%s claims order %s, and run %s of its batch has begun", p.name, orderID, newer)
		return err
	})
	r.mayJoin(p, orderID)
	found := false
	r.query(`SELECT COALESCE((SELECT persons FROM demands WHERE account = orders.account
			ORDER BY id DESC LIMIT 1), 0), (SELECT count(DISTINCT principal) FROM attempts
			JOIN consent_approvals ON consent_approvals.consent = attempts.consent
			JOIN approvals ON approvals.id = consent_approvals.approval WHERE order_row = orders.id
			AND number = (SELECT max(number) FROM attempts WHERE order_row = orders.id))
		FROM orders WHERE state = 'sending' AND order_id = '`+orderID+`'`, func(rows *sql.Rows) error {
		var demanded, recorded int
		found = true
		err := rows.Scan(&demanded, &recorded)
		if n := len(r.outside.signers); demanded > 0 && (n < demanded || recorded < demanded) {
			r.violated("%s claims order %s, which %d persons must approve: %d have, and %d of them are recorded",
				p.name, orderID, demanded, n, recorded)
		}
		return err
	})
	if !found {
		r.violated("%s claims order %s, and the journal does not have it as sending", p.name, orderID)
	}
}

// mayJoin checks that no other process is sending an order of an older run of the batch. One that has lost
// its connections cannot be seen.
func (r *run) mayJoin(p *process, orderID string) {
	r.query(`SELECT other.order_id FROM orders JOIN runs ON runs.account = orders.account AND runs.name = orders.run
		JOIN runs older ON older.account = runs.account AND older.batch = runs.batch AND older.id < runs.id
		JOIN orders other ON other.account = orders.account AND other.run = older.name AND other.state = 'sending'
		WHERE runs.batch <> '' AND orders.order_id = '`+orderID+`'`, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		if owner := r.owner[id]; err == nil && owner != p && !owner.dead && !owner.ended && !owner.lost() {
			r.violated("%s claims order %s while %s is sending order %s of an older run of the batch", p.name, orderID,
				owner.name, id)
		}
		return err
	})
}

// approvalWorlds returns the worlds in which persons must approve what is sent.
func approvalWorlds() []*world {
	signs := event{what: "Bob signs the plan", do: func(r *run) { r.signs("bob") }}
	takesBack := event{what: "Bob takes his signature back", do: func(r *run) { r.takesBack("bob") }}
	return []*world{
		{name: "approved", about: "Ann has signed a plan, and Bob may sign it while it is applied",
			stages: [][]actor{{demanding(2, applies("A"))}, {demanding(2, applies("B"))}},
			plan:   []string{row(8, "0.1")}, signed: []string{"ann"}, events: []event{signs}},
		{name: "withdrawn", long: true,
			about:  "a plan is applied while a signature is taken back and more persons are demanded",
			stages: [][]actor{{demanding(2, applies("A")), raises("D", 3)}, {demanding(2, applies("B"))}},
			plan:   []string{row(8, "0.1")}, signed: []string{"ann", "bob"}, events: []event{takesBack},
			service: conduct{creates: []choice{neverLeaves}}},
		{name: "demanded", about: "two profiles send an order, and one of them demands approvals",
			stages:  [][]actor{{demanding(2, sends("A", "9", 5)), sends("B", "9", 5)}, {sends("C", "9", 5)}},
			service: conduct{creates: []choice{neverLeaves}}},
		{name: "tampered", long: true, about: "the rows of a run are changed in the journal, and it goes on",
			stages: [][]actor{{begins("A")}, {applies("B")}}, plan: []string{row(8, "0.1")},
			events: []event{{what: "another program changes the rows", do: (*run).tampers, ready: (*run).idle}}},
	}
}
