package cmdutil

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
)

func TestRefusedKey(t *testing.T) {
	keyring := config.Origin{Kind: config.FromKeyring}
	refused := &api.Error{Op: "list withdrawals", Outcome: api.Rejected, Status: 401, Reason: "no"}
	err := RefusedKey(refused, config.Origin{Kind: config.FromVariable, Name: "TILL_API_KEY"})
	r := exit.Explain(err)
	if r.Code != exit.Unauthorized || r.Call != refused {
		t.Errorf("exit code %d, call %v: the service's answer must stay", r.Code, r.Call)
	}
	if !strings.HasSuffix(r.Msg, "; the key came from the variable TILL_API_KEY") || r.Hint.IsZero() {
		t.Errorf("message %q, hint %q", r.Msg, r.Hint)
	}
	if again := RefusedKey(err, keyring); again != err {
		t.Errorf("the source is said twice: %v", again)
	}
	unknown := &payout.Error{Kind: payout.Unknown, Err: refused, Hint: payout.NewHint("do not send it again")}
	if r := exit.Explain(RefusedKey(unknown, keyring)); r.Code != exit.Unknown ||
		!strings.Contains(r.Msg, "; the key came from") || r.Hint.String() != "put another in its place; do not send it again" {
		t.Errorf("exit code %d, message %q, hint %q", r.Code, r.Msg, r.Hint)
	}
	for _, other := range []error{
		nil, errors.New("another"), context.Canceled,
		&api.Error{Outcome: api.Rejected, Status: 404}, &api.Error{Outcome: api.Unknown, Status: 401},
	} {
		if got := RefusedKey(other, keyring); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
	if got := RefusedKey(refused, config.Origin{}); got != error(refused) {
		t.Errorf("a source that is not known is named: %v", got)
	}
}
