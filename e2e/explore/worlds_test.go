package explore

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
)

const (
	anAddress    = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
	otherAddress = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
)

// A world is what the processes of a run find, and what they do. The processes of a stage run at the same
// time. A stage begins when all processes of the one before have ended.
type world struct {
	name    string
	about   string
	stages  [][]actor
	events  []event
	service conduct
	empty   bool // the journal has no order yet; otherwise order 1 was accepted before
	paid    []string
	long    bool     // its exploration takes long
	plan    []string // rows of the plan, without the header
	batch   bool     // the plan's order ids are derived from a batch, and those in its rows do not count
	signed  []string // the keys that have signed the plan
	journal string   // sqlite or postgres; empty: both
}

// fits reports whether a world can be explored with the journal of this test.
func (w *world) fits() bool {
	if *inDatabase {
		return w.journal != "sqlite" && len(w.plan) <= 1 // there, a plan begins at a random row
	}
	return w.journal != "postgres"
}

// An actor is what one process does.
type actor struct {
	name string
	main func(p *process)
}

// after is the same actor with something that happens to its process first.
func (a actor) after(happens func(p *process)) actor {
	return actor{a.name, func(p *process) {
		happens(p)
		a.main(p)
	}}
}

// tries is an actor whose error is told, unless it dies.
func tries(name, what string, do func(p *process) error) actor {
	return actor{name, func(p *process) {
		if err := do(p); !p.dead {
			p.r.tell("%s %s: %v", name, what, err)
		}
	}}
}

// sender returns a Sender for the process, and the context of its calls.
func (p *process) sender() *payout.Sender {
	c, err := api.New("https://pay.example.com", api.WithTransport(client{p.r.service, p}),
		api.WithAPIKey(cmp.Or(p.key, firstKey)), api.WithRetries(0), api.WithTimeouts(24*time.Hour, 24*time.Hour))
	if err != nil {
		panic(err)
	}
	o := payout.Options{FirstPage: api.PageBaseOne, Approvals: p.demands}
	s, err := payout.New(c, p.journal, "acme", o)
	if err != nil {
		panic(err)
	}
	return s
}

// sends is till withdraw create.
func sends(name, orderID string, minor int64) actor {
	return actor{name, func(p *process) {
		told := payout.OnAccepted(func(o payout.Order) {
			if p.reports(orderID, minor, o.ID, nil); p.r.outside.removed && !p.dead {
				p.r.violated("%s reports that order %s was accepted, and the record of it is gone", name, orderID)
			}
		})
		sent, err := p.sender().Send(p.given, withdraw(orderID, minor), payout.CallUnder(p.ctx), told)
		if p.reports(orderID, minor, sent.Order.ID, err); err == nil && p.r.service.phantom[sent.Order.ID] == p && !p.dead {
			p.r.violated("%s reports that order %s was accepted, and it has asked the service, which does not have it", name,
				orderID)
		}
	}}
}

func withdraw(orderID string, minor int64) api.CreateWithdrawal {
	return api.CreateWithdrawal{Currency: api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount: api.CryptoAmount("Btc", minor), Address: anAddress, ExternalOrderID: orderID}
}

// reconciles is till withdraw reconcile.
func reconciles(name string, orderIDs ...string) actor {
	return actor{name, func(p *process) {
		results, _ := p.sender().Reconcile(p.ctx, orderIDs...)
		for _, r := range results {
			if r.Order.State == payout.StateAccepted && !p.dead {
				p.reports(r.Order.OrderID, r.Order.Amount.Minor, r.Order.ID, nil)
			}
		}
	}}
}

// resolves is till withdraw resolve --not-sent. The person answers at once.
func resolves(name, orderID string) actor {
	return tries(name, "resolves order "+orderID, func(p *process) error {
		return p.decides(payout.Decision{OrderIDs: []string{orderID}, Reason: "it was not sent"})
	})
}

// waits lets a quarter of an hour pass.
func waits() actor {
	return actor{"Time", func(p *process) { time.Sleep(16 * time.Minute) }}
}

// pays is another program, with a journal of its own. It pays an order that is not paid yet.
func pays(orderID string, minor int64) actor {
	return actor{"Another program", func(p *process) {
		if !slices.ContainsFunc(p.r.service.rows, func(w *withdrawal) bool { return w.orderID == orderID }) {
			p.r.service.pay(orderID, minor, cmp.Or(p.key, firstKey))
		}
	}}
}

// applies is till payout apply, and retries has --retry-rejected.
func applies(name string) actor { return appliesWith(name, payout.ApplyOptions{}) }
func retries(name string) actor { return appliesWith(name, payout.ApplyOptions{RetryRejected: true}) }

