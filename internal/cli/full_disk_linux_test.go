package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
)

// smallDisk mounts a disk of size KiB.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("till", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", size)); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func fillDisk(t *testing.T, disk string) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
}

// TestFullDiskSetsTheExitCode checks that a full disk ends with exit code 14 for the journal and with 11 for
// other files. The message says what to free, and nothing is sent.
func TestFullDiskSetsTheExitCode(t *testing.T) {
	for _, c := range []struct {
		args string // DISK is the full disk; PLAN was planned elsewhere
		env  string
		code int
		says string
	}{
		{"payout plan STAFF --out DISK/p.plan", "", 11, "free some space in DISK, and plan it again"},
		{"payout plan FEW --out DISK/p.plan --auto-order-id may", "", 11, "free some space in DISK, and plan it again"},
		{"payout apply PLAN --yes --results DISK/r.csv", "", 11, "free some space in DISK, and run it again"},
		{"payout apply PLAN --yes", "TILL_JOURNAL=DISK/j.db", 14, "free some room"},
		{"withdraw create --currency Btc --amount 0.1 --address a --yes", "TILL_JOURNAL=DISK/j.db", 14, "free some room"},
		{"journal copy DISK/copy.db", "", 14, "free some room"},
		{"reseller report --html DISK/r.html", "", 11, "free some space in DISK"},
		{"reseller report --svg DISK/r.svg", "", 11, "free some space in DISK"},
		{"callback listen --timeout 1ms --ready-file DISK/r.json", "", 11, "free some space in DISK"},
		{"sandbox run --env-file DISK/r.env -- true", "", 11, "free some space in DISK"},
		{"invoice create --title T --currency Usd --item A=1.00", "TILL_SANDBOX_STATE=DISK/s.db", 11,
			"free the disk if it is full"},
		{"sandbox run --state DISK/s.db -- true", "", 11, "free the disk if it is full"},
		{"profile set shop base_url=https://pay.example.com", "TILL_CONFIG=DISK/c.yaml", 11, "free some space there"},
		{"currency set Doge --kind crypto --decimals 8", "TILL_CONFIG=DISK/made.yaml", 11, "free some space there"},
	} {
		t.Run(c.args, func(t *testing.T) {
			disk := smallDisk(t, 64)
			writeFile(t, filepath.Join(disk, "made.yaml"), "")
			fillDisk(t, disk)
			home := t.TempDir()
			env := []string{"HOME=" + home}
			rows := "order_id,currency,amount,address\n"
			for i := range 3000 {
				rows += fmt.Sprintf("%d,Btc,0.01,a\n", i+1)
			}
			staff := writeFile(t, home+"/staff.csv", rows)
			short := writeFile(t, home+"/few.csv", "currency,amount,address\nBtc,0.01,a\n")
			plan := filepath.Join(home, "good.plan")
			if f := till(t, env, "--sandbox", "payout", "plan", short, "--auto-order-id", "b", "--out", plan); f.code != 0 {
				t.Fatal(f.err)
			}
			in := strings.NewReplacer("DISK", disk, "PLAN", plan, "STAFF", staff, "FEW", short)
			if c.env != "" {
				env = append(env, in.Replace(c.env))
			}
			args := strings.Fields(in.Replace(c.args))
			if !strings.Contains(c.env, "TILL_CONFIG") {
				args = append([]string{"--sandbox"}, args...)
			}
			f := till(t, env, args...)
			if f.code != c.code || f.out != "" || strings.Count(f.err, "\n") != 1 ||
				!strings.Contains(f.err, in.Replace(c.says)) {
				t.Errorf("it is to end with %d: %+v", c.code, f)
			}
			env = append(env, "TILL_SANDBOX_STATE=", "TILL_JOURNAL=")
			if f := till(t, env, "--sandbox", "withdraw", "list", "-q"); f.out != "" {
				t.Errorf("something was sent: %s", f.out)
			}
			if left, err := filepath.Glob(filepath.Join(disk, "*plan*")); err != nil || left != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestFullDiskIsReported checks that a run which a full disk ends is reported, and that metrics on that disk
// keep their old content.
func TestFullDiskIsReported(t *testing.T) {
	disk, home := smallDisk(t, 256), t.TempDir()
	env := []string{"HOME=" + home}
	report := filepath.Join(home, "report.json")
	writeProgram(t, home+"/tell", "cat >"+report)
	metrics := filepath.Join(disk, "till.prom")
	create := func(order string) []string {
		return []string{"--sandbox", "withdraw", "create", "--currency", "Btc", "--amount", "0.1", "--address", "a",
			"--order-id", order, "--yes", "--allow-duplicate", "--on-finish", home + "/tell", "--metrics", metrics}
	}
	if f := till(t, env, create("1")...); f.code != 0 || strings.Count(f.err, "\n") != 1 ||
		!strings.Contains(f.err, "is new and empty") {
		t.Fatalf("%+v", f)
	}
	before := contents(t, metrics)
	fillDisk(t, disk)
	env = append(env, "TILL_JOURNAL="+filepath.Join(disk, "journal.db"))
	f := till(t, env, create("2")...)
	if f.code != 14 || !strings.Contains(f.err, "the metrics were not written to "+metrics+": no space left on device") {
		t.Errorf("%+v", f)
	}
	if got := contents(t, report); !strings.Contains(got, `"exit_code":14,"kind":"journal"`) {
		t.Errorf("the report is %s", got)
	}
	if got := contents(t, metrics); got != before {
		t.Errorf("the metrics are\n%s\nand not\n%s", got, before)
	}
	if left, err := filepath.Glob(filepath.Join(disk, ".*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRoomForAllResults(t *testing.T) {
	disk := smallDisk(t, 256)
	file := cmdutil.OutFile{Flag: "results", Path: filepath.Join(disk, "r.csv"), Mode: 0o600, Room: 300 << 10}
	if err := file.Check(); err == nil || exit.Explain(err).Code != exit.Config {
		t.Errorf("300 KiB on 256: %v", err)
	}
	file.Room = 200 << 10
	if err := file.Check(); err != nil {
		t.Errorf("200 KiB on 256: %v", err)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
