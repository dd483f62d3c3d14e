package journal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/till/pkg/payout/order"
)

func TestSharedFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x517b: "SMB", 0x01021997: "9P", 0x00c36400: "Ceph",
		0x5346414f: "AFS", 0x47504653: "GPFS", 0x0bd00bd0: "Lustre", 0x6a656a63: "fakeowner", 0x786f4256: "vboxsf",
		0xbacbacbc: "vmhgfs", 0x7c7c6673: "prl_fs",
		0xef53: "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "", // ext4, XFS, btrfs, tmpfs, overlay
	} {
		if got := sharedFileSystem(magic); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
}

// TestSharedFuse checks that a file system of a program is refused unless it is known to be local.
func TestSharedFuse(t *testing.T) {
	for kind, want := range map[string]string{
		"fuse.sshfs": "sshfs", "fuse.rclone": "rclone", "virtiofs": "virtiofs", "fuse.grpcfuse": "grpcfuse",
		"fakeowner": "fakeowner", "fuse.mount.s3": "mount.s3", "fuse.mountpoint-s3": "mountpoint-s3",
		"fuse.ceph-fuse": "ceph-fuse", "fuse.vmhgfs-fuse": "vmhgfs-fuse", "fuse": "fuse", "fuse.unheard-of": "unheard-of",
		"fuse.gocryptfs": "", "fuse.fuse-overlayfs": "", "fuseblk": "",
	} {
		mounts := "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
			"90 22 0:51 / /home/ann/far rw,nosuid shared:9 - " + kind + " ann@host:/ rw,user_id=0\nshort\n"
		if got := sharedFuse(mounts, 0, 51); got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
		if got := sharedFuse(mounts, 0, 99); got != "FUSE" {
			t.Errorf("one that is not in the list is %q", got)
		}
	}
}

// TestReadOnlyDirectory has child processes that are not root, or have little room on the disk.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ro", "journal.db")
	must(t, os.Mkdir(filepath.Dir(path), 0o555))
	binary := os.Args[0]
	credential := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		credential.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			must(t, os.Chmod(d, 0o755))
		}
		data, err := os.ReadFile(os.Args[0]) // only root can read the build's own directory
		must(t, err)
		binary = filepath.Join(dir, "test")
		must(t, os.WriteFile(binary, data, 0o755))
	}
	c := exec.Command(binary, path)
	c.Dir = dir
	c.Env = append(os.Environ(), "JOURNAL_TEST_CHILD=open")
	c.SysProcAttr = credential
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "cannot be opened (") ||
		!strings.Contains(string(out), "look at the permissions") {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("till", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "journal.db")
	j := mustOpenFile(t, path)
	defer j.Close()
	ticket := mustClaim(t, j, claim("first"))
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not small")
	}
	var err error
	sent := 0
	for ; err == nil && sent < 1000; sent++ { // until the room that the files had left is used up
		_, err = j.Claim(t.Context(), claim(fmt.Sprint(sent)))
	}
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("after %d claims: %v", sent, err)
	}
	refused := fmt.Sprint(sent - 1)
	wantErr(t, "an outcome", Broken, "the disk is full")(j.Finish(t.Context(), ticket, accepted("w")))
	wantRefused(t, filepath.Join(dir, "deep", "journal.db"), "the disk is full")
	must(t, os.Remove(filepath.Join(dir, "filler")))
	mustFinish(t, j, ticket, accepted("w"))
	mustClaim(t, j, claim(refused))
}

func needStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("strace", "-f", "true").CombinedOutput(); err != nil {
		t.Skipf("strace is not here or may not trace: %v %s", err, out)
	}
}

// TestFailingSync checks that nothing is recorded if a sync fails.
func TestFailingSync(t *testing.T) {
	needStrace(t)
	path := filepath.Join(t.TempDir(), "journal.db")
	mustOpenFile(t, path).Close()
	log := filepath.Join(t.TempDir(), "log")
	p := start(t, "claim", path, "strace", "-f", "-o", log, "-e", "trace=fsync,fdatasync", "-e",
		"inject=fsync,fdatasync:error=EIO")
	p.expect(t, "open")
	p.say(t, "claim 1")
	if line := p.hear(t); !strings.Contains(line, "error the journal "+path+" cannot be read or written (") ||
		!strings.Contains(line, "look at the disk") {
		t.Error(line)
	}
	p.in.Close()
	p.Wait()
	if data, err := os.ReadFile(log); err != nil || !strings.Contains(string(data), "INJECTED") {
		t.Errorf("no sync was failed: %s, %v", data, err)
	}
}

