//go:build unix

package cli

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/till/internal/tokentest"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/schema"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts below testdata/script run till as a separate process, with a service that listens on a real
// port. They read like a manual: each command has a script of its name. These are their commands, in addition
// to those of testscript:
//
//	service [seed=S] [clock=TIME] [NAME=VALUE...]
//	                                  start a sandbox and set the environment to use it
//	pay INVOICE, expire INVOICE       act as the customer who pays, or does not pay
//	advance WITHDRAWAL STATUS         act as the service
//	redeem INVITE LABEL NAME          make a reseller; $NAME is its id, ${NAME_key} its key
//	fake ...                          start a service with given answers, see service_test.go
//	requests N                        fail unless the fake service got N requests since it started
//	received FILE                     write the requests to the fake service into a file, a line each
//	callback URL FILE STATUS          post a file as the service would; fail unless the answer has the status
//	exits CODE COMMAND...             fail unless the command ends with exactly this exit code
//	creates [typed] CODE [N]          run every create: each ends with the code, prints nothing, and makes N
//	                                  requests (1)
//	reads [typed] CODE                run every read, without retries: each ends with the code and prints
//	                                  nothing; a wait ends after 100 ms.
//	                                  typed omits the reads that accept any JSON or any text as an answer
//	release                           let the fake service send the answers that it holds
//	capture NAME                      set $NAME to the output of the last command
//	field FILE KEY NAME               set $NAME to the text under a key of a file's JSON object
//	spawn NAME COMMAND...             start a command; its output goes to the files NAME.out and NAME.err
//	await FILE [TEXT]                 wait until the file exists and contains the text
//	await-requests N                  wait until the fake service has got N requests
//	signal NAME INT|TERM|HUP|KILL     send a signal to a spawned command
//	ends NAME CODE                    wait for a spawned command; fail unless it ends with the exit code
//	screen CODE [width=N] DIALOGUE COMMAND...
//	                                  run a command on a terminal, see terminal_linux_test.go
//	sql FILE STATEMENT                change an SQLite file
//	lock FILE, unlock                 keep all others from writing to an SQLite file for a while
//	mode FILE MODE                    fail unless the file has the permissions
//	fits SCHEMA FILE                  fail unless each line of the file has the schema
//	token NAME TYPE                   start an SSH agent that has a key on a token, and set the environment to use
//	                                  it; the public key goes to the file NAME.pub
//	untouched NAME                    let the token sign without a touch from now on

func TestMain(m *testing.M) {
	testscript.Main(heeding{m}, map[string]func(){"till": nil}) // which buildTill replaces
}

// heeding runs the tests with the signal handling of a terminal. A background job, or one under nohup,
// ignores some signals. Every program that a test starts and wants to stop would ignore them too.
type heeding struct{ *testing.M }

func (h heeding) Run() int {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	return recording(h.M)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams("testdata/script"))
}

func scriptParams(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv(recordsVariable, os.Getenv(recordsVariable))
			env.Setenv("NO_COLOR", "")
			// The default adds a second to the end of each of hundreds of processes.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			// The tests do not touch the machine's keyring.
			env.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+env.WorkDir+"/no-bus")
			env.Values["world"] = &world{}
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name != "root" { // who can give files away
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"service": startService,
			"pay": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(sandboxOf(ts).PayInvoice(args[0]))
			},
			"expire": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(sandboxOf(ts).ExpireInvoice(args[0]))
			},
			"advance":        advance,
			"redeem":         redeem,
			"fake":           startFake,
			"requests":       checkRequests,
			"received":       writeReceived,
			"release":        func(ts *testscript.TestScript, _ bool, _ []string) { close(fakeOf(ts).held) },
			"callback":       postCallback,
			"exits":          checkExit,
			"creates":        everyCreate,
			"reads":          everyRead,
			"capture":        capture,
			"field":          field,
			"spawn":          spawn,
			"await":          awaitFile,
			"await-requests": awaitRequests,
			"signal":         sendSignal,
			"ends":           checkEnd,
			"screen":         onScreen,
			"sql":            runSQL,
			"lock":           lockFile,
			"unlock":         unlockFile,
			"mode":           checkMode,
			"fits":           checkSchema,
			"token":          startToken,
			"untouched":      func(ts *testscript.TestScript, _ bool, args []string) { worldOf(ts).tokens[args[0]].Untouched() },
		},
	}
}

