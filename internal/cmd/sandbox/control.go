package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/period"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// The controls do what a customer or the service does, and what only a test needs. They are calls to the
// sandbox, below a path that no real service has.

// startControl begins a command that acts only on a sandbox. It does not use an address and a key that belong
// to anything else.
func startControl(a *cmdutil.App, cmd *cobra.Command) (*cmdutil.Session, error) {
	s, err := a.Start(cmd)
	if err != nil {
		return nil, err
	}
	if !s.Sandbox {
		if err := leadsHere(s, cmd); err != nil {
			return nil, err
		}
		actOnSandbox(s)
	}
	// Inside till sandbox run, a variable names it, and two runs of a script print the same.
	kind := s.Origin("base_url").Kind
	if kind != config.FromFlag && kind != config.FromVariable && !cmd.Flags().Changed("sandbox") {
		s.Note("acting on %s", s.ServiceName())
	}
	return s, nil
}

// leadsHere refuses an address or a key that is not of a sandbox of this machine. If the command acted on another
// sandbox instead, a test of what happens there would pass, and nothing would be tested.
func leadsHere(s *cmdutil.Session, cmd *cobra.Command) error {
	if servesHere(s) {
		return nil
	}
	const advice = "give the address and the key of one that is served or, for the sandbox of till --sandbox, unset TILL_BASE_URL and TILL_API_KEY and add --sandbox"
	for _, name := range []string{"base-url", "api-key-file"} {
		if cmd.Flags().Changed(name) && (s.Profile == "" || s.BaseURL == "") {
			return exit.UsageError("--"+name+": it does not lead to a sandbox of this machine, and this command acts on one", advice)
		}
	}
	if s.BaseURL == "" {
		return nil
	}
	return &config.Error{Advice: advice,
		Msg: fmt.Sprintf("%s, with its key, is no sandbox of this machine, and this command acts on one", s.BaseURL)}
}

func actOnSandbox(s *cmdutil.Session) {
	if s.BaseURL == "" {
		s.Sandbox, s.Profile = true, config.Sandbox
	}
	s.ResellerAuth = "bearer"
	s.Money = money.NewRegistry().With(cmdutil.SandboxCurrencies()...).Closed()
}

// servesHere reports whether the address and the key, wherever it is kept, belong to a sandbox. The prefix of its
// keys tells.
func servesHere(s *cmdutil.Session) bool {
	if s.BaseURL == "" || !config.IsLoopbackURL(s.BaseURL) {
		return false
	}
	key, _, err := s.Keys.Key(s.Ctx, s.Settings)
	return err == nil && strings.HasPrefix(key, sandbox.KeyPrefix) && key != sandbox.KeyPrefix
}

// newControl completes a control whose output has one view.
func newControl[T any](
	a *cmdutil.App, form cmdutil.Form, view func(money.Registry) render.View[T], cmd *cobra.Command,
	run func(*cmdutil.Session, cmdutil.Output[T], []string) error,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := startControl(a, cmd)
		if err != nil {
			return err
		}
		out, err := cmdutil.NewOutput(s, view(s.Money))
		if err != nil {
			return err
		}
		return run(s, out, args)
	}
	return cmdutil.WithView(a, form, view, cmd)
}

// newAnswer completes a control that prints one answer: with bare only its id, if no format is chosen.
func newAnswer[T any](
	a *cmdutil.App, view func(money.Registry) render.View[T], bare bool, cmd *cobra.Command,
	do func(*cmdutil.Session, []string) (T, error),
) *cobra.Command {
	return newControl(a, cmdutil.One, view, cmd,
		func(s *cmdutil.Session, out cmdutil.Output[T], args []string) error {
			answer, err := do(s, args)
			if err != nil {
				return err
			}
			if bare {
				return out.Bare(answer, out.View.ID(answer))
			}
			return out.One(answer)
		})
}

// tell sends a request that changes the sandbox, so it sends it at most once.
func tell[T any](s *cmdutil.Session, path string, order any) (answer T, err error) {
	cmdline.Declared(s.Cmd, cmdline.Sandbox)
	client, err := s.Client()
	if err != nil {
		return answer, err
	}
	err = s.Send(nil, func() error {
		answer, err = exchange[T](s.SendCtx, client, http.MethodPost, path, render.Encode(order))
		return err
	})
	if call, ok := errors.AsType[*api.Error](err); ok && call.Outcome == api.Unknown {
		return answer, &exit.Error{Code: exit.Unknown, Err: err, Msg: err.Error(),
			Hint: payout.NewHint("it may have been done; look", "sandbox", "dump")}
	}
	return answer, err
}

// missing replaces the error of a control by one in the words of a person, if the sandbox does not have the
// object.
func missing(err error, what, id string, list ...string) error {
	call, ok := errors.AsType[*api.Error](err)
	if !ok || call.Reason != "not_found" {
		return err
	}
	return &exit.Error{Code: exit.Rejected, Err: err, Msg: fmt.Sprintf("there is no %s %s", what, id),
		Hint: payout.NewHint("see", list...)}
}

func ask[T any](s *cmdutil.Session, path string) (answer T, err error) {
	client, err := s.Client()
	if err != nil {
		return answer, err
	}
	return exchange[T](s.Ctx, client, http.MethodGet, path, nil)
}

