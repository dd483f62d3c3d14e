package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func CallbackCommand(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("callback", "Receive the callbacks of withdrawals", listenCommand(a))
}

type callbackFlags struct {
	listen, exec, ready string
	secretPath, withKey bool
	count, respond      int
	timeout             time.Duration
}

func listenCommand(a *cmdutil.App) *cobra.Command {
	var flags callbackFlags
	cmd := &cobra.Command{
		Use:   "listen [--listen ADDR] [--secret-path] [--exec CMD] [--count N]",
		Short: "Print what is posted to an address, one JSON line each",
		RunE: a.WithSession(func(s *cmdutil.Session, _ []string) error {
			return listenForCallbacks(s, flags)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 is any that is free")
	f.BoolVar(&flags.secretPath, "secret-path", false, "answer one random path alone, which is part of the address")
	f.StringVar(&flags.exec, "exec", "", "command that sh runs for each body, with the body on its standard input")
	f.BoolVar(&flags.withKey, "with-key", false, "give TILL_API_KEY to the command of --exec")
	f.IntVar(&flags.count, "count", 0, "end after so many bodies")
	f.DurationVar(&flags.timeout, "timeout", 0, "end after this time, with 42 when fewer than --count came")
	f.IntVar(&flags.respond, "respond", http.StatusOK, "HTTP status of the answers")
	f.StringVar(&flags.ready, "ready-file", "", `file written when the listener is ready, as {"url":"..."}`)
	cmdline.OfferFiles(cmd, "ready-file")
	return cmdutil.Prints[json.RawMessage](a, cmdutil.One, cmd)
}

func (f callbackFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case given("count") && f.count < 1:
		return exit.UsageError("--count: it must be at least 1", "leave it out to listen without an end")
	case given("timeout") && f.timeout <= 0:
		return exit.UsageError("--timeout: it must be longer than 0", "leave it out to listen without an end")
	case given("exec") && strings.TrimSpace(f.exec) == "":
		return exit.UsageError("--exec: the command is empty", cmdline.UnsetHint)
	case f.withKey && f.exec == "":
		return exit.UsageError("--with-key is about the command of --exec", "leave it out, or add --exec CMD")
	case f.respond < 200 || f.respond > 599:
		return exit.UsageError(fmt.Sprintf("--respond: %d is not an HTTP status from 200 to 599", f.respond),
			"leave it out for 200")
	}
	return nil
}

func listenForCallbacks(s *cmdutil.Session, flags callbackFlags) error {
	if err := flags.check(s.Cmd); err != nil {
		return err
	}
	options, err := s.LineOptions()
	if err != nil {
		return err
	}
	listener, err := listenOn(flags.listen)
	if err != nil {
		return err
	}
	ready := newReadyFile("ready-file", flags.ready)
	if err := ready.prepare(); err != nil {
		return errors.Join(err, listener.Close())
	}
	in := &inbox{flags: flags, out: s.IO.Out, options: options, note: s.Note, run: s.Shell}
	if flags.secretPath {
		in.path = "/" + rand.Text()
	}
	stop := in.serve(listener)
	url := reachableURL(listener.Addr()) + in.path
	if err := ready.publish(render.Encode(map[string]string{"url": url})); err != nil {
		return errors.Join(err, stop())
	}
	s.Note("listening on %s", url)
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		advice := ""
		if !flags.secretPath {
			advice = "; with --secret-path, only who knows the path can post"
		}
		s.Warnf("other machines may reach this address, and nothing checks who posts%s", advice)
	}
	if flags.timeout > 0 {
		defer time.AfterFunc(flags.timeout, in.finish).Stop()
	}
	defer context.AfterFunc(s.Ctx, in.finish)()
	<-in.open.Done()
	err = stop()
	if e := ready.retract(); e != nil {
		s.Note("%s", e)
	}
	if err != nil {
		return err
	}
	return in.outcome(s.Ctx)
}

const (
	maxCallbacks  = 512             // at a time, each of which may be slow and large
	callbackGrace = 5 * time.Second // for a command that still runs when the listener ends
)

// inbox takes callbacks, one at a time.
type inbox struct {
	flags   callbackFlags
	path    string // the only path that is answered; empty: all paths are
	out     io.Writer
	options render.Options
	note    func(format string, args ...any) error
	run     func(ctx context.Context, command string, input []byte, withKey bool) error

	commands context.Context // for the commands; its end kills them
	taken    atomic.Int64    // callbacks that are received or handled
	open     context.Context // done when the listener takes no more, after finish
	finish   context.CancelFunc

	turn   sync.Mutex // held while a body is taken and handled
	came   int
	failed int   // callbacks on which a command or a filter failed
	broken error // the error of standard output
}

// serve starts the server. The function that it returns stops the server after the answers in progress.
func (in *inbox) serve(listener net.Listener) (stop func() error) {
	var kill context.CancelFunc
	in.commands, kill = context.WithCancel(context.Background())
	in.open, in.finish = context.WithCancel(context.Background())
	server := &http.Server{
		Handler:           in,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	failed := make(chan error, 1)
	go func() {
		failed <- server.Serve(listener)
		in.finish()
	}()
	return func() error {
		in.finish()
		grace, cancel := context.WithTimeout(context.Background(), callbackGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			kill()
			server.Close()
		}
		in.turn.Lock() // wait until a killed command has ended
		defer in.turn.Unlock()
		kill()
		if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("the listener failed: %w", err)
		}
		return nil
	}
}

// outcome returns the error that the listener ends with. The context tells whether a signal ended it.
func (in *inbox) outcome(signals context.Context) error {
	in.turn.Lock()
	defer in.turn.Unlock()
	switch fewer := in.came < in.flags.count; {
	case in.broken != nil:
		return &exit.Error{Code: exit.Output, Err: in.broken,
			Msg:  fmt.Sprintf("a callback was answered with 500, because %v", in.broken),
			Hint: payout.NewHint("look at where standard output leads")}
	case fewer && signals.Err() != nil:
		return &exit.Error{Code: exit.Interrupted,
			Msg: fmt.Sprintf("interrupted after %d of %d callbacks", in.came, in.flags.count)}
	case fewer:
		return &exit.Error{Code: exit.NotYet,
			Msg:  fmt.Sprintf("%d of %d callbacks came within %s", in.came, in.flags.count, in.flags.timeout),
			Hint: payout.NewHint("listen again, or longer with --timeout")}
	case in.failed > 0:
		return &exit.Error{Code: exit.Partial,
			Msg:  fmt.Sprintf("%d of %d callbacks were answered with 500", in.failed, in.came),
			Hint: payout.NewHint("the lines above say why")}
	}
	return nil
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case in.path != "" && subtle.ConstantTimeCompare([]byte(r.URL.Path), []byte(in.path)) == 0:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "callbacks are posted", http.StatusMethodNotAllowed)
		return
	case r.Header.Get("Origin") != "": // a web page in a browser; no service sends one
		http.Error(w, "callbacks do not come from web pages", http.StatusForbidden)
		return
	}
	defer in.taken.Add(-1)
	if in.taken.Add(1) > maxCallbacks {
		http.Error(w, "too many callbacks are being received: post it again later", http.StatusServiceUnavailable)
		return
	}
	// a body is read to its end, unless the listener ends first
	stop := context.AfterFunc(in.open, func() { http.NewResponseController(w).SetReadDeadline(time.Now()) })
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxCallback))
	stop()
	if err != nil {
		status := http.StatusBadRequest
		if in.open.Err() != nil {
			http.Error(w, "the listener ends", http.StatusServiceUnavailable)
			return
		} else if _, long := errors.AsType[*http.MaxBytesError](err); long {
			status = http.StatusRequestEntityTooLarge
		}
		in.note("a callback from %s was not taken: %v", r.RemoteAddr, err)
		http.Error(w, err.Error(), status)
		return
	}
	w.WriteHeader(in.take(body))
}

