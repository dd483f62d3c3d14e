package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// fileBox opens a sandbox whose state is in a file.
func fileBox(t testing.TB, path string, opts ...sandbox.Option) box {
	t.Helper()
	b := newBox(t, append([]sandbox.Option{sandbox.WithState(path)}, opts...)...)
	t.Cleanup(func() { b.Close() })
	return b
}

// sharedBox opens a sandbox that shares its state, as commands do.
func sharedBox(t testing.TB, path string, opts ...sandbox.Option) box {
	t.Helper()
	return fileBox(t, path, append(opts, sandbox.WithSharedState(path))...)
}

// everythingIn returns everything that the interface shows of a state, and the balances.
func (b box) everythingIn(resellers ...string) string {
	b.t.Helper()
	all := []any{b.Identity(), b.post(listPath+"?page_size=1000", everything), b.get("/api/invites"),
		b.get("/api/resellers"), b.get("/api/resellers/ids"), b.Swaps()}
	for _, id := range resellers {
		all = append(all, b.get("/api/reseller/stats?id="+id), b.get("/api/reseller/balance?id="+id),
			b.post("/api/reseller/invoice/list?page_size=1000&id="+id, "{}"),
			b.post("/api/reseller/withdraw/list?page_size=1000&id="+id, everything))
	}
	for _, c := range sandbox.Currencies() {
		all = append(all, b.Balance(c.Code))
	}
	text, err := json.Marshal(all)
	must(b.t, err)
	return string(text)
}

func TestStateSurvivesRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "a?b#c%20 ü&_pragma=x", "box.db")
	b := fileBox(t, path, sandbox.WithSeed("demo"))
	id, invoice, key := b.paidReseller()
	b.mustAdvance(b.create(createPath, `{"currency":{"Crypto":"Ltc"},"amount":{"Crypto":{"Ltc":100100000000000}},`+
		`"address":"a","external_order_id":"9007199254740993"}`), "Cancelled")
	b.create(createPath, strings.Replace(btcBody, "1500", "100100000000000", 1)) // swaps
	before := b.everythingIn(id)
	equal(t, len(b.Swaps()) > 0, true, "that there were swaps")
	must(t, b.Close())
	again := fileBox(t, path, sandbox.WithSeed("none"))
	*again.now = *b.now
	equal(t, again.everythingIn(id), before, "after a restart")
	again.ok(again.sendAs(key, "GET", "/api/invoice?id="+invoice, ""))
	again.refused(again.sendAs(b.Key(), "GET", "/api/invites", ""), 401, "unauthorized") // the key is not in the file
	for name, mode := range map[string]os.FileMode{"": 0o600, "-wal": 0o600, "-shm": 0o600, ".lock": 0o600,
		"/..": 0o700} {
		info, err := os.Stat(filepath.Clean(path + name))
		failIf(t, err != nil || info.Mode().Perm() != mode, "%s: %v, %v", name, info.Mode(), err)
	}
}

// TestStateIsShared checks that commands with one file see each other's changes at once, including the keys
// of resellers and a reset.
func TestStateIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	one, two := sharedBox(t, path), sharedBox(t, path)
	id := one.create(createPath, btcBody)
	must(t, two.AdvanceWithdrawal(id, "Cancelled"))
	failIf(t, one.AdvanceWithdrawal(id, "Processing") == nil, "what another server has cancelled goes on")
	_, key := two.reseller("Shop")
	one.ok(one.sendAs(key, "POST", invoicePath, usdInvoice))
	old := two.Identity()
	must(t, one.Reset(""))
	failIf(t, two.Identity() == old || two.Identity() != one.Identity(), "after a reset they differ")
	two.refused(two.sendAs(key, "GET", "/api/invoice?id="+uuid("x"), ""), 401, "unauthorized")
	equal(t, two.everythingIn(), sharedBox(t, path).everythingIn(), "after a reset, and in a third")
}

// TestStateBeginsOnce checks that if many commands open a file at the same time, only one begins the state.
func TestStateBeginsOnce(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "box.db")
		var wg sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			wg.Go(func() {
				s, err := sandbox.New(sandbox.WithSharedState(path))
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				failIf(t, s.Fund("Btc", 1) != nil, "a write failed")
				ids[i] = s.Identity()
			})
		}
		wg.Wait()
		b := fileBox(t, path)
		equal(t, strings.Join(slices.Compact(ids), " "), b.Identity(), "the identities")
		equal(t, b.Balance("Btc"), 1_000_000_00000000+8, "the balance")
	}
}

// change changes a database as another program would.
func change(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	must(t, second(db.Exec(statement)))
}

