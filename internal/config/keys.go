package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/place"
	"example.com/till/internal/secret"
	"example.com/till/internal/terminal"
	"example.com/till/internal/usage"
	"github.com/zalando/go-keyring"
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
	Env    func(string) string                   // os.Getenv, or a test's
	Stdin  func(context.Context) (string, error) // reads the key of --api-key-file -
	Stderr io.Writer                             // what a key command writes there comes without the key, and when it has ended
	// Stderr is a terminal, where the command may ask the person, so what it writes there comes at once.
	Asks bool

	keyringLimit, commandLimit time.Duration // zero: the constants
}

// Source returns where the key would come from. It does not read the key.
func (k Keys) Source(s Settings) Origin {
	from, _ := k.source(s)
	return from
}

// source returns where the key would come from, and how it is read there. The embedded sandbox takes the keys of its
// resellers, and does without a service's key in the environment.
func (k Keys) source(s Settings) (from Origin, read func(context.Context) (string, error)) {
	command, path, embedded := s.profile.Lists[keyCommand], s.profile.Values[keyPath], s.Sandbox && s.BaseURL == ""
	switch {
	case s.keyFlag == "-":
		return Origin{Kind: FromFlag, Name: "api-key-file"}, k.Stdin
	case s.keyFlag != "":
		return Origin{Kind: FromFlag, Name: "api-key-file"},
			func(ctx context.Context) (string, error) {
				return readKeyFile(ctx, "the file of --api-key-file", s.keyFlag)
			}
	case k.Env("TILL_API_KEY") != "" && (!embedded || strings.HasPrefix(k.Env("TILL_API_KEY"), SandboxKeyPrefix)):
		return Origin{Kind: FromVariable, Name: "TILL_API_KEY"},
			func(context.Context) (string, error) { return trimNewline(k.Env("TILL_API_KEY")), nil }
	case s.Sandbox:
		return Origin{Kind: FromSandbox}, func(context.Context) (string, error) { return "", noKey(s) }
	case len(command) > 0:
		return Origin{Kind: FromProfile, Name: s.Profile, Setting: keyCommand},
			func(ctx context.Context) (string, error) { return k.runCommand(ctx, command) }
	case path != "":
		from = Origin{Kind: FromProfile, Name: s.Profile, Setting: keyPath}
		return from, func(ctx context.Context) (string, error) {
			return readKeyFile(ctx, from.Phrase(), expandHome(s.home, path))
		}
	}
	return Origin{Kind: FromKeyring}, func(ctx context.Context) (string, error) { return k.fromKeyring(ctx, s) }
}

// Key returns the key for the service at s.BaseURL, and where it comes from. The profile sandbox has none, unless
// a flag or the environment gives one: an embedded sandbox makes its own.
func (k Keys) Key(ctx context.Context, s Settings) (key string, source Origin, err error) {
	source, read := k.source(s)
	if source.Kind == FromProfile {
		err = s.ownServer(source.Setting)
	}
	if err == nil {
		key, err = read(ctx)
	}
	if err == nil {
		err = s.checkKey(key, source)
	}
	if err != nil {
		return "", Origin{}, err
	}
	return key, source, nil
}

func noKey(s Settings) error {
	if s.Sandbox {
		return &Error{Msg: "the sandbox at this address has a key of its own: give it with --api-key-file or TILL_API_KEY"}
	}
	msg := "there is no key for the service"
	if s.Profile != "" {
		msg = fmt.Sprintf("the profile %s has no key for %s", s.Profile, serverOf(s.BaseURL))
	}
	return &Error{Msg: msg, Advice: "give one with --api-key-file or TILL_API_KEY, or store one",
		Command: []string{"auth", "login"}}
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

// checkKey reports why a text cannot be a key, or not the key of this service: a sandbox's key goes to
// sandboxes only, and the profile sandbox takes no other. The error does not show the text.
func (s Settings) checkKey(key string, source Origin) error {
	const alone = "give the key alone, as the merchant panel shows it"
	marked := strings.HasPrefix(key, SandboxKeyPrefix)
	switch {
	case key == "":
		return failf("the key (%s) is empty: %s", source, alone)
	case len(key) > maxKey:
		return failf("the key (%s) is longer than %d bytes: %s", source, maxKey, alone)
	case strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }):
		return failf("the key (%s) has white space, several lines or characters that cannot be sent in a header: %s", source, alone)
	case s.Sandbox && !marked:
		return failf("the key (%s) is not a sandbox's, which begins with %s: the profile %s takes no other, so that a real key stays out of tests", source, SandboxKeyPrefix, Sandbox)
	case marked && s.BaseURL != "" && !IsLoopbackURL(s.BaseURL):
		return failf("the key (%s) is a sandbox's and goes to this machine only, and the address is %s (%s): give the key of that service", source, s.BaseURL, s.Origin("base_url"))
	}
	return nil
}

