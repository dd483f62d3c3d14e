package cmdutil

import (
	"slices"

	"example.com/till/internal/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Misused makes ready to report a command line that was refused before the command began. What can be read of
// it, and the profile, say who gets the report.
func (a *App) Misused(cmd *cobra.Command, args []string) {
	if cmd.Flags().Lookup(onFinishFlag) == nil {
		return
	}
	a.Running, a.Began = true, a.IO.Now()
	setRest(cmd.Flags(), args)
	in := a.Input(cmd)
	settings, err := config.Resolve(in)
	if err != nil { // perhaps for these flags
		in.Command = nil
		settings, err = config.Resolve(in)
	}
	if err == nil {
		a.session = &Session{App: a, Cmd: cmd, Settings: settings}
	}
}

// setRest sets the flags that say who gets the report, as far as parsing ended before them.
func setRest(flags *pflag.FlagSet, args []string) {
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	rest.ParseErrorsAllowlist.UnknownFlags = true
	flags.VisitAll(func(f *pflag.Flag) {
		rest.StringP(f.Name, f.Shorthand, "", "")
		rest.Lookup(f.Name).NoOptDefVal = f.NoOptDefVal
	})
	if rest.Lookup("help") == nil {
		rest.BoolP("help", "h", false, "")
	}
	rest.Parse(args) // as far as possible
	rest.Visit(func(f *pflag.Flag) {
		decides := []string{onFinishFlag, metricsFlag, "profile", "sandbox", "config", "base-url", "dry-run"}
		if slices.Contains(decides, f.Name) && !flags.Changed(f.Name) {
			flags.Set(f.Name, f.Value.String()) // a value that is wrong is left out
		}
	})
}
