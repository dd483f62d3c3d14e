package config

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/till/internal/terminal"
)

// SandboxKeyPrefix marks the keys of sandboxes.
const SandboxKeyPrefix = "till_sandbox_"

const (
	maxKey       = 4096       // bytes; a longer key would not pass as a header
	maxKeyText   = maxKey + 3 // with a newline at the end, and one more byte to detect that a key is too long
	commandLimit = 10 * time.Second
)

// Keys finds, stores and removes keys. Its fields are all that it needs from outside.
type Keys struct {
	Env     func(string) string // os.Getenv, or a test's
	Stdin   io.Reader           // for --api-key-file -
	Stderr  io.Writer           // what a key command writes there comes without the key, and when it has ended
	Asks    bool                // Stderr is a terminal, where the command may ask the person, so it comes at once
	Keyring Keyring             // SystemKeyring(), or a test's

	keyringLimit, commandLimit time.Duration // zero: the constants
}

func (k Keys) env(name string) string {
	if k.Env == nil {
		return ""
	}
	return k.Env(name)
}

// Source returns where the key would come from. It does not read the key.
func (k Keys) Source(s Settings) Origin {
	switch {
	case s.keyFlag != "":
		return Origin{Kind: FromFlag, Name: "api-key-file"}
	case k.env("TILL_API_KEY") != "":
		return Origin{Kind: FromVariable, Name: "TILL_API_KEY"}
	case s.Sandbox:
		return Origin{Kind: FromSandbox}
	case len(s.profile.Lists[keyCommand]) > 0:
		return Origin{Kind: FromProfile, Name: s.Profile, Setting: keyCommand}
	case s.profile.Values[keyPath] != "":
		return Origin{Kind: FromProfile, Name: s.Profile, Setting: keyPath}
	}
	return Origin{Kind: FromKeyring}
}

// Key returns the key for the service at s.BaseURL, and where it comes from. If no source has one, the error
// has ErrNoKey in its chain. The profile sandbox has no key either, unless a flag or the environment gives
// one: an embedded sandbox makes its own.
func (k Keys) Key(ctx context.Context, s Settings) (key string, source Origin, err error) {
	source = k.Source(s)
	if source.Kind == FromProfile {
		if err := s.ownServer(source.Setting); err != nil {
			return "", Origin{}, err
		}
	}
	switch {
	case source.Kind == FromFlag:
		key, err = terminal.Interruptibly(ctx, func() (string, error) { return k.readFlag(s.keyFlag) })
	case source.Kind == FromVariable:
		key = trimNewline(k.env(source.Name))
	case source.Kind == FromSandbox:
		err = noKey(s)
	case source.Setting == keyCommand:
		key, err = k.runCommand(ctx, s.profile.Lists[keyCommand])
	case source.Setting == keyPath:
		path := expandHome(s.home, s.profile.Values[keyPath])
		key, err = terminal.Interruptibly(ctx, func() (string, error) { return readKeyFile(source.Phrase(), path) })
	default:
		key, err = k.fromKeyring(ctx, s)
	}
	if err == nil {
		err = checkKey(key, source)
	}
	if err == nil {
		err = s.mayGo(key, source)
	}
	if err != nil {
		return "", Origin{}, err
	}
	return key, source, nil
}

func noKey(s Settings) error {
	if s.Sandbox {
		return &Error{Msg: "the sandbox at this address has a key of its own: give it with --api-key-file or TILL_API_KEY", Err: ErrNoKey}
	}
	msg := "there is no key for the service"
	if s.Profile != "" {
		msg = fmt.Sprintf("the profile %s has no key for %s", s.Profile, serverOf(s.BaseURL))
	}
	return &Error{Msg: msg, Advice: "give one with --api-key-file or TILL_API_KEY, or store one",
		Command: []string{"auth", "login"}, Err: ErrNoKey}
}

// ownServer refuses to send a key that the profile names anywhere but to the profile's own address.
func (s Settings) ownServer(setting string) error {
	switch own := serverOf(s.profile.Values["base_url"]); own {
	case "":
		return failf("the profile %s has a key (%s) and has no base_url, so it is not said where that key belongs: "+
			"give it its address, or the key with --api-key-file or TILL_API_KEY", s.Profile, setting).
			advise("type: till profile set %s base_url=https://...", s.Profile)
	case serverOf(s.BaseURL):
		return nil
	default:
		return failf("the key of the profile %s (%s) goes to %s only, and the address is %s (%s): "+
			"give the key for that one with --api-key-file or TILL_API_KEY",
			s.Profile, setting, own, serverOf(s.BaseURL), s.Origin("base_url"))
	}
}

// mayGo refuses to send a sandbox key to a service, or the key of a service to a sandbox.
func (s Settings) mayGo(key string, source Origin) error {
	marked := strings.HasPrefix(key, SandboxKeyPrefix)
	if s.Sandbox && !marked {
		return failf("the key (%s) is not a sandbox's, which begins with %s: the profile %s takes no other, so that a real key stays out of tests", source, SandboxKeyPrefix, Sandbox)
	}
	if marked && s.BaseURL != "" && !IsLoopbackURL(s.BaseURL) {
		return failf("the key (%s) is a sandbox's and goes to this machine only, and the address is %s (%s): give the key of that service", source, s.BaseURL, s.Origin("base_url"))
	}
	return nil
}

// checkKey reports why a text cannot be a key. The error does not show the text.
func checkKey(key string, source Origin) error {
	bad := ""
	switch {
	case key == "":
		bad = "is empty"
	case len(key) > maxKey:
		bad = fmt.Sprintf("is longer than %d bytes", maxKey)
	case strings.ContainsAny(key, " \t\n\r\v\f"):
		bad = "has white space or several lines in it"
	case strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }):
		bad = "has characters that cannot be sent in a header"
	default:
		return nil
	}
	return failf("the key (%s) %s: give the key alone, as the merchant panel shows it", source, bad)
}

func trimNewline(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}
