package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.com/till/internal/money"
	"example.com/till/internal/place"
	"example.com/till/internal/usage"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Input is everything that settings are made from.
type Input struct {
	Ctx     context.Context     // ends the wait for a configuration that is a pipe
	Flags   *pflag.FlagSet      // of AddFlags, or some of them: the persistent flags of the root command
	Command *pflag.FlagSet      // the command's own flags, for settings with a local flag. May be nil
	Env     func(string) string // os.Getenv, or a test's
	Home    string              // the home directory, or empty if there is none

	// SandboxCurrencies returns the currencies of the built-in profile. It is called only for that profile.
	SandboxCurrencies func() []money.Entry
}

// typed returns what a person typed for a setting: the value of a flag, which may be empty, or else of a variable.
func (in Input) typed(f *pflag.Flag, variable string) (string, Origin) {
	if f != nil && f.Changed {
		return f.Value.String(), Origin{Kind: FromFlag, Name: f.Name}
	}
	if text := in.Env(variable); text != "" {
		return text, Origin{Kind: FromVariable, Name: variable}
	}
	return "", Origin{}
}

// choice returns what a person typed to choose the profile or the file.
func (in Input) choice(flag, variable string) (string, Origin) {
	return in.typed(in.Flags.Lookup(flag), variable)
}

// Resolve loads the configuration, chooses the profile, and returns every setting.
func Resolve(in Input) (Settings, error) {
	file, err := in.Load()
	if err != nil {
		return Settings{}, err
	}
	name, from, err := in.chooseProfile(file)
	if err != nil {
		return Settings{}, err
	}
	profile := file.Profiles[name]
	s := Settings{Profile: name, Sandbox: name == Sandbox, ConfigFile: file.Path,
		Layouts: file.Layouts, Limits: profile.Limits, ApprovalsAbove: profile.ApprovalsAbove,
		OnFinish: profile.Lists[keyOnFinish], Money: file.registry(profile),
		Common: file.Currencies, Own: profile.Currencies,
		home: in.Home, profile: profile, profiles: file.Names(), merged: viper.New(),
		origins: map[string]Origin{"config_file": file.named, "profile": from}}
	if err := s.merge(in); err != nil {
		return Settings{}, err
	}
	if err := s.merged.Unmarshal(&s); err != nil {
		return Settings{}, failf("the settings cannot be decoded: %w", err)
	}
	s.keyFlag = s.merged.GetString("api_key_flag")
	if s.origins[keyOnFinish].Kind == FromFlag {
		s.OnFinish = []string{s.merged.GetString(keyOnFinish)}
	}
	if s.Sandbox {
		s.Money = money.NewRegistry().With(in.SandboxCurrencies()...).Closed()
	}
	// already checked when it was read
	if s.TimeZone, err = time.LoadLocation(s.merged.GetString("time_zone")); err != nil {
		return Settings{}, failf("time_zone: %w", err)
	}
	err = s.finish(in)
	return s, err
}

// chooseProfile returns the profile's name, or "" for none, and where the choice comes from.
func (in Input) chooseProfile(file File) (name string, from Origin, err error) {
	short, _ := in.choice("sandbox", "")
	name, from = in.choice("profile", "TILL_PROFILE")
	switch {
	case from.Kind == FromFlag && short == "true" && name != Sandbox:
		return "", from, usage.Errorf("--sandbox and --profile %s name two profiles: leave one out", name)
	case from.Kind == FromFlag && name == "":
		return "", from, usage.Errorf("--profile is empty: write the name of a profile")
	case from.Kind == FromFlag:
	case short == "true":
		name, from = Sandbox, Origin{Kind: FromFlag, Name: "sandbox"}
	case from.Kind == FromVariable:
	case file.Current != "":
		name, from = file.Current, Origin{Kind: FromFile, Name: "current"}
	default:
		return "", from, nil
	}
	return name, from, file.MustExist(name, " ("+from.String()+")")
}

// merge merges the sources in order of precedence, checks what a person typed, and records where each value comes
// from. Viper would read the process's environment itself. Here the environment is an input, so merge puts it over
// the profile.
func (s *Settings) merge(in Input) error {
	v := s.merged
	v.SetDefault("account", cmp.Or(s.Profile, "default"))
	if dir := in.StateDir(); dir != "" {
		v.SetDefault("journal", filepath.Join(dir, "journal.db"))
		v.SetDefault("sandbox_state", filepath.Join(dir, "sandbox.db"))
	}
	s.ProfileJournal = expandHome(s.home, s.profile.Values["journal"])
	for _, row := range table {
		if row.def != nil {
			v.SetDefault(row.key, row.def)
		}
		f := in.Flags.Lookup(row.flag)
		if row.local != "" && in.Command != nil {
			f = in.Command.Lookup(row.local)
		}
		if f != nil {
			if err := v.BindPFlag(row.key, f); err != nil {
				return err
			}
		}
		text, from := in.typed(f, row.env)
		if from.typed() == "" { // it was checked when the file was read
			text, from = s.fromProfile(row, from)
		} else if err := row.checkTyped(text); err != nil {
			return wrongValue(from.Kind == FromFlag, from.typed(), err)
		}
		if s.origins[row.key] = from; from.Kind != FromFlag && text != "" {
			v.Set(row.key, text)
		}
	}
	return nil
}

