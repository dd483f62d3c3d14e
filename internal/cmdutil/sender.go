package cmdutil

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/period"
	"example.com/till/internal/place"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
)

// OpenJournal opens the journal that the settings name, and creates it if it does not exist. The program
// closes it at its end.
//
// A new journal is empty, and lets be paid again what another one has, perhaps the right one. So it is noted,
// and the directory of a named journal must exist.
func (s *Session) OpenJournal() (*payout.Journal, error) {
	j, err := s.ExistingJournal()
	if !errors.Is(err, fs.ErrNotExist) {
		return j, err
	}
	named := !s.Origin("journal").IsDefault()
	dir := filepath.Dir(s.Journal)
	if info, missing := os.Stat(dir); named && !place.IsPostgres(s.Journal) && (missing != nil || !info.IsDir()) {
		return nil, &payout.Error{Kind: payout.JournalBroken, Err: err,
			Msg:  fmt.Sprintf("the journal %s cannot be made: there is no directory %s", s.Journal, dir),
			Hint: payout.NewHint("correct the name, or make the directory if the journal is to be new")}
	}
	if j, err = s.journalThat(payout.OpenJournal); err == nil {
		s.Note("the journal %s is new and empty: it knows nothing of what was paid before", j.Place())
	}
	return j, err
}

// ExistingJournal opens the journal for a command that only reads it. A journal that does not exist is an
// error.
func (s *Session) ExistingJournal() (*payout.Journal, error) {
	return s.journalThat(payout.OpenExistingJournal)
}

// JournalToList opens the journal for a command that lists its contents. If the journal at the default place
// does not exist yet, it notes that and returns nil. If a named journal does not exist, its name is wrong,
// and that is an error.
func (s *Session) JournalToList() (*payout.Journal, error) {
	j, err := s.ExistingJournal()
	if errors.Is(err, fs.ErrNotExist) && s.Origin("journal").IsDefault() {
		if _, missing := os.Stat(s.Journal); missing == nil { // an empty file
			return nil, s.Note("%v", err)
		}
		return nil, s.Note("there is no journal yet at %s: nothing was sent from here", s.Journal)
	}
	return j, err
}

