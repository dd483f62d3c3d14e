package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
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
	must(t, fs.Parse(args))
	if env == nil {
		env = noEnv
	}
	return Input{Ctx: t.Context(), Flags: fs, Env: env, Home: t.TempDir(), SandboxCurrencies: func() []money.Entry { return nil }}
}

func resolve(t *testing.T, path string, env func(string) string, args ...string) Settings {
	t.Helper()
	s, err := Resolve(input(t, path, env, args...))
	must(t, err)
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

// keyringWith replaces the operating system's keyring by one in memory, with pairs of a user and a key.
func keyringWith(t *testing.T, pairs ...string) {
	t.Helper()
	keyring.MockInit()
	for pair := range slices.Chunk(pairs, 2) {
		must(t, keyring.Set("till", pair[0], pair[1]))
	}
}

// noBus replaces the operating system's keyring by one that cannot be reached.
func noBus() { keyring.MockInitWithError(errors.New("no bus")) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
