package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

// sandboxState is the name of a state. A new one never has that of another.
type sandboxState struct {
	ID       string `json:"id"`
	Merchant string `json:"merchant_id"`
}

func sandboxStateView(money.Registry) render.View[sandboxState] {
	type row = sandboxState
	return render.View[row]{
		ID: func(s row) string { return s.ID },
		Columns: []render.Column[row]{
			{Name: "id", Whole: true, Cell: func(s row) render.Cell { return render.Text(s.ID) }},
			{Name: "merchant_id", Whole: true, Cell: func(s row) render.Cell { return render.Text(s.Merchant) }},
		},
	}
}

func (a *app) sandboxReset() *cobra.Command {
	return a.beginsState(&cobra.Command{
		Use:   "reset",
		Short: "Let the sandbox begin anew",
		Long: `Throw away everything that is in the sandbox, and let it begin anew with funds
in every currency and the machine's clock. The id that it prints is that of the
new state, which no other has. It does not ask.

` + whichSandbox,
		Example: `  till sandbox reset`,
		Args:    noArgs,
	}, func(s *session, _ []string) (answered[sandboxState], error) {
		return tell[sandboxState](s, "/sandbox/reset", struct{}{})
	})
}

func (a *app) sandboxSeed() *cobra.Command {
	cmd := a.beginsState(&cobra.Command{
		Use:   "seed FILE",
		Short: "Let the sandbox begin anew with what a file holds",
		Long: `Throw away everything that is in the sandbox, and let it begin anew with what a
file of till sandbox dump holds; - is standard input. In place of a file, demo
stands for three resellers and half a year of invoices, none for nothing at
all. A file that is not such a dump changes nothing. It does not ask.

` + whichSandbox,
		Example: `  till sandbox seed demo
  till sandbox dump >box.json && till sandbox seed box.json`,
		Args:              args("FILE"),
		ValidArgsFunction: fileNames,
	}, func(s *session, args []string) (answered[sandboxState], error) {
		if isSeed(args[0]) {
			return tell[sandboxState](s, "/sandbox/reset", map[string]string{"seed": args[0]})
		}
		text, err := s.readDump(args[0])
		if err != nil {
			return answered[sandboxState]{}, err
		}
		return tell[sandboxState](s, "/sandbox/restore", text)
	})
	return cmd
}

func (a *app) beginsState(cmd *cobra.Command, do func(s *session, args []string) (answered[sandboxState], error)) *cobra.Command {
	view := answeredView(sandboxStateView)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, out, err := control(a, cmd, view)
		if err != nil {
			return err
		}
		state, err := do(s, args)
		if err != nil {
			return err
		}
		return out.bare(state, state.value.ID)
	}
	return shows(cmd, view)
}

// isSeed tells the seeds that have a name from files.
func isSeed(name string) bool { return name == "demo" || name == "none" }

func (s *session) readDump(name string) (json.RawMessage, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(s.io.In)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, usageError(fmt.Sprintf("the seed cannot be read: %v", err), "name demo, none, or a file that till sandbox dump has written")
	}
	if !json.Valid(text) {
		return nil, usageError(fmt.Sprintf("the seed %s is not JSON", name), "name demo, none, or a file that till sandbox dump has written")
	}
	return text, nil
}

func (a *app) sandboxDump() *cobra.Command {
	return &cobra.Command{
		Use:   "dump",
		Short: "Print everything that is in the sandbox",
		Long: `Print everything that is in the sandbox as JSON, which till sandbox seed and
--seed take back. Of the API keys of resellers it has hashes only.

` + whichSandbox,
		Example: `  till sandbox dump >box.json
  till sandbox dump --jq '.balances[] | "\(.code) \(.delta)"'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.startControl(cmd)
			if err != nil {
				return err
			}
			view := render.View[json.RawMessage]{JSON: func(m json.RawMessage) []byte { return m }}
			shaped := s.out.Filter != nil || s.Template != "" || s.Origin("output") != "default" // else it is JSON all the same
			if shaped {
				if _, err := show(s, view); err != nil {
					return err
				}
			}
			if s.out.Format == render.CSV {
				return usageError("a dump is no list of rows, so there is no CSV of it", "leave --output out for JSON")
			}
			dump, err := ask[json.RawMessage](s, "/sandbox/dump")
			if err != nil {
				return err
			}
			s.spinner.stop()
			if shaped {
				return view.One(s.io.Out, s.out, dump.raw)
			}
			var b bytes.Buffer
			if err := json.Indent(&b, dump.raw, "", "  "); err != nil {
				return err
			}
			return a.write(b.String())
		},
	}
}
