package config

import (
	"fmt"
	"path/filepath"
)

// Path returns where the configuration is, and whether --config or TILL_CONFIG names it. If neither does and there
// is no home directory, that is an error rather than an empty configuration: a profile's limits must not vanish with
// a variable.
func (in Input) Path() (path string, from Origin, err error) {
	switch path, from = in.choice("config", "TILL_CONFIG"); {
	case path == "" && !from.IsDefault():
		return "", from, usagef("--config is empty: write the path of a configuration file")
	case !from.IsDefault():
		return path, from, nil
	}
	dir := in.xdg("XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return "", from, failf("the configuration cannot be found: %s, nor is XDG_CONFIG_HOME: set one of them, or TILL_CONFIG", noHome(in.Home)).
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

// NoHome says why there is no home directory, where StateDir is empty.
func (s Settings) NoHome() string { return noHome(s.home) }

// StateDir returns the directory in which journal and sandbox state are kept, or "" without a home directory.
func (in Input) StateDir() string { return in.xdg("XDG_STATE_HOME", ".local/state") }

// xdg returns the program's directory below one of the XDG base directories. A relative one is ignored, as the
// specification of those asks.
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
