package sandbox

import (
	"testing"

	"example.com/till/internal/cmdutil"
)

func TestCheckListen(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "127.1.2.3:8080", "[::1]:0"} {
		if err := (serverFlags{listen: address}).checkListen(); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{":8080", "0.0.0.0:0", "[::]:0", "localhost:80", "192.168.0.1:80",
		"[::ffff:127.0.0.1]:80", "[::1%lo]:80"} {
		if err := (serverFlags{listen: address}).checkListen(); err == nil || cmdutil.Explain(err).Code != cmdutil.ExitUsage {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestEnvFile(t *testing.T) {
	got := string(sandboxAddress{"http://[::1]:80", "till_sandbox_a'b$c", "/tmp/j.db"}.envFile())
	want := "TILL_BASE_URL=http://[::1]:80\nTILL_API_KEY='till_sandbox_a'\\''b$c'\nTILL_PROFILE=sandbox\n" +
		"TILL_JOURNAL=/tmp/j.db\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
