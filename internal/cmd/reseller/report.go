package reseller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/period"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// reporting is a report, from its flags to its output.
type reporting struct {
	*cmdutil.Session

	from, to    string
	groups      []string
	currency    string
	compare     bool
	top         int
	failBelow   []string
	failMinor   []string
	chart       bool
	allTime     bool
	html, svg   cmdutil.OutFile
	concurrency int

	by     []report.Group
	span   report.Span
	now    time.Time // as the service would write it
	coined string    // the currency of the flag, if only the service may know it
	limits []api.Amount

	resellers int
	unread    int // how many of them were neither read nor failed
	report    *report.Report
	failed    []failedReseller
}

// maxConcurrency is more than any service accepts willingly.
const maxConcurrency = 128

func reportCommand(a *cmdutil.App) *cobra.Command {
	p := reporting{html: cmdutil.OutFile{Flag: "html", Mode: 0o666}, svg: cmdutil.OutFile{Flag: "svg", Mode: 0o666}}
	cmd := &cobra.Command{
		Use:               "report [ID...]",
		Short:             "Add up rebates and volume: a picture, tables, a page",
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			p.Session = s
			return p.run(args)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&p.from, "from", "", "start of the period")
	f.StringVar(&p.to, "to", "", "end of the period")
	f.StringArrayVar(&p.groups, "by", nil,
		"reseller (default), currency, invoice, day, week or month; two: reseller,month")
	f.StringVar(&p.currency, "currency", "", "only this currency")
	f.BoolVar(&p.compare, "compare", false, "compare the period with the one before it")
	f.IntVar(&p.top, "top", 0, "most rows of each currency; 0: all")
	f.StringArrayVar(&p.failBelow, "fail-below", nil, "exit with 42 if rebates are less than `AMOUNT`")
	f.StringArrayVar(&p.failMinor, "fail-below-minor", nil, "the same with an `AMOUNT` in minor units")
	f.BoolVar(&p.chart, "chart", false, "draw the picture without a terminal too")
	f.BoolVar(&p.allTime, "all-time", false, "add invoices by status, of all time")
	f.StringVar(&p.html.Path, "html", "", "write a page with pictures and tables")
	f.StringVar(&p.svg.Path, "svg", "", "write the picture to a file")
	f.IntVar(&p.concurrency, "concurrency", sideBySide, "resellers to read at once")
	cmdutil.AddFinishFlags(cmd)
	cmdline.Offer(cmd, "by", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return cmdline.CompleteList(report.Groups(), typed), cobra.ShellCompDirectiveNoFileComp
	})
	for _, flag := range []string{"from", "to"} {
		cmdline.OfferWords(cmd, flag, period.Words()...)
	}
	cmdline.Offer(cmd, "currency", a.CompleteCurrencies)
	cmdline.OfferFiles(cmd, "html", "svg")
	cmdutil.WithView(a, cmdutil.Apart, func(money.Registry) render.View[report.Row] {
		return (&reporting{by: []report.Group{report.ByReseller, report.ByMonth}, compare: true}).view(false)
	}, cmd)
	cmdutil.Prints[reportJSON](a, cmdutil.Whole, cmd)
	return cmdutil.Prints[figuresJSON](a, cmdutil.Lines, cmd)
}

func (p *reporting) run(args []string) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := p.read(args); err != nil {
		if p.drawn() && p.unread < p.resellers && p.Ctx.Err() != nil {
			p.Spinner.Stop()
			err = errors.Join(p.picture().Text(p.IO.Out, p.Render), err) // what there is so far
		}
		return err
	}
	if err := p.checkCurrency(); err != nil {
		return err
	}
	return p.print()
}

// check checks everything that can be checked before a reseller is read.
func (p *reporting) check() (err error) {
	if err := p.parseGroups(); err != nil {
		return err
	}
	p.span, err = p.Period().Written(p.from, p.to)
	p.now = p.Period().WallClock()
	switch {
	case err != nil || p.to != "":
	case p.span.From.After(p.now):
		err = exit.UsageError("--from "+p.from+" is in the future", "name an earlier time, or --to too")
	case p.compare:
		p.span, err = p.Period().Written(p.from, p.Period().Today(p.from))
	}
	if err != nil {
		return err
	}
	code, err := p.parseAmounts()
	if err != nil {
		return err
	}
	if _, err := cmdutil.NewOutput(p.Session, p.view(false)); err != nil {
		return err
	}
	if err := p.checkTogether(); err != nil {
		return err
	}
	if err := errors.Join(p.html.Check(), p.svg.Check()); err != nil {
		return err
	}
	p.report = report.New(report.Query{
		By: p.by, Span: p.span, Now: p.now, Compare: p.compare, Currency: code,
		Layout: p.TimeLayout, Money: p.Money,
	})
	return nil
}

func (p *reporting) parseGroups() error {
	names := strings.Split(strings.Join(p.groups, ","), ",")
	if len(p.groups) == 0 {
		names = []string{string(report.ByReseller)}
	}
	if len(names) > 2 {
		return exit.UsageError("--by has more than two groups", "group by one or two of "+strings.Join(report.Groups(), ", "))
	}
	for i, name := range names {
		name = strings.TrimSpace(name)
		names[i] = name
		if !slices.Contains(report.Groups(), name) {
			return exit.UsageError(fmt.Sprintf("--by: there are no groups by %q", name),
				cmp.Or(near.Question(name, "", report.Groups()), "group by "+strings.Join(report.Groups(), ", ")))
		}
		p.by = append(p.by, report.Group(name))
	}
	switch {
	case len(names) < 2:
	case p.byInvoice():
		return exit.UsageError("--by invoice has a row for each invoice and currency", "leave the other group out")
	case p.by[0] == p.by[1], p.by[0].Timed() && p.by[1].Timed():
		return exit.UsageError(fmt.Sprintf("--by %s and --by %s cannot be used together", names[0], names[1]),
			"leave one out")
	}
	return nil
}

