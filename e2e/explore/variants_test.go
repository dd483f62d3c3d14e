package explore

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/till/e2e/overlay"
)

// A variant is the real code with a bug that a developer might make, and the world and the bound in which it
// must be found.
type variant struct {
	name, world string
	bound       cost
}

// variants returns the bugs that must be found. Those of the first part have patches in package overlay, and
// some of them are mutants of the crash tests too. Random kills miss those of the third part.
func variants() []variant {
	return []variant{
		{"send-first", "twice", cost{0, 0}},        // the record is made after the call
		{"lazy-commit", "twice", cost{1, 0}},       // the record is committed while the call is in flight
		{"no-sync", "twice", cost{0, 0}},           // a commit is not there yet when it returns
		{"reap-planned", "twice", cost{0, 1}},      // what a dead process was sending may be sent again
		{"retry-timeout", "faults", cost{0, 1}},    // a time-out is answered with a second call
		{"report-first", "twice", cost{0, 0}},      // the id is told before it is recorded
		{"unknown-no", "faults", cost{0, 1}},       // an unknown outcome is recorded as a rejection
		{"absent-not-sent", "late", cost{0, 0}},    // an order that is not on the list was not sent
		{"duplicates", "twins", cost{0, 1}},        // what is unknown is sent under another order id
		{"no-claim", "twice", cost{2, 0}},          // a record in the state sending stops no other process
		{"blind-claim", "beside", cost{1, 0}},      // a row of a plan is claimed by an earlier read
		{"resend-unknown", "plan", cost{0, 1}},     // an unknown row is sent again with the plan
		{"lost-ack", "twice", cost{0, 1}},          // a commit whose outcome is unknown is treated as done
		{"one-reading", "stale", cost{0, 1}},       // a single scan of the list is trusted
		{"slept", "faults", cost{1, 0}},            // a process that slept after its record still sends
		{"retry-blind", "retried", cost{0, 1}},     // a rejected row is sent again without a look at the list
		{"forget-sending", "twice", cost{0, 1}},    // what a dead process was sending stays so forever
		{"outcome-once", "twice", cost{0, 1}},      // an outcome is recorded at once or not at all
		{unlocked, "same-id", cost{1, 0}},          // an outcome does not wait for others of the account
		{"own-clock", "early", cost{1, 0}},         // a decision trusts the clock of its own machine
		{"run-in-parts", "three", cost{0, 0}},      // the rows of a run are not recorded all at once
		{"account-by-name", "renamed", cost{1, 0}}, // the account is looked up by its name at each claim
		{"one-file", "removed", cost{1, 0}},        // only the database file of the journal is checked
		{"skip-approval", "approved", cost{0, 0}},  // the number of persons is not checked
		{"forget-demand", "demanded", cost{0, 0}},  // what the account demanded is not remembered
		{"skip-rows", "tampered", cost{1, 0}},      // the rows in the journal are not compared with the plan
		{"late-approval", "withdrawn", cost{0, 0}}, // a run begins before its approvals are recorded

		{"reap-blind", "twice", cost{1, 0}},          // a process that is sending is taken for dead
		{"no-lock", "twice", cost{1, 0}},             // a process does not take the lock that shows its life
		{"claims-accepted", "twice", cost{1, 0}},     // a claim may be of an order that was accepted
		{"commit-ignored", "twice", cost{0, 1}},      // an error of a commit is ignored
		{"unrecorded-accepted", "twice", cost{0, 1}}, // an order is reported, and was not recorded
		{"wrong-clock", "late", cost{1, 0}},          // the clocks are not compared before a decision
		{"failed-list", "stale", cost{0, 1}},         // an order is sent although the list cannot be read

		{"settle-sending", "new", cost{2, 0}},            // a scan settles an order that is being sent
		{"altered-later", "altered", cost{1, 0}},         // a record that differs confirms an accepted order
		{"found-blind", "known", cost{0, 0}},             // the list is not read again once it had an order
		{"forget-earlier", "stale", cost{0, 2}},          // the last two scans count, and no earlier one
		{"row-taken", "taken", cost{1, 0}},               // a run's row is sent by itself with another amount, and counts
		{"past-conflict", "differs", cost{0, 0}},         // an order in conflict does not keep a run from sending
		{"interrupted-sends", "interrupted", cost{1, 0}}, // an interrupted process still sends its claim
		{"settle-by-creation", "again", cost{0, 1}},      // the time to wait begins before the order was sent
		{"gives-up", "decides", cost{1, 1}},              // an outcome is not tried again after the machine slept
		{"decide-blind", "decisions", cost{1, 1}},        // a decision holds for a later attempt too

		{"plan-unreaped", "retried", cost{0, 1}}, // what a dead process was sending is left out of a run
		{"lost-together", "three", cost{0, 1}},   // an outcome that was lost with the next claim is not tried again
		{"first-keys", "merchants", cost{1, 0}},  // two keys can be the first of an account

		{"sightings-forgotten", "looked-up", cost{0, 2}}, // what a scan has shown of other orders is not recorded
		{"unsettled-forgotten", "sighted", cost{0, 2}},   // nor is it for an order that stays unknown
		{"shown-is-rejected", "looked-up", cost{0, 2}},   // a rejected order that is on the list stays rejected
		{"person-unconfirmed", "confirmed", cost{0, 2}},  // a decision that the list confirms can be taken back
		{"twin-unreaped", "twins-at-once", cost{1, 1}},   // a dead process's order does not count as a duplicate
		{"demand-before", "raised", cost{1, 0}},          // a later demand does not hold for the rest of a run
		{"preview-forgotten", "previewed", cost{0, 2}},   // what a person was shown before a run began is not recorded
		{"batch-together", "overtaken", cost{1, 0}},
		// a plan is sent while another machine sends an older one of its batch
		{"batch-goes-on", "overtaken", cost{1, 0}}, // a plan goes on after a newer one of its batch has begun

		{"wall-age", "behind", cost{1, 0}},          // an attempt is as old as a clock that somebody sets says
		{"phantom-accepted", "phantom", cost{0, 0}}, // an order stays accepted that the service does not have
		{"undecidable", "well", cost{0, 1}},         // no person can settle an order that the list does not show
	}
}

