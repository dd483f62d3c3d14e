//go:build unix

// Package misbehave tests the program from outside, against a service that drops order ids, hides, repeats or
// spoils records, keeps nothing, or has a wrong clock. Nothing may be paid twice, and the commands that the
// messages name, carried out as they are, must lead to a paid order in the end.
package misbehave

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var program string // the path of till

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8") // they wait for processes
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "till-misbehave-*")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "till")
		cmd := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/till")
		cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// world is a merchant of a service, on a machine with a journal.
type world struct {
	*service
	dir      string
	settings string // of the profile, lines of YAML
	key      string
	ran      []*result // the oldest first
}

// begin returns a merchant of a new service who has paid nothing yet. The test runs in parallel with others.
func begin(t *testing.T, is faults) *world {
	t.Parallel()
	w := &world{service: newService(t, is), key: "key-of-a-merchant"}
	w.setUp()
	t.Cleanup(w.check)
	return w
}

// elsewhere returns the same merchant on another machine, with a journal of its own.
func (w *world) elsewhere() *world {
	other := &world{service: w.service, settings: w.settings, key: w.key}
	other.setUp()
	return other
}

func (w *world) setUp() {
	w.dir = w.t.TempDir()
	w.configure(w.settings)
}

// configure writes the profile. Nothing waits for a withdrawal that may arrive late, unless a test says so.
func (w *world) configure(settings string) {
	w.settings = settings
	if !strings.Contains(settings, "settle_after") {
		settings += "settle_after: 0s\n"
	}
	profile := "base_url: " + w.URL + "\naccount: shop\n" + settings
	w.write("config/till/config.yaml",
		"current: w\nprofiles:\n  w:\n    "+strings.ReplaceAll(strings.TrimSpace(profile), "\n", "\n    ")+
			"\n    currencies: [{code: Btc, kind: crypto, decimals: 8}]\n")
}

func (w *world) write(name, text string) (path string) {
	path = filepath.Join(w.dir, name)
	w.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	return path
}

func (w *world) journal() string { return filepath.Join(w.dir, "state", "till", "journal.db") }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// failure is what a command says about its error under -o json.
type failure struct {
	Rule, Message, ID, Run string
	Hint                   struct{ Text string }
	OrderID                string `json:"order_id"`
}

type result struct {
	args           []string
	exit           int
	stdout, stderr string
	notes          string
	failure        failure
}

