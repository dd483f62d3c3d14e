package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFinishFlags checks that the flags of a command override the profile.
func TestFinishFlags(t *testing.T) {
	const profile = "current: live\nprofiles:\n  live:\n    base_url: https://pay.example.com\n"
	const set = profile + "    on_finish: [/usr/local/bin/report, payroll]\n    metrics: ~/till.prom\n"
	for _, c := range []struct {
		file, args, want string // the program, its origin, the name of the file of metrics, its origin
	}{
		{profile, "", "[] default, . default"},
		{set, "", "[/usr/local/bin/report payroll] profile live, till.prom profile live"},
		{set, "--on-finish=/bin/true --metrics=m/a.prom", "[/bin/true] flag --on-finish, a.prom flag --metrics"},
		{profile, "--on-finish=/bin/true", "[/bin/true] flag --on-finish, . default"},
		{profile, "--on-finish=report", `--on-finish: "report" is not an absolute path: write one, without arguments`},
	} {
		in := input(t, write(t, c.file), nil)
		in.Command = pflag.NewFlagSet("apply", pflag.ContinueOnError)
		in.Command.String("on-finish", "", "")
		in.Command.String("metrics", "", "")
		must(t, in.Command.Parse(strings.Fields(c.args)))
		s, err := Resolve(in)
		got := fmt.Sprintf("%v %s, %s %s", s.OnFinish, s.Origin("on_finish"), filepath.Base(s.Metrics), s.Origin("metrics"))
		if err != nil {
			got = err.Error()
		}
		if got != c.want || strings.HasPrefix(s.Metrics, "~") {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
}
