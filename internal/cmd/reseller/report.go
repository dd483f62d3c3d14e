package reseller

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/period"
	"example.com/till/internal/render"
	"example.com/till/internal/report"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// reportFlags are the flags of a report.
type reportFlags struct {
	from, to    string
	by          []string
	currency    string
	compare     bool
	top         int
	failBelow   []string
	failMinor   []string
	chart       bool
	allTime     bool
	html, svg   string
	concurrency int
}

// maxConcurrency is more than any service accepts willingly.
const maxConcurrency = 128

func reportCommand(a *cmdutil.App) *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "report [ID...]",
		Short: "Add up rebates and volume: a picture, tables, a page",
		Long: `Add up what resellers have earned, from the invoices in their statistics: all
resellers, or those named by id or label. A terminal shows a picture.

A period is made of words (today, yesterday, this-month, last-month), dates,
weeks (2026-W18), months (2026-05) or ages (30d). Without --to, it ends
today. A period that is not over is marked "so far". See: till help report.`,
		Example: `  till reseller report --from last-month --to last-month --html rebates.html
  till reseller report --by reseller,month --currency Usd -o csv
  till reseller report --fail-below "2.50 USD" -q`,
		Args:              resellerArgs,
		ValidArgsFunction: completeResellers(a),
		RunE: a.WithSession(func(s *cmdutil.Session, args []string) error {
			p, err := planReport(s, flags)
			if err != nil {
				return err
			}
			return p.run(args)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&flags.from, "from", "", "start of the period")
	f.StringVar(&flags.to, "to", "", "end of the period")
	f.StringArrayVar(&flags.by, "by", nil,
		"reseller (default), currency, invoice, day, week or month; two: reseller,month")
	f.StringVar(&flags.currency, "currency", "", "only this currency")
	f.BoolVar(&flags.compare, "compare", false, "compare the period with the one before it")
	f.IntVar(&flags.top, "top", 0, "most rows of each currency; 0: all")
	f.StringArrayVar(&flags.failBelow, "fail-below", nil, "exit with 42 if rebates are less than `AMOUNT`")
	f.StringArrayVar(&flags.failMinor, "fail-below-minor", nil, "the same with an `AMOUNT` in minor units")
	f.BoolVar(&flags.chart, "chart", false, "draw the picture without a terminal too")
	f.BoolVar(&flags.allTime, "all-time", false, "add invoices by status, of all time")
	f.StringVar(&flags.html, "html", "", "write a page with pictures and tables")
	f.StringVar(&flags.svg, "svg", "", "write the picture to a file")
	f.IntVar(&flags.concurrency, "concurrency", sideBySide, "resellers to read at once")
	cmdutil.AddFinishFlags(cmd)
	cmdutil.Offer(cmd, "by", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return cmdutil.CompleteList(groupNames(), typed), cobra.ShellCompDirectiveNoFileComp
	})
	for _, flag := range []string{"from", "to"} {
		cmdutil.OfferWords(cmd, flag, period.Words()...)
	}
	cmdutil.Offer(cmd, "currency", a.CompleteCurrencies)
	cmdutil.OfferFiles(cmd, "html", "svg")
	cmdutil.WithView(a, cmdutil.Apart, func(m money.Registry) render.View[report.Row] {
		return reportView([]report.Group{report.ByReseller, report.ByMonth}, true)
	}, cmd)
	return a.Prints(cmd, cmdutil.PrintedApart[reportJSON, figuresJSON]())
}

