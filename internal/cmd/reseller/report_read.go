package reseller

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/usage"
)

// read fetches the statistics of the resellers in parallel and adds them up. It drops each after adding it,
// so only those in flight take memory.
func (p *reporting) read(args []string) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	resellers, err := namedResellers(p.Session, client, args)
	if err != nil {
		return err
	}
	p.resellers, p.unread = len(resellers), len(resellers)
	width := p.concurrency
	if p.DryRun {
		width = 1 // so that the requests are shown in order
	}
	bar := p.Spinner.Bar("reading resellers", len(resellers), p.Debug)
	defer bar.Finish()
	var adding sync.Mutex
	p.failed, err = readEach(p.Ctx, resellers, width, func(_ int, r namedReseller) error {
		defer bar.Add(1)
		stats, err := client.Resellers.Stats(p.Ctx, r.id)
		adding.Lock()
		defer adding.Unlock()
		switch {
		case err != nil:
		case !strings.EqualFold(stats.ID, r.id):
			err = fmt.Errorf("the statistics of reseller %s: the answer is about another one, %q", r.id, stats.ID)
		default:
			stats.Label = cmp.Or(stats.Label, r.label)
			err = p.report.Add(stats)
		}
		if p.Ctx.Err() != nil {
			return nil
		}
		p.unread--
		return err
	})
	if err == nil && p.DryRun {
		return cmdutil.ErrDryRun
	}
	return err
}

// nothing reports whether there were resellers and all of them failed.
func (p *reporting) nothing() bool { return len(p.failed) > 0 && len(p.failed) == p.resellers }

// print writes the files first. If a reader of standard output stops early, the files are still written.
func (p *reporting) print() error {
	p.Spinner.Stop()
	for _, t := range p.report.Totals() {
		p.Amounts = append(p.Amounts, cmdutil.NewFinishedAmount("volume", t.Currency, t.Volume, t.Decimals),
			cmdutil.NewFinishedAmount("rebates", t.Currency, t.Rebates, t.Decimals))
	}
	p.remarks()
	written := p.files()
	if err := p.data(); err != nil {
		var unusable *usage.Error
		if errors.As(err, &unusable) {
			return err
		}
		written = cmp.Or(written, err)
	}
	return p.outcome(written)
}

// files writes the page and the picture. If nothing could be read, it keeps the files of an earlier report.
func (p *reporting) files() error {
	if p.html.Path != "" && !p.nothing() {
		page, err := p.page().HTML()
		if err == nil {
			err = p.html.Write(cmdutil.Content(page))
		}
		if err != nil {
			return err
		}
	}
	if p.svg.Path == "" || p.nothing() {
		return nil
	}
	picture := p.picture()
	picture.Title = p.titleText()
	return p.svg.Write(cmdutil.Content(picture.SVG()))
}

// mostRemarks is how many differences are listed one by one.
const mostRemarks = 5

// remarks writes to standard error what a reader of the figures has to know. With --quiet and no files or
// limits, that is only the period.
func (p *reporting) remarks() {
	drawn, files := p.headed() || p.chart, p.html.Path+p.svg.Path != ""
	if p.timed() && !drawn {
		p.Note("%s, by the times that the service wrote: the interface does not show their time zone", p.periodText())
	}
	if p.empty() && p.Render.Format == render.Table && !p.Quiet && !drawn {
		p.Note("%s", p.noRebates())
	}
	if p.Quiet && !files && len(p.limits) == 0 {
		return
	}
	if lack := p.undated(); lack != "" && files {
		p.Note("%s", lack)
	}
	differ := p.report.Differences()
	for i, d := range differ {
		if more := len(differ) - i; i == mostRemarks && more > 1 {
			p.Note("and %d more sums over all time are not the service's own; --html FILE makes a page with all of them", more)
			break
		}
		p.Note("%s: the single invoices make %s of %s over all time, and the service itself counts %s",
			cmp.Or(d.Label, d.ID), money.FormatSum(d.Sum, d.Currency, d.Decimals), d.What,
			money.FormatSum(d.Service, d.Currency, d.Decimals))
	}
}

// outcome returns the error with which the command ends, after everything has been printed. written is the
// error of printing, or nil.
func (p *reporting) outcome(written error) error {
	less := p.less()
	if len(p.failed) == 0 && less == "" {
		return written
	}
	if written != nil {
		p.Note("%v", written)
	}
	if len(p.failed) == 0 {
		return &exit.Error{Code: exit.NotYet, Msg: less}
	}
	f := unreadError(p.failedNames(), p.resellers, p.worst())
	if p.nothing() {
		f.Hint = exit.Explain(f.Err).Hint
	} else if less != "" {
		f.Msg += "; of those that were read, " + less
	}
	return f
}

// worst returns the error of the first reseller that failed. If all did, a refused key and a rate limit come
// first.
func (p *reporting) worst() error {
	for _, code := range []int{exit.Unauthorized, exit.RateLimited} {
		for _, f := range p.failed {
			if p.nothing() && exit.Explain(f.err).Code == code {
				return f.err
			}
		}
	}
	return p.failed[0].err
}

func (p *reporting) failedNames() (names []string) {
	for _, f := range p.failed {
		names = append(names, f.name)
	}
	return names
}

// less names the rebates that are below their limit, or is empty.
func (p *reporting) less() string {
	var texts []string
	for _, limit := range p.limits {
		sum, least, decimals := p.report.Rebates(limit.Code), big.NewInt(limit.Minor), p.Money.Decimals(limit.Code)
		if sum.Cmp(least) < 0 {
			texts = append(texts, fmt.Sprintf("%s are less than %s", money.FormatSum(sum, limit.Code, decimals),
				money.FormatSum(least, limit.Code, decimals)))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "the rebates of " + strings.Join(texts, ", and ")
}
