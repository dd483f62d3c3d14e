package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Sender sends withdrawals for one account, each at most once. It is safe for concurrent use.
type Sender struct {
	*Ledger // of the account

	client   *api.Client
	key      string // fingerprint of the key that the client uses
	options  Options
	now      func() time.Time
	pause    func(ctx context.Context, d time.Duration) error // between two readings of the list
	underWay int32                                            // see UnderWay; atomic
}

// Options change how a Sender works. The zero Options are right for a service of which no more is known than its interface.
type Options struct {
	// Lookup says when the service's list is read before an order is sent.
	Lookup Lookup
	// Since is how far back the list is read, as the service wants it written, and SinceTime is the same as a time. Empty is to
	// the beginning.
	Since     string
	SinceTime time.Time
	// LookupTimeout is how long one reading of the list may take; 0 is as long as it takes.
	LookupTimeout time.Duration
	// FirstPage is the number of the list's first page; the zero value finds out.
	FirstPage api.PageBase
	// SettleAfter is how long after an attempt Check refuses the decision that it was not sent, because it may still arrive. 0 is
	// 15 minutes, and a negative time is none; it must not be shorter than the service and everything on the way to it can hold
	// a request back.
	SettleAfter time.Duration
	// Currencies are for amounts in messages and in plans. The zero value knows what ISO 4217 says of fiat currencies.
	Currencies Currencies
	// Address replaces the client's base URL as the account's address, for a service that has several or, like till's sandbox,
	// an identity of its own.
	Address string
	// AnyKey says that the account is known without its key, as a sandbox's is, so that keys are not compared.
	AnyKey bool
}

// Lookup is when the service's list is read before an order is sent.
type Lookup int

const (
	// LookupAuto reads the list if the journal cannot decide alone: if it has sent the order before, has nothing accepted for
	// the account yet, may have lost something, or once found something on the list that it did not know.
	LookupAuto Lookup = iota
	// LookupAlways reads the list before every order.
	LookupAlways
	// LookupNever relies on the journal alone. A journal that was restored from a backup then pays again what was paid since.
	LookupNever
)

const defaultSettleAfter = 15 * time.Minute

// New returns a Sender for the account with a name at the client's service. The name is yours to choose, and is what keeps one
// merchant's orders from another's: use one name for a merchant, and never another. New reads and sends nothing.
func New(client *api.Client, j *Journal, account string, o Options) (*Sender, error) {
	switch {
	case client == nil:
		return nil, &Error{Kind: Invalid, Msg: "payout.New: the client is nil", Hint: NewHint("make one with api.New")}
	case j == nil:
		return nil, &Error{Kind: Invalid, Msg: "payout.New: the journal is nil", Hint: NewHint("open one with payout.OpenJournal")}
	case o.LookupTimeout < 0:
		return nil, &Error{Kind: Invalid, Msg: "payout.New: the time to look something up is negative", Hint: NewHint("leave it out")}
	case o.Lookup < LookupAuto || o.Lookup > LookupNever:
		return nil, &Error{Kind: Invalid, Msg: fmt.Sprintf("payout.New: there is no Lookup %d", o.Lookup), Hint: NewHint("use LookupAuto")}
	}
	if o.SettleAfter == 0 {
		o.SettleAfter = defaultSettleAfter
	}
	return &Sender{
		Ledger: j.Ledger(Account{Address: cmp.Or(o.Address, client.BaseURL()), Name: account}),
		client: client, key: client.KeyFingerprint(), options: o,
		now: time.Now,
	}, nil
}

// contentOf is what makes a withdrawal the same as another, as the journal keeps it.
func contentOf(r api.CreateWithdrawal) journal.Content {
	return journal.Content{
		Currency: unit(r.Currency.Kind, r.Currency.Code),
		Unit:     unit(r.Amount.Kind, r.Amount.Code),
		Minor:    r.Amount.Minor,
		Address:  r.Address,
		Memo:     r.Memo,
	}
}

// unit writes a kind and a code as an order's content has them, such as crypto:Btc.
func unit(kind api.Kind, code string) string {
	switch kind { // nearly always, and without making a text of it first
	case api.Crypto:
		return "crypto:" + code
	case api.Fiat:
		return "fiat:" + code
	}
	return strings.ToLower(string(kind)) + ":" + code
}

// currencyOf is the opposite of what contentOf does with a currency.
func currencyOf(text string) api.Currency {
	kind, code, _ := strings.Cut(text, ":")
	if kind == "fiat" {
		return api.Currency{Kind: api.Fiat, Code: code}
	}
	return api.Currency{Kind: api.Crypto, Code: code}
}

func amountOf(c journal.Content) api.Amount {
	u := currencyOf(c.Unit)
	return api.Amount{Kind: u.Kind, Code: u.Code, Minor: c.Minor}
}

