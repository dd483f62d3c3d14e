package reseller

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

func invoiceListCommand(a *cmdutil.App) *cobra.Command {
	var l invoiceList
	cmd := cmdutil.NewCommand(a, cmdutil.Apart, views.Invoices, &cobra.Command{
		Use:               "list ID",
		Short:             "List a reseller's invoices",
		ValidArgsFunction: completeResellers(a),
	}, func(s *cmdutil.Session, out cmdutil.Output[api.Invoice], args []string) error {
		return l.run(s, out, args[0])
	})
	f := cmd.Flags()
	f.BoolVar(&l.all, "all", false, "the whole list, also on a terminal and in JSON")
	f.StringSliceVar(&l.statuses, "status", nil, "only invoices with these statuses")
	f.StringVar(&l.from, "from", "", "only invoices made from then on")
	f.StringVar(&l.to, "to", "", "only invoices made until then")
	f.StringVar(&l.filter, "filter", "", "filter as JSON, or @FILE; sent as given")
	f.IntVar(&l.page, "page", 0, "only this page, in the service's own numbering")
	f.IntVar(&l.size, "page-size", api.DefaultPageSize, "how many to ask for at a time")
	cmd.MarkFlagsMutuallyExclusive("page", "all")
	cmdline.OfferFiles(cmd, "filter")
	cmdutil.Prints[json.RawMessage](a, cmdutil.One, cmd)
	return cmdutil.Prints[api.Invoice](a, cmdutil.List, cmd)
}

// readFilter reads the text of --filter, which must be a JSON object.
func readFilter(text string) (json.RawMessage, error) {
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, exit.UsageError(fmt.Sprintf("--filter: %v", err),
				"name a file that can be read, such as @filter.json")
		}
		text = string(content)
	}
	if text == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, exit.UsageError("--filter: it is not a JSON object", "write one, such as '{}'")
	}
	return json.RawMessage(text), nil
}

func answerView() render.View[json.RawMessage] {
	return render.View[json.RawMessage]{
		JSON: render.Received[json.RawMessage](func(m json.RawMessage) []byte { return m }),
		Columns: []render.Column[json.RawMessage]{{Name: "answer", About: "what the service sent, as JSON",
			Cell: func(m json.RawMessage) render.Cell { return render.JSONText(m) }}},
	}
}

func invoiceFinishedCommand(a *cmdutil.App) *cobra.Command {
	var exitStatus bool
	cmd := cmdutil.NewCommand(a, cmdutil.One, finishedView, &cobra.Command{
		Use:               "finished ID INVOICE",
		Short:             "Tell whether one of a reseller's invoices is finished",
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
			return exit.WithPrintError(exit.Failure(exit.NotYet, nil, "invoice "+args[1]+" is not finished", "ask again later"), printed)
		}
		return printed
	})
	cmd.Flags().BoolVar(&exitStatus, "exit-status", false, "exit with code 42 when it is not finished")
	return cmd
}

func finishedView(money.Registry) render.View[bool] {
	return views.Of(strconv.FormatBool, render.Value[bool](),
		render.Column[bool]{Name: "finished", About: "whether the invoice is finished", Cell: render.Bool})
}

// invoiceList is the list of a reseller's invoices that the flags ask for.
type invoiceList struct {
	*cmdutil.Session
	all        bool
	statuses   []string
	from, to   string
	filter     string
	page, size int
	span       report.Span
	unread     []api.Invoice // whose time matters and cannot be read
}

func (l *invoiceList) run(s *cmdutil.Session, out cmdutil.Output[api.Invoice], reseller string) (err error) {
	l.Session = s
	paged := s.Cmd.Flags().Changed("page")
	switch {
	case paged && l.page < 0:
		return exit.UsageError("--page: it cannot be negative", "leave it out for the first page")
	case l.size < 1:
		return exit.UsageError("--page-size: it must be at least 1", "leave it out for the default")
	}
	filter, err := readFilter(l.filter)
	if err != nil {
		return err
	}
	if l.span, err = s.Period().Written(l.from, l.to); err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	id, err := findReseller(s, client, reseller)
	if err != nil {
		return err
	}
	read := func(page int) (json.RawMessage, error) {
		return client.Resellers.Invoices(s.Ctx, id, filter, page, l.size)
	}
	var answer json.RawMessage
	if paged {
		answer, err = read(l.page)
	} else {
		answer, err = client.Resellers.FirstInvoices(s.Ctx, id, filter, s.PageBase(), l.size)
	}
	if err != nil {
		return err
	}
	chooses := l.all || len(l.statuses) > 0 || l.from+l.to != ""
	invoices, total, ok := invoicesIn(answer)
	switch {
	case !ok && chooses:
		return exit.UsageError("the service's list has another shape than that of invoices, so nothing can be chosen in it",
			"leave --all, --status, --from and --to out")
	case !ok && s.Render.Format == render.Table:
		noteAsJSON(s)
		fallthrough
	case !ok, !out.Tabular() && !s.Quiet && !chooses:
		l.noteFull(paged, invoices, total)
		return cmdutil.Output[json.RawMessage]{Session: s, View: answerView()}.One(answer)
	case paged || s.Render.Width > 0 && !chooses:
		l.noteFull(paged, invoices, total)
		return out.List(l.chosen(cmdutil.Each(invoices)))
	}
	return out.List(l.chosen(pagesFrom(invoices, total, read)))
}