// TestCopyToFullDisk checks that a copy is complete or fails, even if the disk has room for its log only.
func TestCopyToFullDisk(t *testing.T) {
	dir := t.TempDir()
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	const orders = 300
	for n := range orders {
		mustFinish(t, j, mustClaim(t, j, claim(fmt.Sprint(n+1))), accepted(fmt.Sprint("w", n)))
	}
	made, failed := 0, 0
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	for size := 150; size < 1200; size += 50 {
		if err := syscall.Mount("till", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", size)); err != nil {
			t.Skipf("a small disk cannot be mounted here: %v", err)
		}
		path := filepath.Join(dir, "copy.db")
		if err := j.Copy(t.Context(), path); err != nil {
			failed++
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("on %d KB it failed (%v) and left %v", size, err, entries)
			}
		} else {
			made++
			to := mustOpenFile(t, path)
			n := 0
			for _, err := range to.Orders(t.Context(), order.Filter{}) {
				if err != nil {
					t.Error(err)
				}
				n++
			}
			to.Close()
			if n != orders {
				t.Errorf("on %d KB the copy has %d orders of %d", size, n, orders)
			}
		}
		must(t, syscall.Unmount(dir, syscall.MNT_DETACH))
	}
	if made == 0 || failed == 0 {
		t.Errorf("%d copies were made, %d failed", made, failed)
	}
}

func TestMountedAt(t *testing.T) {
	const mounts = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
90 22 8:1 /data/journal.db /var/lib/till/journal.db rw - ext4 /dev/sda1 rw
91 22 8:1 /x /var/lib/my\040till/journal.db rw - ext4 /dev/sda1 rw
short
`
	for path, want := range map[string]bool{"/var/lib/till/journal.db": true, "/var/lib/my till/journal.db": true,
		"/data/journal.db": false, "/var/lib/till": false, "/": true} {
		if got := mountedAt(mounts, path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestMountPoint checks that a single file that is mounted, as in containers, is refused: its log would be
// elsewhere, and lost with the container.
func TestMountPoint(t *testing.T) {
	for _, end := range []string{"", logFile, locksFile} {
		outside, inside := filepath.Join(t.TempDir(), "journal.db"), filepath.Join(t.TempDir(), "journal.db")
		closing(t, outside)
		for _, path := range []string{outside + end, inside + end} {
			f, err := os.OpenFile(path, os.O_CREATE, 0o600)
			must(t, err)
			f.Close()
		}
		if err := syscall.Mount(outside+end, inside+end, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("a file cannot be mounted here: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(inside+end, syscall.MNT_DETACH) })
		wantRefused(t, inside,
			inside+end+" is mounted by itself, without the other files of the journal; mount its directory instead")
	}
	outside, inside := t.TempDir(), t.TempDir()
	must(t, syscall.Mount(outside, inside, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { syscall.Unmount(inside, syscall.MNT_DETACH) })
	closing(t, filepath.Join(inside, "journal.db"))
	mustOpenFile(t, filepath.Join(outside, "journal.db"))
}

func TestReadingSyncsNothing(t *testing.T) {
	needStrace(t)
	path := filepath.Join(t.TempDir(), "journal.db")
	j := mustOpenFile(t, path)
	for _, name := range []string{"open beside one that writes", "open it alone"} {
		mustClaim(t, j, claim(name))
		if name == "open it alone" {
			j.Close()
		}
		log := filepath.Join(t.TempDir(), "log")
		p := start(t, "open", path, "strace", "-f", "-y", "-o", log, "-e", "trace=fsync,fdatasync")
		p.say(t, "go")
		p.expect(t, "open")
		p.Wait()
		data, err := os.ReadFile(log)
		must(t, err)
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, "sync(") &&
				!strings.Contains(line, "<"+filepath.Dir(path)+">") { // SQLite's own sync of a new log
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
