// Package journal has the commands that show, compare, copy and rename the journal. They do all of it with
// pkg/payout.
package journal

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"github.com/spf13/cobra"
)

// Command returns the journal command.
func Command(a *cmdutil.App) *cobra.Command {
	cmd := cmdutil.Group("journal", "Show and check the record of what was sent",
		listCommand(a), showCommand(a), exportCommand(a), pathCommand(a), copyCommand(a), checkCommand(a),
		renameCommand(a), adoptKeyCommand(a), adoptMerchantCommand(a), approvalsCommand(a))
	cmd.Long = `Show and check the record of what was sent: an SQLite file on this machine, or
a PostgreSQL database that several machines share (see TILL_JOURNAL in till
help environment). The commands show the rows of one account: the account of
the profile at its address, or the sandbox in use.`
	return cmd
}

func listCommand(a *cmdutil.App) *cobra.Command {
	var from, to, currency, address, run string
	var states []string
	var status bool
	cmd := cmdutil.NewCommand(a, cmdutil.List, views.Orders, &cobra.Command{
		Use:   "list",
		Short: "List the orders and their states",
		Long: `List the orders of the journal, oldest first: what was sent, by whom and when,
and who decided about it. The period applies to the last attempt. With
--exit-status, the exit code is 20 if an order shown is unknown, and otherwise
21 if one is in conflict.`,
		Example: `  till journal list --from 7d
  till journal list --state unknown,conflict --exit-status -o jsonl`,
		Args: cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[payout.Order], _ []string) error {
		filter, err := orderFilter(s, from, to, currency, address, run, states)
		if err != nil {
			return err
		}
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		if ledger == nil {
			return out.Slice(nil)
		}
		orders := ledger.Orders(s.Ctx, filter)
		var unknown, conflict []string
		wanted := true // the exit status counts every order, even after printing fails
		err = out.List(func(yield func(payout.Order, error) bool) {
			for o, err := range orders {
				switch o.State {
				case payout.StateUnknown:
					unknown = append(unknown, o.OrderID)
				case payout.StateConflict:
					conflict = append(conflict, o.OrderID)
				}
				if wanted = wanted && yield(o, err); !wanted && (!status || err != nil) {
					return
				}
			}
		})
		switch {
		case status && len(unknown) > 0:
			return cmdutil.WithPrintError(&cmdutil.Error{Code: cmdutil.ExitUnknown,
				Msg:  cmdutil.IsOrAre("order", unknown) + " unknown",
				Hint: payout.NewHint("find out with", "withdraw", "reconcile")}, err)
		case status && len(conflict) > 0:
			return cmdutil.WithPrintError(&cmdutil.Error{Code: cmdutil.ExitConflict,
				Msg:  cmdutil.IsOrAre("order", conflict) + " in conflict",
				Hint: payout.NewHint("see what happened", "journal", "show", conflict[0])}, err)
		}
		return err
	})
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "start of the period: a date, a month, an age such as 7d, or a full date-time")
	f.StringVar(&to, "to", "", "end of the period, in the same forms")
	f.StringSliceVar(&states, "state", nil,
		"only orders in these states: planned, sending, accepted, rejected, unknown, conflict")
	f.StringVar(&currency, "currency", "", "only this currency")
	f.StringVar(&address, "address", "", "only this address")
	f.StringVar(&run, "run", "", "only this run")
	f.BoolVar(&status, "exit-status", false, "end with 20 or 21 when one of them is unknown or in conflict")
	a.CompleteCurrencies(cmd, "currency")
	return cmd
}

func stateNames() []string {
	var names []string
	for _, state := range payout.States() {
		names = append(names, string(state))
	}
	return names
}

func orderFilter(
	s *cmdutil.Session, from, to, currency, address, run string, states []string,
) (f payout.Filter, err error) {
	f.Address, f.Run = address, run
	if f.From, f.To, err = span(s, from, to); err != nil {
		return f, err
	}
	for _, name := range states {
		if !slices.Contains(payout.States(), payout.State(name)) {
			return f, cmdutil.UsageError(fmt.Sprintf("--state: there is no state %q", name),
				cmp.Or(near.Question(name, "", stateNames()), "the states are "+strings.Join(stateNames(), ", ")))
		}
		f.States = append(f.States, payout.State(name))
	}
	if currency != "" {
		if f.Currency, err = s.Money.ParseCurrency(currency); err != nil {
			return f, fmt.Errorf("--currency: %w", err)
		}
	}
	return f, nil
}

