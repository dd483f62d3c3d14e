package config

import (
	"cmp"
	"context"
	"errors"
	"time"

	"example.com/till/internal/terminal"
	"github.com/zalando/go-keyring"
)

// Keyring stores secrets in the operating system. The error for a missing entry is keyring.ErrNotFound.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// SystemKeyring returns the operating system's keyring.
func SystemKeyring() Keyring { return systemKeyring{} }

type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (systemKeyring) Set(service, user, secret string) error {
	return keyring.Set(service, user, secret)
}
func (systemKeyring) Delete(service, user string) error { return keyring.Delete(service, user) }

const (
	keyringService = "till"
	keyringLimit   = 3 * time.Second
)

// keyringUser names the entry of a profile's key. The name includes the server, so that a key never goes to
// another server after the profile's address changes.
func (s Settings) keyringUser() string {
	return cmp.Or(s.Profile, "default") + "@" + serverOf(s.BaseURL)
}

// withKeyring runs a call that cannot be cancelled. If it does not return in time, withKeyring returns
// without it.
func (k Keys) withKeyring(ctx context.Context, call func(Keyring) (string, error)) (string, error) {
	if k.Keyring == nil {
		return "", errors.New("there is none")
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(k.keyringLimit, keyringLimit))
	defer cancel()
	text, err := terminal.Interruptibly(ctx, func() (string, error) { return call(k.Keyring) })
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it did not answer in time")
	}
	return text, err
}

func unreachable(err error) *Error {
	e := failf("the keyring of this machine cannot be reached (%w)", err)
	e.Advice = "give the key with --api-key-file, TILL_API_KEY, or api_key_command or api_key_file of the profile, or keep it in a file with"
	e.Command = []string{"auth", "login", "--store", "file"}
	return e
}
