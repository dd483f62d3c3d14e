package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"example.com/till/internal/hint"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
)

// maxInput limits the body of a request.
const maxInput = 1 << 20

func (a *app) api() *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use:   "api METHOD PATH",
		Short: "Send any request and print the answer as it came",
		Long: `Send a request to any path of the service, with the key, and print the answer
as it came, for what the other commands do not cover. On a terminal, control
characters in it are escaped. A GET and the interface's
three list paths are reads. Everything else is asked about like a payment, sent
at most once, and ends with exit code 20 when its outcome is unknown.
Withdrawals are not created this way: withdraw create keeps to the rules that
keep one from being paid twice.

With --dry-run, this and every other command shows the request that it would
make. These are the operations of the interface:

  ` + strings.Join(sandbox.Operations(), "\n  "),
		Example: `  till api GET /api/resellers/ids
  echo '{"currencies":[],"tags":[]}' | till api POST \
    '/api/merchant_withdrawal/list?page=1&page_size=10' --input -`,
		Args: args("METHOD", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.start(cmd)
			if err != nil {
				return err
			}
			view := render.View[json.RawMessage]{JSON: func(m json.RawMessage) []byte { return m }}
			filtered := s.out.Filter != nil || s.Template != "" || s.Origin("output") != "default"
			if filtered {
				if _, err := show(s, view); err != nil {
					return err
				}
			}
			method := strings.ToUpper(args[0])
			body, err := s.readInput(input)
			if err != nil {
				return err
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			if err := client.CheckTarget(method, args[1]); err != nil {
				return err
			}
			ctx := s.ctx
			if !api.IsRead(method, args[1]) {
				ctx = s.sendCtx
			}
			if !api.IsRead(method, args[1]) && !s.DryRun {
				facts := []string{"profile   " + s.profileName(), "service   " + s.serviceName(), "request   " + method + " " + args[1], "body      " + beginning(body)}
				if err := s.confirm(facts, "Send this request?"); err != nil {
					return err
				}
			}
			var answer []byte
			err = s.send(nil, func() (err error) {
				answer, err = client.Do(ctx, method, args[1], body)
				return err
			})
			if err != nil {
				return err
			}
			s.spinner.stop()
			if api.IsRead(method, args[1]) {
				return s.printAnswer(view, filtered, answer)
			}
			if err := s.printAnswer(view, filtered, answer); err != nil {
				return &failure{code: exitOutput, msg: fmt.Sprintf("the service accepted it, but %v; its answer begins %s", err, beginning(answer)), hint: hint.New("do not send it again")}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "file that holds the JSON body; - is standard input")
	offerFiles(cmd, "input")
	return cmd
}

// printAnswer prints an answer as it came, or, where a format was asked for, as the JSON that it must be then.
func (s *session) printAnswer(view render.View[json.RawMessage], filtered bool, answer []byte) error {
	if !filtered {
		return s.writeData(string(answer))
	}
	if err := api.CheckJSON(answer); err != nil {
		return &failure{code: exitReadFailed, err: err, msg: fmt.Sprintf("the answer is no JSON that can be shown in another form: %v", err), hint: hint.New("leave out --output, --jq and --template to see it as it came")}
	}
	return view.One(s.io.Out, s.out, answer)
}

// beginning is as much of a text as a message has room for.
func beginning(text []byte) string {
	if len(text) > 500 {
		return string(text[:500]) + "..."
	}
	return string(text)
}

// withoutPath leaves out the path of an error about a file: a key may have been given instead of a path.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func (s *session) readInput(name string) (json.RawMessage, error) {
	if name == "" {
		return nil, nil
	}
	in := s.io.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, usageError(fmt.Sprintf("--input: %v", withoutPath(err)), "name a file that can be read, or - for standard input")
		}
		defer file.Close()
		in = file
	}
	text, err := interruptibly(s.ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, maxInput+1)) })
	if s.ctx.Err() != nil {
		return nil, s.ctx.Err()
	}
	if err != nil {
		return nil, usageError(fmt.Sprintf("--input: %v", withoutPath(err)), "name a file that can be read, or - for standard input")
	}
	if len(text) > maxInput {
		return nil, usageError("--input: it is larger than 1 MiB", "send less")
	}
	if !json.Valid(text) {
		return nil, usageError("--input: it is not JSON", "write one JSON value")
	}
	return text, nil
}