// fromProfile returns the text that the profile has for a setting, or the given origin.
func (s *Settings) fromProfile(row setting, otherwise Origin) (text string, from Origin) {
	if s.profile.Text(row.key) == "" {
		return "", otherwise
	}
	if text = s.profile.Values[row.key]; row.home {
		text = expandHome(s.home, text)
	}
	return text, Origin{Kind: FromProfile, Name: s.Profile}
}

// wrongValue returns the error for a value of a setting. A dangerous value is not a usage error.
func wrongValue(isArgument bool, name string, err error) error {
	if isArgument && !errors.Is(err, errPlainHTTP) && !errors.As(err, new(place.Error)) {
		return &usage.Error{Msg: fmt.Sprintf("%s: %v", name, err), Advice: hint(err)}
	}
	return failf("%s: %v", name, err).advise("%s", hint(err))
}

// checkPassword refuses the address of a journal if its password was given on a command line.
func checkPassword(what, journal string) error {
	if place.IsPostgres(journal) && place.Redact(journal) != journal {
		return usage.Errorf("%s has a password, and other users can read a command line: put the address into TILL_JOURNAL or, by hand, into the profile, or the password into ~/.pgpass", what)
	}
	return nil
}

// finish sets and checks what depends on more than one setting.
func (s *Settings) finish(in Input) error {
	s.BaseURL, _ = NormalizeBaseURL(s.BaseURL)
	if s.Sandbox && s.BaseURL != "" && !IsLoopbackURL(s.BaseURL) {
		return usage.Errorf("the profile %s is for this machine, and %s (%s) is elsewhere: leave the address out, or use another profile", Sandbox, s.BaseURL, s.origins["base_url"])
	}
	if s.origins["journal"].Kind == FromFlag {
		if err := checkPassword("--journal", s.Journal); err != nil {
			return err
		}
	}
	if err := s.finishOutput(); err != nil {
		return err
	}
	if color, variable := Color(s.Color, in.Env); variable != "" {
		s.Color, s.origins["color"] = color, Origin{Kind: FromVariable, Name: variable}
	}
	return nil
}

// Color returns --color, or in place of auto what a variable says, and which variable that is.
func Color(choice string, env func(string) string) (color, variable string) {
	force := env("CLICOLOR_FORCE")
	switch {
	case choice == "always", choice == "never":
	case env("NO_COLOR") != "":
		return "never", "NO_COLOR"
	case force != "" && force != "0":
		return "always", "CLICOLOR_FORCE"
	}
	return choice, ""
}

func (s *Settings) finishOutput() error {
	if s.JQ != "" && s.Template != "" {
		return usage.Errorf("--jq and --template both say what to print: leave one out")
	}
	for _, filter := range []struct{ flag, value string }{{"jq", s.JQ}, {"template", s.Template}} {
		switch {
		case filter.value == "":
		case s.origins["output"].Kind != FromFlag:
			s.Output, s.origins["output"] = "json", Origin{Kind: FromFlag, Name: filter.flag}
		case s.Output != "json" && s.Output != "jsonl":
			return usage.Errorf("--%s works on JSON, and --output is %s: leave --output out", filter.flag, s.Output)
		}
	}
	switch {
	case s.CSVFor == "" && s.origins["locale"].Kind == FromFlag:
		return usage.Errorf("--locale is about --csv-for: add --csv-for excel, or leave it out")
	case s.CSVFor == "":
	case s.JQ != "" || s.Template != "" || s.Quiet || s.Output != "csv" && s.origins["output"].Kind == FromFlag:
		return usage.Errorf("--csv-for writes CSV: leave --output, --jq, --template and --quiet out")
	default:
		s.Output, s.origins["output"] = "csv", Origin{Kind: FromFlag, Name: "csv-for"}
	}
	return nil
}

// Path returns the path of the configuration file, and the flag or variable that names it, if any. Without
// either, a missing home directory is an error and not an empty configuration: the limits of a profile must
// not disappear with a variable.
func (in Input) Path() (path string, from Origin, err error) {
	switch path, from = in.choice("config", "TILL_CONFIG"); {
	case path == "" && !from.IsDefault():
		return "", from, usage.Errorf("--config is empty: write the path of a configuration file")
	case !from.IsDefault():
		return path, from, nil
	}
	dir := in.xdg("XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return "", from,
			failf("the configuration cannot be found: %s, nor is XDG_CONFIG_HOME: set one of them, or TILL_CONFIG",
				noHome(in.Home)).
				advise("type: export TILL_CONFIG=/dev/null, to go without a configuration")
	}
	return filepath.Join(dir, "config.yaml"), from, nil
}

func noHome(home string) string {
	if home == "" {
		return "HOME is not set"
	}
	return fmt.Sprintf("HOME is not an absolute path (%q)", home)
}

// NoHome says why there is no home directory, if there is no StateDir.
func (s Settings) NoHome() string { return noHome(s.home) }

// StateDir returns the directory of the journal and the sandbox state, or "" without a home directory.
func (in Input) StateDir() string { return in.xdg("XDG_STATE_HOME", ".local/state") }

// xdg returns the program's directory below one of the XDG base directories. It ignores a relative path, as
// the XDG specification requires.
func (in Input) xdg(variable, fallback string) string {
	base := in.Env(variable)
	if !filepath.IsAbs(base) {
		if !filepath.IsAbs(in.Home) {
			return ""
		}
		base = filepath.Join(in.Home, fallback)
	}
	return filepath.Join(base, "till")
}
