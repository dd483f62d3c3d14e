package money

import (
	"regexp"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

// FuzzParseAmount checks that an accepted amount is printed as it was written, except for omitted decimals,
// and parses to the same amount again.
func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{
		"25.00 USD", "0.015 Btc", "0.015", "0.015Btc", "007", "25.000 USD", "1e3", "1,000", "+5", ".5", "5.", "-1", "0", "",
		"92233720368547758.07 USD", "92233720368547758.08 USD", "1.2345 CLF", "7 crypto:Btc", "7 crypto:Usd",
		"25\u00a0USD", " 1 USD ",
	} {
		f.Add(text)
	}
	r := known()
	canonical := regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?( [!-~]+)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, withdrawn := range []api.Currency{none, btc, usd, usdt} {
			if minor, err := r.ParseMinor(text, withdrawn); err == nil {
				if minor.Minor <= 0 || !canonical.MatchString(text) || strings.Contains(text, ".") && !strings.Contains(text, " ") {
					t.Fatalf("ParseMinor(%q, %v) = %v", text, withdrawn, minor)
				}
			}
			a, err := r.ParseAmount(text, withdrawn)
			if err != nil {
				if a != (api.Amount{}) || err.Error() == "" {
					t.Fatalf("ParseAmount(%q, %v) = %v and an error", text, withdrawn, a)
				}
				continue
			}
			if a.Minor <= 0 || !canonical.MatchString(text) {
				t.Fatalf("ParseAmount(%q, %v) = %v", text, withdrawn, a)
			}
			if a.Kind == api.Crypto && withdrawn != none && !strings.EqualFold(a.Code, withdrawn.Code) {
				t.Fatalf("ParseAmount(%q, %v) = %v, another crypto currency", text, withdrawn, a)
			}
			printed := r.Format(a)
			number, _, _ := strings.Cut(text, " ")
			if !strings.HasPrefix(printed, number) { // printing only adds omitted decimals
				t.Fatalf("%q is printed as %q", text, printed)
			}
			again, err := r.ParseAmount(printed, withdrawn)
			if err != nil || again != a {
				t.Fatalf("%q is %v, and printed as %q it is %v, %v", text, a, printed, again, err)
			}
		}
	})
}
