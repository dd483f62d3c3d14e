package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.com/till/internal/config"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/payout"
	"golang.org/x/term"
)

func (a *app) keys() config.Keys {
	return config.Keys{Env: a.io.env, Stdin: a.hiddenInput(), Stderr: a.otherLines(), Keyring: config.SystemKeyring()}
}

// hiddenInput is standard input, and does not show what is typed where that is a terminal.
func (a *app) hiddenInput() io.Reader {
	if in := terminal.Of(a.io.In); in != nil {
		return &hiddenReader{in: in, err: a.io.Err}
	}
	return a.io.In
}

// hiddenReader reads one line from a terminal.
type hiddenReader struct {
	in   *os.File
	err  io.Writer
	line *strings.Reader
}

func (r *hiddenReader) Read(p []byte) (int, error) {
	if r.line == nil {
		fmt.Fprint(r.err, "Key: ")
		secret, err := term.ReadPassword(int(r.in.Fd()))
		fmt.Fprintln(r.err)
		if err != nil {
			return 0, err
		}
		r.line = strings.NewReader(string(secret))
	}
	return r.line.Read(p)
}

// sourceOfKey says where the key of a call comes from, without reading it: a second reading of standard input would find
// nothing, and a key command may ask a person.
func (s *session) sourceOfKey() string {
	if s.Sandbox && s.BaseURL == "" {
		return "the sandbox"
	}
	return s.keys.Source(s.Settings)
}

// refusedKey adds to the error of a call whose key the service refused where that key came from, once. Any other error it
// leaves alone, and all of them where the source is not known.
func refusedKey(err error, source string) error {
	if err == nil || source == "" || explain(err).code != exitUnauthorized {
		return err
	}
	if own := (*failure)(nil); errors.As(err, &own) && own.code == exitUnauthorized {
		return err
	}
	return &failure{
		code: exitUnauthorized, err: err,
		msg:  fmt.Sprintf("%v; the key came from %s", err, nameOfSource(source)),
		hint: otherKey(source),
	}
}

// nameOfSource says a source of keys in words: "keyring", "profile live, api_key_file", "environment TILL_API_KEY".
func nameOfSource(source string) string {
	first, rest, _ := strings.Cut(source, " ")
	switch first {
	case "flag":
		return rest
	case "environment":
		return "the variable " + rest
	case "profile":
		if profile, setting, found := strings.Cut(rest, ", "); found {
			return "the " + setting + " of the profile " + profile
		}
	case "keyring":
		return "the keyring"
	}
	return source
}

// otherKey says how to change the key that comes from a source.
func otherKey(source string) payout.Hint {
	switch {
	case source == "keyring":
		return payout.NewHint("put another in its place", "auth", "login")
	case strings.HasPrefix(source, "flag "):
		return payout.NewHint("name the file of another key")
	case strings.HasPrefix(source, "environment "):
		return payout.NewHint("set the variable to another key, or unset it")
	case strings.HasSuffix(source, "api_key_command"):
		return payout.NewHint("run the command by hand to see which key it prints")
	case strings.HasSuffix(source, "api_key_file"):
		return payout.NewHint("put another key into the file")
	}
	return payout.NewHint("see", "auth", "status")
}
