package payout

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func rehearseCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.NewCommand(a, cmdutil.One, cmdutil.StructView[rehearsal]("digest"), &cobra.Command{
		Use:               "rehearse PLAN",
		Short:             "Pay a plan in a sandbox of its own, where things go wrong",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, out cmdutil.Output[rehearsal], args []string) error {
		plan, err := openPlan(args[0])
		if err != nil {
			return err
		}
		st := &stage{Session: s, plan: plan, told: rehearsal{Plan: plan.Path, Digest: plan.Digest, Rows: len(plan.Rows),
			Mishaps: []mishap{}, Steps: []rehearsalStep{}}}
		if len(plan.Rows) > 0 {
			if err := st.rehearse(); err != nil {
				return err
			}
		}
		s.Spinner.Stop()
		if out.Tabular() && s.Plain() {
			err = s.Write(st.told.text(s.Render.Width))
		} else {
			err = out.One(st.told)
		}
		if n := st.told.Rows - st.told.PaidOnce; err == nil && n > 0 {
			return exit.Failure(exit.Internal, nil, cmdutil.CountOf(n, "row")+" not paid exactly once",
				"do not apply the plan before you know why")
		}
		return err
	})
}

// rehearsal is what a rehearsal has shown.
type rehearsal struct {
	Plan      string          `json:"plan" column:"own: file of the plan"`
	Digest    string          `json:"digest" schema:"digest"`
	Rows      int             `json:"rows" column:"count: rows of the plan"`
	PaidOnce  int             `json:"paid_once" column:"count: rows that were paid once"`
	PaidTwice int             `json:"paid_twice" column:"count: rows that were paid twice or more"`
	NotPaid   int             `json:"not_paid" column:"count: rows that were not paid"`
	Seconds   float64         `json:"seconds"` // of all commands together
	Mishaps   []mishap        `json:"mishaps"`
	Steps     []rehearsalStep `json:"steps"`
}

type mishap struct {
	OrderID string `json:"order_id"`
	What    string `json:"what"`

	do string // the fault of the sandbox; empty: till is killed
}

// A rehearsalStep is a command that a person would have run.
type rehearsalStep struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"` // -1: it was killed
	Message  string `json:"message"`
}

// mishaps are the ways in which a row goes wrong once. The first ones are those of a short plan.
var mishaps = []mishap{
	{What: "till is killed when the service has paid it"},
	{What: "the answer is lost when the service has paid it", do: "drop-after"},
	{What: "the service is down, and a proxy answers 503", do: "status=503,bare"},
	{What: "the service refuses it once", do: "status=422"},
}

// A stage is where a rehearsal takes place.
type stage struct {
	*cmdutil.Session
	plan *payout.Plan
	dir  string
	env  []string // of the commands
	box  *sandbox.Server
	told rehearsal

	victim string // the order at which the command that pays it is killed; empty: it was killed
	kill   func() // kills the command
}

func (st *stage) rehearse() (err error) {
	st.Spinner.Start("rehearsing " + cmdutil.CountOf(len(st.plan.Rows), "row"))
	if st.dir, err = os.MkdirTemp("", "till-rehearsal-"); err != nil {
		return &config.Error{Msg: "a rehearsal needs a directory for a moment: " + err.Error(), Advice: "name one in TMPDIR"}
	}
	defer os.RemoveAll(st.dir)
	if st.box, err = sandbox.New(); err != nil {
		return err
	}
	defer st.box.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(st.serve), ReadHeaderTimeout: time.Minute}
	defer server.Close()
	go server.Serve(listener)
	at := "http://" + listener.Addr().String()
	if err := errors.Join(st.fund(), st.furnish(at), st.disturb()); err != nil {
		return err
	}
	began := time.Now()
	if err := st.play(); err != nil {
		return err
	}
	st.told.Seconds = math.Round(time.Since(began).Seconds()*1000) / 1000
	return st.count(at)
}

// code returns a currency as the sandbox has it: Btc or Usd in the place of those that it does not have.
func (st *stage) code(u api.Currency) string {
	known := func(e money.Entry) bool { return e.Kind == u.Kind && strings.EqualFold(e.Code, u.Code) }
	switch {
	case slices.ContainsFunc(cmdutil.SandboxCurrencies(), known):
		return u.Code
	case u.Kind == api.Crypto:
		return "Btc"
	}
	return "USD"
}

