package config

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"runtime"
	"strings"

	"example.com/till/internal/place"
	"example.com/till/internal/secret"
	"github.com/zalando/go-keyring"
)

// ReadKey reads a key from a stream to its end, such as standard input, and removes a newline at its end.
func ReadKey(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKeyText))
	if err != nil {
		return "", err
	}
	return trimNewline(string(data)), nil
}

func (k Keys) readFlag(path string) (string, error) {
	if path == "-" {
		if k.Stdin == nil {
			return "", usagef("--api-key-file - wants the key on standard input, and there is none: name a file")
		}
		key, err := ReadKey(k.Stdin)
		if err != nil {
			return "", failf("the key cannot be read from standard input: %w", err)
		}
		return key, nil
	}
	return readKeyFile("the file of --api-key-file", path)
}

// readKeyFile reads a file that only its owner may read, and no other user can replace. The mode means nothing
// on Windows, and the place of a pipe does not matter, such as that of a shell's <(command).
func readKeyFile(what, path string) (string, error) {
	data, err := readChecked(what, path, maxKeyText, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return nil
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
			if err := openKey(what, path, mode); err != nil {
				return err
			}
		}
		return CheckOpened(what+", "+path+",", path, info)
	})
	return trimNewline(string(data)), err
}

// openKey returns the error for a key that others can read. Docker and Kubernetes give secrets such a mode, on a
// read-only mount, where chmod cannot work. There the key passes if the machine has no other people.
func openKey(what, path string, mode fs.FileMode) error {
	if !place.ReadOnly(path) {
		return failf("%s, %s, is open to others (mode %04o): make it private, and consider a new key", what, path, mode).
			advise("type: chmod 600 %s", quoteShell(path))
	}
	if place.Alone() && CheckTrust(what, path) == nil {
		return nil
	}
	return failf("%s, %s, is open to others (mode %04o), on a read-only mount where that cannot be changed and other users may read it", what, path, mode).
		advise("give the key on standard input: --api-key-file - <%s", quoteShell(path))
}

// runCommand runs the profile's key command: without a shell or standard input, reading only the first bytes
// of output.
func (k Keys) runCommand(ctx context.Context, words []string) (string, error) {
	// A person who can change the program can read the key, and choose it.
	if err := CheckTrust("the program "+words[0]+" of "+keyCommand, words[0]); err != nil {
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
	key, err := k.withKeyring(ctx, func(r Keyring) (string, error) { return r.Get(keyringService, s.keyringUser()) })
	switch {
	case errors.Is(err, keyring.ErrNotFound), err == nil && key == "":
		return "", noKey(s)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", unreachable(err)
	}
	return key, nil
}