// world is what a script has started. A script runs its commands one after the other.
type world struct {
	sandbox  *sandbox.Server
	fake     *fake
	children map[string]*child
	lock     *sql.DB
	tokens   map[string]*tokentest.Token
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value("world").(*world) }

func sandboxOf(ts *testscript.TestScript) *sandbox.Server {
	server := worldOf(ts).sandbox
	if server == nil {
		ts.Fatalf("no service is running: start one with `service`")
	}
	return server
}

func startService(ts *testscript.TestScript, _ bool, args []string) {
	var opts []sandbox.Option
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "seed":
			opts = append(opts, sandbox.WithSeed(value))
		case "clock":
			at, err := time.Parse(time.RFC3339, value)
			ts.Check(err)
			opts = append(opts, sandbox.WithClock(func() time.Time { return at }))
		default:
			opts = append(opts, sandbox.WithSetting(name, value))
		}
	}
	server, err := sandbox.New(opts...)
	ts.Check(err)
	worldOf(ts).sandbox = server
	ts.Setenv("TILL_BASE_URL", "http://"+listen(ts, server))
	ts.Setenv("TILL_API_KEY", server.Key())
	ts.Setenv("TILL_PROFILE", "sandbox")
}

// listen serves a handler on a port until the script ends, and returns the address.
func listen(ts *testscript.TestScript, handler http.Handler) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	ts.Defer(func() { server.Close() })
	return listener.Addr().String()
}

func advance(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: advance WITHDRAWAL STATUS")
	}
	ts.Check(sandboxOf(ts).AdvanceWithdrawal(args[0], args[1]))
}

func redeem(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: redeem INVITE LABEL NAME")
	}
	id, key, err := sandboxOf(ts).RedeemInvite(args[0], args[1])
	ts.Check(err)
	ts.Setenv(args[2], id)
	ts.Setenv(args[2]+"_key", key)
}

func checkExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	if code := exitCodeOf(ts, ts.Exec(args[1], args[2:]...)); fmt.Sprint(code) != args[0] {
		ts.Fatalf("it ended with %d, not %s", code, args[0])
	}
}

// exitCodeOf returns the exit code of a command. It is 128 plus the signal if a signal ended it, as in a
// shell.
func exitCodeOf(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("%v", err)
	}
	if exit.ExitCode() < 0 {
		return 128 + signalOf(exit)
	}
	return exit.ExitCode()
}

func capture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: capture NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func field(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: field FILE KEY NAME")
	}
	var object map[string]string
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &object))
	if object[args[1]] == "" {
		ts.Fatalf("there is no %q in %s", args[1], args[0])
	}
	ts.Setenv(args[2], object[args[1]])
}

func checkMode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mode FILE MODE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has the mode %s, not %s", args[0], got, args[1])
	}
}

func checkSchema(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: fits SCHEMA FILE")
	}
	c, lines := newSchemaCheck(), 0
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		ts.Check(c.value(args[0], schema.Of(args[0]), []byte(line)))
		lines++
	}
	if lines == 0 {
		ts.Fatalf("%s has no line", args[1])
	}
}

func startToken(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: token NAME TYPE")
	}
	token, err := tokentest.New(args[1])
	ts.Check(err)
	dir, err := os.MkdirTemp("", "agent") // the name of a socket must be short
	ts.Check(err)
	ts.Defer(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", dir+"/socket")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	go token.Serve(listener)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pub"), []byte(token.Line()), 0o644))
	ts.Setenv("SSH_AUTH_SOCK", listener.Addr().String())
	w := worldOf(ts)
	if w.tokens == nil {
		w.tokens = map[string]*tokentest.Token{}
	}
	w.tokens[args[0]] = token
}

