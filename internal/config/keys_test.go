package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const origin1 = "https://pay.example.com"

// script makes a program that a key command can run.
func script(t *testing.T, body string) string {
	t.Helper()
	return keyFile(t, "#!/bin/sh\n"+body+"\n", 0o700)
}

func keyFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(path, []byte(content), mode))
	must(t, os.Chmod(path, mode)) // independent of the umask
	return path
}

func profileWith(lines ...string) string {
	return "current: live\nprofiles:\n  live:\n    base_url: " + origin1 + "\n    " + strings.Join(lines, "\n    ") + "\n"
}

func stdin(r io.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) { return ReadKey(ctx, r) }
}

// keyFor finds the key with a configuration file of this content, or none, and a command line.
func keyFor(t *testing.T, file string, args ...string) (string, Origin, error) {
	t.Helper()
	if file != "" {
		file = write(t, file)
	}
	k := Keys{Env: noEnv, Stdin: stdin(strings.NewReader("from-stdin\r\n"))}
	return k.Key(context.Background(), resolve(t, file, nil, args...))
}

// TestWhichKeyIsTaken checks which key is taken, and that it goes nowhere else. A key of the profile goes only to the
// profile's own origin, even if a flag names another address, and a sandbox's key only to this machine.
func TestWhichKeyIsTaken(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	file := "api_key_file: " + keyFile(t, "from-file\n", 0o600)
	both := profileWith("api_key_command: ["+script(t, "echo from-command")+"]", file)
	runs := profileWith("api_key_command: [" + script(t, "touch "+ran+"; echo k1") + "]")
	const (
		here, sandboxed = "--base-url " + origin1, "--sandbox --base-url http://127.0.0.1:1"
		only, machine   = "goes to https://pay.example.com only", "goes to this machine only"
		ours, real      = "till_sandbox_1", "real"
		variable        = " (environment TILL_API_KEY)"
	)
	keyringWith(t, "live@"+origin1, "from-keyring", "default@"+origin1, "k1")
	for _, c := range []struct{ file, variable, args, want string }{ // the key and its source, or what the error says
		{both, "", here + " --api-key-file " + keyFile(t, "from-flag\n", 0o600), "from-flag (flag --api-key-file)"},
		{both, "", here + " --api-key-file -", "from-stdin (flag --api-key-file)"},
		{both, "", here + "/api", "from-command (profile live, api_key_command)"},
		{profileWith(), "", here, "from-keyring (keyring)"},
		{"", "", here, "k1 (keyring)"},                                                      // without a profile there may be one for the address
		{profileWith(file), "", here + ":443/v2", "from-file (profile live, api_key_file)"}, // the same origin
		{profileWith(file), "", "--base-url https://evil.example", only},
		{profileWith(file), "", here + ".evil.example", "--api-key-file or TILL_API_KEY"},
		{runs, "", here + ":8443", only},
		{runs, "", "--base-url http://127.0.0.1", "flag --base-url"},
		{"profiles: {live: {api_key_file: /k}}", "", "--profile live " + here, "has no base_url"}, // it belongs nowhere
		{"", ours, "--base-url http://127.0.0.1:1", ours + variable},
		{"", ours, "--base-url https://[::1]:1", ours + variable},
		{"", ours, "--sandbox", ours + variable},
		{"", ours, sandboxed, ours + variable},
		{"", ours, here, machine},
		{"", ours, "--base-url https://localhost:1", machine},
		{"", real, "--base-url http://127.0.0.1:1", real + variable},
		{"", real, sandboxed, "is not a sandbox's"},
		{"", real, "--sandbox", "has a key of its own"}, // it is not used
	} {
		path := ""
		if c.file != "" {
			path = write(t, c.file)
		}
		k := Keys{Env: env("TILL_API_KEY", c.variable), Stdin: stdin(strings.NewReader("from-stdin\r\n"))}
		key, source, err := k.Key(context.Background(), resolve(t, path, nil, strings.Fields(c.args)...))
		if !strings.HasSuffix(c.want, ")") {
			fails(t, c.args, err, "config", c.want)
		} else if got := fmt.Sprintf("%s (%s)", key, source); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", c.args, got, err, c.want)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the key command ran for another origin")
	}
}