// parseAmounts reads --fail-below, --fail-below-minor and --currency, whose code it returns. A code that is
// not known here may still be the service's: checkCurrency decides that.
func (p *reporting) parseAmounts() (string, error) {
	for i, text := range slices.Concat(p.failBelow, p.failMinor) {
		flag, parse := "--fail-below", p.Money.ParseAmount
		if i >= len(p.failBelow) {
			flag, parse = "--fail-below-minor", p.Money.ParseMinor
		}
		limit, err := parse(text, api.Currency{})
		if err != nil {
			err = fmt.Errorf("%s: %w", flag, err)
			// If the amount is valid in minor units, only the decimals are unknown.
			if _, other := p.Money.ParseMinor(text, api.Currency{}); other == nil {
				err = fmt.Errorf("%w; or use --fail-below-minor", err)
			}
			return "", err
		}
		p.limits = append(p.limits, limit)
	}
	code, err := currencyCode(p.Session, p.currency)
	if err != nil && money.ValidCode(p.currency) {
		code, p.coined, err = p.currency, p.currency, nil
	}
	for _, limit := range p.limits {
		if err == nil && code != "" && !strings.EqualFold(limit.Code, code) {
			err = exit.UsageError(fmt.Sprintf("--fail-below is in %s, and --currency leaves only %s", limit.Code, code),
				"name one currency in both")
		}
	}
	return code, err
}

// checkTogether refuses flags out of range, and flags that cannot be used together.
func (p *reporting) checkTogether() error {
	table := p.Render.Format == render.Table && !p.Quiet
	for _, clash := range []struct {
		found       bool
		msg, advice string
	}{
		{p.top < 0, fmt.Sprintf("--top %d: it must be 0 or more", p.top), "name one from 0 on; 0 means all"},
		{p.concurrency < 1 || p.concurrency > maxConcurrency,
			fmt.Sprintf("--concurrency %d is not between 1 and %d", p.concurrency, maxConcurrency), ""},
		{p.compare && p.from == "", "--compare needs a period", "add --from, and --to where it does not end today"},
		{p.chart && !table, "--chart draws a picture",
			"leave out one of --chart and the other format; --svg FILE is a picture"},
		{p.byInvoice() && (p.compare || p.top > 0), "--by invoice lists single invoices",
			"leave --compare and --top out"},
		{p.byInvoice() && p.svg.Path != "",
			"--svg has a row for each reseller, and --by invoice one for each invoice", "leave one of them out"},
		{p.chart && (len(p.by) > 1 || p.byInvoice() || len(p.Columns) > 0 || p.Render.Sort != ""),
			"--chart has rows of one group, the largest first",
			"leave --columns and --sort out, and name one group in --by"},
		{p.allTime && !table, "--all-time adds a table",
			"leave out one of --all-time and the other format; all_time of -o json has these figures"},
		{p.html.Path != "" && p.html.Path == p.svg.Path, "--html and --svg name the same file", "name two"},
	} {
		if clash.found {
			return exit.UsageError(clash.msg, clash.advice)
		}
	}
	return nil
}

// checkCurrency refuses a currency that neither the configuration nor the service knows.
func (p *reporting) checkCurrency() error {
	used := p.report.Codes()
	same := func(code string) bool { return strings.EqualFold(code, p.coined) }
	if p.coined == "" || len(p.failed) > 0 || slices.ContainsFunc(used, same) {
		return nil
	}
	advice := p.Money.Meant(p.coined)
	if advice == "" && len(used) > 0 {
		advice = "the resellers have " + strings.Join(used, ", ")
	}
	return exit.UsageError(fmt.Sprintf("--currency: the currency %q is not known, and no reseller has it", p.coined),
		advice)
}

func (p *reporting) byInvoice() bool { return slices.Contains(p.by, report.ByInvoice) }

func (p *reporting) bySeller() bool { return slices.Contains(p.by, report.ByReseller) }

// onlyTotals reports whether the rows are the totals.
func (p *reporting) onlyTotals() bool { return len(p.by) == 1 && p.by[0] == report.ByCurrency }

// timedRows reports whether each row is a period.
func (p *reporting) timedRows() bool { return len(p.by) == 1 && p.by[0].Timed() }

// drawn reports whether the report is a picture, and not a table.
func (p *reporting) drawn() bool {
	return p.chart || p.headed() && len(p.by) == 1 && !p.byInvoice() && p.Render.Sort == ""
}

// headed reports whether the table has the period above it. A table for a script has none.
func (p *reporting) headed() bool {
	return p.Render.Format == render.Table && p.Render.Width > 0 && len(p.Columns) == 0 && !p.NoHeaders && !p.Quiet
}

// timed reports whether the figures, or their places in a timeline, depend on times. The page and the picture
// say this themselves.
func (p *reporting) timed() bool {
	return p.drawn() || !p.span.Open() || slices.ContainsFunc(p.by, report.Group.Timed)
}
