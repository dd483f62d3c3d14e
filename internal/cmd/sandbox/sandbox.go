// Package sandbox has the commands of the sandbox, and callback listen.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/near"
	"example.com/till/internal/render"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

func Command(a *cmdutil.App) *cobra.Command {
	return cmdline.Group("sandbox", "Run the service on this machine, without real money",
		runCommand(a), serveCommand(a), settingsCommand(a),
		fundCommand(a),
		endsInvoice(a, "pay INVOICE", "Pay an invoice of the sandbox, as a customer would", "/sandbox/pay"),
		endsInvoice(a, "expire INVOICE", "Let an invoice of the sandbox expire unpaid", "/sandbox/expire"),
		advanceCommand(a), callbacksCommand(a),
		cmdline.Group("invite", "Act as the invited reseller", inviteRedeemCommand(a)),
		cmdline.Group("clock", "Look at the sandbox's clock, or move it",
			clockCommand(a, "show", "Show the sandbox's time", nil),
			clockCommand(a, "set TIME", "Set the sandbox's clock", setClock),
			clockCommand(a, "advance DURATION", "Advance the sandbox's clock", advanceClock)),
		cmdline.Group("fault", "Make calls to the sandbox fail on purpose", faultAddCommand(a), faultListCommand(a),
			faultClearCommand(a)),
		requestsCommand(a), resetCommand(a), seedCommand(a), dumpCommand(a))
}

// stateInMemory is the value of --state for a sandbox that saves nothing.
const stateInMemory = "memory"

type serverFlags struct {
	listen, seed   string
	clock, ids     string
	state          string // a file, or "memory"
	set            []string
	readyFile, env string
	publicURL      string
	expose         bool
}

func addServerFlags(cmd *cobra.Command, flags *serverFlags) {
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "loopback address to listen on; port 0 is any that is free")
	f.StringVar(&flags.seed, "seed", "",
		"demo, none, or a file as for till sandbox seed\n(default: funds in every currency)")
	f.StringVar(&flags.state, "state", stateInMemory, "file of the state, or memory")
	f.StringArrayVar(&flags.set, "set", nil, "setting as NAME=VALUE: till sandbox settings")
	f.StringVar(&flags.clock, "clock", "", "time in RFC 3339 at which the clock stands still")
	f.StringVar(&flags.ids, "ids", randomIDs, "random, or seeded: always the same")
	f.StringVar(&flags.readyFile, "ready-file", "", `file written when it is ready, as JSON`)
	f.StringVar(&flags.env, "env-file", "", "the same, with lines for a shell")
	f.StringVar(&flags.publicURL, "public-url", "", "address of a proxy that strips its own path")
	cmdline.OfferFiles(cmd, "state", "ready-file", "env-file")
	cmdline.Offer(cmd, "seed", seedNames)
	cmdline.Offer(cmd, "set", completeSettings)
	cmdline.OfferWords(cmd, "ids", randomIDs, seededIDs)
}

type sandboxAddress struct {
	BaseURL string `json:"base_url" column:"own: address of the sandbox"`
	APIKey  string `json:"api_key" column:"own: API key of the sandbox"`
	journal string // a file for the orders sent to it, removed when the sandbox ends
}

func (s sandboxAddress) environment() []string {
	return []string{"TILL_BASE_URL=" + s.BaseURL, "TILL_API_KEY=" + s.APIKey, "TILL_PROFILE=" + config.Sandbox,
		"TILL_JOURNAL=" + s.journal}
}

// envFile returns the environment in shell syntax. It does not quote values without special characters,
// because other programs that read such files do not remove quotes.
func (s sandboxAddress) envFile() []byte {
	var b strings.Builder
	for _, entry := range s.environment() {
		name, value, _ := strings.Cut(entry, "=")
		b.WriteString(name + "=" + quoteForShell(value) + "\n")
	}
	return []byte(b.String())
}

