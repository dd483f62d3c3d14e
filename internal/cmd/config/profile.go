package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// ProfileCommand returns the profile command.
func ProfileCommand(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("profile", "Manage profiles: the settings of a service",
		profileListCommand(a), profileShowCommand(a), profileUseCommand(a), profileSetCommand(a),
		profileRemoveCommand(a))
}

func profileListCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.WithView(a, cmdutil.List, profileView, &cobra.Command{
		Use:   "list",
		Short: "List the profiles, and which is the current one",
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, file, err := beginFile(a, cmd)
			if err != nil {
				return err
			}
			var rows []profileLine
			for _, name := range append(file.Names(), config.Sandbox) {
				rows = append(rows, newProfileLine(file, name))
			}
			if err := out.Slice(rows); err != nil {
				return err
			}
			if len(file.Profiles) == 0 {
				a.NoteCommand([]string{"profile", "set", "live", "base_url=https://..."}, "no profile is set up yet; before till auth login, type:")
			}
			noteOverride(a, file.Current)
			return nil
		},
	})
}

func beginFile(a *cmdutil.App, cmd *cobra.Command) (out cmdutil.Output[profileLine], file config.File, err error) {
	if _, out, err = cmdutil.BeginAlone(a, cmd, profileView); err == nil {
		file, err = a.Input(cmd).Load()
	}
	return out, file, err
}

func noteOverride(a *cmdutil.App, current string) {
	if name := a.IO.Env("TILL_PROFILE"); name != "" && name != current {
		a.Note("TILL_PROFILE names the profile %s, which overrides the current one", name)
	}
}

func profileShowCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.WithView(a, cmdutil.One, profileView, &cobra.Command{
		Use:               "show [NAME]",
		Short:             "Show a profile as it is in the configuration",
		ValidArgsFunction: a.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			out, file, err := beginFile(a, cmd)
			if err != nil {
				return err
			}
			name := strings.Join(args, "")
			if len(args) == 0 {
				settings, err := config.Resolve(a.Input(cmd))
				if err != nil {
					return err
				}
				if name = settings.Profile; name == "" {
					return settings.NoProfile()
				}
			}
			if err := file.MustExist(name, ""); err != nil {
				return err
			}
			row := newProfileLine(file, name)
			isSet := func(key string) bool { return row.Text(key) != "" }
			out.View = out.View.Extra(slices.DeleteFunc(config.ProfileKeys(), isSet)...)
			return out.One(row)
		},
	})
}

func profileUseCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Make a profile the current one",
		ValidArgsFunction: a.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if err := edit(a, cmd, func(d *config.Document) error { return d.UseProfile(name) }); err != nil {
				return err
			}
			a.Note("the current profile is %s", name)
			noteOverride(a, name)
			return nil
		},
	}
}

func profileSetCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME KEY=VALUE...",
		Short: "Change settings of a profile, or make a new one",
		ValidArgsFunction: func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 0 {
				return a.CompleteProfiles(cmd, given, typed)
			}
			return completeKeys(given[1:], typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			about := slices.ContainsFunc(args[1:], func(text string) bool { return strings.HasPrefix(text, "approv") })
			var before config.File
			err := edit(a, cmd, func(d *config.Document) error {
				before = d.File
				err := d.SetProfile(name, args[1:]...)
				if err == nil && about {
					err = d.CheckApprovers(name, a.Input(cmd).Home)
				}
				return err
			})
			_, existed := before.Profiles[name]
			switch {
			case err != nil:
				if existed { // a currency that the error says to set is one of this profile
					_ = a.Global.Set("profile", name)
				}
				return err
			case existed:
				a.Note("the profile %s is changed", name)
			case len(before.Profiles) == 0 && before.Current == "":
				a.Note("the profile %s is made, and is the current one", name)
				noteOverride(a, name)
			default:
				a.NoteCommand([]string{"profile", "use", name}, "the profile %s is made; use it with --profile %s, or always with:",
					name, name)
			}
			if !about {
				return nil
			}
			file, err := a.Input(cmd).Load()
			noteApprovals(a, file.Profiles[name])
			return err
		},
	}
}

// noteApprovals says what the approvals of a profile keep from being sent.
func noteApprovals(a *cmdutil.App, p config.Profile) {
	n, _ := strconv.Atoi(p.Values["approvals"])
	persons, above := cmdutil.CountOf(n, "person"), strings.Join(p.Lists["approvals_above"], " or ")
	switch {
	case n == 0:
	case above == "":
		a.Note("%s must approve all that is sent with it: make a plan, and have it approved with till payout approve; "+
			"till withdraw create sends nothing, unless approvals_above says up to which totals nobody must approve", persons)
	default:
		a.Note("%s must approve what is more than %s, and all in other currencies: make a plan, and have it approved with "+
			"till payout approve; till withdraw create sends no more than that", persons, above)
	}
}

