package reseller

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func invoiceCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group("invoice", "Look at a reseller's invoices", invoiceListCommand(a), invoiceGetCommand(a),
		invoiceFinishedCommand(a))
}

func invoiceListCommand(a *cmdutil.App) *cobra.Command {
	var l invoiceList
	cmd := cmdutil.WithView(a, cmdutil.Apart, views.Invoices, &cobra.Command{
		Use:   "list ID",
		Short: "List a reseller's invoices",
		Long: `List a reseller's invoices: all of them in a pipe, and the first page on a
terminal. The interface does not show the shape of the list or of its filter:
the filter is sent as given. Invoices in the answer make a table; --status,
--from and --to choose among them. If the answer has none, its JSON is printed.

In JSON it is the service's answer as it came, one page of it, or with --all a
list of all invoices.

Without --page the first page is that of first_page in the profile; with
first_page=auto it is page 0 or, if the service refuses page 0 or it has no
records, page 1.`,
		Example: `  till reseller invoice list "North shop" --from last-month -o csv >may.csv
  till reseller invoice list "North shop" --filter '{}' --page 1 -o json`,
		Args:              cmdutil.Args("ID"),
		ValidArgsFunction: completeResellers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, out, err := cmdutil.Begin(a, cmd, views.Invoices)
			if err != nil {
				return err
			}
			return l.run(s, out, args[0])
		},
	})
	f := cmd.Flags()
	f.BoolVar(&l.all, "all", false, "the whole list, also on a terminal and in JSON")
	f.StringSliceVar(&l.statuses, "status", nil, "only invoices with these statuses")
	f.StringVar(&l.from, "from", "", "only invoices made from then on")
	f.StringVar(&l.to, "to", "", "only invoices made until then")
	f.StringVar(&l.filter, "filter", "", "filter as JSON, or @FILE; sent as given")
	f.IntVar(&l.page, "page", 0, "only this page, in the service's own numbering")
	f.IntVar(&l.size, "page-size", api.DefaultPageSize, "how many to ask for at a time")
	cmdutil.Exclude(cmd, "page", "all")
	cmdutil.OfferFiles(cmd, "filter")
	a.Prints(cmd, cmdutil.PrintedAs[json.RawMessage](cmdutil.One))
	return a.Prints(cmd, cmdutil.PrintedAs[api.Invoice](cmdutil.List))
}

// readFilter reads the text of --filter, which must be a JSON object.
func readFilter(text string) (json.RawMessage, error) {
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, cmdutil.UsageError(fmt.Sprintf("--filter: %v", err),
				"name a file that can be read, such as @filter.json")
		}
		text = string(content)
	}
	if text == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, cmdutil.UsageError("--filter: it is not a JSON object", "write one, such as '{}'")
	}
	return json.RawMessage(text), nil
}

// answerView shows an answer of unknown shape as JSON.
func answerView() render.View[json.RawMessage] {
	return render.View[json.RawMessage]{
		JSON: render.Received[json.RawMessage](func(m json.RawMessage) []byte { return m }),
		Columns: []render.Column[json.RawMessage]{{Name: "answer", About: "what the service sent, as JSON",
			Cell: func(m json.RawMessage) render.Cell { return render.JSONText(m) }}},
	}
}

func invoiceGetCommand(a *cmdutil.App) *cobra.Command {
	return aboutReseller(a, "get ID INVOICE", "Show one of a reseller's invoices",
		`  till reseller invoice get "North shop" \
    7c9e6679-7425-40de-944b-e07fc1f90ae7`, views.Invoices,
		func(ctx context.Context, client *api.Client, id string, args []string) (api.Invoice, error) {
			return client.Resellers.Invoice(ctx, id, args[1])
		}, "INVOICE")
}

func invoiceFinishedCommand(a *cmdutil.App) *cobra.Command {
	var exitStatus bool
	cmd := cmdutil.NewCommand(a, cmdutil.One, finishedView, &cobra.Command{
		Use:   "finished ID INVOICE",
		Short: "Tell whether one of a reseller's invoices is finished",
		Example: `  till reseller invoice finished "North shop" \
    7c9e6679-7425-40de-944b-e07fc1f90ae7 --exit-status`,
		Args:              cmdutil.Args("ID", "INVOICE"),
		ValidArgsFunction: completeResellers(a),
	}, func(s *cmdutil.Session, out cmdutil.Output[bool], args []string) error {
		client, err := s.Client()
		if err != nil {
			return err
		}
		id, err := findReseller(s, client, args[0])
		if err != nil {
			return err
		}
		s.Subject.ID = args[1]
		finished, err := client.Resellers.InvoiceFinished(s.Ctx, id, args[1])
		if err != nil {
			return err
		}
		printed := out.Bare(finished, fmt.Sprint(finished))
		if exitStatus && !finished {
			return cmdutil.WithPrintError(&cmdutil.Error{Code: cmdutil.ExitNotYet,
				Msg: "invoice " + args[1] + " is not finished", Hint: payout.NewHint("ask again later")}, printed)
		}
		return printed
	})
	cmd.Flags().BoolVar(&exitStatus, "exit-status", false, "exit with code 42 when it is not finished")
	return cmd
}

func finishedView(money.Registry) render.View[bool] {
	return render.ViewOf(strconv.FormatBool,
		render.Column[bool]{Name: "finished", About: "whether the invoice is finished", Cell: render.Bool})
}
