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
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func keyFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // independent of the umask
		t.Fatal(err)
	}
	return path
}

func profileWith(lines ...string) string {
	return "current: live\nprofiles:\n  live:\n    base_url: " + origin1 + "\n    " + strings.Join(lines, "\n    ") + "\n"
}

func TestKeyPrecedence(t *testing.T) {
	command := "api_key_command: [" + script(t, "echo from-command") + "]"
	file := "api_key_file: " + keyFile(t, "from-file\n", 0o600)
	ring := &fakeKeyring{entries: map[string]string{"till live@" + origin1: "from-keyring"}}
	flag := keyFile(t, "from-flag\n", 0o600)
	for _, c := range []struct {
		file        string
		env         func(string) string
		args        []string
		key, source string
	}{
		{profileWith(command, file), env("TILL_API_KEY", "from-env"), []string{"--api-key-file", flag}, "from-flag",
			"flag --api-key-file"},
		{profileWith(command, file), env("TILL_API_KEY", "from-env"), []string{"--api-key-file", "-"}, "from-stdin",
			"flag --api-key-file"},
		{profileWith(command, file), env("TILL_API_KEY", "from-env\n"), nil, "from-env", "environment TILL_API_KEY"},
		{profileWith(command, file), nil, nil, "from-command", "profile live, api_key_command"},
		{profileWith(file), nil, nil, "from-file", "profile live, api_key_file"},
		{profileWith(), nil, nil, "from-keyring", "keyring"},
	} {
		if c.env == nil {
			c.env = noEnv
		}
		k := Keys{Env: c.env, Stdin: strings.NewReader("from-stdin\r\n"), Keyring: ring.keyring()}
		s := resolve(t, write(t, c.file), c.env, c.args...)
		key, source, err := k.Key(context.Background(), s)
		if err != nil || key != c.key || source.String() != c.source || k.Source(s) != source {
			t.Errorf("%q (%s), %v; want %q (%s)", key, source, err, c.key, c.source)
		}
	}
	if ring.calls.Load() != 1 {
		t.Errorf("the keyring was asked %d times, though only one case needs it", ring.calls.Load())
	}
}

func TestNoKey(t *testing.T) {
	_, _, err := Keys{Env: noEnv, Keyring: (&fakeKeyring{}).keyring()}.Key(context.Background(), resolve(t, write(t, profileWith()), nil))
	fails(t, "no entry", err, "config", "the profile live has no key for https://pay.example.com", "till auth login")
	if !errors.Is(err, ErrNoKey) {
		t.Error("not ErrNoKey")
	}
	ring := &fakeKeyring{}
	_, _, err = Keys{Env: noEnv, Keyring: ring.keyring()}.Key(context.Background(), resolve(t, "", nil, "--sandbox"))
	if !errors.Is(err, ErrNoKey) || ring.calls.Load() != 0 {
		t.Errorf("%v, %d calls", err, ring.calls.Load())
	}
	// Without a profile there may be a keyring's key for the address.
	ring = &fakeKeyring{entries: map[string]string{"till default@" + origin1: "k1"}}
	key, _, err := Keys{Env: noEnv, Keyring: ring.keyring()}.Key(context.Background(), resolve(t, "", nil, "--base-url", origin1+"/api"))
	if key != "k1" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
}

