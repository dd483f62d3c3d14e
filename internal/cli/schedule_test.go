//go:build unix

package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// installedExamples is where the packages put the examples.
const installedExamples = "/usr/share/doc/till/examples"

// TestScheduledTasks runs what examples/schedule has for cron and for systemd, each with the environment that
// these give to a task. The task must find a payment whose answer was lost.
func TestScheduledTasks(t *testing.T) {
	t.Parallel()
	till, err := exec.LookPath("till")
	must(t, err)
	ours := strings.NewReplacer(installedExamples, absolute(t, "examples"), "/usr/local/bin", filepath.Dir(till))
	t.Run("cron", func(t *testing.T) {
		t.Parallel()
		path, task := "/usr/bin:/bin", ""
		for line := range strings.Lines(pageText(t, "examples/schedule/crontab")) {
			line = strings.TrimSuffix(ours.Replace(line), "\n")
			set, isPath := strings.CutPrefix(line, "PATH=")
			switch fields := strings.SplitN(line, " ", 6); {
			case isPath:
				path = set
			case len(fields) == 6 && fields[0] != "#":
				task = fields[5]
			}
		}
		if strings.Contains(task, "%") {
			t.Error("cron ends a line at a percent sign")
		}
		runTask(t, path, task)
	})
	t.Run("systemd", func(t *testing.T) {
		t.Parallel()
		text := pageText(t, "examples/schedule/till-nightly.service")
		start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(text)
		runTask(t, filepath.Dir(till)+":/usr/local/bin:/usr/bin:/bin", ours.Replace(start[1]))
	})
}

// runTask runs a task with nothing but the variables that cron and systemd set.
func runTask(t *testing.T, path, task string) {
	t.Helper()
	box, home := sandbox.Start(t), t.TempDir()
	env := []string{"HOME=" + home, "LOGNAME=ann", "SHELL=/bin/sh", "PATH=" + path, "TMPDIR=" + t.TempDir()}
	_, err := box.AddFault(sandbox.Fault{Do: "drop-after", On: "POST /api/merchant_withdrawal/create", Times: 1})
	must(t, err)
	key := writeFile(t, filepath.Join(home, "key"), box.Key())
	till, err := exec.LookPath("till")
	must(t, err)
	execute(t, env, "sh", "-ec", `$0 profile set live base_url=$1 account=acme api_key_file=$2
$0 currency set Btc --decimals 8
$0 withdraw create --currency Btc --amount 0.1 --address a --order-id 1 --yes || test $? = 20
env -i "HOME=$HOME" "LOGNAME=$LOGNAME" "SHELL=$SHELL" "PATH=$PATH" sh -c "$3" >"$HOME/task"
$0 journal show 1 --jq .state`, till, box.URL, key, task).want(t, 0, "accepted\n")
}

// TestScheduleFiles checks what the system that reads these files would refuse.
func TestScheduleFiles(t *testing.T) {
	t.Parallel()
	t.Run("systemd", func(t *testing.T) {
		needProgram(t, "systemd-analyze")
		unit := absolute(t, "examples/schedule/till-nightly")
		f := execute(t, os.Environ(), "systemd-analyze", "verify", unit+".service", unit+".timer")
		if f.code != 0 || f.out+f.err != "" { // what it ignores is only written
			t.Errorf("it ended with %d: %s%s", f.code, f.out, f.err)
		}
	})
	t.Run("launchd", func(t *testing.T) { // well-formed: there is no launchd here
		text := pageText(t, "examples/schedule/com.example.till-nightly.plist")
		for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