// requestOf is the call for an order, as the journal has it.
func requestOf(o journal.Order) api.CreateWithdrawal {
	return api.CreateWithdrawal{Currency: currencyOf(o.Currency), Amount: amountOf(o.Content), Address: o.Address, Memo: o.Memo, Callback: o.Callback, ExternalOrderID: o.OrderID}
}

func (s *Sender) decimals(a api.Amount) int64 {
	return int64(s.options.Currencies.registry.DecimalsOf(a))
}

// VerifyKey compares the key with those that the account was used with before. A key that was used with another account or
// address opens somebody else's; a new one may be used if there is no history, or if it can read what was accepted last.
func (s *Sender) VerifyKey(ctx context.Context) (err error) {
	defer toError(&err)
	if known, err := s.knows(ctx); known || err != nil {
		return err
	}
	return s.verifyNewKey(ctx)
}

// verifyNewKey is VerifyKey for a key that the account had not been used with a moment ago.
func (s *Sender) verifyNewKey(ctx context.Context) error {
	account := s.ledger.Account()
	status, err := s.ledger.Status(ctx)
	if err != nil {
		return err
	}
	const adopt = "adopt it if you know that it is the same merchant's"
	if status.Newest == nil {
		open, err := s.open(ctx)
		if err != nil {
			return err
		}
		if !open {
			return s.note(ctx, journal.KeyFirst)
		}
		// What is open may be what another process has begun with this very key since.
		if known, err := s.knows(ctx); known || err != nil {
			return err
		}
		return refused(RuleKey, fmt.Sprintf("this key is new for %s, and nothing was accepted there that it could be tried on", account), adopt, "journal", "adopt-key")
	}
	newest := *status.Newest
	w, err := s.client.Withdrawals.Get(ctx, newest.Withdrawal)
	if rejects(err) {
		return refused(RuleKey, fmt.Sprintf("this key is new for %s, and it does not find the withdrawal that was accepted there last (%s): %v", account, newest.Withdrawal, err), adopt, "journal", "adopt-key")
	}
	if err != nil {
		return err
	}
	switch {
	case w.ID != newest.Withdrawal || !recordOf(w).bearsOnly(newest.OrderID):
		return refused(RuleKey, fmt.Sprintf("this key is new for %s, and what it finds as withdrawal %s is not order %s", account, newest.Withdrawal, newest.OrderID), adopt, "journal", "adopt-key")
	case status.Merchant != "" && w.MerchantID != status.Merchant:
		return refused(RuleKey, fmt.Sprintf("this key is new for %s, and it belongs to the merchant %q, where those before it belong to %q", account, w.MerchantID, status.Merchant), adopt, "journal", "adopt-key")
	}
	return s.note(ctx, journal.KeyChecked)
}

func (s *Sender) note(ctx context.Context, how string) error {
	err := s.ledger.NoteKey(ctx, s.key, how)
	if other := (*journal.AccountError)(nil); errors.As(err, &other) {
		return refused(RuleKey, other.Error(), "run it again")
	}
	return err
}

// open reports whether the account has orders that the service may have: another merchant's list would say of them that
// they were never sent.
func (s *Sender) open(ctx context.Context) (bool, error) {
	for _, err := range s.ledger.Orders(ctx, journal.Filter{States: []journal.State{journal.Unknown, journal.Sending, journal.Conflict}}) {
		return err == nil, err
	}
	return false, nil
}

// knows reports whether the key was used with the account before. One that was used with another is refused.
func (s *Sender) knows(ctx context.Context) (bool, error) {
	if s.options.AnyKey {
		return true, nil
	}
	account := s.ledger.Account()
	used, err := s.ledger.Journal().KeyUsedBy(ctx, s.key)
	if err != nil || slices.Contains(used, account) {
		return err == nil, err
	}
	if len(used) > 0 {
		return false, &Error{Kind: Refused, Rule: RuleAccount, Msg: fmt.Sprintf("the journal knows this key from %s, and this is %s", used[0], account), Hint: wayOut(used[0], account)}
	}
	return false, nil
}

// wayOut is what a person can do who knows that two accounts are one.
func wayOut(old, now journal.Account) Hint {
	rename := []string{"journal", "rename", old.Name, now.Name}
	if old.Address != now.Address {
		return NewHint("if it is the same merchant, and the service has moved", append(rename, "--base-url", old.Address, "--to-base-url", now.Address)...)
	}
	return NewHint("use that account or, if it has another name now, say so", rename...)
}

// rejects reports whether the service has refused what it was asked, and not who asks or how often.
func rejects(err error) bool {
	var call *api.Error
	return errors.As(err, &call) && call.Outcome == api.Rejected && !keyOrRate(call.Status)
}

func keyOrRate(status int) bool { return status == 401 || status == 403 || status == 429 }