// span parses a period in the journal's own times. The period does not include end.
func span(s *cmdutil.Session, from, to string) (start, end time.Time, err error) {
	times := s.Period()
	if err := times.Check(from, to); err != nil {
		return start, end, err
	}
	if from != "" {
		if start, err = times.Instant("--from", from, false); err != nil {
			return start, end, err
		}
	}
	if to != "" {
		if end, err = times.Instant("--to", to, true); err == nil {
			end = end.Add(time.Second)
		}
	}
	return start, end, err
}

func showCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, storyView, &cobra.Command{
		Use:   "show ORDER",
		Short: "Show the history of an order",
		Long: `Show the history of an order: every attempt with what was sent and what came
back, what the service's list showed, and what people decided.`,
		Example: `  till journal show 5001
  till journal show 5001 --jq '.events[].what'`,
		Args: cmdutil.Args("ORDER"),
	}, func(s *cmdutil.Session, out cmdutil.Output[story], args []string) error {
		if err := cmdutil.CheckOrderIDs(args); err != nil {
			return err
		}
		s.Subject.OrderID = args[0]
		ledger, err := s.LedgerToList()
		if err != nil {
			return err
		}
		if ledger == nil {
			return cmdutil.NoOrder(args[0])
		}
		order, events, err := ledger.History(s.Ctx, args[0])
		if err != nil {
			return err
		}
		consents, err := cmdutil.ConsentsOf(s.Ctx, ledger)
		if err != nil {
			return err
		}
		return out.One(story{order, events, consents[order.Consent()]})
	})
}

// story is an order with all its events.
type story struct {
	order  payout.Order
	events []payout.Event

	approval *views.ApprovalLine
}

func storyView(m money.Registry) render.View[story] {
	view := render.Map(views.Orders(m), func(t story) payout.Order { return t.order })
	view.JSON = render.Encoded(story.line)
	for i := range view.Columns {
		view.Columns[i].Detail = true
	}
	view.Columns = append(view.Columns,
		render.Column[story]{Name: "decimals", About: "decimals of the amount at the last attempt", Detail: true,
			Cell: func(t story) render.Cell { return render.Own(views.DecimalsSent(t.order)) }})
	view.Columns = append(view.Columns,
		render.Column[story]{Name: "approved_by", About: "whose approvals counted when it was sent", Detail: true,
			Cell: func(t story) render.Cell { return render.Own(t.approval.By()) }})
	view.Columns = append(view.Columns,
		render.Column[story]{Name: "story", About: "every event with its time", Detail: true,
			Cell: func(t story) render.Cell { return render.History(t.steps(m)) }})
	return view
}

func (t story) line() views.HistoryLine {
	line := views.NewHistoryLine(t.order, t.events)
	line.Approval = t.approval
	return line
}

// steps returns the events as lines of a history.
func (t story) steps(m money.Registry) []render.Step {
	steps := make([]render.Step, len(t.events))
	for i, e := range t.events {
		parts := []string{e.What}
		if e.What == "sending" {
			parts = append(parts, m.Format(e.Amount)+" to "+e.Address)
		}
		if e.What != string(e.State) {
			parts = append(parts, "now "+string(e.State))
		}
		for _, more := range []string{e.ID, e.Reason} {
			if more != "" {
				parts = append(parts, more)
			}
		}
		parts = append(parts, "by "+e.User+" on "+e.Host)
		steps[i] = render.Step{Status: strings.Join(parts, ", "), At: views.Moment(e.At)}
	}
	return steps
}

