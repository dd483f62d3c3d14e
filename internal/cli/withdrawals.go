package cli

import (
	"iter"

	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// listFlags are the flags of the two lists of withdrawals.
type listFlags struct {
	from, to       string
	currencies     []string
	statuses       []string
	page, pageSize int
	all            bool
	limit          int
}

func (a *app) addListFlags(cmd *cobra.Command, flags *listFlags) {
	f := cmd.Flags()
	f.StringVar(&flags.from, "from", "", "start of the period: a date, a month, an age such as 7d, or a full date-time")
	f.StringVar(&flags.to, "to", "", "end of the period, likewise")
	f.StringArrayVar(&flags.currencies, "currency", nil, "only this currency; may be given again")
	f.StringArrayVar(&flags.statuses, "status", nil, "only this status; may be given again")
	f.IntVar(&flags.page, "page", 0, "only this page, in the service's own numbering")
	f.IntVar(&flags.pageSize, "page-size", api.DefaultPageSize, "how many to ask for at a time")
	f.BoolVar(&flags.all, "all", false, "the whole list, also on a terminal")
	f.IntVar(&flags.limit, "limit", 0, "stop after so many")
	exclude(cmd, "page", "all")
	a.completeCurrencies(cmd, "currency")
}

// filter turns the flags into the request, before anything is sent.
func (f listFlags) filter(s *session) (api.WithdrawalFilter, error) {
	filter := api.WithdrawalFilter{Tags: f.statuses}
	var err error
	times := s.period()
	if err := times.check(f.from, f.to); err != nil {
		return filter, err
	}
	if filter.From, err = times.from(f.from); err != nil {
		return filter, err
	}
	if filter.To, err = times.to(f.to); err != nil {
		return filter, err
	}
	for _, code := range f.currencies {
		c, err := s.money.ParseCurrency(code)
		if err != nil {
			return filter, err
		}
		filter.Currencies = append(filter.Currencies, c)
	}
	return filter, nil
}

// withdrawalList is one of the two lists of withdrawals.
type withdrawalList struct {
	page func(filter api.WithdrawalFilter, page, size int) (api.WithdrawalPage, error)
	all  func(filter api.WithdrawalFilter, opts api.ListOptions) iter.Seq2[api.Withdrawal, error]
}

func (a *app) listWithdrawals(cmd *cobra.Command, flags listFlags, open func(*session) (withdrawalList, error)) error {
	s, out, err := begin(a, cmd, views.Withdrawals)
	if err != nil {
		return err
	}
	if flags.pageSize < 1 {
		return usageError("--page-size: it must be at least 1", "leave it out for the default")
	}
	if cmd.Flags().Changed("limit") && flags.limit < 1 {
		return usageError("--limit: it must be at least 1", "leave it out for the whole list")
	}
	if flags.page < 0 {
		return usageError("--page: it cannot be negative", "write 0 or 1 for the first page, whichever the service counts from")
	}
	filter, err := flags.filter(s)
	if err != nil {
		return err
	}
	list, err := open(s)
	if err != nil {
		return err
	}
	err = s.printWithdrawals(cmd, flags, filter, list, out)
	if err != nil && explain(err).code == exitRejected && (filter.From != "" || filter.To != "") {
		return &failure{code: exitRejected, err: err, msg: err.Error(),
			hint: payout.NewHint("if the service means the format of the times, set the one it wants with: till profile set " + s.profileOr("NAME") + ` time_layout="2006-01-02T15:04:05"`)}
	}
	return err
}

func (s *session) printWithdrawals(cmd *cobra.Command, flags listFlags, filter api.WithdrawalFilter, list withdrawalList, out output[api.Withdrawal]) error {
	if cmd.Flags().Changed("page") {
		page, err := list.page(filter, flags.page, flags.pageSize)
		if err != nil {
			return err
		}
		return out.list(limited(page.Items, flags.limit))
	}
	var seen, total int64 // as the last page has it
	first, changed := int64(-1), false
	whole := flags.all || flags.limit > 0 || !s.tableOnTerminal()
	opts := api.ListOptions{PageSize: flags.pageSize, FirstPage: s.firstPage(), OnPage: func(p api.WithdrawalPage) {
		if first < 0 {
			first = p.Total
		}
		total = p.Total
		changed = changed || total != first
	}}
	if flags.limit > 0 {
		opts.PageSize = min(opts.PageSize, flags.limit)
	}
	stopped := false
	err := out.list(func(yield func(api.Withdrawal, error) bool) {
		for w, err := range list.all(filter, opts) {
			if err == nil {
				if (flags.limit > 0 && seen == int64(flags.limit)) || (!whole && seen == int64(flags.pageSize)) {
					stopped = true
					return
				}
				seen++
			}
			if !yield(w, err) {
				stopped = true
				return
			}
			if !whole && seen == min(int64(flags.pageSize), total) || flags.limit > 0 && seen == int64(flags.limit) {
				stopped = true
				return
			}
		}
	})
	if err != nil {
		return err
	}
	switch {
	case stopped && !whole && seen < total:
		s.note("%d of %d withdrawals; --all shows the rest", seen, total)
	case !stopped && changed:
		s.note("%d withdrawals were read; the service counted %d at the beginning and %d at the end, so the list changed while it was read, and some may be missing", seen, first, total)
	case !stopped && seen != total:
		s.note("%d withdrawals were read, and the service counts %d: some may be missing", seen, total)
	case seen == 0:
		s.note("no withdrawals")
	}
	return nil
}
