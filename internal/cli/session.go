package cli

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"math/big"
	"os"
	"strings"
	"time"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
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

// input is what the configuration is resolved from.
func (a *app) input(cmd *cobra.Command) config.Input {
	return config.Input{
		Flags:             cmd.Root().PersistentFlags(),
		Command:           cmd.Flags(),
		Env:               a.io.env,
		Home:              a.io.env("HOME"),
		SandboxCurrencies: sandboxCurrencies,
	}
}

func sandboxCurrencies() []money.Entry {
	var entries []money.Entry
	for _, c := range sandbox.Currencies() {
		entries = append(entries, money.Entry{Code: c.Code, Kind: api.Kind(c.Kind), Decimals: c.Decimals, MemoRequired: c.MemoRequired})
	}
	return entries
}

// width is that of the terminal that data goes to, or 0.
func (a *app) width() int {
	out := terminal.Of(a.io.Out)
	if out == nil {
		return 0
	}
	return terminal.Width(out)
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

// tableOnTerminal reports whether a person is looking at a table, who is better served by a part of it.
func (s *session) tableOnTerminal() bool {
	return s.out.Format == render.Table && !s.Quiet && s.out.Filter == nil && s.Template == "" && terminal.Of(s.io.Out) != nil
}

// trace is where --debug writes to.
func (a *app) trace() io.Writer {
	if a.json {
		return &a.others
	}
	return safeLines{a.io.Err}
}

// randomOrderID makes an order id that no other has, for all practical purposes: one of 2^53-1.
func randomOrderID() string {
	n, err := rand.Int(rand.Reader, big.NewInt(api.MaxOrderID))
	if err != nil {
		panic(err) // the system's source of randomness does not fail
	}
	return n.Add(n, big.NewInt(1)).String()
}

func asJSON(value any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // only values of this package come here
	}
	return []byte(strings.TrimSpace(b.String()))
}

func (a *app) keys() config.Keys {
	return config.Keys{Env: a.io.env, Stdin: a.hiddenInput(), Stderr: a.otherLines(), Keyring: config.SystemKeyring()}
}

// output prints values of one type.
type output[T any] struct {
	s    *session
	view render.View[T]
}

// show checks the flags of the output against a view, before anything is sent, and answers --columns help.
func show[T any](s *session, view render.View[T]) (output[T], error) {
	out := output[T]{s, view}
	if len(s.Columns) == 1 && s.Columns[0] == "help" {
		if err := s.write(strings.Join(view.Names(), "\n") + "\n"); err != nil {
			return out, err
		}
		return out, errDone
	}
	return out, view.Check(s.out)
}

func (o output[T]) one(value T) error {
	o.s.spinner.stop()
	return o.view.One(o.s.io.Out, o.s.out, value)
}

// tabular reports whether rows are printed, and not the service's JSON or ids.
func (o output[T]) tabular() bool {
	out := o.s.out
	return (out.Format == render.Table || out.Format == render.CSV) && !out.Quiet && out.Filter == nil && out.Template == ""
}

// bare prints a value of which a table has only its text, for a script to take.
func (o output[T]) bare(value T, text string) error {
	if o.s.out.Format != render.Table || !o.tabular() || len(o.s.Columns) > 0 {
		return o.one(value)
	}
	o.s.spinner.stop()
	return o.s.write(render.Safe(text) + "\n")
}

// filterLimit is how long --jq may take with the answer of a create, which is small.
const filterLimit = 2 * time.Second

// made prints what a create has made. If that fails, the error is the last place where its ids can be.
func (o output[T]) made(value T, text string, what about, ids string) error {
	if o.s.JQ != "" {
		ctx, cancel := context.WithTimeout(o.s.ctx, filterLimit)
		defer cancel()
		o.s.out.Filter, _ = jqFilter(ctx, o.s.JQ) // it compiled before
	}
	err := o.bare(value, text)
	if err == nil && (o.s.JQ != "" || o.s.Template != "") { // which may have left them out
		o.s.noteAbout(what, "made: %s", ids)
	}
	var output *render.WriteError
	if errors.As(err, &output) {
		return &failure{code: exitOutput, about: what, msg: fmt.Sprintf("it is made (%s), but %v", ids, err), hint: payout.NewHint("note the ids, and do not make it again")}
	}
	return err
}

func (o output[T]) list(items iter.Seq2[T, error]) error {
	err := o.view.List(&listWriter{ctx: o.s.ctx, w: o.s.io.Out}, o.s.out, func(yield func(T, error) bool) {
		for item, err := range items {
			o.s.spinner.stop()
			if !yield(item, err) {
				return
			}
		}
		o.s.spinner.stop()
	})
	if failed := (*render.WriteError)(nil); errors.As(err, &failed) && errors.Is(err, context.Canceled) {
		return context.Canceled // by a signal: the output is not to blame
	}
	return err
}

// listWriter is standard output for a list, which may have no end. A reader that does not read must not keep the program from
// ending: after a signal, what is still written has drainTime to be read.
type listWriter struct {
	ctx  context.Context // of reads, which a signal ends
	w    io.Writer
	over <-chan struct{} // closed when drainTime has passed; nil: ctx has not ended
}

const drainTime = 500 * time.Millisecond

func (l *listWriter) Write(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	go func() {
		n, err := l.w.Write(p)
		written <- result{n, err}
	}()
	select {
	case r := <-written:
		return r.n, r.err
	case <-l.ctx.Done():
	}
	if l.over == nil {
		over := make(chan struct{})
		time.AfterFunc(drainTime, func() { close(over) })
		l.over = over
	}
	select {
	case r := <-written:
		return r.n, r.err
	case <-l.over:
		return 0, l.ctx.Err()
	}
}

func (o output[T]) slice(items []T) error { return o.list(limited(items, 0)) }

// begin starts a command whose output has one view.
func begin[T any](a *app, cmd *cobra.Command, view func(money.Registry) render.View[T]) (*session, output[T], error) {
	s, err := a.start(cmd)
	if err != nil {
		return nil, output[T]{}, err
	}
	out, err := show(s, view(s.money))
	return s, out, err
}
