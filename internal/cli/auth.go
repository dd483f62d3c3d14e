package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func authCommand(a *app) *cobra.Command {
	return group("auth", "Keep the key of a service on this machine", authLogin(a), authStatus(a), authLogout(a))
}

func authLogin(a *app) *cobra.Command {
	store := "keyring"
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Keep the key of the profile in use",
		Long: `Read the key of the service, from a prompt that does not show it or from
standard input, and keep it in the keyring of this machine: till auth login.
Where there is no keyring, that fails and nothing is kept; --store file keeps
the key in a file beside the configuration, which only you can read, and names
that file in the profile.`,
		Example: `  till auth login --store file < key.txt
  till auth login --store file --api-key-file key.txt`,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 { // which may be the key
				return usageError("auth login takes no argument, because a command line is public", "give the key on standard input, < FILE", "auth", "login")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if store != "keyring" && store != "file" {
				return usageError("--store: a key is kept in the keyring or a file", "write keyring or file")
			}
			s, err := startAuth(a, cmd)
			if err != nil {
				return err
			}
			if _, err := s.RequireBaseURL(); err != nil {
				return err
			}
			key, err := newKey(s, cmd)
			if err != nil {
				return err
			}
			place := "the keyring"
			if store == "file" {
				place, err = s.keys.StoreKeyFile(s.Settings, key)
			} else {
				_, err = s.keys.StoreKey(s.ctx, s.Settings, key)
			}
			if err != nil {
				return err
			}
			a.note("the key for %s is kept in %s; try it with: till auth status", s.serviceName(), place)
			if a.io.env("TILL_API_KEY") != "" {
				a.note("TILL_API_KEY is set and goes before it")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&store, "store", store, "where to keep it: keyring or file")
	offer(cmd, "store", cobra.FixedCompletions([]string{"keyring", "file"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// startAuth is for commands that change where the key is.
func startAuth(a *app, cmd *cobra.Command) (*session, error) {
	if err := noDryRun(cmd); err != nil {
		return nil, err
	}
	s, err := a.start(cmd)
	if err != nil {
		return nil, err
	}
	if s.Sandbox {
		return nil, usageError("the profile sandbox keeps no key, its sandbox has one of its own", "choose another profile with --profile")
	}
	return s, nil
}

// newKey reads the key that is to be kept.
func newKey(s *session, cmd *cobra.Command) (string, error) {
	if cmd.Flags().Changed("api-key-file") {
		key, _, err := s.keys.Key(s.ctx, s.Settings)
		return key, err
	}
	in := terminal.Of(s.io.In)
	if in == nil {
		key, err := interruptibly(s.ctx, func() (string, error) { return config.ReadKey(s.io.In) })
		if err != nil && s.ctx.Err() == nil {
			err = &config.Error{Msg: fmt.Sprintf("the key cannot be read from standard input: %v", err), Err: err}
		}
		return key, err
	}
	if !s.canAsk() {
		return "", usageError("the key cannot be asked for here", "give it on standard input, < FILE", "auth", "login")
	}
	fd := int(in.Fd())
	show, err := terminal.HideTyped(in) // before the question: a person may paste as soon as it shows
	if err != nil {
		return "", &config.Error{Msg: fmt.Sprintf("the terminal cannot be asked for the key: %v", err), Err: err}
	}
	fmt.Fprintf(s.io.Err, "Key for %s (profile %s): ", render.Safe(s.serviceName()), s.profileName())
	key, err := interruptibly(s.ctx, func() (string, error) {
		secret, err := term.ReadPassword(fd)
		return string(secret), err
	})
	fmt.Fprintln(s.io.Err)
	shown := show()
	if s.ctx.Err() != nil {
		return "", errors.Join(s.ctx.Err(), shown)
	}
	if err != nil {
		return "", usageError("no key was typed", "run it again, or give the key on standard input, < FILE", "auth", "login")
	}
	return key, nil
}

func authLogout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Remove the key that till auth login has kept",
		Long: `Remove the key of the profile in use from the keyring, and from the file that
till auth login --store file has made. A key that you keep elsewhere, with
api_key_command or api_key_file, stays.`,
		Example: `  till auth logout
  till auth logout --profile old`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := startAuth(a, cmd)
			if err != nil {
				return err
			}
			removed, err := s.keys.DeleteKey(s.ctx, s.Settings)
			if err != nil {
				return err
			}
			if len(removed) == 0 {
				a.note("there was no key to remove")
			}
			for _, place := range removed {
				a.note("the key is removed from %s", strings.Replace(place, "keyring", "the keyring", 1))
			}
			// The settings are from before: the source is still the file that is gone now, or the keyring.
			source := s.keys.Source(s.Settings)
			if gone := source == "keyring" || strings.HasSuffix(source, "api_key_file") && slices.ContainsFunc(removed, isPath); !gone {
				a.note("a key is still there, and comes from %s", nameOfSource(source))
			}
			return nil
		},
	}
}

func isPath(place string) bool { return place != "keyring" }

func authStatus(a *app) *cobra.Command {
	return shows(&cobra.Command{
		Use:   "status",
		Short: "Say where the key comes from, and try it",
		Long: `Say where the key comes from, and try it on a call that only reads. A key that
the service refuses ends it with exit code 31, and no key at all with 11.`,
		Example: `  till auth status
  till auth status --sandbox -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, out, err := begin(a, cmd, keyView)
			if err != nil {
				return err
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			source := s.sourceOfKey()
			for _, err := range client.Withdrawals.All(s.ctx, api.WithdrawalFilter{}, api.ListOptions{PageSize: 1, FirstPage: s.firstPage()}) {
				if err != nil {
					return withSource(refusedKey(err, source), source)
				}
				break
			}
			return out.one(keyRow{Profile: s.Profile, Service: s.serviceName(), Source: source, Accepted: true})
		},
	}, keyView)
}

// keyRow is what is known of the key. The key itself is not in it.
type keyRow struct {
	Profile  string `json:"profile"`
	Service  string `json:"service"`
	Source   string `json:"source"`
	Accepted bool   `json:"accepted"`
}

func keyView(money.Registry) render.View[keyRow] {
	type row = keyRow
	return render.View[row]{
		ID:   func(r row) string { return r.Source },
		JSON: func(r row) []byte { return render.Encode(r) },
		Columns: []render.Column[row]{
			{Name: "profile", Cell: func(r row) render.Cell { return render.Own(r.Profile) }},
			{Name: "service", Cell: func(r row) render.Cell { return render.Own(r.Service) }},
			{Name: "source", Cell: func(r row) render.Cell { return render.Own(r.Source) }},
			{Name: "accepted", Cell: func(r row) render.Cell { return render.Bool(r.Accepted) }},
		},
	}
}

// withSource adds to any other error where the key comes from.
func withSource(err error, source string) error {
	r := explain(err)
	if r.code == exitUnauthorized || r.code == exitInterrupted {
		return err
	}
	return &failure{code: r.code, rule: r.rule, err: err, msg: fmt.Sprintf("%v; the key comes from %s", err, nameOfSource(source)), hint: r.hint}
}
