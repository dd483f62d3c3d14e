// Package payout has the commands for batches: a file of payments becomes a plan, and a plan is applied.
package payout

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/orders"
	"example.com/till/internal/period"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"github.com/spf13/cobra"
)

// Command returns the payout command.
func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("payout", "Send a file of withdrawals, each at most once",
		planCommand(a), showCommand(a), rehearseCommand(a), approveCommand(a), applyCommand(a), statusCommand(a), waitCommand(a),
		reconcileCommand(a), orders.ResolveCommand(a, "Record what a person knows about rows of a run"), listCommand(a),
		exportCommand(a), layoutCommand(a))
}

// planFacts is a plan without its rows, for a person and as JSON.
type planFacts struct {
	Plan     string             `json:"plan" column:"own: file of the plan"`
	Run      string             `json:"run" schema:"run" column:"own: name of the run that the plan becomes"`
	Digest   string             `json:"digest" schema:"digest" column:"id: digest of the plan, to approve it"`
	Account  string             `json:"account" column:"own: account that pays"`
	BaseURL  string             `json:"base_url" column:"own: address of the service"`
	Made     string             `json:"made" schema:"moment" column:"own: when the plan was made"`
	Expires  string             `json:"expires" schema:"moment"`
	Expired  bool               `json:"expired"`
	Batch    string             `json:"batch" column:"own: batch that the order ids were made for"`
	Since    string             `json:"since" column:"own detail: the batch's last run when the plan was made"`
	Rows     int                `json:"rows" column:"value: number of rows"`
	Totals   []planTotalLine    `json:"totals"`
	Journal  *accountStatusLine `json:"journal,omitempty"` // when the plan was made
	Warnings []string           `json:"warnings"`
	byUnit   bool               // the facts are about one unit, or about none
	told     bool               // the warnings are on standard error
}

// accountStatusLine counts the order ids of a plan that the journal already has.
type accountStatusLine struct {
	Accepted int    `json:"accepted"`
	First    string `json:"first" schema:"moment"`
	Last     string `json:"last" schema:"moment"`
	Unknown  int    `json:"unknown"`
	Conflict int    `json:"conflict"`
}

func factsOf(s *cmdutil.Session, p *payout.Plan, rows int, warnings []string) planFacts {
	return planFacts{
		Plan: p.Path, Run: p.Name(), Digest: p.Digest, Account: p.Account.Name, BaseURL: p.Account.Address,
		Made: views.Moment(p.Made), Expires: views.Moment(p.Expires), Expired: p.Expired(s.IO.Now()),
		Batch: p.Batch, Since: p.Since, Rows: rows, Totals: totalLines(s.Money, p.Totals),
		Warnings: append([]string{}, warnings...),
	}
}

// units returns the facts once for each unit of a plan, with the rows that are paid in it.
func (f planFacts) units() []planFacts {
	units := make([]planFacts, max(len(f.Totals), 1))
	for i := range units {
		units[i] = f
		if units[i].byUnit = true; len(f.Totals) > 0 {
			units[i].Rows, units[i].Totals = f.Totals[i].Rows, f.Totals[i:i+1]
		}
	}
	return units
}

func (f planFacts) totals(m money.Registry) render.Cell {
	if f.byUnit && len(f.Totals) == 0 {
		return render.Own("")
	}
	steps := make([]render.Step, len(f.Totals))
	for i, t := range f.Totals {
		if f.byUnit {
			return amountCell(m, t.Amount)
		}
		steps[i] = render.Step{Status: t.Pays, At: cmdutil.CountOf(t.Rows, "row")}
	}
	return render.History(steps)
}

func (f planFacts) warnings() (steps []render.Step) {
	if n := len(f.Warnings); f.told && n > 0 {
		return []render.Step{{Status: cmdutil.CountOf(n, "warning"), At: "told on standard error"}}
	}
	for _, text := range f.Warnings {
		steps = append(steps, render.Step{Status: text})
	}
	return steps
}

func planFactsView(m money.Registry) render.View[planFacts] {
	view := render.Struct[planFacts]("digest")
	view.Columns = append(view.Columns,
		render.AmountField("totals", "total in each currency", func(f planFacts) render.Cell { return f.totals(m) }),
		render.Field("warnings", "what a person should look at", render.History, planFacts.warnings),
		render.Field("expires", "when its run must have begun", render.Own, func(f planFacts) string {
			if f.Expired {
				return f.Expires + " (it has expired)"
			}
			return f.Expires
		}))
	return view.Select("plan", "run", "account", "base_url", "batch", "since", "rows", "totals", "warnings", "made", "expires", "digest")
}

type planFlags struct {
	layoutFlags
	payout.PlanInput
	life, identicalWithin string // PlanInput has what they say
	badAddress, verbose   bool
}

