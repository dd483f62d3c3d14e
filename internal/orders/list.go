package orders

import (
	"context"
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
	"github.com/spf13/cobra"
)

// listFlags are the flags of the two lists of withdrawals.
type listFlags struct {
	from, to              string
	currencies, statuses  []string
	page, pageSize, limit int
	all                   bool
}

// ListCommand completes a command that prints the list of all withdrawals, or of those of the reseller whose id find
// returns.
func ListCommand(
	a *cmdutil.App, cmd *cobra.Command, find func(*cmdutil.Session, *api.Client, []string) (reseller string, err error),
) *cobra.Command {
	var flags listFlags
	cmdutil.NewCommand(a, cmdutil.List, views.Withdrawals, cmd,
		func(s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], args []string) error {
			filter, within, err := flags.filter(s)
			if err != nil {
				return err
			}
			client, err := s.Client()
			if err != nil {
				return err
			}
			reseller, err := find(s, client, args)
			if err != nil {
				return err
			}
			print := flags.printAll
			if cmd.Flags().Changed("page") {
				print = flags.printPage
			}
			err = print(s, out, within, newList(client, reseller, filter))
			if err != nil && exit.Explain(err).Code == exit.Rejected && !s.Sandbox && (filter.From != "" || filter.To != "") {
				return exit.Failure(exit.Rejected, err, err.Error(),
					fmt.Sprintf("if the service means the format of the times, set the one it wants with: till profile set %s time_layout=LAYOUT (now %s)",
						s.ProfileOr("NAME"), s.TimeLayout))
			}
			return err
		})
	f := cmd.Flags()
	f.StringVar(&flags.from, "from", "", "start of the period: a date, week or month, last-month, an age such as 7d, or a full date-time")
	f.StringVar(&flags.to, "to", "", "end of the period, in the same forms")
	f.StringArrayVar(&flags.currencies, "currency", nil, "only this currency; may be given again")
	f.StringArrayVar(&flags.statuses, "status", nil, "only this status; may be given again")
	f.IntVar(&flags.page, "page", 0, "only this page, in the service's own numbering")
	f.IntVar(&flags.pageSize, "page-size", api.DefaultPageSize, "how many to ask for at a time")
	f.BoolVar(&flags.all, "all", false, "the whole list, also on a terminal")
	f.IntVar(&flags.limit, "limit", 0, "stop after so many")
	cmd.MarkFlagsMutuallyExclusive("page", "all")
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	return cmd
}

// newList returns the list of all withdrawals that a filter finds or, with the id of a reseller, of the reseller's.
func newList(client *api.Client, reseller string, filter api.WithdrawalFilter) listOf {
	if reseller == "" {
		return listOf{client.Withdrawals.List, client.Withdrawals.All, filter}
	}
	return listOf{func(ctx context.Context, filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error) {
		return client.Resellers.Withdrawals(ctx, reseller, filter, page, size)
	}, func(ctx context.Context, filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error] {
		return client.Resellers.AllWithdrawals(ctx, reseller, filter, opts)
	}, filter}
}

// filter checks the flags. It returns the filter of the request, and reports whether a withdrawal that it finds was made
// before the end of the period, as far as that can be seen.
func (f *listFlags) filter(s *cmdutil.Session) (
	filter api.WithdrawalFilter, within func(api.Withdrawal) bool, err error,
) {
	switch {
	case f.pageSize < 1:
		return filter, nil, exit.UsageError("--page-size: it must be at least 1", "leave it out for the default")
	case s.Cmd.Flags().Changed("limit") && f.limit < 1:
		return filter, nil, exit.UsageError("--limit: it must be at least 1", "leave it out for the whole list")
	case f.page < 0:
		return filter, nil, exit.UsageError("--page: it cannot be negative",
			"write 0 or 1 for the first page, whichever the service counts from")
	}
	filter.Tags = f.statuses
	times := s.Period()
	var end time.Time
	if filter.From, filter.To, end, err = times.Sent(f.from, f.to); err != nil {
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

// listOf is a list of withdrawals.
type listOf struct {
	page func(ctx context.Context, filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error)
	all  func(context.Context, api.WithdrawalFilter, api.ListOptions) iter.Seq2[api.Withdrawal, error]

	filter api.WithdrawalFilter
}

// printPage prints one page.
func (f *listFlags) printPage(
	s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], within func(api.Withdrawal) bool, list listOf,
) error {
	got, err := list.page(s.Ctx, list.filter, f.page, f.pageSize)
	if err != nil {
		return err
	}
	page := slices.DeleteFunc(got.Items, func(w api.Withdrawal) bool { return !within(w) })
	if f.limit > 0 {
		page = page[:min(f.limit, len(page))]
	}
	if err = out.Slice(page); err == nil && len(page) == 0 {
		s.Note("there are no withdrawals on page %d", f.page)
	}
	return err
}

// printAll prints the whole list or, on a terminal, the first page, and says what is missing.
func (f *listFlags) printAll(
	s *cmdutil.Session, out cmdutil.Output[api.Withdrawal], within func(api.Withdrawal) bool, list listOf,
) error {
	limit := int64(f.limit)
	whole := f.all || limit > 0 || !s.TableOnTerminal()
	read := listing{first: -1}
	opts := api.ListOptions{PageSize: f.pageSize, FirstPage: s.PageBase(), OnPage: func(page api.WithdrawalPage) {
		if read.total = page.Total; read.first < 0 {
			read.first = page.Total
		}
	}}
	if limit > 0 {
		opts.PageSize = min(opts.PageSize, f.limit)
	} else if !whole {
		limit = int64(f.pageSize)
	}
	err := out.List(func(yield func(api.Withdrawal, error) bool) {
		for w, err := range list.all(s.Ctx, list.filter, opts) {
			if err == nil {
				if read.seen++; !within(w) {
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
		read.note(s, whole)
	}
	return err
}

// A listing counts what is read of a list.
type listing struct {
	seen, shown  int64
	first, total int64 // what the service counts on the first page, or less than 0, and on the last one
	stopped      bool  // no more is wanted
}

// note says what is missing. whole says whether the whole list was wanted.
func (l listing) note(s *cmdutil.Session, whole bool) {
	switch {
	case l.stopped && !whole && l.seen < l.total:
		s.Note("%d of %d withdrawals; --all shows the rest", l.seen, l.total)
	case !l.stopped && l.first != l.total:
		s.Note("%d withdrawals were read; the service counted %d at the beginning and %d at the end, so the list changed while it was read, and some may be missing", l.seen, l.first, l.total)
	case !l.stopped && l.seen < l.total:
		s.Note("%d withdrawals were read, and the service counts %d: some may be missing", l.seen, l.total)
	case !l.stopped && l.seen > l.total:
		s.Note("%d withdrawals were read, and the service counts only %d", l.seen, l.total)
	case l.shown == 0:
		s.Note("no withdrawals")
	}
}
