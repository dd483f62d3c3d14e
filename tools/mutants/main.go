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
var reasonsText string

func scripts(names string) string { return "./internal/cli -run TestScripts/^(" + names + ")" }

// ofMoney has the beginnings of the names of the scripts that plan, send or look up.
const ofMoney = "payout|withdraw|journal|approvals|money_first|order_ids|look_up|limits|paid_before|faults"

// nearest has the tests of each package: its own, and then those of what uses it, the quickest first.
var nearest = map[string][]string{
	"internal/journal": {"./internal/journal", "./pkg/payout", scripts(ofMoney)},
	"internal/money": {"./internal/money", "./pkg/payout/sheet", "./internal/config",
		scripts("currency|rounded|thousands|decimals|withdraw_create|invoice_create")},
	"pkg/api": {"./pkg/api", "./pkg/api/sandbox",
		scripts("invoice|reseller|withdraw|faults|hostile|connection|callback")},
	"pkg/payout": {"./pkg/payout", "./internal/cmd/payout", scripts(ofMoney)},
	"pkg/payout/sheet": {"./pkg/payout/sheet", "./pkg/payout/sheet/xlsx", "./internal/cmd/payout",
		scripts("payout_plan|payout_layout|thousands|csv_for"), "./pkg/payout"},
}

// What can become of a mutant besides being caught: no test notices it, or it is no program.
const (
	survived  = "SURVIVED"
	explained = "SURVIVED, as explained"
	unbuilt   = "does not build"
)

func main() {
	log.SetFlags(0)
	seed := flag.Uint64("seed", 1, "draws which mutants are made")
	n := flag.Int("n", 300, "how many mutants to make")
	jobs := flag.Int("j", 2, "how many to test at a time")
	only := flag.String("only", "", "make all mutants of one `FILE:LINE`")
	list := flag.Bool("list", false, "print the mutants and run nothing")
	flag.Parse()
	drawn := all(".")
	draws := rand.New(rand.NewPCG(*seed, 0))
	draws.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	if *only != "" {
		drawn = slices.DeleteFunc(drawn, func(m mutant) bool { return fmt.Sprintf("%s:%d", m.file, m.line) != *only })
	}
	drawn = drawn[:min(*n, len(drawn))]
	if *list {
		for _, m := range drawn {
			fmt.Println(m)
		}
		return
	}
	run(drawn, *jobs)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// all returns every mutant, in the order of the files.
func all(root string) (found []mutant) {
	linux := build.Default
	linux.GOOS, linux.CgoEnabled = "linux", false
	for _, dir := range slices.Sorted(maps.Keys(nearest)) {
		for _, name := range must(linux.ImportDir(filepath.Join(root, dir), 0)).GoFiles {
			text := must(os.ReadFile(filepath.Join(root, dir, name)))
			found = append(found, mutantsOf(path.Join(dir, name), string(text))...)
		}
	}
	return found
}

func run(drawn []mutant, jobs int) {
	checkSound(drawn)
	todo := make(chan mutant)
	counts := map[string]map[string]int{} // by package and what became of its mutants
	var lock sync.Mutex
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for m := range todo {
				began := time.Now()
				outcome := m.test()
				lock.Lock()
				fmt.Printf("%s: %s (%v)\n", m, outcome, time.Since(began).Round(time.Second))
				if counts[path.Dir(m.file)] == nil {
					counts[path.Dir(m.file)] = map[string]int{}
				}
				counts[path.Dir(m.file)][outcome]++
				lock.Unlock()
			}
		})
	}
	for _, m := range drawn {
		todo <- m
	}
	close(todo)
	workers.Wait()
	report(counts)
}

// checkSound makes sure that the tests pass as long as nothing is broken.
func checkSound(drawn []mutant) {
	passed := map[string]bool{}
	for _, m := range drawn {
		for _, tests := range nearest[path.Dir(m.file)] {
			if passed[tests] {
				continue
			}
			if out, err := goTest(tests, ""); err != nil {
				log.Fatalf("without any mutant, go test %s fails:\n%s", tests, out)
			}
			passed[tests] = true
		}
	}
}

// test runs the nearest tests on a mutant until some fail, and returns what became of it.
func (m mutant) test() (outcome string) {
	folder := must(os.MkdirTemp("", "mutant-"))
	defer os.RemoveAll(folder)
	overlay := m.overlay(folder)
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
	if reasons()[m.file+": "+m.was] != "" {
		return explained
	}
	return survived
}

// overlay writes the broken file into a folder, and the overlay that puts it into the place of the whole one.
func (m mutant) overlay(folder string) (file string) {
	broken, file := filepath.Join(folder, path.Base(m.file)), filepath.Join(folder, "overlay.json")
	replace := map[string]any{"Replace": map[string]string{must(filepath.Abs(m.file)): broken}}
	check(os.WriteFile(broken, []byte(m.apply(string(must(os.ReadFile(m.file))))), 0o600))
	check(os.WriteFile(file, must(json.Marshal(replace)), 0o600))
	return file
}

// goTest runs tests. The overlay is in the environment, so that it holds for programs that they build, too.
func goTest(tests, overlay string) (string, error) {
	args := []string{"test", "-p", "1", "-vet=off", "-failfast", "-timeout", "300s"}
	cmd := exec.Command("go", append(args, strings.Fields(tests)...)...)
	flags := os.Getenv("GOFLAGS") + " -trimpath"
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+flags)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// reasons returns why nothing can notice what is broken in a line, by "FILE: TEXT OF THE LINE".
func reasons() map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(reasonsText) {
		if at := strings.LastIndex(line, " -> "); at >= 0 {
			found[line[:at]] = strings.TrimSpace(line[at+4:])
		}
	}
	return found
}

func report(counts map[string]map[string]int) {
	missed, tested := 0, 0
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		c, n := counts[dir], 0
		for outcome, times := range c {
			if outcome != unbuilt {
				n += times
			}
		}
		fmt.Printf("%s: %d of %d survived, %d more as explained; %d do not build\n", dir, c[survived], n, c[explained], c[unbuilt])
		missed, tested = missed+c[survived], tested+n
	}
	fmt.Printf("all: %d of %d survived\n", missed, tested)
	if missed*100 > tested*5 {
		log.Fatal("more than 5 in 100 survived: add the tests that would have noticed, or explain in explained.txt")
	}
}
