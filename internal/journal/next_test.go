package journal

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/payout/order"
)

// A world is an order and what has really happened to it, which the order does not know.
type world struct {
	order   Record
	truth   []bool // of each attempt: the service took it
	excused []bool // a person has said since that the order was not sent
	path    string
}

// mostEvents is the length of the histories that TestNext goes through.
const mostEvents = 6

// TestNext goes through every history of an order of up to mostEvents events. The events are claims with the
// same and with other content, every end of every attempt, also repeated and late, the death of the sender,
// the list, and a person's decisions. As on the wire, an attempt that the service took is never reported as
// refused. It may be reported as unknown, and found later. After each event, these rules hold:
//
//   - a sending order has a last attempt without an outcome, and silence never settles such an attempt;
//   - an order is not claimed while an attempt may have been taken, unless a person has said since that it
//     was not;
//   - an order that may have been taken is never sent again with other content;
//   - an order that the service has accepted or shown never becomes planned, rejected or sending again;
//   - an order that the service has shown under another id than that of its answer is not accepted;
//   - a rejected order has no attempt that may have been taken;
//   - an order has a code only from an answer to its last attempt.
func TestNext(t *testing.T) {
	start := world{order: Record{Order: order.Order{OrderID: "1"}, row: 1, version: 1}}
	explore(t, start, false, func(w world, e event, n world) {
		if why := wrong(w, e, n); why != "" {
			t.Fatalf("%s\nafter%s\nfrom %+v\nto   %+v", why, n.path, w.order, n.order)
		}
	})
}

// explore goes through every history from a world on, and calls check after each event. The service may lie.
func explore(t *testing.T, start world, lies bool, check func(w world, e event, n world)) {
	seen := map[string]bool{}
	worlds := []world{start}
	for range mostEvents {
		var following []world
		for _, w := range worlds {
			for name, e := range happenings(w, lies) {
				now, _, err := next(w.order, e)
				if err != nil {
					if strings.Contains(err.Error(), "there is no step") {
						t.Errorf("%s > %s: %v", w.path, name, err)
					}
					continue
				}
				n := w.after(e, now)
				n.path = w.path + " > " + name
				check(w, e, n)
				if key := fmt.Sprintf("%+v %v %v", plain(n.order), n.truth, n.excused); !seen[key] {
					seen[key] = true
					following = append(following, n)
				}
			}
		}
		worlds = following
	}
}

// happenings returns the events that can come next, by name. A claim may really be taken or not, and its end
// tells the truth, unless the service lies.
func happenings(w world, lies bool) map[string]event {
	at := noon.Add(time.Duration(len(w.path)) * time.Second)
	other, content := coffee, w.order.Content
	other.Amount.Minor++
	if lies { // also about what was sent before
		content = coffee
	}
	all := map[string]event{
		"claim":        claimed{Claim: Claim{Row: Row{OrderID: "1", Content: coffee}}, at: at, sender: 7},
		"claim, other": claimed{Claim: Claim{Row: Row{OrderID: "1", Content: other}}, at: at, sender: 7},
		"claim of a run": claimed{Claim: Claim{Row: Row{OrderID: "1", Content: coffee}, SameContent: true, NotRejected: true,
			Run: "cafe"}, at: at, sender: 7},
		"sender died": senderDied{},
		"not sent":    decided{Decision: Decision{OrderID: "1", NotSent: true, Reason: "x"}, at: at},
		"paid as w0":  decided{Decision: Decision{OrderID: "1", PaidAs: "w0"}, at: at},
		"paid as another's": decided{Decision: Decision{OrderID: "1", PaidAs: "w9", AlthoughDifferent: true, Reason: "x"},
			holder: "9", at: at},
		"listed differently": listed{Evidence: Evidence{OrderID: "1", Withdrawal: "w5", Differs: "amount",
			Content: content}},
		"shown": shown{"w5"},
	}
	for i, taken := range w.truth {
		id := fmt.Sprintf("w%d", i)
		all["missing "+id] = missing{withdrawal: id}
		all["missing after all "+id] = missing{id, true}
		for _, end := range []Outcome{accepted(id), rejected, unknown, limited} {
			if !lies && (end.Ending == order.WasAccepted) != taken && end.Ending != order.WasUncertain {
				continue
			}
			all[fmt.Sprintf("attempt %d ended: %s", i+1, end.Ending)] = ended{attempt: int64(i + 1), content: content,
				Outcome: end, at: at}
		}
		if taken || lies {
			all["listed "+id] = listed{Evidence: Evidence{OrderID: "1", Withdrawal: id, Content: content}}
			all["listed "+id+" of another"] = listed{Evidence: Evidence{OrderID: "1", Withdrawal: id,
				Content: content}, holder: "9"}
			all["ended with another's "+id] = ended{attempt: int64(i + 1), content: content, Outcome: accepted(id),
				holder: "9", at: at}
		}
	}
	if lies {
		all["listed"] = listed{Evidence: Evidence{OrderID: "1", Withdrawal: "w5", Content: content}}
		return all
	}
	for name, e := range all { // each claim twice: taken and not taken
		if c, is := e.(claimed); is {
			all[name+", taken"] = takenClaim{c}
		}
	}
	return all
}