// completeKeys completes the KEY= of a setting that is not given yet.
func completeKeys(given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveDefault // the value may be a path
	}
	var offers []string
	for _, k := range config.ProfileSettings() {
		set := slices.ContainsFunc(given, func(text string) bool { return strings.HasPrefix(text, k.Name+"=") })
		if !set && k.Name != "currencies" && strings.HasPrefix(k.Name, typed) {
			offers = append(offers, cmdline.WithText(k.Name+"=", k.About))
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func profileRemoveCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME",
		Short:             "Remove a profile from the configuration",
		ValidArgsFunction: a.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, current := args[0], ""
			if name == config.Sandbox {
				return exit.UsageError("the profile sandbox is built in and cannot be removed", "see", "profile", "list")
			}
			err := edit(a, cmd, func(d *config.Document) error {
				current = d.File.Current
				return d.RemoveProfile(name)
			})
			if err != nil {
				return err
			}
			a.Note("the profile %s is removed", name)
			if name == current {
				a.NoteCommand([]string{"profile", "use", "NAME"}, "no profile is the current one now; choose one with:")
			}
			return nil
		},
	}
}

// changing completes a command that changes something for the profile in use. The profile sandbox cannot be
// changed, and why is the message for it.
func changing(
	a *cmdutil.App, why string, cmd *cobra.Command, run func(*cmdutil.Session, []string) error,
) *cobra.Command {
	cmd.RunE = a.WithSession(func(s *cmdutil.Session, args []string) error {
		cmdline.Declared(cmd, cmdline.Files)
		if s.Sandbox {
			return exit.UsageError(why, "choose another profile with --profile; for a sandbox that is served, one of your own: till profile set NAME base_url=http://127.0.0.1:PORT")
		}
		return run(s, args)
	})
	return cmd
}

func edit(a *cmdutil.App, cmd *cobra.Command, change func(*config.Document) error) error {
	cmdline.Declared(cmd, cmdline.Files)
	if err := cmdline.CheckDryRun(cmd); err != nil {
		return err
	}
	path, _, err := a.Input(cmd).Path()
	if err != nil {
		return err
	}
	return config.Edit(path, change)
}

type profileLine struct {
	config.Profile
	name    string
	current bool
}

func newProfileLine(file config.File, name string) profileLine {
	return profileLine{file.Profiles[name], name, name == file.Current}
}

func (p profileLine) builtIn() bool { return p.name == config.Sandbox }

// json returns a profile with the settings that are set, in the order of config.ProfileKeys.
func (p profileLine) json() []byte {
	line := fmt.Appendf(nil, `{"name":%s,"current":%t,"built_in":%t`, render.Encode(p.name), p.current, p.builtIn())
	for _, key := range config.ProfileKeys() {
		text := p.Text(key)
		value := render.Encode(text)
		switch list := p.Lists[key]; {
		case text == "":
			continue
		case key == "currencies":
			var rows []currencyRow
			for _, e := range p.Currencies {
				rows = append(rows, newCurrencyRow(e, ""))
			}
			value = render.Encode(rows)
		case list != nil:
			value = render.Encode(list)
		}
		line = fmt.Appendf(line, ",%q:%s", key, value)
	}
	return append(line, '}')
}

func profileView(money.Registry) render.View[profileLine] {
	type row = profileLine
	view := render.View[row]{
		ID:   func(r row) string { return r.name },
		JSON: render.Received[row](row.json),
		Columns: []render.Column[row]{
			render.Field("name", "name of the profile", render.Own, func(r row) string { return r.name }),
			render.Field("current", "whether it is the current profile", render.Bool, func(r row) bool { return r.current }),
			render.Field("built_in", "whether till has it without a configuration", render.Bool, row.builtIn),
		},
	}.Extra("built_in")
	for _, k := range config.ProfileSettings() {
		listed := k.Name == "base_url" || k.Name == "account"
		view.Columns = append(view.Columns, render.Column[row]{
			Name: k.Name, About: k.About, Extra: !listed, Detail: true,
			Cell: func(r row) render.Cell { return render.Own(r.Text(k.Name)) },
		})
	}
	return view
}
