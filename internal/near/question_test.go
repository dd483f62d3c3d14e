package near

import "testing"

func TestQuestionJoinsNames(t *testing.T) {
	for want, names := range map[string][]string{
		"":                                 nil,
		"did you mean --ab?":               {"ab"},
		"did you mean --ab or --ac?":       {"ab", "ac"},
		"did you mean --ab, --ac or --ad?": {"ab", "ac", "ad"},
	} {
		if got := Question("a", "--", names); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
