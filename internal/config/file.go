package config

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"example.com/till/internal/money"
)

// maxFile is far more than any configuration, and little enough to read at once.
const maxFile = 1 << 20

// File is a configuration file that has been read and found right. The zero File is an empty configuration.
type File struct {
	Path       string // where it was read from
	Current    string // the profile in use where no other is named, or empty
	Currencies []money.Entry
	Profiles   map[string]Profile
}

// Profile is one profile of a configuration file: what the file leaves out is left out here.
type Profile struct {
	Values        map[string]string // the settings that are one text, by key; the base_url is normalised
	APIKeyCommand []string
	Limits        money.Limits
	Currencies    []money.Entry
}

// Names returns the names of the file's profiles, sorted.
func (f File) Names() []string {
	return slices.Sorted(maps.Keys(f.Profiles))
}

// registry returns what a profile knows of currencies: the built-in ones, the common list, its own.
func (f File) registry(p Profile) money.Registry {
	return money.NewRegistry().With(f.Currencies...).With(p.Currencies...)
}

// Load reads the configuration file at path, strictly. One that does not exist is an error with fs.ErrNotExist in its
// chain; Input.Load knows when that is none.
func Load(path string) (File, error) {
	data, err := readFile(path)
	if err != nil {
		return File{}, err
	}
	f, _, err := parse(data)
	if err != nil {
		return File{}, located(err, path)
	}
	f.Path = path
	return f, nil
}

// Load reads the configuration that Path names. Where it is not named and does not exist, the configuration is empty.
func (in Input) Load() (File, error) {
	path, from, err := in.Path()
	if err != nil {
		return File{}, err
	}
	f, err := Load(path)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return f, err
	case from.IsDefault():
		return File{Path: path}, nil
	}
	return File{}, &Error{Msg: "the configuration file that " + from.typed() + " names does not exist: check the path, or make it with `till profile set`", Err: err}
}

// readFile reads a configuration file that only its owner can write or replace.
func readFile(path string) ([]byte, error) {
	// parse refuses a file that has the one byte more
	data, err := readChecked("the configuration file", path, maxFile+1, func(info fs.FileInfo) error {
		switch {
		case info.IsDir():
			return failf("the configuration file %s is a directory: name a file", path)
		case info.Mode().IsRegular(): // pipes and devices have no place that matters
			return checkTrust("the configuration file "+path, path, info)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Msg: "the configuration file does not exist: check the path, or make it with `till profile set`", Err: err}
	}
	return data, err
}

// readChecked reads the beginning of a file that passes a check. What is checked and what is read is one open file, so
// that neither can be exchanged in between. No error of its own shows the path: a key may have been given instead.
func readChecked(what, path string, limit int64, check func(fs.FileInfo) error) ([]byte, error) {
	withoutPath := func(err error) error {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			return at.Err
		}
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, failf("%s cannot be opened: %w", what, withoutPath(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, failf("%s cannot be looked at: %w", what, withoutPath(err))
	}
	if err := check(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, failf("%s cannot be read: %w", what, withoutPath(err))
	}
	return data, nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9/._+,@%-]+$`)

func quoteShell(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
