package cmdutil

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

// keys returns where keys are read. From then on this process may have one, which no core file is to have.
func (a *App) keys() config.Keys {
	terminal.HideMemory()
	return config.Keys{Env: a.IO.Env, Stdin: a.hiddenInput(), Stderr: a.otherLines(), Asks: terminal.Of(a.IO.Err) != nil}
}

// hiddenInput returns standard input. On a terminal, it does not echo what is typed.
func (a *App) hiddenInput() io.Reader {
	if in := terminal.Of(a.IO.In); in != nil {
		return &hiddenReader{in: in, err: a.IO.Err}
	}
	return a.IO.In
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

// SourceOfKey says where the key of a call comes from without reading it. Standard input cannot be read
// twice, and a key command may ask a person.
func (s *Session) SourceOfKey() config.Origin {
	if s.Sandbox && s.BaseURL == "" {
		return config.Origin{Kind: config.FromSandbox}
	}
	return s.Keys.Source(s.Settings)
}

// RefusedKey adds the source of the key to the error of a call that was refused for its key, once. It returns
// any other error unchanged, and every error if the source is not known.
func RefusedKey(err error, source config.Origin) error {
	if err == nil || source.Kind == config.FromDefault || Explain(err).Code != ExitUnauthorized {
		return err
	}
	if own := (*Error)(nil); errors.As(err, &own) && own.Code == ExitUnauthorized {
		return err
	}
	return &Error{
		Code: ExitUnauthorized, Err: err,
		Msg:  fmt.Sprintf("%v; the key came from %s", err, source.Phrase()),
		Hint: otherKey(source),
	}
}

// otherKey says how to change the key of a source.
func otherKey(source config.Origin) payout.Hint {
	switch {
	case source.Kind == config.FromKeyring:
		return payout.NewHint("put another in its place", "auth", "login")
	case source.Kind == config.FromFlag:
		return payout.NewHint("name the file of another key")
	case source.Kind == config.FromVariable:
		return payout.NewHint("set the variable to another key, or unset it")
	case source.Setting == "api_key_command":
		return payout.NewHint("run the command by hand to see which key it prints")
	case source.Setting == "api_key_file":
		return payout.NewHint("put another key into the file")
	}
	return payout.NewHint("see", "auth", "status")
}
