package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
)

// A Sender sends withdrawals for one account, each at most once. It is safe for concurrent use.
type Sender struct {
	*Ledger // of the account

	client    *api.Client
	key       string // fingerprint of the client's key
	options   Options
	money     money.Registry
	now       func() time.Time
	pause     func(ctx context.Context, d time.Duration) error // between two scans of the list
	mostPages int64                                            // of a reading; 0: the constant
	underWay  int32                                            // see UnderWay; atomic
	skew      *atomic.Pointer[time.Duration]                   // of this machine's clock against the service's; nil: unknown
}

// Options change how a Sender works. The zero Options are right for a service that is known only by its
// interface.
type Options struct {
	// Lookup says when the service's list is read before an order is sent.
	Lookup Lookup
	// Since is how far back the list is read, in the service's format: SinceMargin before SinceTime. If they
	// are empty, the list is read to its beginning.
	Since     string
	SinceTime time.Time
	// LookupTimeout limits the time for reading the list; 0 means no limit.
	LookupTimeout time.Duration
	// FirstPage is the number of the list's first page. With the zero value, the Sender finds it out.
	FirstPage api.PageBase
	// SettleAfter is the time after an attempt in which Check refuses the decision that the order was not
	// sent, because the request may still arrive. 0 means 15 minutes, and a negative value means no wait. It
	// must be at least as long as the service, and everything between it and till, can delay a request.
	SettleAfter time.Duration
	// Currencies are known besides the fiat currencies of ISO 4217 and those that the service's interface
	// names. One of them replaces a currency with the same code. ISO 4217 gives no decimals for those that
	// payment services count differently, such as HUF: they are unknown.
	Currencies []Currency
	// Address replaces the client's base URL as the account's address. It is for a service that has several
	// base URLs, or has its own identity, as till's sandbox does.
	Address string
	// AnyKey turns off the comparison of keys, for an account that is identified without its key, as a
	// sandbox's is.
	AnyKey bool
	// Approvals say how many persons must approve what is sent.
	Approvals approval.Policy
	// Limits restrict the amounts and addresses of what is sent: of each withdrawal, of each run, and over
	// time.
	Limits Limits
	// TimeZone is where the days and months of the limits begin; nil: UTC.
	TimeZone *time.Location
}

// Lookup says when the service's list is read before an order is sent.
type Lookup int

const (
	// LookupAuto reads the list if the journal alone cannot decide. That is so if the journal has sent the
	// order before, has nothing accepted for the account yet, or may have lost records, or if the list once
	// had an order that the journal did not know.
	LookupAuto Lookup = iota
	// LookupAlways reads the list before every order, except with NewOrderID.
	LookupAlways
	// LookupNever relies on the journal alone, unless it is known to have lost records. If it was restored
	// from a backup, orders that were paid since then are paid again.
	LookupNever
)

const defaultSettleAfter = 15 * time.Minute

// New returns a Sender for an account of the client's service. The account's name is your choice, and keeps
// the orders of different merchants apart: always use the same name for one merchant, and never use it for
// another. New reads and sends nothing.
func New(client *api.Client, j *Journal, account string, o Options) (*Sender, error) {
	switch {
	case client == nil:
		return nil, failed(Invalid, "payout.New: the client is nil").hint("make one with api.New")
	case j == nil:
		return nil, failed(Invalid, "payout.New: the journal is nil").hint("open one with payout.OpenJournal")
	case o.LookupTimeout < 0:
		return nil, failed(Invalid, "payout.New: the time to look something up is negative").hint("leave it out")
	case o.Lookup < LookupAuto || o.Lookup > LookupNever:
		return nil, failed(Invalid, "payout.New: there is no Lookup %d", o.Lookup).hint("use LookupAuto")
	}
	if err := cmp.Or(checkPolicy(o.Approvals), checkCurrencies(o.Currencies)); err != nil {
		return nil, err
	}
	o.TimeZone, o.SettleAfter = cmp.Or(o.TimeZone, time.UTC), cmp.Or(o.SettleAfter, defaultSettleAfter)
	return &Sender{
		Ledger: j.Ledger(Account{Address: cmp.Or(o.Address, client.BaseURL()), Name: account}),
		client: client, key: client.KeyFingerprint(), options: o, money: registryOf(o.Currencies),
		now: time.Now, skew: new(atomic.Pointer[time.Duration]),
	}, nil
}

func (s *Sender) decimals(a api.Amount) int64 {
	return int64(s.money.DecimalsOf(a.Kind, a.Code))
}

// verifyKey compares the key with the keys that the account was used with before. It refuses a key that was
// used with another account or address, because it belongs to another merchant. It accepts a new key if the
// key can read the withdrawal that was accepted last. If none was accepted, it accepts a new key only if no
// order of the account is unknown, in conflict or being sent.
func (s *Sender) verifyKey(ctx context.Context) (err error) {
	defer toError(&err)
	if known, err := s.keyKnown(ctx); known || err != nil {
		return err
	}
	return s.verifyNewKey(ctx)
}