func quoteForShell(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:[]"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// withSandbox runs work with a sandbox, and removes the sandbox again: when it returns, its port and its
// files are gone. The channel broke yields an error if the sandbox ends before the work.
func withSandbox(
	s *cmdutil.Session, flags serverFlags, work func(at sandboxAddress, broke <-chan error) error,
) error {
	server, err := newSandbox(s, flags)
	if err != nil {
		return err
	}
	if err := flags.checkListen(); err != nil {
		return err
	}
	journal, remove, err := emptyJournal(s.Ctx)
	defer remove()
	if err != nil {
		return &config.Error{Msg: fmt.Sprintf("there is no place for a journal of the sandbox: %v", err), Err: err,
			Advice: "name a directory in TMPDIR that exists and can be written"}
	}
	listener, err := listenOn(flags.listen)
	if err != nil {
		return err
	}
	ready, env, err := flags.readyFiles() // only now: a server that cannot listen takes none away
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	broke, stop := serveOn(s, server, listener)
	defer func() {
		stop()
		for _, file := range []*readyFile{env, ready} {
			if err := file.retract(); err != nil {
				s.Note("%v", err)
			}
		}
	}()
	at := sandboxAddress{reachableURL(listener.Addr()), server.Key(), journal}
	if flags.expose { // whoever waits for a file finds the warning
		host, _, _ := net.SplitHostPort(flags.listen)
		port := at.BaseURL[strings.LastIndexByte(at.BaseURL, ':')+1:] // --listen may leave it open
		s.Warnf("whoever reaches %s and has the key of this sandbox can use it", net.JoinHostPort(host, port))
	}
	if err := env.publish(at.envFile()); err != nil {
		return err
	}
	if err := ready.publish(append(render.Encode(at), '\n')); err != nil {
		return err
	}
	return work(at, broke)
}

// serveOn serves a sandbox until stop is called. The channel yields an error if it ends before.
func serveOn(s *cmdutil.Session, server *sandbox.Server, listener net.Listener) (broke <-chan error, stop func()) {
	debug.SetMemoryLimit(math.MaxInt64) // the state is in memory, and may be as large as the tests need
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Ctx))
	ended := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		switch err := server.Serve(ctx, listener); {
		case err != nil && ctx.Err() == nil:
			ended <- err
		case err != nil: // an error after the request to end
			s.Note("%v", err)
		}
	})
	return ended, func() {
		cancel()
		serving.Wait()
		server.Close() // an error loses nothing: whatever was answered is in the file
	}
}

func (flags serverFlags) readyFiles() (ready, env *readyFile, err error) {
	ready, env = newReadyFile("ready-file", flags.readyFile), newReadyFile("env-file", flags.env)
	if ready.Path != "" && ready.Path == env.Path {
		return nil, nil, exit.UsageError("--ready-file and --env-file name the same file", "name two")
	}
	if err := ready.prepare(); err != nil {
		return nil, nil, err
	}
	return ready, env, env.prepare()
}

// emptyJournal makes a journal in a directory of its own: a command that only reads one does not make it, and one
// that makes it notes that.
func emptyJournal(ctx context.Context) (file string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "till-sandbox-")
	remove = func() { os.RemoveAll(dir) }
	if err != nil {
		return "", remove, err
	}
	file = filepath.Join(dir, "journal.db")
	journal, err := payout.OpenJournal(ctx, file)
	if err != nil {
		return "", remove, err
	}
	return file, remove, journal.Close()
}

func newSandbox(s *cmdutil.Session, flags serverFlags) (*sandbox.Server, error) {
	var opts []sandbox.Option
	for _, part := range []func(*cmdutil.Session) ([]sandbox.Option, error){flags.repeatable, flags.options, keyOptions} {
		more, err := part(s)
		if err != nil {
			return nil, err
		}
		opts = append(opts, more...)
	}
	server, err := sandbox.New(opts...)
	if bad, ok := errors.AsType[*sandbox.StateError](err); ok {
		return nil, bad
	}
	msg := strings.TrimPrefix(fmt.Sprint(err), "sandbox: ")
	switch {
	case err == nil:
		return server, nil
	case len(flags.set) > 0 && (flags.seed == "" || isSeed(flags.seed)):
		return nil, exit.UsageError(msg, "see", "sandbox", "settings")
	}
	return nil, exit.UsageError(msg, "")
}

