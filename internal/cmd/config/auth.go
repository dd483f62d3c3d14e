package config

import (
	"cmp"
	"fmt"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/near"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// AuthCommand returns the auth command.
func AuthCommand(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("auth", "Store and check the key of a service", loginCommand(a), statusCommand(a),
		logoutCommand(a))
}

func loginCommand(a *cmdutil.App) *cobra.Command {
	store := "keyring"
	cmd := changing(a, keepsNoKey, &cobra.Command{
		Use:   "login",
		Short: "Store the key of the profile in use",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 { // an argument may be the key: do not print it
				return exit.UsageError("auth login takes no argument, because other users can read a command line",
					"give the key on standard input, < FILE", "auth", "login")
			}
			return nil
		},
	}, func(s *cmdutil.Session, _ []string) error {
		if store != "keyring" && store != "file" {
			return exit.UsageError("--store: a key is kept in the keyring or a file",
				cmp.Or(near.Question(store, "", []string{"keyring", "file"}), "write keyring or file"))
		}
		if _, err := s.RequireBaseURL(); err != nil {
			return err
		}
		key, err := newKey(s)
		if err != nil {
			return err
		}
		place := "the keyring"
		if store == "file" {
			place, err = s.Keys.StoreKeyFile(s.Settings, key)
		} else {
			err = s.Keys.StoreKey(s.Ctx, s.Settings, key)
		}
		if err != nil {
			return err
		}
		s.NoteCommand([]string{"auth", "status"}, "the key for %s is kept in %s; try it with:", s.ServiceName(), place)
		if s.IO.Env("TILL_API_KEY") != "" {
			s.Note("TILL_API_KEY is set and overrides it")
		}
		return nil
	})
	cmd.Flags().StringVar(&store, "store", store, "where to keep it: keyring or file")
	cmdline.OfferWords(cmd, "store", "keyring", "file")
	return cmd
}

const keepsNoKey = "the profile sandbox keeps no key, its sandbox has one of its own"

func newKey(s *cmdutil.Session) (string, error) {
	if s.Cmd.Flags().Changed("api-key-file") {
		key, _, err := s.Keys.Key(s.Ctx, s.Settings)
		return key, err
	}
	typed, login := terminal.Of(s.IO.In) != nil, []string{"auth", "login"}
	if f := s.Cmd.Flags().Lookup("store"); f.Changed {
		login = append(login, "--store", f.Value.String())
	}
	if typed && !s.CanAsk() {
		return "", exit.UsageError("the key cannot be asked for here", "give it on standard input, < FILE", login...)
	}
	key, err := s.ReadKey(fmt.Sprintf("Key for %s (profile %s): ", s.ServiceName(), s.ProfileName()),
		exit.UsageError("no key was typed", "run it again, or give the key on standard input, < FILE", login...))
	if err == nil && key == "" && !typed {
		err = &config.Error{Msg: "standard input has no key", Advice: "type: till " + strings.Join(login, " ") + " < FILE"}
	}
	return key, err
}

func logoutCommand(a *cmdutil.App) *cobra.Command {
	return changing(a, keepsNoKey, &cobra.Command{
		Use:   "logout",
		Short: "Remove the key that till auth login has stored",
	}, func(s *cmdutil.Session, _ []string) error {
		removed, err := s.Keys.DeleteKey(s.Ctx, s.Settings)
		if err != nil {
			return err
		}
		for _, place := range removed {
			s.Note("the key is removed from %s", place)
		}
		if removed == nil {
			s.Note("there was no key to remove")
		}
		left, err := config.Resolve(a.Input(s.Cmd)) // s.Settings may name the key file that is gone now
		if err != nil {
			return err
		}
		if source := s.Keys.Source(left); source.Kind != config.FromKeyring {
			s.Note("a key is still there, and comes from %s", source.Phrase())
		}
		return nil
	})
}

func statusCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, cmdutil.StructView[keyRow]("source"), &cobra.Command{
		Use:   "status",
		Short: "Show where the key comes from, and try it",
	}, func(s *cmdutil.Session, out cmdutil.Output[keyRow], _ []string) error {
		client, err := s.Client()
		if err != nil {
			return err
		}
		source := s.Keys.Source(s.Settings)
		for _, err := range client.Withdrawals.All(s.Ctx, api.WithdrawalFilter{},
			api.ListOptions{PageSize: 1, FirstPage: s.PageBase()}) {
			if err != nil {
				r := exit.Explain(cmdutil.RefusedKey(err, source))
				if r.Code != exit.Unauthorized && r.Code != exit.Interrupted {
					r.Msg = fmt.Sprintf("%v; the key comes from %s", err, source.Phrase())
				}
				return &r
			}
			break
		}
		return out.One(keyRow{Profile: s.Profile, Service: s.ServiceName(), Source: source.String(), Accepted: true})
	})
}

// keyRow is what auth status prints. It does not hold the key.
type keyRow struct {
	Profile  string `json:"profile" column:"own: profile in use"`
	Service  string `json:"service" column:"own: address of the service"`
	Source   string `json:"source" column:"own: where the key comes from"`
	Accepted bool   `json:"accepted" column:"value: whether the service accepted the key"`
}
