//go:build unix

package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDistrustByMode(t *testing.T) {
	const dir = fs.ModeDir
	for _, test := range []struct {
		mode fs.FileMode
		gid  uint32
		want string
	}{
		{dir | 0o700, 1, ""}, {dir | 0o755, 1, ""}, {dir | 0o775, 1, "(mode 0775)"}, {dir | 0o702, 1, "(mode 0702)"},
		{dir | 0o777, 1, "(mode 0777)"}, {dir | 0o777 | fs.ModeSticky, 1, ""},
		{0o600, 1, ""}, {0o644, 1, ""}, {0o620, 1, "(mode 0620)"}, {0o602, 1, "(mode 0602)"},
		{0o602 | fs.ModeSticky, 1, "(mode 0602)"},
		{dir | 0o775, 0, ""}, {0o664, 0, ""}, {dir | 0o777, 0, "(mode 0777)"}, {0o666, 0, "(mode 0666)"},
	} {
		got := distrust(grouped{entry{mode: test.mode}, test.gid}, 1000)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s of the group %d: %q", test.mode, test.gid, got)
		}
	}
}

// TestPrivateGroup checks whose directories may be writable by their group: with a umask of 002, those of a home are.
func TestPrivateGroup(t *testing.T) {
	const groups, users = "root:x:0:\nann:x:1000:\nstaff:x:1001:bob\n", "root:x:0:0::/:\nann:x:1000:1000::/:\nbob:x:1001:1001::/:\n"
	for _, test := range []struct {
		groups, users string
		gid, euid     int
		want          bool
	}{
		{groups, users, 1000, 1000, true},
		{groups, users, 1000, 1001, false},
		{groups + "me:x:1001:bob\n", users, 1001, 1001, true}, // the user is in the list of the own group
		{groups + "eve:x:1000:eve\nz:x:1000:\n", users, 1000, 1000, false},
		{groups + "bobs:x:1001:eve\n", users, 1001, 1001, false},
		{groups, users + "eve:x:1002:1000::/:\n", 1000, 1000, false},
		{groups, users, 1005, 1005, false}, // a group without a name, where there are other people
		{"root:x:0:\n", "root:x:0:0::/:\n", 2000, 1000, true}, {"", "", 1000, 1000, true}, {"x\n", "y\n", 2000, 1000, true},
	} {
		if got := hasOnly(test.groups, test.users, test.gid, test.euid); got != test.want {
			t.Errorf("the group %d of %d, with %q and %q: %v", test.gid, test.euid, test.groups, test.users, got)
		}
	}
}

// grouped is an entry of another group.
type grouped struct {
	entry
	gid uint32
}

func (g grouped) Sys() any { return &syscall.Stat_t{Gid: g.gid} }

func TestDistrustOfOwners(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Skip("only root can give a file away")
	}
	info, err := os.Stat(dir)
	must(t, err)
	for euid, ours := range map[int]bool{12345: true, 0: false, 54321: false} {
		if got := distrust(info, euid); (got == "") != ours {
			t.Errorf("user %d: %q", euid, got)
		}
	}
	must(t, os.Chown(dir, 0, 0))
	info, err = os.Stat(dir)
	must(t, err)
	if got := distrust(info, 54321); got != "" {
		t.Errorf("root's directory: %q", got)
	}
}

// An entry is a file of a made-up file system. What is not listed belongs to root and has the mode 0755.
type entry struct {
	uid  int
	mode fs.FileMode
	link string // where it leads; empty: it is no link
}

func (e entry) Name() string       { return "" }
func (e entry) Size() int64        { return 0 }
func (e entry) Mode() fs.FileMode  { return e.mode }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.mode.IsDir() }
func (e entry) Sys() any           { return &syscall.Stat_t{Uid: uint32(e.uid), Gid: 1} }

// target is the file that the ways lead to.
const target = "/etc/till/signers"

type files map[string]entry

func link(uid int, to string) entry { return entry{uid, fs.ModeSymlink | 0o777, to} }

var open = entry{mode: fs.ModeDir | 0o777}

