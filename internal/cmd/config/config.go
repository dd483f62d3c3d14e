// Package config has the commands about this machine: config, profile, auth and currency.
package config

import (
	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"github.com/spf13/cobra"
)

// Command returns the config command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("config", "Show the settings in effect, and where they come from", showCommand(a),
		pathCommand(a))
}

func showCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.List, cmdutil.StructView[config.Row]("name"), &cobra.Command{
		Use:   "show",
		Short: "Show every setting and where it comes from",
	}, func(s *cmdutil.Session, out cmdutil.Output[config.Row], _ []string) error {
		return out.Slice(s.Explain(s.Keys))
	})
}

type pathLine struct {
	Path string `json:"path" column:"own: path of the configuration file"`
}

func pathCommand(a *cmdutil.App) *cobra.Command {
	view := cmdutil.StructView[pathLine]("path")
	return cmdutil.WithView(a, cmdutil.One, view, &cobra.Command{
		Use:   "path",
		Short: "Print where the configuration file is, or would be",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, out, err := cmdutil.BeginAlone(a, cmd, view)
			if err != nil {
				return err
			}
			path, _, err := a.Input(cmd).Path()
			if err != nil {
				return err
			}
			if s.Plain() { // unquoted and unescaped: a script passes it to another program
				return a.Write(path + "\n")
			}
			return out.One(pathLine{path})
		},
	})
}
