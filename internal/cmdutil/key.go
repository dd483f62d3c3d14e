package cmdutil

import (
	"context"
	"errors"
	"fmt"

	"example.com/till/internal/config"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/payout"
)

// keys returns where keys are read. From then on this process may have one, which no core file is to have.
func (a *App) keys() config.Keys {
	terminal.HideMemory()
	stdin := func(context.Context) (string, error) { return a.ReadKey("Key: ", nil) }
	return config.Keys{Env: a.IO.Env, Stdin: stdin, Stderr: a.otherLines(), Asks: terminal.Of(a.IO.Err) != nil}
}

// ReadKey reads a key from standard input. On a terminal it asks for it, does not show what is typed, and returns the
// error none if that is nothing.
func (a *App) ReadKey(question string, none error) (string, error) {
	if terminal.Of(a.IO.In) == nil {
		return config.ReadKey(a.Ctx, a.IO.In)
	}
	key, err := a.AskSecret("the key", question, none)
	return string(key), err
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