// TestWay walks to /etc/till/signers as user 1000. User 2000 is another one.
func TestWay(t *testing.T) {
	const dir, sticky = fs.ModeDir | 0o755, fs.ModeDir | fs.ModeSticky | 0o777
	for name, c := range map[string]struct {
		tree files
		want string // what is refused; empty: nothing
	}{
		"nothing special":                {nil, ""},
		"the file of this user":          {files{target: {uid: 1000, mode: 0o644}}, ""},
		"the file of another user":       {files{target: {uid: 2000, mode: 0o644}}, target},
		"a file that others can write":   {files{target: {mode: 0o666}}, target},
		"an open directory":              {files{"/etc/till": open}, "/etc/till"},
		"an open directory above":        {files{"/etc": {mode: fs.ModeDir | 0o775}}, "/etc"},
		"an open root":                   {files{"/": open}, "/"},
		"another user's directory above": {files{"/etc": {2000, dir, ""}}, "/etc"},

		"a sticky directory":              {files{"/etc": {mode: sticky}}, ""},
		"another user's entry in it":      {files{"/etc": {mode: sticky}, "/etc/till": {2000, dir, ""}}, "/etc/till"},
		"another user's link in it":       {files{"/etc": {mode: sticky}, "/etc/till": link(2000, "/safe")}, "/etc/till"},
		"another user's sticky directory": {files{"/etc": {2000, sticky, ""}}, "/etc"},
		"an open directory below a sticky one": {files{"/etc": {mode: sticky},
			"/etc/till": {1000, fs.ModeDir | 0o777, ""}}, "/etc/till"},
		"a file that others can write, and sticky": {files{target: {mode: 0o666 | fs.ModeSticky}}, target},

		"a link":                 {files{target: link(0, "/safe/signers")}, ""},
		"a link of another user": {files{target: link(2000, "/safe/signers")}, target},
		"a link to another user's file": {files{target: link(0, "/safe/signers"),
			"/safe/signers": {uid: 2000, mode: 0o644}}, "/safe/signers"},
		"a link into an open directory": {files{target: link(0, "/open/signers"), "/open": open}, "/open"},
		"a link that leads on": {files{target: link(0, "/open/between"),
			"/open": open, "/open/between": link(0, "/safe/signers")}, "/open"},
		"a link of another user between": {files{target: link(0, "/safe/between"),
			"/safe/between": link(2000, "/safe/signers")}, "/safe/between"},
		"a link of a directory": {files{"/etc": link(0, "open"), "/open/till": open}, "/open/till"},
		"a link up and down": {files{target: link(0, ".././../open//signers"),
			"/open": open}, "/open"},
		"a link to a place below": {files{target: link(0, "sub/signers"), "/etc/till/sub": open}, "/etc/till/sub"},
		"a link to a link's directory": {files{"/etc/till": link(0, "/a/b"),
			"/a/b/signers": link(0, "../signers"), "/a": open}, "/a"},
		"a link to the directory of root": {files{target: link(0, "../../../../safe/signers")}, ""},
	} {
		bad, err := walk(c.tree, target)
		if got := pathOf(bad); got != c.want || err != nil {
			t.Errorf("%s: it refuses %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestWayOfCircle(t *testing.T) {
	tree := files{"/a": {mode: fs.ModeSymlink, link: "b"}, "/b": {mode: fs.ModeSymlink, link: "/a"}}
	if bad, err := walk(tree, "/a"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("got %v, %v", bad, err)
	}
}

func walk(files files, path string) (*Untrusted, error) {
	return made(files).way(path, 1000)
}

// made returns a file system in which everything exists, unless its mode is 1.
func made(files files) tree {
	at := func(name string) entry {
		if e, found := files[name]; found {
			return e
		}
		if filepath.Base(name) == "signers" {
			return entry{mode: 0o644}
		}
		return entry{mode: fs.ModeDir | 0o755}
	}
	return tree{func(name string) (fs.FileInfo, error) {
		if at(name).mode == 1 {
			return nil, fs.ErrNotExist
		}
		return at(name), nil
	}, func(name string) (string, error) { return at(name).link, nil }}
}

// TestFollow follows /etc/till/signers as user 1000.
func TestFollow(t *testing.T) {
	for name, c := range map[string]struct {
		files files
		want  string // where it leads, or what the error says
	}{
		"no link":                    {nil, target},
		"a file that does not exist": {files{target: {mode: 1}}, target},
		"no directory":               {files{"/etc/till": {mode: 1}}, fs.ErrNotExist.Error()},
		"another user's file":        {files{target: {uid: 2000, mode: 0o666}}, target},
		"a link of this user":        {files{target: link(1000, "../safe")}, "/etc/safe"},
		"a link of root":             {files{"/etc/till": link(0, "/safe")}, "/safe/signers"},
		"a link of another user": {files{target: link(2000, "/safe")},
			"the link /etc/till/signers belongs to another user (id 2000)"},
		"another user's link on the way": {files{"/etc/till": link(2000, "/safe")},
			"the link /etc/till belongs to another user (id 2000)"},
		"another user's link behind it": {files{"/etc/till": link(1000, "/open"),
			"/open": link(2000, "/safe")}, "the link /open belongs"},
		"a link that leads nowhere": {files{target: link(1000, "none"), "/etc/till/none": {mode: 1}}, fs.ErrNotExist.Error()},
		"no file behind the link of a directory": {files{"/etc/till": link(0, "/safe"),
			target: {mode: 1}, "/safe/signers": {mode: 1}}, "/safe/signers"},
	} {
		got, err := made(c.files).follow(target, 1000)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func pathOf(bad *Untrusted) string {
	if bad == nil {
		return ""
	}
	return bad.Path
}
