package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/till/internal/atomicfile"
	"github.com/zalando/go-keyring"
)

// StoreKey keeps a key in the keyring, for the profile and the origin of its address, and says where it is now. A key that
// would never be used, because another source goes before the keyring, is refused.
func (k Keys) StoreKey(ctx context.Context, s Settings, key string) (where string, err error) {
	if err := s.mayStore(key); err != nil {
		return "", err
	}
	for _, setting := range []string{keyCommand, "api_key_file"} {
		if setting == keyCommand && len(s.profile.APIKeyCommand) == 0 || setting != keyCommand && s.profile.Values[setting] == "" {
			continue
		}
		return "", &Error{
			Msg:    fmt.Sprintf("the profile %s has an %s, which goes before the keyring: take that away first", s.Profile, setting),
			Advice: fmt.Sprintf("type: till profile set %s %s=", s.Profile, setting),
		}
	}
	_, err = k.withKeyring(ctx, func(r Keyring) (string, error) { return "", r.Set(keyringService, s.keyringUser(), key) })
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", unreachable(err)
	}
	return "keyring", nil
}

// StoreKeyFile keeps a key in a file that only its owner can read, next to the configuration, and names that file as the
// profile's api_key_file.
func (k Keys) StoreKeyFile(s Settings, key string) (path string, err error) {
	if err := s.mayStore(key); err != nil {
		return "", err
	}
	if s.Profile == "" {
		return "", &Error{
			Msg:    "a key in a file belongs to a profile, and there is none: make one first",
			Advice: "type: till profile set live base_url=" + s.BaseURL,
		}
	}
	if err := s.ownOrigin("api_key_file"); err != nil {
		return "", err
	}
	if len(s.profile.APIKeyCommand) > 0 {
		return "", &Error{
			Msg:    fmt.Sprintf("the profile %s has an %s, which goes before a file: take that away first", s.Profile, keyCommand),
			Advice: fmt.Sprintf("type: till profile set %s %s=", s.Profile, keyCommand),
		}
	}
	if path, err = s.keyFile(); err != nil {
		return "", err
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = atomicfile.Write(path, 0o600, []byte(key+"\n"))
	}
	if err != nil {
		return "", &Error{Msg: fmt.Sprintf("the key cannot be written: %v", err), Err: err}
	}
	if err = Edit(s.ConfigFile, func(d *Document) error { return d.SetProfile(s.Profile, "api_key_file="+path) }); err != nil {
		if expandHome(s.home, s.profile.Values["api_key_file"]) != path { // a key that nothing names is only a risk
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
		return "", &Error{Msg: fmt.Sprintf("the directory of the configuration cannot be found: %v", err), Err: err}
	}
	return filepath.Join(dir, "keys", s.Profile+".key"), nil
}

func (s Settings) mayStore(key string) error {
	if err := CheckKey(key, "given"); err != nil {
		return err
	}
	if s.Sandbox {
		return usagef("the profile %s keeps no key: its sandbox has one of its own", Sandbox)
	}
	if _, err := s.RequireBaseURL(); err != nil {
		return err
	}
	return s.mayGo(key, "given")
}

// DeleteKey removes the profile's key from the places in which StoreKey and StoreKeyFile put it, and says which those were.
// What a person has set up, a command or a file elsewhere, stays.
func (k Keys) DeleteKey(ctx context.Context, s Settings) (removed []string, err error) {
	if s.Sandbox {
		return nil, usagef("the profile %s keeps no key: there is nothing to remove", Sandbox)
	}
	if own, err := s.keyFile(); err == nil && s.Profile != "" && expandHome(s.home, s.profile.Values["api_key_file"]) == own {
		if err := Edit(s.ConfigFile, func(d *Document) error { return d.SetProfile(s.Profile, "api_key_file=") }); err != nil {
			return nil, err
		}
		if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, &Error{Msg: fmt.Sprintf("the key file cannot be removed: %v", err), Err: err}
		}
		removed = append(removed, own)
	}
	if s.BaseURL == "" {
		return removed, nil
	}
	_, err = k.withKeyring(ctx, func(r Keyring) (string, error) { return "", r.Delete(keyringService, s.keyringUser()) })
	switch {
	case err == nil:
		return append(removed, "keyring"), nil
	case errors.Is(err, keyring.ErrNotFound), len(removed) > 0: // a machine without a keyring has none to forget
		return removed, nil
	case ctx.Err() != nil:
		return removed, ctx.Err()
	}
	// A keyring that cannot be reached may hold a key all the same, and logging out is meant to remove it.
	return removed, &Error{Msg: fmt.Sprintf("the keyring of this machine cannot be reached (%v), so a key in it would still be there", err), Err: err}
}
