package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/metrics"
	"example.com/till/internal/money"
	"example.com/till/internal/place"
	"example.com/till/internal/render"
	"example.com/till/internal/secret"
	"example.com/till/internal/terminal"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// Finished is the report of a command that has ended: what on_finish gets on standard input, and what the
// metrics are made from.
type Finished struct {
	Command  string `json:"command"` // without its arguments, such as payout apply
	ExitCode int    `json:"exit_code"`
	Kind     string `json:"kind"` // of the exit code; empty if it is 0
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message,omitempty"`

	Hint      *HintLine `json:"hint,omitempty"`
	Retryable bool      `json:"retryable"`
	exit.About
	Profile string  `json:"profile"`
	Account string  `json:"account"`
	Service string  `json:"service"`
	Started string  `json:"started"`
	Ended   string  `json:"ended"`
	Seconds float64 `json:"seconds"`
	Calls   int     `json:"calls"`   // to the service
	Retries int     `json:"retries"` // of these calls

	// Orders are the orders of the run, or the one order, that the command was about.
	Orders  *FinishedOrders  `json:"orders,omitempty"`
	Amounts []FinishedAmount `json:"amounts,omitempty"`
	// Unsettled are all orders of the account whose outcome is open.
	Unsettled *FinishedUnsettled `json:"unsettled,omitempty"`

	began, ended time.Time
}

// FinishedOrders counts orders by state.
type FinishedOrders struct {
	Planned  int `json:"planned"`
	Sending  int `json:"sending"`
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Unknown  int `json:"unknown"`
	Conflict int `json:"conflict"`
}

// FinishedUnsettled counts the orders whose outcome is open, by state.
type FinishedUnsettled struct {
	Sending  int `json:"sending"`
	Unknown  int `json:"unknown"`
	Conflict int `json:"conflict"`
}

// FinishedAmount is a sum in one currency.
type FinishedAmount struct {
	Of       string   `json:"of"` // what it is the sum of: total, accepted, volume or rebates
	Currency string   `json:"currency"`
	Amount   *string  `json:"amount"` // null if the decimals of the currency are not known
	Minor    *big.Int `json:"amount_minor"`
}

const (
	onFinishFlag = "on-finish"
	metricsFlag  = "metrics"
)

// AddFinishFlags adds the flags of a command that reports its end to other programs. The configuration reads
// them; they override the profile.
func AddFinishFlags(cmd *cobra.Command) {
	cmd.Flags().String(onFinishFlag, "", "program that gets a report at the end")
	cmd.Flags().String(metricsFlag, "", "file with metrics for Prometheus")
	cmdline.OfferFiles(cmd, onFinishFlag, metricsFlag)
}

// withinOnFinish is set for the program of on_finish. A command that this program runs does not run
// on_finish, because that could go on for ever. The name is of no other use, so that it is not set by chance.
const withinOnFinish = "TILL_WITHIN_ON_FINISH"

// outlets returns who gets the report of this command: a program, and a file of metrics. If the configuration could
// not be read, only the flags are known.
func (a *App) outlets(cmd *cobra.Command) (onFinish []string, file string) {
	program, metrics := cmd.Flags().Lookup(onFinishFlag), cmd.Flags().Lookup(metricsFlag)
	switch s := a.session; {
	case program == nil || s != nil && s.DryRun:
		return nil, ""
	case s != nil:
		return s.OnFinish, s.Metrics
	case filepath.IsAbs(program.Value.String()):
		onFinish = []string{program.Value.String()}
	}
	return onFinish, metrics.Value.String()
}

// reports reports whether this command makes a report.
func (a *App) reports(cmd *cobra.Command) bool {
	onFinish, file := a.outlets(cmd)
	return len(onFinish) > 0 || file != ""
}

// readAtEnd bounds the use of the journal for the report.
const readAtEnd = 10 * time.Second

// Finish makes the report of a command that has ended, or returns nil if there is no receiver. The journal must
// still be open.
func (a *App) Finish(cmd *cobra.Command, r exit.Error) *Finished {
	if !a.Running || !a.reports(cmd) {
		return nil
	}
	f := &Finished{Command: cmdline.CommandName(cmd), ExitCode: r.Code, Kind: exit.KindOf(r.Code).Kind, Rule: r.Rule,
		Message: r.Msg, Hint: NewHintLine(r.Hint), Retryable: r.Retryable(), About: r.About.Or(a.Subject), Amounts: a.Amounts,
		began: a.Began, ended: a.IO.Now()}
	f.Started, f.Ended = views.Moment(f.began), views.Moment(f.ended)
	f.Seconds = f.ended.Sub(f.began).Round(time.Millisecond).Seconds()
	f.Calls, f.Retries = int(a.calls.calls.Load()), int(a.calls.retries.Load())
	if s := a.session; s != nil {
		f.Profile, f.Account, f.Service = s.Profile, s.Account, s.ServiceName()
	}
	if a.ledger != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.SendCtx), readAtEnd)
		defer cancel()
		f.read(ctx, a.ledger, a.session.Money)
	}
	return f
}

