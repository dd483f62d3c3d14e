//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/till/internal/exit"
)

func endlessList(t *testing.T) string {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := calls.Add(1)
		var rows []string
		for i := range 50 {
			rows = append(rows,
				fmt.Sprintf(`{"id":"w-%d-%d","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":1}},"statuses":[],`+
					`"current":"New","address":{"Crypto":{"currency":"Btc","address":"a"}}}`, page, i))
		}
		fmt.Fprintf(w, `{"page_content":[%s],"page_count":1000000000,"total":1000000000}`, strings.Join(rows, ","))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestListEndsWhenItsReaderStops checks that a list ends with 0 and without a word if its reader stops early. It
// does not die of a signal. It ends although the list is endless.
func TestListEndsWhenItsReaderStops(t *testing.T) {
	for _, format := range []string{"-o json", "-o jsonl", "-o csv", "-q"} {
		t.Run(format, func(t *testing.T) {
			// what breaks off has no schema, so it is not recorded
			env := docsEnv(t, recordsVariable+"=", "TILL_API_KEY=k", "TILL_BASE_URL="+endlessList(t))
			cmd := command(t, env, append([]string{"till", "withdraw", "list"}, strings.Fields(format)...)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line == "" {
				t.Errorf("%q, %v", line, err)
			}
			out.Close()
			cmd.Wait()
			if cmd.ProcessState.ExitCode() != exit.Done || stderr.Len() > 0 {
				t.Errorf("%v: %s", cmd.ProcessState, &stderr)
			}
		})
	}
}

// TestCommandsDieOfClosedPipes checks that commands that till runs have the default handling of SIGPIPE:
// their pipelines end as in a shell.
func TestCommandsDieOfClosedPipes(t *testing.T) {
	cmd := command(t, docsEnv(t), "till", "sandbox", "run", "--", "sh", "-c", "(yes; echo $? >&2) | true")
	text, err := cmd.CombinedOutput()
	if err != nil || string(text) != "141\n" {
		t.Errorf("%v: %s", err, text)
	}
}

// TestClosedStderrChangesNoExitCode checks that a closed standard error ends nothing and changes no exit
// code.
func TestClosedStderrChangesNoExitCode(t *testing.T) {
	env := docsEnv(t)
	reader, writer, err := os.Pipe()
	must(t, err)
	reader.Close()
	defer writer.Close()
	cmd := command(t, env, "till", "--sandbox", "withdraw", "create", "--currency", "Btc", "--amount", "0.1",
		"--address", "a",
		"--order-id", "7", "--yes")
	cmd.Stderr = writer
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		t.Errorf("%v: %q", err, out)
	}
	cmd = command(t, env, "till", "--sandbox", "withdraw", "get", "--order-id", "8")
	cmd.Stderr = writer
	if cmd.Run(); cmd.ProcessState.ExitCode() != exit.Usage {
		t.Error(cmd.ProcessState)
	}
}
