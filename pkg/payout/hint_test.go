package payout

import "testing"

func TestHintIsWordedWithItsCommand(t *testing.T) {
	for want, hint := range map[string]Hint{
		"":                               {},
		"run it again":                   NewHint("run it again"),
		"till a,b=/1:2 --b=-c -- '-d g'": NewHint("", NewHint("", "a,b=/1:2", "-d g", "--b", "-c").Command...),
		`see why: till withdraw get '$(id)' 'it'\''s' ''`: NewHint("see why", "withdraw", "get", "$(id)", "it's", ""),
	} {
		if got := hint.String(); got != want || hint.IsZero() != (want == "") {
			t.Errorf("%+v: %q, want %q", hint, got, want)
		}
	}
}
