package cmdutil

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

func TestRefusedKey(t *testing.T) {
	refused := &api.Error{Op: "list withdrawals", Outcome: api.Rejected, Status: 401, Reason: "no"}
	err := RefusedKey(refused, "environment TILL_API_KEY")
	r := Explain(err)
	if r.Code != ExitUnauthorized || r.Call != refused {
		t.Errorf("exit code %d, call %v: the service's answer must stay", r.Code, r.Call)
	}
	if !strings.HasSuffix(r.Message, "; the key came from the variable TILL_API_KEY") || r.Hint.IsZero() {
		t.Errorf("message %q, hint %q", r.Message, r.Hint)
	}
	if again := RefusedKey(err, "keyring"); again != err {
		t.Errorf("the source is said twice: %v", again)
	}
	for _, other := range []error{
		nil, errors.New("another"), context.Canceled,
		&api.Error{Outcome: api.Rejected, Status: 404}, &api.Error{Outcome: api.Unknown, Status: 401},
	} {
		if got := RefusedKey(other, "keyring"); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
	if got := RefusedKey(refused, ""); got != error(refused) {
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
		if got := NameOfSource(source); got != want {
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
	if _, err := Interruptibly(ctx, func() (string, error) { <-never; return "late", nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got, err := Interruptibly(context.Background(), func() (string, error) { return "here", nil }); got != "here" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
