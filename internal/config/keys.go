package config

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// SandboxKeyPrefix marks the keys of sandboxes.
const SandboxKeyPrefix = "till_sandbox_"

const (
	maxKey       = 4096 // bytes; more would not pass as a header
	commandLimit = 10 * time.Second
)

// Keys finds, keeps and removes keys. What it needs from outside is in its fields.
type Keys struct {
	Env     func(string) string // os.Getenv, or a test's
	Stdin   io.Reader           // for --api-key-file -
	Stderr  io.Writer           // where a key command may talk to the person
	Keyring Keyring             // SystemKeyring(), or a test's

	keyringLimit, commandLimit time.Duration // zero: the constants
}

func (k Keys) env(name string) string {
	if k.Env == nil {
		return ""
	}
	return k.Env(name)
}

// Source says which source the key would come from, without looking for the key there.
func (k Keys) Source(s Settings) string {
	switch {
	case s.keyFlag != "":
		return "flag --api-key-file"
	case k.env("TILL_API_KEY") != "":
		return "environment TILL_API_KEY"
	case s.Sandbox:
		return "the sandbox"
	case len(s.profile.APIKeyCommand) > 0:
		return "profile " + s.Profile + ", api_key_command"
	case s.profile.Values["api_key_file"] != "":
		return "profile " + s.Profile + ", api_key_file"
	}
	return "keyring"
}

// Key returns the key for the service at s.BaseURL, and where it comes from, in words for a message. Where no source has
// one, the error has ErrNoKey in its chain. That is also so in the profile sandbox unless a flag or the environment gives a
// key: an embedded sandbox makes its own.
func (k Keys) Key(ctx context.Context, s Settings) (key, source string, err error) {
	source = k.Source(s)
	switch {
	case s.keyFlag != "":
		key, err = unlessDone(ctx, func() (string, error) { return k.readFlag(s.keyFlag) })
	case k.env("TILL_API_KEY") != "":
		key = trimNewline(k.env("TILL_API_KEY"))
	case s.Sandbox:
		return "", "", noKey(s)
	case len(s.profile.APIKeyCommand) > 0:
		if err = s.ownOrigin("api_key_command"); err == nil {
			key, err = k.runCommand(ctx, s.profile.APIKeyCommand)
		}
	case s.profile.Values["api_key_file"] != "":
		if err = s.ownOrigin("api_key_file"); err == nil {
			path := expandHome(s.home, s.profile.Values["api_key_file"])
			key, err = unlessDone(ctx, func() (string, error) { return readKeyFile("the api_key_file of the profile "+s.Profile, path) })
		}
	default:
		if key, err = k.fromKeyring(ctx, s); err == nil && key == "" {
			return "", "", noKey(s)
		}
	}
	if err == nil {
		err = CheckKey(key, source)
	}
	if err == nil {
		err = s.mayGo(key, source)
	}
	if err != nil {
		return "", "", err
	}
	return key, source, nil
}

func noKey(s Settings) error {
	msg := "there is no key for the service"
	if s.Profile != "" {
		msg = fmt.Sprintf("the profile %s has no key for %s", s.Profile, origin(s.BaseURL))
	}
	if s.Sandbox {
		msg = "the sandbox at this address has a key of its own: give it with --api-key-file or TILL_API_KEY"
		return &Error{Msg: msg, Err: ErrNoKey}
	}
	return &Error{Msg: msg, Advice: "give one with --api-key-file or TILL_API_KEY, or store one", Command: []string{"auth", "login"}, Err: ErrNoKey}
}

// ownOrigin keeps a key that the profile names from going anywhere but to the profile's address.
func (s Settings) ownOrigin(setting string) error {
	own := origin(s.profile.Values["base_url"])
	if own != "" && own == origin(s.BaseURL) {
		return nil
	}
	belongs := "has no base_url, so it is not said where that key belongs"
	if own != "" {
		belongs = "goes to " + own + " only"
	}
	if own != "" {
		return failf("the key of the profile %s (%s) %s, and the address is %s (%s): give the key for that one with --api-key-file or TILL_API_KEY",
			s.Profile, setting, belongs, origin(s.BaseURL), s.Origin("base_url"))
	}
	return &Error{
		Msg:    fmt.Sprintf("the profile %s has a key (%s) and %s: give it its address, or the key with --api-key-file or TILL_API_KEY", s.Profile, setting, belongs),
		Advice: fmt.Sprintf("type: till profile set %s base_url=https://...", s.Profile),
	}
}

// mayGo holds a key against the address it would be sent to.
func (s Settings) mayGo(key, source string) error {
	marked := strings.HasPrefix(key, SandboxKeyPrefix)
	if s.Sandbox && !marked {
		return failf("the key (%s) is not a sandbox's, which begins with %s: the profile %s takes no other, so that a real key stays out of tests", source, SandboxKeyPrefix, Sandbox)
	}
	if marked && s.BaseURL != "" && !IsLoopbackURL(s.BaseURL) {
		return failf("the key (%s) is a sandbox's and goes to this machine only, and the address is %s (%s): give the key of that service", source, s.BaseURL, s.Origin("base_url"))
	}
	return nil
}

// CheckKey reports what keeps a text from being a key. The error does not show it.
func CheckKey(key, source string) error {
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
