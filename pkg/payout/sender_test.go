package payout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/approval"
)

// newSender returns a Sender as another program makes it.
func newSender(t *testing.T, s *service, o Options) (*Sender, *Journal) {
	t.Helper()
	j, err := OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	ok(t, err)
	t.Cleanup(func() { j.Close() })
	sender, err := New(newClient(t, s.URL), j, "acme", o)
	ok(t, err)
	return sender, j
}

func TestNewRefuses(t *testing.T) {
	s := newService(t)
	client := newClient(t, s.URL)
	_, j := newSender(t, s, Options{})
	odd := Options{Currencies: []Currency{{Code: "Btc", Kind: api.Crypto, Decimals: 19}}}
	wantKind(t, errorOf(New(client, j, "acme", odd)), Invalid, "", "cannot have 19 decimals")
	for name, err := range map[string]error{
		"no client":       errorOf(New(nil, j, "acme", Options{})),
		"no journal":      errorOf(New(client, nil, "acme", Options{})),
		"a negative time": errorOf(New(client, j, "acme", Options{LookupTimeout: -1})),
		"another lookup":  errorOf(New(client, j, "acme", Options{Lookup: 7})),
	} {
		if e := wantKind(t, err, Invalid, ""); e.Hint.Text == "" || !strings.HasPrefix(e.Msg, "payout.New: ") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func errorOf[A any](_ A, err error) error { return err }

// TestSenderAccount checks that the account is the name and the base URL, as on the command line, so that
// both can use one journal.
func TestSenderAccount(t *testing.T) {
	s := newService(t)
	client, err := api.New(s.URL+"/", api.WithAPIKey("key"))
	ok(t, err)
	_, j := newSender(t, s, Options{})
	for address, want := range map[string]string{"": s.URL, "sandbox:7": "sandbox:7"} {
		sender, err := New(client, j, "acme", Options{Address: address})
		if err != nil || sender.Account() != (Account{Address: want, Name: "acme"}) {
			t.Errorf("%v, %v, want the address %s", sender.Account(), err, want)
		}
	}
}

func TestOptionsHaveDefaults(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 15 * time.Minute, time.Hour: time.Hour, -1: -1} {
		sender, _ := newSender(t, newService(t), Options{SettleAfter: given})
		if o := sender.options; o.SettleAfter != want || o.TimeZone != time.UTC {
			t.Errorf("%s is %s in %s, want %s in UTC", given, o.SettleAfter, o.TimeZone, want)
		}
	}
}

// TestSendRefusesBadOptionsAndRequests checks that nothing is recorded then either.
func TestSendRefusesBadOptionsAndRequests(t *testing.T) {
	s := newService(t)
	sender, _ := newSender(t, s, Options{})
	wantKind(t, errorOf(sender.Send(t.Context(), asked("4711").request, AllowDuplicate(), nil)), Invalid, "")
	spoiled := asked("4711").request
	spoiled.Memo = "1.23457E+12"
	wantKind(t, errorOf(sender.Send(t.Context(), spoiled)), Invalid, "", "its memo: a spreadsheet has changed it")
	for _, orderID := range []string{"", "0", "07", "x"} {
		wantKind(t, errorOf(sender.Send(t.Context(), asked(orderID).request)), Invalid, "")
	}
	bad := asked("4711").request
	bad.Amount.Minor = 0
	_, err := sender.Send(t.Context(), bad)
	if wantKind(t, err, Invalid, ""); !errors.As(err, new(*api.InvalidError)) {
		t.Error(err)
	}
	s.wantCreates(0)
	for o := range sender.Orders(t.Context(), Filter{}) {
		t.Errorf("recorded was %+v", o)
	}
}

// TestSenderShowsNoKey checks that no way of printing a Sender shows its key.
func TestSenderShowsNoKey(t *testing.T) {
	s := newService(t)
	client, err := api.New(s.URL, api.WithAPIKey("topsecretkey"))
	ok(t, err)
	_, j := newSender(t, s, Options{})
	sender, err := New(client, j, "acme", Options{})
	ok(t, err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "sender", sender, "value", *sender.Ledger)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", sender, sender, sender), log.String()} {
		if strings.Contains(text, "topsecret") {
			t.Errorf("%s", text)
		}
	}
}

// TestErrorsHaveAKind checks that an error of the journal, of a call or of a request is an *Error with the
// right kind.
func TestErrorsHaveAKind(t *testing.T) {
	s := newService(t)
	sender, j := newSender(t, s, Options{})
	_, err := sender.Order(t.Context(), "7")
	if e := wantKind(t, err, NotFound, ""); !errors.Is(err, NotFound) || errors.Is(err, Unknown) || e.OrderID != "7" {
		t.Errorf("%+v", e)
	}
	_, err = OpenExistingJournal(t.Context(), filepath.Join(t.TempDir(), "none.db"))
	if wantKind(t, err, JournalBroken, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	s.answer(refusedBy)
	_, err = sender.Send(t.Context(), asked("1").request)
	if call := (*api.Error)(nil); !errors.As(err, &call) || call.Code != 2004 {
		t.Errorf("the call is hidden: %v", err)
	}
	wantKind(t, err, Rejected, "")
	if o, err := sender.Order(t.Context(), "1"); err != nil || o.Code != 2004 || !strings.HasPrefix(o.Reason, "no_funds") {
		t.Errorf("recorded is %+v, %v", o, err)
	}
	s.answer(vanished)
	closed := newService(t)
	away, _ := newSender(t, closed, Options{Lookup: LookupNever})
	closed.Close()
	for _, c := range []struct {
		err  error
		kind Kind
	}{
		{errorOf(sender.Run(t.Context(), "cafe0001")), NotFound},
		{j.Rename(t.Context(), Account{Address: s.URL, Name: "x"}, Account{Address: s.URL, Name: "y"}), Invalid},
		{errorOf(OpenJournal(t.Context(), "postgres:/host/x")), JournalPlace},
		{errorOf(OpenJournal(t.Context(), "")), JournalPlace},
		{errorOf(sender.Apply(t.Context(), nil, ApplyOptions{})), Invalid},
		{errorOf(sender.Applier(t.Context(), nil, ApplyOptions{})), Invalid},
		{errorOf(sender.Send(t.Context(), asked("2").request)), Unknown},
		{errorOf(away.Send(t.Context(), asked("4711").request)), NotSent},
		{errorOf(New(sender.client, j, "shop", Options{Approvals: approval.Policy{Required: -1}})), Invalid},
		{errorOf(New(sender.client, j, "shop", Options{Approvals: approval.Policy{Required: 1}})), Invalid},
		{asError(&api.Error{Outcome: api.Failed}), ReadFailed},
		{asError(&api.Error{Outcome: 99}), Unknown}, // it may have been paid
		{asError(&api.Error{Outcome: api.Unknown, Err: context.Canceled}), Unknown},
	} {
		wantKind(t, c.err, c.kind, "")
	}
}
