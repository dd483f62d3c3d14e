//go:build unix

package cli

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/till/e2e/tokentest"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/schema"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts below testdata/script run till as a separate process, with a service that listens on a real
// port. They read like a manual: each command has a script of its name. scriptCommands has their commands, in
// addition to those of testscript.

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
		Cmds: scriptCommands(),
	}
}

type scriptCommand = func(ts *testscript.TestScript, args []string)

// scriptCommands returns the commands of scripts. In a usage, [X] may be left out, and X... repeats.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for usage, run := range map[string]scriptCommand{
		// Start a sandbox and set the environment to use it. The words are seed=S, clock=TIME and NAME=VALUE.
		"service [WORD]...": startService,
		// Act as the customer who pays, or does not pay, as the service, and as one who becomes a reseller: $NAME is
		// then its id, and ${NAME_key} its key.
		"pay INVOICE": func(ts *testscript.TestScript, args []string) {
			ts.Check(sandboxOf(ts).PayInvoice(args[0]))
		},
		"expire INVOICE": func(ts *testscript.TestScript, args []string) {
			ts.Check(sandboxOf(ts).ExpireInvoice(args[0]))
		},
		"advance WITHDRAWAL STATUS": advance,
		"redeem INVITE LABEL NAME":  redeem,
		// Start a service with given answers, see service_test.go; look at its requests; send the answers that it holds.
		"fake WORD...":     startFake,
		"requests N":       checkRequests, // that it got since it started
		"await-requests N": awaitRequests,
		"received FILE":    writeReceived, // a line for each request
		"release":          func(ts *testscript.TestScript, _ []string) { close(fakeOf(ts).held) },

		"callback URL FILE STATUS": postCallback, // posts a file as the service would
		"exits CODE COMMAND...":    checkExit,    // fails unless the command ends with exactly this exit code
		// Run every create or every read: each ends with the code and prints nothing. A create makes N requests (1). Reads
		// have no retries, and a wait ends after 100 ms. typed omits those that accept any JSON or text as an answer.
		"creates CODE [N] [typed]": everyCreate,
		"reads CODE [typed]":       everyRead,
		"capture NAME":             capture, // sets $NAME to the output of the last command
		"field FILE KEY NAME":      field,   // sets $NAME to the text under a key of a file's JSON object
		// Start a command, whose output goes to the files NAME.out and NAME.err, send it a signal, and wait for its end.
		"spawn NAME COMMAND...": spawn,
		"signal NAME SIGNAL":    sendSignal,
		"ends NAME CODE":        checkEnd,
		"await FILE [TEXT]":     awaitFile, // waits until the file exists and contains the text
		// Run a command on a terminal, which may begin with width=N before its dialogue; see terminal_linux_test.go.
		"screen CODE DIALOGUE COMMAND...": onScreen,
		"sql FILE STATEMENT":              runSQL,   // changes an SQLite file
		"lock FILE":                       lockFile, // keeps all others from writing to an SQLite file for a while
		"unlock":                          unlockFile,
		"mode FILE MODE":                  checkMode,   // fails unless the file has the permissions
		"fits SCHEMA FILE":                checkSchema, // fails unless each line of the file has the schema
		// Start an SSH agent that has a key on a token, and set the environment to use it; the public key goes to the
		// file NAME.pub. After untouched, the token signs without a touch.
		"token NAME TYPE": startToken,
		"untouched NAME":  func(ts *testscript.TestScript, args []string) { worldOf(ts).tokens[args[0]].Untouched() },
	} {
		name, words, _ := strings.Cut(usage, " ")
		least, most := 0, len(strings.Fields(words))
		for _, word := range strings.Fields(words) {
			if !strings.HasPrefix(word, "[") {
				least++
			}
			if strings.HasSuffix(word, "...") {
				most = math.MaxInt
			}
		}
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < least || len(args) > most {
				ts.Fatalf("usage: %s", usage)
			}
			run(ts, args)
		}
	}
	return all
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