func TestUnreachableKeyring(t *testing.T) {
	s := resolve(t, write(t, profileWith()), nil)
	_, _, err := Keys{Env: noEnv, Keyring: (&fakeKeyring{err: errors.New("no bus")}).keyring()}.Key(context.Background(), s)
	fails(t, "error", err, "config", "no bus", "--api-key-file", "TILL_API_KEY", "api_key_command", "api_key_file")
	if errors.Is(err, ErrNoKey) {
		t.Error("an unreachable keyring is taken for an empty one")
	}
	block := make(chan struct{})
	defer close(block)
	k := Keys{Env: noEnv, Keyring: (&fakeKeyring{block: block}).keyring(), keyringLimit: 20 * time.Millisecond}
	_, _, err = k.Key(context.Background(), s)
	fails(t, "silent", err, "config", "did not answer in time")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err = k.Key(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A key of the profile goes only to the profile's own origin, even if a flag names another address.
func TestKeyStaysAtItsOrigin(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	command := profileWith("api_key_command: [" + script(t, "touch "+ran+"; echo k1") + "]")
	file := profileWith("api_key_file: " + keyFile(t, "k1", 0o600))
	for _, c := range []struct {
		file string
		url  string
		ok   bool
	}{
		{file, origin1, true},
		{file, origin1 + ":443/v2", true}, // another path of the same origin
		{file, "https://evil.example", false},
		{file, origin1 + ".evil.example", false},
		{file, origin1 + ":8443", false},
		{file, "http://127.0.0.1", false},
		{command, "https://evil.example", false},
	} {
		for _, s := range []Settings{resolve(t, write(t, c.file), nil, "--base-url", c.url),
			resolve(t, write(t, c.file), env("TILL_BASE_URL", c.url))} {
			key, _, err := Keys{Env: noEnv, Keyring: (&fakeKeyring{}).keyring()}.Key(context.Background(), s)
			if c.ok && (key != "k1" || err != nil) {
				t.Errorf("%s: %q, %v", c.url, key, err)
			} else if !c.ok {
				fails(t, c.url, err, "config", "goes to https://pay.example.com only", "--api-key-file or TILL_API_KEY",
					s.Origin("base_url").String())
			}
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the key command ran for another origin")
	}
	// A key that was given by hand goes to any address.
	s := resolve(t, write(t, file), nil, "--base-url", "https://elsewhere.example")
	if key, _, err := (Keys{Env: env("TILL_API_KEY", "k2")}).Key(context.Background(), s); key != "k2" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	// The name of a keyring entry includes the origin.
	ring := &fakeKeyring{entries: map[string]string{"till live@" + origin1: "k1"}}
	_, _, err := Keys{Env: noEnv, Keyring: ring.keyring()}.Key(context.Background(),
		resolve(t, write(t, profileWith()), nil, "--base-url", "https://evil.example"))
	if !errors.Is(err, ErrNoKey) {
		t.Errorf("%v, want no key for that address", err)
	}
	// A profile without an address cannot send its key anywhere.
	s = resolve(t, write(t, "profiles: {live: {api_key_file: /k}}"), nil, "--profile", "live", "--base-url", origin1)
	_, _, err = Keys{Env: noEnv}.Key(context.Background(), s)
	fails(t, "no base_url", err, "config", "has no base_url", "till profile set live base_url=")
}

func TestSandboxKeyStaysOnThisMachine(t *testing.T) {
	const marked = "till_sandbox_1"
	for _, c := range []struct {
		key  string
		args []string
		says string // empty: no error
	}{
		{marked, []string{"--base-url", "http://127.0.0.1:1"}, ""},
		{marked, []string{"--base-url", "https://[::1]:1"}, ""},
		{marked, []string{"--sandbox"}, ""},
		{marked, []string{"--sandbox", "--base-url", "http://127.0.0.1:1"}, ""},
		{marked, []string{"--base-url", "https://pay.example.com"}, "goes to this machine only"},
		{marked, []string{"--base-url", "https://localhost:1"}, "goes to this machine only"},
		{"real", []string{"--base-url", "http://127.0.0.1:1"}, ""},
		{"real", []string{"--sandbox", "--base-url", "http://127.0.0.1:1"}, "is not a sandbox's"},
		{"real", []string{"--sandbox"}, "is not a sandbox's"},
	} {
		_, _, err := Keys{Env: env("TILL_API_KEY", c.key)}.Key(context.Background(), resolve(t, "", nil, c.args...))
		if c.says == "" && err != nil {
			t.Errorf("%s %q: %v", c.key, c.args, err)
		} else if c.says != "" {
			fails(t, c.key, err, "config", c.says)
		}
	}
}

func TestMalformedKeysAreRefused(t *testing.T) {
	s := resolve(t, "", nil, "--base-url", origin1)
	for name, key := range map[string]string{
		"newline only": "\n", "inner space": "s3cret s3cret", "leading space": " s3cret", "two lines": "s3cret\ns3cret\n",
		"two newlines": "s3cret\n\n", "control": "s3cret\x01", "NUL": "s3cret\x00", "no ASCII": "s3cret\u00e9",
		"BOM":  "\ufeffs3cret",
		"long": strings.Repeat("s3cret", 1000), "header": "s3cret\r\nX: y",
	} {
		_, _, err := Keys{Env: env("TILL_API_KEY", key)}.Key(context.Background(), s)
		fails(t, name, err, "config", "the key (environment TILL_API_KEY)")
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
	for _, content := range []string{"", strings.Repeat("x", 1<<20)} {
		s := resolve(t, "", nil, "--base-url", origin1, "--api-key-file", keyFile(t, content, 0o600))
		_, _, err := Keys{Env: noEnv}.Key(context.Background(), s)
		fails(t, "file", err, "config", "the key (flag --api-key-file)")
	}
	_, _, err := Keys{Env: noEnv}.Key(context.Background(),
		resolve(t, "", nil, "--base-url", origin1, "--api-key-file", "/nonexistent"))
	fails(t, "no file", err, "config", "the file of --api-key-file cannot be opened: no such file")
	if strings.Contains(err.Error(), "nonexistent") { // the path may be a key
		t.Errorf("the error shows what was written: %v", err)
	}
}

func TestKeyFileIsPrivate(t *testing.T) {
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false} {
		path := keyFile(t, "k1\n", mode)
		for _, s := range []Settings{
			resolve(t, "", nil, "--base-url", origin1, "--api-key-file", path),
			resolve(t, write(t, profileWith("api_key_file: "+path)), nil),
		} {
			key, source, err := Keys{Env: noEnv}.Key(context.Background(), s)
			if ok && (key != "k1" || err != nil) {
				t.Errorf("%o, %s: %q, %v", mode, source, key, err)
			} else if !ok {
				fails(t, mode.String(), err, "config", "open to others", "chmod 600 "+path)
			}
		}
	}
}

// A shell's <(command) is not a regular file, and its mode, which lets all users read it, means nothing.
func TestKeyFromAPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	path := fmt.Sprintf("/dev/fd/%d", read.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	fmt.Fprintln(write, "k1")
	write.Close()
	key, _, err := Keys{Env: noEnv}.Key(context.Background(), resolve(t, "", nil, "--base-url", origin1, "--api-key-file", path))
	if key != "k1" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
}

func TestKeyFileInTheHomeDirectory(t *testing.T) {
	in := input(t, write(t, profileWith("api_key_file: ~/k")), nil)
	if err := os.WriteFile(filepath.Join(in.Home, "k"), []byte("home"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if key, _, err := (Keys{Env: noEnv}).Key(context.Background(), s); key != "home" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
}

func TestKeyCommand(t *testing.T) {
	run := func(body string, args ...string) (string, string, error) {
		words := fmt.Sprintf("[%s", script(t, body))
		for _, a := range args {
			words += fmt.Sprintf(", %q", a)
		}
		var stderr bytes.Buffer
		k := Keys{Env: noEnv, Stderr: &stderr, commandLimit: 500 * time.Millisecond}
		key, _, err := k.Key(context.Background(), resolve(t, write(t, profileWith("api_key_command: "+words+"]")), nil))
		return key, stderr.String(), err
	}
	key, stderr, err := run(`echo "please touch" >&2; echo "  $1-$2  "; echo`, "$HOME", "*")
	if key != "$HOME-*" || stderr != "please touch\n" || err != nil {
		t.Errorf("%q, %q, %v: no shell comes between, and the outer space goes", key, stderr, err)
	}
	_, stderr, err = run("echo locked >&2; exit 3")
	fails(t, "failed", err, "config", "exit status 3")
	if stderr != "locked\n" {
		t.Errorf("stderr %q", stderr)
	}
	_, stderr, _ = run(`echo "got s3cret-key" >&2; echo s3cret-key; echo "s3cret%2Dkey s3cret-key" >&2`)
	if stderr != "got [hidden]\ns3cret%2Dkey [hidden]\n" {
		t.Errorf("stderr %q has the key", stderr)
	}
	_, stderr, _ = run(`while :; do echo s3cret-key; done | head -c 70000 >&2; echo s3cret-key`)
	if strings.Contains(stderr, "s3") || len(stderr) < 40_000 {
		t.Errorf("%d bytes of stderr, which ends with %q", len(stderr), stderr[max(0, len(stderr)-20):])
	}
	_, _, err = run("echo s3cret; echo login: me")
	fails(t, "two lines", err, "config", "several lines")
	_, _, err = run("exit 0")
	fails(t, "nothing", err, "config", "is empty")
	key, _, err = run("cat; echo k1") // standard input is empty, so cat does not wait
	if key != "k1" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	start := time.Now()
	_, _, err = run("sleep 20 & sleep 20") // the child keeps the output open
	fails(t, "slow", err, "config", "did not end within 500ms")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("gave up only after %v", took)
	}
	_, _, err = run("yes")
	fails(t, "endless", err, "config", "did not end")
}

func TestStoreKey(t *testing.T) {
	ctx := context.Background()
	ring := &fakeKeyring{}
	k := Keys{Env: noEnv, Keyring: ring.keyring()}
	path := write(t, profileWith())
	s := resolve(t, path, nil)
	if err := k.StoreKey(ctx, s, "k1"); err != nil {
		t.Fatal(err)
	}
	if key, source, err := k.Key(ctx, s); key != "k1" || source.String() != "keyring" || err != nil {
		t.Errorf("%q, %q, %v", key, source, err)
	}
	removed, err := k.DeleteKey(ctx, s)
	if fmt.Sprint(removed) != "[the keyring]" || err != nil || len(ring.entries) != 0 {
		t.Errorf("%v, %v, %v", removed, err, ring.entries)
	}
	if removed, err = k.DeleteKey(ctx, s); removed != nil || err != nil {
		t.Errorf("%v, %v", removed, err)
	}

	for name, c := range map[string]struct {
		s     Settings
		key   string
		kind  string
		parts []string
	}{
		"bad key": {s, "a b", "config", []string{"white space"}},
		"marked":  {s, "till_sandbox_x", "config", []string{"this machine only"}},
		"shadowed": {resolve(t, write(t, profileWith("api_key_command: [/bin/x]")), nil), "k1", "config",
			[]string{"takes precedence over the keyring", "till profile set live api_key_command="}},
		"file too": {resolve(t, write(t, profileWith("api_key_file: /k")), nil), "k1", "config",
			[]string{"takes precedence over the keyring", "till profile set live api_key_file="}},
	} {
		err := k.StoreKey(ctx, c.s, c.key)
		fails(t, name, err, c.kind, c.parts...)
	}
	if len(ring.entries) != 0 {
		t.Errorf("a refused key was stored: %v", ring.entries)
	}
	err = Keys{Env: noEnv, Keyring: (&fakeKeyring{err: errors.New("no bus")}).keyring()}.StoreKey(ctx, s, "k1")
	fails(t, "unreachable", err, "config", "no bus", "till auth login --store file")
}

func TestStoreKeyFile(t *testing.T) {
	ctx := context.Background()
	path := write(t, "# mine\n"+profileWith())
	s := resolve(t, path, nil)
	k := Keys{Env: noEnv, Keyring: (&fakeKeyring{err: errors.New("no bus")}).keyring()}
	where, err := k.StoreKeyFile(s, "k1")
	if err != nil || where != filepath.Join(filepath.Dir(path), "keys", "live.key") {
		t.Fatal(where, err)
	}
	info, err := os.Stat(where)
	dir, err2 := os.Stat(filepath.Dir(where))
	if err != nil || err2 != nil || info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v %v, %v %v", info.Mode(), err, dir.Mode(), err2)
	}
	s = resolve(t, path, nil)
	if key, source, err := k.Key(ctx, s); key != "k1" || source.String() != "profile live, api_key_file" || err != nil {
		t.Errorf("%q, %q, %v", key, source, err)
	}
	if _, err := k.StoreKeyFile(s, "k2"); err != nil {
		t.Error(err)
	}
	removed, err := k.DeleteKey(ctx, s)
	if err != nil || fmt.Sprint(removed) != "["+where+"]" || read(t, path) != "# mine\n"+profileWithAsWritten {
		t.Errorf("%v, %v, %q", removed, err, read(t, path))
	}
	if _, err := os.Stat(where); err == nil {
		t.Error("the key file is still there")
	}
	_, err = k.StoreKeyFile(resolve(t, "", nil, "--base-url", origin1), "k1")
	fails(t, "no profile", err, "config", "make one first")
	_, err = k.StoreKeyFile(resolve(t, path, nil, "--base-url", "https://evil.example"), "k1")
	fails(t, "other origin", err, "config", "goes to https://pay.example.com only")
	// till does not remove a key file that a person has named.
	own := keyFile(t, "mine", 0o600)
	s = resolve(t, write(t, profileWith("api_key_file: "+own)), nil)
	if removed, err := (Keys{Env: noEnv, Keyring: (&fakeKeyring{}).keyring()}).DeleteKey(ctx, s); removed != nil || err != nil ||
		read(t, own) != "mine" {
		t.Errorf("%v, %v", removed, err)
	}
}

const profileWithAsWritten = "current: live\nprofiles:\n  live:\n    base_url: " + origin1 + "\n"

func TestKeyIsNotWaitedForLongerThanWanted(t *testing.T) {
	r, w := io.Pipe() // nothing is ever written to it
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		s := Settings{keyFlag: "-", BaseURL: "https://pay.example.com"}
		_, _, err := Keys{Env: noEnv, Stdin: r}.Key(ctx, s)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