func TestNoKey(t *testing.T) {
	keyringWith(t, "live@https://elsewhere.example", "k1") // the name of an entry includes the origin
	_, _, err := keyFor(t, profileWith())
	fails(t, "no entry", err, "config", "the profile live has no key for https://pay.example.com", "till auth login")
	noBus()
	_, _, err = keyFor(t, "", "--sandbox")
	fails(t, "sandbox", err, "config", "has a key of its own")
}

func TestUnreachableKeyring(t *testing.T) {
	noBus()
	_, _, err := keyFor(t, profileWith())
	fails(t, "error", err, "config", "no bus", "--api-key-file", "TILL_API_KEY", "api_key_command", "api_key_file")
	block := make(chan struct{})
	defer close(block)
	k := Keys{Env: noEnv, keyringLimit: 20 * time.Millisecond}
	s := resolve(t, write(t, profileWith()), nil)
	silent := func(string, string) (string, error) { <-block; return "", nil }
	_, err = k.withKeyring(context.Background(), s, silent)
	fails(t, "silent", err, "config", "did not answer in time")

	// Neither the keyring nor standard input, to which nothing is ever written, is waited for after an interruption.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = k.withKeyring(ctx, s, silent)
	r, w := io.Pipe()
	defer w.Close()
	_, _, err2 := Keys{Env: noEnv, Stdin: stdin(r)}.Key(ctx, Settings{keyFlag: "-", BaseURL: origin1})
	if !errors.Is(err, context.Canceled) || !errors.Is(err2, context.Canceled) {
		t.Errorf("interrupted: %v, %v", err, err2)
	}
}

func TestMalformedKeysAreRefused(t *testing.T) {
	s := resolve(t, "", nil, "--base-url", origin1)
	for _, key := range []string{"\n", "s3cret s3cret", " s3cret", "s3cret\ns3cret\n", "s3cret\n\n", "s3cret\x01",
		"s3cret\x00",
		"s3cret\u00e9", "\ufeffs3cret", strings.Repeat("s3cret", 1000), "s3cret\r\nX: y"} {
		_, _, err := Keys{Env: env("TILL_API_KEY", key)}.Key(context.Background(), s)
		fails(t, key, err, "config", "the key (environment TILL_API_KEY)")
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	for _, content := range []string{"", strings.Repeat("x", 1<<20)} {
		_, _, err := keyFor(t, "", "--base-url", origin1, "--api-key-file", keyFile(t, content, 0o600))
		fails(t, "file", err, "config", "the key (flag --api-key-file)")
	}
	_, _, err := keyFor(t, "", "--base-url", origin1, "--api-key-file", "/nonexistent")
	fails(t, "no file", err, "config", "the file of --api-key-file cannot be opened: no such file")
	if strings.Contains(err.Error(), "nonexistent") { // the path may be a key
		t.Errorf("the error shows what was written: %v", err)
	}
}

func TestKeyFileIsPrivate(t *testing.T) {
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false} {
		path := keyFile(t, "k1\n", mode)
		if key, _, err := keyFor(t, profileWith("api_key_file: "+path)); !ok {
			fails(t, mode.String(), err, "config", "open to others", "chmod 600 "+path)
		} else if key != "k1" || err != nil {
			t.Errorf("%o: %q, %v", mode, key, err)
		}
	}
}