func startService(ts *testscript.TestScript, args []string) {
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

func advance(ts *testscript.TestScript, args []string) {
	ts.Check(sandboxOf(ts).AdvanceWithdrawal(args[0], args[1]))
}

func redeem(ts *testscript.TestScript, args []string) {
	id, key, err := sandboxOf(ts).RedeemInvite(args[0], args[1])
	ts.Check(err)
	ts.Setenv(args[2], id)
	ts.Setenv(args[2]+"_key", key)
}

func checkExit(ts *testscript.TestScript, args []string) {
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

func capture(ts *testscript.TestScript, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func field(ts *testscript.TestScript, args []string) {
	var object map[string]string
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &object))
	if object[args[1]] == "" {
		ts.Fatalf("there is no %q in %s", args[1], args[0])
	}
	ts.Setenv(args[2], object[args[1]])
}

func checkMode(ts *testscript.TestScript, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has the mode %s, not %s", args[0], got, args[1])
	}
}

func checkSchema(ts *testscript.TestScript, args []string) {
	c, lines := newSchemaCheck(), 0
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		ts.Check(c.value(args[0], schema.Of(args[0]), []byte(line)))
		lines++
	}
	if lines == 0 {
		ts.Fatalf("%s has no line", args[1])
	}
}

func startToken(ts *testscript.TestScript, args []string) {
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

// typedOnly takes the word typed from the arguments of a command.
func typedOnly(args []string) (typed bool, rest []string) {
	rest = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "typed" })
	return len(rest) < len(args), rest
}

// endsSilently runs till, and fails unless it ends with the code and without output.
func endsSilently(ts *testscript.TestScript, code string, args []string) {
	got := exitCodeOf(ts, ts.Exec("till", args...))
	if out := ts.ReadFile("stdout"); fmt.Sprint(got) != code || out != "" {
		ts.Fatalf("till %s ended with %d, not %s, and printed %q", strings.Join(args, " "), got, code, out)
	}
}

// everyCreate runs the commands that create something. None of them may send its create twice, whatever the
// service does.
func everyCreate(ts *testscript.TestScript, args []string) {
	typed, args := typedOnly(args)
	requests := int64(1)
	if len(args) == 2 {
		n, err := strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
		requests = n
	}
	for _, command := range []string{
		"withdraw create --currency Btc --amount-minor 5 --address bc1qexample --order-id 4711 --yes",
		"invoice create --title Order --currency Usd --item Coffee=2.50",
		"invite create 7c9e6679-7425-40de-944b-e07fc1f90ae7",
		"api POST /api/invoice --yes",
	} {
		if typed && strings.HasPrefix(command, "api") {
			continue
		}
		before := requestsOf(ts)
		endsSilently(ts, args[0], strings.Fields(command))
		if got := requestsOf(ts) - before; got != requests {
			ts.Fatalf("till %s made %d requests, not %d", command, got, requests)
		}
	}
}

// everyRead runs the commands that only read. It leaves out a report with the ids of resellers. Such a report
// is a batch, with its own exit code and output even if all reads fail.
func everyRead(ts *testscript.TestScript, args []string) {
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	typed, args := typedOnly(args)
	for _, command := range strings.Split(`withdraw get ID; withdraw list; withdraw wait ID --status New --timeout 100ms;
		invoice get ID; invoice wait ID --status Paid --timeout 100ms; invite list; invite get ID;
		reseller list; reseller ids; reseller info ID; reseller info North_shop; reseller invite ID;
		reseller stats ID; reseller stats; reseller report; reseller report North_shop;
		reseller balance ID; reseller balance ID --currency Btc; reseller balance;
		reseller rebate ID; reseller rebate ID --currency Usd; reseller rebate --by invoice; reseller rebate;
		reseller withdraw list ID; reseller withdraw get ID ID;
		reseller invoice list ID; reseller invoice get ID ID; reseller invoice finished ID ID`, ";") {
		words := strings.Fields(strings.ReplaceAll(command, "ID", id))
		if typed && (words[1] == "balance" || strings.Contains(command, "invoice list")) {
			continue
		}
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "_", " ")
		}
		endsSilently(ts, args[0], append(words, "--retries", "0"))
		text := ts.ReadFile("stderr")
		if words[1] == "wait" { // it first says that it tries again
			text = text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		}
		if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "till: ") {
			ts.Fatalf("till %s did not end with one line of error: %q", command, text)
		}
	}
}