func planCommand(a *cmdutil.App) *cobra.Command {
	var flags planFlags
	cmd := cmdutil.NewCommand(a, cmdutil.One, planFactsView, &cobra.Command{
		Use:               "plan FILE --out PLAN",
		Short:             "Check every row of a file and make a plan of it; send nothing",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, out cmdutil.Output[planFacts], args []string) error {
		return plan(s, args[0], flags, out)
	})
	f := cmd.Flags()
	f.StringVar(&flags.Path, "out", "", "file to write the plan to")
	flags.add(cmd)
	f.StringVar(&flags.life, "expires", "72h", "time for its run to begin")
	f.StringVar(&flags.identicalWithin, "identical-within", "3d", "warn of what was accepted since")
	f.StringVar(&flags.Batch, "auto-order-id", "", "make the order ids, for the batch of this name")
	f.BoolVar(&flags.BatchChanged, "batch-changed", false,
		"accept rows added or removed since its last run")
	f.BoolVar(&flags.AllowEmpty, "allow-empty", false, "make a plan of a file without rows")
	f.BoolVar(&flags.badAddress, "allow-bad-address", false, "accept addresses that look mistyped")
	f.BoolVar(&flags.verbose, "verbose", false, "show all warnings on a terminal")
	f.BoolVar(&flags.FailOnWarning, "fail-on-warning", false, "end with 12 when there is a warning")
	cmdline.Require(cmd, "out")
	cmdline.OfferFiles(cmd, "out")
	return cmd
}

func (f *layoutFlags) chooseFormat(file string) error {
	formats := []string{csv, jsonl, workbook}
	named := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	switch {
	case f.format == "" && file == "-":
		return exit.UsageError("payout plan: standard input has no name that tells its format",
			"add --format csv or --format jsonl")
	case f.format == "" && slices.Contains(formats, named):
		f.format = named
	case f.format == "":
		f.format = csv
	case !slices.Contains(formats, f.format):
		return exit.UsageError(fmt.Sprintf("--format: there is no format %q", f.format),
			cmp.Or(near.Question(f.format, "", formats), "use csv, jsonl or xlsx"))
	}
	return nil
}

func (f *planFlags) check(file string) error {
	if err := f.chooseFormat(file); err != nil {
		return err
	}
	recent, lives := false, false
	f.Expires, lives = period.ParseDuration(f.life)
	f.IdenticalWithin, recent = period.ParseAge(f.identicalWithin)
	switch {
	case f.Path == "-":
		return exit.UsageError("--out: a plan is a file",
			"name one, such as staff.plan; payout show prints what is in it")
	case !lives || f.Expires <= 0:
		return exit.UsageError(fmt.Sprintf("--expires: %q is no length of time", f.life), "write one such as 72h or 30d")
	case !recent || f.IdenticalWithin == 0:
		return exit.UsageError(fmt.Sprintf("--identical-within: %q is no length of time", f.identicalWithin), "write one such as 3d or 12h")
	case f.BatchChanged && f.Batch == "":
		return exit.UsageError("--batch-changed is about the batch that --auto-order-id names",
			"leave it out, or add --auto-order-id BATCH")
	}
	if err := f.CheckBatch(); f.Batch != "" && err != nil {
		return exit.UsageError("--auto-order-id: "+err.Error(), cmdline.UnsetHint)
	}
	return nil
}

// planMemory is more than the memory that a million rows take. With the limit of the other commands,
// collecting garbage would take most of the time.
const planMemory = 320 << 20

// planGCPercent is low since most of what a plan takes stays: collecting the rest more often costs little time.
const planGCPercent = 30

func roomForPlan() {
	debug.SetMemoryLimit(planMemory)
	debug.SetGCPercent(planGCPercent)
}

func openPlan(path string) (*payout.Plan, error) {
	roomForPlan()
	return payout.OpenPlan(path)
}

// makePlan makes the plan of a file. The journal remembers who must approve it.
func makePlan(s *cmdutil.Session, file string, flags planFlags, approvals approval.Policy) (made payout.Made, err error) {
	if flags.Layout, err = flags.choose(s); err != nil {
		return made, err
	}
	in, name, err := planInput(s, file)
	if err != nil {
		return made, err
	}
	defer in.Close()
	ledger, err := s.LedgerToChange(s.OpenJournal)
	if err == nil && approvals.Required > 0 {
		err = ledger.Remember(s.Ctx, approvals)
	}
	if err != nil {
		return made, err
	}
	if file == "-" && terminal.Of(s.IO.In) != nil {
		s.Note("type the rows, and Ctrl-D on a line of its own when they are all there")
	}
	roomForPlan()
	flags.Layout.NoOrderIDs = flags.Batch != ""
	if flags.Rows, err = flags.rows(in, flags.Layout); err != nil {
		return made, exit.UsageError(fmt.Sprintf("%s cannot be read: %v", name, err), "name the file of the rows")
	}
	s.Limits.AllowBadAddress = flags.badAddress
	flags.Name, flags.Currencies, flags.Limits, flags.Now = name, s.PayoutCurrencies(), payout.Limits(s.Limits), s.IO.Now()
	flags.IdenticalWithin = max(flags.IdenticalWithin, s.DuplicateWindow)
	return ledger.MakePlan(s.Ctx, flags.PlanInput)
}