// unlocked is a variant that has no bug in SQLite, where only one transaction at a time can write.
const unlocked = "outcome-unlocked"

// fits reports whether a variant is looked for with the journal of this test: in PostgreSQL those that SQLite
// cannot show, and in SQLite all others.
func (v variant) fits() bool {
	for _, w := range allWorlds() {
		if w.name == v.world {
			return *inDatabase == (v.name == unlocked || w.journal == "postgres")
		}
	}
	panic("there is no world " + v.world)
}

// TestVariantBounds checks that make prove explores the code without a bug at least as far as it looks for
// each bug. Otherwise a world that sound code violates would show every bug.
func TestVariantBounds(t *testing.T) {
	defer func(was bool) { *prove = was }(*prove)
	*prove = true
	for _, v := range variants() {
		for _, w := range allWorlds() {
			if w.name == v.world && v.fits() && *switches < 0 && !slices.ContainsFunc(w.bounds(), v.bound.within) {
				t.Errorf("the variant %s is looked for with %v, and its world explored with %v", v.name, v.bound, w.bounds())
			}
		}
	}
}

// asVariant is the environment variable that gives the patched program one of the bugs.
const asVariant = "TILL_EXPLORE_MUTANT"

// found is the line of a report that carries the schedule out again. The plain schedule has no choices.
var found = regexp.MustCompile(`-run TestReplay -world \S+(?: -schedule (\S+))?\n`)

// TestVariants builds this test with the patches, and explores with one bug after the other.
func TestVariants(t *testing.T) {
	all := append(overlay.Bugs(), patches...)
	program, err := overlay.Build(t.TempDir(), "patched.test", all, helpers, "test", "-c", "./e2e/explore")
	must(t, err)
	for i, v := range variants() {
		if !*prove && i%8 != 0 || !v.fits() { // some of them show that the rest can be built
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, "-test.run", "^TestExplore$", "-world", v.world,
				"-switches", strconv.Itoa(v.bound.switches), "-faults", strconv.Itoa(v.bound.faults),
				"-postgres="+strconv.FormatBool(*inDatabase))
			cmd.Env = append(os.Environ(), asVariant+"="+v.name)
			out, err := cmd.CombinedOutput()
			if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			told := found.FindSubmatch(out)
			if told == nil || !strings.Contains(string(out), "VIOLATION: ") {
				t.Fatalf("it is not found:\n%s", out)
			}
			if n := strings.Count(string(told[1]), ":"); n > v.bound.switches+v.bound.faults {
				t.Errorf("its schedule takes %d choices, more than the bound", n)
			}
			t.Logf("found with the schedule %q\n%s", told[1], out)
		})
	}
}
