package payout

import (
	"slices"
	"strings"
	"testing"
)

// TestMakeWarnsOfLookAlikes checks which new addresses are taken for an accepted one by a person who compares
// four characters at each end.
func TestMakeWarnsOfLookAlikes(t *testing.T) {
	const middle, other = "5aeb6053f3e94c9b9a09f33669435e7e", "0000000000000000000000000000abcd"
	for _, test := range []struct {
		name, known, pays string
		alike             bool
	}{
		{"hexadecimal", "0xa7" + middle + "beaed0", "0xa7" + other + "beaed0", true},
		{"a 1 after the 0x", "0x15" + middle + "beaed0", "0x15" + other + "beaed0", true},
		{"a 1 in third place", "0xa1" + middle + "beaed0", "0xa1" + other + "beaed0", true},
		{"a 1 in fifth place", "0xab1e" + middle + "aed0", "0xabfe" + other + "aed0", true},
		{"a text with a 1 early", "pk1zMLkXH2Do9V5bY7tQwErTyUiOpAsDfG", "pk1zZZZZ2Do9V5bY7tQwErTy8888pAsDfG", true},
		{"another beginning", "0xa7" + middle + "beaed0", "0xb7" + other + "beaed0", false},
		{"another end", "0xa7" + middle + "beaed0", "0xa7" + other + "beaed1", false},
		{"the same one", "0xa7" + middle + "beaed0", "0xa7" + middle + "beaed0", false},
		{"the same one in capitals", "0xa7" + middle + "beaed0", "0xA7" + strings.ToUpper(middle) + "BEAED0", false},
		{"a short name", "pay-ann-2026", "pay-bob-2026", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlanner(t)
			p.bring(under("9001", test.known), outAccepted("w1"))
			made, rows := p.must(header, "1,Btc,0.5,"+test.known, "2,Btc,0.6,"+test.pays)
			const told = "which looks like the address of order 9001, but is another address"
			alike := slices.ContainsFunc(made.Warnings, func(text string) bool {
				return strings.HasPrefix(text, "line 3: order 2 ") && strings.Contains(text, told)
			})
			if alike != test.alike || rows[1].Warned != test.alike || rows[0].Warned {
				t.Errorf("%q, marked %v and %v", made.Warnings, rows[0].Warned, rows[1].Warned)
			}
			if alike && !strings.Contains(made.Warnings[0], told) {
				t.Errorf("it is not the first: %q", made.Warnings)
			}
		})
	}
}