// take prints one body, runs the command on it, and returns the status to answer with.
func (in *inbox) take(body []byte) int {
	in.turn.Lock()
	defer in.turn.Unlock()
	if in.open.Err() != nil {
		return http.StatusServiceUnavailable
	}
	in.came++
	err := in.print(body)
	if err == nil && in.flags.exec != "" {
		if err = in.run(in.commands, in.flags.exec, body, in.flags.withKey); err != nil {
			err = fmt.Errorf("the command of --exec failed on callback %d: %w", in.came, err)
		}
	}
	if in.broken != nil || in.came == in.flags.count {
		in.finish()
	}
	if err != nil {
		in.failed++
		if in.broken == nil { // outcome reports in.broken
			in.note("%v", err)
		}
		return http.StatusInternalServerError
	}
	return in.flags.respond
}

// print writes a line with one call. If a filter fails, only this body fails; if the output fails, the
// listener ends.
func (in *inbox) print(body []byte) error {
	var line bytes.Buffer
	if err := cmdutil.LineView().One(&line, in.options, jsonLine(body)); err != nil {
		return err
	}
	if _, err := in.out.Write(line.Bytes()); err != nil {
		in.broken = &render.WriteError{Err: err}
		return in.broken
	}
	return nil
}

// jsonLine returns a body as JSON on one line: the body itself, or a string if it is not JSON.
func jsonLine(body []byte) []byte {
	var line bytes.Buffer
	if utf8.Valid(body) && json.Compact(&line, body) == nil {
		return line.Bytes()
	}
	return render.Encode(string(body))
}

func listenOn(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, exit.UsageError(fmt.Sprintf("--listen: %q is not an address with a port", address),
			"write one such as 127.0.0.1:8787; port 0 is any that is free")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // the message says the rest
	}
	if err != nil {
		return nil, &exit.Error{Code: exit.Config, Err: err,
			Msg:  fmt.Sprintf("--listen: cannot listen on %s: %v", address, err),
			Hint: payout.NewHint("choose another port, or 0 for any that is free")}
	}
	return listener, nil
}

// reachableURL returns the URL at which a program on this machine reaches a listener.
func reachableURL(listener net.Addr) string {
	at, err := netip.ParseAddrPort(listener.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return "http://" + listener.String()
	}
	return fmt.Sprintf("http://127.0.0.1:%d", at.Port())
}