// noteFull says that there are more invoices than on the first page, or may be.
func (l *invoiceList) noteFull(paged bool, invoices []api.Invoice, total int) {
	if !paged && (len(invoices) == l.size || len(invoices) < total) {
		l.Note("this is the first page; --all shows the rest")
	}
}

// invoicesIn returns the invoices of an answer: a list of them, or an object with one list, which has nothing
// but invoices. If the object is a page as those of withdrawals are, it says how many there are in total.
func invoicesIn(answer json.RawMessage) (invoices []api.Invoice, total int, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) == nil {
		if fields["page_content"] != nil && fields["page_count"] != nil {
			json.Unmarshal(fields["total"], &total)
		}
		lists := 0
		for _, field := range fields {
			if field[0] == '[' {
				answer = field
				lists++
			}
		}
		if lists != 1 {
			return nil, 0, false
		}
	}
	err := json.Unmarshal(answer, &invoices)
	return invoices, total, err == nil && !slices.ContainsFunc(invoices, func(i api.Invoice) bool { return i.ID == "" })
}

// pagesFrom yields the invoices of the first page and of all others. The list does not say which page is the last,
// nor what its number is: it ends where a page has nothing new, or is refused and the total, if there is one, was read.
func pagesFrom(page []api.Invoice, total int, read func(page int) (json.RawMessage, error)) iter.Seq2[api.Invoice, error] {
	return func(yield func(api.Invoice, error) bool) {
		seen := map[string]bool{}
		for number := 1; ; number++ {
			fresh := slices.DeleteFunc(page, func(i api.Invoice) bool {
				known := seen[i.ID]
				seen[i.ID] = true
				return known
			})
			for _, i := range fresh {
				if !yield(i, nil) {
					return
				}
			}
			if len(fresh) == 0 && number != 2 { // page 1 may be the first again
				return
			}
			var err error
			page, err = readInvoices(number, read)
			if endsList(err) && len(seen) >= total {
				return
			}
			if err != nil {
				yield(api.Invoice{}, err)
				return
			}
		}
	}
}

func readInvoices(number int, read func(page int) (json.RawMessage, error)) ([]api.Invoice, error) {
	answer, err := read(number)
	if err != nil {
		return nil, err
	}
	page, _, ok := invoicesIn(answer)
	if !ok {
		err = exit.Failure(exit.ReadFailed, nil, fmt.Sprintf("page %d of the service's list has another shape than that of invoices", number), "run it again")
	}
	return page, err
}

// endsList reports whether the service refuses a page because there is none of this number.
func endsList(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && refused.Envelope && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound,
		http.StatusRequestedRangeNotSatisfiable, http.StatusUnprocessableEntity}, refused.Status)
}

// chosen leaves out what the flags do not ask for. If none of the statuses asked for occurs, it names those
// that do.
func (l *invoiceList) chosen(all iter.Seq2[api.Invoice, error]) iter.Seq2[api.Invoice, error] {
	return func(yield func(api.Invoice, error) bool) {
		var seen []string
		defer func() {
			if len(seen) > 0 && !slices.ContainsFunc(seen, l.wanted) {
				l.Note("no invoice has the status %s; there are %s", strings.Join(l.statuses, ", "), strings.Join(seen, ", "))
			}
		}()
		for i, err := range all {
			if err == nil && !slices.Contains(seen, i.Status) {
				seen = append(seen, i.Status)
			}
			if (err != nil || l.wanted(i.Status) && l.within(i)) && !yield(i, err) {
				return
			}
		}
		if len(l.unread) > 0 {
			err := exit.Explain(report.Unread("invoice "+l.unread[0].ID, l.unread[0].CreatedDate, len(l.unread)))
			err.Code = exit.Partial
			yield(api.Invoice{}, &err)
		}
	}
}

func (l *invoiceList) wanted(status string) bool {
	return len(l.statuses) == 0 || slices.ContainsFunc(l.statuses, func(asked string) bool {
		return strings.EqualFold(strings.TrimSpace(status), asked)
	})
}

// within reports whether an invoice was made in the period.
func (l *invoiceList) within(i api.Invoice) bool {
	at, dated := report.ParseCreated(i.CreatedDate, l.TimeLayout)
	if !dated && !l.span.Open() {
		l.unread = append(l.unread, i)
	}
	return l.span.Open() || dated && l.span.Contains(at)
}
