//go:build unix

package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Distrust says who else can change a file, or the names in a directory. It is empty if only this user and
// root can. The group 0 may: it is root's, and images let it write to what any user of the container uses. So may
// a group in which this user is alone: with it, systems make the directories of a home writable by the group. In
// a directory with the sticky bit, such as /tmp, only owners can rename or remove their files.
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
	if stat.Gid == 0 || open&0o020 != 0 && isPrivate(int(stat.Gid), euid) || info.IsDir() && runtime.GOOS == "darwin" && stat.Gid == administrators {
		open &^= 0o020
	}
	if open != 0 {
		return fmt.Sprintf("can be written by others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// isPrivate reports whether a group has no member but this user.
func isPrivate(gid, euid int) bool {
	groups, err := os.ReadFile("/etc/group")
	users, _ := os.ReadFile("/etc/passwd")
	return (err == nil || errors.Is(err, fs.ErrNotExist)) && hasOnly(string(groups), string(users), gid, euid)
}

// hasOnly is isPrivate for the texts of the two files. A group with the number of the user is private if no list
// names another member. One without a name, such as that of a volume in Kubernetes, is private in a container.
func hasOnly(groups, users string, gid, euid int) bool {
	column := func(line string, i int) string {
		return append(strings.Split(strings.TrimSpace(line), ":"), "", "", "", "")[i]
	}
	name := ""
	for line := range strings.Lines(users) {
		own := column(line, 2) == fmt.Sprint(euid)
		if own {
			name = column(line, 0)
		} else if column(line, 3) == fmt.Sprint(gid) {
			return false
		}
	}
	named := false
	for line := range strings.Lines(groups) {
		if column(line, 2) != fmt.Sprint(gid) {
			continue
		}
		named = true
		if members := column(line, 3); members != "" && members != name {
			return false
		}
	}
	if named {
		return gid == euid
	}
	return !otherPeople(users, euid)
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
func Way(path string) (*Untrusted, error) { return disk.way(path, os.Geteuid()) }

// Follow returns where a path leads, without links. The file need not exist, unless a link leads to it. A link
// that belongs to another user is refused: it may have been put there so that a file of this user is replaced.
func Follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return disk.follow(path, os.Geteuid())
}

// A tree is a file system.
type tree struct {
	lstat    func(string) (fs.FileInfo, error)
	readlink func(string) (string, error)
}

var disk = tree{os.Lstat, os.Readlink}

func (t tree) way(path string, euid int) (*Untrusted, error) {
	_, bad, err := t.walk(path, func(info fs.FileInfo) string { return distrust(info, euid) })
	return bad, err
}

func (t tree) follow(path string, euid int) (string, error) {
	at, bad, err := t.walk(path, func(info fs.FileInfo) string {
		if info.Mode()&fs.ModeSymlink == 0 {
			return ""
		}
		return distrust(info, euid)
	})
	if bad != nil {
		return "", fmt.Errorf("the link %s %s, who could have another file replaced", bad.Path, bad.Why)
	}
	if info, e := t.lstat(path); at != "" && errors.Is(err, fs.ErrNotExist) &&
		(e != nil || info.Mode()&fs.ModeSymlink == 0) { // another process may have made it by now
		return at, nil
	}
	return at, err
}

// mostLinks is how many links may be on the way, as on Linux. More are taken for a circle.
const mostLinks = 40

// walk goes to where a path leads, unless it comes past something that is refused. It returns where that is,
// also if nothing is there in a directory that exists.
func (t tree) walk(path string, refuse func(fs.FileInfo) string) (end string, bad *Untrusted, err error) {
	at, left := "/", path // at has no links
	for links := 0; ; {
		info, err := t.lstat(at)
		if err != nil {
			if strings.Trim(left, "/") == "" {
				end = at
			}
			return end, nil, err
		}
		if why := refuse(info); why != "" {
			return "", &Untrusted{at, why, info}, nil
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > mostLinks {
				return "", nil, &fs.PathError{Op: "readlink", Path: path, Err: syscall.ELOOP}
			}
			if at, left, err = t.followLink(at, left); err != nil {
				return "", nil, err
			}
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimLeft(left, "/"), "/")
		if name == "" {
			return at, nil, nil
		}
		at, left = filepath.Join(at, name), rest // of .., the directory above: at has no links
	}
}

// followLink returns the directory that a link's target starts from, and what is left of the path from there.
func (t tree) followLink(link, left string) (at, rest string, err error) {
	target, err := t.readlink(link)
	if filepath.IsAbs(target) {
		return "/", target + "/" + left, err
	}
	return filepath.Dir(link), target + "/" + left, err
}

// ReadOnly reports whether a path is on a mount where nothing can be changed, not even a mode.
func ReadOnly(path string) bool {
	const readOnly = 1 // ST_RDONLY of Linux and MNT_RDONLY of macOS
	var s syscall.Statfs_t
	return syscall.Statfs(path, &s) == nil && s.Flags&readOnly != 0
}
