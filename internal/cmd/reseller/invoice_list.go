package reseller

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/pkg/api"
)

// invoiceList is the list of a reseller's invoices that the flags ask for.
type invoiceList struct {
	*cmdutil.Session
	all        bool
	statuses   []string
	from, to   string
	filter     string
	page, size int
	reseller   string
	sent       json.RawMessage // the filter
	span       report.Span
	client     *api.Client
}

func (l *invoiceList) run(s *cmdutil.Session, out cmdutil.Output[api.Invoice], reseller string) (err error) {
	l.Session = s
	paged := s.Cmd.Flags().Changed("page")
	switch {
	case paged && l.page < 0:
		return cmdutil.UsageError("--page: it cannot be negative", "leave it out for the first page")
	case l.size < 1:
		return cmdutil.UsageError("--page-size: it must be at least 1", "leave it out for the default")
	}
	if l.sent, err = readFilter(l.filter); err != nil {
		return err
	}
	if l.span, err = s.Period().Written(l.from, l.to); err != nil {
		return err
	}
	if l.client, err = s.Client(); err != nil {
		return err
	}
	if l.reseller, err = findReseller(s, l.client, reseller); err != nil {
		return err
	}
	var answer json.RawMessage
	if paged {
		answer, err = l.client.Resellers.Invoices(s.Ctx, l.reseller, l.sent, l.page, l.size)
	} else {
		answer, err = l.client.Resellers.FirstInvoices(s.Ctx, l.reseller, l.sent, s.PageBase(), l.size)
	}
	if err != nil {
		return err
	}
	chooses := l.all || len(l.statuses) > 0 || l.from+l.to != ""
	invoices, ok := invoicesIn(answer)
	switch {
	case !ok && chooses:
		return cmdutil.UsageError("the service's list has another shape than that of invoices, so nothing can be chosen in it",
			"leave --all, --status, --from and --to out")
	case !ok && s.Render.Format == render.Table:
		noteAsJSON(s)
		fallthrough
	case !ok, !out.Tabular() && !s.Quiet && !chooses:
		l.noteFull(paged, invoices)
		return cmdutil.Output[json.RawMessage]{Session: s, View: answerView()}.One(answer)
	case paged || s.Render.Width > 0 && !chooses:
		l.noteFull(paged, invoices)
		return out.List(l.chosen(cmdutil.Limited(invoices, 0)))
	}
	return out.List(l.chosen(l.pages(invoices)))
}

// noteFull says that there may be more invoices, if the first page is full.
func (l *invoiceList) noteFull(paged bool, invoices []api.Invoice) {
	if !paged && len(invoices) == l.size {
		l.Note("this is the first page; --all shows the rest")
	}
}

// invoicesIn returns the invoices of an answer: a list of them, or an object with one list, which has nothing
// but invoices.
func invoicesIn(answer json.RawMessage) (invoices []api.Invoice, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) == nil {
		lists := 0
		for _, field := range fields {
			if field[0] == '[' {
				answer = field
				lists++
			}
		}
		if lists != 1 {
			return nil, false
		}
	}
	err := json.Unmarshal(answer, &invoices)
	return invoices, err == nil && !slices.ContainsFunc(invoices, func(i api.Invoice) bool { return i.ID == "" })
}

// pages yields all invoices. The list does not say which page is the last, nor what its number is: it ends
// where a page has nothing new, or is refused.
func (l *invoiceList) pages(page []api.Invoice) iter.Seq2[api.Invoice, error] {
	return func(yield func(api.Invoice, error) bool) {
		seen := map[string]bool{}
		for number := 1; ; number++ { // page 1 may be the first again
			fresh := unseen(page, seen)
			for _, i := range fresh {
				if !yield(i, nil) {
					return
				}
			}
			if len(fresh) == 0 && number != 2 {
				return
			}
			var err error
			if page, err = l.numbered(number); err != nil {
				if !endsList(err) {
					yield(api.Invoice{}, err)
				}
				return
			}
		}
	}
}

// unseen returns the invoices whose ids are not in seen, each once, and adds them to it.
func unseen(page []api.Invoice, seen map[string]bool) (fresh []api.Invoice) {
	for _, i := range page {
		if !seen[i.ID] {
			seen[i.ID], fresh = true, append(fresh, i)
		}
	}
	return fresh
}

// numbered returns the invoices of a page.
func (l *invoiceList) numbered(number int) ([]api.Invoice, error) {
	answer, err := l.client.Resellers.Invoices(l.Ctx, l.reseller, l.sent, number, l.size)
	if err != nil {
		return nil, err
	}
	invoices, ok := invoicesIn(answer)
	if !ok {
		return nil, fmt.Errorf("page %d of the service's list has another shape than that of invoices", number)
	}
	return invoices, nil
}

// endsList reports whether the service refuses a page because there is none of this number.
func endsList(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound,
		http.StatusRequestedRangeNotSatisfiable, http.StatusUnprocessableEntity}, refused.Status)
}

// noteStatuses names the statuses there are, if none of them was asked for.
func (l *invoiceList) noteStatuses(seen []string) {
	if len(l.statuses) > 0 && len(seen) > 0 && !slices.ContainsFunc(seen, l.wants) {
		l.Note("no invoice has the status %s; there are %s", strings.Join(l.statuses, ", "), strings.Join(seen, ", "))
	}
}

func (l *invoiceList) wants(status string) bool {
	return slices.ContainsFunc(l.statuses, func(asked string) bool {
		return strings.EqualFold(strings.TrimSpace(status), strings.TrimSpace(asked))
	})
}

// chosen leaves out what the flags do not ask for.
func (l *invoiceList) chosen(all iter.Seq2[api.Invoice, error]) iter.Seq2[api.Invoice, error] {
	return func(yield func(api.Invoice, error) bool) {
		var statuses []string
		defer func() { l.noteStatuses(statuses) }()
		for i, err := range all {
			if err == nil && !slices.Contains(statuses, i.Status) {
				statuses = append(statuses, i.Status)
			}
			if (err != nil || l.asksFor(i)) && !yield(i, err) {
				return
			}
		}
	}
}

// asksFor reports whether the flags ask for an invoice. One whose time cannot be read is in no period.
func (l *invoiceList) asksFor(i api.Invoice) bool {
	if len(l.statuses) > 0 && !l.wants(i.Status) {
		return false
	}
	if l.from+l.to == "" {
		return true
	}
	at, _, ok := report.ParseWritten(i.CreatedDate)
	return ok && l.span.Contains(at)
}
