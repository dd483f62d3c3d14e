package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/near"
	"example.com/till/internal/render"
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
)

// often are the settings that tests change most.
var often = []string{"first_page", "default_page_size", "list_order", "withdrawal_flow", "withdrawal_pace", "order_id_format",
	"duplicate_order_ids", "invoice_statuses", "payment_fails", "requests_per_second"}

func settingsCommand(a *cmdutil.App) *cobra.Command {
	var every bool
	cmd := cmdutil.WithView(a, cmdutil.OneOrList, cmdutil.StructView[setting]("name"), &cobra.Command{
		Use:               "settings [SETTING]",
		Short:             "List the choices that the sandbox makes, for --set",
		ValidArgsFunction: cobra.FixedCompletions(describedSettings(""), cobra.ShellCompDirectiveNoFileComp),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			out, err := cmdutil.NewOutput(s, render.Struct[setting]("name"))
			if err != nil {
				return err
			}
			all, err := currentSettings(s)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if s.Render.Format == render.Table && out.Tabular() && !every {
					all = slices.DeleteFunc(all, func(one setting) bool { return !slices.Contains(often, one.Name) })
					s.Note("these are changed most; --all lists %d", len(sandbox.Settings()))
				}
				return out.Slice(all)
			}
			i := slices.IndexFunc(all, func(one setting) bool { return one.Name == args[0] })
			if i < 0 {
				return unknownSetting("", args[0])
			}
			return out.One(all[i])
		}),
	})
	cmd.Flags().BoolVar(&every, "all", false, "list those that are seldom changed too")
	cmd.AddCommand(settingsSetCommand(a))
	return cmd
}

type setting struct {
	Name    string `json:"name" column:"own whole: name of the setting, for --set"`
	Value   string `json:"value" column:"text detail: value that it has now, in the sandbox that your settings lead to"`
	Default string `json:"default" column:"own: value if it is not set"`
	Values  string `json:"values" column:"own: values that it can have"`
	Meaning string `json:"meaning" column:"own detail: what it decides"`
}

// currentSettings returns every setting, with the values of the sandbox that is served, if there is one.
func currentSettings(s *cmdutil.Session) (all []setting, err error) {
	var now map[string]string
	if servesHere(s) {
		actOnSandbox(s)
		if now, err = ask[map[string]string](s, "/sandbox/settings"); errors.Is(err, cmdutil.ErrDryRun) {
			return nil, err
		} else if err != nil {
			s.Note("the values are the defaults, because the sandbox does not tell its own: %v", err)
		}
	}
	for _, one := range sandbox.Settings() {
		value, served := now[one.Name]
		if !served {
			value = one.Default
		}
		all = append(all, setting{one.Name, value, one.Default, one.Values, one.Meaning})
	}
	return all, nil
}

func settingNames() []string {
	var names []string
	for _, s := range sandbox.Settings() {
		names = append(names, s.Name)
	}
	return names
}

func unknownSetting(prefix, name string) error {
	msg := fmt.Sprintf("%sthere is no setting %q", prefix, name)
	if question := near.Question(name, "", settingNames()); question != "" {
		return exit.UsageError(msg, question)
	}
	return exit.UsageError(msg, "see", "sandbox", "settings", "--all")
}

// parseSettings reads settings as NAME=VALUE. The prefix begins each error.
func parseSettings(prefix string, texts []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		_, twice := values[name]
		switch {
		case !found:
			return nil, exit.UsageError(fmt.Sprintf("%s%q is not NAME=VALUE", prefix, text), "see", "sandbox", "settings")
		case twice:
			return nil, exit.UsageError(fmt.Sprintf("%s%s is given twice", prefix, name), "leave one out")
		case !slices.Contains(settingNames(), name):
			return nil, unknownSetting(prefix, name)
		}
		values[name] = value
	}
	return values, nil
}

func completeSettings(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return describedSettings("="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func describedSettings(suffix string) (names []cobra.Completion) {
	for _, s := range sandbox.Settings() {
		names = append(names, cobra.CompletionWithDesc(s.Name+suffix, s.Meaning))
	}
	return names
}

type settingValue struct {
	Name  string `json:"name" column:"own whole: name of the setting"`
	Value string `json:"value" column:"own: value that it has now"`
}

func settingsSetCommand(a *cmdutil.App) *cobra.Command {
	return newControl(a, cmdutil.List, cmdutil.StructView[settingValue]("name"), &cobra.Command{
		Use:   "set NAME=VALUE...",
		Short: "Change settings of a sandbox while it runs",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return exit.UsageError(cmdline.CommandName(cmd)+" needs NAME=VALUE", "see", "sandbox", "settings")
			}
			return nil
		},
		ValidArgsFunction: completeSettings,
	}, func(s *cmdutil.Session, out cmdutil.Output[settingValue], args []string) error {
		values, err := parseSettings("", args)
		if err != nil {
			return err
		}
		if err := requireServed(s, "keeps no settings"); err != nil {
			return err
		}
		now, err := tell[map[string]string](s, "/sandbox/settings", values)
		if err != nil {
			return refusedInput(err, "")
		}
		var rows []settingValue
		for _, name := range settingNames() {
			if _, changed := values[name]; changed {
				rows = append(rows, settingValue{name, now[name]})
			}
		}
		return out.Slice(rows)
	})
}
