//go:build unix

package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience limits the wait for anything that must happen. It only ends a test that would never end; it is not
// a limit on speed.
const patience = 2 * time.Minute

// run is one run of the crash tests.
type run struct {
	t              *testing.T
	seed           uint64
	enough         int // kills
	mutant         string
	journal        string // of all worlds; empty if each has its own file
	clean, patched string // the program without and with the points

	control  string // address of the ledger's controls
	toLedger io.Writer

	mu         sync.Mutex
	attempts   map[int]*attempt // by number, those that the ledger may want killed
	numbered   int
	kills      int
	runs       int
	payments   int
	orders     int
	wanted     []string       // faults that no batch has met after enough kills
	byWhat     map[string]int // kills
	byCommand  map[string]int // kills
	exits      map[int]int    // of creates; -1: killed
	usual      time.Duration  // how long a run of the program takes
	usualApply time.Duration  // how long a run that applies a plan takes
	violations []string
	caughtAt   int // kills by then
}

// attempt is one run of the program.
type attempt struct {
	n       int
	content content
	shot    shot
	what    string // its command line, for the story

	mu   sync.Mutex // held while cmd starts
	cmd  *exec.Cmd
	done chan struct{}

	exit   int // -1: killed
	stdout bytes.Buffer
	stderr heard

	apply *applyShot // only of an attempt at a batch
	meet  *meeting   // where it waits before it makes its record; nil if it does not
}

// heard is output that can be read while it is written.
type heard struct {
	mu   sync.Mutex
	text []byte
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, b...)
	return len(b), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

func (a *attempt) interrupt() { a.signal(os.Interrupt) }

func (a *attempt) signal(s os.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cmd.Process.Signal(s)
}

func (a *attempt) kill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cmd.Process.Kill() // Kill never hits another process with the same number
}

// start starts the ledger, in a process that lives as long as the test.
func (r *run) start() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TILL_TORTURE_LEDGER=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		r.t.Fatal("the ledger does not start")
	}
	r.control = lines.Text()
	r.toLedger = in
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			var n int
			fmt.Sscanf(lines.Text(), "kill %d", &n)
			go func() {
				r.mu.Lock()
				a := r.attempts[n]
				r.mu.Unlock()
				if a != nil {
					a.kill()
					<-a.done
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				fmt.Fprintf(r.toLedger, "dead %d\n", n)
			}()
		}
	}()
	r.t.Cleanup(func() {
		in.Close()
		<-ended
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("the ledger: %v", err)
		}
	})
}

// ask sends a request to the ledger's controls, and decodes the answer unless it is not wanted.
func (r *run) ask(path string, answer any, values url.Values) {
	resp, err := http.Get("http://" + r.control + path + "?" + values.Encode())
	if err == nil {
		defer resp.Body.Close()
		var body []byte
		body, err = io.ReadAll(resp.Body)
		if resp.StatusCode != 200 {
			err = fmt.Errorf("%s: %s", resp.Status, body)
		} else if err == nil && answer != nil {
			err = json.Unmarshal(body, answer)
		}
	}
	if err != nil {
		panic(fmt.Sprintf("the ledger's control %s: %v", path, err)) // without it, no result is valid
	}
}

func (r *run) violate(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) == 0 {
		r.caughtAt = r.kills
	}
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

// failed reports whether a violation was found; a run stops then.
func (r *run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.violations) > 0
}

func (r *run) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kills >= r.enough || len(r.violations) > 0
}

// world is a merchant with a journal, a profile and a key. Several of its orders are processed at the same
// time.
type world struct {
	*run
	name, dir, key string
	door           string // address of the ledger for this merchant
	journal        string // empty if it has its own file
}

// ordersPerWorld keeps the lists of a world short, because they are read often.
const ordersPerWorld = 40

