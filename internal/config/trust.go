package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/till/internal/place"
)

// checkTrust refuses a file that another user can change or replace.
func checkTrust(what, path string, info fs.FileInfo) error {
	if why := place.Distrust(info); why != "" {
		return distrusted(what, path, why, info)
	}
	return checkDirectory(what, path)
}

// checkWay refuses a file that another user can change or replace at any place on the way to it: the file,
// its directory and all above it, each link, and the directories of what it leads to.
func checkWay(what, path string) error {
	bad, err := place.Way(path)
	if err != nil {
		return failf("the way to %s cannot be looked at: %w", what, err)
	}
	switch {
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

// CheckProgram refuses the program of a setting if another user can change or replace it. A program that does
// not exist passes: running it reports the error.
func CheckProgram(setting, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return checkTrust("the program "+path+" of "+setting, path, info)
}

// checkDirectory refuses the directory of a file, or of the target of a link, if another user can replace
// files in it.
func checkDirectory(what, path string) error {
	dir, why, err := place.Directory(path)
	if err != nil {
		return failf("the directory of %s cannot be looked at: %w", what, err)
	}
	if why == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return failf("the directory of %s cannot be looked at: %w", what, err)
	}
	return distrusted("the directory "+filepath.Clean(dir)+" of "+what, dir, why, info)
}

func distrusted(what, path, why string, info fs.FileInfo) error {
	e := failf("%s %s, who could send your money elsewhere", what, why)
	if !strings.HasPrefix(why, "belongs") {
		return e.advise("make it private: chmod go-w %s", quoteShell(path))
	}
	return e.advise("look at what is in it, and type: chown %d %s; in a container, run as the user that it belongs to",
		os.Geteuid(), quoteShell(path))
}
