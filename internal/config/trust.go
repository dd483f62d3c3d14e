package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/till/internal/place"
)

// CheckOpened refuses an open file that another user can change, whatever is at its place by now, and a place
// in which another user can put another file.
func CheckOpened(what, path string, info fs.FileInfo) error {
	if why := place.Distrust(info); why != "" {
		return distrusted(what, path, why, info)
	}
	return checkWay(what, path)
}

// CheckTrust refuses a file that another user can change or replace. A file that does not exist passes: using
// it reports the error.
func CheckTrust(what, path string) error {
	if err := checkWay(what, path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkWay refuses a file that another user can change or replace at any place on the way to it: the file,
// its directory and all above it, each link, and the directories of what it leads to.
func checkWay(what, path string) error {
	at, err := filepath.Abs(path)
	if err != nil {
		return failf("the way to %s cannot be looked at: %w", what, err)
	}
	bad, err := place.Way(at)
	switch {
	case err != nil:
		return failf("the way to %s cannot be looked at: %w", what, err)
	case bad == nil:
		return nil
	case bad.Info.Mode()&fs.ModeSymlink != 0:
		return failf("the link %s on the way to %s %s, who could send your money elsewhere", bad.Path, what, bad.Why).
			advise("look at where it leads, and type: chown -h %d %s", os.Geteuid(), quoteShell(bad.Path))
	case bad.Info.IsDir():
		what = "the directory " + bad.Path + " on the way to " + what
	}
	return distrusted(what, bad.Path, bad.Why, bad.Info)
}

func distrusted(what, path, why string, info fs.FileInfo) error {
	e := failf("%s %s, who could send your money elsewhere", what, why)
	if !strings.HasPrefix(why, "belongs") {
		return e.advise("make it private: chmod go-w %s", quoteShell(path))
	}
	return e.advise("look at what is in it, and type: chown %d %s; in a container, run as the user that it belongs to",
		os.Geteuid(), quoteShell(path))
}