// verifyNewKey is verifyKey for a key that the account was not used with when keyKnown looked.
func (s *Sender) verifyNewKey(ctx context.Context) error {
	status, err := s.ledger.Status(ctx)
	if err != nil {
		return err
	}
	unverified := func(why string, args ...any) error {
		return refused(RuleKey, "this key is new for %s, and %s", s.Account(), fmt.Sprintf(why, args...)).
			hint("adopt it if you know that it is the same merchant's", "journal", "adopt-key")
	}
	if status.Newest == nil {
		// the list of another merchant would show all open orders as missing
		open, err := collect(s.ledger.Orders(ctx, Filter{States: []State{StateUnknown, StateSending, StateConflict}}))
		if err != nil {
			return err
		}
		if len(open) == 0 {
			return s.recordKey(ctx, journal.KeyFirst)
		}
		// Another process may have sent the open orders with this same key after the first check.
		if known, err := s.keyKnown(ctx); known || err != nil {
			return err
		}
		return unverified("nothing was accepted there that it could be tried on")
	}
	newest := *status.Newest
	w, err := s.client.Withdrawals.GetLenient(ctx, newest.ID)
	switch {
	case rejects(err):
		return unverified("it does not find the withdrawal that was accepted there last (%s): %v", newest.ID, err)
	case err != nil:
		return err
	case w.ID != newest.ID || !recordOf(w).bearsOnly(newest.OrderID):
		return unverified("what it finds as withdrawal %s is not order %s", newest.ID, newest.OrderID)
	case status.Merchant != "" && w.MerchantID != status.Merchant:
		return unverified("it belongs to the merchant %q, where those before it belong to %q", w.MerchantID, status.Merchant)
	}
	return s.recordKey(ctx, journal.KeyChecked)
}

func (s *Sender) recordKey(ctx context.Context, how string) error {
	err := s.ledger.NoteKey(ctx, s.key, how)
	if errors.Is(err, journal.AccountChanged) {
		return refused(RuleKey, "%v", err).hint("run it again")
	}
	return err
}

// keyKnown reports whether the key was used with the account before. It refuses a key that was used with
// another account.
func (s *Sender) keyKnown(ctx context.Context) (bool, error) {
	if s.options.AnyKey {
		return true, nil
	}
	now := s.Account()
	used, err := s.ledger.Journal().KeyUsedBy(ctx, s.key)
	if err != nil || len(used) == 0 || slices.Contains(used, now) {
		return err == nil && len(used) > 0, err
	}
	old := used[0]
	rename, advice := []string{"journal", "rename", old.Name, now.Name}, "use that account or, if it has another name now, say so"
	switch status, err := s.ledger.Status(ctx); {
	case err != nil:
		return false, err
	case status.Newest != nil: // which no renaming can join with the other history
		rename, advice = []string{"journal", "adopt-key"}, "use that account or, if the two are one merchant, say so"
	case old.Address != now.Address:
		rename, advice = append(rename, "--base-url", old.Address, "--to-base-url", now.Address),
			"if it is the same merchant, and the service has moved"
	}
	return false, refused(RuleAccount, "the journal knows this key from %s, and this is %s", old, now).hint(advice, rename...)
}

// rejects reports whether the service has refused the request itself, rather than its key or the rate of
// calls.
func rejects(err error) bool {
	var call *api.Error
	return errors.As(err, &call) && call.Outcome == api.Rejected && !keyOrRate(call.Status)
}

func keyOrRate(status int) bool { return status == 401 || status == 403 || status == 429 }

func checkPolicy(a approval.Policy) error {
	switch {
	case a.Required < 0:
		return failed(Invalid, "payout.New: %d approvals cannot be required", a.Required).
			hint("give the number of persons, from 0 on")
	case a.Required > 0 && a.Approvers.Path == "":
		return failed(Invalid, "payout.New: approvals are required, and there are no approvers").
			hint("read them with approval.ParseApprovers")
	}
	return nil
}

// budgets returns the limits that add up over time, those of a month first, because they last longer.
func (s *Sender) budgets() (all []journal.Budget) {
	zone := s.options.TimeZone
	for _, most := range s.options.Limits.MaxPerMonth {
		all = append(all, journal.Budget{Most: most, Month: true, Zone: zone})
	}
	for _, most := range s.options.Limits.MaxPerDay {
		all = append(all, journal.Budget{Most: most, Zone: zone})
	}
	return all
}

// mayLeave refuses totals that would exceed what is left for the day or month, and everything if the account
// is frozen.
func (s *Sender) mayLeave(ctx context.Context, totals []Total) error {
	freezes, err := s.ledger.Freezes(ctx)
	if err != nil {
		return err
	}
	if n := len(freezes); n > 0 && freezes[n-1].Frozen {
		return &journal.Error{Kind: journal.Frozen, Account: s.Account(), Freeze: freezes[n-1]}
	}
	amounts := make([]api.BigAmount, len(totals))
	for i, t := range totals {
		amounts[i] = t.Amount
	}
	return s.notAllowed(s.ledger.WithinBudgets(ctx, s.budgets(), amounts))
}

// notAllowed explains why an account cannot send what was to be claimed: of a budget, what is left, and when
// there is more.
func (s *Sender) notAllowed(err error) error {
	if !errors.Is(err, journal.OverBudget) {
		return accountChanged(err)
	}
	over := journal.AsError(err).Over
	name, left := "max_per_day", over.Left
	if over.Budget.Month {
		name = "max_per_month"
	}
	if left.Compare(api.Sum{}) < 0 {
		left = api.Sum{}
	}
	format := func(minor api.Sum) string {
		return s.money.FormatBig(api.BigAmount{Kind: over.Amount.Kind, Code: over.Amount.Code, Minor: minor})
	}
	return refused(RuleLimit, "%s is more than is left of %s (%s): %s until %s", format(over.Amount.Minor), name,
		format(api.SumOf(over.Budget.Most.Minor)), format(left), over.Until.Format(time.RFC3339)).
		hint("send less, wait until then, or raise " + name + " of the profile")
}

// otherContent refuses an order that the journal has with other content.
func (s *Sender) otherContent(o journal.Record, c Content, another string) error {
	e := refused(RuleOrderID, "order %s is %s in the journal with other content: %s, and not %s", o.OrderID,
		stateText(o.State), describeSent(s.money, o.Order), describe(s.money, c))
	e.Hint = insteadOf(o, another)
	return e
}
