package config

import (
	"strings"
	"time"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	"github.com/spf13/viper"
)

// Settings are the settings in effect for one command.
type Settings struct {
	Profile    string `mapstructure:"-"` // empty: none
	Sandbox    bool   `mapstructure:"-"` // whether Profile is the built-in one
	ConfigFile string `mapstructure:"-"`

	BaseURL string `mapstructure:"base_url"` // normalised; empty: none, or with Sandbox the embedded one
	Account string `mapstructure:"account"`
	CAFile  string `mapstructure:"ca_file"`

	Output    string        `mapstructure:"output"`
	JQ        string        `mapstructure:"jq"`
	Template  string        `mapstructure:"template"`
	Columns   []string      `mapstructure:"columns"`
	Sort      string        `mapstructure:"sort"`
	CSVFor    string        `mapstructure:"csv_for"`
	Locale    string        `mapstructure:"locale"`
	NoHeaders bool          `mapstructure:"no_headers"`
	Quiet     bool          `mapstructure:"quiet"`
	Color     string        `mapstructure:"color"` // auto, always, never
	Yes       bool          `mapstructure:"yes"`
	NoInput   bool          `mapstructure:"no_input"` // the caller adds whether standard input is a terminal
	DryRun    bool          `mapstructure:"dry_run"`
	Debug     bool          `mapstructure:"debug"`
	Timeout   time.Duration `mapstructure:"timeout"` // zero: 30s for reads, 90s for creates
	Retries   int           `mapstructure:"retries"`

	Journal         string         `mapstructure:"journal"` // a path or postgres://...; empty without a home
	ProfileJournal  string         `mapstructure:"-"`       // the journal that the profile names, or empty
	SandboxState    string         `mapstructure:"sandbox_state"`
	ResellerAuth    string         `mapstructure:"reseller_auth"` // bearer, none
	FirstPage       string         `mapstructure:"first_page"`    // auto, 0, 1
	TimeLayout      string         `mapstructure:"time_layout"`
	TimeZone        *time.Location `mapstructure:"-"`
	Lookup          string         `mapstructure:"lookup"`       // auto, always, never
	LookupSince     string         `mapstructure:"lookup_since"` // as written; empty: from the beginning
	LookupTimeout   time.Duration  `mapstructure:"lookup_timeout"`
	SettleAfter     time.Duration  `mapstructure:"settle_after"`
	DuplicateWindow time.Duration  `mapstructure:"duplicate_window"`
	Metrics         string         `mapstructure:"metrics"` // empty: none
	OnFinish        []string       `mapstructure:"-"`       // a program and its arguments; empty: none

	Layouts        map[string]sheet.Layout `mapstructure:"-"` // of the files of payments, by name
	Approvals      int                     `mapstructure:"approvals"`
	Approvers      string                  `mapstructure:"approvers"` // a path
	ApprovalsAbove []api.Amount            `mapstructure:"-"`

	ReadOnly bool           `mapstructure:"read_only"` // nothing may be created
	Limits   money.Limits   `mapstructure:"-"`
	Money    money.Registry `mapstructure:"-"` // the currencies
	Common   []money.Entry  `mapstructure:"-"` // the file's currencies
	Own      []money.Entry  `mapstructure:"-"` // the profile's

	home     string
	keyFlag  string            // --api-key-file
	profile  Profile           // as the file has it
	profiles []string          // all of the file, by name
	origins  map[string]Origin // by key; a missing one is a default
	merged   *viper.Viper      // all sources
}

// RequireBaseURL returns the address for a command that calls the service. In the profile sandbox, "" means
// the sandbox inside this program.
func (s Settings) RequireBaseURL() (string, error) {
	switch {
	case s.BaseURL != "" || s.Sandbox:
		return s.BaseURL, nil
	case s.Profile == "":
		return "", s.NoProfile()
	}
	return "", failf("the profile %s has no address", s.Profile).advise(setUp, s.Profile)
}

const setUp = "type: till profile set %s base_url=https://... && till auth login, or try it out without a service: till --sandbox ..."

// NoProfile returns the error for a command that needs a profile, where none is in use.
func (s Settings) NoProfile() error {
	if len(s.profiles) == 0 {
		return failf("no service is set up yet").advise(setUp, "live")
	}
	return &Error{Msg: "no profile is in use: name one with --profile (" + strings.Join(s.profiles, ", ") + "), or choose it",
		Advice: "type", Command: []string{"profile", "use", s.profiles[0]}}
}
