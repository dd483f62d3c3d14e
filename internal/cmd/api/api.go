// Package api implements the command that makes any call of the service.
package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/terminal"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// maxInput limits the body of a request, in bytes.
const maxInput = 1 << 20

// Command returns the api command.
func Command(a *cmdutil.App) *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use:   "api METHOD PATH",
		Short: "Send any request, and print the answer unchanged",
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			return send(s, strings.ToUpper(args[0]), args[1], input)
		}),
	}
	cmd.Flags().StringVar(&input, "input", "", "file that holds the JSON body; - is standard input")
	cmdline.OfferFiles(cmd, "input")
	return cmdutil.Prints[json.RawMessage](a, cmdutil.One, cmd)
}

// send sends a request, asks before it if the request may change something, and prints the answer.
func send(s *cmdutil.Session, method, path, input string) error {
	view := cmdutil.LineView()
	filtered := s.Render.Filter != nil
	s.Render.Quiet = s.Render.Quiet && filtered // the answer has no header that could be left out
	if filtered || !s.Origin("output").IsDefault() {
		if _, err := cmdutil.NewOutput(s, view); err != nil {
			return err
		}
	}
	target, err := pathOf(path)
	if err != nil {
		return err
	}
	body, err := readInput(s, input)
	if err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	reads, err := client.Reads(method, target)
	if err != nil {
		return err
	}
	ctx := s.Ctx
	if !reads {
		ctx = s.SendCtx
		if err = s.MayCreate(); err == nil && !s.DryRun {
			err = s.Confirm([]cmdutil.Fact{{Name: "request", Value: method + " " + target}, {Name: "body", Value: beginning(body)},
				s.ServiceFact()}, "Send this request?")
		}
		if err != nil {
			return err
		}
	}
	var answer []byte
	err = s.Send(func() bool { return !reads }, func() (err error) {
		answer, err = client.Do(ctx, method, target, body)
		return err
	})
	if err != nil {
		return err
	}
	s.Spinner.Stop()
	switch {
	case !filtered: // as it came, whatever the format of the output
		err = s.WriteData(string(answer))
	case !jsontext.Value(answer).IsValid():
		err = exit.Failure(exit.ReadFailed, nil, "the answer is not one JSON value, so it cannot be filtered",
			"leave out --jq and --template to see it unchanged")
	default:
		err = view.One(s.IO.Out, s.Render, answer)
	}
	if err == nil || reads {
		return err
	}
	return exit.Failure(exit.Output, nil,
		fmt.Sprintf("the service accepted it, but %v; its answer begins %s", err, beginning(answer)), "do not send it again")
}

// pathOf returns the path of a request. Git Bash turns an argument that begins with a slash into the path of a
// Windows file, so the slash may be left out.
func pathOf(given string) (string, error) {
	if strings.HasPrefix(given, "api/") {
		return "/" + given, nil
	}
	if len(given) < 3 || given[1] != ':' || given[2] != '/' && given[2] != '\\' {
		return given, nil
	}
	advice := "write the path without its first slash"
	if _, rest, found := strings.Cut(strings.ReplaceAll(given, `\`, "/"), "/api/"); found {
		advice += ": api/" + rest
	}
	return "", exit.UsageError(fmt.Sprintf("%q is the path of a Windows file: Git Bash makes one of what begins with a slash", given), advice)
}

// beginning returns at most 500 bytes of text, for a message.
func beginning(text []byte) string {
	if len(text) > 500 {
		return string(text[:500]) + "..."
	}
	return cmp.Or(string(text), "with nothing")
}

func readInput(s *cmdutil.Session, name string) (json.RawMessage, error) {
	if name == "" {
		return nil, nil
	}
	text, err := terminal.Interruptibly(s.Ctx, func() ([]byte, error) {
		in := s.IO.In
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer file.Close()
			in = file
		}
		return io.ReadAll(io.LimitReader(in, maxInput+1))
	})
	switch {
	case s.Ctx.Err() != nil:
		return nil, s.Ctx.Err()
	case err != nil:
		return nil, exit.UsageError(fmt.Sprintf("--input: %v", atomicfile.WithoutPath(err)),
			"name a file that can be read, or - for standard input")
	case len(text) > maxInput:
		return nil, exit.UsageError("--input: it is larger than 1 MiB", "send less")
	case !json.Valid(text):
		return nil, exit.UsageError("--input: it is not JSON", "write one JSON value")
	}
	return text, nil
}
