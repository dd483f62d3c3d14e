package cli

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
	"example.com/till/pkg/api/sandbox"
)

func TestSandboxServe(t *testing.T) {
	dir := t.TempDir()
	ready, env := filepath.Join(dir, "ready.json"), filepath.Join(dir, "env")
	r := startCommand(t, []string{"TILL_API_KEY=till_sandbox_mine"}, "sandbox", "serve", "-o", "json", "--ready-file",
		ready, "--env-file", env)
	eventually(t, "the output", func() bool { return strings.HasSuffix(r.out.String(), "}\n") })
	var printed, filed struct {
		BaseURL string `json:"base_url"`
		APIKey  string `json:"api_key"`
	}
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal([]byte(r.out.String()), &printed),
		json.Unmarshal(text, &filed)); err != nil || printed != filed {
		t.Errorf("printed %v, filed %v, %v", printed, filed, err)
	}
	if printed.APIKey != "till_sandbox_mine" {
		t.Errorf("the key is %s", printed.APIKey)
	}
	req, _ := http.NewRequest("GET", printed.BaseURL+"/api/resellers/ids", nil)
	req.Header.Set("Authorization", "Bearer "+printed.APIKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
	lines, err := os.ReadFile(env)
	_, journal, found := strings.Cut(strings.TrimSpace(string(lines)), "TILL_JOURNAL=")
	want := "TILL_BASE_URL=" + printed.BaseURL +
		"\nTILL_API_KEY=till_sandbox_mine\nTILL_PROFILE=sandbox\nTILL_JOURNAL=" + journal + "\n"
	if string(lines) != want || !found {
		t.Errorf("env file: %q, %v", lines, err)
	}
	if _, err := os.Stat(filepath.Dir(journal)); err != nil {
		t.Errorf("the journal has no place: %v", err)
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(filepath.Dir(journal)); err == nil {
		t.Errorf("the journal %s is left behind", journal)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(printed.BaseURL, "http://")); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

func TestSandboxUsage(t *testing.T) {
	real := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(real, []byte("live_1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{nil, []string{"serve", "--listen", "0.0.0.0:0"}},
		{nil, []string{"serve", "--listen", "127.0.0.1"}},
		{nil, []string{"serve", "--seed", "everything"}},
		{nil, []string{"serve", "--set", "first_page"}},
		{nil, []string{"serve", "--set", "no_such=1"}},
		{nil, []string{"serve", "--set", "first_page=2"}},
		{nil, []string{"serve", "--set", "first_page=1", "--set", "first_page=0"}},
		{nil, []string{"serve", "--ready-file", "x", "--env-file", "x"}},
		{nil, []string{"serve", "--env-file", real}},
		{nil, []string{"serve", "--api-key-file", real}},
		{[]string{"TILL_API_KEY=live_1234"}, []string{"serve"}},
		{[]string{"TILL_API_KEY=" + sandbox.KeyPrefix}, []string{"serve"}},
		{nil, []string{"serve", "--dry-run"}},
		{nil, []string{"run"}},
		{nil, []string{"run", "--"}},
		{nil, []string{"run", "true"}},
		{nil, []string{"run", "x", "--", "true"}},
		{nil, []string{"run", "--", ""}},
		{nil, []string{"run", "--api-key-file", "-", "--", "true"}},
		{nil, []string{"run", "--dry-run", "--", "true"}},
		{nil, []string{"run", "--state", "", "--", "true"}},
	} {
		r := startCommand(t, c.env, append([]string{"sandbox"}, c.args...)...)
		err := r.wait(t)
		if f, ok := errors.AsType[*cmdutil.Error](err); err == nil || ok && f.Code != cmdutil.ExitUsage ||
			r.out.String() != "" {
			t.Errorf("%q: %v, printed %q", c.args, err, r.out)
		}
		if text := r.err.String(); strings.Contains(text, "live_1234") ||
			err != nil && strings.Contains(err.Error(), "live_1234") {
			t.Errorf("%q shows the key: %v %s", c.args, err, text)
		}
	}
}

func TestSandboxSettings(t *testing.T) {
	r := startCommand(t, nil, "sandbox", "settings", "-o", "json")
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	var all []sandbox.Setting
	if err := json.Unmarshal([]byte(r.out.String()), &all); err != nil || len(all) != len(sandbox.Settings()) {
		t.Errorf("%d settings, %v", len(all), err)
	}
}