// fund gives the sandbox more than the totals of the plan, twice if that fits, for the swaps of other units.
func (st *stage) fund() error {
	for _, total := range st.plan.Totals {
		minor, fits := total.Amount.Minor.Int64()
		if !fits || minor > math.MaxInt64/2 {
			return exit.UsageError(fmt.Sprintf("the total of %s is more than the sandbox can have", total.Amount.Code),
				"rehearse a plan of fewer rows or smaller amounts")
		}
		if err := st.box.Fund(st.code(total.Amount.Unit()), minor+min(minor, math.MaxInt64/4)); err != nil {
			return err
		}
	}
	return nil
}

// furnish writes the rows and a configuration, and sets the environment of the commands.
func (st *stage) furnish(at string) error {
	var rows []byte
	coded := func(u api.Currency) string { return strings.ToLower(string(u.Kind)) + ":" + st.code(u) } // no profile need know it
	for _, r := range st.plan.Rows {
		row := map[string]string{"order_id": r.ExternalOrderID, "currency": coded(r.Currency),
			"amount_minor": fmt.Sprintf("%d %s", r.Amount.Minor, coded(r.Amount.Unit())), "address": r.Address, "memo": r.Memo}
		rows = append(append(rows, render.Encode(row)...), '\n')
	}
	profile := fmt.Sprintf("profiles: {rehearsal: {base_url: %q, account: %s, settle_after: 0s}}\n", at,
		render.Encode(cmp.Or(st.plan.Account.Name, "rehearsal")))
	environ := slices.DeleteFunc(slices.Clone(st.IO.Environ()), func(v string) bool { return strings.HasPrefix(v, "TILL_") })
	st.env = append(environ, "HOME="+st.dir, "XDG_CONFIG_HOME="+st.dir, "XDG_STATE_HOME="+st.dir,
		"TILL_CONFIG="+filepath.Join(st.dir, "config.yaml"), "TILL_PROFILE=rehearsal", "TILL_BASE_URL="+at,
		"TILL_JOURNAL="+filepath.Join(st.dir, "journal.db"), "TILL_API_KEY="+st.box.Key(), "TILL_NO_INPUT=1", "NO_PROXY=*", "no_proxy=*")
	return cmp.Or(os.WriteFile(filepath.Join(st.dir, "config.yaml"), []byte(profile), 0o600),
		os.WriteFile(filepath.Join(st.dir, "rows.jsonl"), rows, 0o600))
}

// disturb chooses the rows that go wrong, spread over the plan.
func (st *stage) disturb() error {
	n := len(st.plan.Rows)
	st.told.Mishaps = slices.Clone(mishaps[:min(n, len(mishaps))])
	for i := range st.told.Mishaps {
		m := &st.told.Mishaps[i]
		m.OrderID = st.plan.Rows[(i*n+n/2)/len(st.told.Mishaps)%n].ExternalOrderID
		if m.do == "" {
			st.victim = m.OrderID
		} else if _, err := st.box.AddFault(sandbox.Fault{On: "POST /api/merchant_withdrawal/create", Do: m.do, Times: 1,
			Match: map[string]string{"external_order_id": m.OrderID}}); err != nil {
			return err
		}
	}
	return nil
}

// serve is the service. When it has paid the victim, it kills the command that waits for the answer.
func (st *stage) serve(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	r.Body = io.NopCloser(io.TeeReader(r.Body, &body))
	st.box.ServeHTTP(w, r)
	var create api.CreateWithdrawal
	if st.victim != "" && strings.HasSuffix(r.URL.Path, "/create") && json.Unmarshal(body.Bytes(), &create) == nil &&
		create.ExternalOrderID == st.victim {
		st.victim = ""
		st.kill()
		<-r.Context().Done() // until the command has ended
	}
}

// play applies the plan as a person would: it runs the commands that lead on, until nothing is left.
func (st *stage) play() error {
	plan := filepath.Base(st.plan.Path)
	if strings.HasPrefix(plan, "-") {
		plan = "./" + plan
	}
	if err := st.must("payout", "plan", "rows.jsonl", "--out", plan, "--allow-bad-address", "-q"); err != nil {
		return err
	}
	st.told.Steps = st.told.Steps[:0] // the plan is there already
	apply := []string{"payout", "apply", plan, "--yes"}
	for range 4 * (len(mishaps) + 1) {
		code, err := st.run(apply...)
		switch {
		case err != nil || code == 0:
			return err
		case code == killed: // run it again
		case code == exit.Unknown:
			if err := st.settle(); err != nil {
				return err
			}
		case code == exit.Rejected || code == exit.Partial:
			apply = append(apply[:4:4], "--retry-rejected")
		default:
			return st.failure()
		}
	}
	return st.failure()
}