func exchange[T any](
	ctx context.Context, client *api.Client, method, path string, body json.RawMessage,
) (answer T, err error) {
	text, err := client.Do(ctx, method, path, body)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		code := exit.ReadFailed
		if method != http.MethodGet {
			code = exit.Unknown // the server, whatever it is, has taken the request
		}
		return answer, &exit.Error{Code: code, Err: err,
			Msg:  fmt.Sprintf("what answers at %s %s is not a sandbox of till: %v", method, path, err),
			Hint: payout.NewHint("check TILL_BASE_URL")}
	}
	return answer, nil
}

func fundCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, fundedView, false, &cobra.Command{
		Use:   "fund AMOUNT",
		Short: "Add money to the sandbox's balance",
	}, func(s *cmdutil.Session, args []string) (funded, error) {
		amount, err := s.Money.ParseAmount(args[0], api.Currency{})
		if err != nil {
			return funded{}, err
		}
		return tell[funded](s, "/sandbox/fund", map[string]api.Amount{"amount": amount})
	})
}

type funded struct {
	Currency api.Currency `json:"currency"`
	Balance  api.Amount   `json:"balance"`
}

func fundedView(m money.Registry) render.View[funded] {
	type row = funded
	return views.Of(func(f row) string { return f.Currency.Code }, render.Value[row](),
		render.Field("currency", "currency of the balance", render.Text, func(f row) string { return f.Currency.Code }),
		render.Column[row]{Name: "balance", About: "the merchant's balance afterwards",
			Amount: true, Cell: func(f row) render.Cell { return views.AmountCell(m, f.Balance) }})
}

func endsInvoice(a *cmdutil.App, use, short, path string) *cobra.Command {
	return newAnswer(a, views.Invoices, false, &cobra.Command{Use: use, Short: short},
		func(s *cmdutil.Session, args []string) (api.Invoice, error) {
			if err := api.CheckUUID(args[0]); err != nil {
				return api.Invoice{}, exit.UsageError(err.Error(), "its id is printed when it is made", "invoice", "create")
			}
			return tell[api.Invoice](s, path, map[string]string{"invoice": args[0]})
		})
}

func advanceCommand(a *cmdutil.App) *cobra.Command {
	return newAnswer(a, advancedView, false, &cobra.Command{
		Use:   "advance WITHDRAWAL STATUS",
		Short: "Move a withdrawal of the sandbox to its next status",
	}, func(s *cmdutil.Session, args []string) (api.Withdrawal, error) {
		withdrawal, err := tell[api.Withdrawal](s, "/sandbox/advance",
			map[string]string{"withdrawal": args[0], "status": args[1]})
		return withdrawal, missing(err, "withdrawal", args[0], "withdraw", "list")
	})
}

func inviteRedeemCommand(a *cmdutil.App) *cobra.Command {
	var label string
	cmd := newAnswer(a, cmdutil.StructView[redeemed]("id"), false, &cobra.Command{
		Use:   "redeem INVITE",
		Short: "Make a reseller from an invite of the sandbox",
	}, func(s *cmdutil.Session, args []string) (redeemed, error) {
		if err := api.CheckUUID(args[0]); err != nil {
			return redeemed{}, exit.UsageError(err.Error(), "one is printed when it is made", "invite", "create", "--quiet")
		}
		order := map[string]string{"invite": args[0]}
		if s.Cmd.Flags().Changed("label") {
			order["label"] = label
		}
		return tell[redeemed](s, "/sandbox/redeem", order)
	})
	cmd.Flags().StringVar(&label, "label", "", "what the reseller is called (default: the invite's label)")
	return cmd
}

type redeemed struct {
	ID     string `json:"id" column:"text whole: id of the new reseller"`
	Label  string `json:"label" column:"text: label of the reseller"`
	Invite string `json:"invite" column:"text whole: id of the invite that was accepted"`
	Key    string `json:"api_key" column:"text whole: the reseller's API key; no command shows it again"`
}

type sandboxTime struct {
	Now    string `json:"now" schema:"moment" column:"text: time on the sandbox's clock"`
	Offset string `json:"offset" column:"text: how far it is ahead of this machine's clock"`
}

// clockCommand makes a command that moves the clock as move says or, without move, shows it.
func clockCommand(a *cmdutil.App, use, short string, move func(text string) (any, error)) *cobra.Command {
	return newAnswer(a, cmdutil.StructView[sandboxTime]("now"), true, &cobra.Command{Use: use, Short: short},
		func(s *cmdutil.Session, args []string) (sandboxTime, error) {
			if move == nil {
				return ask[sandboxTime](s, "/sandbox/clock")
			}
			order, err := move(args[0])
			if err != nil {
				return sandboxTime{}, err
			}
			return tell[sandboxTime](s, "/sandbox/clock", order)
		})
}

func setClock(text string) (any, error) {
	if _, err := time.Parse(time.RFC3339, text); err != nil && text != "now" {
		return nil, exit.UsageError(fmt.Sprintf("%q is not a time in RFC 3339", text),
			"write it like 2026-05-03T10:00:00Z, or now")
	}
	return map[string]string{"set": text}, nil
}

func advanceClock(text string) (any, error) {
	by, ok := period.ParseDuration(text)
	if !ok || by < time.Second || by%time.Second != 0 {
		return nil, exit.UsageError(fmt.Sprintf("%q is not a duration of whole seconds from 1s to 36500d", text),
			"write it like 90s, 15m, 36h or 7d")
	}
	return map[string]int64{"advance_seconds": int64(by / time.Second)}, nil
}
