package cli

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

// openJournal opens the journal that the settings name, and makes it where there is none. It is closed when the program
// ends.
func (s *session) openJournal() (*payout.Journal, error) { return s.journalThat(payout.OpenJournal) }

// existingJournal is openJournal for commands that only read it: they make none, and one that is not there is an error.
func (s *session) existingJournal() (*payout.Journal, error) {
	return s.journalThat(payout.OpenExistingJournal)
}

// journalToList is existingJournal for commands that show what there is. At the journal's own place there may be none yet,
// which is said, and is nil. One that somebody has named is there, or its name is wrong.
func (s *session) journalToList() (*payout.Journal, error) {
	j, err := s.existingJournal()
	if errors.Is(err, fs.ErrNotExist) && s.Origin("journal") == "default" {
		return nil, s.note("there is no journal yet at %s: nothing was sent from here", s.Journal)
	}
	return j, err
}

func (s *session) journalThat(open func(context.Context, string) (*payout.Journal, error)) (*payout.Journal, error) {
	if s.journal != nil {
		return s.journal, nil
	}
	if s.Journal == "" {
		return nil, &config.Error{Msg: "the journal has no place: " + s.NoHome(), Advice: "name a file in TILL_JOURNAL"}
	}
	j, err := open(s.ctx, s.Journal)
	if err != nil {
		return nil, err
	}
	s.app.journal = j
	return j, nil
}

// ownJournal refuses another journal than the one that the profile names: a history in two places protects against nothing.
func (s *session) ownJournal() error {
	if s.ProfileJournal == "" || s.Journal == s.ProfileJournal {
		return nil
	}
	return refusal(payout.RuleAccount, fmt.Sprintf("the profile %s keeps its journal at %s, and %s is another", s.Profile, config.RedactJournal(s.ProfileJournal), config.RedactJournal(s.Journal)),
		"leave --journal and TILL_JOURNAL out")
}

// sender opens the journal for the account that the client's calls are about.
func (s *session) sender(client *api.Client) (*payout.Sender, error) {
	if err := s.ownJournal(); err != nil {
		return nil, err
	}
	j, err := s.openJournal()
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
		Address: account.Address, AnyKey: own, Currencies: s.currencies(), FirstPage: s.firstPage(), Since: since, SinceTime: sinceTime, LookupTimeout: s.LookupTimeout,
		Lookup:      map[string]payout.Lookup{"always": payout.LookupAlways, "never": payout.LookupNever}[s.Lookup],
		SettleAfter: cmp.Or(s.settleAfter(), -1), // zero is a default
	})
	if err != nil {
		return nil, err
	}
	return sender, s.noteRestored(j, sender.Ledger)
}

// currencies are those of the settings, for package payout.
func (s *session) currencies() payout.Currencies {
	entries := s.money.Entries()
	all := make([]payout.Currency, len(entries))
	for i, e := range entries {
		all[i] = payout.Currency(e)
	}
	return payout.NewCurrencies(all...)
}

// usualSettling is how long a create may take to land, as far as it can be known: its default is longer where calls may take
// longer.
func (s *session) usualSettling() time.Duration {
	return max(15*time.Minute, 2*cmp.Or(s.Timeout, api.DefaultCreateTimeout))
}

// settleAfter is how long after an attempt a person may not yet say that it was not sent.
func (s *session) settleAfter() time.Duration {
	if s.Origin("settle_after") == "default" {
		return s.usualSettling()
	}
	return s.SettleAfter
}

// noteRestored says that a journal has lost what was recorded last.
func (s *session) noteRestored(j *payout.Journal, l *payout.Ledger) error {
	restored, err := l.Restored(s.ctx)
	if err != nil || !restored {
		return err
	}
	return s.note("the journal %s was not closed, and its log (the file that ends in -wal) is missing, as in a copy of one file alone: "+
		"every order is looked up before it is sent, until till journal check finds nothing missing", j.Place())
}

// account is whose history it is. A sandbox has an identity of its own, which tells its state from every other's, and which
// key opens it says nothing.
func (s *session) account(client *api.Client) (a payout.Account, own bool, err error) {
	base := payout.Account{Address: s.BaseURL, Name: s.Account}
	own = strings.HasPrefix(s.key, config.SandboxKeyPrefix)
	if !own {
		return base, false, nil
	}
	raw, err := client.Do(s.ctx, http.MethodGet, "/sandbox/state", nil)
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
func (s *session) accountToSendTo(client *api.Client) (payout.Account, bool, error) {
	a, own, err := s.account(client)
	if call := (*api.Error)(nil); errors.As(err, &call) && call.Outcome == api.Failed && !errors.Is(err, context.Canceled) {
		err = &failure{code: exitUnreachable, err: err, msg: fmt.Sprintf("the sandbox did not say which one it is, and nothing was sent to it: %v", err), hint: payout.NewHint("it is safe to run the same command again")}
	}
	return a, own, err
}

// lookupSince is how far back the service's list is read, as it is sent and as a time; now where a full date-time was written
// in a way that only the service can read.
func (s *session) lookupSince() (string, time.Time, error) {
	if s.LookupSince == "" {
		return "", time.Time{}, nil
	}
	times := s.period()
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
		return text, s.io.Now(), nil // nothing that was accepted before must be on the list then
	}
	at, err := times.parse("--lookup-since", s.LookupSince, false)
	if err == nil {
		err = s.checkSince(at)
	}
	return text, at, err
}

// checkSince refuses a reading that would leave out everything there is.
func (s *session) checkSince(at time.Time) error {
	if at.After(s.io.Now()) {
		return usageError(fmt.Sprintf("--lookup-since: %s is in the future, and a list from then on has nothing on it", s.LookupSince), "name a time before the oldest order that it is about")
	}
	return nil
}

// journalAccount is the account whose rows the journal's own commands show. They need no service and no key, but for a
// sandbox, which has to be asked who it is. It may be one under any profile's name, so where the address is this machine's,
// the key tells.
func (s *session) journalAccount() (payout.Account, error) {
	base, err := s.RequireBaseURL()
	plain := payout.Account{Address: base, Name: s.Account}
	if err != nil || !s.Sandbox && !config.IsLoopbackURL(base) {
		return plain, err
	}
	client, err := s.connect()
	if err != nil && !s.Sandbox { // a sandbox without a key has never been sent anything
		return plain, nil
	}
	if err != nil {
		return plain, err
	}
	a, _, err := s.account(client)
	return a, err
}

// openSender is book for commands that do not send.
func (s *session) openSender() (*payout.Sender, error) {
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	return s.sender(client)
}

func checkOrderIDs(ids []string) error {
	for _, id := range ids {
		if err := api.CheckOrderID(id); err != nil {
			return usageError(err.Error(), "see those of the journal", "journal", "list")
		}
	}
	return nil
}

// noOrder is the error about an order where there is no journal yet.
func noOrder(orderID string) error {
	return usageError(fmt.Sprintf("the journal has no order %s in this account", orderID), "see what it has", "journal", "list")
}