// takenClaim is a claim whose call the service will take.
type takenClaim struct{ claimed }

func (w world) after(e event, now Record) world {
	n := world{order: now, truth: slices.Clone(w.truth), excused: slices.Clone(w.excused)}
	switch e := e.(type) {
	case claimed:
		n.truth, n.excused = append(n.truth, false), append(n.excused, false)
	case takenClaim:
		n.truth, n.excused = append(n.truth, true), append(n.excused, false)
	case decided:
		for i := range n.excused {
			n.excused[i] = n.excused[i] || e.NotSent
		}
	}
	return n
}

// wrong says which rule a step breaks; empty: none.
func wrong(before world, e event, w world) string {
	from, o := before.order, w.order
	mayBeTaken := func(a order.Attempt) bool {
		return a.Outcome == order.WasUncertain || a.Outcome == order.UnderWay || a.Outcome == order.WasAccepted
	}
	_, isClaim := e.(claimed)
	_, isTaken := e.(takenClaim)
	_, isMissing := e.(missing) // the service takes back what it has answered
	_, isEnd := e.(ended)
	underWay := 0
	for _, a := range o.Attempts {
		if a.Outcome == order.UnderWay {
			underWay++
		}
	}
	switch {
	case o.State == order.Sending && (underWay != 1 || o.Last().Outcome != order.UnderWay):
		return "sending, and the last attempt is not under way"
	case o.State != order.Sending && o.State != order.Conflict && o.State != order.Accepted && underWay > 0:
		return "an attempt is under way, and the order is not sending"
	case o.Shown != "" && (o.State == order.Planned || o.State == order.Rejected ||
		o.State == order.Sending && from.State != order.Sending):
		return "the service has shown it, and it is " + string(o.State)
	case o.State == order.Accepted && from.State != order.Accepted && o.Resolved == nil && o.Shown != o.ID:
		return "it is accepted as " + o.ID + ", and the service has shown it as " + o.Shown
	case from.Shown != "" && o.Shown == "" && !isMissing:
		return "it is forgotten that the service has shown it"
	case o.Code != 0 && o.State != from.State && !isEnd:
		return fmt.Sprintf("it is %s with the code %d, which no answer gave", o.State, o.Code)
	}
	for i, a := range o.Attempts {
		switch {
		case a.Outcome == order.WasAccepted && o.State != order.Accepted && o.State != order.Conflict:
			return fmt.Sprintf("attempt %d was accepted, and the order is %s", i+1, o.State)
		case o.State == order.Rejected && mayBeTaken(a):
			return fmt.Sprintf("rejected, though attempt %d may have been taken", i+1)
		case o.State == order.Planned && mayBeTaken(a) && !w.excused[i]:
			return fmt.Sprintf("planned, though attempt %d may have been taken", i+1)
		}
	}
	if !isClaim && !isTaken {
		return ""
	}
	for i, a := range from.Attempts {
		switch {
		case mayBeTaken(a) && !before.excused[i]:
			return fmt.Sprintf("claimed, though attempt %d may have been taken", i+1)
		case mayBeTaken(a) && !from.Content.Same(o.Content):
			return fmt.Sprintf("claimed with other content, though attempt %d may have been taken", i+1)
		case before.truth[i] && !mayBeTaken(a):
			return fmt.Sprintf("attempt %d was taken, and the order does not know that it may have been", i+1)
		}
	}
	return ""
}

// plain returns an order without the fields that no decision depends on.
func plain(o Record) Record {
	o.Sent, o.Reason, o.Key, o.Run, o.Code = time.Time{}, "", "", "", 0
	if o.Resolved != nil {
		o.Callback = "decided" // the rest of a decision is only for people
	}
	o.Resolved = nil
	o.Attempts = slices.Clone(o.Attempts)
	for i := range o.Attempts {
		if !o.Attempts[i].Ended.IsZero() {
			o.Attempts[i].Ended = noon
		}
		o.Attempts[i].Began = noon
	}
	return o
}

