package explore

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api"
)

const planFile = "a.plan"

// outside is what has happened apart from the processes and the service.
type outside struct {
	ahead   time.Duration   // how far the clocks of the machines and the service were set ahead of the true time
	starts  int             // how often the machines have started again
	removed bool            // the log of the journal is gone
	renamed bool            // the account has another name
	signers map[string]bool // the persons who have ever signed the plan
}

// outside returns how a run begins.
func (w *world) outside() outside {
	o := outside{signers: map[string]bool{}}
	for _, key := range w.signed {
		o.signers[key] = true
	}
	return o
}

// clock returns the true time, which is that of the database's clock, and of the one that runs since a
// machine has started.
func (r *run) clock() time.Time { return time.Now().Add(-r.outside.ahead) }

// idle reports whether no process is about to write, so that another program can.
func (r *run) idle() bool { return r.unlocked(nil) }

// exec changes the journal past till.
func (r *run) exec(statements ...string) {
	for _, s := range statements {
		if _, err := r.journal.db.Exec(s); err != nil {
			panic(err)
		}
	}
	var err error
	if r.journal.now, err = r.journal.read(); err != nil {
		panic(err)
	}
}

// setAhead sets the clocks of the machines and of the service ahead of the true time.
func (r *run) setAhead() {
	time.Sleep(ahead)
	r.outside.ahead += ahead
}

// renames gives the account another name, past till.
func (r *run) renames() {
	r.exec(`UPDATE accounts SET name = name || '-moved'`)
	r.outside.renamed = true
}

// tampers changes the address of every order and row that was not sent yet.
func (r *run) tampers() {
	r.exec(`UPDATE orders SET address = '`+otherAddress+`' WHERE state = 'planned'`,
		`UPDATE run_rows SET address = '`+otherAddress+`'`)
}

// removesLog removes one of the files of the journal. Of several, the error would name any.
func (r *run) removesLog() {
	if err := os.Remove(r.place + "-wal"); err != nil {
		panic(err)
	}
	r.outside.removed = true
}

// overwrites writes another order id into the plan's file.
func (r *run) overwrites() {
	path := filepath.Join(r.dir, planFile)
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	other := bytes.ReplaceAll(text, []byte(`"8"`), []byte(`"7"`))
	if bytes.Equal(text, other) {
		panic("the plan does not have order 8")
	}
	if err := os.WriteFile(path, other, 0o600); err != nil {
		panic(err)
	}
}

// row returns what a plan is to send under an order id.
func (w *world) row(orderID string) (minor int64, found bool) { return rowOf(w.plan, orderID) }

func rowOf(all []string, orderID string) (minor int64, found bool) {
	rows, err := csv.NewReader(strings.NewReader(strings.Join(all, "\n"))).ReadAll()
	if err != nil {
		panic(err)
	}
	for _, r := range rows {
		if r[0] == orderID {
			if minor, err = api.ParseDecimal(r[2], 8); err != nil {
				panic(err)
			}
			return minor, true
		}
	}
	return 0, false
}

// asPlanned checks that a process which applies the plan sends what is in it.
func (r *run) asPlanned(w *withdrawal) {
	if w.by.plan == nil {
		return
	}
	id := w.orderID
	if r.world.batch { // the plan has one row, and its id is derived
		id, _, _ = strings.Cut(w.by.rows[0], ",")
	}
	minor, found := rowOf(w.by.rows, id)
	if !found || w.address() != anAddress || w.amount() != inBtc(minor) {
		r.violated("%s has sent order %s with %s to %s, which is not in the plan", w.by.name, w.orderID,
			w.amount(), w.address())
	}
}

// begun checks that a run that has begun has all rows of the plan, and the approvals that it needed.
func (r *run) begun() {
	if r.world.plan == nil {
		return
	}
	r.query(`SELECT (SELECT count(*) FROM run_rows WHERE run_id = runs.id), approvals,
		(SELECT count(DISTINCT principal) FROM approvals WHERE run_id = runs.id) FROM runs WHERE began <> ''`,
		func(rows *sql.Rows) error {
			var n, required, approvals int
			err := rows.Scan(&n, &required, &approvals)
			if n != len(r.world.plan) {
				r.violated("the run has begun with %d of %d rows (%v)", n, len(r.world.plan), err)
			}
			if approvals < required {
				r.violated("the run has begun, and the journal has %d of %d approvals", approvals, required)
			}
			return err
		})
}

// query calls f with each row of a query of the journal.
func (r *run) query(query string, f func(rows *sql.Rows) error) {
	rows, err := r.journal.db.Query(query)
	if err == nil {
		for err == nil && rows.Next() {
			err = f(rows)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil {
		r.violated("the journal cannot be read: %v", err)
	}
}

// ends checks that a process has recorded every id that it was told.
func (p *process) ends() {
	if !p.dead {
		for id := range p.found {
			p.r.shown[id] = p.name
		}
	}
	if p.dead || p.r.service.lied || p.r.outside.removed {
		return
	}
	for orderID, id := range p.told {
		if e := p.r.journal.now[orderID]; (e.state == "sending" ||
			e.state == "unknown" && !p.r.service.denied[id]) && e.id != id {
			p.r.violated("%s was told that order %s was accepted as %s, and the journal has it as %s", p.name,
				orderID, id, e.state)
		}
	}
}

// outsideWorlds returns the worlds in which something happens to the journal, the plan, the list or a clock.
func outsideWorlds() []*world {
	when := (*run).idle
	return []*world{
		{name: "renamed", about: "the account is renamed past till while an order is sent, and it is sent again",
			stages: [][]actor{{sends("A", "9", 5)}, {sends("B", "9", 5)}}, service: conduct{creates: fewCreates},
			events: []event{{what: "the account is renamed", do: (*run).renames, ready: when}}},
		{name: "removed", journal: "sqlite", long: true,
			about:   "the log of the journal is removed while two orders are sent",
			stages:  [][]actor{{sends("A", "8", 5), sends("B", "9", 6)}},
			service: conduct{creates: []choice{neverLeaves, lostAnswer}},
			events:  []event{{what: "the log of the journal is removed", do: (*run).removesLog}}},
		{name: "replaced", long: true, about: "the file of a plan is overwritten while it is applied",
			stages: [][]actor{{applies("A")}, {applies("B")}}, plan: []string{row(8, "0.1")},
			service: conduct{creates: []choice{neverLeaves}},
			events:  []event{{what: "the plan is overwritten", do: (*run).overwrites}}},
		{name: "same-id", about: "the service answers two processes with the same id",
			stages: [][]actor{{sends("A", "8", 5), sends("B", "9", 6)}}, service: conduct{oneID: true}},
		{name: "early", about: "a person decides, and the clock of the machine is ahead of the database's",
			journal: "postgres",
			stages:  [][]actor{{sends("A", "9", 5)}, {resolves("P", "9")}, {sends("C", "9", 5)}},
			service: conduct{lost: 1},
			events:  []event{{what: "the clocks are set 16 minutes ahead", do: (*run).setAhead}}},
	}
}

// allWorlds returns every world.
func allWorlds() []*world {
	return slices.Concat(worlds(), outsideWorlds(), foundWorlds(), approvalWorlds(), keyWorlds(),
		wellWorlds())
}
