package payout

import "testing"

func TestHintIsWordedWithItsCommand(t *testing.T) {
	for _, tt := range []struct {
		hint  Hint
		flags []string
		want  string
	}{
		{Hint{}, []string{"--sandbox"}, ""},
		{NewHint("run it again"), []string{"--sandbox"}, "run it again"},
		{NewHint("do not send it again", "withdraw", "reconcile", "4711"), nil, "do not send it again: till withdraw reconcile 4711"},
		{NewHint("", "auth", "status"), []string{"--sandbox"}, "till --sandbox auth status"},
		{NewHint("see why", "payout", "status", "1f2e"), []string{"--journal", "my journal.db"}, "see why: till --journal 'my journal.db' payout status 1f2e"},
		{NewHint("see why", "withdraw", "get", "$(id)", "it's", ""), nil, `see why: till withdraw get '$(id)' 'it'\''s' ''`},
	} {
		if got := tt.hint.With(tt.flags...); got != tt.want {
			t.Errorf("%+v with %q: %q, want %q", tt.hint, tt.flags, got, tt.want)
		}
	}
	if !(Hint{}).IsZero() || NewHint("x").IsZero() || NewHint("", "x").IsZero() {
		t.Error("only a hint without a text and without a command is zero")
	}
}