// read adds what the journal has. What cannot be read is left out: the error of the command says why.
func (f *Finished) read(ctx context.Context, l *payout.Ledger, m money.Registry) {
	const sending, unknown, conflict = payout.StateSending, payout.StateUnknown, payout.StateConflict
	open := map[payout.State]int{}
	var err error
	for o, failed := range l.Orders(ctx, payout.Filter{States: []payout.State{sending, unknown, conflict}}) {
		if err = failed; err != nil {
			break
		}
		open[o.State]++
	}
	if err == nil {
		f.Unsettled = &FinishedUnsettled{Sending: open[sending], Unknown: open[unknown], Conflict: open[conflict]}
	}
	var tally payout.Tally
	switch {
	case f.Run != "":
		if m, err = SentWith(ctx, m, l, f.Run); err == nil {
			tally, err = l.Tally(ctx, f.Run)
		}
	case f.OrderID != "":
		var o payout.Order
		if o, err = l.Order(ctx, f.OrderID); err == nil {
			m, tally = views.AsSent(m, o), payout.Tally{Rows: 1, States: map[payout.State]int{o.State: 1},
				Totals: []payout.Total{{Amount: api.Big(o.Amount), Rows: 1}}}
		}
		if o.State == payout.StateAccepted {
			tally.Accepted = tally.Totals
		}
	}
	if err != nil || tally.Rows == 0 {
		return
	}
	n := tally.States
	f.Orders = &FinishedOrders{Planned: n[payout.StatePlanned], Sending: n[sending], Accepted: n[payout.StateAccepted],
		Rejected: n[payout.StateRejected], Unknown: n[unknown], Conflict: n[conflict]}
	for _, sum := range []struct {
		of     string
		totals []payout.Total
	}{{"total", tally.Totals}, {"accepted", tally.Accepted}} {
		for _, t := range sum.totals {
			f.Amounts = append(f.Amounts,
				NewFinishedAmount(sum.of, t.Amount.Code, t.Amount.Minor.Big(), m.DecimalsOf(t.Amount.Kind, t.Amount.Code)))
		}
	}
}

// SentWith returns the registry with the decimals with which the amounts of a run were shown when it was sent.
func SentWith(ctx context.Context, m money.Registry, l *payout.Ledger, run string) (money.Registry, error) {
	sent, err := l.DecimalsSent(ctx, run)
	for unit, decimals := range sent {
		m = m.As(unit, decimals)
	}
	return m, err
}

// NewFinishedAmount returns a sum for the report.
func NewFinishedAmount(of, code string, minor *big.Int, decimals int) FinishedAmount {
	return FinishedAmount{Of: of, Currency: code, Amount: views.Decimal(minor, decimals), Minor: minor}
}

// Tell gives the report to those who want it, after everything else. It never changes the exit code, so it
// returns no error.
func (a *App) Tell(cmd *cobra.Command, f *Finished) {
	if f == nil {
		return
	}
	onFinish, file := a.outlets(cmd)
	if file != "" {
		err := metrics.Check(file, a.IO.Out, a.IO.Err)
		if err == nil {
			err = metrics.Write(file, f.Account, f.Command, metrics.Wait, f.samples())
		}
		switch {
		case errors.As(err, new(metrics.UnlockedError)):
			a.warnAfter("the metrics in %s may lack the end of another command: %v", file, err)
		case err != nil:
			a.warnAfter("the metrics were not written to %s: %v", file, err)
		}
	}
	switch {
	case len(onFinish) == 0:
	case a.IO.Env(withinOnFinish) != "":
		a.warnAfter("the program %s of on_finish was not run, because %s is set, as in the environment of such a program",
			onFinish[0], withinOnFinish)
	default:
		if err := a.runOnFinish(onFinish, f, finishLimit); err != nil {
			a.warnAfter("%v", err)
		}
	}
}

// warnAfter warns of something that is not a part of what the command did.
func (a *App) warnAfter(format string, args ...any) {
	a.Warn(payout.Detail{Message: fmt.Sprintf(format, args...) + "; the exit code is not affected"})
}

const finishLimit = 60 * time.Second