func appliesWith(name string, o payout.ApplyOptions) actor {
	return actor{name, func(p *process) { p.applies(planFile, p.r.world.plan, o) }}
}

// corrects is till payout plan with the name of the batch and other rows, and then till payout apply.
func corrects(name string, rows ...string) actor {
	return actor{name, func(p *process) {
		file := name + ".plan"
		if err := makePlan(p.given, p.journal, filepath.Join(p.r.dir, file), true, rows); err != nil {
			p.r.tell("%s makes no plan: %v", name, err)
			return
		}
		p.applies(file, rows, payout.ApplyOptions{})
	}}
}

// applies applies the plan in a file, which has the rows.
func (p *process) applies(file string, rows []string, o payout.ApplyOptions) {
	applier, err := p.begin(file, rows, o)
	var t payout.Tally
	halts := p.halts()
	if err == nil {
		t, err = applier.LookUp(p.given)
	}
	p.halted = slices.DeleteFunc(p.halts(), func(id string) bool {
		return !p.alone() && !slices.Contains(halts, id) // another process may have moved it
	})
	if err == nil {
		err = applier.Send(p.given, p.ctx, t)
	}
	if !p.dead {
		p.r.tell("%s applies the plan: %v", p.name, err)
		p.applied(err)
	}
}

// begins is till payout apply, interrupted when the run has begun.
func begins(name string) actor {
	return tries(name, "begins the plan", func(p *process) error {
		_, err := p.begin(planFile, p.r.world.plan, payout.ApplyOptions{})
		return err
	})
}

func (p *process) begin(file string, rows []string, o payout.ApplyOptions) (*payout.Applier, error) {
	plan, err := payout.OpenPlan(filepath.Join(p.r.dir, file))
	if err != nil {
		return nil, err
	}
	p.plan, p.rows = plan, rows
	applier, err := p.sender().Applier(p.given, plan, o)
	if err == nil {
		err = applier.Begin(p.given, 10)
	}
	return applier, err
}

// jump sets the clock of this machine forward.
func (r *run) jump() {
	r.jumped = len(r.steps)
	r.setsRight()
}

// setsRight sets the clocks of the machines ahead, and not the service's.
func (r *run) setsRight() {
	r.setAhead()
	r.service.skew += ahead
}

// ahead is how far a clock is set ahead.
const ahead = 16 * time.Minute

// makePlan writes a plan. In a batch, it may be another one than before.
func makePlan(ctx context.Context, j *payout.Journal, path string, batch bool, rows []string) error {
	ledger := j.Ledger(payout.Account{Address: "https://pay.example.com", Name: "acme"})
	btc := []payout.Currency{{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: "bitcoin"}}
	rows = append([]string{"order_id,currency,amount,address"}, rows...)
	input := payout.PlanInput{Path: path, Name: "a.csv", Currencies: btc}
	if batch {
		input.Batch, input.BatchChanged = "may", true
		for i, r := range rows {
			_, rows[i], _ = strings.Cut(r, ",")
		}
	}
	input.Rows = sheet.CSV(strings.NewReader(strings.Join(rows, "\n")+"\n"), sheet.Layout{NoOrderIDs: batch})
	_, err := ledger.MakePlan(ctx, input)
	return err
}

func row(orderID int, amount string) string {
	return fmt.Sprintf("%d,Btc,%s,%s", orderID, amount, anAddress)
}

