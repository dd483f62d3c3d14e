package cli

import (
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"os"
	"strings"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

// session is a command at work: the settings it runs under, and the way to the service and to the output.
type session struct {
	*app
	config.Settings
	money money.Registry
	out   render.Options
	keys  config.Keys
	key   string // of the calls, once it is known
	base  string // the base URL of the client, once there is one
}

// start works out the settings. It does not need an address or a key: client does.
func (a *app) start(cmd *cobra.Command) (*session, error) {
	settings, err := config.Resolve(a.input(cmd))
	if err != nil {
		return nil, err
	}
	a.json = isJSON(settings.Output) && settings.Origin("output") != "flag --template"
	s := &session{app: a, Settings: settings, money: settings.Registry, keys: a.keys()}
	a.spinner.out = terminal.Of(a.io.Err)
	s.out = render.Options{
		Format:    render.Format(s.Output),
		Template:  s.Template,
		Columns:   s.Columns,
		Sort:      s.Sort,
		NoHeaders: s.NoHeaders,
		Quiet:     s.Quiet,
		Width:     a.width(),
		Color:     wantsColour(s.Color, a.io.env, terminal.Of(a.io.Out) != nil),
		Screen:    terminal.Of(a.io.Out) != nil,
	}
	if s.JQ != "" {
		if s.out.Filter, err = jqFilter(s.ctx, s.JQ); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// client returns the way to the service, and starts the spinner, since what comes next takes time.
func (s *session) client() (*api.Client, error) {
	client, err := s.connect()
	if err == nil && !s.DryRun {
		s.spinner.start("waiting for " + s.serviceName())
	}
	return client, err
}

func (s *session) connect() (*api.Client, error) {
	base, err := s.RequireBaseURL()
	if err != nil {
		return nil, err
	}
	log.SetOutput(io.Discard) // where net/http remarks on a service that answers unasked; what it means for a call is that call's error
	s.keyFrom = s.sourceOfKey()
	opts := []api.Option{api.WithTimeouts(s.Timeout, s.Timeout), api.WithRetries(s.Retries)}
	if base == "" {
		return s.embedded(opts)
	}
	key, _, err := s.keys.Key(s.ctx, s.Settings)
	if err != nil && !s.DryRun { // what would be sent can be shown without one
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

func (s *session) newClient(base string, opts []api.Option) (*api.Client, error) {
	if s.Debug {
		opts = append(opts, api.WithTrace(s.trace()))
	}
	if s.DryRun {
		opts = append(opts, api.WithTransport(dryRun{s.io.Out}), api.WithRetries(0))
	}
	s.base = base
	client, err := api.New(base, opts...)
	if err != nil {
		return nil, &config.Error{Msg: err.Error(), Err: err}
	}
	return client, nil
}

func certificates(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the certificate authorities of ca_file cannot be read: %v", withoutPath(err)), Err: err}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &config.Error{Msg: fmt.Sprintf("%s holds no certificate in PEM form", path)}
	}
	return pool, nil
}

// send makes a create. A signal that came before it keeps it from being sent at all.
//
// underWay tells whether there is anything to wait for when a signal comes; nil: always.
func (s *session) send(underWay func() bool, create func() error) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
		case <-s.ctx.Done():
			if underWay != nil && !underWay() {
				return
			}
			s.note("waiting for the answer to what is under way; another signal gives up, and then nobody knows its outcome")
		}
	}()
	return create()
}

func (s *session) profileName() string {
	if s.Profile == "" {
		return "none"
	}
	return s.Profile
}

func (s *session) profileOr(other string) string {
	if s.Profile == "" {
		return other
	}
	return s.Profile
}

// serviceName is where calls go, as a person knows it.
func (s *session) serviceName() string {
	if s.BaseURL == "" {
		return "the embedded sandbox"
	}
	return s.BaseURL
}

func (s *session) firstPage() api.PageBase {
	switch s.FirstPage {
	case "0":
		return api.PageBaseZero
	case "1":
		return api.PageBaseOne
	}
	return api.PageBaseAuto
}

func (s *session) period() period {
	return period{now: s.io.Now(), layout: s.TimeLayout, zone: s.TimeZone}
}

// randomOrderID makes an order id that no other has, for all practical purposes: one of 2^53-1.
func randomOrderID() string {
	n, err := rand.Int(rand.Reader, big.NewInt(api.MaxOrderID))
	if err != nil {
		panic(err) // the system's source of randomness does not fail
	}
	return n.Add(n, big.NewInt(1)).String()
}

// noDryRun refuses a flag that promises something which a command cannot keep.
func (s *session) noDryRun(command string) error {
	if s.DryRun {
		return usageError("--dry-run: "+command+" makes no call that could be shown", "leave it out")
	}
	return nil
}

// aboutThis refuses an answer that is about something else than was asked for. The service may write an id in another case.
func aboutThis(what, asked, got string) error {
	if strings.EqualFold(asked, got) {
		return nil
	}
	return &failure{code: exitReadFailed, msg: fmt.Sprintf("the answer is about %s %q, and not about %q", what, got, asked), hint: payout.NewHint("nothing was changed, run it again")}
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
