package cmdline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestHarmless(t *testing.T) {
	for text, want := range map[string]bool{
		"acme": true, "Acme-2_b.c": true, "a@b.example": true, "base_url=": true, "id,status": true, "a/b": true,
		"1f60bd0c": true, "a+b": true,
		"a b": true, "M\u00fcller 2": true, "\u5e97 2": true, "\u0645": true,
		"": false, " a": false, "a ": false, "a\tb": false, "a\nb": false, "a\rb": false, "a\x00b": false, "a\x7fb": false,
		"a\x1bb": false,
		"-y":     false, "--yes": false, "~root": false, "a~": false, "=ls": false, "@a": false, "/etc": false, ".": false,
		",": false, "+x": false, "_x": false,
		"$(x)": false, "a$b": false, "`x`": false, "a;b": false, "a|b": false, "a&b": false, "a<b": false, "a>b": false,
		"a(b": false, "a)b": false,
		"a{b": false, "a}b": false, "a[b": false, "a]b": false, "a*": false, "a?": false, "a!b": false, "a#b": false,
		"a^b": false, "a%b": false, "a:b": false,
		`a"b`: false, "a'b": false, `a\b`: false, "a\u00a0b": false, "a\u2019b": false, "a\u202eb": false, "a\u3164b": false,
		"a\xffb": false,
	} {
		if Harmless(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func TestOnlyHarmless(t *testing.T) {
	offers := []string{"a_b\tone", "A-b\ttwo", "$(x)\tthree", "c\tfour\nfive\tsix\x1b[2J", "d"}
	cmd := &cobra.Command{}
	got, directive := OnlyHarmless(cobra.FixedCompletions(offers, cobra.ShellCompDirectiveNoSpace))(cmd, nil, "")
	want := []string{"a_b\tone", `c` + "\t" + `four\nfive\tsix\x1b[2J`, "d\t"}
	if diff := cmp.Diff(want, got); diff != "" || directive != cobra.ShellCompDirectiveNoSpace {
		t.Errorf("%v %s", directive, diff)
	}
}