// world creates a merchant.
func (r *run) world(n int) *world {
	w := &world{run: r, journal: r.journal, name: fmt.Sprintf("world-%d-%d", r.seed, n),
		key: fmt.Sprintf("key-%d-%d-%d", r.seed, n, time.Now().UnixNano())}
	dir, err := os.MkdirTemp("", "till-torture-*")
	if err != nil {
		panic(err)
	}
	w.dir = dir
	r.ask("/door", &w.door, nil)
	profile := fmt.Sprintf(`current: w
profiles:
  w:
    base_url: http://%s
    account: %s
    settle_after: 0s
    first_page: "%s"
    currencies:
      - {code: Btc, kind: crypto, decimals: 8}
      - {code: Xlr, kind: crypto, decimals: 7}
`, w.door, w.name, []string{"auto", "1"}[n%2])
	if err := os.MkdirAll(filepath.Join(dir, "config", "till"), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "till", "config.yaml"), []byte(profile), 0o600); err != nil {
		panic(err)
	}
	return w
}

// ask sends a request about the merchant to the ledger's controls, with pairs of a name and a value, and
// decodes the answer unless it is not wanted.
func (w *world) ask(path string, answer any, pairs ...string) {
	values := url.Values{"key": {"Bearer " + w.key}, "door": {w.door}}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	w.run.ask(path, answer, values)
}

// till runs the program to its end, which may be a kill.
func (w *world) till(a *attempt, args ...string) *attempt {
	w.begin(a, args...)
	return w.end(a)
}

func (w *world) begin(a *attempt, args ...string) {
	a.what, a.done = strings.Join(args, " "), make(chan struct{})
	program := w.clean
	if a.shot.point != "" || a.shot.pause || a.shot.notes != "" || w.mutant != "" || a.apply != nil && a.apply.several {
		program = w.patched
	}
	if a.shot.refuse {
		w.ask("/refuse", nil)
	}
	a.cmd = exec.Command(program, args...)
	a.cmd.Dir = w.dir
	a.cmd.Stdout, a.cmd.Stderr = &a.stdout, &a.stderr
	a.cmd.Env = []string{
		"HOME=" + w.dir, "XDG_CONFIG_HOME=" + filepath.Join(w.dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(w.dir, "state"), "TILL_API_KEY=" + w.key, "TILL_RETRIES=1",
		"TILL_TORTURE_POINT=" + a.shot.point, "TILL_TORTURE_MUTANT=" + w.mutant,
		"TILL_TORTURE_DO=" + a.shot.do, "TILL_TORTURE_NOTES=" + string(a.shot.notes),
		fmt.Sprint("TILL_TORTURE_TIMES=", a.shot.times),
	}
	if a.apply != nil {
		a.cmd.Env = append(a.cmd.Env, fmt.Sprint("TILL_TORTURE_NTH=", a.apply.nth))
		if a.apply.several {
			a.cmd.Env = append(a.cmd.Env, fmt.Sprint("TILL_TORTURE_NUMBER=", a.n))
		}
	}
	if a.meet != nil {
		a.cmd.Env = append(a.cmd.Env, "TILL_TORTURE_MEET="+a.meet.dir, fmt.Sprint("TILL_TORTURE_PARTIES=", a.meet.parties))
	}
	if w.journal != "" {
		a.cmd.Env = append(a.cmd.Env, "TILL_JOURNAL="+w.journal)
	}
	w.mu.Lock()
	w.runs++
	if a.n != 0 {
		w.attempts[a.n] = a
	}
	a.mu.Lock() // the ledger's kill waits for the process
	w.mu.Unlock()
	err := a.cmd.Start()
	a.mu.Unlock()
	if err != nil {
		panic(err)
	}
}

func (w *world) end(a *attempt) *attempt {
	began := time.Now()
	w.mu.Lock()
	usual := w.usual
	if a.apply != nil {
		usual = w.usualApply
	}
	w.mu.Unlock()
	if a.shot.random > 0 {
		hit := a.kill
		if a.apply != nil && a.apply.interrupts > 0 {
			hit = func() {
				for range a.apply.interrupts {
					a.interrupt()
					time.Sleep(time.Millisecond)
				}
			}
		}
		timer := time.AfterFunc(time.Duration(a.shot.random*float64(usual)), hit)
		defer timer.Stop()
	}
	limit := patience
	if w.mutant != "" { // some mutants wait forever, which reveals them
		limit = 30 * time.Second
	}
	stuck := time.AfterFunc(limit, func() {
		w.violate("%s: it has been running for %s", a.what, limit)
		a.kill()
	})
	defer stuck.Stop()
	if err := a.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		panic(err)
	}
	close(a.done)
	if a.meet != nil {
		a.meet.came(a.cmd.Process.Pid)
	}
	if a.shot.refuse {
		w.ask("/open", nil)
	}
	status := a.cmd.ProcessState.Sys().(syscall.WaitStatus)
	a.exit = status.ExitStatus()
	if a.exit == 12 && strings.Contains(a.stderr.String(), "till: list: ") {
		a.exit = 41 // the list could be read, and proves nothing: to these tests, that is the same
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.attempts, a.n)
	if status.Signaled() && status.Signal() == syscall.SIGKILL {
		a.exit = -1
		w.kills++
		w.byCommand[strings.Join(strings.Fields(a.what)[:2], " ")]++
		if w.kills%1000 == 0 && w.mutant == "" {
			w.t.Logf("%d kills so far", w.kills)
		}
		switch {
		case a.shot.fault.phase != "":
			w.byWhat["ledger: "+a.shot.fault.phase]++
		case a.shot.point != "":
			w.byWhat["point: "+a.shot.point]++
		default:
			w.byWhat["random"]++
		}
	} else if a.apply != nil {
		w.usualApply = (4*w.usualApply + time.Since(began)) / 5
	} else if a.shot.fault.fault != "hang" {
		w.usual = (9*w.usual + time.Since(began)) / 10
	}
	if a.n != 0 {
		w.exits[a.exit]++
	}
	return a
}

