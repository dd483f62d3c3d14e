package journal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// checkFileSystem refuses file systems that other machines share, or the host of a virtual machine. Their
// locks may hold on one side and not on the other, and a commit may not be on the disk.
func checkFileSystem(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return err
	}
	name := sharedFileSystem(uint32(s.Type))
	if uint32(s.Type) == unix.FUSE_SUPER_MAGIC {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return err
		}
		var at unix.Stat_t
		if err := unix.Stat(dir, &at); err != nil {
			return err
		}
		name = sharedFuse(string(mounts), unix.Major(uint64(at.Dev)), unix.Minor(uint64(at.Dev)))
	}
	if name != "" {
		return sharedError(name)
	}
	return nil
}

// sharedFileSystem returns the name of a type of file system that is shared; empty: it is not one.
func sharedFileSystem(magic uint32) string {
	return map[uint32]string{
		unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", 0xfe534d42: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS",
		unix.AFS_SUPER_MAGIC: "AFS", unix.AFS_FS_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph",
		unix.CODA_SUPER_MAGIC: "Coda", unix.V9FS_MAGIC: "9P", unix.NCP_SUPER_MAGIC: "NCP",
		unix.OCFS2_SUPER_MAGIC: "OCFS2", 0x47504653: "GPFS", 0x0bd00bd0: "Lustre", 0x1161970: "GFS2",
		0x19830326: "BeeGFS", 0x20030528: "OrangeFS", 0xaad7aaea: "PanFS", 0xbeefdead: "StorNext",
		// What a virtual machine shares with its host, such as Docker Desktop's.
		0x6a656a63: "fakeowner", 0x786f4256: "vboxsf", 0xbacbacbc: "vmhgfs", 0x7c7c6673: "prl_fs",
	}[magic]
}

// sharedFuse returns the name of the file system that is mounted with this device number; empty: it is known to
// keep its files on this machine. All FUSE file systems, and virtiofs, have the same type, so only the list of
// mounts tells them apart.
func sharedFuse(mounts string, major, minor uint32) string {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 3 || len(what) == 0 || where[2] != fmt.Sprintf("%d:%d", major, minor) {
			continue
		}
		name := strings.TrimPrefix(what[0], "fuse.")
		disk := name == "fuseblk" || strings.HasPrefix(name, "fuseblk.") // ntfs-3g, on a disk of this machine
		if disk || slices.Contains([]string{"fuse-overlayfs", "gocryptfs", "encfs", "cryfs"}, name) {
			return ""
		}
		return name
	}
	return "FUSE"
}

// isMountPoint reports whether a file is mounted by itself. Container engines can mount a single file.
func isMountPoint(path string) (bool, error) {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &s)
	if err == nil && s.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return s.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
	}
	// Before Linux 5.8, only the list of mounts tells.
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && mountedAt(string(mounts), path), nil
}

// mountedAt reports whether a path is in the list of mounts.
func mountedAt(mounts, path string) bool {
	escaped := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(path)
	for line := range strings.Lines(mounts) {
		if where := strings.Fields(line); len(where) > 4 && where[4] == escaped {
			return true
		}
	}
	return false
}

// bootID names the present start of this machine; empty: the system does not say it.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, only the time of this machine tells
	return strings.TrimSpace(string(id))
})

// SinceBoot returns the time since this machine has started, with the time in which it was suspended, and a
// name for this start. This clock cannot be set.
func SinceBoot() (boot string, since time.Duration) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return "", 0
	}
	return bootID(), time.Duration(t.Nano())
}

// These locks belong to the open file and not to the process, so two journals in one process see each other's
// locks.
const setLock, getLock = unix.F_OFD_SETLK, unix.F_OFD_GETLK

// fileIdentity describes a file in a way that no copy shares: by the moment in which it was made, which nothing
// can set, or else by its number. Both outlast a restart and another mount. The number of the device does not,
// and an overlay may change that of the file; it is also given to another file soon after this one is removed.
func fileIdentity(path string) (string, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME|unix.STATX_INO, &s); err != nil {
		return "", err
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		return fmt.Sprintf("made %d.%09d", s.Btime.Sec, s.Btime.Nsec), nil
	}
	return fmt.Sprint("file ", s.Ino), nil
}
