package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// IO is the environment of a command.
type IO = cmdutil.IO

// Decoding lists is faster with fewer garbage collections. The memory limit keeps a broken or hostile service
// from using that to take more memory.
const (
	memoryLimit = 48 << 20
	gcPercent   = 150
)

// Run executes a command line and returns its exit code.
func Run(ctx context.Context, args []string, io IO) int {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetGCPercent(gcPercent)
	a := &cmdutil.App{IO: io}
	a.Others.App = a
	a.Ctx, a.SendCtx = interruptible(ctx)
	terminal.OnQuit(a.NoteQuit)
	// With a handler, a closed pipe is an error of the write and does not kill the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root := root(a, args[1:]...)
	a.Global = root.PersistentFlags()
	root.SetArgs(args[1:])
	if len(args) > 1 && strings.HasPrefix(args[1], cobra.ShellCompRequestCmd) {
		return complete(a, root)
	}
	cmd, err := root.ExecuteContextC(a.Ctx)
	err = cmp.Or(err, a.Helped)
	a.Spinner.Stop()
	status, ofOther := errors.AsType[cmdutil.ExitStatus](err)
	if ofOther || errors.Is(err, cmdutil.ErrDone) || errors.Is(err, cmdutil.ErrDryRun) {
		a.Close()
		a.Others.Flush()
		return int(status) // of the command that sandbox run has run
	}
	if exit.ReaderGone(err) {
		err = nil
	}
	r := explain(a, cmd, args[1:], err)
	finished := a.Finish(cmd, r)
	a.Close()
	a.Others.Flush()
	if err != nil {
		printError(a, r)
	}
	a.Tell(cmd, finished)
	return r.Code
}

// explain returns the report of the error with which the command line ended, if there is one.
func explain(a *cmdutil.App, cmd *cobra.Command, args []string, err error) exit.Error {
	if err == nil {
		return exit.Error{Code: exit.Done}
	}
	if !a.Running {
		a.JSON.Store(wantsJSON(a, formatFlags(args)))
		if exit.Explain(err).Code == exit.Internal {
			err = flagError(cmd, err) // of cobra
		}
	}
	r := exit.Explain(cmdutil.RefusedKey(err, a.KeyFrom))
	r.Msg, r.Hint = a.InText(r.Msg), a.AddGlobalFlags(r.Hint)
	for i := range r.Details {
		r.Details[i].Message = a.InText(r.Details[i].Message)
	}
	return r
}

// interruptible returns two contexts. The first SIGINT, SIGTERM or SIGHUP cancels that of reads, the second
// signal that of creates. A create in flight is worth waiting for, because its outcome is unknown without the
// answer.
func interruptible(ctx context.Context) (reads, creates context.Context) {
	reads, stopReads := context.WithCancel(ctx)
	creates, stopCreates := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // a script's background job ignores some
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

// wantsJSON reports whether standard error is JSON. A person reads the errors on a terminal if only a filter asked for
// JSON.
func wantsJSON(a *cmdutil.App, flags *pflag.FlagSet) bool {
	switch {
	case flags.Changed("output"):
		return cmdutil.IsJSON(flags.Lookup("output").Value.String())
	case flags.Changed("jq"):
		return terminal.Of(a.IO.Err) == nil
	}
	return cmdutil.IsJSON(a.IO.Env("TILL_OUTPUT")) && !flags.Changed("template") && !flags.Changed("csv-for")
}

// formatFlags finds the flags that select the format of errors in arguments that could not be parsed.
func formatFlags(args []string) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.StringP("output", "o", "", "")
	for _, name := range []string{"jq", "template", "csv-for"} {
		flags.String(name, "", "")
	}
	for _, name := range []string{"quiet", "yes", "help"} { // may share a word with -o
		flags.BoolP(name, name[:1], false, "")
	}
	flags.Parse(args) // as far as possible
	return flags
}

type errorLine struct {
	Error errorContent `json:"error"`
}

