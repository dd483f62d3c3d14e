package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/payout"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"github.com/spf13/pflag"
)

// IO is everything that a command takes from its surroundings.
type IO = cmdutil.IO

// A list is decoded fastest when the collector comes by less often than usual, and the answers of a broken or hostile
// service must not take more memory than this for it.
const (
	memoryLimit = 48 << 20
	gcPercent   = 150
)

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, args []string, io IO) int {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetGCPercent(gcPercent)
	a := &cmdutil.App{IO: io}
	a.Others.App = a
	a.Ctx, a.SendCtx = interruptible(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // so that a closed pipe is an error of the write, and kills nothing
	root := root(a, args[1:]...)
	root.SetArgs(args[1:])
	err := root.ExecuteContext(a.Ctx)
	a.Spinner.Stop()
	a.Close()
	a.Others.Flush()
	if err == nil || errors.Is(err, cmdutil.ErrDone) || errors.Is(err, cmdutil.ErrDryRun) {
		return cmdutil.ExitDone
	}
	if status, ok := errors.AsType[cmdutil.ExitStatus](err); ok {
		return int(status) // of the command that sandbox run has run
	}
	if !a.Running {
		a.JSON = wantsJSON(a, formatFlags(args[1:]))
		err = misused(a, root, args[1:], err)
	}
	r := cmdutil.Explain(cmdutil.RefusedKey(err, a.KeyFrom))
	printError(a, r, root.PersistentFlags())
	return r.Code
}

// addGlobalFlags words a hint. A command in it whose effect depends on whose account and which journal it is gets the flags
// that said so: without them it would be about another. What came from the environment will be there again.
func addGlobalFlags(h payout.Hint, flags *pflag.FlagSet) string {
	if len(h.Command) == 0 || !slices.Contains([]string{"withdraw", "journal", "payout", "auth"}, h.Command[0]) {
		return h.String()
	}
	var given []string
	for _, name := range []string{"profile", "sandbox", "base-url", "config", "journal"} {
		f := flags.Lookup(name)
		switch {
		case f == nil || !f.Changed || slices.Contains(h.Command, "--"+name):
		case f.Value.Type() != "bool":
			given = append(given, "--"+name, f.Value.String())
		case f.Value.String() == "true":
			given = append(given, "--"+name)
		}
	}
	return h.With(given...)
}

// interruptible returns the context of reads, which the first SIGINT, SIGTERM or SIGHUP cancels, and that of creates, which
// takes two: what is in flight is worth waiting for, because its outcome is unknown without the answer.
func interruptible(ctx context.Context) (reads, creates context.Context) {
	reads, stopReads := context.WithCancel(ctx)
	creates, stopCreates := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as it is for what a script runs in the background
			signal.Notify(signals, s)
		}
	}
	go func() {
		<-signals
		stopReads()
		<-signals
		stopCreates()
	}()
	return reads, creates
}

// wantsJSON reports whether errors are wanted as JSON, before the settings are known.
func wantsJSON(a *cmdutil.App, flags *pflag.FlagSet) bool {
	format := a.IO.Env("TILL_OUTPUT")
	if flags.Changed("output") {
		format = flags.Lookup("output").Value.String()
	}
	return cmdutil.IsJSON(format) || flags.Changed("jq")
}

// formatFlags reads of arguments that could not be parsed what says how errors are wanted.
func formatFlags(args []string) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.StringP("output", "o", "", "")
	flags.String("jq", "", "")
	for _, name := range []string{"quiet", "yes", "help"} { // which can be in one word with -o
		flags.BoolP(name, name[:1], false, "")
	}
	flags.Parse(args) // as far as it can be read
	return flags
}

// errorLine is the JSON form of an error.
type errorLine struct {
	Kind     string `json:"kind"`
	ExitCode int    `json:"exit_code"`
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message"`
	Status   int    `json:"status,omitempty"`
	*serviceSays
	Hint string `json:"hint,omitempty"`
	cmdutil.About

	Details []payout.Detail `json:"details,omitempty"`
}

// serviceSays is what the service's error envelope said, empty or not.
type serviceSays struct {
	Code        int64  `json:"code"`
	Reason      string `json:"reason"`
	Description string `json:"description"`
}

func printError(a *cmdutil.App, r cmdutil.Report, global *pflag.FlagSet) {
	todo := addGlobalFlags(r.Hint, global)
	if a.JSON {
		line := errorLine{Kind: cmdutil.KindOf(r.Code), ExitCode: r.Code, Rule: r.Rule, Message: r.Message, Hint: todo, Details: r.Details, About: r.About.Or(a.Subject)}
		if r.Call != nil {
			line.Status = r.Call.Status
			if r.Call.Envelope {
				line.serviceSays = &serviceSays{r.Call.Code, r.Call.Reason, r.Call.Description}
			}
		}
		io.WriteString(a.IO.Err, cmdutil.Visible(render.Encode(map[string]errorLine{"error": line}))+"\n")
		return
	}
	text := "till: " + render.Safe(r.Message)
	if r.Rule != "" {
		text = "till: " + r.Rule + ": " + render.Safe(r.Message)
	}
	if todo != "" {
		text += "; " + render.Safe(todo)
	}
	text = paint(a, text, global.Lookup("color").Value.String()) + "\n"
	for _, d := range r.Details {
		text += render.Safe(d.String()) + "\n"
	}
	io.WriteString(a.IO.Err, text)
}

// paint makes the beginning of the error line red where a person sees it.
func paint(a *cmdutil.App, text, choice string) string {
	rest, found := strings.CutPrefix(text, errorPrefix)
	if !found || !cmdutil.WantsColour(choice, a.IO.Env, terminal.Of(a.IO.Err) != nil) {
		return text
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI) // told, so that the terminal is not asked
	r.SetHasDarkBackground(true)
	return r.NewStyle().Foreground(lipgloss.Color("1")).Render(errorPrefix) + rest
}

const errorPrefix = "till:"
