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
		Long: `Serve a sandbox until a signal ends it, with exit code 0. It prints its address
and its key; every program on this machine that has both can use it. The state
is deleted at the end unless --state names a file. The file is made if it does
not exist, from the seed, and several sandboxes may share it.

A browser pays an invoice at ADDRESS/invoice/ID, a page with a button that
needs neither a key nor scripts and leads on to the invoice's callback URL.

The sandbox makes its own key. A key from --api-key-file or TILL_API_KEY must
begin with till_sandbox_, so that a real key is never used by mistake.

The files of --ready-file and --env-file appear when the sandbox answers
requests, readable by their owner only, and are removed when it ends. To load
the second one into a shell: set -a; . ./FILE; set +a`,
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
	return cmd
}
