//go:build unix

package place

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Distrust says who else can change a file, or the names in a directory. It is empty if only this user and
// root can. The group 0 may: it is root's, and images let it write to what any user of the container uses. In a directory with the sticky bit, such as /tmp, only owners can rename or remove their files.
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
	if info.Mode()&fs.ModeSymlink != 0 {
		open = 0
	}
	if stat.Gid == 0 || info.IsDir() && runtime.GOOS == "darwin" && stat.Gid == administrators {
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

// Way checks everything by which another user could put another file at a path: each directory on the way to
// it, each link, the directories that a link leads through, and the file. It returns the first that another
// user can change, or nil. The path is absolute.
//
// In a directory with the sticky bit, such as /tmp, only the owners of an entry and of the directory can
// remove or rename the entry. So the directory passes if each entry on the way belongs to this user or to
// root, as the directory itself does. A link can be replaced only in its directory, and its mode says
// nothing. Access lists need no look of their own: what they let others write shows in the mode of the group.
func Way(path string) (*Untrusted, error) { return way(path, os.Lstat, os.Readlink, os.Geteuid()) }

// mostLinks is how many links may be on the way, as on Linux. More are taken for a circle.
const mostLinks = 40

func way(
	path string, lstat func(string) (fs.FileInfo, error), readlink func(string) (string, error), euid int,
) (*Untrusted, error) {
	links := 0
	at, left := "/", path // at has no links
	for {
		info, err := lstat(at)
		if err != nil {
			return nil, err
		}
		if why := distrust(info, euid); why != "" {
			return &Untrusted{at, why, info}, nil
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > mostLinks {
				return nil, &fs.PathError{Op: "readlink", Path: path, Err: syscall.ELOOP}
			}
			target, err := readlink(at)
			if err != nil {
				return nil, err
			}
			if at, left = filepath.Dir(at), target+"/"+left; filepath.IsAbs(target) {
				at = "/"
			}
			continue
		}
		var name string
		for name == "" || name == "." {
			if left == "" {
				return nil, nil
			}
			name, left, _ = strings.Cut(left, "/")
		}
		at = filepath.Join(at, name) // of .., the directory above: at has no links
	}
}
