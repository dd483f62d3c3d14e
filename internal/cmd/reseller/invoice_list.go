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
		for number := 1; ; number++ {
			fresh := number == 2 // page 1 may be the first again
			for _, i := range page {
				if seen[i.ID] {
					continue
				}
				if seen[i.ID], fresh = true, true; !yield(i, nil) {
					return
				}
			}
			if !fresh {
				return
			}
			answer, err := l.client.Resellers.Invoices(l.Ctx, l.reseller, l.sent, number, l.size)
			if err == nil {
				var ok bool
				if page, ok = invoicesIn(answer); !ok {
					err = fmt.Errorf("page %d of the service's list has another shape than that of invoices", number)
				}
			}
			if err != nil {
				if !endsList(err) {
					yield(api.Invoice{}, err)
				}
				return
			}
		}
	}
}

// endsList reports whether the service refuses a page because there is none of this number.
func endsList(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound,
		http.StatusRequestedRangeNotSatisfiable, http.StatusUnprocessableEntity}, refused.Status)
}

// chosen leaves out what the flags do not ask for. If none of the statuses asked for occurs, it names those
// that do.
func (l *invoiceList) chosen(all iter.Seq2[api.Invoice, error]) iter.Seq2[api.Invoice, error] {
	wanted := func(status string) bool {
		return slices.ContainsFunc(l.statuses, func(asked string) bool {
			return strings.EqualFold(strings.TrimSpace(status), strings.TrimSpace(asked))
		})
	}
	return func(yield func(api.Invoice, error) bool) {
		var seen []string
		defer func() {
			if len(l.statuses) > 0 && len(seen) > 0 && !slices.ContainsFunc(seen, wanted) {
				l.Note("no invoice has the status %s; there are %s", strings.Join(l.statuses, ", "), strings.Join(seen, ", "))
			}
		}()
		for i, err := range all {
			if err == nil && !slices.Contains(seen, i.Status) {
				seen = append(seen, i.Status)
			}
			asked := (len(l.statuses) == 0 || wanted(i.Status)) && (l.from+l.to == "" || l.within(i.CreatedDate))
			if (err != nil || asked) && !yield(i, err) {
				return
			}
		}
	}
}

// within reports whether a time is in the period. One that cannot be read is in none.
func (l *invoiceList) within(created string) bool {
	at, _, ok := report.ParseWritten(created)
	return ok && l.span.Contains(at)
}