type errorContent struct {
	Kind     string `json:"kind" schema:"kind"`
	ExitCode int    `json:"exit_code" schema:"exit-code"`
	Rule     string `json:"rule,omitempty" schema:"rule"`
	Message  string `json:"message"`
	Status   int    `json:"status,omitempty"`
	*serviceSays
	Hint      *cmdutil.HintLine `json:"hint,omitempty"`
	Retryable bool              `json:"retryable"`
	exit.About

	Details []payout.Detail `json:"details,omitempty"`
}

// serviceSays is the content of the service's error envelope, which may be empty.
type serviceSays struct {
	Code        int64  `json:"code"`
	Reason      string `json:"reason"`
	Description string `json:"description"`
}

func printError(a *cmdutil.App, r exit.Error) {
	todo := r.Hint
	if a.JSON.Load() {
		kind := exit.KindOf(r.Code)
		line := errorContent{Kind: kind.Kind, ExitCode: r.Code, Rule: r.Rule, Message: r.Msg,
			Hint: cmdutil.NewHintLine(todo), Retryable: r.Retryable(), Details: r.Details, About: r.About.Or(a.Subject)}
		if r.Call != nil {
			line.Status = r.Call.Status
			if r.Call.Envelope {
				line.serviceSays = &serviceSays{r.Call.Code, r.Call.Reason, r.Call.Description}
			}
		}
		io.WriteString(a.IO.Err, render.Line(errorLine{line})+"\n")
		return
	}
	text := errorPrefix + " " + r.Msg
	if r.Rule != "" {
		text = errorPrefix + " " + r.Rule + ": " + r.Msg
	}
	switch {
	case r.Rule == exit.RuleConfirmation && todo.IsZero(): // the person has said no
		text = r.Msg
	case todo.IsZero():
		text = a.Wrapped(text)
	case len(todo.Command) == 0:
		text = a.Wrapped(text + "; " + todo.Text)
	default:
		command := payout.NewHint("", todo.Command...).String()
		text += "; " + strings.TrimSuffix(todo.String(), command)
		text = a.WithCopy(a.Wrapped(strings.TrimRight(text, " ")), command)
	}
	if rest, found := strings.CutPrefix(text, errorPrefix); found {
		text = a.IO.Look(a.Global.Lookup("color").Value.String(), a.IO.Err).Styled(render.Red, errorPrefix) + rest
	}
	text += "\n"
	for _, line := range detailLines(r.Details) {
		text += a.Wrapped(line) + "\n"
	}
	io.WriteString(a.IO.Err, text)
}

const errorPrefix = "till:"

const (
	mostDetails = 20 // lines of text below an error
	mostReasons = 9  // each has two lines; there is one more for other reasons, and one for what has no line in the file
)

// varies matches what differs between the details of one reason: texts of the file, and numbers.
var varies = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:\\.|[^"\\])*"|[0-9]+(?:\.[0-9]+)?`) })

// detailLines returns the lines of text for the details of an error. If there are many, it shows one of each
// reason, and how many more there are.
func detailLines(all []payout.Detail) (lines []string) {
	if len(all) <= mostDetails {
		for _, d := range all {
			lines = append(lines, d.String())
		}
		return lines
	}
	var reasons []string // in the order of the file
	of := map[string][]payout.Detail{}
	for _, d := range all {
		reason := d.Field + ": " + varies().ReplaceAllString(d.Message, "*")
		if of[reason] == nil {
			reasons = append(reasons, reason)
		}
		of[reason] = append(of[reason], d)
	}
	others := 0
	for i, reason := range reasons {
		same := of[reason]
		if i >= mostReasons && same[0].Line > 0 {
			others += len(same)
			continue
		}
		lines = append(lines, same[0].String())
		if n := len(same) - 1; n > 0 && same[n].Line > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more of this kind, up to line %d", n, same[n].Line))
		} else if n > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more of this kind", n))
		}
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more of other kinds; -o json lists them", others))
	}
	return lines
}
