package sandbox

import (
	"fmt"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/process"
	"example.com/till/internal/terminal"
	"github.com/spf13/cobra"
)

func serveCommand(a *cmdutil.App) *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a sandbox until a signal ends it",
		Long: `Serve a sandbox until a signal ends it, with exit code 0. The command prints
the address and the key; every program on this machine that has both can use
the sandbox. Its state is deleted at the end unless --state names a file.

A browser pays an invoice at ADDRESS/invoice/ID.

See: till help testing.`,
		Example: `  till sandbox serve --seed demo
  till sandbox serve --state box.db
  till sandbox serve --listen 127.0.0.1:8080 --set first_page=0 \
    --ready-file sandbox.json --env-file sandbox.env`,
		Args: cmdutil.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, out, err := cmdutil.Begin(a, cmd, sandboxAddressView)
			if err != nil {
				return err
			}
			ctx, release := process.UntilStopped(s.Ctx)
			defer release()
			return withSandbox(s, cmd, flags, func(at sandboxAddress, broke <-chan error) error {
				if err := out.One(at); err != nil {
					return err
				}
				if terminal.Of(a.IO.Err) != nil {
					s.Note("the sandbox is running, Ctrl-C ends it")
				}
				select {
				case <-ctx.Done():
					return nil
				case err := <-broke:
					return fmt.Errorf("the sandbox has broken off: %w", err)
				}
			})
		},
	}
	addServerFlags(cmd, &flags)
	return a.Prints(cmd, cmdutil.PrintedAs[sandboxAddress](cmdutil.One))
}
