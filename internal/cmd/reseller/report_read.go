package reseller

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/render"
	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
)

// read fetches the statistics of the resellers in parallel and adds them up. It drops each after adding it,
// so only those in flight take memory.
func (p *reporting) read(args []string) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	resellers, err := namedResellers(p.Session, client, args, func(all []api.Reseller) {
		for _, r := range all {
			for _, rebate := range r.Rebates { // includes resellers whose statistics cannot be read
				p.report.Spell(rebate.Code)
			}
		}
	})
	if err != nil {
		return err
	}
	p.resellers, p.unread = len(resellers), len(resellers)
	width := p.flags.concurrency
	if p.DryRun {
		width = 1 // so that the requests are shown in order
	}
	bar := p.Spinner.Bar("reading resellers", len(resellers), p.Debug)
	defer bar.Finish()
	failed := make([]failedReseller, len(resellers))
	var adding sync.Mutex
	err = inParallel(p.Ctx, len(resellers), width, func(i int) {
		defer bar.Add(1)
		stats, err := client.Resellers.Stats(p.Ctx, resellers[i].id)
		adding.Lock()
		defer adding.Unlock()
		if err == nil {
			err = p.add(resellers[i], stats)
		}
		if p.Ctx.Err() != nil {
			return
		}
		p.unread--
		if err != nil {
			failed[i] = failedReseller{ID: resellers[i].id, Error: err.Error(), label: resellers[i].label, err: err}
		}
	})
	for _, f := range failed {
		if f.err != nil {
			p.failed = append(p.failed, f)
		}
	}
	if err != nil {
		return err
	}
	if p.DryRun {
		return cmdutil.ErrDryRun
	}
	return nil
}

// add adds the statistics of a reseller to the report, unless they are those of another one.
func (p *reporting) add(r namedReseller, stats api.ResellerStats) error {
	if !strings.EqualFold(stats.ID, r.id) {
		return fmt.Errorf("the statistics of reseller %s: the answer is about another one, %q", r.id, stats.ID)
	}
	stats.Label = cmp.Or(stats.Label, r.label)
	return p.report.Add(stats)
}

// nothing reports whether there were resellers and all of them failed.
func (p *reporting) nothing() bool { return len(p.failed) > 0 && len(p.failed) == p.resellers }

// worst returns the error of a report in which every reseller failed. A refused key and a rate limit come
// first.
func (p *reporting) worst() error {
	for _, code := range []int{cmdutil.ExitUnauthorized, cmdutil.ExitRateLimited} {
		for _, f := range p.failed {
			if cmdutil.Explain(f.err).Code == code {
				return f.err
			}
		}
	}
	return p.failed[0].err
}

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
	if p.nothing() {
		return nil
	}
	if p.html.Path != "" {
		page, err := p.page().HTML()
		if err == nil {
			err = p.html.Write(cmdutil.Content(page))
		}
		if err != nil {
			return err
		}
	}
	if p.svg.Path != "" {
		picture := p.picture()
		picture.Title = p.titleText()
		return p.svg.Write(cmdutil.Content(picture.SVG()))
	}
	return nil
}

// mostRemarks is how many differences are listed one by one.
const mostRemarks = 5

// remarks writes to standard error what a reader of the figures has to know. With --quiet and no files or
// limits, that is only the period.
func (p *reporting) remarks() {
	if p.timed() && !p.headed() && !p.flags.chart {
		p.Note("%s, %s", p.periodText(), zoneRemark)
	}
	if p.empty() && p.Render.Format == render.Table && !p.Quiet && !p.headed() && !p.flags.chart {
		p.Note("%s", p.noRebates())
	}
	if p.Quiet && p.html.Path == "" && p.svg.Path == "" && len(p.limits) == 0 {
		return
	}
	if lack := p.undated(); lack != "" && (p.html.Path != "" || p.svg.Path != "") {
		p.Note("%s", lack)
	}
	for _, codes := range p.report.Spellings() {
		p.Note("%s", spellingText(codes))
	}
	differ := p.report.Differences()
	for i, d := range differ {
		if more := len(differ) - i; i == mostRemarks && more > 1 {
			p.Note("and %d more sums over all time are not the service's own; --html FILE makes a page with all of them", more)
			break
		}
		p.Note("%s", differenceText(d))
	}
}