func trimNewline(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// ReadKey reads a key from standard input to its end, and removes a newline there.
func ReadKey(ctx context.Context, stdin io.Reader) (string, error) {
	data, err := terminal.Interruptibly(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(stdin, maxKeyText)) })
	if err != nil && ctx.Err() == nil {
		err = failf("the key cannot be read from standard input: %w", err)
	}
	return trimNewline(string(data)), err
}

// readKeyFile reads a file that only its owner may read, and no other user can replace. The mode means nothing
// on Windows.
func readKeyFile(ctx context.Context, what, path string) (string, error) {
	data, err := terminal.Interruptibly(ctx, func() ([]byte, error) {
		return readChecked(what, path, maxKeyText, func(info fs.FileInfo) error {
			if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
				if err := openKey(what, path, mode); err != nil {
					return err
				}
			}
			return CheckTrust(what+", "+path+",", path, info)
		})
	})
	return trimNewline(string(data)), err
}

// openKey returns the error for a key that others can read. Docker and Kubernetes give secrets such a mode, on a
// read-only mount, where chmod cannot work. There the key passes if the machine has no other people.
func openKey(what, path string, mode fs.FileMode) error {
	if !place.ReadOnly(path) {
		return failf("%s, %s, is open to others (mode %04o): make it private, and consider a new key", what, path, mode).
			advise("type: chmod 600 %s", usage.Quote(path))
	}
	if place.Alone() && CheckTrust(what, path, nil) == nil {
		return nil
	}
	return failf("%s, %s, is open to others (mode %04o), on a read-only mount where that cannot be changed and other users may read it", what, path, mode).
		advise("give the key on standard input: --api-key-file - <%s", usage.Quote(path))
}

