package cmdutil

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime/debug"
	"strings"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/cmdline"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/metrics"
	"example.com/till/internal/period"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// Session is a running command: its settings, and its access to the service and the output.
type Session struct {
	*App
	config.Settings
	Cmd     *cobra.Command
	Render  render.Options
	Keys    config.Keys
	key     string          // of the calls, once known
	client  *api.Client     // once it exists
	unknown map[string]bool // the codes of amounts that were printed in minor units
}

// Start resolves the settings. Only Client needs an address and a key.
func (a *App) Start(cmd *cobra.Command) (*Session, error) {
	settings, err := config.Resolve(a.Input(cmd))
	if err != nil {
		return nil, err
	}
	if err := cmdline.CheckDryRun(cmd); err != nil {
		return nil, err
	}
	s := &Session{App: a, Cmd: cmd, Settings: settings, Keys: a.keys(), unknown: map[string]bool{}}
	a.session = s
	a.Spinner.Out, a.Spinner.Dumb = terminal.Of(a.IO.Err), a.IO.Env("TERM") == "dumb"
	a.Spinner.Interrupted = func() bool { return a.Ctx.Err() != nil }
	s.Render = a.IO.Look(s.Color, a.IO.Out)
	s.Render.Format, s.Render.Columns, s.Render.Sort = render.Format(s.Output), s.Columns, s.Sort
	s.Render.NoHeaders, s.Render.Quiet = s.NoHeaders, s.Quiet
	s.Render.Unknown = func(code string) { s.unknown[code] = true }
	if s.CSVFor != "" {
		if s.Render.Excel, err = render.ExcelOf(s.Locale); err != nil {
			return nil, err
		}
	}
	if _, file := a.outlets(cmd); file != "" {
		if err := metrics.Check(file, a.IO.Out, a.IO.Err); err != nil {
			a.warnAfter("the metrics are not written to %s: %v", file, err)
			s.Metrics = ""
		}
	}
	s.Render.Filter, err = s.newFilter(s.Ctx)
	return s, err
}

// WithSession returns the run function of a command that begins with a session.
func (a *App) WithSession(run func(*Session, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.Start(cmd)
		if err != nil {
			return err
		}
		return run(s, args)
	}
}

// Client connects to the service and starts the spinner, because a call follows.
func (s *Session) Client() (*api.Client, error) {
	cmdline.Declared(s.Cmd, cmdline.Calls)
	client, err := s.Connect()
	if _, file := s.outlets(s.Cmd); file != "" {
		// If the command is killed, this start has no end. The end reports a file that cannot be written.
		_ = metrics.Write(file, s.Account, cmdline.CommandName(s.Cmd), metrics.Wait,
			map[string][]metrics.Sample{metrics.Start: timestamp(s.Began), metrics.Success: nil})
	}
	if err == nil && !s.DryRun {
		s.Spinner.Start("waiting for " + s.ServiceName())
	}
	return client, err
}

// ClientToCreate is Client for a call that creates something.
func (s *Session) ClientToCreate() (*api.Client, error) {
	if err := s.MayCreate(); err != nil {
		return nil, err
	}
	return s.Client()
}

// MayCreate refuses to create anything with a profile that is read_only.
func (s *Session) MayCreate() error {
	cmdline.Declared(s.Cmd, cmdline.Money, cmdline.Service)
	if !s.ReadOnly {
		return nil
	}
	return exit.Refusal(exit.RuleReadOnly, fmt.Sprintf("the profile %s is read_only, so nothing is created", s.ProfileName()),
		"use another profile or, if that is over, set it so", "profile", "set", s.Profile, "read_only=false")
}

// Connect returns a client of the service.
func (s *Session) Connect() (*api.Client, error) {
	if err := s.checkDryRun(); err != nil {
		return nil, err
	}
	base, err := s.RequireBaseURL()
	if err != nil {
		return nil, err
	}
	// net/http logs answers that no request asked for. If they matter, the call fails with an error.
	log.SetOutput(io.Discard)
	s.KeyFrom = s.Keys.Source(s.Settings)
	opts := []api.Option{api.WithTimeouts(s.Timeout, s.Timeout), api.WithRetries(s.Retries)}
	if base == "" {
		return s.embedded(opts)
	}
	key, _, err := s.Keys.Key(s.Ctx, s.Settings)
	if err != nil && !s.DryRun { // a dry run needs no key
		return nil, err
	}
	s.key = key
	opts = append(opts, api.WithAPIKey(key))
	if s.ResellerAuth == "none" {
		opts = append(opts, api.WithoutResellerAuth())
	}
	if s.CAFile != "" {
		pool, err := certificates(s.CAFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, api.WithRootCAs(pool))
	}
	return s.newClient(base, opts)
}

// embeddedURL is the address of the embedded sandbox, which no call goes to.
const embeddedURL = "http://127.0.0.1"

// embedded connects to a sandbox inside this process, without a network. Its state is in a file, so that the
// next command finds what this one has made.
func (s *Session) embedded(opts []api.Option) (*api.Client, error) {
	if s.DryRun { // a dry run leaves no file behind
		s.key = sandbox.KeyPrefix + "embedded"
		return s.newClient(embeddedURL, append(opts, api.WithAPIKey(s.key)))
	}
	if s.SandboxState == "" {
		return nil, &config.Error{Msg: "the sandbox has no place for its state: " + s.NoHome(),
			Advice: "name a file in TILL_SANDBOX_STATE"}
	}
	debug.SetMemoryLimit(math.MaxInt64) // the whole state is in memory
	server, err := sandbox.New(sandbox.WithSharedState(s.SandboxState))
	if err != nil {
		return nil, err
	}
	s.box, s.key = server, server.Key()
	if s.KeyFrom.Kind != config.FromSandbox {
		if s.key, _, err = s.Keys.Key(s.Ctx, s.Settings); err != nil {
			return nil, err
		}
	}
	opts = append(opts, api.WithAPIKey(s.key), api.WithTransport(inProcess{server}))
	return s.newClient(embeddedURL, opts)
}