// runOnFinish runs the program of on_finish with the report on its standard input. It gets the signals that
// arrive meanwhile, but is not told of the one that ended the command.
func (a *App) runOnFinish(words []string, f *Finished, limit time.Duration) error {
	if err := config.CheckTrust("it", words[0], nil); err != nil {
		return fmt.Errorf("the program %s of on_finish was not run: %w", words[0], err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.SendCtx), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(a.withoutSecrets(false), withinOnFinish+"=1", "TILL_EXIT_CODE="+strconv.Itoa(f.ExitCode),
		"TILL_KIND="+f.Kind, "TILL_RUN="+f.Run)
	signals, release := terminal.Forwarded()
	defer release()
	err := a.runChild(cmd, append(render.Encode(f), '\n'), signals)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s, and was killed", limit)
	}
	if err != nil {
		err = fmt.Errorf("the program %s of on_finish failed: %w", words[0], err)
	}
	return err
}

// withoutSecrets returns the environment without the journal's password and, unless it is wanted, the key, in
// any variable.
func (a *App) withoutSecrets(withKey bool) []string {
	secrets, journals := []string{a.IO.Env("PGPASSWORD")}, []string{a.IO.Env("TILL_JOURNAL")}
	if !withKey { // the key of the variable counts even if the command ended before it read the key
		secrets = append(secrets, strings.TrimSpace(a.IO.Env("TILL_API_KEY")))
	}
	if s := a.session; s != nil {
		if !withKey {
			secrets = append(secrets, s.key)
		}
		journals = append(journals, s.Journal, s.ProfileJournal)
	}
	for _, text := range journals {
		if place.Redact(text) != text || place.Check(text) != nil { // it has a password, or may have one
			secrets = append(secrets, text)
		} else if !place.IsPostgres(text) {
			continue
		}
		if c, err := pgconn.ParseConfig(text); err == nil { // its password may be that of the password file
			secrets = append(secrets, c.Password)
		} else if u, err := url.Parse(text); err == nil { // a file that the address names cannot be read
			password, _ := u.User.Password()
			secrets = append(secrets, password, u.Query().Get("password"))
		}
	}
	return slices.DeleteFunc(slices.Clone(a.IO.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == "TILL_API_KEY" && !withKey || name == "PGPASSWORD" || value != "" && slices.Contains(secrets, value) ||
			secret.Hide(value, secrets...) != value
	})
}

// timestamp returns a time as Prometheus has it.
func timestamp(t time.Time) []metrics.Sample {
	return metrics.One(strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64))
}

// samples returns what a metrics file has of the end of a command.
func (f Finished) samples() map[string][]metrics.Sample {
	samples := map[string][]metrics.Sample{metrics.Start: timestamp(f.began), metrics.Success: nil,
		metrics.ExitCode: metrics.One(strconv.Itoa(f.ExitCode)),
		metrics.Duration: metrics.One(strconv.FormatFloat(f.Seconds, 'f', 3, 64)),
		metrics.Calls:    metrics.One(strconv.Itoa(f.Calls)), metrics.Retries: metrics.One(strconv.Itoa(f.Retries)),
		metrics.Orders: nil, metrics.Amount: nil}
	if f.ExitCode == exit.Done {
		samples[metrics.Success] = timestamp(f.ended)
	}
	if n := f.Orders; n != nil {
		samples[metrics.Orders] = metrics.ByState(map[string]int{"planned": n.Planned, "sending": n.Sending,
			"accepted": n.Accepted, "rejected": n.Rejected, "unknown": n.Unknown, "conflict": n.Conflict})
	}
	for _, sum := range f.Amounts {
		samples[metrics.Amount] = append(samples[metrics.Amount],
			metrics.Sample{Value: sum.Minor.String(), Labels: []string{"of", sum.Of, "currency", sum.Currency}})
	}
	if n := f.Unsettled; n != nil { // what is open stays open until it is counted again
		samples[metrics.Unsettled] = metrics.ByState(
			map[string]int{"sending": n.Sending, "unknown": n.Unknown, "conflict": n.Conflict})
	}
	return samples
}

// callCounter counts the calls to the service, and how often they are repeated. A call and its repetitions
// have the same context, which ends with the call.
type callCounter struct {
	calls, retries atomic.Int64
	begun          sync.Map // the contexts of the calls in flight
}

func (c *callCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		if _, again := c.begun.LoadOrStore(ctx, true); again {
			c.retries.Add(1)
		} else {
			c.calls.Add(1)
			context.AfterFunc(ctx, func() { c.begun.Delete(ctx) })
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
