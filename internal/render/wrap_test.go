package render

import (
	"strings"
	"testing"
)

func TestWrapWords(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, test := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"at a space", "one two three", 8, []string{"one two", "  three"}},
		{"the indent counts", "a bcdef ghijk l", 7, []string{"a bcdef", "  ghijk", "  l"}},
		{"a digest stays whole", "digest " + digest + ", or", 40, []string{"digest", "  " + digest + ",", "  or"}},
		{"no break that gains nothing", "a " + digest, 20, []string{"a " + digest}},
		{"not at a hyphen", "an id 7c9e6679-7425-40de", 12, []string{"an id", "  7c9e6679-7425-40de"}},
		{"a space at the end stays", "Send it? [y/N] ", 10, []string{"Send it?", "  [y/N] "}},
		{"characters take their columns", "東京 e\u0301🎉 สวัสดี x", 7, []string{"東京", "  e\u0301🎉", "  สวัสดี", "  x"}},
		{"an amount is one word", "9 Btc, 1 234.50 JPY, 2 minor E", 9, []string{"9 Btc,", "  1 234.50 JPY,", "  2 minor E"}},
		{"in brackets too", "lots (1 234 567 minor E)", 9, []string{"lots", "  (1 234 567 minor E)"}},
		{"given lines stay", "one two\nthree four", 9, []string{"one two", "three", "  four"}},
	} {
		equal(t, WrapWords(test.text, test.limit, 2), strings.Join(test.want, "\n"))
	}
	equal(t, strings.Join(Wrap("9 223 372 036 854.775807 UsdtTrc20", 30), "\n"), "9 223 372 036 854.775807\nUsdtTrc20")
}
