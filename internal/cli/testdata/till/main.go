// Command till is till, and records what it prints for the tests of internal/cli.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/till/internal/cli"
	"example.com/till/internal/cmdline"
	"example.com/till/internal/terminal"
	"github.com/spf13/cobra"
)

// record is what the tests read of a run.
type record struct {
	Args     []string
	Output   string
	Code     int
	Out, Err []byte
}

func main() { os.Exit(run()) }

func run() int {
	cmdline.Undeclared = func(command string, d cmdline.Deed) {
		fmt.Fprintf(os.Stderr, "%s does something that deeds.go does not say of it: %s\n", command, d)
		os.Exit(99)
	}
	streams := cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ, Now: time.Now}
	folder := os.Getenv("RECORD_OUTPUT_IN")
	r := record{Args: os.Args[1:], Output: os.Getenv("TILL_OUTPUT")}
	if folder == "" || !r.isOwn() || terminal.Of(os.Stdout) != nil || terminal.Of(os.Stderr) != nil {
		return cli.Run(context.Background(), os.Args, streams)
	}
	out, errOut := tee{to: os.Stdout}, tee{to: os.Stderr}
	streams.Out, streams.Err = &out, &errOut
	r.Code = cli.Run(context.Background(), os.Args, streams)
	r.Out, r.Err = out.written(), errOut.written()
	text, err := json.Marshal(r)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(folder, "*.json"); err == nil {
			_, err = f.Write(text)
			f.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the output could not be recorded:", err)
		return 99
	}
	return r.Code
}

// isOwn reports whether what is printed is till's own: sandbox run prints what another program prints, and a completion
// belongs to the shell.
func (r record) isOwn() bool {
	return !strings.Contains(" "+strings.Join(r.Args, " ")+" ", " sandbox run ") &&
		!slices.Contains(r.Args, cobra.ShellCompRequestCmd)
}

// tee writes to a stream, and keeps what the stream has taken. The programs that till starts write to it too.
type tee struct {
	to   io.Writer
	mu   sync.Mutex // not held while the stream takes something, which may be for ever
	kept bytes.Buffer
}

func (t *tee) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Write(p[:n])
	return n, err
}

func (t *tee) written() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept.Bytes())
}
