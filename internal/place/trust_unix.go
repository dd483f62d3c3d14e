//go:build unix

package place

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Distrust says who else can change a file, or the names in a directory. It is empty if only this user and
// root can. In a directory with the sticky bit, such as /tmp, only owners can rename or remove their files.
func Distrust(info fs.FileInfo) string { return distrust(info, os.Geteuid()) }

func distrust(info fs.FileInfo, euid int) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	if owner := int(stat.Uid); owner != euid && owner != 0 {
		return fmt.Sprintf("belongs to another user (id %d)", owner)
	}
	if info.IsDir() && info.Mode()&fs.ModeSticky != 0 {
		return ""
	}
	open := info.Mode().Perm() & 0o022
	if info.IsDir() && runtime.GOOS == "darwin" && stat.Gid == administrators {
		open &^= 0o020
	}
	if open != 0 {
		return fmt.Sprintf("can be written by others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// administrators is the group on macOS whose members can do everything anyway. Homebrew gives its directories
// to it.
const administrators = 80

// Directory checks the directory of a file and, if the path is a link, the directory of the file that it
// leads to. It returns the first directory that another user can change, and says how, as Distrust does. Both
// are empty if there is none.
func Directory(path string) (dir, why string, err error) {
	for _, dir := range directories(path) {
		info, err := os.Stat(dir)
		if err != nil {
			return dir, "", err
		}
		if why := Distrust(info); why != "" {
			return dir, why, nil
		}
	}
	return "", "", nil
}

func directories(path string) []string {
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}