// meeting is where processes wait for each other, so that they make their records at the same moment on any
// machine. Each leaves a file with its number. If a process ends without one, the harness leaves it.
type meeting struct {
	dir     string
	parties int
}

func (w *world) meeting(parties int) *meeting {
	dir, err := os.MkdirTemp(w.dir, "meeting-*")
	if err != nil {
		panic(err)
	}
	return &meeting{dir, parties}
}

func (m *meeting) came(pid int) {
	if err := os.WriteFile(filepath.Join(m.dir, strconv.Itoa(pid)), nil, 0o600); err != nil {
		panic(err)
	}
}

// hanging is the time limit of a call that the ledger does not answer. On a busy machine, the ledger needs
// some of it to get the call and to pay.
const hanging = "500ms"

// create begins a withdrawal; end waits for it.
func (w *world) create(orderID string, c content, s shot, with *meeting) *attempt {
	w.mu.Lock()
	w.numbered++
	a := &attempt{n: w.numbered, content: c, shot: s}
	if s.pause {
		a.meet = with
	}
	w.mu.Unlock()
	if s.ahead != "" || s.do != "" {
		a.shot.notes = w.notes()
		if s.do == "" {
			a.shot.notes.leave("ahead", s.ahead)
		}
	}
	told := s.fault
	told.n = a.n
	args := []string{"withdraw", "create", "--currency", c.code, "--amount", c.amount, "--address", c.address,
		"--callback", told.String(), "--yes"}
	if orderID != "" {
		args = append(args, "--order-id", orderID)
	}
	if c.memo != "" {
		args = append(args, "--memo", c.memo)
	}
	if s.noLookup {
		args = append(args, "--lookup", "never")
	}
	if s.fault.fault == "hang" {
		args = append(args, "--timeout", hanging)
	} else {
		args = append(args, "--timeout", "60s")
	}
	w.begin(a, args...)
	return a
}

// row is an order of the journal.
type row struct {
	Account  struct{ Name string }
	OrderID  string          `json:"order_id"`
	State    string          `json:"state"`
	ID       string          `json:"id"`
	Currency json.RawMessage `json:"currency"`
	Amount   json.RawMessage `json:"amount"`
	Address  string          `json:"address"`
	Memo     string          `json:"memo"`
	Reason   string          `json:"reason"`
}

func decodeRows(in io.Reader) (rows []row, err error) {
	for dec := json.NewDecoder(in); ; {
		var o row
		if err := dec.Decode(&o); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return nil, err
		}
		rows = append(rows, o)
	}
}

