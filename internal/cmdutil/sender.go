package cmdutil

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"example.com/till/internal/config"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

// OpenJournal opens the journal that the settings name, and makes it where there is none. It is closed when the program
// ends.
func (s *Session) OpenJournal() (*payout.Journal, error) { return s.journalThat(payout.OpenJournal) }

// ExistingJournal is openJournal for commands that only read it: they make none, and one that is not there is an error.
func (s *Session) ExistingJournal() (*payout.Journal, error) {
	return s.journalThat(payout.OpenExistingJournal)
}

// JournalToList is existingJournal for commands that show what there is. At the journal's own place there may be none yet,
// which is said, and is nil. One that somebody has named is there, or its name is wrong.
func (s *Session) JournalToList() (*payout.Journal, error) {
	j, err := s.ExistingJournal()
	if errors.Is(err, fs.ErrNotExist) && s.Origin("journal") == "default" {
		return nil, s.Note("there is no journal yet at %s: nothing was sent from here", s.Journal)
	}
	return j, err
}

func (s *Session) journalThat(open func(context.Context, string) (*payout.Journal, error)) (*payout.Journal, error) {
	if s.journal != nil {
		return s.journal, nil
	}
	if s.Journal == "" {
		return nil, &config.Error{Msg: "the journal has no place: " + s.NoHome(), Advice: "name a file in TILL_JOURNAL"}
	}
	j, err := open(s.Ctx, s.Journal)
	if err != nil {
		return nil, err
	}
	s.App.journal = j
	return j, nil
}

// OwnJournal refuses another journal than the one that the profile names: a history in two places protects against nothing.
func (s *Session) OwnJournal() error {
	if s.ProfileJournal == "" || s.Journal == s.ProfileJournal {
		return nil
	}
	return Refusal(payout.RuleAccount, fmt.Sprintf("the profile %s keeps its journal at %s, and %s is another", s.Profile, config.RedactJournal(s.ProfileJournal), config.RedactJournal(s.Journal)),
		"leave --journal and TILL_JOURNAL out")
}

// SenderFor opens the journal for the account that the client's calls are about.
func (s *Session) SenderFor(client *api.Client) (*payout.Sender, error) {
	if err := s.OwnJournal(); err != nil {
		return nil, err
	}
	j, err := s.OpenJournal()
	if err != nil {
		return nil, err
	}
	account, own, err := s.accountToSendTo(client)
	if err != nil {
		return nil, err
	}
	since, sinceTime, err := s.lookupSince()
	if err != nil {
		return nil, err
	}
	sender, err := payout.New(client, j, account.Name, payout.Options{
		Address: account.Address, AnyKey: own, Currencies: s.PayoutCurrencies(), FirstPage: s.PageBase(), Since: since, SinceTime: sinceTime, LookupTimeout: s.LookupTimeout,
		Lookup:      map[string]payout.Lookup{"always": payout.LookupAlways, "never": payout.LookupNever}[s.Lookup],
		SettleAfter: cmp.Or(s.settleAfter(), -1), // zero is a default
	})
	if err != nil {
		return nil, err
	}
	return sender, s.noteRestored(j, sender.Ledger)
}

// PayoutCurrencies are those of the settings, for package payout.
func (s *Session) PayoutCurrencies() payout.Currencies {
	entries := s.Money.Entries()
	all := make([]payout.Currency, len(entries))
	for i, e := range entries {
		all[i] = payout.Currency(e)
	}
	return payout.NewCurrencies(all...)
}

// usualSettling is how long a create may take to land, as far as it can be known: its default is longer where calls may take
// longer.
func (s *Session) usualSettling() time.Duration {
	return max(15*time.Minute, 2*cmp.Or(s.Timeout, api.DefaultCreateTimeout))
}

// settleAfter is how long after an attempt a person may not yet say that it was not sent.
func (s *Session) settleAfter() time.Duration {
	if s.Origin("settle_after") == "default" {
		return s.usualSettling()
	}
	return s.SettleAfter
}

// noteRestored says that a journal has lost what was recorded last.
func (s *Session) noteRestored(j *payout.Journal, l *payout.Ledger) error {
	restored, err := l.Restored(s.Ctx)
	if err != nil || !restored {
		return err
	}
	return s.Note("the journal %s was not closed, and its log (the file that ends in -wal) is missing, as in a copy of one file alone: "+
		"every order is looked up before it is sent, until till journal check finds nothing missing", j.Place())
}