func TestStateOfSomethingElse(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	change(t, other, "CREATE TABLE t (x)")
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("This is no database. ", 100)), 0o600))
	damaged := filepath.Join(dir, "damaged.db")
	fileBox(t, damaged).Close()
	change(t, damaged, "UPDATE commits SET changes = x'00'")
	newer := filepath.Join(dir, "newer.db")
	fileBox(t, newer).Close()
	change(t, newer, "PRAGMA user_version = 2")
	for path, says := range map[string]string{other: "something else", text: "not a database", dir: dir,
		filepath.Join(text, "x"): "not a directory", damaged: "damaged", newer: "version"} {
		before, _ := os.ReadFile(path)
		_, err := sandbox.New(sandbox.WithState(path))
		bad, ok := errors.AsType[*sandbox.StateError](err)
		failIf(t, !ok || !strings.Contains(bad.Error(), says) || !strings.Contains(bad.Error(), path),
			"%s: %v", path, err)
		after, _ := os.ReadFile(path)
		failIf(t, path != newer && path != damaged && !bytes.Equal(before, after), "%s was changed", path)
	}
}

// TestStateThatFails checks that if a file can no longer be written, no write is acknowledged or visible.
func TestStateThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	b := fileBox(t, path)
	id := b.create(createPath, btcBody)
	change(t, path, "CREATE TRIGGER full BEFORE INSERT ON commits BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	balance := b.Balance("Btc")
	b.refused(b.send("POST", createPath, btcBody), 500, "internal_error", "the disk is full")
	failIf(t, b.Balance("Btc") != balance, "a withdrawal that was not saved took its money")
	same(t, at(t, b.post(listPath, everything), "total"), "1")
	change(t, path, "DROP TRIGGER full")
	b.create(createPath, btcBody)
	b.get(getPath + id)
	same(t, at(t, b.post(listPath, everything), "total"), "2")
	b.Close()
	b.refused(b.send("POST", createPath, btcBody), 500, "internal_error")
}

const servedState = "TILL_TEST_SERVES_STATE"

// TestServesForAnotherTest is the server that TestKilledServersLoseNothing kills.
func TestServesForAnotherTest(t *testing.T) {
	path := os.Getenv(servedState)
	if path == "" {
		t.Skip("it is a part of TestKilledServersLoseNothing")
	}
	b := fileBox(t, path, sandbox.WithKey("till_sandbox_test"))
	listener := listen(t)
	fmt.Printf("http://%s\n", listener.Addr())
	must(t, b.Serve(context.Background(), listener))
}

func serveInChild(t *testing.T, path string) (address string, child *exec.Cmd) {
	t.Helper()
	child = exec.Command(os.Args[0], "-test.run=^TestServesForAnotherTest$")
	child.Env = append(os.Environ(), servedState+"="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	t.Cleanup(func() { child.Process.Kill(); child.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://") {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return strings.TrimSpace(line), child
}

// TestStateHasOneServer checks that no other server opens a state while a server has it, until that one has
// ended in any way, and that a server opens none that commands share.
func TestStateHasOneServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	_, child := serveInChild(t, path)
	link := path + "2"
	must(t, os.Symlink(path, link))
	refused := func(by string, open sandbox.Option) {
		t.Helper()
		_, err := sandbox.New(open)
		_, ok := errors.AsType[*sandbox.StateError](err)
		failIf(t, !ok || !errors.Is(err, sandbox.ErrInUse) || !strings.HasSuffix(err.Error(), by),
			"opened beside %s: %v", by, err)
	}
	refused(fmt.Sprintf("in use by process %d", child.Process.Pid), sandbox.WithState(link))
	refused(fmt.Sprintf("in use by process %d", child.Process.Pid), sandbox.WithSharedState(path))
	child.Process.Kill()
	child.Wait()
	b := fileBox(t, path)
	refused(fmt.Sprintf("in use by process %d", os.Getpid()), sandbox.WithState(path))
	b.Close()
	must(t, b.Close()) // again
	shared := []box{sharedBox(t, path), sharedBox(t, path)}
	shared[0].Close()
	refused(fmt.Sprintf("in use by commands, the last of them process %d", os.Getpid()), sandbox.WithState(path))
	shared[1].Close()
	fileBox(t, path)
}

// TestKilledServersLoseNothing checks that servers, killed with requests in flight, lose nothing that was
// acknowledged, and that every stored withdrawal has been paid for.
func TestKilledServersLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	acknowledged := map[string]bool{}
	for round := range 3 {
		var mu sync.Mutex
		var clients sync.WaitGroup
		enough := make(chan struct{})
		count := 0
		address, child := serveInChild(t, path)
		for range 16 {
			clients.Go(func() {
				for {
					status, text, err := ask("till_sandbox_test", "POST", address+createPath, btcBody)
					var id string
					if status != 0 && status != 200 {
						t.Errorf("%d %s", status, text)
						return
					}
					if err != nil || json.Unmarshal([]byte(text), &id) != nil {
						return // killed
					}
					mu.Lock()
					acknowledged[id] = true
					if count++; count == 100 {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		child.Process.Kill()
		clients.Wait()

		b := fileBox(t, path)
		for id := range acknowledged {
			b.get(getPath + id)
		}
		kept, err := strconv.Atoi(b.withdrawals())
		must(t, err)
		equal(t, 1_000_000_00000000-b.Balance("Btc"), int64(kept)*1500, "round %d: what %d withdrawals took", round, kept)
		extra := kept - len(acknowledged)
		failIf(t, extra > 16*(round+1), "round %d: %d withdrawals that nobody was told of", round, extra)
		b.Close()
	}
}
