package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/near"
	"example.com/till/internal/terminal"
	"github.com/spf13/cobra"
)

// completionCommand prints the completion scripts. Completion reads the configuration, the journal for runs
// and orders, and the service for resellers. If it cannot read them, it offers nothing and prints nothing,
// because the shell would take every word on standard output for an offer.
//
// An offer has letters, digits, blanks and little else; see cmdline.Harmless. The shells quote its blanks. cobra's
// script for bash does so only for a single offer, and not for the common prefix of several; see quoteAll.

func completionCommand(a *cmdutil.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print a script for the completion of command lines",
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			script, err := completionScript(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			if script == nil {
				return exit.UsageError(fmt.Sprintf("till completion: there is no script for the shell %q", args[0]),
					cmp.Or(near.Question(args[0], "", shells), "name one of "+strings.Join(shells, ", ")))
			}
			return a.Write(string(script))
		},
	}
}

// completionScript returns the script of a shell, or nil if there is none. It depends only on the program's
// name, because the script asks till for the offers.
func completionScript(root *cobra.Command, shell string) (script []byte, err error) {
	var b bytes.Buffer
	switch shell {
	case "bash":
		if err = root.GenBashCompletionV2(&b, true); err == nil {
			return quoteAll(b.Bytes())
		}
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	default:
		return nil, nil
	}
	return b.Bytes(), err
}

// quoteAll makes cobra's script for bash quote every offer, also where there are several.
func quoteAll(script []byte) ([]byte, error) {
	for _, change := range [][2]string{
		{`"${completions[*]}" != *$tab*`, `${#completions[@]} == 0`}, // its case without descriptions quotes one only
		{`COMPREPLY+=("$compline")`, `COMPREPLY+=("$comp${compline#"${compline%%$tab*}"}")`},
		{`comp=${compline%%$tab*}
        if`, `if`},
		{`COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]%%$tab*}")`, `COMPREPLY[0]=${COMPREPLY[0]%%$tab*}`},
	} {
		if bytes.Count(script, []byte(change[0])) != 1 {
			return nil, fmt.Errorf("cobra's script for bash is another: it lacks %q", change[0])
		}
		script = bytes.Replace(script, []byte(change[0]), []byte(change[1]), 1)
	}
	return script, nil
}

// completionLimit is the time in which a completion finds its offers. A person waits for it at each tab.
const completionLimit = 900 * time.Millisecond

// complete prints the offers for a shell, or none if they are not found within a second. The context ends before that,
// but not everything heeds it, such as a keyring, a locked file, or a program whose output another one keeps open.
func complete(a *cmdutil.App, root *cobra.Command) int {
	ctx, cancel := context.WithTimeout(a.Ctx, completionLimit)
	defer cancel()
	late, giveUp := context.WithTimeout(context.WithoutCancel(ctx), completionLimit+time.Second/10)
	defer giveUp()
	var offers bytes.Buffer
	a.Ctx = ctx
	root.SetOut(&offers)
	_, err := terminal.Interruptibly(late, func() (*cobra.Command, error) { return root.ExecuteContextC(ctx) })
	switch {
	case late.Err() != nil: // what was given up may still use a
		fmt.Fprintf(a.IO.Out, ":%d\n", cobra.ShellCompDirectiveNoFileComp)
		return exit.Done
	case err != nil: // no word to complete, which every shell gives
		return exit.Usage
	}
	fmt.Fprint(a.IO.Out, offers.String())
	a.Close()
	return exit.Done
}

func completeGlobals(a *cmdutil.App, root *cobra.Command) {
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	cmdline.OfferFiles(root, "api-key-file", "config", "journal")
	cmdline.Offer(root, "profile", a.CompleteProfiles)
	for _, flag := range []string{"output", "color"} {
		cmdline.OfferWords(root, flag, config.Values(flag)...)
	}
	cmdline.Offer(root, "columns",
		func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			columns := columnsOf(cmd)
			if len(columns) > 0 && !strings.Contains(typed, ",") {
				columns = append(columns, cmdline.WithText("help", "what each column means"))
			}
			return cmdline.CompleteList(columns, typed),
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
	cmdline.OfferOwn(root, "sort",
		func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			name, minus := strings.TrimPrefix(typed, "-"), ""
			if name != typed { // a descending order
				minus = "-"
			}
			var offers []string
			for _, column := range columnsOf(cmd) {
				if strings.HasPrefix(column, name) {
					offers = append(offers, minus+column)
				}
			}
			return offers, cobra.ShellCompDirectiveNoFileComp
		})
}

func columnsOf(cmd *cobra.Command) []string {
	if columns := cmd.Annotations[cmdutil.ColumnsKey]; columns != "" {
		return strings.Split(columns, "\n")
	}
	return nil
}
