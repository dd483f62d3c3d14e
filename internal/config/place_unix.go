//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/till/internal/place"
)

// checkPlace refuses a configuration file that somebody else can change, by itself or by putting another in its place.
// Pipes and devices have no place that matters.
func checkPlace(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	if why := place.Distrust(info); why != "" {
		return distrusted("the configuration file "+path, path, why, info)
	}
	return checkDirectory("the configuration file", path)
}

// checkProgram refuses a program that somebody else can change: it is given to read, and says, what the key is.
func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // running it says why
	}
	if why := place.Distrust(info); why != "" {
		return distrusted("the program "+path+" of api_key_command", path, why, info)
	}
	return checkDirectory("the program "+path+" of api_key_command", path)
}

// checkDirectory refuses the directory of a file, or of the file that a link leads to, in which somebody else can put
// another file in its place.
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
	advice := fmt.Sprintf("look at what is in it, and type: chown %d %s", os.Geteuid(), quoteShell(path))
	if info.Mode().Perm()&0o022 != 0 {
		advice = "type: chmod go-w " + quoteShell(path)
	}
	return &Error{Msg: what + " " + why + ", who could send your money elsewhere: take that away", Advice: advice}
}
