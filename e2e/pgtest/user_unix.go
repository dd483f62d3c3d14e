//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// other returns a user who is not root, if this process is root's.
func other() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid(), nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return uid, gid, nil
		}
	}
	return 0, 0, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func giveAway(dir string) error {
	uid, gid, err := other()
	return errors.Join(err, os.Chown(dir, uid, gid))
}

func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, _ := other(); os.Getuid() == 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}
