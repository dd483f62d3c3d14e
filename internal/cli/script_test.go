package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts below testdata/script run till as a process of its own, against a sandbox that listens on a real port.
// They read like a manual: one for each command, named by it. Beside testscript's own commands they have
//
//	service [seed=S] [NAME=VALUE...]  start a sandbox and point the environment at it
//	pay INVOICE, expire INVOICE       what a customer does, or does not do
//	advance WITHDRAWAL STATUS         what the service does
//	fake STATUS [BODY-FILE [HEADER]]  start a service that answers everything alike, and point the environment at it
//	fake drop                         one that reads each request and closes the connection
//	fake hang                         one that never answers
//	requests N                        fail unless the fake service got N requests since it started
//	exits CODE COMMAND...             fail unless the command ends with just this exit code

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"till": func() {
		os.Exit(Run(context.Background(), os.Args, IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: time.Now}))
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams("testdata/script"))
}

func scriptParams(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("NO_COLOR", "")
			return os.Mkdir(env.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"service": startService,
			"pay":     func(ts *testscript.TestScript, neg bool, args []string) { ts.Check(current(ts).PayInvoice(args[0])) },
			"expire":  func(ts *testscript.TestScript, neg bool, args []string) { ts.Check(current(ts).ExpireInvoice(args[0])) },
			"advance": func(ts *testscript.TestScript, neg bool, args []string) {
				ts.Check(current(ts).AdvanceWithdrawal(args[0], args[1]))
			},
			"fake":     startFake,
			"requests": checkRequests,
			"exits":    checkExit,
		},
	}
}

// running holds what a script has started last; a script runs its commands one after the other.
var running sync.Map // of *testscript.TestScript to *sandbox.Server

func current(ts *testscript.TestScript) *sandbox.Server {
	server, ok := running.Load(ts)
	if !ok {
		ts.Fatalf("no service is running: start one with `service`")
	}
	return server.(*sandbox.Server)
}

func startService(ts *testscript.TestScript, _ bool, args []string) {
	var opts []sandbox.Option
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if name == "seed" {
			opts = append(opts, sandbox.WithSeed(value))
			continue
		}
		opts = append(opts, sandbox.WithSetting(name, value))
	}
	server, err := sandbox.New(opts...)
	ts.Check(err)
	running.Store(ts, server)
	listen(ts, server)
	ts.Setenv("TILL_API_KEY", server.Key())
	ts.Setenv("TILL_PROFILE", "sandbox")
}

// listen serves a handler on a port until the script ends.
func listen(ts *testscript.TestScript, handler http.Handler) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	ts.Defer(func() { server.Close() })
	ts.Setenv("TILL_BASE_URL", "http://"+listener.Addr().String())
}

var counters sync.Map // of *testscript.TestScript to *atomic.Int64

func startFake(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: fake STATUS [BODY-FILE [HEADER]] | drop | hang")
	}
	count := new(atomic.Int64)
	counters.Store(ts, count)
	ended := make(chan struct{})
	ts.Defer(func() { close(ended) })
	var answer http.HandlerFunc
	switch args[0] {
	case "drop":
		answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	case "hang":
		answer = func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		}
	default:
		status, err := strconv.Atoi(args[0])
		ts.Check(err)
		body := ""
		if len(args) > 1 {
			body = ts.ReadFile(args[1])
		}
		answer = func(w http.ResponseWriter, _ *http.Request) {
			if len(args) > 2 {
				name, value, _ := strings.Cut(args[2], ":")
				w.Header().Set(name, strings.TrimSpace(value))
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	listen(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	ts.Setenv("TILL_API_KEY", "key-of-a-fake-service")
	ts.Setenv("TILL_PROFILE", "")
}

func checkRequests(ts *testscript.TestScript, _ bool, args []string) {
	count, ok := counters.Load(ts)
	if !ok || len(args) != 1 {
		ts.Fatalf("usage: requests N, after fake")
	}
	if got := strconv.FormatInt(count.(*atomic.Int64).Load(), 10); got != args[0] {
		ts.Fatalf("the service got %s requests, not %s", got, args[0])
	}
}

func checkExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("it ended with %d, not %s", code, args[0])
	}
}