func (r *result) String() string {
	return fmt.Sprintf("till %s: exit %d\n%s%s", strings.Join(r.args, " "), r.exit, r.stdout, r.stderr)
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "XDG_CONFIG_HOME=" + filepath.Join(w.dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(w.dir, "state"),
		"TILL_API_KEY=" + w.key, "TILL_RETRIES=0", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// till runs the program to its end.
func (w *world) till(args ...string) *result {
	r := &result{args: args}
	w.ran = append(w.ran, r)
	if !slices.Contains(args, "-o") {
		args = append(slices.Clone(args), "-o", "json")
	}
	var stdout, stderr bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatal(err)
	}
	r.exit, r.stdout, r.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	for line := range strings.Lines(r.stderr) {
		var said struct {
			Error *failure
			Note  struct{ Message string }
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Error != nil {
			r.failure = *said.Error
		}
		r.notes += said.Note.Message + "\n"
	}
	return r
}

// want fails the test if a command ends otherwise. The rule is that of a refusal.
func (r *result) want(t *testing.T, exit int, rule string) *result {
	t.Helper()
	if r.exit != exit || r.failure.Rule != rule {
		t.Fatalf("exit %d, rule %q expected: %s", exit, rule, r)
	}
	return r
}

// pay returns the command that pays an amount, under an order id if there is one.
func pay(orderID string, amount int64, flags ...string) []string {
	args := []string{"withdraw", "create", "--currency", "Btc", "--address", "bc1qexample", "--amount-minor",
		fmt.Sprint(amount), "--yes"}
	if orderID != "" {
		args = append(args, "--order-id", orderID)
	}
	return append(args, flags...)
}

func (w *world) pay(orderID string, amount int64, flags ...string) *result {
	return w.till(pay(orderID, amount, flags...)...)
}

// plan makes a plan of orders, each an order id and an amount, and returns the command that applies it.
func (w *world) plan(orders ...any) []string {
	rows := "order_id,currency,amount_minor,address\n" + strings.Repeat("%v,Btc,%v,bc1qexample\n", len(orders)/2)
	file := w.write(fmt.Sprintf("plan-%v.csv", orders[0]), fmt.Sprintf(rows, orders...))
	w.till("payout", "plan", file, "--out", file+".plan").want(w.t, 0, "")
	return []string{"payout", "apply", file + ".plan", "--yes"}
}

// paid fails the test unless an amount was paid exactly once.
func (w *world) paid(amount int64) {
	w.t.Helper()
	if n := len(w.ids(amount)); n != 1 {
		w.t.Fatalf("the payment of %d is made %d times", amount, n)
	}
}

var (
	named       = regexp.MustCompile(`\btill [-a-z](?:"[^"]*"|'[^']*'|[^"';,:)` + "`" + `]|:\S)*`)
	conjunction = regexp.MustCompile(` (?:or|and|then|if|to|until|when|with|which|afterwards|again|first|says|shows|finds)\b.*`)
	word        = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	option      = regexp.MustCompile(`--(?:lookup never|already-paid ` +
		`[0-9]+|al(?:low|though)-[a-z]+|retry-rejected|keep-going)`)
)

// ways returns the commands that the message of an error names, and the options that it says to add.
func (w *world) ways(r *result, amount int64) (commands [][]string, options []string) {
	hint := r.failure.Message + "; " + r.failure.Hint.Text
	for _, text := range named.FindAllString(hint, -1) {
		text = conjunction.ReplaceAllString(text, "")
		hint = strings.Replace(hint, text, "", 1)
		args := word.FindAllString(text, -1)[1:]
		for i, arg := range args {
			switch args[i] = strings.Trim(arg, `"'.`); args[i] {
			case "TEXT", "REASON":
				args[i] = "agreed with the provider"
			case "ORDER":
				args[i] = r.failure.OrderID
			case "ID":
				if ids := w.ids(amount); len(ids) > 0 {
					args[i] = ids[0]
				}
			}
		}
		// A person who decides knows whether it was paid.
		wrong := map[bool]string{true: "--not-sent", false: "--paid-as"}[len(w.ids(amount)) > 0]
		if !slices.Contains(args, wrong) && !slices.Contains(args, "") && args[0] != "help" {
			commands = append(commands, append(args, "--yes"))
		}
	}
	return commands, option.FindAllString(hint, -1)
}

// persist runs a command, carries out what the messages name, and runs it again, until it succeeds. The
// amount is paid exactly once then.
func (w *world) persist(amount int64, args ...string) {
	w.t.Helper()
	p := &person{w: w, amount: amount, tried: map[string]bool{}}
	if !p.carryOut(args) {
		w.t.Fatalf("no way leads on:\n%s", p.story)
	}
	w.t.Log(p.story)
	w.paid(amount)
}

// person does what the messages say.
type person struct {
	w      *world
	amount int64
	tried  map[string]bool
	story  string
}

// carryOut runs a command until it succeeds or its error names nothing that was not tried.
func (p *person) carryOut(args []string) bool {
	for again := 0; ; {
		r := p.w.till(args...)
		p.story += r.String()
		if r.exit == 0 {
			return true
		}
		way := p.next(r)
		switch {
		case way == nil:
			// A 41, 40 or 13 says that the same command can be run again, but not for ever.
			if again++; again > 2 || !slices.Contains([]int{41, 40, 13}, r.exit) {
				return false
			}
		case strings.HasPrefix(way[0], "--"):
			if i := slices.Index(args, way[0]); i >= 0 {
				args = slices.Delete(slices.Clone(args), i, i+len(way))
			}
			args = append(slices.Clone(args), way...)
		default:
			p.carryOut(way)
		}
	}
}

// next returns the first way out of an error that was not tried: a command, or an option to add.
func (p *person) next(r *result) []string {
	commands, options := p.w.ways(r, p.amount)
	for _, option := range options {
		commands = append(commands, strings.Fields(option))
	}
	for _, way := range commands {
		if key := fmt.Sprint(r.args[:2], way); !p.tried[key] {
			p.tried[key] = true
			return way
		}
	}
	return nil
}
