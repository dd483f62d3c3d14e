package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"example.com/till/internal/cmdutil"
	"github.com/spf13/cobra"
)

// help returns the command that shows topics and the help of every command.
func help(a *cmdutil.App, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Help about a command or a topic",
		Example: `  till help withdraw create
  till help exit-codes`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeTopics(root, given, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, names []string) error {
			about, err := findTopic(root, names)
			if err != nil {
				return err
			}
			text, err := helpText(about)
			about.SetOut(a.IO.Out)
			if err != nil {
				return err
			}
			return a.Write(text)
		},
	}
}

// helpText returns the output of --help. It redirects the command's output, which the caller must restore.
func helpText(cmd *cobra.Command) (string, error) {
	var b bytes.Buffer
	cmd.InitDefaultHelpFlag()
	cmd.SetOut(&b)
	err := cmd.Help()
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// findTopic finds a command or topic by its path of names.
func findTopic(cmd *cobra.Command, names []string) (*cobra.Command, error) {
	for _, name := range names {
		next := childNamed(cmd, name)
		if next == nil {
			hint := "see: till help " + strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
			if !cmd.HasParent() {
				hint = "see: till help"
			}
			return nil, cmdutil.UsageError(fmt.Sprintf("there is no help about %q: %s has no command or topic of that name",
				name, cmd.CommandPath()), cmp.Or(cmdutil.NearTopic(cmd, name), hint))
		}
		cmd = next
	}
	return cmd, nil
}

func childNamed(cmd *cobra.Command, name string) *cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Name() == name || child.HasAlias(name) {
			return child
		}
	}
	return nil
}

func completeTopics(cmd *cobra.Command, given []string, typed string) []string {
	cmd, err := findTopic(cmd, given)
	if err != nil {
		return nil
	}
	var offers []string
	for _, child := range cmd.Commands() {
		if (child.IsAvailableCommand() || child.IsAdditionalHelpTopicCommand()) &&
			strings.HasPrefix(child.Name(), typed) {
			offers = append(offers, cmdutil.WithText(child.Name(), child.Short))
		}
	}
	return offers
}
