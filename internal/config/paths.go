package config

import (
	"fmt"
	"path/filepath"
)

// Path returns the path of the configuration file, and the flag or variable that names it, if any. Without
// either, a missing home directory is an error and not an empty configuration: the limits of a profile must
// not disappear with a variable.
func (in Input) Path() (path string, from Origin, err error) {
	switch path, from = in.choice("config", "TILL_CONFIG"); {
	case path == "" && !from.IsDefault():
		return "", from, usagef("--config is empty: write the path of a configuration file")
	case !from.IsDefault():
		return path, from, nil
	}
	dir := in.xdg("XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return "", from,
			failf("the configuration cannot be found: %s, nor is XDG_CONFIG_HOME: set one of them, or TILL_CONFIG",
				noHome(in.Home)).
				advise("type: export TILL_CONFIG=/dev/null, to go without a configuration")
	}
	return filepath.Join(dir, "config.yaml"), from, nil
}

// noHome says why there is no home directory.
func noHome(home string) string {
	if home == "" {
		return "HOME is not set"
	}
	return fmt.Sprintf("HOME is not an absolute path (%q)", home)
}

// NoHome says why there is no home directory, if StateDir is empty.
func (s Settings) NoHome() string { return noHome(s.home) }

// StateDir returns the directory of the journal and the sandbox state, or "" without a home directory.
func (in Input) StateDir() string { return in.xdg("XDG_STATE_HOME", ".local/state") }

// xdg returns the program's directory below one of the XDG base directories. It ignores a relative path, as
// the XDG specification requires.
func (in Input) xdg(variable, fallback string) string {
	base := in.env(variable)
	if !filepath.IsAbs(base) {
		if !filepath.IsAbs(in.Home) {
			return ""
		}
		base = filepath.Join(in.Home, fallback)
	}
	return filepath.Join(base, "till")
}
