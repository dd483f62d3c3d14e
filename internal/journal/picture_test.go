package journal

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/payout/order"
)

// TestPicture checks that the picture at the top of transition.go shows every step that next makes, and no
// other. If it does not, the test prints the correct picture.
func TestPicture(t *testing.T) {
	arrows := arrowsOfNext(t)
	for _, from := range append([]order.State{""}, order.States()...) {
		for _, to := range steps(from) {
			// The service has shown a record of an order in conflict, so no person can say that it was not
			// sent.
			unreached := from == order.Conflict && to == order.Planned
			if _, drawn := arrows[arrow{from, to}]; drawn == unreached {
				t.Errorf("a step from %q to %q: next makes it: %t, and the test expects %t", from, to, drawn, !unreached)
			}
		}
	}
	source, err := os.ReadFile("transition.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := picture(arrows); !strings.Contains(string(source), want) {
		t.Errorf("transition.go does not have this picture:\n%s", want)
	}
}

type arrow struct{ from, to order.State }

// arrowsOfNext applies every event to every order that events can lead to, until there are no new orders. It
// returns the names of the events that change a state.
func arrowsOfNext(t *testing.T) map[arrow][]string {
	arrows := map[arrow][]string{{"", order.Planned}: {"begin run"}} // BeginRun makes this step for many orders at once
	seen := map[string]bool{}
	orders := []Record{{Order: order.Order{OrderID: "1"}, row: 1, version: 1},
		{Order: order.Order{OrderID: "1", State: order.Planned, Content: coffee}, row: 1, version: 1}}
	for range mostEvents {
		var following []Record
		for _, o := range orders {
			for _, e := range anything(o) {
				now, err := next(o, e)
				if err != nil {
					if strings.Contains(err.Error(), "there is no step") {
						t.Errorf("%T on %+v: %v", e, o, err)
					}
					continue
				}
				if between := (arrow{o.State, now.State}); now.State != o.State && !slices.Contains(arrows[between], label(e)) {
					arrows[between] = append(arrows[between], label(e))
				}
				if key := fmt.Sprintf("%+v", plain(now)); !seen[key] {
					seen[key] = true
					following = append(following, now)
				}
			}
		}
		orders = following
	}
	return arrows
}

// anything returns every possible event for an order, including those of a service that contradicts itself.
func anything(o Record) []event {
	other := coffee
	other.Amount.Minor++
	all := []event{senderDied{}, shown{"w5"}, missing{"w0"},
		decided{Decision: Decision{NotSent: true, Reason: "x"}, at: noon}}
	for _, c := range []Claim{{Content: coffee}, {Content: other},
		{Content: coffee, SameContent: true, NotRejected: true}} {
		all = append(all, claimed{Claim: c, at: noon, sender: 7})
	}
	for _, holder := range []string{"", "9"} {
		for i := range o.Attempts {
			for _, out := range []Outcome{accepted(fmt.Sprintf("w%d", i)), rejected, unknown, limited} {
				all = append(all, ended{attempt: int64(i + 1), content: coffee, Outcome: out, holder: holder, at: noon})
			}
		}
		all = append(all, listed{Evidence: Evidence{Withdrawal: "w0", Content: coffee}, holder: holder},
			listed{Evidence: Evidence{Withdrawal: "w0", Content: coffee, Differs: "amount"}, holder: holder},
			decided{Decision: Decision{PaidAs: "w0", AlthoughDifferent: true, Reason: "x"}, holder: holder, at: noon})
	}
	return all
}

// labels are the names of the events in the picture, in the order of the drawing.
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

// picture draws the states as columns. Each arrow has its own line, from its o to its tip.
func picture(arrows map[arrow][]string) string {
	const width = 9
	states := []order.State{"", order.Planned, order.Sending, order.Rejected, order.Unknown,
		order.Accepted, order.Conflict}
	names := strings.Repeat(" ", width*len(states))
	for i, state := range states {
		name := cmp.Or(string(state), "(new)")
		at := 3 + width*i - len(name)/2
		names = names[:at] + name + names[at+len(name):]
	}
	text := "//\t" + strings.TrimRight(names, " ") + "\n"
	blank := strings.Repeat("   |     ", len(states))
	for from, source := range states {
		for to, target := range states {
			events := arrows[arrow{source, target}]
			if len(events) == 0 {
				continue
			}
			slices.SortFunc(events, func(a, b string) int { return slices.Index(labels, a) - slices.Index(labels, b) })
			line := []byte(blank)
			left, right := 3+width*min(from, to), 3+width*max(from, to)
			for i := left + 1; i < right; i++ {
				line[i] = '-'
			}
			line[3+width*from] = 'o'
			if from < to {
				line[right-1] = '>'
			} else {
				line[left+1] = '<'
			}
			text += "//\t" + strings.TrimRight(string(line), " ") + "  " + strings.Join(events, ", ") + "\n"
		}
		text += "//\t" + strings.TrimRight(blank, " ") + "\n"
	}
	return text
}
