package orders

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// ListFlags are the flags of the two lists of withdrawals.
type ListFlags struct {
	From, To       string
	currencies     []string
	statuses       []string
	page, pageSize int
	all            bool
	limit          int
}

// List is one of the two lists of withdrawals.
type List struct {
	Page func(filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error)
	All  func(filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error]
}

// ListCommand completes a command that prints the list of withdrawals that open returns.
func ListCommand(
	a *cmdutil.App, cmd *cobra.Command, open func(*cmdutil.Session, *api.Client, []string) (List, error),
) *cobra.Command {
	var flags ListFlags
	cmdutil.NewCommand(a, cmdutil.List, views.Withdrawals, cmd,
		func(s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], args []string) error {
			if err := flags.check(s); err != nil {
				return err
			}
			filter, within, err := flags.Filter(s)
			if err != nil {
				return err
			}
			client, err := s.Client()
			if err != nil {
				return err
			}
			list, err := open(s, client, args)
			if err != nil {
				return err
			}
			if p := (printing{s, flags, filter, within, out}); s.Cmd.Flags().Changed("page") {
				err = p.page(list)
			} else {
				err = p.all(list)
			}
			if err != nil && exit.Explain(err).Code == exit.Rejected && (filter.From != "" || filter.To != "") {
				return &exit.Error{Code: exit.Rejected, Err: err, Msg: err.Error(),
					Hint: payout.NewHint(fmt.Sprintf("if the service means the format of the times, set the one it wants with: till profile set %s time_layout=LAYOUT (now %s)",
						s.ProfileOr("NAME"), s.TimeLayout))}
			}
			return err
		})
	f := cmd.Flags()
	f.StringVar(&flags.From, "from", "", "start of the period: a date, a month, an age such as 7d, or a full date-time")
	f.StringVar(&flags.To, "to", "", "end of the period, in the same forms")
	f.StringArrayVar(&flags.currencies, "currency", nil, "only this currency; may be given again")
	f.StringArrayVar(&flags.statuses, "status", nil, "only this status; may be given again")
	f.IntVar(&flags.page, "page", 0, "only this page, in the service's own numbering")
	f.IntVar(&flags.pageSize, "page-size", api.DefaultPageSize, "how many to ask for at a time")
	f.BoolVar(&flags.all, "all", false, "the whole list, also on a terminal")
	f.IntVar(&flags.limit, "limit", 0, "stop after so many")
	cmdline.Exclude(cmd, "page", "all")
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	return cmd
}

func (f *ListFlags) check(s *cmdutil.Session) error {
	switch {
	case f.pageSize < 1:
		return exit.UsageError("--page-size: it must be at least 1", "leave it out for the default")
	case s.Cmd.Flags().Changed("limit") && f.limit < 1:
		return exit.UsageError("--limit: it must be at least 1", "leave it out for the whole list")
	case f.page < 0:
		return exit.UsageError("--page: it cannot be negative",
			"write 0 or 1 for the first page, whichever the service counts from")
	}
	return nil
}

// Filter returns the filter of the request, and reports whether a withdrawal that it finds was made before the end
// of the period, as far as that can be seen.
func (f *ListFlags) Filter(s *cmdutil.Session) (
	filter api.WithdrawalFilter, within func(api.Withdrawal) bool, err error,
) {
	filter.Tags = f.statuses
	times := s.Period()
	var end time.Time
	if filter.From, filter.To, end, err = times.Sent(f.From, f.To); err != nil {
		return filter, nil, err
	}
	for _, status := range f.statuses {
		if strings.Contains(status, ",") {
			s.Note("--status %q is sent as one status: for several, give --status again for each", status)
		}
	}
	for _, code := range f.currencies {
		if strings.Contains(code, ",") {
			return filter, nil, exit.UsageError(fmt.Sprintf("--currency: %q is not one currency", code), "give --currency again for each")
		}
		c, err := s.Money.ParseCurrency(code)
		if err != nil {
			return filter, nil, err
		}
		filter.Currencies = append(filter.Currencies, c)
	}
	return filter, func(w api.Withdrawal) bool {
		if end.IsZero() || len(w.Statuses) == 0 {
			return true
		}
		made, ok := times.Reads(w.Statuses[0].At)
		return !ok || made.Before(end)
	}, nil
}

// printing is a list that is being printed.
type printing struct {
	*cmdutil.Session
	flags  ListFlags
	filter api.WithdrawalFilter
	within func(api.Withdrawal) bool
	out    cmdutil.Output[api.Withdrawal]
}

// page prints one page.
func (p printing) page(l List) error {
	page, err := l.Page(p.filter, p.flags.page, p.flags.pageSize)
	if err != nil {
		return err
	}
	page.Items = slices.DeleteFunc(page.Items, func(w api.Withdrawal) bool { return !p.within(w) })
	err = p.out.List(cmdutil.Limited(page.Items, p.flags.limit))
	if err == nil && len(page.Items) == 0 {
		err = p.Note("there are no withdrawals on page %d", p.flags.page)
	}
	return err
}

// all prints the whole list, or the first page on a terminal, and says what is missing.
func (p printing) all(l List) error {
	read := listing{first: -1}
	limit := int64(p.flags.limit)
	whole := p.flags.all || limit > 0 || !p.TableOnTerminal()
	opts := api.ListOptions{PageSize: p.flags.pageSize, FirstPage: p.PageBase(), OnPage: read.count}
	if limit > 0 {
		opts.PageSize = min(opts.PageSize, p.flags.limit)
	} else if !whole {
		limit = int64(p.flags.pageSize)
	}
	err := p.out.List(func(yield func(api.Withdrawal, error) bool) {
		for w, err := range l.All(p.filter, opts) {
			if err == nil {
				read.seen++
				if !p.within(w) {
					continue
				}
				read.shown++
			}
			read.stopped = !yield(w, err) || read.shown == limit || !whole && read.seen == read.total
			if read.stopped {
				return
			}
		}
	})
	if err == nil {
		read.note(p.Session, whole)
	}
	return err
}

// A listing counts what is read of a list.
type listing struct {
	seen, shown  int64
	first, total int64 // what the service counts on the first page, or less than 0, and on the last one
	changed      bool  // it has counted differently on two pages
	stopped      bool  // no more is wanted
}

func (l *listing) count(page api.WithdrawalPage) {
	if l.first < 0 {
		l.first = page.Total
	}
	l.total = page.Total
	l.changed = l.changed || l.total != l.first
}

// note says what is missing. whole says whether the whole list was wanted.
func (l *listing) note(s *cmdutil.Session, whole bool) {
	switch {
	case l.stopped && !whole && l.seen < l.total:
		s.Note("%d of %d withdrawals; --all shows the rest", l.seen, l.total)
	case !l.stopped && l.changed:
		s.Note("%d withdrawals were read; the service counted %d at the beginning and %d at the end, so the list changed while it was read, and some may be missing", l.seen, l.first, l.total)
	case !l.stopped && l.seen != l.total:
		s.Note("%d withdrawals were read, and the service counts %d: some may be missing", l.seen, l.total)
	case l.shown == 0:
		s.Note("no withdrawals")
	}
}
