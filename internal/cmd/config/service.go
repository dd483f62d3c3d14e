package config

import (
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// ServiceCommand returns the service command.
func ServiceCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group("service", "Find out what the interface leaves open", serviceCheckCommand(a))
}

func serviceCheckCommand(a *cmdutil.App) *cobra.Command {
	var write bool
	cmd := cmdutil.NewCommand(a, cmdutil.List, findingView, &cobra.Command{
		Use:   "check",
		Short: "Find out what the service does where the interface is silent",
		Long: `Read the first 1000 withdrawals of the service's list, and ask for a few odd
pages and periods, and for resellers. Nothing is sent or changed. Each choice
has the name and the value of the setting of the sandbox that does the same,
where there is one: see till sandbox settings. What cannot be told stays empty.

It looks at pages, filters, the times and fields of withdrawals, unknown keys,
and the form of invites, balances and lists of invoices of resellers. It does
not look at what only a create or a callback shows, other invoices, statistics,
rebates in detail, include_fiat, or whether resellers' calls need the key.

The settings that it finds for the profile are printed, and --write writes them
into it. Times whose day and month can be exchanged are ambiguous: it writes no
time_layout for them. Decimals cannot be proven by reading: see till currency
check.`,
		Example: `  till service check
  till service check -o jsonl`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[finding], _ []string) error {
		if err := s.NoDryRun("service check"); err != nil {
			return err
		}
		found, err := checkService(s)
		if err != nil {
			return err
		}
		if err := out.Slice(found); err != nil {
			return err
		}
		var settings []string
		for _, f := range found {
			if f.Setting != "" {
				settings = append(settings, f.Setting)
			}
		}
		return useSettings(a, s, settings, write)
	})
	cmd.Flags().BoolVar(&write, "write", false, "write the settings that it finds into the profile")
	return cmd
}

// useSettings writes settings into the profile in use, or notes how to.
func useSettings(a *cmdutil.App, s *cmdutil.Session, settings []string, write bool) error {
	switch {
	case len(settings) == 0:
		return s.Note("the profile %s needs no other settings for what was found", s.ProfileName())
	case s.Profile == "" || s.Profile == config.Sandbox:
		return s.Note("the settings belong into a profile, which till profile set makes: %s", strings.Join(settings, ", "))
	case !write:
		return s.NoteCommand(append([]string{"profile", "set", s.Profile}, settings...),
			"settings for the profile %s, which --write writes:", s.Profile)
	}
	err := edit(a, s.Cmd, func(d *config.Document) error { return d.SetProfile(s.Profile, settings...) })
	if err != nil {
		return err
	}
	return s.Note("written into the profile %s: %s", s.Profile, strings.Join(settings, ", "))
}

func findingView(money.Registry) render.View[finding] {
	type row = finding
	return viewOf(func(r row) string { return r.Choice },
		column("choice", "what the interface does not show", render.Own, func(r row) string { return r.Choice }),
		column("found", "what the service does; empty if it cannot be told", render.Text,
			func(r row) string { return r.Found }),
		render.Column[row]{Name: "why", About: "what shows it", Whole: true,
			Cell: func(r row) render.Cell { return render.Text(r.Why) }},
		render.Column[row]{Name: "setting", About: "setting to write into the profile", Extra: true,
			Cell: func(r row) render.Cell { return render.Own(r.Setting) }})
}