func exportCommand(a *cmdutil.App) *cobra.Command {
	return a.Prints(&cobra.Command{
		Use:   "export",
		Short: "Print everything in the journal, of every account",
		Long: `Print everything in the journal, of every account, oldest first: each order
with all its attempts and events. The first order of each account also has how
many approvals the account required, and since when. The output is a line of
JSON for each order; with -o json it is an array.`,
		Example: `  till journal export >journal.jsonl
  till journal export -o json >journal.json`,
		Args: cmdutil.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			options, err := s.LineOptions("journal export")
			if err != nil {
				return err
			}
			if s.Output == "json" {
				options.Format = render.JSON
			}
			j, err := s.JournalToList()
			if err != nil {
				return err
			}
			return exportView(s.Money).List(s.IO.Out, options, exportAll(s, j))
		},
	}, cmdutil.PrintedAs[exportedLine](cmdutil.List))
}

// exportedLine is an order with its account.
type exportedLine struct {
	Account payout.Account `json:"account"`
	views.HistoryLine
	Demands []demandLine `json:"demands,omitempty"` // of the account, the oldest first: only in its first line
}

// exported is an order of any account with what approved it.
type exported struct {
	payout.Exported
	approval *views.ApprovalLine
	demands  []approval.Demand
}

func exportView(m money.Registry) render.View[exported] {
	return render.View[exported]{JSON: render.Encoded(func(e exported) exportedLine {
		line := exportedLine{Account: e.Account, HistoryLine: views.NewHistoryLine(e.Order, e.Events)}
		line.Approval = e.approval
		for _, d := range e.demands {
			line.Demands = append(line.Demands, newDemandLine(m, d))
		}
		return line
	})}
}

func exportAll(s *cmdutil.Session, j *payout.Journal) iter.Seq2[exported, error] {
	return func(yield func(exported, error) bool) {
		if j == nil {
			return
		}
		var account payout.Account
		var consents cmdutil.Consents // of that account
		for e, err := range j.Export(s.Ctx) {
			var demands []approval.Demand
			if err == nil && (consents == nil || e.Account != account) {
				account = e.Account
				if consents, err = cmdutil.ConsentsOf(s.Ctx, j.Ledger(account)); err == nil {
					demands, err = j.Ledger(account).Demands(s.Ctx)
				}
			}
			if !yield(exported{e, consents[e.Order.Consent()], demands}, err) || err != nil {
				return
			}
		}
	}
}

func pathCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, pathView, &cobra.Command{
		Use:     "path",
		Short:   "Print where the journal is kept",
		Example: `  till journal path`,
		Args:    cmdutil.NoArgs,
	}, func(s *cmdutil.Session, out cmdutil.Output[string], _ []string) error {
		if s.Journal == "" {
			return &config.Error{Msg: "the journal has no place: " + s.NoHome(),
				Advice: "name a file in TILL_JOURNAL"}
		}
		path := config.RedactJournal(s.Journal)
		if s.Plain() { // unquoted and unescaped: a script passes it to another program
			return s.Write(path + "\n")
		}
		return out.One(path)
	})
}

func pathView(money.Registry) render.View[string] {
	return cmdutil.PathView("file or address of the journal")
}

func renameCommand(a *cmdutil.App) *cobra.Command {
	var baseURL string
	cmd := &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Move a history to a new account name or address",
		Long: `Move the history of an account in the journal, and what must be approved for
it, to a new name, because you rename the account of the profile. With
--to-base-url, move it to a new address, because the service has moved. OLD is
an account at the address in use. Nothing is sent.`,
		Example: `  till journal rename live acme
  till journal rename live live --to-base-url https://new.example.com`,
		Args: cmdutil.Args("OLD", "NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			if err := s.NoDryRun("journal rename"); err != nil {
				return err
			}
			base, err := s.RequireBaseURL()
			if err != nil {
				return err
			}
			if s.Sandbox {
				return cmdutil.UsageError("the history of a sandbox belongs to that sandbox",
					"use a profile of a service")
			}
			to := base
			if baseURL != "" {
				if to, err = config.NormalizeBaseURL(baseURL); err != nil {
					return cmdutil.UsageError("--to-base-url: "+err.Error(), "")
				}
			}
			if args[0] == args[1] && to == base {
				return cmdutil.UsageError(fmt.Sprintf("%s at %s has that name already", args[0], base),
					"name another, or with --to-base-url another address")
			}
			j, err := s.ExistingJournal()
			if err != nil {
				return err
			}
			if err := j.Rename(s.Ctx, payout.Account{Address: base, Name: args[0]},
				payout.Account{Address: to, Name: args[1]}); err != nil {
				return err
			}
			s.Note("the history of %s at %s now belongs to %s at %s", args[0], base, args[1], to)
			return noteLeftBehind(s, args[0], args[1], to)
		},
	}
	cmd.Flags().StringVar(&baseURL, "to-base-url", "", "the service's new address")
	return cmd
}