func plan(s *cmdutil.Session, file string, flags planFlags, out cmdutil.Output[planFacts]) error {
	if err := flags.check(file); err != nil {
		return err
	}
	approvals, err := s.PayoutApprovals(false)
	if err != nil {
		return err
	}
	made, err := makePlan(s, file, flags, approvals)
	if err != nil {
		return err
	}
	s.Subject.Run = made.Name()
	if len(made.Sheets) > 1 {
		s.Note("the sheet %s is read, and not %s: to take another one, add --sheet", made.Sheets[0], strings.Join(made.Sheets[1:], ", "))
	}
	if len(made.Unread) > 0 {
		s.Note("columns that are not read: %s", strings.Join(made.Unread, ", "))
	}
	if n := len(made.Below); n > 0 {
		s.Note("below the table, and not read: %s, from line %d on", cmdutil.CountOf(n, "line"), made.Below[0])
	}
	if !onScreen(s) || terminal.Of(s.IO.Err) == nil { // otherwise the page begins with the warnings
		for _, w := range made.Warned {
			s.Warn(w)
		}
		made.Warned = nil
	}
	noteAccountStatus(s, made)
	if n := made.Needs(approvals); n > 0 {
		s.NoteCommand([]string{"payout", "approve", made.Path}, "%s must approve this plan:", cmdutil.CountOf(n, "person"))
	}
	if onScreen(s) {
		p, err := openPlan(made.Path)
		if err != nil {
			return err
		}
		l := look(s, p)
		l.found = made.Warned
		if err := l.show(s.IO.Out, s.Render, flags.verbose); err != nil {
			return err
		}
		return s.NoteCommand([]string{"payout", "show", made.Path}, "have it looked at by somebody else:")
	}
	facts, known := factsOf(s, made.Plan, made.Count, made.Warnings), made.Known
	facts.told = true
	facts.Journal = &accountStatusLine{known.Before, views.Moment(known.First), views.Moment(known.Last),
		unknownIn(known), known.States[payout.StateConflict]}
	if csvOfSums(out, "totals") {
		return out.Slice(facts.units())
	}
	return out.One(facts)
}

// noteAccountStatus says what a person should know before the plan is applied.
func noteAccountStatus(s *cmdutil.Session, made payout.Made) {
	tellOneCase(s, made.Plan)
	known, all := made.Known, cmdutil.CountOf(made.Count, "order id")
	if known.Before > 0 {
		var when []string
		switch first, last := known.First.UTC().Format(time.DateOnly), known.Last.UTC().Format(time.DateOnly); {
		case known.Found == known.Before:
		case first == last:
			when = append(when, "on "+first)
		default:
			when = append(when, "between "+first+" and "+last)
		}
		if known.Found > 0 {
			when = append(when, fmt.Sprintf("%d found on the service's list (till journal show ORDER has its date)", known.Found))
		}
		s.Note("accepted before: %d of %s, %s. They are not sent again. The rest of a run, or old order ids used again? till payout apply asks, or takes --already-paid %d",
			known.Before, all, strings.Join(when, ", and "), known.Before)
	}
	if n := unknownIn(known); n > 0 {
		s.Note("unknown: %d of %s. till payout apply looks them up first", n, all)
	}
	if n := known.States[payout.StateConflict]; n > 0 {
		s.NoteCommand([]string{"journal", "list", "--state", "conflict"}, "in conflict: %d of %s, which stops the run. See:", n, all)
	}
}

func unknownIn(t payout.Tally) int {
	return t.States[payout.StateUnknown] + t.States[payout.StateSending]
}

func tellOneCase(s *cmdutil.Session, p *payout.Plan) {
	if p.OneCase > 0 {
		s.Note("without a checksum: the Ethereum addresses of %s, because their letters are all small or all capital. A mistyped character in them cannot be found", cmdutil.CountOf(p.OneCase, "row"))
	}
}

func planInput(s *cmdutil.Session, file string) (in io.ReadCloser, name string, err error) {
	if file == "-" {
		return stoppable{io.NopCloser(s.IO.In), s.Ctx}, "standard input", nil
	}
	f, err := terminal.Interruptibly(s.Ctx, func() (*os.File, error) { return os.Open(file) }) // a pipe waits for its writer
	if err != nil && s.Ctx.Err() == nil {
		return nil, "", exit.UsageError(fmt.Sprintf("%s cannot be opened: %v", file, atomicfile.WithoutPath(err)),
			"name the file of the rows, or - for standard input")
	}
	return stoppable{f, s.Ctx}, file, s.Ctx.Err()
}

// stoppable is an input whose Read returns on a signal, even if nothing arrives.
type stoppable struct {
	io.ReadCloser
	ctx context.Context
}

func (r stoppable) Read(p []byte) (int, error) {
	return terminal.Interruptibly(r.ctx, func() (int, error) { return r.ReadCloser.Read(p) })
}