// AccountOf is whose history it is. A sandbox has an identity of its own, which tells its state from every other's, and which
// key opens it says nothing.
func (s *Session) AccountOf(client *api.Client) (a payout.Account, own bool, err error) {
	base := payout.Account{Address: s.BaseURL, Name: s.Account}
	own = strings.HasPrefix(s.key, config.SandboxKeyPrefix)
	if !own {
		return base, false, nil
	}
	raw, err := client.Do(s.Ctx, http.MethodGet, "/sandbox/state", nil)
	var state struct {
		ID       string `json:"id"`
		Merchant string `json:"merchant_id"`
	}
	if err == nil && json.Unmarshal(raw, &state) == nil && state.ID != "" {
		return payout.Account{Address: "sandbox:" + state.ID, Name: state.Merchant}, true, nil
	}
	// Only who does not know the question is something else that listens on this machine, and takes a sandbox's key. A sandbox
	// that cannot answer now must not be given a second history under its address, in which nothing was ever sent.
	if call := (*api.Error)(nil); err == nil || errors.As(err, &call) && (call.Status == http.StatusNotFound || call.Status == http.StatusMethodNotAllowed) {
		return base, true, nil
	}
	return a, true, err
}

// accountToSendTo is account for a command that sends: a sandbox that cannot be asked who it is was not sent anything.
func (s *Session) accountToSendTo(client *api.Client) (payout.Account, bool, error) {
	a, own, err := s.AccountOf(client)
	if call := (*api.Error)(nil); errors.As(err, &call) && call.Outcome == api.Failed && !errors.Is(err, context.Canceled) {
		err = &Error{Code: ExitUnreachable, Err: err, Msg: fmt.Sprintf("the sandbox did not say which one it is, and nothing was sent to it: %v", err), Hint: payout.NewHint("it is safe to run the same command again")}
	}
	return a, own, err
}

// lookupSince is how far back the service's list is read, as it is sent and as a time; now where a full date-time was written
// in a way that only the service can read.
func (s *Session) lookupSince() (string, time.Time, error) {
	if s.LookupSince == "" {
		return "", time.Time{}, nil
	}
	times := s.Period()
	text, err := times.write("--lookup-since", s.LookupSince, false)
	if err != nil {
		return "", time.Time{}, err
	}
	if isDateTime(s.LookupSince) {
		for _, layout := range []string{s.TimeLayout, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
			if at, err := time.ParseInLocation(layout, s.LookupSince, s.TimeZone); err == nil {
				return text, at, s.checkSince(at)
			}
		}
		return text, s.IO.Now(), nil // nothing that was accepted before must be on the list then
	}
	at, err := times.parse("--lookup-since", s.LookupSince, false)
	if err == nil {
		err = s.checkSince(at)
	}
	return text, at, err
}

// checkSince refuses a reading that would leave out everything there is.
func (s *Session) checkSince(at time.Time) error {
	if at.After(s.IO.Now()) {
		return UsageError(fmt.Sprintf("--lookup-since: %s is in the future, so a list from then on is empty", s.LookupSince), "name a time before the oldest order that it is about")
	}
	return nil
}

// JournalAccount is the account whose rows the journal's own commands show. They need no service and no key, but for a
// sandbox, which has to be asked who it is. It may be one under any profile's name, so where the address is this machine's,
// the key tells.
func (s *Session) JournalAccount() (payout.Account, error) {
	base, err := s.RequireBaseURL()
	plain := payout.Account{Address: base, Name: s.Account}
	if err != nil || !s.Sandbox && !config.IsLoopbackURL(base) {
		return plain, err
	}
	client, err := s.Connect()
	if err != nil && !s.Sandbox { // a sandbox without a key has never been sent anything
		return plain, nil
	}
	if err != nil {
		return plain, err
	}
	a, _, err := s.AccountOf(client)
	return a, err
}

// OpenSender is book for commands that do not send.
func (s *Session) OpenSender() (*payout.Sender, error) {
	client, err := s.Client()
	if err != nil {
		return nil, err
	}
	return s.SenderFor(client)
}

func CheckOrderIDs(ids []string) error {
	for _, id := range ids {
		if err := api.CheckOrderID(id); err != nil {
			return UsageError(err.Error(), "see those of the journal", "journal", "list")
		}
	}
	return nil
}

// NoOrder is the error about an order where there is no journal yet.
func NoOrder(orderID string) error {
	return UsageError(fmt.Sprintf("the journal has no order %s in this account", orderID), "see what it has", "journal", "list")
}