// TestMoveComparesVersions checks that a change is made only if the order still has the version that was
// read.
func TestMoveComparesVersions(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		o := bring(t, j, "1", order.Unknown)
		for name, stale := range map[string]func(*Record){
			"an older version":     func(o *Record) { o.version-- },
			"another order's name": func(o *Record) { o.OrderID = "2" },
		} {
			old := o
			stale(&old)
			err := j.write(t.Context(), func(tx *tx) error {
				_, err := tx.happen(old, decided{Decision: Decision{NotSent: true, Reason: "x"}, at: noon})
				return err
			})
			wantErr(t, name, Broken, "was changed by another process meanwhile")(nil, err)
		}
		if now := wantState(t, j, "1", order.Unknown); now.version != o.version || len(now.Attempts) != 1 {
			t.Errorf("it changed to %+v", now)
		}
		if n := len(story(t, j, "1")); n != 2 {
			t.Errorf("it has %d events", n)
		}
	})
}

// TestTable checks that the table at the top of transition.go has every step that next makes, and no other. If
// it does not, the test prints the correct table.
func TestTable(t *testing.T) {
	arrows := arrowsOfNext(t)
	for _, from := range append([]order.State{""}, order.States()...) {
		for _, to := range steps[from] {
			// The service has shown a record of an order in conflict, so no person can say that it was not
			// sent.
			unreached := from == order.Conflict && to == order.Planned
			if _, drawn := arrows[arrow{from, to}]; drawn == unreached {
				t.Errorf("a step from %q to %q: next makes it: %t, and the test expects %t", from, to, drawn, !unreached)
			}
		}
	}
	source, err := os.ReadFile("transition.go")
	must(t, err)
	if want := table(arrows); !strings.Contains(string(source), want) {
		t.Errorf("transition.go does not have this table:\n%s", want)
	}
}

type arrow struct{ from, to order.State }

// arrowsOfNext returns the names of the events that change a state.
func arrowsOfNext(t *testing.T) map[arrow][]string {
	arrows := map[arrow][]string{{"", order.Planned}: {"begin run"}} // BeginRun makes this step for many orders at once
	for _, start := range []order.Order{{OrderID: "1"}, {OrderID: "1", State: order.Planned, Content: coffee}} {
		explore(t, world{order: Record{Order: start, row: 1, version: 1}}, true, func(w world, e event, n world) {
			between := arrow{w.order.State, n.order.State}
			if between.from != between.to && !slices.Contains(arrows[between], label(e)) {
				arrows[between] = append(arrows[between], label(e))
			}
		})
	}
	return arrows
}

// labels are the names of the events in the table, in its order.
var labels = []string{"begin run", "claim", "accepted", "rejected", "said nothing", "uncertain", "died", "listed",
	"differs", "shown", "missing", "paid as", "not sent"}

func label(e event) string {
	switch e := e.(type) {
	case claimed:
		return "claim"
	case ended:
		return map[order.Ending]string{order.WasAccepted: "accepted", order.WasRejected: "rejected",
			order.SaidNothing: "said nothing", order.WasUncertain: "uncertain"}[e.Ending]
	case senderDied:
		return "died"
	case missing:
		return "missing"
	case shown:
		return "shown"
	case listed:
		if e.Differs != "" || e.holder != "" {
			return "differs"
		}
		return "listed"
	case decided:
		if e.NotSent {
			return "not sent"
		}
		return "paid as"
	}
	return fmt.Sprintf("%T", e)
}

// table has a paragraph for each state, with the states that can follow.
func table(arrows map[arrow][]string) (text string) {
	states := append([]order.State{""}, order.States()...)
	for _, from := range states {
		line := fmt.Sprintf("//\t%-10s", cmp.Or(string(from), "(new)"))
		for _, to := range states {
			events := arrows[arrow{from, to}]
			if len(events) == 0 {
				continue
			}
			slices.SortFunc(events, func(a, b string) int { return slices.Index(labels, a) - slices.Index(labels, b) })
			step := fmt.Sprintf("%s (%s); ", to, strings.Join(events, ", "))
			if len(line)+len(step) > 100 {
				text += strings.TrimRight(line, " ") + "\n"
				line = fmt.Sprintf("//\t%10s", "")
			}
			line += step
		}
		text += strings.TrimRight(line, "; ") + "\n"
	}
	return text
}
