package payout

import "testing"

func TestHintIsWordedWithItsCommand(t *testing.T) {
	for _, tt := range []struct {
		hint Hint
		want string
	}{
		{Hint{}, ""},
		{NewHint("run it again"), "run it again"},
		{NewHint("do not send it again", "withdraw", "reconcile", "4711"),
			"do not send it again: till withdraw reconcile 4711"},
		{NewHint("", "--sandbox", "auth", "status"), "till --sandbox auth status"},
		{NewHint("see why", "--journal", "my journal.db", "payout", "status", "1f2e"),
			"see why: till --journal 'my journal.db' payout status 1f2e"},
		{NewHint("see why", "withdraw", "get", "$(id)", "it's", ""), `see why: till withdraw get '$(id)' 'it'\''s' ''`},
	} {
		if got := tt.hint.String(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.hint, got, tt.want)
		}
	}
	if !(Hint{}).IsZero() || NewHint("x").IsZero() || NewHint("", "x").IsZero() {
		t.Error("only a hint without a text and without a command is zero")
	}
}
