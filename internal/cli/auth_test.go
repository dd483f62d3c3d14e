package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

func TestRefusedKey(t *testing.T) {
	refused := &api.Error{Op: "list withdrawals", Outcome: api.Rejected, Status: 401, Reason: "no"}
	err := refusedKey(refused, "environment TILL_API_KEY")
	r := explain(err)
	if r.code != exitUnauthorized || r.call != refused {
		t.Errorf("exit code %d, call %v: the service's answer must stay", r.code, r.call)
	}
	if !strings.HasSuffix(r.message, "; the key came from the variable TILL_API_KEY") || r.hint.IsZero() {
		t.Errorf("message %q, hint %q", r.message, r.hint)
	}
	if again := refusedKey(err, "keyring"); again != err {
		t.Errorf("the source is said twice: %v", again)
	}
	for _, other := range []error{
		nil, errors.New("another"), context.Canceled,
		&api.Error{Outcome: api.Rejected, Status: 404}, &api.Error{Outcome: api.Unknown, Status: 401},
	} {
		if got := refusedKey(other, "keyring"); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
	if got := refusedKey(refused, ""); got != error(refused) {
		t.Errorf("a source that is not known is named: %v", got)
	}
}

func TestNameOfSource(t *testing.T) {
	for source, want := range map[string]string{
		"flag --api-key-file":           "--api-key-file",
		"environment TILL_API_KEY":      "the variable TILL_API_KEY",
		"profile live, api_key_command": "the api_key_command of the profile live",
		"profile live, api_key_file":    "the api_key_file of the profile live",
		"keyring":                       "the keyring",
		"the sandbox":                   "the sandbox",
		"something new":                 "something new",
	} {
		if got := nameOfSource(source); got != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
		if otherKey(source).IsZero() {
			t.Errorf("%q has no hint", source)
		}
	}
}

func TestAwaitStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	cancel()
	if _, err := interruptibly(ctx, func() (string, error) { <-never; return "late", nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got, err := interruptibly(context.Background(), func() (string, error) { return "here", nil }); got != "here" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
