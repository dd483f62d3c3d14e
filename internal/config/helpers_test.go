package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/till/internal/money"
	"example.com/till/internal/usage"
	"github.com/spf13/pflag"
	"github.com/zalando/go-keyring"
)

// write makes a configuration file with this content, in its own directory.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func noEnv(string) string { return "" }

// input parses a command line, with a configuration file if path is not empty.
func input(t *testing.T, path string, env func(string) string, args ...string) Input {
	t.Helper()
	fs := pflag.NewFlagSet("till", pflag.ContinueOnError)
	AddFlags(fs)
	if path != "" {
		args = append([]string{"--config", path}, args...)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if env == nil {
		env = noEnv
	}
	return Input{Flags: fs, Env: env, Home: t.TempDir(), SandboxCurrencies: func() []money.Entry { return nil }}
}

func resolve(t *testing.T, path string, env func(string) string, args ...string) Settings {
	t.Helper()
	s, err := Resolve(input(t, path, env, args...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, path string) (File, error) {
	t.Helper()
	f, err := input(t, path, nil).Load()
	f.named = Origin{}
	return f, err
}

// fails requires an error that contains all parts and whose kind is "config" or "usage".
func fails(t *testing.T, name string, err error, kind string, parts ...string) {
	t.Helper()
	var c *Error
	var u *usage.Error
	got, hint := "none", ""
	switch {
	case errors.As(err, &u):
		got, hint = "usage", u.Hint()
	case errors.As(err, &c):
		got, hint = "config", c.Hint()+": till "+strings.Join(c.Command, " ")
	}
	if err == nil || got != kind {
		t.Errorf("%s: %v (kind %s), want an error of kind %s", name, err, got, kind)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error()+"\n"+hint, part) {
			t.Errorf("%s: %q (hint %q) does not say %q", name, err, hint, part)
		}
	}
}

type fakeKeyring struct {
	entries map[string]string
	err     error
	block   chan struct{} // if not nil, Get does not answer before it is closed
	calls   atomic.Int32
}

func (k *fakeKeyring) wait() error {
	k.calls.Add(1)
	if k.block != nil {
		<-k.block
	}
	return k.err
}

func (k *fakeKeyring) Get(service, user string) (string, error) {
	if err := k.wait(); err != nil {
		return "", err
	}
	key, ok := k.entries[service+" "+user]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return key, nil
}

func (k *fakeKeyring) Set(service, user, secret string) error {
	if err := k.wait(); err != nil {
		return err
	}
	if k.entries == nil {
		k.entries = map[string]string{}
	}
	k.entries[service+" "+user] = secret
	return nil
}

func (k *fakeKeyring) Delete(service, user string) error {
	if err := k.wait(); err != nil {
		return err
	}
	if _, ok := k.entries[service+" "+user]; !ok {
		return keyring.ErrNotFound
	}
	delete(k.entries, service+" "+user)
	return nil
}

func (k *fakeKeyring) keyring() Keyring { return Keyring{k.Get, k.Set, k.Delete} }
