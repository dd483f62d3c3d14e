package hint

import "testing"

func TestHintIsWordedWithItsCommand(t *testing.T) {
	for _, tt := range []struct {
		hint  Hint
		flags []string
		want  string
	}{
		{Hint{}, []string{"--sandbox"}, ""},
		{New("run it again"), []string{"--sandbox"}, "run it again"},
		{New("do not send it again", "withdraw", "reconcile", "4711"), nil, "do not send it again: till withdraw reconcile 4711"},
		{New("", "auth", "status"), []string{"--sandbox"}, "till --sandbox auth status"},
		{New("see why", "payout", "status", "1f2e"), []string{"--journal", "my journal.db"}, "see why: till --journal 'my journal.db' payout status 1f2e"},
		{New("see why", "withdraw", "get", "$(id)", "it's", ""), nil, `see why: till withdraw get '$(id)' 'it'\''s' ''`},
	} {
		if got := tt.hint.With(tt.flags...); got != tt.want {
			t.Errorf("%+v with %q: %q, want %q", tt.hint, tt.flags, got, tt.want)
		}
	}
	if !(Hint{}).IsZero() || New("x").IsZero() || New("", "x").IsZero() {
		t.Error("only a hint without a text and without a command is zero")
	}
}