// A shell's <(command) is not a regular file, and its mode, which lets all users read it, means nothing.
func TestKeyFromAPipe(t *testing.T) {
	read, write, err := os.Pipe()
	must(t, err)
	defer read.Close()
	path := fmt.Sprintf("/dev/fd/%d", read.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	fmt.Fprintln(write, "k1")
	write.Close()
	if key, _, err := keyFor(t, "", "--base-url", origin1, "--api-key-file", path); key != "k1" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
}

func TestKeyCommand(t *testing.T) {
	limit := time.Minute // a busy machine takes long to run a script
	run := func(body string, args ...string) (string, string, error) {
		words := "[" + script(t, body)
		for _, a := range args {
			words += fmt.Sprintf(", %q", a)
		}
		var stderr bytes.Buffer
		k := Keys{Env: noEnv, Stderr: &stderr, commandLimit: limit}
		key, _, err := k.Key(context.Background(), resolve(t, write(t, profileWith("api_key_command: "+words+"]")), nil))
		return key, stderr.String(), err
	}
	for _, c := range []struct {
		body              string
		args              []string
		key, stderr, says string
	}{
		// no shell comes between, and the outer space goes
		{`echo "please touch" >&2; echo "  $1-$2  "; echo`, []string{"$HOME", "*"}, "$HOME-*", "please touch\n", ""},
		{"cat; echo k1", nil, "k1", "", ""}, // standard input is empty, so cat does not wait
		{"echo locked >&2; exit 3", nil, "", "locked\n", "exit status 3"},
		{`echo "got s3-key" >&2; echo s3-key; echo "s3%2Dkey s3-key" >&2`, nil, "s3-key",
			"got [hidden]\ns3%2Dkey [hidden]\n", ""},
		{"echo s3cret; echo login: me", nil, "", "", "several lines"},
		{"exit 0", nil, "", "", "is empty"},
	} {
		key, stderr, err := run(c.body, c.args...)
		if key != c.key || stderr != c.stderr || c.says == "" && err != nil {
			t.Errorf("%s: %q, %q, %v", c.body, key, stderr, err)
		}
		if c.says != "" {
			fails(t, c.body, err, "config", c.says)
		}
	}
	_, stderr, _ := run(`while :; do echo s3cret-key; done | head -c 70000 >&2; echo s3cret-key`)
	if strings.Contains(stderr, "s3") || len(stderr) < 40_000 {
		t.Errorf("%d bytes of stderr, which ends with %q", len(stderr), stderr[max(0, len(stderr)-20):])
	}
	limit = 500 * time.Millisecond
	for _, body := range []string{"yes", "sleep 20 & sleep 20"} { // the child keeps the output open
		start := time.Now()
		_, _, err := run(body)
		fails(t, body, err, "config", "did not end within 500ms")
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("gave up on %s only after %v", body, took)
		}
	}
}

func TestStoreKey(t *testing.T) {
	ctx := context.Background()
	keyringWith(t)
	k := Keys{Env: noEnv}
	s := resolve(t, write(t, profileWith()), nil)
	must(t, k.StoreKey(ctx, s, "k1"))
	if key, source, err := k.Key(ctx, s); key != "k1" || source.String() != "keyring" || err != nil {
		t.Errorf("%q, %q, %v", key, source, err)
	}
	removed, err := k.DeleteKey(ctx, s)
	again, err2 := k.DeleteKey(ctx, s)
	if fmt.Sprint(removed, again) != "[the keyring] []" || err != nil || err2 != nil {
		t.Errorf("%v, %v, %v, %v", removed, err, again, err2)
	}
	for _, c := range []struct{ line, key, says string }{
		{"", "a b", "white space"}, {"", "till_sandbox_x", "this machine only"},
		{"api_key_command: [/bin/x]", "k1", "till profile set live api_key_command="},
		{"api_key_file: /k", "k1", "till profile set live api_key_file="},
	} {
		fails(t, c.says, k.StoreKey(ctx, resolve(t, write(t, profileWith(c.line)), nil), c.key), "config", c.says)
	}
	_, _, err = k.Key(ctx, s)
	fails(t, "a refused key is not stored", err, "config", "has no key")
	own := keyFile(t, "mine", 0o600) // till does not remove a key file that a person has named
	removed, err = k.DeleteKey(ctx, resolve(t, write(t, profileWith("api_key_file: "+own)), nil))
	if removed != nil || err != nil || read(t, own) != "mine" {
		t.Errorf("%v, %v", removed, err)
	}
	noBus()
	fails(t, "unreachable", k.StoreKey(ctx, s, "k1"), "config", "no bus", "till auth login --store file")
}

func TestStoreKeyFileRefuses(t *testing.T) {
	for says, s := range map[string]Settings{
		"make one first":                       resolve(t, "", nil, "--base-url", origin1),
		"goes to https://pay.example.com only": resolve(t, write(t, profileWith()), nil, "--base-url", "https://x.example"),
	} {
		_, err := (Keys{Env: noEnv}).StoreKeyFile(s, "k1")
		fails(t, says, err, "config", says)
	}
}