func (w *world) rows(address string) []row {
	a := w.till(&attempt{}, "journal", "list", "--address", address, "-o", "jsonl")
	if a.exit != 0 {
		w.violate("till %s: exit %d: %s", a.what, a.exit, a.stderr.String())
		return nil
	}
	rows, err := decodeRows(&a.stdout)
	if err != nil {
		w.violate("till %s: %v", a.what, err)
	}
	return rows
}

// paid returns the payments of the merchant, and held those that are late: all, or with pairs some.
func (w *world) paid(pairs ...string) (all []payment) {
	w.ask("/payments", &all, pairs...)
	return all
}

func (w *world) held(pairs ...string) (all []payment) {
	w.ask("/held", &all, pairs...)
	return all
}

// finish compares the whole journal with the whole ledger.
func (w *world) finish() {
	if a := w.persist("withdraw", "reconcile"); a.exit != 0 {
		w.violate("%s: till %s: exit %d: %s", w.name, a.what, a.exit, a.stderr.String())
	}
	if a := w.persist("journal", "check"); a.exit != 0 {
		w.violate("%s: till %s: exit %d: %s%s", w.name, a.what, a.exit, a.stdout.String(), a.stderr.String())
	}
	last := w.end(w.create("9900000000", content{code: "Btc", amount: "0.3", address: addressOf(9_900_000)},
		shot{fault: instruction{fault: "ok", commit: true}}, nil))
	if last.exit != 0 && last.exit != 41 {
		w.violate("%s: all is settled, and a new order ended with %d: %s", w.name, last.exit, last.stderr.String())
	}
	export := w.till(&attempt{}, "journal", "export")
	rows, err := decodeRows(&export.stdout)
	if err != nil || export.exit != 0 {
		w.violate("%s: till journal export: exit %d, %v: %s", w.name, export.exit, err, export.stderr.String())
		return
	}
	journal := map[string]row{}
	for _, o := range rows {
		if o.Account.Name == w.name {
			journal[o.OrderID] = o
		}
	}
	ledger := map[string]payment{}
	for _, p := range w.paid() {
		if q, twice := ledger[p.OrderID]; twice {
			w.violate("%s: order %s was paid twice: %s and %s", w.name, p.OrderID, q.ID, p.ID)
		}
		ledger[p.OrderID] = p
		if o, found := journal[p.OrderID]; !found {
			w.violate("%s: order %s was paid as %s, and the journal does not have it", w.name, p.OrderID, p.ID)
		} else if why := differ(o, p); why != "" {
			w.violate("%s: order %s: %s", w.name, p.OrderID, why)
		}
	}
	for _, o := range journal {
		if p, found := ledger[o.OrderID]; o.State == "accepted" && (!found || p.ID != o.ID) {
			w.violate("%s: order %s is accepted as %s in the journal, and the ledger does not have it", w.name, o.OrderID, o.ID)
		}
		if o.State != "accepted" && o.State != "planned" && o.State != "rejected" {
			w.violate("%s: order %s is %s in the end", w.name, o.OrderID, o.State)
		}
	}
	w.mu.Lock()
	w.payments += len(ledger)
	w.mu.Unlock()
}

// persist repeats a command that only reads from the service until a read succeeds.
func (w *world) persist(args ...string) (a *attempt) {
	for range 10 {
		if a = w.till(&attempt{}, args...); a.exit != 41 && !(a.exit == 20 && args[1] == "reconcile") {
			break
		}
	}
	return a
}

func differ(o row, p payment) string {
	switch {
	case o.State != "accepted":
		return fmt.Sprintf("it was paid as %s, and the journal says that it is %s", p.ID, o.State)
	case o.ID != p.ID:
		return fmt.Sprintf("it was paid as %s, and the journal says %s", p.ID, o.ID)
	case o.pays() != p.pays():
		return fmt.Sprintf("the ledger has %q, and the journal %q", p.pays(), o.pays())
	}
	return ""
}

// pays returns the content of an order: what is paid, and to whom.
func (o row) pays() [4]string {
	return [4]string{string(o.Currency), string(o.Amount), o.Address, o.Memo}
}
func (p payment) pays() [4]string {
	return [4]string{string(p.Currency), string(p.Amount), p.Address, p.Memo}
}
func (c content) pays() [4]string { return [4]string{c.currency, c.json, c.address, c.memo} }
