// Command mutants breaks one place of the code at a time and runs the nearest tests, to find what no test
// notices. It prints a line for each mutant, and at the end the share that survived by package.
//
//	go run ./tools/mutants [-seed N] [-n 300] [-j 2] [-only FILE:LINE] [-list]
//
// The seed draws which mutants are made. The tree is never changed: the compiler gets an overlay. It ends with 1
// if more than 5 in 100 survive that explained.txt does not explain. Where PostgreSQL is not installed, nothing
// notices what is broken in its part of the journal.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"go/build"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed explained.txt
var explained string

func scripts(names string) string { return "./internal/cli -run TestScripts/^(" + names + ")" }

// nearest has the tests of each package: its own, and then those of what uses it, the quickest first.
var nearest = map[string][]string{
	"internal/journal": {"./internal/journal", "./pkg/payout", scripts("payout|withdraw|journal")},
	"internal/money": {"./internal/money", "./pkg/payout/sheet", "./internal/config",
		scripts("currency|rounded|thousands|decimals|withdraw_create|invoice_create")},
	"pkg/api": {"./pkg/api", "./pkg/api/sandbox",
		scripts("invoice|reseller|withdraw|faults|hostile|connection|callback")},
	"pkg/payout": {"./pkg/payout", "./internal/cmd/payout", scripts("payout|withdraw|journal")},
	"pkg/payout/sheet": {"./pkg/payout/sheet", "./pkg/payout/sheet/xlsx", "./internal/cmd/payout",
		scripts("payout_plan|payout_layout|thousands|csv_for"), "./pkg/payout"},
}

// survived is the outcome of a mutant that no test noticed, and unbuilt of one that is no program.
const (
	survived = "SURVIVED"
	unbuilt  = "does not build"
)

func main() {
	log.SetFlags(0)
	seed := flag.Uint64("seed", 1, "draws which mutants are made")
	n := flag.Int("n", 300, "how many mutants to make")
	jobs := flag.Int("j", 2, "how many to test at a time")
	only := flag.String("only", "", "make all mutants of one `FILE:LINE`")
	list := flag.Bool("list", false, "print the mutants and run nothing")
	flag.Parse()
	drawn, err := draw(*seed, *n, *only)
	if err != nil {
		log.Fatal(err)
	}
	if *list {
		for _, m := range drawn {
			fmt.Println(m)
		}
		return
	}
	if err := run(drawn, *jobs); err != nil {
		log.Fatal(err)
	}
}

// all returns every mutant, in the order of the files.
func all(root string) (found []mutant, err error) {
	linux := build.Default
	linux.GOOS, linux.CgoEnabled = "linux", false
	for _, dir := range slices.Sorted(maps.Keys(nearest)) {
		pack, err := linux.ImportDir(filepath.Join(root, dir), 0)
		if err != nil {
			return nil, err
		}
		for _, name := range pack.GoFiles {
			text, err := os.ReadFile(filepath.Join(root, dir, name))
			if err != nil {
				return nil, err
			}
			more, err := mutantsOf(path.Join(dir, name), string(text))
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	return found, nil
}

func draw(seed uint64, n int, only string) ([]mutant, error) {
	found, err := all(".")
	if only != "" {
		found = slices.DeleteFunc(found, func(m mutant) bool { return fmt.Sprintf("%s:%d", m.file, m.line) != only })
		return found, err
	}
	draws := rand.New(rand.NewPCG(seed, 0))
	draws.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(n, len(found))], err
}

// tally counts the mutants of a package.
type tally struct{ caught, survived, explained, unbuilt int }

func run(drawn []mutant, jobs int) error {
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := sound(drawn); err != nil {
		return err
	}
	todo := make(chan int)
	tallies := map[string]*tally{}
	var lock sync.Mutex
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for i := range todo {
				m, began := drawn[i], time.Now()
				outcome := m.test(filepath.Join(scratch, fmt.Sprint(i)))
				lock.Lock()
				took := time.Since(began).Round(time.Second)
				fmt.Printf("%s: %s (%v)\n", m, count(tallies, m, outcome), took)
				lock.Unlock()
			}
		})
	}
	for i := range drawn {
		todo <- i
	}
	close(todo)
	workers.Wait()
	return report(tallies)
}

// sound makes sure that the tests pass as long as nothing is broken.
func sound(drawn []mutant) error {
	passed := map[string]bool{}
	for _, m := range drawn {
		for _, tests := range nearest[path.Dir(m.file)] {
			if passed[tests] {
				continue
			}
			if out, err := goTest(tests, ""); err != nil {
				return fmt.Errorf("without any mutant, go test %s fails:\n%s", tests, out)
			}
			passed[tests] = true
		}
	}
	return nil
}

// test runs the nearest tests on a mutant until some fail, with its files in a new folder.
func (m mutant) test(folder string) string {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return err.Error()
	}
	broken, overlay := filepath.Join(folder, path.Base(m.file)), filepath.Join(folder, "overlay.json")
	real, err := filepath.Abs(m.file)
	if err == nil {
		err = os.Mkdir(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(broken, []byte(m.apply(string(text))), 0o600)
	}
	if err == nil {
		replaced, _ := json.Marshal(map[string]any{"Replace": map[string]string{real: broken}})
		err = os.WriteFile(overlay, replaced, 0o600)
	}
	if err != nil {
		return err.Error()
	}
	for _, tests := range nearest[path.Dir(m.file)] {
		out, err := goTest(tests, overlay)
		pack, _, _ := strings.Cut(tests, " ")
		switch {
		case err == nil:
		case strings.Contains(out, "[build failed]"):
			return unbuilt
		case strings.Contains(out, "panic: test timed out"):
			return "timed out in " + pack
		default:
			return "caught by " + pack
		}
	}
	return survived
}

// goTest runs tests. The overlay is in the environment, so that it holds for programs that they build, too.
func goTest(tests, overlay string) (string, error) {
	args := []string{"test", "-p", "1", "-vet=off", "-failfast", "-timeout", "180s"}
	cmd := exec.Command("go", append(args, strings.Fields(tests)...)...)
	flags := os.Getenv("GOFLAGS") + " -trimpath"
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+flags)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// count adds an outcome to the tally of the package, and returns what to print.
func count(tallies map[string]*tally, m mutant, outcome string) string {
	t := tallies[path.Dir(m.file)]
	if t == nil {
		t = &tally{}
		tallies[path.Dir(m.file)] = t
	}
	switch {
	case outcome == unbuilt:
		t.unbuilt++
	case outcome != survived:
		t.caught++
	case reasons()[m.file+": "+m.was] != "":
		t.explained++
		return outcome + ", as explained"
	default:
		t.survived++
	}
	return outcome
}

// reasons returns why nothing can notice what is broken in a line, by "FILE: TEXT OF THE LINE".
func reasons() map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(explained) {
		if at := strings.LastIndex(line, " -> "); at >= 0 {
			found[line[:at]] = strings.TrimSpace(line[at+4:])
		}
	}
	return found
}

func report(tallies map[string]*tally) error {
	missed, tested := 0, 0
	for _, dir := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[dir]
		n := t.caught + t.survived + t.explained
		fmt.Printf("%s: %d of %d survived, %d more as explained; %d do not build\n", dir, t.survived, n, t.explained, t.unbuilt)
		missed, tested = missed+t.survived, tested+n
	}
	fmt.Printf("all: %d of %d survived\n", missed, tested)
	if missed*100 > tested*5 {
		return fmt.Errorf("more than 5 in 100 survived: add the tests that would have noticed, or explain in explained.txt")
	}
	return nil
}