// run reads the resellers and prints the report.
func (p *reporting) run(args []string) error {
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

// resellerArgs allows any number of resellers, but no empty name.
func resellerArgs(cmd *cobra.Command, given []string) error {
	return cmdutil.Args(slices.Repeat([]string{"ID"}, len(given))...)(cmd, given)
}

func groupNames() []string {
	var names []string
	for _, g := range report.Groups() {
		names = append(names, string(g))
	}
	return names
}

// reporting is the state of a report, from the flags to the output.
type reporting struct {
	*cmdutil.Session
	flags  reportFlags
	by     []report.Group
	span   report.Span
	now    time.Time // as the service would write it
	coined string    // the currency of the flag, if only the service may know it
	limits []api.Amount
	html   cmdutil.OutFile
	svg    cmdutil.OutFile
	view   render.View[report.Row]

	resellers int
	unread    int // how many of them were neither read nor failed
	report    *report.Report
	failed    []failedReseller
}

// failedReseller is a reseller that could not be read.
type failedReseller struct {
	ID    string `json:"id"`
	Error string `json:"error"`

	label string
	err   error
}

func (f failedReseller) text() string {
	return fmt.Sprintf("%s could not be read, and its figures are missing: %s", nameOf(f.ID, f.label), f.Error)
}

// planReport checks everything that can be checked before a reseller is read.
func planReport(s *cmdutil.Session, flags reportFlags) (*reporting, error) {
	p := &reporting{Session: s, flags: flags, now: s.Period().WallClock(),
		html: cmdutil.OutFile{Flag: "html", Path: flags.html, Mode: 0o666},
		svg:  cmdutil.OutFile{Flag: "svg", Path: flags.svg, Mode: 0o666}}
	if flags.top < 0 {
		return nil, cmdutil.UsageError(fmt.Sprintf("--top %d: it must be 0 or more", flags.top),
			"name one from 0 on; 0 means all")
	}
	var err error
	if p.by, err = parseGroups(flags.by); err != nil {
		return nil, err
	}
	if flags.compare && flags.from == "" {
		return nil, cmdutil.UsageError("--compare needs a period", "add --from, and --to where it does not end today")
	}
	to := flags.to
	if flags.compare && to == "" {
		to = s.Period().Today(flags.from)
	}
	if p.span, err = s.Period().Written(flags.from, to); err != nil {
		return nil, err
	}
	if err := p.parseLimits(); err != nil {
		return nil, err
	}
	code, err := p.parseCurrency()
	if err != nil {
		return nil, err
	}
	if flags.concurrency < 1 || flags.concurrency > maxConcurrency {
		return nil, cmdutil.UsageError(fmt.Sprintf("--concurrency %d is not between 1 and %d", flags.concurrency,
			maxConcurrency), "")
	}
	p.view = reportView(p.by, flags.compare)
	out, err := cmdutil.NewOutput(s, p.view)
	if err != nil {
		return nil, err
	}
	if err := p.checkTogether(out.Tabular() && s.Render.Format == render.Table); err != nil {
		return nil, err
	}
	if err := errors.Join(p.html.Check(), p.svg.Check()); err != nil {
		return nil, err
	}
	p.report = report.New(report.Query{
		By: p.by, Span: p.span, Now: p.now, Compare: flags.compare, Currency: code, Top: flags.top,
		Money: s.Money, Days: p.drawn() || flags.html != "" || flags.svg != "",
	})
	return p, nil
}

// parseLimits reads the amounts of --fail-below and --fail-below-minor.
func (p *reporting) parseLimits() error {
	for _, text := range p.flags.failBelow {
		limit, err := p.Money.ParseAmount(text, api.Currency{})
		if err != nil {
			err = fmt.Errorf("--fail-below: %w", err)
			// If the amount is valid in minor units, only the decimals are unknown.
			if _, other := p.Money.ParseMinor(text, api.Currency{}); other == nil {
				err = fmt.Errorf("%w; or use --fail-below-minor", err)
			}
			return err
		}
		p.limits = append(p.limits, limit)
	}
	for _, text := range p.flags.failMinor {
		limit, err := p.Money.ParseMinor(text, api.Currency{})
		if err != nil {
			return fmt.Errorf("--fail-below-minor: %w", err)
		}
		p.limits = append(p.limits, limit)
	}
	return nil
}

// checkTogether refuses flags that cannot be used together.
func (p *reporting) checkTogether(table bool) error {
	flags, byInvoice := p.flags, p.byInvoice()
	for _, clash := range []struct {
		found       bool
		msg, advice string
	}{
		{flags.chart && !table, "--chart draws a picture",
			"leave out one of --chart and the other format; --svg FILE is a picture"},
		{byInvoice && (flags.compare || flags.top > 0), "--by invoice lists single invoices",
			"leave --compare and --top out"},
		{byInvoice && flags.svg != "", "--svg has a row for each reseller, and --by invoice one for each invoice",
			"leave one of them out"},
		{flags.chart && (len(p.by) > 1 || byInvoice || len(p.Columns) > 0 || p.Render.Sort != ""),
			"--chart has rows of one group, the largest first",
			"leave --columns and --sort out, and name one group in --by"},
		{flags.allTime && !table, "--all-time adds a table",
			"leave out one of --all-time and the other format; all_time of -o json has these figures"},
		{flags.html != "" && flags.html == flags.svg, "--html and --svg name the same file", "name two"},
	} {
		if clash.found {
			return cmdutil.UsageError(clash.msg, clash.advice)
		}
	}
	return nil
}

// parseCurrency returns the code of --currency. A code that is not known here may still be the service's:
// checkCurrency decides that.
func (p *reporting) parseCurrency() (string, error) {
	text := p.flags.currency
	code, err := currencyCode(p.Session, text)
	if err != nil && money.ValidCode(text) {
		code, p.coined, err = text, text, nil
	}
	if err != nil || code == "" {
		return "", err
	}
	for _, limit := range p.limits {
		if !strings.EqualFold(limit.Code, code) {
			return "", cmdutil.UsageError(
				fmt.Sprintf("--fail-below is in %s, and --currency leaves only %s", limit.Code, code),
				"name one currency in both")
		}
	}
	return code, nil
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
	return cmdutil.UsageError(fmt.Sprintf("--currency: the currency %q is not known, and no reseller has it", p.coined),
		advice)
}

func parseGroups(flags []string) ([]report.Group, error) {
	if len(flags) == 0 {
		return []report.Group{report.ByReseller}, nil
	}
	names := strings.Split(strings.Join(flags, ","), ",")
	if len(names) > 2 {
		return nil, cmdutil.UsageError("--by has more than two groups",
			"group by one or two of "+strings.Join(groupNames(), ", "))
	}
	var groups []report.Group
	for _, name := range names {
		if !slices.Contains(groupNames(), name) {
			return nil, cmdutil.UsageError(fmt.Sprintf("--by: there are no groups by %q", name),
				cmp.Or(near.Question(name, "", groupNames()), "group by "+strings.Join(groupNames(), ", ")))
		}
		groups = append(groups, report.Group(name))
	}
	if len(groups) == 2 && slices.Contains(groups, report.ByInvoice) {
		return nil, cmdutil.UsageError("--by invoice has a row for each invoice", "leave the other group out")
	}
	if len(groups) == 2 && (groups[0] == groups[1] || groups[0].Timed() && groups[1].Timed()) {
		return nil, cmdutil.UsageError(fmt.Sprintf("--by %s and --by %s cannot be used together", groups[0], groups[1]),
			"leave one out")
	}
	return groups, nil
}

// outcome returns the error with which the command ends, after everything has been printed. written is the
// error of printing, or nil.
func (p *reporting) outcome(written error) error {
	less := p.less()
	if len(p.failed)+len(less) == 0 {
		return written
	}
	if written != nil {
		p.Note("%v", written)
	}
	if len(p.failed) == 0 {
		return &cmdutil.Error{Code: cmdutil.ExitNotYet, Msg: "the rebates of " + strings.Join(less, ", and ")}
	}
	f := &cmdutil.Error{Code: cmdutil.ExitPartial, Err: p.failed[0].err,
		Hint: payout.NewHint("the others are complete; run it again for those that failed")}
	if p.nothing() {
		f.Err = p.worst()
		f.Hint = cmdutil.Explain(f.Err).Hint
	}
	f.Msg = fmt.Sprintf("%d of %d resellers could not be read (%s): %v", len(p.failed), p.resellers,
		strings.Join(p.failedNames(), ", "), f.Err)
	if len(less) > 0 && !p.nothing() {
		f.Msg += "; of those that were read, the rebates of " + strings.Join(less, ", and ")
	}
	return f
}

func (p *reporting) failedNames() (names []string) {
	for _, f := range p.failed {
		names = append(names, nameOf(f.ID, f.label))
	}
	return names
}

// less lists the rebates that are below their limit.
func (p *reporting) less() (texts []string) {
	for _, limit := range p.limits {
		sum, least, decimals := p.report.Rebates(limit.Code), big.NewInt(limit.Minor), p.Money.Decimals(limit.Code)
		if sum.Cmp(least) < 0 {
			texts = append(texts, fmt.Sprintf("%s are less than %s", money.FormatSum(sum, limit.Code, decimals),
				money.FormatSum(least, limit.Code, decimals)))
		}
	}
	return texts
}
