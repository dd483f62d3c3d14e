package explore

import "example.com/till/e2e/overlay"

// helpers is a file that is added to each patched package.
const helpers = `package %s

import "os"

func mutant(name string) bool { return os.Getenv("TILL_EXPLORE_MUTANT") == name }
`

// patches has the bugs that are not in overlay.Bugs.
var patches = []overlay.Patch{
	{File: "pkg/payout/send.go", Old: `
	err = s.deliver(ctx, w.calls, s.claim(w), nil, func`, New: `
	var following func(call) *journal.Claim
	if mutant("report-first") && w.accepted != nil {
		following = func(c call) *journal.Claim {
			if c.err == nil {
				w.accepted(Order{OrderID: w.request.ExternalOrderID, ID: c.id})
			}
			return nil
		}
	}
	err = s.deliver(ctx, w.calls, s.claim(w), following, func`},
	{File: "pkg/payout/send.go", Old: `
	ticket, err := s.ledger.Claim(ctx, c)
	for err == nil {
		call := s.call(ctx, calls, ticket)
`, New: `
	var early, none call
	var ticket journal.Ticket
	var err error
	claim := func() { ticket, err = s.ledger.Claim(ctx, c) }
	send := func() {
		early.id, early.err = s.client.Withdrawals.Create(calls, requestOf(Order{OrderID: c.OrderID, Content: c.Content, Callback: c.Callback}))
	}
	switch {
	case mutant("send-first"):
		send()
		claim()
	case mutant("lazy-commit"):
		claimed := make(chan bool)
		go func() {
			claim()
			close(claimed)
		}()
		send()
		<-claimed
	default:
		claim()
	}
	for err == nil {
		call := early
		if early = none; call == none {
			call = s.call(ctx, calls, ticket)
		}
`},
	{File: "pkg/payout/send.go", Old: `
		order, err := s.ledger.Finish(ctx, ticket, out)
`, New: `
		order, err := s.ledger.Finish(ctx, ticket, out)
		if mutant("unrecorded-accepted") && err != nil && out.Withdrawal != "" {
			order.Order, err = ticket.Order(), nil
			order.State, order.ID = StateAccepted, out.Withdrawal
		}
`},
	{File: "pkg/payout/send.go", Old: `
			tries > 1 && s.elapsed(began) > longestTry || s.rest`, New: `
			(tries > 1 || mutant("gives-up")) && s.elapsed(began) > longestTry || s.rest`},
	{File: "pkg/payout/send.go", Old: `
	if sent, found, err := s.lookup(ctx, w); found || err != nil {
`, New: `
	if sent, found, err := s.lookup(ctx, w); found || err != nil && !mutant("failed-list") {
`},
	{File: "pkg/payout/lookup.go", Old: `
	decided := l.status.Newest != nil && l.status.Found == 0 && !l.status.Restored && !w.before.Attempted() &&
`, New: `
	decided := l.status.Newest != nil && (l.status.Found == 0 || mutant("found-blind")) &&
		!l.status.Restored && !w.before.Attempted() &&
`},
	{File: "pkg/payout/send.go", Old: `
		if err := ctx.Err(); err != nil {
`, New: `
		if err := ctx.Err(); err != nil && !mutant("interrupted-sends") {
`},
	{File: "pkg/payout/apply.go", Old: `
		if a.Begun() && r.order.State == StateConflict {
`, New: `
		if a.Begun() && r.order.State == StateConflict && !mutant("past-conflict") {
`},
	{File: "pkg/payout/apply.go", Old: `
	for _, check := range []func(context.Context) error{s.ledger.Reap, applier.`, New: `
	reap := s.ledger.Reap
	if mutant("plan-unreaped") {
		reap = func(context.Context) error { return nil }
	}
	for _, check := range []func(context.Context) error{reap, applier.`},
	{File: "pkg/payout/apply.go", Old: `
		case found && !o.Content.Same(content):
`, New: `
		case found && !o.Content.Same(content) && !mutant("row-taken"):
`},
	{File: "pkg/payout/apply_send.go", Old: `
	case exists && e.Same:
`, New: `
	case exists && (e.Same || mutant("row-taken")):
`},
	{File: "internal/journal/transition.go", Old: `
	case !same && (e.SameContent || o.InDoubt() || o.Run != ""):`, New: `
	case !same && (e.SameContent || o.InDoubt() || o.Run != "" && !mutant("row-taken")):`},
	{File: "pkg/payout/send.go", Old: `
		} else if next == nil || recording != nil {
`, New: `
		} else if next == nil || recording != nil && !mutant("lost-together") {
`},
	{File: "pkg/payout/reconcile.go", Old: `
	if !r.Listed {
		return r, nil
`, New: `
	if !r.Listed {
		if mutant("absent-not-sent") && o.State == StateUnknown {
			d := journal.Decision{OrderID: o.OrderID, NotSent: true, Reason: "not on the list"}
			_, err = s.ledger.Decide(ctx, d)
			return r, err
		}
		return r, nil
`},
	{File: "pkg/payout/resolve.go", Old: `
	case skew.Abs() <= mostSkew:
`, New: `
	case skew.Abs() <= mostSkew || mutant("wrong-clock"):
`},
	{File: "pkg/payout/resolve.go", Old: `
		if wait := s.options.SettleAfter - o.Age(began, known); !o.Sent.IsZero() && wait > 0 {
`, New: `
		if mutant("settle-by-creation") {
			o.Sent, o.Attempts = o.Created, o.Attempts[:min(1, len(o.Attempts))]
		}
		wait := s.options.SettleAfter - o.Age(began, known)
		if !o.Sent.IsZero() && wait > 0 {
`},
	{File: "pkg/payout/answer.go", Old: `
	found := now.with(earlier)
`, New: `
	if mutant("forget-earlier") {
		earlier = newAnswer()
	}
	found := now.with(earlier)
`},
	{File: "pkg/payout/reconcile.go", Old: `
	if o.State == StateAccepted && o.Resolved == nil && o.ID == e.Withdrawal && e.Differs == "" {
`, New: `
	if o.State == StateAccepted && (o.Resolved == nil || mutant("person-unconfirmed")) &&
		o.ID == e.Withdrawal && (e.Differs == "" || mutant("altered-later")) {
`},
	{File: "pkg/payout/apply.go", Old: `
	if t, err = a.look(ctx); err != nil || t.Conflict == "" {
`, New: `
	if t, err = a.look(ctx); err != nil || t.Conflict == "" || mutant("past-conflict") {
`},
	{File: "internal/journal/types.go", Old: `
	return r.origins[len(r.origins)-1]
`, New: `
	if mutant("settle-by-creation") {
		return r.origins[0]
	}
	return r.origins[len(r.origins)-1]
`},
	{File: "pkg/payout/apply_send.go", Old: `
		if unknown > 0 && !s.options.KeepGoing {`, New: `
		if unknown > 0 && !s.options.KeepGoing && !mutant("resend-unknown") {`},
	{File: "pkg/payout/apply_send.go", Old: `
	if t.States[StateUnknown] > 0 && !a.options.KeepGoing {
`, New: `
	if t.States[StateUnknown] > 0 && !a.options.KeepGoing && !mutant("resend-unknown") {
`},
	{File: "internal/journal/run.go", Old: `
	rowsInAPiece = 1024
`, New: `
	rowsInAPiece = 2
`},
	{File: "internal/journal/tx.go", Old: `
	if err := j.dialect.commit(ctx, j.conn); err != nil {
		return err
	}
`, New: `
	if mutant("no-sync") && j.sends {
		go func(conn *sql.Conn) { j.dialect.commit(ctx, conn) }(j.conn)
	} else if err := j.dialect.commit(ctx, j.conn); err != nil && !mutant("commit-ignored") {
		return err
	}
`},
	{File: "internal/journal/tx.go", Old: `
	return sender == t.j.sender || t.err == nil &&`, New: `
	return sender == t.j.sender || t.err == nil && !mutant("reap-blind") &&`},
	{File: "internal/journal/tx.go", Old: `
	if j.held {
`, New: `
	if j.held || mutant("no-lock") {
`},
	{File: "internal/journal/transition.go", Old: `
	switch {
	case !sendable:
`, New: `
	if mutant("no-claim") && o.State == order.Sending || mutant("claims-accepted") && o.State == order.Accepted ||
		e.Run != "" && (mutant("resend-unknown") && o.State == order.Unknown || mutant("blind-claim")) {
		sendable = true
	}
	switch {
	case !sendable:
`},
	{File: "internal/journal/transition.go", Old: `
	case n.State != o.State && !slices.Contains(steps[o.State], n.State):
`, New: `
	case n.State != o.State && !slices.Contains(steps[o.State], n.State) && n.State != order.Sending:
`},
	{File: "internal/journal/transition.go", Old: `
	if o.State == order.Sending ||`, New: `
	if o.State == order.Sending && !mutant("settle-sending") ||`},
	{File: "internal/journal/transition.go", Old: `
	case e.About != nil && o.movedOn(*e.About):`, New: `
	case e.About != nil && o.movedOn(*e.About) && !mutant("decide-blind"):`},
	{File: "internal/journal/finish.go", Old: `
	if others > 0 {
		return &Error{Kind: AccountChanged, Account: a`, New: `
	if others > 0 && !mutant("first-keys") {
		return &Error{Kind: AccountChanged, Account: a`},
	{File: "pkg/payout/list.go", Old: `
		if broken := accountChanged(s.ledger.Show(ctx, shown)); broken != nil {
`, New: `
		for id := range shown {
			if o, err := s.ledger.Order(ctx, id); err != nil || mutant("sightings-forgotten") || ctx.Value("preview") != nil ||
				mutant("unsettled-forgotten") && o.State == StateUnknown || mutant("person-unconfirmed") && o.State == StateAccepted {
				delete(shown, id)
			}
		}
		if broken := accountChanged(s.ledger.Show(ctx, shown)); broken != nil {
`},
	{File: "pkg/payout/apply.go", Old: `
	return a.look(ctx)
`, New: `
	if mutant("preview-forgotten") {
		ctx = context.WithValue(ctx, "preview", true)
	}
	return a.look(ctx)
`},
	{File: "pkg/payout/apply_check.go", Old: `
		if batch[other.Run] && other.Run != a.plan.Name() {
`, New: `
		if batch[other.Run] && other.Run != a.plan.Name() && !mutant("batch-together") {
`},
	{File: "pkg/payout/apply_check.go", Old: `
		case plan.Batch == "" ||`, New: `
		case mutant("batch-together") || plan.Batch == "" ||`},
	{File: "internal/journal/claim.go", Old: `
	if err := t.stillNewest(a.id, c.Run, c.Batch, c.Run); err != nil {
`, New: `
	if err := t.stillNewest(a.id, c.Run, c.Batch, c.Run); err != nil && !mutant("batch-goes-on") {
`},
	{File: "internal/journal/transition.go", Old: `
	if o.State != "" {
		o.doubt(e.withdrawal)
`, New: `
	if mutant("shown-is-rejected") {
		o.show(e.withdrawal)
	} else if o.State != "" {
		o.doubt(e.withdrawal)
`},
	{File: "internal/journal/claim.go", Old: `
		if o = t.reap(o); o.State`, New: `
		if !mutant("twin-unreaped") {
			o = t.reap(o)
		}
		if o.State`},
	{File: "internal/journal/claim.go", Old: `
	if a.demand != c.Demand {
`, New: `
	if a.demand != c.Demand && !mutant("demand-before") {
`},

	// Of the list.
	{File: "pkg/payout/send.go", Old: `
	if rejects(err) {
		answer :=`, New: `
	if rejects(err) && !mutant("phantom-accepted") {
		answer :=`},
	{File: "internal/journal/types.go", Old: `
	case m.boot != "" && m.boot == last.boot:
`, New: `
	case mutant("wall-age"):
	case m.boot != "" && m.boot == last.boot:
`},
	{File: "pkg/payout/resolve.go", Old: `
	case o.State == StateUnknown, o.State == StateConflict`, New: `
	case o.State == StateUnknown && mutant("undecidable"):
		return unsettled(o)
	case o.State == StateUnknown, o.State == StateConflict`},
}