// worlds returns all worlds, the smallest first.
func worlds() []*world {
	quarter := event{what: "16 minutes pass", do: func(*run) { time.Sleep(16 * time.Minute) }}
	jumps := event{what: "the clock jumps by 16 minutes", do: (*run).jump}
	starts := event{what: "the machine starts again with a clock that is 16 minutes ahead", do: func(r *run) {
		r.jump()
		r.outside.starts++
	}, ready: func(r *run) bool {
		return !slices.ContainsFunc(r.processes, func(p *process) bool {
			return !p.ended && !p.dead && (len(p.parked) != 1 || p.parked[0].what != "begins")
		})
	}}
	slept := event{what: "the machine sleeps for 6 seconds", do: func(*run) { time.Sleep(6 * time.Second) }}
	return []*world{
		{name: "twice", about: "two processes send the same order at once, and a third sends it again",
			stages:  [][]actor{{sends("A", "9", 5), sends("B", "9", 5)}, {sends("C", "9", 5)}},
			service: conduct{creates: fewCreates}},
		{name: "faults",
			about:   "an order is sent three times, one after the other, with every fault of the service",
			stages:  [][]actor{{sends("A", "9", 5)}, {sends("B", "9", 5)}, {sends("C", "9", 5)}},
			service: conduct{creates: anyCreate, lists: []choice{isStale, listFails}, gets: []choice{listFails}},
			events:  []event{slept}},
		{name: "contents", about: "two processes send different amounts under one order id",
			stages:  [][]actor{{sends("A", "9", 5), sends("B", "9", 6)}, {sends("C", "9", 6)}},
			service: conduct{creates: fewCreates}},
		{name: "settles", about: "one process sends an order while another reconciles it; then it is sent again",
			stages:  [][]actor{{sends("A", "9", 5), reconciles("B", "9")}, {reconciles("C"), sends("D", "9", 5)}},
			service: conduct{creates: fewCreates, lists: []choice{isStale}}},
		{name: "decides", about: "a person decides that an order was not sent, and it is sent again",
			stages:  [][]actor{{sends("A", "9", 5), resolves("P", "9")}, {resolves("Q", "9"), sends("C", "9", 5)}},
			service: conduct{creates: fewCreates}, events: []event{quarter, jumps}},
		{name: "first", about: "two processes send different orders with a new journal",
			stages:  [][]actor{{sends("A", "8", 5), sends("B", "9", 6)}, {sends("C", "8", 5)}},
			service: conduct{creates: fewCreates}, empty: true},
		{name: "late",
			about:   "the answer of an order never comes, and a person decides at once that it was not sent",
			stages:  [][]actor{{sends("A", "9", 5)}, {reconciles("B"), resolves("P", "9")}, {sends("C", "9", 5)}},
			service: conduct{lost: 1}, events: []event{starts, quarter}},
		{name: "again",
			about: "an order that was not sent, as a person has said, is sent again and gets lost again",
			stages: [][]actor{{sends("A", "9", 5)}, {waits()}, {resolves("P", "9")}, {sends("C", "9", 5)},
				{resolves("Q", "9")}},
			service: conduct{lost: 1, creates: fewCreates, lists: []choice{listFails}}},
		{name: "decisions", long: true,
			about: "two persons decide about an order at once, while it is sent again",
			stages: [][]actor{{sends("A", "9", 5)}, {waits()},
				{resolves("P", "9"), resolves("Q", "9"), sends("C", "9", 5)}},
			service: conduct{lost: 1, creates: fewCreates}},
		{name: "twins", about: "two orders have the same content",
			stages: [][]actor{{sends("A", "8", 5)}, {sends("B", "9", 5)}}, service: conduct{creates: fewCreates}},
		{name: "new", about: "two processes send the same order with a new journal",
			stages:  [][]actor{{sends("A", "9", 5), sends("B", "9", 5)}},
			service: conduct{creates: fewCreates}, empty: true},
		{name: "stale",
			about:  "an order that a lost journal had is sent again, and the list is not always up to date",
			stages: [][]actor{{sends("A", "9", 5)}}, empty: true, paid: []string{"700", "9"},
			service: conduct{lists: []choice{isStale, listFails}, shows: true, steady: true}},
		{name: "lost",
			about:  "an order of a lost journal is sent again, and the rows of several pages move",
			stages: [][]actor{{sends("A", "9", 5)}}, empty: true, paid: []string{"9", "700", "701"},
			service: conduct{creates: fewCreates, lists: []choice{isStale}, page: 1},
			events: []event{{what: "another program pays", do: func(r *run) { r.service.other("702") }},
				{what: "the oldest row moves to the front", do: func(r *run) { r.service.toFront() }}}},
		{name: "plan", long: true,
			about:  "a plan of two orders is applied, and applied again while another process reconciles",
			stages: [][]actor{{applies("A")}, {applies("B"), reconciles("C")}},
			plan:   []string{row(8, "0.1"), row(9, "0.2")}, service: conduct{creates: fewCreates}},
		{name: "three", long: true, // an outcome and the next claim go into one commit
			about:   "a plan of three orders is applied twice",
			stages:  [][]actor{{applies("A")}, {applies("B")}},
			plan:    []string{row(8, "0.1"), row(9, "0.2"), row(10, "0.3")},
			service: conduct{creates: []choice{lostAnswer}}},
		{name: "beside", about: "a plan is applied while one of its orders is sent by itself",
			stages: [][]actor{{applies("A"), sends("B", "8", 10_000_000)}}, plan: []string{row(8, "0.1")},
			service: conduct{creates: fewCreates}},
		{name: "retried", about: "another program pays what was rejected, and the plan is applied again",
			stages: [][]actor{{applies("A")}, {pays("8", 10_000_000)}, {retries("B")}},
			plan:   []string{row(8, "0.1")}, service: conduct{creates: []choice{isRejected}}},
		{name: "plans", long: true, about: "two processes apply one plan at once",
			stages: [][]actor{{applies("A"), applies("B")}, {applies("C")}},
			plan:   []string{row(8, "0.1"), row(9, "0.2")}, service: conduct{creates: fewCreates}},
	}
}
