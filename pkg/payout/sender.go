package payout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/hint"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// A Sender is an account of a service and its record in the journal.
type Sender struct {
	Client *api.Client
	Ledger *journal.Ledger
	Key    string // fingerprint of the key that the client uses
	AnyKey bool   // the account is known by itself, whatever the key is: a sandbox's

	FirstPage     api.PageBase
	NoLookup      bool      // the service's list is never asked before sending
	AlwaysLookup  bool      // it is asked before every order, also before those that the journal alone could decide about
	Since         string    // how far back the list is read, as the service wants it written; empty: to the beginning
	SinceTime     time.Time // the same as a time
	SettleAfter   time.Duration
	LookupTimeout time.Duration // how long the service's list is read at most; 0: as long as it takes
	Now           func() time.Time
	// Format writes an amount for a person; nil is in minor units.
	Format func(api.Amount) string
	// Decimals are those of an amount's unit, negative if they are unknown; nil: they are.
	Decimals func(api.Amount) int
	// Pause waits between two readings of the list; nil is a real pause.
	Pause func(ctx context.Context, d time.Duration) error

	underWay int32 // see UnderWay; atomic
}

// Fingerprint names a key without showing it.
func Fingerprint(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// ContentOf is what makes a withdrawal the same as another, as the journal keeps it.
func ContentOf(r api.CreateWithdrawal) journal.Content {
	return journal.Content{
		Currency: unit(r.Currency.Kind, r.Currency.Code),
		Unit:     unit(r.Amount.Kind, r.Amount.Code),
		Minor:    r.Amount.Minor,
		Address:  r.Address,
		Memo:     r.Memo,
	}
}

func unit(kind api.Kind, code string) string {
	switch kind { // nearly always, and without making a text of it first
	case api.Crypto:
		return "crypto:" + code
	case api.Fiat:
		return "fiat:" + code
	}
	return strings.ToLower(string(kind)) + ":" + code
}

// Unit writes a kind and a code as an order's content has them, such as crypto:Btc. It is also how a code is given to till.
func Unit(kind api.Kind, code string) string { return unit(kind, code) }

// Currency is the opposite of what ContentOf does with a currency.
func Currency(text string) api.Currency {
	kind, code, _ := strings.Cut(text, ":")
	if kind == "fiat" {
		return api.Currency{Kind: api.Fiat, Code: code}
	}
	return api.Currency{Kind: api.Crypto, Code: code}
}

// Amount is the amount of an order.
func Amount(c journal.Content) api.Amount {
	u := Currency(c.Unit)
	return api.Amount{Kind: u.Kind, Code: u.Code, Minor: c.Minor}
}

// requestOf is the call for an order, as the journal has it.
func requestOf(o journal.Order) api.CreateWithdrawal {
	return api.CreateWithdrawal{Currency: Currency(o.Currency), Amount: Amount(o.Content), Address: o.Address, Memo: o.Memo, Callback: o.Callback, ExternalOrderID: o.OrderID}
}

func (b *Sender) decimals(a api.Amount) int64 {
	if b.Decimals == nil {
		return -1
	}
	return int64(b.Decimals(a))
}

// VerifyKey compares the key with those that the account was used with before. A key that was used with another account or
// address opens somebody else's; a new one may be used if there is no history, or if it can read what was accepted last.
func (b *Sender) VerifyKey(ctx context.Context) error {
	if known, err := b.knows(ctx); known || err != nil {
		return err
	}
	return b.verifyNewKey(ctx)
}

// verifyNewKey is VerifyKey for a key that the account had not been used with a moment ago.
func (b *Sender) verifyNewKey(ctx context.Context) error {
	account := b.Ledger.Account()
	status, err := b.Ledger.Status(ctx)
	if err != nil {
		return err
	}
	const adopt = "adopt it if you know that it is the same merchant's"
	if status.Newest == nil {
		open, err := b.open(ctx)
		if err != nil {
			return err
		}
		if !open {
			return b.note(ctx, journal.KeyFirst)
		}
		// What is open may be what another process has begun with this very key since.
		if known, err := b.knows(ctx); known || err != nil {
			return err
		}
		return refused(RuleKey, fmt.Sprintf("this key is new for %s, and nothing was accepted there that it could be tried on", account), adopt, "journal", "adopt-key")
	}
	newest := *status.Newest
	w, err := b.Client.Withdrawals.Get(ctx, newest.Withdrawal)
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
	return b.note(ctx, journal.KeyChecked)
}

func (b *Sender) note(ctx context.Context, how string) error {
	err := b.Ledger.NoteKey(ctx, b.Key, how)
	if other := (*journal.AccountError)(nil); errors.As(err, &other) {
		return refused(RuleKey, other.Error(), "run it again")
	}
	return err
}

// open reports whether the account has orders that the service may have: another merchant's list would say of them that
// they were never sent.
func (b *Sender) open(ctx context.Context) (bool, error) {
	for _, err := range b.Ledger.Orders(ctx, journal.Filter{States: []journal.State{journal.Unknown, journal.Sending, journal.Conflict}}) {
		return err == nil, err
	}
	return false, nil
}

// knows reports whether the key was used with the account before. One that was used with another is refused.
func (b *Sender) knows(ctx context.Context) (bool, error) {
	if b.AnyKey {
		return true, nil
	}
	account := b.Ledger.Account()
	used, err := b.Ledger.Journal().KeyUsedBy(ctx, b.Key)
	if err != nil || slices.Contains(used, account) {
		return err == nil, err
	}
	if len(used) > 0 {
		return false, &Error{Kind: Refused, Rule: RuleAccount, Msg: fmt.Sprintf("the journal knows this key from %s, and this is %s", used[0], account), Hint: wayOut(used[0], account)}
	}
	return false, nil
}

// wayOut is what a person can do who knows that two accounts are one.
func wayOut(old, now journal.Account) hint.Hint {
	rename := []string{"journal", "rename", old.Name, now.Name}
	if old.Address != now.Address {
		return hint.New("if it is the same merchant, and the service has moved", append(rename, "--base-url", old.Address, "--to-base-url", now.Address)...)
	}
	return hint.New("use that account or, if it has another name now, say so", rename...)
}

// rejects reports whether the service has refused what it was asked, and not who asks or how often.
func rejects(err error) bool {
	var call *api.Error
	return errors.As(err, &call) && call.Outcome == api.Rejected && !keyOrRate(call.Status)
}

func keyOrRate(status int) bool { return status == 401 || status == 403 || status == 429 }