// settle finds out about unknown orders, and decides about those that are not on the list: here it is known
// that none arrives late.
func (st *stage) settle() error {
	if code, err := st.run("payout", "reconcile"); err != nil || code == 0 {
		return err
	}
	ids, err := st.command(st.Ctx, "journal", "list", "--state", "unknown", "-q").Output()
	if err != nil {
		return err
	}
	return st.must(slices.Concat([]string{"payout", "resolve"}, strings.Fields(string(ids)),
		[]string{"--not-sent", "--reason", "not on the list", "--yes"})...)
}

func (st *stage) must(args ...string) error {
	code, err := st.run(args...)
	if err == nil && code != 0 {
		err = st.failure()
	}
	return err
}

func (st *stage) failure() error {
	last := st.told.Steps[len(st.told.Steps)-1]
	return &exit.Error{Code: exit.Internal,
		Msg: fmt.Sprintf("the rehearsal does not go on: %s ended with %d: %s", last.Command, last.ExitCode, last.Message)}
}

func (st *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir, cmd.Env, cmd.Err = st.dir, st.env, cmp.Or(err, cmd.Err)
	return cmd
}

const killed = -1

// run runs a command of till, and keeps it as a step.
func (st *stage) run(args ...string) (code int, err error) {
	ctx, kill := context.WithCancel(st.Ctx)
	defer kill()
	st.kill = kill
	var errs strings.Builder
	cmd := st.command(ctx, args...)
	cmd.Stderr = &errs
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); st.Ctx.Err() != nil || err != nil && !exited && ctx.Err() == nil {
		return 0, cmp.Or(st.Ctx.Err(), err)
	}
	step := rehearsalStep{Command: payout.Hint{Command: args}.String(), ExitCode: cmd.ProcessState.ExitCode()}
	for line := range strings.Lines(errs.String()) {
		if message, is := strings.CutPrefix(line, "till: "); is {
			step.Message = strings.TrimSpace(message)
		}
	}
	if step.ExitCode == killed {
		step.Message = "killed"
	}
	st.told.Steps = append(st.told.Steps, step)
	return step.ExitCode, nil
}

func (st *stage) count(at string) error {
	client, err := api.New(at, api.WithAPIKey(st.box.Key()))
	if err != nil {
		return err
	}
	paid := map[string]int{}
	for w, err := range client.Withdrawals.All(st.Ctx, api.WithdrawalFilter{}, api.ListOptions{}) {
		if err != nil {
			return err
		}
		paid[w.ExternalOrderID]++
	}
	ways := []*int{&st.told.NotPaid, &st.told.PaidOnce, &st.told.PaidTwice}
	for _, r := range st.plan.Rows {
		*ways[min(paid[r.ExternalOrderID], 2)]++
	}
	return nil
}

// text is the page for a person, at most width columns wide; 0: however wide.
func (r rehearsal) text(width int) string {
	once := "Each was paid once."
	if r.PaidOnce < r.Rows {
		once = fmt.Sprintf("Paid once: %d. Paid twice or more: %d. Not paid: %d.", r.PaidOnce, r.PaidTwice, r.NotPaid)
	}
	lines := []string{fmt.Sprintf("%s of %s, rehearsed in %.1f seconds", cmdutil.CountOf(r.Rows, "row"), r.Plan, r.Seconds),
		once, "", "What went wrong on purpose"}
	for _, m := range r.Mishaps {
		lines = append(lines, fmt.Sprintf("  order %s: %s", m.OrderID, m.What))
	}
	lines = append(lines, "", "What a person would have had to run")
	decided := false
	for _, step := range r.Steps {
		ended := map[int]string{0: "done", killed: "killed"}[step.ExitCode]
		if ended == "" {
			ended = fmt.Sprintf("exit code %d: %s", step.ExitCode, step.Message)
		}
		lines = append(lines, "  "+step.Command, "    "+ended)
		decided = decided || strings.Contains(step.Command, "--not-sent")
	}
	if decided {
		lines = append(lines, "", "--not-sent is a person's decision: here it is known that nothing arrives late. Otherwise ask the service's "+
			"provider first; till refuses it for settle_after, 15 minutes, after the attempt.")
	}
	text := ""
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		text += render.WrapWords(render.Safe(line), width, indent+2) + "\n"
	}
	return text
}
