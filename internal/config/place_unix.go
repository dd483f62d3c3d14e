//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkPlace refuses a configuration that somebody else owns, who can change it at any time, or that stands where everybody
// can put another in its place. Pipes and devices have no place that matters.
func checkPlace(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	if owner, foreign := foreignOwner(info, os.Geteuid()); foreign {
		return &Error{
			Msg:    fmt.Sprintf("the configuration file %s belongs to another user (id %d), who could send your money elsewhere: make it yours, or name another", path, owner),
			Advice: "look at what is in it, and type: chown " + fmt.Sprint(os.Geteuid()) + " " + quoteShell(path),
		}
	}
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return &Error{Msg: fmt.Sprintf("the configuration file cannot be looked at: %v", err), Err: err}
	}
	return checkDirectory(filepath.Dir(real))
}

func foreignOwner(info fs.FileInfo, euid int) (owner int, foreign bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	owner = int(stat.Uid)
	return owner, owner != euid && owner != 0
}

// checkDirectory looks for the directories in which everybody can rename everybody's files.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return &Error{Msg: fmt.Sprintf("the directory of the configuration cannot be looked at: %v", err), Err: err}
	}
	if info.Mode().Perm()&0o002 == 0 || info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return &Error{
		Msg:    fmt.Sprintf("everybody can write to %s, the directory of the configuration (mode %04o), and so send your money elsewhere: take that away", dir, info.Mode().Perm()),
		Advice: "type: chmod o-w " + quoteShell(dir),
	}
}