func (s *Session) newClient(base string, opts []api.Option) (*api.Client, error) {
	if s.Debug {
		opts = append(opts, api.WithTrace(&s.Others))
	}
	if s.DryRun {
		opts = append(opts, api.WithTransport(dryRun{s}), api.WithRetries(0))
	}
	if s.reports(s.Cmd) {
		opts = append(opts, api.WithMiddleware(s.calls.wrap))
	}
	client, err := api.New(base, opts...)
	if err != nil {
		return nil, &config.Error{Msg: err.Error(), Err: err}
	}
	s.client = client
	return client, nil
}

func certificates(path string) (*x509.CertPool, error) {
	if err := config.CheckTrust("the file "+path+" of ca_file", path, nil); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the certificate authorities of ca_file cannot be read: %v", atomicfile.WithoutPath(err)), Err: err,
			Advice: "name a file of certificates in PEM form in ca_file of the profile, or in TILL_CA_FILE"}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &config.Error{Msg: fmt.Sprintf("%s holds no certificate in PEM form", path)}
	}
	return pool, nil
}

// Create makes something at the service that is created by one call.
func Create[T any](s *Session, create func(context.Context, *api.Client) (T, error)) (made T, err error) {
	client, err := s.ClientToCreate()
	if err != nil {
		return made, err
	}
	err = s.Send(nil, func() (err error) {
		made, err = create(s.SendCtx, client)
		return err
	})
	return made, err
}

// Send makes a create, unless a signal came before.
//
// When a signal comes during the create, underWay reports whether there is an answer to wait for. If underWay
// is nil, there always is.
func (s *Session) Send(underWay func() bool, create func() error) error {
	if err := s.Ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
		case <-s.Ctx.Done():
			if underWay != nil && !underWay() {
				return
			}
			s.Note("waiting for the calls in flight; another signal stops the wait, and their outcome is then unknown")
		}
	}()
	return create()
}

// ProfileName returns the name of the current profile, or "none".
func (s *Session) ProfileName() string { return s.ProfileOr("none") }

// ProfileOr returns the name of the current profile, or other if there is none.
func (s *Session) ProfileOr(other string) string { return cmp.Or(s.Profile, other) }

// ServiceName describes the address of the service for a person.
func (s *Session) ServiceName() string { return cmp.Or(s.BaseURL, "the embedded sandbox") }

// PageBase returns the number of the first page, by the profile's setting.
func (s *Session) PageBase() api.PageBase {
	return map[string]api.PageBase{"0": api.PageBaseZero, "1": api.PageBaseOne}[s.FirstPage]
}

// Period returns how times on the command line are read and written.
func (s *Session) Period() period.Parser {
	return period.Parser{Now: s.IO.Now(), Layout: s.TimeLayout, Zone: s.TimeZone}
}

// AboutThis refuses an answer about another object than the one that was asked for. The service may write an
// id in another case.
func AboutThis(what, asked, got string) error {
	if strings.EqualFold(asked, got) {
		return nil
	}
	return exit.Failure(exit.ReadFailed, nil, fmt.Sprintf("the answer is about %s %q, and not about %q", what, got, asked),
		"nothing was changed, run it again")
}

// FirstOf returns the first argument, or "".
func FirstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// keys returns where keys are read. From then on this process may have one, which no core file is to have.
func (a *App) keys() config.Keys {
	terminal.HideMemory()
	stdin := func(context.Context) (string, error) { return a.ReadKey("Key: ", nil) }
	return config.Keys{Env: a.IO.Env, Stdin: stdin, Stderr: a.otherLines(), Asks: terminal.Of(a.IO.Err) != nil}
}

// ReadKey reads a key from standard input. On a terminal it asks for it, does not show what is typed, and returns the
// error none if that is nothing.
func (a *App) ReadKey(question string, none error) (string, error) {
	if terminal.Of(a.IO.In) == nil {
		return config.ReadKey(a.Ctx, a.IO.In)
	}
	key, err := a.AskSecret("the key", question, none)
	return string(key), err
}

// RefusedKey adds the source of the key to the error of a call that was refused for its key, once. It returns
// any other error unchanged, and every error if the source is not known.
func RefusedKey(err error, source config.Origin) error {
	if err == nil || source.Kind == config.FromDefault {
		return err
	}
	r, own := exit.Explain(err), (*exit.Error)(nil)
	const another = "put another in its place"
	hint := payout.NewHint(another)
	switch {
	case r.Code == exit.Unknown && r.Call != nil && exit.Explain(r.Call).Code == exit.Unauthorized: // the list was not read
		hint = payout.NewHint(another+"; "+r.Hint.Text, r.Hint.Command...)
	case r.Code != exit.Unauthorized || errors.As(err, &own) && own.Code == exit.Unauthorized:
		return err
	case source.Kind == config.FromKeyring:
		hint.Command = []string{"auth", "login"}
	}
	r.Hint, r.Msg = hint, fmt.Sprintf("%v; the key came from %s", err, source.Phrase())
	return &r
}
