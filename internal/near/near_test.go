package near

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"0", "amount", "amount_minor", "currency", "id", "order_id", "output", "payout", "payouts", "status",
		"state"}
	for typed, want := range map[string][]string{
		"CURRENCY": {"currency"}, "amount_m": {"amount_minor"}, "cur": {"currency"}, "ids": {"id"},
		"minor": {"amount_minor"}, "pyout": {"payout", "payouts"}, "order-id": {"order_id"},
		"stats": {"status", "state"}, "statsu": {"status"}, "amt": {"amount", "amount_minor"},
		"crncy": {"currency"}, "mount-mnr": nil, "od": {"id"}, "nonsense": nil, "": nil, "outputter": nil,
		"2":    nil, // shares nothing with the name 0
		"aide": nil, // two mistakes in four letters
	} {
		if got := Names(typed, names); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

func TestQuestion(t *testing.T) {
	names := []string{"page", "page-size", "page-count", "page-base", "ab", "ac"}
	for typed, want := range map[string]string{
		"pgae":  "did you mean --page?",
		"page-": "did you mean --page?",
		"pag":   "did you mean --page?",
		"x":     "",
		"a":     "did you mean --ab or --ac?",
	} {
		if got := Question(typed, "--", names); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if got, want := Question("p", "", names), "did you mean page, page-size or page-count?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
