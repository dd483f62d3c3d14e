package config

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/terminal"
	"github.com/zalando/go-keyring"
)

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

// keyFile returns the path of the file in which till stores the key of a profile.
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
