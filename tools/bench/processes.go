package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// version holds the start of till against a program that prints a line.
func version(till string) ([]row, error) {
	dir, err := os.MkdirTemp("", "till-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, hello := filepath.Join(dir, "hello.go"), filepath.Join(dir, "hello")
	const program = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("go", "build", "-o", hello, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	peak := 0.0
	ratio, err := pairs(41, func() (time.Duration, error) {
		p, err := start(nil, environment(""), till, "version")
		peak = max(peak, p.peak)
		return p.wall, err
	}, func() (time.Duration, error) {
		p, err := start(nil, nil, hello)
		return p.wall, err
	})
	return []row{
		{what: "till version / a program that prints a line, wall time", got: ratio, unit: "x", limit: 4, atMost: true, detail: "median of 41 pairs"},
		{what: "till version, peak memory", got: peak, unit: " MiB", limit: 16, atMost: true, detail: "largest of 42 runs"},
	}, err
}

// get holds a whole command against curl.
func get(till string) ([]row, error) {
	url, stop, err := serve("-serve", "1000")
	if err != nil {
		return nil, err
	}
	defer stop()
	const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	ratio, err := pairs(41, func() (time.Duration, error) {
		p, err := start(nil, environment(url), till, "withdraw", "get", id, "-o", "json")
		return p.wall, err
	}, func() (time.Duration, error) {
		p, err := start(nil, os.Environ(), "curl", "-sS", "-H", "Authorization: Bearer till_sandbox_bench", url+"/api/merchant_withdrawal?id="+id)
		return p.wall, err
	})
	return []row{{what: "till withdraw get / curl, wall time", got: ratio, unit: "x", limit: 0.95, atMost: true, detail: "median of 41 pairs"}}, err
}

// stream holds the export of a long list against programs that do less.
func stream(till string) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "till-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	list := func(total int, stdout string, env []string, name string, args ...string) (process, error) {
		file, err := os.Create(filepath.Join(dir, stdout))
		if err != nil {
			return process{}, err
		}
		defer os.Remove(file.Name())
		defer file.Close()
		return start(file, append(env, "PAGES="+strconv.Itoa(total/pageSize)), name, args...)
	}
	export := []string{"withdraw", "list", "--all", "-o", "jsonl", "--page-size", strconv.Itoa(pageSize)}

	peaks := map[int]float64{}
	var rows []row
	for _, total := range []int{100_000, 1_000_000} {
		url, stop, err := serve("-serve", strconv.Itoa(total))
		if err != nil {
			return nil, err
		}
		defer stop()
		rounds := 3
		measured := func(stdout, name string, args ...string) func() (time.Duration, error) {
			return func() (time.Duration, error) {
				p, err := list(total, stdout, environment(url), name, args...)
				if name == till {
					peaks[total] = max(peaks[total], p.peak)
				}
				return p.wall, err
			}
		}
		if total < 1_000_000 {
			if _, err := measured("till", till, export...)(); err != nil {
				return nil, err
			}
			continue
		}
		bySplit, err := pairs(rounds, measured("till", till, export...), measured("split", self, "-split", url))
		if err != nil {
			return nil, err
		}
		byCopy, err := pairs(1, measured("till", till, export...), measured("copy", self, "-copy", url))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: "withdraw list --all -o jsonl / a bare splitter, 1,000,000 withdrawals", got: bySplit, unit: "x", limit: 2, atMost: true,
			detail: fmt.Sprintf("median of %d pairs; copying the answers to disk: %.2fx", rounds, byCopy)})
	}
	return append(rows,
		row{what: "withdraw list --all, peak memory at 1,000,000", got: peaks[1_000_000], unit: " MiB", limit: 40, atMost: true, detail: "largest of 6 runs"},
		row{what: "withdraw list --all, peak memory at 1,000,000 / at 100,000", got: peaks[1_000_000] / peaks[100_000], unit: "x", limit: 1.25, atMost: true, detail: "the same but for chance"},
	), nil
}
