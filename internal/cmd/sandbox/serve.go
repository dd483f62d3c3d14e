package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"github.com/spf13/cobra"
)

func serveCommand(a *cmdutil.App) *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a sandbox until a signal ends it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := startWithSandbox(a, cmd, ofCalls)
			if err != nil {
				return err
			}
			out, err := cmdutil.NewOutput(s, render.Struct[sandboxAddress]("base_url"))
			if err != nil {
				return err
			}
			return withSandbox(s, flags, func(at sandboxAddress, broke <-chan error) error {
				if err := out.One(at); err != nil {
					return err
				}
				if terminal.Of(a.IO.Err) != nil {
					s.Note("the sandbox is running, Ctrl-C ends it")
				}
				select {
				case <-s.Ctx.Done():
					return nil
				case err := <-broke:
					return fmt.Errorf("the sandbox has broken off: %w", err)
				}
			})
		},
	}
	addServerFlags(cmd, &flags)
	cmd.Flags().BoolVar(&flags.expose, "expose", false, "listen on any address, for a container of a test")
	return cmdutil.Prints[sandboxAddress](a, cmdutil.One, cmd)
}

// ofCalls reports whether only a caller of a service has a use for a variable: GitLab gives the variables of a job
// to its services, too.
func ofCalls(name, _ string) bool {
	return strings.HasPrefix(name, "TILL_") && name != "TILL_API_KEY" && name != "TILL_CONFIG" && name != "TILL_OUTPUT"
}

func runCommand(a *cmdutil.App) *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command with a fresh sandbox",
		Args:  commandAfterDash,
		RunE: func(cmd *cobra.Command, command []string) error {
			s, err := startWithSandbox(a, cmd, ofService)
			if err != nil {
				return err
			}
			return runWithSandbox(s, cmd, flags, command)
		},
	}
	addServerFlags(cmd, &flags)
	return cmd
}

// startWithSandbox starts a command that has a sandbox of its own, without the variables that drop names. If the
// configuration is what failed, it starts without one: a test needs none, and the home directory of a build
// machine may be missing. A command that runs with the sandbox goes without it too.
func startWithSandbox(a *cmdutil.App, cmd *cobra.Command, drop func(name, value string) bool) (*cmdutil.Session, error) {
	environ := slices.DeleteFunc(slices.Clone(a.IO.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return drop(name, value)
	})
	a.IO.Environ = func() []string { return environ }
	s, failed := a.Start(cmd)
	if failed == nil || cmd.Flags().Changed("config") {
		return s, failed
	}
	hasHome := a.IO.Home() != "" || a.IO.Env("TILL_CONFIG") != ""
	environ = append(environ, "TILL_CONFIG="+os.DevNull)
	s, err := a.Start(cmd)
	if err != nil {
		return nil, failed
	}
	if hasHome {
		s.Note("without the configuration: %v", failed)
	}
	return s, nil
}

func commandAfterDash(cmd *cobra.Command, given []string) error {
	name := cmdline.CommandName(cmd)
	switch {
	case cmd.ArgsLenAtDash() != 0 || len(given) == 0:
		return exit.UsageError(name+" needs two dashes before its command", "write it after two dashes", "sandbox", "run", "--",
			"COMMAND")
	case given[0] == "":
		return exit.UsageError(name+": the name of the command is empty", cmdline.UnsetHint)
	}
	return nil
}

func runWithSandbox(s *cmdutil.Session, cmd *cobra.Command, flags serverFlags, command []string) error {
	if f := cmd.Flags().Lookup("api-key-file"); f != nil && f.Value.String() == "-" {
		return exit.UsageError("--api-key-file: standard input is the command's", "name a file, or use TILL_API_KEY")
	}
	signals, release := terminal.Forwarded()
	defer release()
	child := exec.Command(command[0], command[1:]...)
	if child.Err != nil {
		return cmdutil.StatusOf(command[0], child.Err)
	}
	child.Stdin, child.Stdout, child.Stderr = s.IO.In, s.IO.Out, s.IO.Err
	child.WaitDelay = time.Second // applies only if one of them is not a file
	told := s.CanAsk() && !s.Quiet && isShell(command)
	err := withSandbox(s, flags, func(at sandboxAddress, broke <-chan error) error {
		if err := s.Ctx.Err(); err != nil { // a signal came before there was a process to pass it on to
			return err
		}
		child.Env = slices.Concat(s.IO.Environ(), at.environment(), withoutProxy(s.IO)) // the last one counts
		if told {
			s.Note("this shell uses the sandbox at %s; leave it with: exit", at.BaseURL)
			child.Env = append(child.Env, "HISTFILE=") // test payments do not belong into a person's history
		}
		shared := terminal.InForeground()
		err := terminal.Run(child, shared, signals)
		if child.Process != nil && !shared {
			terminal.EndGroup(child.Process.Pid)
		}
		select {
		case broken := <-broke:
			s.Note("the sandbox has broken off: %v", broken)
		default:
		}
		return cmdutil.StatusOf(command[0], err)
	})
	switch {
	case !told || child.ProcessState == nil:
	case flags.state == stateInMemory:
		s.Note("the sandbox has ended, with everything in it")
	default:
		s.Note("the sandbox has ended, and its state is in %s", flags.state)
	}
	return err
}

// isShell reports whether a command is a shell in which a person types.
func isShell(command []string) bool {
	name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	words := slices.ContainsFunc(command[1:], func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	return !words && slices.Contains([]string{"ash", "bash", "cmd", "dash", "fish", "ksh", "powershell", "pwsh", "sh", "zsh"}, name)
}

// ofService reports whether a variable leads to a service, so that a machine with a real one can run tests. A
// sandbox key does not: it is meant for this sandbox.
func ofService(name, value string) bool {
	return name == "TILL_BASE_URL" || name == "TILL_PROFILE" ||
		name == "TILL_API_KEY" && !strings.HasPrefix(value, config.SandboxKeyPrefix)
}

// withoutProxy returns the variables with which no program asks a proxy for this machine. Programs differ in
// which of the two they read, and a proxy cannot reach the sandbox.
func withoutProxy(io cmdutil.IO) (set []string) {
	const here = "127.0.0.1,localhost,::1"
	upper, lower := io.Env("NO_PROXY"), io.Env("no_proxy")
	for name, value := range map[string]string{"NO_PROXY": cmp.Or(upper, lower), "no_proxy": cmp.Or(lower, upper)} {
		if value != "*" { // none for any host, which a list would end
			value = strings.TrimPrefix(value+","+here, ",")
		}
		set = append(set, name+"="+value)
	}
	return set
}
