package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/money"
	"example.com/till/internal/place"
	"example.com/till/internal/terminal"
	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// maxFile is the largest file of a configuration or of approvers in bytes: larger than any real one, and small enough to
// read at once.
const maxFile = 1 << 20

// File is a configuration file that was read and is valid. The zero File is an empty configuration.
type File struct {
	Path       string // the path of the file
	named      Origin // the flag or variable that names it, if any
	Current    string // the profile in use if no other is named, or empty
	Currencies []money.Entry
	Layouts    map[string]sheet.Layout // of the files of payments, by name
	Profiles   map[string]Profile
}

// Profile is one profile of a configuration file. It holds only what the file says.
type Profile struct {
	Values         map[string]string   // the settings that are one text, by key; base_url is normalised
	Lists          map[string][]string // the others but the currencies, by key, as they are shown
	Limits         money.Limits
	ApprovalsAbove []api.Amount // the totals up to which no approval is needed, by unit
	Currencies     []money.Entry
}

// Text returns a setting on one line, without secrets. It is empty if the profile does not have it.
func (p Profile) Text(key string) string {
	list, separator := p.Lists[key], ", "
	switch key {
	case "journal":
		return place.Redact(p.Values[key])
	case keyCommand, keyOnFinish:
		separator = " "
	case keyCurrency:
		for _, e := range p.Currencies {
			list = append(list, e.Code)
		}
	}
	return cmp.Or(p.Values[key], strings.Join(list, separator))
}

// Names returns the names of the file's profiles, sorted.
func (f File) Names() []string {
	return slices.Sorted(maps.Keys(f.Profiles))
}

// MustExist returns an error if there is no profile of this name. After the name, it says where that comes from.
func (f File) MustExist(name, from string) error {
	if _, exists := f.Profiles[name]; exists || name == Sandbox {
		return nil
	}
	return &Error{Msg: fmt.Sprintf("the profile %q%s does not exist: choose one of %s, or make it", name, from,
		strings.Join(append(f.Names(), Sandbox), ", ")),
		Advice: "type", Command: []string{"profile", "set", "NAME", "base_url=https://..."}}
}

// registry returns the currencies that a profile knows: the built-in ones, the common list, its own.
func (f File) registry(p Profile) money.Registry {
	return money.NewRegistry().With(f.Currencies...).With(p.Currencies...)
}

// Load reads the configuration that Path names, strictly. If no flag or variable names it and it does not exist, it
// is empty.
func (in Input) Load() (File, error) {
	path, named, err := in.Path()
	if err != nil {
		return File{}, err
	}
	text, err := terminal.Interruptibly(in.Ctx, func() ([]byte, error) { return readTrusted("the configuration file "+path, path) })
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named.IsDefault():
		return File{}, &Error{Msg: "the configuration file that " + named.typed() +
			" names does not exist: check the path, or make it with the command profile set", Err: err}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return File{}, err
	}
	f, _, wrong := parse(text)
	if wrong != nil {
		return File{}, located(wrong, path)
	}
	f.Path, f.named = path, named
	return f, nil
}

// readTrusted reads a file that only its owner can write or replace.
func readTrusted(what, path string) ([]byte, error) {
	text, err := readChecked(what, path, maxFile+1, func(info fs.FileInfo) error { return CheckTrust(what, path, info) })
	if err == nil && len(text) > maxFile {
		err = failf("%s is larger than 1 MiB: name another file", what)
	}
	return text, err
}

// ReadApprovers returns the text of the file of those who may approve what is sent. Only this user and root
// may be able to change the file, and every link and directory on the way to it.
func (s Settings) ReadApprovers() ([]byte, error) {
	if s.Approvers == "" {
		return nil, failf("the profile %s requires %d approvals, and does not say who may approve", s.Profile, s.Approvals).
			advise("type: till profile set %s approvers=/etc/till/allowed_signers", s.Profile)
	}
	what := "the file of approvers " + s.Approvers
	if info, err := os.Stat(s.Approvers); err == nil && !info.Mode().IsRegular() { // opening a pipe may wait for ever
		return nil, failf("%s is not a regular file: name a file", what)
	}
	text, err := readTrusted(what, s.Approvers)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failf("%s does not exist", what).
			advise("write a line for each person, in the format allowed_signers of ssh-keygen")
	}
	return text, err
}

// readChecked reads the beginning of a file that passes a check. It checks and reads the same open file, so nothing
// can replace the file in between. The place of a pipe or a device does not matter, such as that of a shell's
// <(command), and a pipe may never have a writer. Its own errors show no path but that in what: it may be a key given
// by mistake.
func readChecked(what, path string, limit int64, check func(fs.FileInfo) error) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, failf("%s cannot be opened: %w", what, atomicfile.WithoutPath(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, failf("%s cannot be looked at: %w", what, atomicfile.WithoutPath(err))
	case info.IsDir():
		return nil, failf("%s is a directory: name a file", what)
	case info.Mode().IsRegular():
		if err := check(info); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, failf("%s cannot be read: %w", what, atomicfile.WithoutPath(err))
	}
	return data, nil
}

// CheckTrust refuses a file that another user can change or replace at any place on the way to it: the file, its
// directory and all above it, each link, and the directories of what it leads to. It also refuses an open file that
// another user can change, whatever is at its place by now. If none is open, a file that does not exist passes:
// using it reports the error.
func CheckTrust(what, path string, open fs.FileInfo) error {
	at, err := filepath.Abs(path)
	var bad *place.Untrusted
	if err == nil {
		bad, err = place.Way(at)
	}
	if open != nil {
		if why := place.Distrust(open); why != "" {
			bad, err = &place.Untrusted{Path: path, Info: open, Why: why}, nil
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	switch {
	case err != nil:
		return failf("the way to %s cannot be looked at: %w", what, err)
	case bad == nil:
		return nil
	case bad.Info.Mode()&fs.ModeSymlink != 0:
		return failf("the link %s on the way to %s %s, who could send your money elsewhere", bad.Path, what, bad.Why).
			advise("look at where it leads, and type: chown -h %d %s", os.Geteuid(), usage.Quote(bad.Path))
	case bad.Info.IsDir():
		what = "the directory " + bad.Path + " on the way to " + what
	}
	e := failf("%s %s, who could send your money elsewhere", what, bad.Why)
	if !strings.HasPrefix(bad.Why, "belongs") {
		return e.advise("make it private: chmod go-w %s", usage.Quote(bad.Path))
	}
	return e.advise("look at what is in it, and type: chown %d %s; in a container, run as the user that it belongs to",
		os.Geteuid(), usage.Quote(bad.Path))
}