// options refuses a file of --state in a directory that does not exist, and notes a seed that has no effect.
func (flags serverFlags) options(s *cmdutil.Session) ([]sandbox.Option, error) {
	opts := []sandbox.Option{sandbox.WithPublicURL(flags.publicURL)}
	if flags.expose { // what receives a callback is in another container, too
		opts = append(opts, sandbox.WithExposure(), sandbox.WithSetting("callback_targets", "any"))
	}
	switch {
	case isSeed(flags.seed):
		opts = append(opts, sandbox.WithSeed(flags.seed))
	case flags.seed == "-":
		return nil, exit.UsageError("--seed: a sandbox that is started does not read standard input", seedHint)
	case flags.seed != "":
		seed, err := readSeed(s, flags.seed)
		if err != nil {
			return nil, err
		}
		opts = append(opts, sandbox.WithSeedJSON(seed))
	}
	values, err := parseSettings("--set: ", flags.set)
	for name, value := range values {
		opts = append(opts, sandbox.WithSetting(name, value))
	}
	if err != nil || flags.state == stateInMemory {
		return opts, err
	}
	if info, err := os.Stat(flags.state); err == nil && info.Size() > 0 && flags.seed != "" {
		s.Note("%s already has a state, which --seed does not change: move the file away to begin with the seed", flags.state)
	}
	if dir, err := os.Stat(filepath.Dir(flags.state)); err != nil || !dir.IsDir() {
		return nil, exit.UsageError(fmt.Sprintf("--state: there is no directory %s", filepath.Dir(flags.state)),
			"correct the name, or make the directory if the state is to be new")
	}
	return append(opts, sandbox.WithState(flags.state)), nil
}

// The values of --ids.
const (
	randomIDs = "random"
	seededIDs = "seeded"
)

// repeatable returns the options of --clock and --ids, with which every run is the same.
func (flags serverFlags) repeatable(s *cmdutil.Session) (opts []sandbox.Option, err error) {
	if s.Cmd.Flags().Changed("clock") {
		at, err := time.Parse(time.RFC3339, flags.clock)
		if err != nil || at.IsZero() {
			return nil, exit.UsageError(fmt.Sprintf("--clock: %q is not a time in RFC 3339", flags.clock),
				"write it like 2026-05-03T10:00:00Z")
		}
		opts = append(opts, sandbox.WithFrozenClock(at))
	}
	switch {
	case flags.ids != randomIDs && flags.ids != seededIDs:
		return nil, exit.UsageError(fmt.Sprintf("--ids: there are no ids %q", flags.ids),
			cmp.Or(near.Question(flags.ids, "", []string{randomIDs, seededIDs}), "use random or seeded"))
	case flags.ids == seededIDs && flags.state != stateInMemory:
		return nil, exit.UsageError("--ids: seeded ids would come again in a state that --state keeps in a file",
			"leave one out")
	case flags.ids == seededIDs:
		opts = append(opts, sandbox.WithSeededIDs())
	}
	return opts, nil
}

// keyOptions returns the key that a flag or the environment gives; without one the sandbox makes its own. The
// key of a profile is a real one, and no sandbox ever sees it.
func keyOptions(s *cmdutil.Session) ([]sandbox.Option, error) {
	settings := s.Settings
	settings.BaseURL, settings.Sandbox = "", false // they do not decide where the key goes
	switch s.Keys.Source(settings).Kind {
	case config.FromFlag, config.FromVariable:
	default:
		return nil, nil
	}
	key, source, err := s.Keys.Key(s.Ctx, settings)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(key, sandbox.KeyPrefix) || key == sandbox.KeyPrefix {
		return nil, exit.UsageError(fmt.Sprintf("the key (%s) is not a sandbox key, and a real key does not belong there", source), "leave it out, or give one that begins with "+sandbox.KeyPrefix)
	}
	return []sandbox.Option{sandbox.WithKey(key)}, nil
}

// checkListen refuses addresses that another machine can reach, unless --expose allows it. It refuses names too,
// because their addresses are decided elsewhere.
func (flags serverFlags) checkListen() error {
	host, _, err := net.SplitHostPort(flags.listen)
	if err != nil {
		return nil // listenOn reports the error
	}
	ip, err := netip.ParseAddr(host)
	if err == nil && (flags.expose || ip.IsLoopback()) && ip.Zone() == "" && !ip.Is4In6() {
		return nil
	}
	if flags.expose {
		return exit.UsageError(fmt.Sprintf("--listen: %q is no address of a network", flags.listen), "write 0.0.0.0:PORT for all of them")
	}
	return exit.UsageError(fmt.Sprintf("--listen: %s is not a loopback address, and a sandbox is for this machine only", flags.listen),
		"write 127.0.0.1:PORT or [::1]:PORT; in a container, till sandbox serve takes --expose")
}
