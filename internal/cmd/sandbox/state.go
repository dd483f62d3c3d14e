package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	yaml "go.yaml.in/yaml/v3"
)

// sandboxState is the name of a state. A new state never has the name of another.
type sandboxState struct {
	ID       string `json:"id" column:"text whole: id of the new state"`
	Merchant string `json:"merchant_id" column:"text whole: id of the merchant in it"`
}

func resetCommand(a *cmdutil.App) *cobra.Command {
	var to string
	cmd := newAnswer(a, cmdutil.StructView[sandboxState]("id"), true, &cobra.Command{
		Use:   "reset",
		Short: "Reset the sandbox to its start",
	}, func(s *cmdutil.Session, _ []string) (sandboxState, error) {
		if s.Cmd.Flags().Changed("to") {
			return beginWith(s, to)
		}
		return tell[sandboxState](s, "/sandbox/reset", struct{}{})
	})
	cmd.Flags().StringVar(&to, "to", "", "start with this `SEED`: demo, none, or a file as for till sandbox seed")
	cmdline.Offer(cmd, "to", seedNames)
	return cmd
}

var seedNames = cobra.FixedCompletions([]string{"demo", "none"}, cobra.ShellCompDirectiveDefault)

func beginWith(s *cmdutil.Session, name string) (sandboxState, error) {
	if isSeed(name) {
		return tell[sandboxState](s, "/sandbox/reset", map[string]string{"seed": name})
	}
	seed, err := readSeed(s, name)
	if err != nil {
		return sandboxState{}, err
	}
	begun, err := tell[sandboxState](s, "/sandbox/restore", seed)
	return begun, refusedInput(err, name+": ")
}

// refusedInput turns the answer 400 of a control, which changed nothing, into an error about the command
// line.
func refusedInput(err error, prefix string) error {
	if call, ok := errors.AsType[*api.Error](err); ok && call.Outcome == api.Rejected &&
		call.Status == http.StatusBadRequest {
		return exit.UsageError(prefix+strings.TrimRight(call.Description, "."), "")
	}
	return err
}

func seedCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, cmdutil.StructView[sandboxState]("id"), true, &cobra.Command{
		Use:               "seed FILE",
		Short:             "Reset the sandbox to the contents of a file",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, args []string) (sandboxState, error) {
		return beginWith(s, args[0])
	})
}

func dumpCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Prints[sandbox.Dump](a, cmdutil.One, &cobra.Command{
		Use:   "dump",
		Short: "Print everything that is in the sandbox",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := startControl(a, cmd)
			if err != nil {
				return err
			}
			if s.Render.Format == render.CSV {
				return exit.UsageError("a dump is not a list of rows, so it has no CSV form",
					"leave --output out for JSON")
			}
			view, options := cmdutil.LineView(), s.Render
			if options.Format == render.Table && options.Filter == nil { // it is JSON anyway
				options = render.Options{Format: render.JSON, Width: options.Width}
			} else if _, err := cmdutil.NewOutput(s, view); err != nil {
				return err
			}
			dump, err := ask[json.RawMessage](s, "/sandbox/dump")
			if err != nil {
				return err
			}
			s.Spinner.Stop()
			return view.One(s.IO.Out, options, dump)
		},
	})
}

// A seed is the initial state of a sandbox. The sandbox reads it as JSON. A person may write YAML, which
// needs fewer marks. The conversion to JSON keeps every digit: a number never passes through a float.

func isSeed(name string) bool { return name == "demo" || name == "none" }

const seedHint = "name demo, none, or a file: till sandbox seed --help shows one"

// readSeed reads the file of a seed, or standard input if the name is -, and returns it as JSON.
func readSeed(s *cmdutil.Session, name string) (json.RawMessage, error) {
	text, err := terminal.Interruptibly(s.Ctx, func() ([]byte, error) { // a pipe waits for its writer
		if name == "-" {
			return io.ReadAll(s.IO.In)
		}
		return os.ReadFile(name)
	})
	if s.Ctx.Err() != nil {
		return nil, s.Ctx.Err()
	}
	if err != nil {
		return nil, exit.UsageError(fmt.Sprintf("the seed cannot be read: %v", err), seedHint)
	}
	seed, err := seedJSON(text)
	if err == nil {
		_, err = jsontext.NewDecoder(bytes.NewReader(seed)).ReadValue() // it detects duplicate keys
	}
	if err != nil {
		return nil, exit.UsageError(fmt.Sprintf("the seed %s: %v", name, err), "")
	}
	return seed, nil
}

// seedJSON returns valid JSON as it is, and reads everything else as YAML.
func seedJSON(text []byte) (json.RawMessage, error) {
	if json.Valid(text) {
		return text, nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	doc, second := new(yaml.Node), new(yaml.Node)
	if err := dec.Decode(doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	if err := dec.Decode(second); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins; keep one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it holds no fields such as resellers and invoices")
	}
	value, err := seedValue(doc.Content[0])
	if err != nil {
		return nil, err
	}
	return render.Encode(value), nil
}

func notYAML(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: ") + ": check indentation, colons and quotes")
}

var plainNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
})

// seedValue returns a YAML value for JSON. What is no plain number, such as 007, is a text: the sandbox says where it
// needs another.
func seedValue(n *yaml.Node) (any, error) {
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.AliasNode:
		return nil, fmt.Errorf("line %d: aliases are not for a seed; write it out", n.Line)
	case n.Kind == yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if list[i], err = seedValue(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case n.Kind == yaml.MappingNode:
		return seedFields(n)
	case tag == "!!null":
		return nil, nil
	case tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case n.Style == 0 && plainNumber().MatchString(n.Value):
		return json.Number(n.Value), nil
	}
	return n.Value, nil
}

func seedFields(n *yaml.Node) (map[string]any, error) {
	fields := map[string]any{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		_, twice := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: the name of a field must be plain text", key.Line)
		case twice:
			return nil, fmt.Errorf("line %d: %s is given twice; give it once", key.Line, key.Value)
		}
		var err error
		if fields[key.Value], err = seedValue(n.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
