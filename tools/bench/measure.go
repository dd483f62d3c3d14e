package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// process is what a finished process took.
type process struct {
	wall time.Duration
	peak float64 // MiB
}

// start runs a command to its end.
func start(stdout io.Writer, env []string, name string, args ...string) (process, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	p := process{wall: time.Since(begin)}
	if err != nil {
		return p, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	p.peak = peakOf(cmd.ProcessState)
	return p, nil
}

// pairs runs both sides, once to warm up and then rounds times, and returns the median of a/b. They take turns at who is
// first, so that a machine that gets busier or quieter favours neither.
func pairs(rounds int, a, b func() (time.Duration, error)) (float64, error) {
	var ratios []float64
	for i := range rounds + 1 {
		var took [2]time.Duration
		for turn := range 2 {
			side := (i + turn) % 2
			var err error
			if took[side], err = [2]func() (time.Duration, error){a, b}[side](); err != nil {
				return 0, err
			}
		}
		if i > 0 {
			ratios = append(ratios, float64(took[0])/float64(took[1]))
		}
	}
	return median(ratios), nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// helper starts this program as one of its helpers that serve, and returns its address and the end of it.
func serve(args ...string) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // the helper ends when this closes
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		stdin.Close()
		cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimSpace(line), stop, nil
}

// environment is that of a till that talks to url and knows no configuration.
func environment(url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TILL_CONFIG=" + os.DevNull,
		"TILL_BASE_URL=" + url, "TILL_API_KEY=till_sandbox_bench",
	}
}
