package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFinishFlags checks that the flags of a command override the profile.
func TestFinishFlags(t *testing.T) {
	const profile = "current: live\nprofiles:\n  live:\n    base_url: https://pay.example.com\n"
	const set = profile + "    on_finish: [/usr/local/bin/report, payroll]\n    metrics: ~/till.prom\n"
	for name, c := range map[string]struct {
		file              string
		args              []string
		onFinish          []string
		metrics           string
		from, metricsFrom string
		wantErr           string
		withoutTheseFlags bool
	}{
		"neither": {file: profile, from: "default", metricsFrom: "default"},
		"profile": {file: set, onFinish: []string{"/usr/local/bin/report", "payroll"}, metrics: "till.prom",
			from: "profile live", metricsFrom: "profile live"},
		"flag": {file: set, args: []string{"--on-finish", "/bin/true", "--metrics", "m/a.prom"},
			onFinish: []string{"/bin/true"}, metrics: "a.prom", from: "flag --on-finish", metricsFrom: "flag --metrics"},
		"flag alone": {file: profile, args: []string{"--on-finish", "/bin/with space"},
			onFinish: []string{"/bin/with space"}, from: "flag --on-finish", metricsFrom: "default"},
		"another command": {file: set, withoutTheseFlags: true, onFinish: []string{"/usr/local/bin/report", "payroll"},
			metrics: "till.prom", from: "profile live", metricsFrom: "profile live"},
		"relative program": {file: profile, args: []string{"--on-finish", "report"},
			wantErr: `--on-finish: "report" is not an absolute path`},
		"program with space": {file: profile, args: []string{"--on-finish", " /bin/true"},
			wantErr: "begins or ends in a space"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, write(t, c.file), nil)
			in.Command = pflag.NewFlagSet("apply", pflag.ContinueOnError)
			if !c.withoutTheseFlags {
				in.Command.String("on-finish", "", "")
				in.Command.String("metrics", "", "")
			}
			if err := in.Command.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			s, err := Resolve(in)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.OnFinish, c.onFinish) || s.Origin("on_finish").String() != c.from {
				t.Errorf("on_finish is %q from %s", s.OnFinish, s.Origin("on_finish"))
			}
			if got := s.Metrics; got != "" && filepath.Base(got) != c.metrics || got == "" && c.metrics != "" ||
				strings.HasPrefix(got, "~") || s.Origin("metrics").String() != c.metricsFrom {
				t.Errorf("metrics is %q from %s", got, s.Origin("metrics"))
			}
		})
	}
}
