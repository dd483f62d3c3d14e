package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/till/internal/atomicfile"
	"github.com/zalando/go-keyring"
)

// StoreKey keeps a key in the keyring, for the profile and the server of its address. A key that would never be
// used, because another source goes before the keyring, is refused.
func (k Keys) StoreKey(ctx context.Context, s Settings, key string) error {
	if err := s.mayStore(key, "the keyring", keyCommand, keyPath); err != nil {
		return err
	}
	_, err := k.withKeyring(ctx, func(r Keyring) (string, error) { return "", r.Set(keyringService, s.keyringUser(), key) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return unreachable(err)
	}
	return nil
}

// StoreKeyFile keeps a key in a file that only its owner can read, next to the configuration, and names that file
// as the profile's api_key_file.
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
	if path, err = s.keyFile(); err != nil {
		return "", err
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = atomicfile.Write(path, 0o600, []byte(key+"\n"))
	}
	if err != nil {
		return "", failf("the key cannot be written: %w", err)
	}
	if err = Edit(s.ConfigFile, func(d *Document) error { return d.SetProfile(s.Profile, keyPath+"="+path) }); err != nil {
		if expandHome(s.home, s.profile.Values[keyPath]) != path { // a key that nothing names is only a risk
			err = errors.Join(err, os.Remove(path))
		}
		return "", err
	}
	return path, nil
}

// keyFile is where till keeps the key of a profile.
func (s Settings) keyFile() (string, error) {
	dir, err := filepath.Abs(filepath.Dir(s.ConfigFile))
	if err != nil {
		return "", failf("the directory of the configuration cannot be found: %w", err)
	}
	return filepath.Join(dir, "keys", s.Profile+".key"), nil
}

// mayStore reports what keeps a key from being stored in a place. The sources in before go before that place.
func (s Settings) mayStore(key, place string, before ...string) error {
	if err := checkKey(key, Origin{Kind: FromCaller}); err != nil {
		return err
	}
	if s.Sandbox {
		return usagef("the profile %s keeps no key: its sandbox has one of its own", Sandbox)
	}
	if _, err := s.RequireBaseURL(); err != nil {
		return err
	}
	if err := s.mayGo(key, Origin{Kind: FromCaller}); err != nil {
		return err
	}
	for _, setting := range before {
		if setting == keyCommand && len(s.profile.APIKeyCommand) > 0 || s.profile.Values[setting] != "" {
			return failf("the profile %s has an %s, which goes before %s: take that away first", s.Profile, setting, place).
				advise("type: till profile set %s %s=", s.Profile, setting)
		}
	}
	return nil
}

// Removed says from where a key was removed.
type Removed struct {
	File    string // empty: from no file
	Keyring bool
}

// DeleteKey removes the profile's key from the places in which StoreKey and StoreKeyFile put it, and says which
// those were. What a person has set up, a command or a file elsewhere, stays.
func (k Keys) DeleteKey(ctx context.Context, s Settings) (removed Removed, err error) {
	if s.Sandbox {
		return removed, usagef("the profile %s keeps no key: there is nothing to remove", Sandbox)
	}
	if own, err := s.keyFile(); err == nil && s.Profile != "" && expandHome(s.home, s.profile.Values[keyPath]) == own {
		if err := Edit(s.ConfigFile, func(d *Document) error { return d.SetProfile(s.Profile, keyPath+"=") }); err != nil {
			return removed, err
		}
		if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, failf("the key file cannot be removed: %w", err)
		}
		removed.File = own
	}
	if s.BaseURL == "" {
		return removed, nil
	}
	_, err = k.withKeyring(ctx, func(r Keyring) (string, error) { return "", r.Delete(keyringService, s.keyringUser()) })
	removed.Keyring = err == nil
	switch {
	case err == nil, errors.Is(err, keyring.ErrNotFound), removed.File != "": // a machine without a keyring has none to forget
		return removed, nil
	case ctx.Err() != nil:
		return removed, ctx.Err()
	}
	// A keyring that cannot be reached may hold a key all the same, and logging out is meant to remove it.
	return removed, failf("the keyring of this machine cannot be reached (%w), so a key in it would still be there", err)
}
