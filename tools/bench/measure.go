package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// program is a measured command. peak is the largest peak memory of its runs, in MiB.
type program struct {
	env    []string // nil: that of this process
	name   string
	args   []string
	stdout io.Writer
	peak   float64
}

func command(env []string, name string, args ...string) *program {
	return &program{env: env, name: name, args: args}
}

// run runs the command to its end and returns how long it took.
func (p *program) run() time.Duration {
	var stderr bytes.Buffer
	cmd := exec.Command(p.name, p.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	wall := time.Since(begin)
	if err != nil {
		check(fmt.Errorf("%s %s: %w: %s", p.name, strings.Join(p.args, " "), err, stderr.String()))
	}
	p.peak = max(p.peak, peakOf(cmd.ProcessState))
	return wall
}

// pairs runs both sides, once to warm up and then rounds times, and returns the median of a/b. The sides take
// turns to go first, so that a machine that gets busier or quieter favours neither.
func pairs(rounds int, a, b func() time.Duration) float64 {
	var ratios []float64
	for i := range rounds + 1 {
		var took [2]time.Duration
		for turn := range 2 {
			side := (i + turn) % 2
			took[side] = [2]func() time.Duration{a, b}[side]()
		}
		if i > 0 {
			ratios = append(ratios, float64(took[0])/float64(took[1]))
		}
	}
	return median(ratios)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// together makes the given number of calls, width at a time, and returns how long they took altogether.
func together(width, calls int, call func(worker, number int) error) time.Duration {
	var group sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, width)
	begin := time.Now()
	for worker := range width {
		group.Go(func() {
			for errs[worker] == nil {
				number := int(next.Add(1)) - 1
				if number >= calls {
					return
				}
				errs[worker] = call(worker, number)
			}
		})
	}
	group.Wait()
	took := time.Since(begin)
	check(errors.Join(errs...))
	return took
}

// service is a server in its own process.
type service struct {
	url  string
	stop func()
}

// serve starts a command that serves. The server is ready when it has printed its address.
func serve(env []string, name string, args ...string) service {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	stdin := must(cmd.StdinPipe()) // a helper ends when this closes
	out := must(cmd.StdoutPipe())
	check(cmd.Start())
	stop := func() {
		stdin.Close()
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	var at address
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		stop()
		check(fmt.Errorf("%s %s has printed no address: %w", name, strings.Join(args, " "), err))
	}
	return service{at.BaseURL, stop}
}

// address is the output of a server.
type address struct {
	BaseURL string `json:"base_url"`
}

// helper starts this program as one of its helpers that serve.
func (b *bench) helper(args ...string) service { return serve(nil, b.self, args...) }

// sandbox starts a sandbox of the binary.
func (b *bench) sandbox(flags ...string) service {
	return serve(environment(""), b.till, append([]string{"sandbox", "serve", "-o", "json"}, flags...)...)
}

// environment returns the environment of a till that talks to url and has no configuration.
func environment(url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TILL_CONFIG=" + os.DevNull,
		"TILL_BASE_URL=" + url, "TILL_API_KEY=" + sandboxKey,
	}
}
