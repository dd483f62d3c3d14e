package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
)

// sandboxState is the name of a state. A new state never has the name of another.
type sandboxState struct {
	ID       string `json:"id"`
	Merchant string `json:"merchant_id"`
}

func sandboxStateView(money.Registry) render.View[sandboxState] {
	type row = sandboxState
	return render.View[row]{
		ID: func(s row) string { return s.ID },
		Columns: []render.Column[row]{
			{Name: "id", About: "id of the new state",
				Whole: true, Cell: func(s row) render.Cell { return render.Text(s.ID) }},
			{Name: "merchant_id", About: "id of the merchant in it",
				Whole: true, Cell: func(s row) render.Cell { return render.Text(s.Merchant) }},
		},
	}
}

func resetCommand(a *cmdutil.App) *cobra.Command {
	return beginsState(a, &cobra.Command{
		Use:   "reset",
		Short: "Reset the sandbox",
		Long: `Delete everything in the sandbox, and start again with funds in every currency
and the time of this machine. The command prints the id of the new state, which
is unique. It does not ask for confirmation.`,
		Example: `  till sandbox reset`,
		Args:    cmdutil.NoArgs,
	}, func(s *cmdutil.Session, _ []string) (answered[sandboxState], error) {
		return tell[sandboxState](s, "/sandbox/reset", struct{}{})
	})
}

func seedCommand(a *cmdutil.App) *cobra.Command {
	return beginsState(a, &cobra.Command{
		Use:   "seed FILE",
		Short: "Reset the sandbox to the contents of a file",
		Long: `Delete everything in the sandbox, and fill it from a file; - is standard input.
demo means a shop with four resellers and half a year of invoices, and none
means an empty sandbox. An invalid file changes nothing. The command does not
ask for confirmation.

The file is YAML or JSON, such as till sandbox dump prints. In a file written
by hand, leave out what the sandbox can make up or derive:

  balances: [1000.00 Usd, 1.5 Btc]
  resellers:
    - {label: Harbour Books, api_key: till_sandbox_harbour}
  invoices:
    - {account: Harbour Books, title: Order 1001, total: 25.00 Usd}
    - {account: Harbour Books, total: 9.90 Eur, status: Paid}
  withdrawals:
    - amount: 0.015 Btc
      address: bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
      status: Processing

till help seeds lists every field.`,
		Example: `  till sandbox seed demo
  till sandbox dump >box.json && till sandbox seed box.json
  echo '{resellers: [{label: Harbour Books}]}' | till sandbox seed -`,
		Args:              cmdutil.Args("FILE"),
		ValidArgsFunction: cmdutil.FileNames,
	}, func(s *cmdutil.Session, args []string) (answered[sandboxState], error) {
		if isSeed(args[0]) {
			return tell[sandboxState](s, "/sandbox/reset", map[string]string{"seed": args[0]})
		}
		seed, err := readSeed(s, args[0])
		if err != nil {
			return answered[sandboxState]{}, err
		}
		begun, err := tell[sandboxState](s, "/sandbox/restore", seed)
		if call, ok := errors.AsType[*api.Error](err); ok && call.Outcome == api.Rejected &&
			call.Status == http.StatusBadRequest {
			err = cmdutil.UsageError(args[0]+": "+strings.TrimRight(call.Description, "."), "")
		}
		return begun, err
	})
}

// beginsState completes a command that prints the id of a new state.
func beginsState(
	a *cmdutil.App, cmd *cobra.Command, do func(s *cmdutil.Session, args []string) (answered[sandboxState], error),
) *cobra.Command {
	return newControl(a, cmdutil.One, answeredView(sandboxStateView), cmd,
		func(s *cmdutil.Session, out cmdutil.Output[answered[sandboxState]], args []string) error {
			state, err := do(s, args)
			if err != nil {
				return err
			}
			return out.Bare(state, state.value.ID)
		})
}

func dumpCommand(a *cmdutil.App) *cobra.Command {
	return a.Prints(&cobra.Command{
		Use:   "dump",
		Short: "Print everything that is in the sandbox",
		Long: `Print everything in the sandbox as JSON, which till sandbox seed and --seed
read. It has hashes of the resellers' API keys, not the keys.

` + whichSandbox,
		Example: `  till sandbox dump >box.json
  till sandbox dump --jq '.balances[] | "\(.code) \(.delta)"'`,
		Args: cmdutil.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := startControl(a, cmd)
			if err != nil {
				return err
			}
			view := render.View[json.RawMessage]{JSON: render.Received[json.RawMessage](func(m json.RawMessage) []byte { return m })}
			// else it is JSON anyway
			shaped := s.Render.Filter != nil || s.Template != "" || !s.Origin("output").IsDefault()
			if shaped {
				if _, err := cmdutil.NewOutput(s, view); err != nil {
					return err
				}
			}
			if s.Render.Format == render.CSV {
				return cmdutil.UsageError("a dump is not a list of rows, so it has no CSV form",
					"leave --output out for JSON")
			}
			dump, err := ask[json.RawMessage](s, "/sandbox/dump")
			if err != nil {
				return err
			}
			s.Spinner.Stop()
			if shaped {
				return view.One(s.IO.Out, s.Render, dump.raw)
			}
			var b bytes.Buffer
			if err := json.Indent(&b, dump.raw, "", "  "); err != nil {
				return err
			}
			return a.WriteData(b.String())
		},
	}, cmdutil.PrintedAs[sandbox.Dump](cmdutil.One))
}