// noteLeftBehind says which settings the profile in use needs after the history of its account was renamed.
// If the address comes from a flag or the environment, it is not the profile's, so the note leaves base_url
// out.
func noteLeftBehind(s *cmdutil.Session, old, name, base string) error {
	var set []string
	if s.Profile == "" || s.Origin("base_url").Kind == config.FromProfile && base != s.BaseURL {
		set = append(set, "base_url="+base)
	}
	if name != s.Account {
		set = append(set, "account="+name)
	}
	if old != s.Account || len(set) == 0 {
		return nil
	}
	who := "the profile " + s.Profile + " looks"
	if s.Profile == "" {
		who = "without a profile, till looks"
	}
	return s.NoteCopy("till profile set "+s.ProfileOr("NAME")+" "+strings.Join(set, " "),
		"%s at the account %s, which has no history now:", who, s.Account)
}

var errAnySandboxKey = cmdutil.UsageError("a sandbox takes any key that it has", "there is nothing to adopt")

func adoptKeyCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "adopt-key",
		Short: "Say that the key in use is this account's",
		Long: `Record that the key in use belongs to the account in use, if till cannot verify
that: with this key, the withdrawal that was accepted last is not found, or
none was accepted yet. Check twice: with the key of another merchant, another
merchant pays. Only a fingerprint of the key is recorded.`,
		Example: `  till journal adopt-key --yes`,
		Args:    cmdutil.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			if s.Sandbox {
				return errAnySandboxKey
			}
			if err := s.NoDryRun("journal adopt-key"); err != nil {
				return err
			}
			client, err := s.Connect()
			if err != nil {
				return err
			}
			account, sandbox, err := s.AccountOf(client)
			if err != nil {
				return err
			}
			if sandbox {
				return errAnySandboxKey
			}
			j, err := s.OpenJournal()
			if err != nil {
				return err
			}
			fingerprint := client.KeyFingerprint()
			if err := s.Confirmed([]cmdutil.Fact{{Name: "account", Value: account.Name + " at " + account.Address},
				{Name: "key", Value: fingerprint}}, "Is this key that account's?", "note the key as this account's", "noted",
				""); err != nil {
				return err
			}
			if err := j.Ledger(account).AdoptKey(s.Ctx, fingerprint); err != nil {
				return err
			}
			return s.Note("the key %s is now one of %s", fingerprint, account)
		},
	}
}

func adoptMerchantCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "adopt-merchant ID --reason TEXT",
		Short: "Say that the service has given the merchant another id",
		Long: `Record that the withdrawals of the merchant ID are those of the account in use,
although the service has shown another merchant there before. Check twice: if
the key belongs to another merchant, that merchant pays.`,
		Example: `  till journal adopt-merchant m-2041 --reason "renamed, see case 81"`,
		Args:    cmdutil.Args("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Start(cmd)
			if err != nil {
				return err
			}
			if strings.TrimSpace(reason) == "" {
				return cmdutil.UsageError("the reason for the change is missing", "give one",
					"journal", "adopt-merchant", args[0], "--reason", "TEXT")
			}
			if err := s.NoDryRun("journal adopt-merchant"); err != nil {
				return err
			}
			if err := s.OwnJournal(); err != nil {
				return err
			}
			account, err := s.JournalAccount()
			if err != nil {
				return err
			}
			j, err := s.ExistingJournal()
			if err != nil {
				return err
			}
			if err := j.Ledger(account).AdoptMerchant(s.Ctx, args[0], reason); err != nil {
				return err
			}
			return s.Note("%s is the merchant %s now", account, args[0])
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "how you know, for the record")
	return cmd
}