// everyCreate runs the commands that create something. None of them may send its create twice, whatever the
// service does.
func everyCreate(ts *testscript.TestScript, _ bool, args []string) {
	typed := len(args) > 0 && args[0] == "typed"
	if typed {
		args = args[1:]
	}
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: creates [typed] CODE [N]")
	}
	requests := int64(1)
	if len(args) == 2 {
		n, err := strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
		requests = n
	}
	for _, command := range [][]string{
		{"withdraw", "create", "--currency", "Btc", "--amount-minor", "5", "--address", "bc1qexample",
			"--order-id", "4711", "--yes"},
		{"invoice", "create", "--title", "Order 1001", "--currency", "Usd", "--item", "Coffee=2.50"},
		{"invite", "create", "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
		{"api", "POST", "/api/invoice", "--yes"},
	} {
		if typed && command[0] == "api" {
			continue
		}
		before := requestsOf(ts)
		code := exitCodeOf(ts, ts.Exec("till", command...))
		if fmt.Sprint(code) != args[0] {
			ts.Fatalf("till %s ended with %d, not %s", strings.Join(command, " "), code, args[0])
		}
		if got := requestsOf(ts) - before; got != requests {
			ts.Fatalf("till %s made %d requests, not %d", strings.Join(command, " "), got, requests)
		}
		if text := ts.ReadFile("stdout"); text != "" {
			ts.Fatalf("till %s printed %q", strings.Join(command, " "), text)
		}
	}
}

// everyRead runs the commands that only read. It leaves out a report with the ids of resellers. Such a report
// is a batch, with its own exit code and output even if all reads fail.
func everyRead(ts *testscript.TestScript, _ bool, args []string) {
	typed := len(args) > 0 && args[0] == "typed"
	if typed {
		args = args[1:]
	}
	if len(args) != 1 {
		ts.Fatalf("usage: reads [typed] CODE")
	}
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	for _, command := range [][]string{
		{"withdraw", "get", id}, {"withdraw", "list"}, {"withdraw", "wait", id, "--status", "New", "--timeout", "100ms"},
		{"invoice", "get", id}, {"invoice", "wait", id, "--status", "Paid", "--timeout", "100ms"},
		{"invite", "list"}, {"invite", "get", id},
		{"reseller", "list"}, {"reseller", "ids"}, {"reseller", "info", id}, {"reseller", "info", "North shop"},
		{"reseller", "invite", id},
		{"reseller", "stats", id}, {"reseller", "stats"},
		{"reseller", "report"}, {"reseller", "report", "North shop"},
		{"reseller", "balance", id}, {"reseller", "balance", id, "--currency", "Btc"}, {"reseller", "balance"},
		{"reseller", "rebate", id}, {"reseller", "rebate", id, "--currency", "Usd"}, {"reseller", "rebate"},
		{"reseller", "withdraw", "list", id}, {"reseller", "withdraw", "get", id, id},
		{"reseller", "invoice", "list", id}, {"reseller", "invoice", "get", id, id},
		{"reseller", "invoice", "finished", id, id},
	} {
		if typed && (command[1] == "balance" || strings.HasPrefix(strings.Join(command, " "), "reseller invoice list")) {
			continue
		}
		code := exitCodeOf(ts, ts.Exec("till", append(command, "--retries", "0")...))
		if fmt.Sprint(code) != args[0] {
			ts.Fatalf("till %s ended with %d, not %s", strings.Join(command, " "), code, args[0])
		}
		if text := ts.ReadFile("stdout"); text != "" {
			ts.Fatalf("till %s printed %q", strings.Join(command, " "), text)
		}
		text := ts.ReadFile("stderr")
		if command[1] == "wait" { // it first says that it tries again
			text = text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		}
		if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "till: ") {
			ts.Fatalf("till %s did not end with one line of error: %q", strings.Join(command, " "), text)
		}
	}
}