func (s *Session) journalThat(open func(context.Context, string) (*payout.Journal, error)) (*payout.Journal, error) {
	cmdline.Declared(s.Cmd, cmdline.Journal)
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

// OwnJournal refuses a journal other than the profile's: a history in two places does not prevent double
// payments.
func (s *Session) OwnJournal() error {
	if s.ProfileJournal == "" || s.Journal == s.ProfileJournal {
		return nil
	}
	return exit.Refusal(payout.RuleAccount,
		fmt.Sprintf("the profile %s keeps its journal at %s, and %s is another", s.Profile,
			place.Redact(s.ProfileJournal), place.Redact(s.Journal)),
		"leave --journal and TILL_JOURNAL out")
}

// SenderFor opens the journal for the account that the client uses, to send.
func (s *Session) SenderFor(client *api.Client) (*payout.Sender, error) {
	cmdline.Declared(s.Cmd, cmdline.Money)
	approvals, err := s.PayoutApprovals(false)
	if err != nil {
		return nil, err
	}
	return s.senderFor(client, approvals)
}

func (s *Session) senderFor(client *api.Client, approvals approval.Policy) (*payout.Sender, error) {
	if err := s.OwnJournal(); err != nil {
		return nil, err
	}
	j, err := s.OpenJournal()
	if err != nil {
		return nil, err
	}
	account, own, err := s.AccountOf(client)
	if call := (*api.Error)(nil); cmdline.Does(s.Cmd, cmdline.Money) && errors.As(err, &call) && call.Outcome == api.Failed && !errors.Is(err, context.Canceled) {
		return nil, exit.Failure(exit.Unreachable, err,
			fmt.Sprintf("the sandbox did not say which one it is, and nothing was sent to it: %v", err),
			"it is safe to run the same command again")
	} else if err != nil {
		return nil, err
	}
	since, sinceTime, err := s.lookupSince()
	if err != nil {
		return nil, err
	}
	settling, _ := s.Settling()
	sender, err := payout.New(client, j, account.Name, payout.Options{
		Address: account.Address, AnyKey: own, Currencies: s.PayoutCurrencies(), FirstPage: s.PageBase(), Since: since,
		SinceTime: sinceTime, LookupTimeout: s.LookupTimeout,
		Lookup:      map[string]payout.Lookup{"always": payout.LookupAlways, "never": payout.LookupNever}[s.Lookup],
		SettleAfter: cmp.Or(settling, -1), // 0 would be the default
		Approvals:   approvals, Limits: payout.Limits(s.Limits), TimeZone: s.TimeZone,
	})
	if err != nil {
		return nil, err
	}
	s.ledger = sender.Ledger
	return sender, s.noteRestored(j, sender.Ledger)
}

// SenderToTry is SenderFor for a dry run. It makes no journal: it returns nil if there is none yet.
func (s *Session) SenderToTry(client *api.Client) (*payout.Sender, error) {
	if err := s.OwnJournal(); err != nil {
		return nil, err
	}
	_, err := s.ExistingJournal()
	missing := errors.Is(err, fs.ErrNotExist)
	if _, none := os.Stat(filepath.Dir(s.Journal)); missing && none != nil && !s.Origin("journal").IsDefault() {
		return nil, err // the real run makes no directory for a journal that is named
	}
	if _, none := os.Stat(s.SandboxState); err == nil && s.BaseURL == "" && none != nil { // a new sandbox has a new account
		missing = true
	}
	if missing {
		return nil, s.Note("the journal %s does not know this account yet: nothing was sent with it", place.Redact(s.Journal))
	}
	if err != nil {
		return nil, err
	}
	return s.SenderFor(client)
}

// PayoutCurrencies returns the currencies of the settings for package payout, which knows the built-in ones.
func (s *Session) PayoutCurrencies() (all []payout.Currency) {
	for _, e := range s.Money.Entries() {
		if builtin, _ := money.NewRegistry().Lookup(e.Code); builtin != e {
			all = append(all, payout.Currency(e))
		}
	}
	return all
}

// Settling returns how long after an attempt a person cannot yet decide that it was not sent, and the
// default: how long a create may take to arrive, as far as that can be known. It is longer if calls may take
// longer.
func (s *Session) Settling() (after, usual time.Duration) {
	usual = max(15*time.Minute, 2*cmp.Or(s.Timeout, api.DefaultCreateTimeout))
	if s.Origin("settle_after").IsDefault() {
		return usual, usual
	}
	return s.SettleAfter, usual
}

// noteRestored warns if a journal may lack its last records.
func (s *Session) noteRestored(j *payout.Journal, l *payout.Ledger) error {
	restored, err := l.Restored(s.Ctx)
	if err != nil || !restored {
		return err
	}
	return s.NoteCommand([]string{"journal", "check"}, "the journal %s may lack its last records, because it is a copy, was restored from a "+
		"backup, or has lost a file: every order is looked up before it is sent, until nothing is missing, or you accept what is:", j.Place())
}

// AccountOf returns the account whose history the client continues. own reports whether the key is a
// sandbox's. A sandbox identifies its state with an id of its own, so its key does not matter.
func (s *Session) AccountOf(client *api.Client) (a payout.Account, own bool, err error) {
	base := payout.Account{Address: s.BaseURL, Name: s.Account}
	own = strings.HasPrefix(s.key, config.SandboxKeyPrefix)
	if !own {
		return base, false, nil
	}
	if s.DryRun { // this call is made
		live := *s
		live.DryRun = false
		if client, err = live.Connect(); err != nil {
			return a, own, err
		}
	}
	raw, err := client.Do(s.Ctx, http.MethodGet, "/sandbox/state", nil)
	var state struct {
		ID       string `json:"id"`
		Merchant string `json:"merchant_id"`
	}
	if err == nil && json.Unmarshal(raw, &state) == nil && state.ID != "" {
		return payout.Account{Address: "sandbox:" + state.ID, Name: state.Merchant}, true, nil
	}
	// A server that does not know the request is another program on this machine that accepts a sandbox's
	// key. A sandbox that cannot answer now must not get a second, empty history under its address.
	if call := (*api.Error)(nil); err == nil ||
		errors.As(err, &call) && (call.Status == http.StatusNotFound || call.Status == http.StatusMethodNotAllowed) {
		return base, true, nil
	}
	return a, true, err
}

// lookupSince returns how far back the service's list is read, as the text that is sent and as a time. If
// only the service can read the format of a full date-time, the list is read whole.
func (s *Session) lookupSince() (string, time.Time, error) {
	if s.LookupSince == "" {
		return "", time.Time{}, nil
	}
	from := func(at time.Time, layout string) (string, time.Time, error) {
		if at.After(s.IO.Now()) { // the list would be empty
			return "", at, exit.UsageError(fmt.Sprintf("--lookup-since: %s is in the future, so a list from then on is empty",
				s.LookupSince), "name a time before the oldest order that it is about")
		}
		return at.Add(-payout.SinceMargin).In(s.TimeZone).Format(layout), at, nil
	}
	if !period.IsDateTime(s.LookupSince) {
		at, err := s.Period().Parse(s.LookupSince)
		if err != nil {
			return "", time.Time{}, err
		}
		return from(at, s.TimeLayout)
	}
	for _, layout := range []string{s.TimeLayout, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, s.LookupSince, s.TimeZone); err == nil {
			return from(at, layout)
		}
	}
	return "", time.Time{}, nil
}

