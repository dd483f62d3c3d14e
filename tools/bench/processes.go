package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// version compares the start of till with a program that prints a line, and its memory also with a program of
// the same packages that prints a line: of till, this program runs only the initialization of the packages.
func version(b *bench) []row {
	source, hello := filepath.Join(b.dir, "hello.go"), filepath.Join(b.dir, "hello")
	const text = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"
	check(os.WriteFile(source, []byte(text), 0o600))
	command(nil, "go", "build", "-o", hello, source).run()
	till, idle := command(environment(""), b.till, "version"), command(environment(""), b.idle())
	ratio := pairs(41, till.run, command(nil, hello).run)
	pairs(41, till.run, idle.run)
	return []row{
		{what: "till version / a program that prints a line, wall time", got: ratio, unit: "x", limit: 3.5, atMost: true,
			detail: "median of 41 pairs"},
		{what: "till version, peak memory", got: till.peak, unit: " MiB", limit: 16, atMost: true,
			detail: "largest of 84 runs"},
		{what: "till version / a program of the same packages that prints a line, peak memory", got: till.peak / idle.peak,
			unit: "x", limit: 1.10, atMost: true,
			detail: fmt.Sprintf("the program: %.2f MiB, largest of 42 runs", idle.peak)},
	}
}

// idle builds the program of the same packages, in the way that make build does. It replaces main.go only for
// the compiler.
func (b *bench) idle() string {
	const main = `package main

import (
	"context"
	"fmt"
	"os"
	"time"
	_ "time/tzdata"

	"example.com/till/internal/cli"
)

func main() {
	if len(os.Args) == 1 {
		fmt.Println("hello")
		return
	}
	// not reached, but without it the linker would leave the packages out
	os.Exit(cli.Run(context.Background(), os.Args, cli.IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: time.Now,
	}))
}
`
	source, overlay := filepath.Join(b.dir, "idle.go"), filepath.Join(b.dir, "overlay.json")
	built, idle := filepath.Join(b.dir, "built"), filepath.Join(b.dir, "idle")
	check(os.WriteFile(source, []byte(main), 0o600))
	check(os.WriteFile(overlay, must(json.Marshal(map[string]any{
		"Replace": map[string]string{must(filepath.Abs("cmd/till/main.go")): source},
	})), 0o600))
	command(append(os.Environ(), "CGO_ENABLED=0"), "go", "build", "-trimpath", "-overlay", overlay, "-o", built,
		"./cmd/till").run()
	copyTo(idle, built)
	return idle
}

// get compares a whole command with curl.
func get(b *bench) []row {
	server := b.helper("-serve", "1000")
	defer server.stop()
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	till := command(environment(server.url), b.till, "withdraw", "get", id, "-o", "json")
	curl := command(nil, "curl", "-sS", "-H", "Authorization: Bearer "+sandboxKey, server.url+getPath+"?id="+id)
	ratio := pairs(41, till.run, curl.run)
	return []row{{what: "till withdraw get / curl, wall time", got: ratio, unit: "x", limit: 0.90, atMost: true,
		detail: "median of 41 pairs"}}
}

// stream compares the export of a long list with programs that do less.
func stream(b *bench) []row {
	const few, many, rounds = 100_000, 1_000_000, 3
	list := func(total int, url, name string, args ...string) *program {
		return command(append(environment(url), "PAGES="+strconv.Itoa(total/pageSize)), name, args...)
	}
	export := []string{"withdraw", "list", "--all", "-o", "jsonl", "--page-size", strconv.Itoa(pageSize)}
	save := func(p *program) func() time.Duration {
		return func() time.Duration {
			file := must(os.Create(filepath.Join(b.dir, "list")))
			defer file.Close()
			p.stdout = file
			return p.run()
		}
	}
	small, large := b.helper("-serve", strconv.Itoa(few)), b.helper("-serve", strconv.Itoa(many))
	defer small.stop()
	defer large.stop()
	tillFew, tillMany := list(few, small.url, b.till, export...), list(many, large.url, b.till, export...)
	save(tillFew)()
	bySplit := pairs(rounds, save(tillMany), save(list(many, large.url, b.self, "-split", large.url)))
	byCopy := pairs(1, save(tillMany), save(list(many, large.url, b.self, "-copy", large.url)))
	return []row{
		{what: "withdraw list --all -o jsonl / a bare splitter, 1,000,000 withdrawals", got: bySplit, unit: "x",
			limit: 2, atMost: true,
			detail: fmt.Sprintf("median of %d pairs; copying the answers to disk: %.2fx", rounds, byCopy)},
		{what: "withdraw list --all, peak memory at 1,000,000", got: tillMany.peak, unit: " MiB", limit: 40,
			atMost: true, detail: "largest of 6 runs"},
		{what: "withdraw list --all, peak memory at 1,000,000 / at 100,000", got: tillMany.peak / tillFew.peak,
			unit: "x", limit: 1.25, atMost: true, detail: "the same but for chance"},
	}
}
