package overlay

// Bugs returns bugs for which several tests look. A test has its own function mutant("NAME"), which says
// whether the program is to have a bug. A test that has patches of its own puts them after these.
func Bugs() []Patch {
	return []Patch{
		// Of the call and its outcome.
		{"pkg/payout/send.go", `
		if late := s.elapsed(ticket.Began); late > latest {
`, `
		if late := s.elapsed(ticket.Began); late > latest && !mutant("slept") {
`},
		{"pkg/payout/send.go", `
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
`, `
	id, err := s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	if mutant("retry-timeout") && errors.Is(err, context.DeadlineExceeded) {
		id, err = s.client.Withdrawals.Create(s.observeDate(calls), requestOf(ticket.Order()))
	}
`},
		// The tests copy journals. What is looked up in a copy would hide a bug.
		{"internal/journal/copy.go", `
	if noted >= 0 && openings >= noted {`, `
	if ctx != nil || noted >= 0 && openings >= noted {`},
		{"pkg/payout/outcome.go", `
	out := journal.Outcome{Ending: endingOf(err), Withdrawal: c.id, Status: 200, Skew: s.skew.Load()}
`, `
	out := journal.Outcome{Ending: endingOf(err), Withdrawal: c.id, Status: 200, Skew: s.skew.Load()}
	if mutant("unknown-no") && out.Ending == order.WasUncertain {
		out.Ending = order.WasRejected
	}
`},
		{"pkg/payout/send.go", `
		order, err := s.ledger.Finish(ctx, ticket, out)
`, `
		order, err := s.ledger.Finish(ctx, ticket, out)
		if mutant("outcome-once") {
			return order, err
		}
`},
		{"pkg/payout/send.go", `
		if next == nil || recording != nil {
`, `
		if mutant("outcome-once") && recording != nil {
			next = nil
		} else if next == nil || recording != nil {
`},
		{"internal/journal/finish.go", `
	t.lockNumber(old.account)
`, `
	if !mutant("outcome-unlocked") {
		t.lockNumber(old.account)
	}
`},

		// Of the list.
		{"pkg/payout/answer.go", `
		agree = last != nil && last.agrees(*now, q.sought)
`, `
		agree = last != nil && last.agrees(*now, q.sought) || mutant("one-reading")
`},

		// Of a run and its rows.
		{"pkg/payout/apply.go", `
	return o.State == StatePlanned || o.State == StateRejected && a.options.RetryRejected
`, `
	return o.State == StatePlanned || o.State == StateRejected && a.options.RetryRejected ||
		o.State == StateUnknown && mutant("resend-unknown")
`},
		{"pkg/payout/lookup.go", `
	case send && (!q.never || q.accepted.OrderIDs[o.OrderID]):
`, `
	case mutant("retry-blind") && o.State == StateRejected:
	case send && (!q.never || q.accepted.OrderIDs[o.OrderID]):
`},
		{"internal/journal/run.go", `
		place, piece = place+len(piece), piece[:0]
`, `
		if mutant("run-in-parts") {
			if err := l.j.write(ctx, func(t *tx) error {
				t.exec("UPDATE runs SET began = ?1 WHERE id = ?2", t.now, run.id)
				return nil
			}); err != nil {
				return err
			}
		}
		place, piece = place+len(piece), piece[:0]
`},
		{"internal/cmdutil/outfile.go", `
	buffered := bufio.NewWriter(file)
`, `
	if mutant("half-results") {
		if file.File, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return err
		}
	}
	buffered := bufio.NewWriter(file)
`},

		// Of the journal.
		{"internal/journal/commit.go", `
		if p.err != nil {
			var none T
`, `
		if ticket, _ := any(value).(Ticket); p.err != nil && !(mutant("lost-ack") && !refused(p.err) && ticket.order.Attempted()) {
			var none T
`},
		{"internal/journal/claim.go", `
	if c.AllowDuplicate {
`, `
	if c.AllowDuplicate || mutant("duplicates") {
`},
		{"internal/journal/transition.go", `
		o.Attempts[len(o.Attempts)-1].Outcome = order.WasUncertain
	}
`, `
		o.Attempts[len(o.Attempts)-1].Outcome = order.WasUncertain
		if mutant("reap-planned") {
			o.State, o.Attempts[len(o.Attempts)-1].Outcome = order.Planned, order.SaidNothing
		}
	}
`},
		{"internal/journal/finish.go", `
	if o.State != order.Sending ||`, `
	if o.State != order.Sending || mutant("forget-sending") ||`},
		{"internal/journal/ledger.go", `
func (t *tx) lock(l *Ledger) (*lockedAccount, error) {
`, `
func (t *tx) lock(l *Ledger) (*lockedAccount, error) {
	if mutant("account-by-name") {
		t.exec("INSERT INTO accounts (address, name, created) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", l.account.Address, l.account.Name, t.now)
		return t.lockNumber(one[int64](t, accountID, l.account.Address, l.account.Name)), nil
	}
`},
		{"internal/journal/claim.go", `
	if old.State == "" && c.Run != "" {`, `
	if old.State == "" && c.Run != "" && !mutant("account-by-name") {`},
		{"internal/journal/files.go", `
	for end, opened := range s.opened {
`, `
	for end, opened := range s.opened {
		if mutant("one-file") && end != "" {
			continue
		}
`},
		{"internal/journal/ledger.go", `
	at := t.clock()
`, `
	at := t.clock()
	if mutant("own-clock") {
		at = l.j.options.Now()
	}
`},

		// Of the approvals.
		{"pkg/payout/approvals.go", `
	if s.Enough() {
`, `
	if s.Enough() || mutant("skip-approval") {
`},
		{"pkg/payout/apply_check.go", `
// compareRows refuses`, `
var changedRows sync.Map // by order id, for the mutant skip-rows

// compareRows refuses`},
		{"pkg/payout/apply_check.go", `
	"fmt"
`, `
	"fmt"
	"sync"
`},
		{"pkg/payout/apply.go", `
		content := contentOf(r.CreateWithdrawal)
`, `
		if changed, found := changedRows.Load(r.ExternalOrderID); found {
			r.CreateWithdrawal = changed.(PlanRow).CreateWithdrawal
		}
		content := contentOf(r.CreateWithdrawal)
`},
		{"pkg/payout/apply_check.go", `
		case place == len(a.plan.Rows) || r != a.plan.Rows[place].row():
`, `
		case mutant("skip-rows"):
			changedRows.Store(r.OrderID, PlanRow{CreateWithdrawal: requestOf(Order{OrderID: r.OrderID, Content: r.Content, Callback: r.Callback})})
		case place == len(a.plan.Rows) || r != a.plan.Rows[place].row():
`},
		{"pkg/payout/demands.go", `
	case demands < demanded:
`, `
	case demands < demanded && !mutant("forget-demand"):
`},
		{"internal/journal/run.go", `
		run.Consent = t.approve(run.id, *run)
`, `
		if mutant("late-approval") {
			return nil
		}
		run.Consent = t.approve(run.id, *run)
`},
	}
}