// JournalAccount returns the account whose rows the journal's own commands show. They need no service and no
// key, except for a sandbox, which has to say which one it is. Any profile can be that of a sandbox, so if
// the address is on this machine, the key shows whether it is one. A client that exists has its key.
func (s *Session) JournalAccount() (payout.Account, error) {
	if s.client != nil {
		a, _, err := s.AccountOf(s.client)
		return a, err
	}
	base, err := s.RequireBaseURL()
	plain := payout.Account{Address: base, Name: s.Account}
	if err != nil || !s.Sandbox && !config.IsLoopbackURL(base) {
		return plain, err
	}
	client, err := s.Connect()
	if err != nil && !s.Sandbox { // without a key, nothing was ever sent to a sandbox
		return plain, nil
	}
	if err != nil {
		return plain, err
	}
	a, _, err := s.AccountOf(client)
	return a, err
}

// LedgerToList returns the ledger of the account in use for a command that only reads it. It is nil if there is no
// journal yet.
func (s *Session) LedgerToList() (*payout.Ledger, error) { return s.LedgerFrom(s.JournalToList) }

// LedgerFrom returns what the journal that open opens has of the account in use. It warns if the journal has lost its
// last records.
func (s *Session) LedgerFrom(open func() (*payout.Journal, error)) (*payout.Ledger, error) {
	account, err := s.JournalAccount()
	if err != nil {
		return nil, err
	}
	j, err := open()
	if err != nil || j == nil {
		return nil, err
	}
	s.ledger = j.Ledger(account)
	return s.ledger, s.noteRestored(j, s.ledger)
}

// ListOfLedger prints what the ledger of the account in use has; nothing if there is no journal yet.
func ListOfLedger[T any](s *Session, out Output[T], list func(*payout.Ledger, context.Context) ([]T, error)) error {
	ledger, err := s.LedgerToList()
	if err != nil {
		return err
	}
	var all []T
	if ledger != nil {
		if all, err = list(ledger, s.Ctx); err != nil {
			return err
		}
	}
	return out.Slice(all)
}

// LedgerToChange returns the ledger of the account in use for a command that records something in the
// profile's own journal, which open opens: OpenJournal or ExistingJournal.
func (s *Session) LedgerToChange(open func() (*payout.Journal, error)) (*payout.Ledger, error) {
	cmdline.Declared(s.Cmd, cmdline.Files)
	if err := s.OwnJournal(); err != nil {
		return nil, err
	}
	return s.LedgerFrom(open)
}

// OpenSender returns a sender for a command that does not send. If a named journal does not exist, its name
// is wrong, and that is an error.
func (s *Session) OpenSender() (*payout.Sender, error) {
	if !s.Origin("journal").IsDefault() {
		if _, err := s.ExistingJournal(); err != nil {
			return nil, err
		}
	}
	client, err := s.Client()
	if err != nil {
		return nil, err
	}
	return s.senderFor(client, approval.Policy{}) // what it does not send needs no approval
}

// CheckOrderIDs checks the order ids of a command line.
func CheckOrderIDs(ids []string) error {
	for _, id := range ids {
		if err := api.CheckOrderID(id); err != nil {
			return exit.UsageError(err.Error(), "see those of the journal", "journal", "list")
		}
	}
	return nil
}

// NoOrder is the error for an order if there is no journal yet.
func NoOrder(orderID string) error {
	return exit.UsageError(fmt.Sprintf("the journal has no order %s in this account", orderID), "see what it has",
		"journal", "list")
}

// PayoutApprovals returns what the profile demands of its approvers. It reads their file only if it demands
// anything, or if a command wants to know them.
func (s *Session) PayoutApprovals(wanted bool) (approval.Policy, error) {
	if s.Approvals == 0 && (!wanted || s.Approvers == "") {
		return approval.Policy{}, nil
	}
	text, err := s.ReadApprovers()
	if err != nil {
		return approval.Policy{}, err
	}
	list, err := approval.ParseApprovers(s.Approvers, text, time.Local)
	if err != nil {
		return approval.Policy{}, &config.Error{Msg: err.Error(),
			Advice: "write it in the format allowed_signers, which man ssh-keygen describes"}
	}
	return approval.Policy{Required: s.Approvals, Approvers: list, Above: s.ApprovalsAbove}, nil
}

// ConsentsOf returns what approved the attempts of an account, by number. An attempt that needed no approval has
// none.
func ConsentsOf(ctx context.Context, ledger *payout.Ledger) (map[int64]*views.ApprovalLine, error) {
	all := map[int64]*views.ApprovalLine{}
	consents, err := ledger.Consents(ctx)
	for _, c := range consents {
		all[c.Number] = views.NewApprovalLine(c)
	}
	return all, err
}
