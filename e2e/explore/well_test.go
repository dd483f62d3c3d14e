package explore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// recovers is a merchant who comes back when the service is well again. Each of the orders, and one that was
// never sent, gets paid with what the errors name, and with nothing else. It is one step: nothing can go wrong.
func recovers(orders ...string) actor {
	return actor{"The merchant", func(p *process) {
		p.well, p.r.service.may = true, conduct{}
		time.Sleep(16 * time.Minute)
		for _, id := range append(orders, "77") {
			if err := p.persists(id, amountOf(id)); err != nil {
				p.r.violated("the service is well again, and order %s cannot be paid: %v", id, err)
			}
		}
	}}
}

// sendsBoth is a program that sends two orders at once with one Sender.
func sendsBoth(name string, orders ...string) actor {
	return actor{name, func(p *process) {
		s := p.sender()
		var calls sync.WaitGroup
		for _, id := range orders {
			calls.Go(func() {
				if p.pass(&point{what: "begins with order " + id}).kind == dies {
					return
				}
				sent, err := s.Send(p.given, withdraw(id, amountOf(id)), payout.CallUnder(p.ctx))
				p.reports(id, amountOf(id), sent.Order.ID, err)
			})
		}
		calls.Wait()
	}}
}

// amountOf gives each order content of its own.
func amountOf(orderID string) int64 { return int64(orderID[0]) }

// persists does what the errors say until the order is accepted.
func (p *process) persists(orderID string, minor int64) error {
	ctx, s := p.ctx, p.sender()
	var err error
	for range 4 {
		if _, err = s.Send(ctx, withdraw(orderID, minor), payout.CallUnder(ctx)); err == nil {
			return nil
		}
		var e *payout.Error
		switch {
		case errors.Is(err, payout.ErrUnknown):
			if _, err := s.Reconcile(ctx, orderID); err != nil {
				return err
			}
			ledger := p.journal.Ledger(payout.Account{Address: "https://pay.example.com", Name: "acme"})
			if o, err := ledger.Order(ctx, orderID); err != nil || o.State != payout.StateUnknown {
				continue
			}
			err = p.decides(payout.Decision{OrderIDs: []string{orderID}, Reason: "support says so"})
		case errors.Is(err, payout.ErrConflict):
			at := slices.IndexFunc(p.r.service.rows, func(w *withdrawal) bool { return w.orderID == orderID })
			err = p.decides(payout.Decision{OrderIDs: []string{orderID}, PaidAs: p.r.service.rows[at].id})
		case errors.As(err, &e) && e.Rule == "list":
			var found payout.Comparison
			if found, err = s.Compare(ctx, api.WithdrawalFilter{}, payout.Filter{}); err == nil {
				err = s.Accept(ctx, found, "it is explained")
			}
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("after all that the errors name: %w", err)
}

func (p *process) decides(d payout.Decision) error {
	s := p.sender()
	checked, err := s.Check(p.ctx, d)
	if err == nil {
		_, err = s.Resolve(p.ctx, checked)
	}
	return err
}

// wellWorlds returns the worlds in which the service misbehaves and then is well, and one in which a process
// has two calls in flight.
func wellWorlds() []*world {
	faults := conduct{creates: anyCreate, lists: []choice{isStale, listFails}, gets: []choice{listFails}}
	return []*world{
		{name: "well", about: "an order is sent twice, with every fault of the service, which then is well",
			stages: [][]actor{{sends("A", "9", amountOf("9"))}, {sends("B", "9", amountOf("9"))}, {recovers("9")}}, service: faults},
		{name: "well-new", about: "two processes send an order with a new journal, and the service becomes well",
			stages: [][]actor{{sends("A", "9", amountOf("9")), sends("B", "9", amountOf("9"))}, {recovers("9")}}, empty: true,
			service: conduct{creates: fewCreates, lists: []choice{isStale, listFails}}},
		{name: "pair",
			about:  "a program sends two orders at once, with every fault of the service, which then is well",
			stages: [][]actor{{sendsBoth("A", "8", "9")}, {recovers("8", "9")}}, service: conduct{creates: anyCreate}},
	}
}