// runCommand runs the profile's key command: without a shell or standard input, reading only the first bytes
// of output.
func (k Keys) runCommand(ctx context.Context, words []string) (string, error) {
	// A person who can change the program can read the key, and choose it.
	if err := CheckTrust("the program "+words[0]+" of "+keyCommand, words[0], nil); err != nil {
		return "", err
	}
	limit := cmp.Or(k.commandLimit, commandLimit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, said := firstBytes{most: maxKey + 64}, firstBytes{most: 64 << 10}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if k.Asks {
		cmd.Stderr = k.Stderr
	}
	cmd.WaitDelay = limit / 10 // a child process of the command may keep its output open
	err := cmd.Run()
	if k.Stderr != nil {
		text := said.String()
		if len(text) == said.most { // it may end within the key
			text = text[:strings.LastIndexByte(text, '\n')+1]
		}
		io.WriteString(k.Stderr, secret.Hide(text, strings.TrimSpace(out.String())))
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", failf("the api_key_command %s did not end within %s: run it by hand to see what it waits for",
			words[0], limit)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", failf("the api_key_command %s failed (%w): run it by hand to see why", words[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}

// firstBytes keeps the first bytes, such as enough to detect that a key is too long, and drops the rest.
type firstBytes struct {
	strings.Builder
	most int
}

func (b *firstBytes) Write(text []byte) (int, error) {
	b.Builder.Write(text[:min(len(text), b.most-b.Len())])
	return len(text), nil
}

func (k Keys) fromKeyring(ctx context.Context, s Settings) (string, error) {
	if s.BaseURL == "" {
		return "", noKey(s)
	}
	key, err := k.withKeyring(ctx, s, keyring.Get)
	if errors.Is(err, keyring.ErrNotFound) || err == nil && key == "" {
		err = noKey(s)
	}
	return key, err
}

// StoreKey stores a key in the keyring, for the profile and the server of its address, which must be known. It
// refuses a key that would never be used because another source comes before the keyring.
func (k Keys) StoreKey(ctx context.Context, s Settings, key string) error {
	if err := s.mayStore(key, "the keyring", keyCommand, keyPath); err != nil {
		return err
	}
	_, err := k.withKeyring(ctx, s, func(service, user string) (string, error) { return "", keyring.Set(service, user, key) })
	return err
}

// StoreKeyFile stores a key in a file that only its owner can read, next to the configuration, and sets the
// profile's api_key_file to that file.
func (k Keys) StoreKeyFile(s Settings, key string) (path string, err error) {
	if err := s.mayStore(key, "a file", keyCommand); err != nil {
		return "", err
	}
	if s.Profile == "" {
		return "", failf("a key in a file belongs to a profile, and there is none: make one first").
			advise("type: till profile set live base_url=%s", s.BaseURL)
	}
	if err := s.ownServer(keyPath); err != nil {
		return "", err
	}
	path = s.keyFile()
	if own := expandHome(s.home, s.profile.Values[keyPath]); own != "" && own != path {
		return "", failf("the profile %s has its key in a file of yours (api_key_file)", s.Profile).
			advise("write the key into it or, to keep it elsewhere, type: till profile set %s api_key_file=", s.Profile)
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = atomicfile.Write(path, 0o600, []byte(key+"\n"))
	}
	if err != nil {
		return "", failf("the key cannot be written: %w", err)
	}
	if err = Edit(s.ConfigFile,
		func(d *Document) error { return d.SetProfile(s.Profile, keyPath+"="+path) }); err != nil {
		if expandHome(s.home, s.profile.Values[keyPath]) != path { // an unused key file is only a risk
			err = errors.Join(err, os.Remove(path))
		}
		return "", err
	}
	return path, nil
}

func (s Settings) keyFile() string {
	dir, _ := filepath.Abs(filepath.Dir(s.ConfigFile)) // nothing is read from a relative path without a directory
	return filepath.Join(dir, "keys", s.Profile+".key")
}

// mayStore reports why a key cannot be stored in a place. The sources in before take precedence over that
// place.
func (s Settings) mayStore(key, place string, before ...string) error {
	if err := s.checkKey(key, Origin{Kind: FromCaller}); err != nil {
		return err
	}
	for _, setting := range before {
		if len(s.profile.Lists[setting]) > 0 || s.profile.Values[setting] != "" {
			return failf("the profile %s has an %s, which takes precedence over %s: remove it first", s.Profile,
				setting, place).
				advise("type: till profile set %s %s=", s.Profile, setting)
		}
	}
	return nil
}

// DeleteKey removes the profile's key from the places where StoreKey and StoreKeyFile put it, and returns
// those places. It keeps what a person has set up: a command, or a file elsewhere.
func (k Keys) DeleteKey(ctx context.Context, s Settings) (places []string, err error) {
	if own := s.keyFile(); s.Profile != "" && expandHome(s.home, s.profile.Values[keyPath]) == own {
		if err := Edit(s.ConfigFile,
			func(d *Document) error { return d.SetProfile(s.Profile, keyPath+"=") }); err != nil {
			return nil, err
		}
		if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, failf("the key file cannot be removed: %w", err)
		}
		places = []string{own}
	}
	if s.BaseURL == "" {
		return places, nil
	}
	_, err = k.withKeyring(ctx, s, func(service, user string) (string, error) { return "", keyring.Delete(service, user) })
	switch {
	case err == nil:
		return append(places, "the keyring"), nil
	case errors.Is(err, keyring.ErrNotFound), len(places) > 0: // without a keyring there is nothing to remove
		return places, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	// A keyring that cannot be reached may still hold a key, and logout must remove it.
	return nil, failf("the keyring of this machine cannot be reached (%w), so a key in it would still be there", errors.Unwrap(err)).
		advise("if you never stored a key in it, there is nothing to remove; otherwise unlock it, and run this again")
}

// keyringUser names the entry of a profile's key. The name includes the server, so that a key never goes to
// another server after the profile's address changes.
func (s Settings) keyringUser() string {
	return cmp.Or(s.Profile, "default") + "@" + serverOf(s.BaseURL)
}

// withKeyring makes a call of the operating system's keyring, which cannot be cancelled: it does not wait for one that
// does not return in time. The error for an entry that is missing is keyring.ErrNotFound.
func (k Keys) withKeyring(
	ctx context.Context, s Settings, call func(service, user string) (string, error),
) (string, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(k.keyringLimit, 3*time.Second))
	defer cancel()
	text, err := terminal.Interruptibly(limited, func() (string, error) { return call("till", s.keyringUser()) })
	switch {
	case err == nil, errors.Is(err, keyring.ErrNotFound):
		return text, err
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("it did not answer in time")
	}
	e := failf("the keyring of this machine cannot be reached (%w)", err)
	e.Advice = "give the key with --api-key-file, TILL_API_KEY, or api_key_command or api_key_file of the profile, or keep it in a file with"
	e.Command = []string{"auth", "login", "--store", "file"}
	return "", e
}
