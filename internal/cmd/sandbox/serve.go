package sandbox

import (
	"fmt"
	"net"
	"strings"

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
the sandbox. Its state is deleted at the end unless --state names a file. A
browser pays an invoice at ADDRESS/invoice/ID.

In a container, --expose answers requests with any Host, and posts callbacks to
other machines (callback_targets=any): everybody who reaches it and has its key
controls it. GET /sandbox/health is 200 when it is ready.

See: till help testing.`,
		Example: `  till sandbox serve --seed demo
  till sandbox serve --listen 127.0.0.1:8080 --set first_page=0 \
    --ready-file sandbox.json --env-file sandbox.env
  till sandbox serve --expose --listen 0.0.0.0:8080`,
		Args: cmdutil.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := startWithSandbox(a, cmd, ofCalls)
			if err != nil {
				return err
			}
			out, err := cmdutil.NewOutput(s, sandboxAddressView(s.Money))
			if err != nil {
				return err
			}
			ctx, release := process.UntilStopped(s.Ctx)
			defer release()
			return withSandbox(s, cmd, flags, func(at sandboxAddress, broke <-chan error) error {
				if err := out.One(at); err != nil {
					return err
				}
				if flags.expose {
					host, _, _ := net.SplitHostPort(flags.listen)
					port := at.BaseURL[strings.LastIndexByte(at.BaseURL, ':')+1:] // --listen may leave it open
					s.Warnf("whoever reaches %s and has the key of this sandbox can use it", net.JoinHostPort(host, port))
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
	cmd.Flags().BoolVar(&flags.expose, "expose", false, "listen on any address, for a container of a test")
	return a.Prints(cmd, cmdutil.PrintedAs[sandboxAddress](cmdutil.One))
}

// ofCalls reports whether only a caller of a service has a use for a variable: GitLab gives the variables of a job
// to its services, too.
func ofCalls(name, _ string) bool {
	return strings.HasPrefix(name, "TILL_") && name != "TILL_API_KEY" && name != "TILL_CONFIG" && name != "TILL_OUTPUT"
}
