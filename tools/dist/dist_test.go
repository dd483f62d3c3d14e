package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"example.com/till/internal/cli"
	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/goreleaser/nfpm/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// made is what dist makes of the working tree, for the platforms of tested.
var made = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "till-dist-test-")
	if err != nil {
		return "", err
	}
	temporary = append(temporary, dir)
	tree := filepath.Join(dir, "tree")
	if err := committed(tree); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "out")
	return out, makeAll(newToolchain(tree), out, tested())
})

// tested returns each operating system and each processor, but not every pair: till is compiled again for
// each. The packages for linux/arm64 have a program of a few lines instead: see committed.
func tested() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
}

var temporary []string

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range temporary {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// committed copies the files of the working tree to a directory, and commits them there. For linux/arm64,
// till is replaced by a program that compiles in no time.
func committed(to string) error {
	script := `set -e
mkdir "$0" && git -C ../.. ls-files -z --cached --others --exclude-standard | (cd ../.. && xargs -0 sh -c 'for f; do test -e "$f" && printf "%s\0" "$f"; done' sh) |
	tar -C ../.. --null -T - -cf - | tar -C "$0" -xf -
cd "$0"
{ printf '//go:build !linux || !arm64\n\n'; cat cmd/till/main.go; } >../main.go && mv ../main.go cmd/till
printf '//go:build linux && arm64\n\npackage main\n\nfunc main() {}\n' >cmd/till/main_linux_arm64.go
git init -q . && git add -A && git -c user.name=till -c user.email=till@example.com commit -q -m "dist: test"`
	cmd := exec.Command("sh", "-c", script, to)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

func out(t *testing.T) string {
	t.Helper()
	dir, err := made()
	must(t, err)
	return dir
}

// find returns the only file of the output whose name ends like this.
func find(t *testing.T, suffix string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out(t), "*"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v end with %s: %v", found, suffix, err)
	}
	return found[0]
}

// need skips a test if this machine has not got a program, or a user who is root. In CI it fails instead.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		_, err := exec.LookPath(name)
		if name == "root" {
			if err = nil; os.Geteuid() != 0 {
				err = errors.New("only root can change the root directory")
			}
		}
		switch {
		case err == nil:
		case os.Getenv("TILL_NEEDS_TOOLS") != "":
			t.Fatal(err)
		default:
			t.Skip(err)
		}
	}
}

func run1(t *testing.T, name string, args ...string) string {
	t.Helper()
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, text)
	}
	return string(text)
}

// eachEntry calls do for what a tar archive has, in order.
func eachEntry(t *testing.T, r io.Reader, do func(header *tar.Header, data []byte)) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		data, err := io.ReadAll(archive)
		must(t, err)
		do(header, data)
	}
}

// tarFiles reads the regular files of a tar archive.
func tarFiles(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	eachEntry(t, r, func(header *tar.Header, data []byte) {
		if header.Typeflag == tar.TypeReg {
			files[header.Name] = data
		}
	})
	return files
}

func gunzip(t *testing.T, name string) io.Reader {
	t.Helper()
	return gunzipped(t, read(t, name))
}

func gunzipped(t *testing.T, data string) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(data))
	must(t, err)
	return r
}

// unpack returns the files of the only archive or package whose name ends like this. For an archive, their names are
// those below the directory that holds all of them.
func unpack(t *testing.T, suffix string) map[string][]byte {
	t.Helper()
	file, files := find(t, suffix), map[string][]byte{}
	var all map[string][]byte
	switch path.Ext(suffix) {
	case ".apk": // archives one after another, and only the last has an end
		return tarFiles(t, gunzip(t, file))
	case ".deb":
		need(t, "dpkg-deb")
		for name, data := range tarFiles(t, strings.NewReader(run1(t, "dpkg-deb", "--fsys-tarfile", file))) {
			files[strings.TrimPrefix(name, "./")] = data
		}
		return files
	case ".gz":
		all = tarFiles(t, gunzip(t, file))
	case ".zip":
		archive, err := zip.OpenReader(file)
		must(t, err)
		defer archive.Close()
		all = map[string][]byte{}
		for _, f := range archive.File {
			if all[f.Name], err = fs.ReadFile(archive, f.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	top := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".zip"), ".tar.gz") + "/"
	for name, data := range all {
		inside, ok := strings.CutPrefix(name, top)
		if !ok {
			t.Fatalf("%s is not in %s", name, top)
		}
		files[inside] = data
	}
	return files
}

// TestBinariesAreStripped looks at those for Linux: all are linked alike. TestEveryLinkedModuleIsNamed tells the others
// from them.
func TestBinariesAreStripped(t *testing.T) {
	for name, machine := range map[string]elf.Machine{"linux_amd64": elf.EM_X86_64, "linux_arm64": elf.EM_AARCH64} {
		f, err := elf.NewFile(bytes.NewReader(unpack(t, name+".tar.gz")["till"]))
		if err != nil || f.Machine != machine || f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// entry is a file or directory in an archive, a package or the image.
type entry struct {
	name     string // with slashes, without one at the beginning or the end
	mode     fs.FileMode
	uid, gid int
}

// tarEntries reads the entries of a tar archive.
func tarEntries(t *testing.T, r io.Reader) (all []entry) {
	t.Helper()
	eachEntry(t, r, func(header *tar.Header, _ []byte) {
		if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir {
			return
		}
		if name := header.Uname + header.Gname; strings.Trim(strings.ReplaceAll(name, "root", ""), " ") != "" {
			t.Errorf("%s belongs to %s", header.Name, name)
		}
		all = append(all, entry{path.Clean(header.Name), header.FileInfo().Mode(), header.Uid, header.Gid})
	})
	return all
}

func TestEntriesHaveModesAndOwners(t *testing.T) {
	archives := map[string][]entry{
		"linux.tar.gz":  tarEntries(t, gunzip(t, find(t, "linux_amd64.tar.gz"))),
		"darwin.tar.gz": tarEntries(t, gunzip(t, find(t, "darwin_arm64.tar.gz"))),
		"source.tar.gz": tarEntries(t, gunzip(t, find(t, "-source.tar.gz"))),
		"apk":           tarEntries(t, gunzip(t, find(t, "linux_amd64.apk"))),
		"image":         tarEntries(t, gunzipped(t, imageLayer(t, "amd64"))),
	}
	windows, err := zip.OpenReader(find(t, "windows_amd64.zip"))
	must(t, err)
	defer windows.Close()
	for _, f := range windows.File {
		archives["zip"] = append(archives["zip"], entry{name: f.Name, mode: f.Mode()})
	}
	if _, err := exec.LookPath("dpkg-deb"); err == nil {
		archives["deb"] = tarEntries(t, strings.NewReader(run1(t, "dpkg-deb", "--fsys-tarfile", find(t, "linux_amd64.deb"))))
	}
	need(t, "rpm")
	for line := range strings.Lines(run1(t, "rpm", "-qp", "--nosignature", "--qf",
		`[%{FILEMODES} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]`, find(t, "linux_amd64.rpm"))) {
		var mode fs.FileMode
		var owner, name string
		if _, err := fmt.Sscan(line, &mode, &owner, &name); err != nil || owner != "root/root" {
			t.Errorf("%s: %v", line, err)
		}
		e := entry{name: strings.TrimPrefix(name, "/"), mode: mode & fs.ModePerm}
		if mode&0o40000 != 0 {
			e.mode |= fs.ModeDir
		}
		archives["rpm"] = append(archives["rpm"], e)
	}

	for archive, entries := range archives {
		if len(entries) < 15 {
			t.Errorf("%s has %d entries", archive, len(entries))
		}
		programs := 0
		for _, e := range entries {
			want := entry{name: e.name, mode: 0o644}
			switch name := path.Base(e.name); {
			case e.name == "home/till":
				want = entry{e.name, fs.ModeDir | 0o775, 65532, 0}
			case e.name == "tmp":
				want.mode = fs.ModeDir | fs.ModeSticky | 0o777
			case e.mode.IsDir():
				want.mode = fs.ModeDir | 0o755
			case name == ".PKGINFO": // of apk, which is not installed
				continue
			case archive == "source.tar.gz":
				if e.mode&0o100 != 0 {
					want.mode = 0o755
				}
				if name == "verify.sh" {
					programs++
				}
			case path.Ext(name) == ".sh" && e.mode&0o100 != 0:
				want.mode = 0o755
			case name == "till.exe", name == "till" && !strings.Contains(e.name, "completions") &&
				!strings.Contains(e.name, "overrides"):
				want.mode = 0o755
				programs++
			}
			if e != want {
				t.Errorf("%s: it has %+v, want %+v", archive, e, want)
			}
		}
		if programs != 1 {
			t.Errorf("%s has %d programs", archive, programs)
		}
	}
}

func TestBinarySaysItsCommit(t *testing.T) {
	program := write(t, filepath.Join(t.TempDir(), "till"), string(unpack(t, "linux_amd64.tar.gz")["till"]), 0o755)
	var version struct {
		Version, Commit, Committed string
		Modified                   bool
	}
	must(t, json.Unmarshal([]byte(run1(t, program, "version", "-o", "json")), &version))
	if version.Modified || len(version.Commit) != 40 || version.Committed != "2026-01-02T03:04:05Z" ||
		!strings.HasPrefix(version.Version, "v0.0.0-20260102030405-"+version.Commit[:12]) {
		t.Errorf("it says %+v", version)
	}
}

func TestEveryFileIsTheSameWhenMadeElsewhere(t *testing.T) {
	first := out(t)
	other := filepath.Join(t.TempDir(), "another folder")
	must(t, committed(other))
	second := filepath.Join(t.TempDir(), "out")
	for name, value := range map[string]string{"GOAMD64": "v3", "GOFLAGS": "-tags=other", "TZ": "Asia/Tokyo",
		"LC_ALL": "C"} {
		t.Setenv(name, value)
	}
	must(t, makeAll(newToolchain(other), second, tested()))
	if a, b := read(t, first, "SHA256SUMS"), read(t, second, "SHA256SUMS"); a != b {
		t.Errorf("the sums differ:\n%s\n%s", a, b)
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	must(t, err)
	return string(data)
}

// write writes a file, makes its directory, and returns its name.
func write(t *testing.T, name, text string, mode fs.FileMode) string {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode)))
	return name
}

// smallTree makes a repository of one module with two commits.
func smallTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sh(t, dir, `git init -q . && mkdir data && echo /ignored/ >.gitignore && echo 'package main' >main.go && echo 1 >data/one &&
git add -A && git -c user.name=till -c user.email=till@example.com commit -q -m one &&
echo 2 >data/one && git -c user.name=till -c user.email=till@example.com commit -q -a -m two && mkdir ignored`)
	return dir
}

func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, text)
	}
}

func TestTreeThatIsNoCommitIsRefused(t *testing.T) {
	for _, c := range []struct{ name, change, says string }{
		{"changed", "echo 3 >data/one", "in no commit"},
		{"new", "echo 3 >data/two", "in no commit"},
		{"changed, assumed unchanged", "git update-index --assume-unchanged data/one; echo 3 >data/one", "(h data/one)"},
		{"changed, skipped", "git update-index --skip-worktree data/one; echo 3 >data/one", "(S data/one)"},
		{"ignored Go", "echo 'package main' >ignored/a.go", "(ignored/a.go)"},
		{"ignored object", "echo 3 >ignored/a.syso", "(ignored/a.syso)"},
		{"ignored assembler", "echo 3 >ignored/a.s", "(ignored/a.s)"},
		{"shallow",
			"mv .git .full; git clone -q --depth 1 --bare file://$PWD/.full .git; git config core.bare false; rm -rf .full; " +
				"git reset -q", "git fetch --unshallow --tags"},
		{"no clone", "rm -rf .git",
			"run make dist in a clone (git rev-parse --show-toplevel --show-prefix: exit status 128: fatal: "},
		{"in another clone", "mkdir inner; mv data inner", "the directory inner/ of another repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, to := smallTree(t), filepath.Join(t.TempDir(), "to")
			sh(t, tree, c.change)
			if c.name == "in another clone" {
				tree = filepath.Join(tree, "inner")
			}
			if err := export(tree, to); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v", err)
			}
			if _, err := os.Stat(to); err == nil {
				t.Error("it was exported all the same")
			}
		})
	}
}

// TestExportIsTheCommit exports a tree with what a build must not see.
func TestExportIsTheCommit(t *testing.T) {
	tree, to := smallTree(t), filepath.Join(t.TempDir(), "to")
	sh(t, tree,
		"git tag v1.2.3; git checkout -q --detach; echo 3 >ignored/embedded; echo 'data/one export-ignore' "+
			">.git/info/attributes")
	must(t, export(tree, to))
	var files []string
	for name := range strings.Lines(run1(t, "git", "-C", to, "ls-files", "--cached", "--others")) {
		files = append(files, strings.TrimSpace(name))
	}
	if want := []string{".gitignore", "data/one", "main.go"}; !slices.Equal(files, want) ||
		read(t, to, "data/one") != "2\n" {
		t.Errorf("it has %v, want %v", files, want)
	}
	if text := run1(t, "git", "-C", to, "describe", "--tags", "--dirty"); text != "v1.2.3\n" {
		t.Errorf("it is %s", text)
	}
	if text := run1(t, "git", "-C", to, "archive", "HEAD"); !strings.Contains(text, "data/one") {
		t.Error("attributes outside the commit count")
	}
}

func TestEveryManPageAndCompletionIsInside(t *testing.T) {
	pages, err := os.ReadDir("../../man")
	if err != nil || len(pages) < 100 {
		t.Fatalf("%d man pages: %v", len(pages), err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, format := range []string{"deb", "rpm", "apk", "tar.gz"} {
			t.Run(format+" "+arch, func(t *testing.T) {
				suffix := "linux_" + arch + "." + format
				man, zipped := "usr/share/man/", ".gz"
				want := []string{"usr/share/bash-completion/completions/till", "usr/share/fish/vendor_completions.d/till.fish",
					"usr/share/zsh/site-functions/_till"}
				switch format {
				case "deb":
					want[2] = "usr/share/zsh/vendor-completions/_till"
				case "tar.gz":
					man, zipped = "man/", ""
					want = []string{"completions/till.bash", "completions/till.fish", "completions/_till"}
				}
				have := map[string]bool{}
				if format == "rpm" {
					need(t, "rpm")
					for name := range strings.FieldsSeq(run1(t, "rpm", "-qpl", "--nosignature", find(t, suffix))) {
						have[strings.TrimPrefix(name, "/")] = true
					}
				} else {
					for name := range unpack(t, suffix) {
						have[name] = true
					}
				}
				for _, page := range pages {
					want = append(want, man+"man"+page.Name()[len(page.Name())-1:]+"/"+page.Name()+zipped)
				}
				for _, name := range want {
					if !have[name] {
						t.Errorf("it has no %s", name)
					}
				}
			})
		}
	}
}

// TestPackagesSayTheirProcessorAndWhatTheyNeed reads what package managers read.
func TestPackagesSayTheirProcessorAndWhatTheyNeed(t *testing.T) {
	for arch, other := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		t.Run("deb "+arch, func(t *testing.T) {
			need(t, "dpkg-deb")
			name := find(t, "linux_"+arch+".deb")
			if text := run1(t, "dpkg-deb", "--field", name, "Architecture", "Recommends", "Depends"); text !=
				"Architecture: "+arch+"\nRecommends: ca-certificates\n" {
				t.Errorf("it says %s", text)
			}
			if text := unpack(t, "linux_"+arch+".deb")["usr/share/lintian/overrides/till"]; !bytes.Contains(text,
				[]byte("\ntill: statically-linked-binary [usr/bin/till]\n")) {
				t.Errorf("lintian reads %s", text)
			}
		})
		t.Run("rpm "+arch, func(t *testing.T) {
			need(t, "rpm")
			const form = `%{arch}|%{summary}|%{group}|[%{recommends}]|[%{requires},]|[%{changelogtime} %{changelogname} ` +
				`%{changelogtext}]|%{version}|%{license}|%{buildhost}`
			text := run1(t, "rpm", "-qp", "--nosignature", "--qf", form, find(t, "linux_"+arch+".rpm"))
			field := strings.Split(text, "|")
			if len(field) != 9 || !slices.Equal(field[:4],
				[]string{other, "command line of a merchant payment service", "Applications/Internet", "ca-certificates"}) ||
				strings.Contains(strings.ReplaceAll(field[4], "rpmlib(", ""), "(") ||
				field[5] != "1767323045 the till authors <till@example.com> - 0.0.0~git20260102030405-1 - Release. What is new "+
					"is in CHANGELOG.md." ||
				!slices.Equal(field[6:], []string{"0.0.0~git20260102030405", programLicence(t), "localhost"}) {
				t.Errorf("it says %s", text)
			}
		})
		t.Run("apk "+arch, func(t *testing.T) {
			files := unpack(t, "linux_"+arch+".apk")
			for _, want := range []string{"arch = " + other, "depend = ca-certificates-bundle",
				"pkgver = 0.0.0_alpha20260102030405-r0", "license = " + programLicence(t)} {
				if !strings.Contains(string(files[".PKGINFO"]), "\n"+want+"\n") {
					t.Errorf("it does not say %s:\n%s", want, files[".PKGINFO"])
				}
			}
			if len(files["usr/share/licenses/till/LICENSE"]) == 0 {
				t.Error("it has no licence")
			}
		})
	}
}

// TestEveryCopyHasTheNotices compares the licences of others in the packages and the image with those in an
// archive.
func TestEveryCopyHasTheNotices(t *testing.T) {
	want := unpack(t, "linux_amd64.tar.gz")["THIRD_PARTY_NOTICES"]
	image := tarFiles(t, gunzipped(t, imageLayer(t, "arm64")))["usr/share/doc/till/THIRD_PARTY_NOTICES"]
	also, ok := bytes.CutPrefix(image, want)
	if !ok || !bytes.HasPrefix(also, []byte("\n---")) {
		t.Error("the notices in the image do not begin with those of the program")
	}
	for _, want := range []string{"\ngolang.org/x/crypto/x509roots/fallback v0.", " (MPL-2.0, BSD-3-Clause)\n",
		"certdata.txt", "Neither the name of Google"} {
		if !bytes.Contains(also, []byte(want)) {
			t.Errorf("the notices in the image lack %q: %s", want, also)
		}
	}
	if !bytes.Equal(unpack(t, "linux_arm64.apk")["usr/share/licenses/till/THIRD_PARTY_NOTICES"], want) {
		t.Error("the apk has others")
	}
	if source, _ := unpackSource(t); read(t, source, "THIRD_PARTY_NOTICES") != string(want) {
		t.Error("the source archive has others")
	}
	deb := unpack(t, "linux_arm64.deb")["usr/share/doc/till/THIRD_PARTY_NOTICES.gz"]
	if text, err := io.ReadAll(gunzipped(t, string(deb))); err != nil || !bytes.Equal(text, want) {
		t.Errorf("the deb has others: %v", err)
	}
}

// TestDebInstallsAndLeavesNoTrace installs the package into an empty root directory, uses what it has
// installed, and removes it.
func TestDebInstallsAndLeavesNoTrace(t *testing.T) {
	need(t, "root", "dpkg", "man")
	root := t.TempDir()
	sh(t, root, "mkdir -p var/lib/dpkg/updates; touch var/lib/dpkg/status var/lib/dpkg/available")
	before := tree(t, root)
	dpkg := func(args ...string) string {
		return run1(t, "dpkg",
			append([]string{"--root=" + root, "--force-not-root", "--log=/dev/null", "--force-script-chrootless"}, args...)...)
	}
	dpkg("--install", find(t, "linux_amd64.deb"))

	if text := run1(t, filepath.Join(root, "usr/bin/till"), "version"); !strings.HasPrefix(text, "till v0.0.0-") {
		t.Errorf("till version prints %q", text)
	}
	if status := dpkg("--status", "till"); !strings.Contains(status, "Status: install ok installed") ||
		!strings.Contains(status, "Version: 0.0.0~git20260102030405-1\n") {
		t.Errorf("the package is %s", status)
	}
	for name, want := range map[string]string{"till": "till-withdraw", "till-exit-codes": "tens digit"} {
		page := run1(t, "man", "-M", filepath.Join(root, "usr/share/man"), name)
		if !strings.Contains(strings.ReplaceAll(page, "‐", "-"), want) {
			t.Errorf("man %s has no %q:\n%s", name, want, page)
		}
	}
	dpkg("--purge", "till")
	if after := tree(t, root); !slices.Equal(before, after) {
		t.Errorf("it left %v, and there was %v", after, before)
	}
}

// tree returns the files below a directory, without the package manager's own records.
func tree(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if name == filepath.Join(root, "var/lib/dpkg") || name == filepath.Join(root, "var/lib/rpm") {
			return fs.SkipDir
		}
		names = append(names, strings.TrimPrefix(name, root))
		return err
	})
	must(t, err)
	return names
}

func TestVersionsSortAsReleasesDo(t *testing.T) {
	for _, c := range []struct{ version, deb, apk string }{
		{"1.2.3", "1.2.3", "1.2.3"},
		{"1.2.3-rc.1", "1.2.3~rc.1", "1.2.3_rc1"},
		{"1.2.3-rc.10", "1.2.3~rc.10", "1.2.3_rc10"},
		{"0.0.0-20260102030405-0123456789ab", "0.0.0~git20260102030405", "0.0.0_alpha20260102030405"},
		{"1.2.4-0.20260102030405-0123456789ab", "1.2.4~git20260102030405", "1.2.4_alpha20260102030405"},
		{"1.2.3-rc.1.0.20260102030405-0123456789ab", "1.2.3~rc.1.git20260102030405", "1.2.3_rc1_git20260102030405"},
		{"1.2.3-dev.1", "1.2.3~dev.1", ""},
	} {
		var deb, apk nfpm.Info
		if err := setVersion(&deb, c.version, "deb"); err != nil {
			t.Error(err)
		}
		got := deb.Version
		if deb.Prerelease != "" {
			got += "~" + deb.Prerelease
		}
		if got != c.deb {
			t.Errorf("deb: %s becomes %s, want %s", c.version, got, c.deb)
		}
		if err := setVersion(&apk, c.version, "apk"); (err == nil) != (c.apk != "") || err == nil && apk.Version != c.apk {
			t.Errorf("apk: %s becomes %s, %v, want %s", c.version, apk.Version, err, c.apk)
		}
	}
}

// materials returns the bill of materials.
func materials(t *testing.T) *cyclonedx.BOM {
	t.Helper()
	bom := cyclonedx.NewBOM()
	must(t, cyclonedx.NewBOMDecoder(strings.NewReader(read(t, find(t, "sbom.cdx.json"))),
		cyclonedx.BOMFileFormatJSON).Decode(bom))
	return bom
}

// programLicence returns the licences of all that the bill of materials has, as an SPDX expression.
func programLicence(t *testing.T) string {
	t.Helper()
	bom := materials(t)
	all := map[string]bool{}
	for _, c := range append(*bom.Components, *bom.Metadata.Component) {
		if c.Name == authorities {
			continue // in the image only
		}
		for _, choice := range *c.Licenses {
			all[choice.License.ID] = true
		}
	}
	if !all["MIT"] || !all["BSD-3-Clause"] {
		t.Errorf("the licences are %v", all)
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " AND ")
}

func TestRpmHasTheFiles(t *testing.T) {
	need(t, "rpm")
	marks := map[string]string{} // d: a document, l: a licence
	for line := range strings.Lines(run1(t, "rpm", "-qp", "--nosignature", "--qf", `[%{FILENAMES} %{FILEFLAGS:fflags}\n]`,
		find(t, "linux_amd64.rpm"))) {
		file, mark, _ := strings.Cut(strings.TrimSpace(line), " ")
		marks[file] = mark
	}
	for file, want := range map[string]string{"/usr/bin/till": "", "/usr/share/zsh/site-functions/_till": "",
		"/usr/share/man/man7/till-money.7.gz": "d", "/usr/share/doc/till/README.md": "d",
		"/usr/share/doc/till/AGENTS.md":          "d",
		"/usr/share/doc/till/docs/paying.md":     "d",
		"/usr/share/doc/till/examples/payout.sh": "d", "/usr/share/doc/till/examples/shop": "",
		"/usr/share/licenses/till/LICENSE": "l", "/usr/share/licenses/till/THIRD_PARTY_NOTICES": "l"} {
		if mark, ok := marks[file]; !ok || mark != want {
			t.Errorf("%s: it is there: %t, and marked %q, want %q", file, ok, mark, want)
		}
	}
}

// TestRpmInstallsAndLeavesNoTrace installs the package into an empty root directory and removes it.
func TestRpmInstallsAndLeavesNoTrace(t *testing.T) {
	need(t, "root", "rpm")
	root := t.TempDir()
	rpm := func(args ...string) {
		run1(t, "rpm", append([]string{"--root=" + root, "--dbpath=/var/lib/rpm"}, args...)...)
	}
	rpm("--initdb")
	before := tree(t, root)
	rpm("--install", "--nosignature", "--nodeps", find(t, "linux_amd64.rpm"))
	if text := run1(t, filepath.Join(root, "usr/bin/till"), "version"); !strings.HasPrefix(text, "till v0.0.0-") {
		t.Errorf("till version prints %q", text)
	}
	rpm("--erase", "till")
	for _, name := range tree(t, root) {
		info, err := os.Lstat(filepath.Join(root, name))
		if !slices.Contains(before, name) && (err != nil || !info.IsDir() || strings.Contains(name, "till")) {
			t.Errorf("it left %s", name)
		}
	}
}

// TestDebSaysWhatItIs reads what the package says about itself.
func TestDebSaysWhatItIs(t *testing.T) {
	need(t, "dpkg-deb")
	dir := t.TempDir()
	run1(t, "dpkg-deb", "--raw-extract", find(t, "linux_amd64.deb"), dir)
	if text, err := os.ReadFile(filepath.Join(dir, "DEBIAN/conffiles")); err == nil {
		t.Errorf("it has configuration files: %q", text)
	}
	for line := range strings.Lines(read(t, dir, "DEBIAN/control")) {
		if len(line) > 80 || strings.HasPrefix(line, "License:") {
			t.Errorf("Debian has no such line: %s", line)
		}
	}
	docs := filepath.Join(dir, "usr/share/doc/till")
	if text := read(t, docs, "copyright"); !strings.HasPrefix(text, "MIT License\n") ||
		!strings.Contains(text, "/usr/share/doc/till/THIRD_PARTY_NOTICES.gz") {
		t.Errorf("copyright is\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(docs, "THIRD_PARTY_NOTICES.gz")); err != nil {
		t.Error(err)
	}
	changes, err := io.ReadAll(gunzip(t, filepath.Join(docs, "changelog.Debian.gz")))
	must(t, err)
	const form = `^till \(0\.0\.0~git20260102030405-1\) unstable; urgency=medium\n\n  \* .+\n\n -- .+ <.+@.+>  Fri, 02 ` +
		`Jan 2026 03:04:05 \+0000\n$`
	if !regexp.MustCompile(form).Match(changes) {
		t.Errorf("changelog.Debian is\n%s", changes)
	}
}

// imageLayer returns the only layer of the image for a processor, as an older Docker finds it.
func imageLayer(t *testing.T, arch string) string {
	t.Helper()
	archive := tarFiles(t, strings.NewReader(read(t, find(t, "image.tar"))))
	var images tarball.Manifest
	if err := json.Unmarshal(archive["manifest.json"], &images); err != nil {
		t.Fatalf("%s: %v", archive["manifest.json"], err)
	}
	for _, image := range images {
		if strings.HasSuffix(image.RepoTags[0], "-"+arch) && len(image.Layers) == 1 {
			return string(archive[image.Layers[0]])
		}
	}
	t.Fatalf("manifest.json is %s", archive["manifest.json"])
	return ""
}

// TestImageIsLoaded reads the archive as an older Docker does.
func TestImageIsLoaded(t *testing.T) {
	_, version := unpackSource(t)
	for _, arch := range []string{"amd64", "arm64"} {
		tag, err := name.NewTag("till:" + version + "-" + arch)
		must(t, err)
		image, err := tarball.ImageFromPath(find(t, "image.tar"), &tag)
		must(t, err)
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
		if config, err := image.ConfigFile(); err != nil || config.Architecture != arch {
			t.Errorf("%s: it is for %v: %v", arch, config, err)
		}
	}
}

// TestImageRunsWithoutRights starts the program of the image in a namespace with nothing but the image's
// files, as the image's user.
func TestImageRunsWithoutRights(t *testing.T) {
	need(t, "root", "unshare", "chroot", "tar")
	dir := t.TempDir()
	run1(t, "tar", "-xf", find(t, "image.tar"), "-C", dir)
	whole, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	indexes, err := partial.FindIndexes(whole, func(v1.Descriptor) bool { return true })
	if err != nil || len(indexes) != 1 {
		t.Fatalf("the archive has %d indexes: %v", len(indexes), err)
	}
	images, err := partial.FindImages(indexes[0], match.Platforms(v1.Platform{OS: "linux", Architecture: "amd64"}))
	if err != nil || len(images) != 1 {
		t.Fatalf("%d images are for this machine: %v", len(images), err)
	}
	config, err := images[0].ConfigFile()
	must(t, errors.Join(err, validate.Index(whole)))
	root := t.TempDir()
	os.Chmod(filepath.Dir(root), 0o755)
	unpack := exec.Command("tar", "-xp", "--numeric-owner", "-C", root)
	unpack.Stdin = mutate.Extract(images[0])
	if text, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	user := config.Config.User
	if user == "" || user == "root" || strings.HasPrefix(user, "0") {
		t.Fatalf("the user is %q", user)
	}
	chroot, err := exec.LookPath("chroot")
	must(t, err)
	insideAs := func(user string, args ...string) (string, error) {
		cmd := exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--net", "--ipc", "--uts",
			chroot, "--userspec=" + user, root}, append(config.Config.Entrypoint, args...)...)...)
		cmd.Env = config.Config.Env
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	// As docker run --user does, and OpenShift. Nothing is there yet that the image's user has written.
	for _, other := range []struct {
		user   string
		writes bool
	}{{"1000:1000", false}, {"1000650000:0", true}} {
		if text, err := insideAs(other.user, "config", "show"); err != nil {
			t.Errorf("%s: config show: %v: %s", other.user, err, text)
		}
		text, err := insideAs(other.user, "--sandbox", "withdraw", "list", "--no-headers")
		if other.writes && err != nil || !other.writes &&
			(err == nil || !strings.Contains(text, "mkdir /home/till/.local: permission denied; name another file")) {
			t.Errorf("%s: withdraw list: %v: %s", other.user, err, text)
		}
		text, err = insideAs(other.user, "--base-url", "https://127.0.0.1:1", "journal", "list")
		if err != nil || !strings.Contains(text, "there is no journal yet at /home/till/.local/state/till/journal.db") {
			t.Errorf("%s: journal list: %v: %s", other.user, err, text)
		}
	}
	must(t, os.RemoveAll(filepath.Join(root, "home/till/.local")))
	for _, c := range []struct{ args, prints string }{
		{"version", "till v0.0.0-"},
		{"--sandbox withdraw create --currency Btc --amount-minor 5 --address a --order-id 1 --yes", ""},
		{"--sandbox withdraw list --columns order_id --no-headers", "1\n"},
		{"profile set live base_url=https://127.0.0.1:1 time_zone=Asia/Kathmandu", ""}, // it knows time zones
	} {
		if text, err := insideAs(user, strings.Fields(c.args)...); err != nil || !strings.HasPrefix(text, c.prints) {
			t.Errorf("%s: %v: %s", c.args, err, text)
		}
	}
	// Without arguments, it is the service of a test. A process that becomes another user outlives --kill-child: sh stays.
	serve := exec.Command("unshare", slices.Concat([]string{"--net", "--pid", "--fork", "--kill-child", "sh", "-c",
		`"$@"; exit`, "sh", chroot, "--userspec=" + user, root}, config.Config.Entrypoint, config.Config.Cmd)...)
	serve.Env = config.Config.Env
	out, err := serve.StdoutPipe()
	must(t, cmp.Or(err, serve.Start()))
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasSuffix(line, " http://127.0.0.1:8080\n") {
		t.Errorf("without arguments: %v: %s", err, line)
	}
	serve.Process.Kill()
	serve.Wait()
	roots := read(t, root, "etc/ssl/certs/ca-certificates.crt")
	if n := strings.Count(roots, "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("it has %d certificates", n)
	}
}

func TestEveryLinkedModuleIsNamed(t *testing.T) {
	files := unpack(t, "linux_amd64.tar.gz")
	bom := materials(t)
	sums := read(t, "../../go.sum") + read(t, "go.sum")
	var listed []string
	for _, c := range *bom.Components {
		listed = append(listed, c.Name+" "+c.Version)
		if c.Licenses == nil || len(*c.Licenses) == 0 {
			t.Errorf("%s has no licence", c.Name)
		}
		sum := ""
		if c.Properties != nil && len(*c.Properties) == 1 && (*c.Properties)[0].Name == "till:go.sum" {
			sum = (*c.Properties)[0].Value
		}
		if c.Name != "stdlib" && !strings.Contains(sums, fmt.Sprintf("%s %s %s\n", c.Name, c.Version, sum)) {
			t.Errorf("%s has the sum %q, which go.sum has not", c.Name, sum)
		}
		if c.Hashes != nil {
			t.Errorf("%s has a hash that is not of a file", c.Name)
		}
	}
	for name, want := range map[string][]string{"modernc.org/libc": {"BSD-3-Clause", "MIT"},
		authorities: {"MPL-2.0", "BSD-3-Clause"}} {
		i := slices.IndexFunc(*bom.Components, func(c cyclonedx.Component) bool { return c.Name == name })
		var got []string
		if i >= 0 {
			for _, choice := range *(*bom.Components)[i].Licenses {
				got = append(got, choice.License.ID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the licences %v, want %v", name, got, want)
		}
	}
	if tools := bom.Metadata.Tools; tools == nil || len(*tools.Components) != 2 ||
		(*tools.Components)[1].Version != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("it was made with %v", tools)
	}
	if !bytes.Contains(files["THIRD_PARTY_NOTICES"], []byte("Treglia")) {
		t.Error("the notices lack the licence of a package within a module")
	}
	linux := linkedModules(t, files["till"])
	if len(linux) < 20 {
		t.Errorf("%d modules are linked", len(linux))
	}
	for archive, program := range map[string]string{"linux_amd64.tar.gz": "till", "darwin_arm64.tar.gz": "till",
		"windows_amd64.zip": "till.exe"} {
		elsewhere := 0
		for _, name := range linkedModules(t, unpack(t, archive)[program]) {
			if !slices.Contains(linux, name) {
				elsewhere++
			}
			if !slices.Contains(listed, name) {
				t.Errorf("%s: the bill of materials has no %s", archive, name)
			}
			if !bytes.Contains(files["THIRD_PARTY_NOTICES"], []byte("\n"+name+" (")) {
				t.Errorf("%s: the notices have no %s", archive, name)
			}
		}
		if archive != "linux_amd64.tar.gz" && elsewhere == 0 {
			t.Errorf("%s has no module that Linux has not, so this test shows nothing", archive)
		}
	}
}

func TestUnknownLicenceIsRefused(t *testing.T) {
	mit := read(t, "../../LICENSE")
	apache := read(t, strings.TrimSpace(run1(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/spf13/cobra")),
		"LICENSE.txt")
	const gpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU " +
		"General Public License as published by the Free Software Foundation, either version 3 of the License, or (at " +
		"your option) any later version."
	const unknown = "is not a licence that is known"
	for _, c := range []struct {
		name, licence string
		other, text   string // another file
		kind, says    string // how it is accepted, or refused
	}{
		{name: "MIT", licence: mit, kind: "MIT"},
		{name: "Apache", licence: apache, kind: "Apache-2.0"},
		{name: "unknown", licence: "You may look at this, and no more.", says: unknown},
		{name: "GPL", other: "COPYING", text: gpl, says: "has the licence GPL"},
		{name: "MIT with a clause", says: unknown,
			licence: mit + strings.Repeat("You may not sell this to anybody who would sell it to somebody else. ", 20)},
		{name: "directory", licence: mit, other: "LICENSES/GPL", text: gpl, says: "has a directory LICENSES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fstest.MapFS{}
			for name, text := range map[string]string{"LICENSE": c.licence, c.other: c.text} {
				if text != "" {
					dir[name] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			n := notice{Path: "example.com/m"}
			err := n.read(dir)
			if c.says == "" && (err != nil || !slices.Equal(n.Kinds, []string{c.kind})) {
				t.Errorf("it has %v: %v", n.Kinds, err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("it was taken for %v: %v", n.Kinds, err)
			}
		})
	}
}

func TestManPagesAreUpToDate(t *testing.T) {
	pages := manPages()
	entries, err := os.ReadDir("../../man")
	must(t, err)
	if len(entries) != len(pages) {
		t.Errorf("man has %d files, and there are %d pages: run make man", len(entries), len(pages))
	}
	for name, page := range pages {
		if read(t, "../../man", name) != string(page) {
			t.Errorf("man/%s is not what the help says: run make man", name)
		}
	}
}

// TestManPagesOnATerminal shows each page as man does on a terminal of 80 columns: without warnings, with
// nothing cut off, and with every word of the help.
func TestManPagesOnATerminal(t *testing.T) {
	need(t, "man", "groff")
	dir := t.TempDir()
	writeMan(dir)
	commands := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		topic := cmd.IsAdditionalHelpTopicCommand()
		if !topic && !cmd.IsAvailableCommand() && cmd.HasParent() {
			return
		}
		commands++
		section := ".1"
		if topic {
			section = ".7"
		}
		name := pageName(cmd) + section
		page := rendered(t, filepath.Join(dir, name))
		for line := range strings.Lines(page) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s has a line of %d columns: %s", name, n, line)
			}
		}
		words := strings.Join(strings.Fields(page), " ")
		wanted := []string{cmd.Short}
		if topic {
			var help bytes.Buffer
			cmd.SetOut(&help)
			must(t, cmd.Help())
			wanted = strings.Split(help.String(), "\n")
		} else {
			wanted = append(append(wanted, cmd.Long), strings.Split(cmd.Example, "\n")...)
			if cmd.HasParent() {
				wanted = append(wanted, pageName(cmd.Parent())+"(1)", "till-flags(7)")
				cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
					value, usage := pflag.UnquoteUsage(f)
					if !f.Hidden {
						wanted = append(wanted, strings.TrimSpace("--"+f.Name+" "+value), usage)
					}
				})
			}
			for _, child := range cmd.Commands() {
				if child.IsAvailableCommand() {
					wanted = append(wanted, child.Name()+" "+child.Short, pageName(child)+"(1)")
				}
			}
		}
		for _, want := range wanted {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	walk(cli.Tree())
	if commands < 100 {
		t.Errorf("there are %d pages", commands)
	}
}

// rendered returns a man page as it looks on a terminal.
func rendered(t *testing.T, page string) string {
	t.Helper()
	cmd := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", page)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MAN_KEEP_FORMATTING=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Errorf("%s: %v: %s", path.Base(page), err, stderr.Bytes())
	}
	return stdout.String()
}

// TestVerifyScript checks downloads with examples/verify.sh.
func TestVerifyScript(t *testing.T) {
	need(t, "ssh-keygen")
	script, err := filepath.Abs("../../examples/verify.sh")
	must(t, err)
	release, keys := newKey(t), t.TempDir()
	key := read(t, release+".pub")
	fingerprint := strings.Fields(run1(t, "ssh-keygen", "-l", "-f", release+".pub"))[1]
	for name, text := range map[string]string{
		"release":   `release@example.com namespaces="till-release" ` + key,
		"stranger":  `stranger@example.com namespaces="till-release" ` + read(t, newKey(t)+".pub"),
		"developer": `developer@example.com namespaces="git" ` + key + `release@example.com namespaces="till-release" ` + key,
		"any":       `* namespaces="till-release" ` + key,
		"expired":   `release@example.com namespaces="till-release",valid-before="20200101" ` + key,
	} {
		write(t, filepath.Join(keys, name+".signers"), text, 0o644)
	}
	// A shell that looks for directories elsewhere must not make it look at other files.
	elsewhere := t.TempDir()
	t.Setenv("CDPATH", elsewhere)
	archive := find(t, "linux_amd64.tar.gz")
	in := strings.NewReplacer("NAME", filepath.Base(archive), "SCRIPT", script, "KEYS", keys, "RELEASE", release)
	const other = "is not the signature of SHA256SUMS"
	const one = "1 file is what "
	for _, c := range []struct {
		name, change string // the change is made by a shell in the directory of the downloads
		signer, says string
		accepted     bool
	}{
		{"as it is", "", "release", one + "release@example.com released", true},
		{"without signers", "", "", "1 file has the right sum; ", true},
		{"a key that has another use too", "", "developer", one, true},
		{"a key of any person", "", "any", one + "the key " + fingerprint + " released", true},
		{"another byte", "echo >>NAME", "release", "is not what was released", false},
		{"another byte of the sums", "echo >>SHA256SUMS", "release", other, false},
		{"another signer", "", "stranger", other, false},
		{"an expired key", "", "expired", other, false},
		{"another namespace", "rm SHA256SUMS.sig; ssh-keygen -q -Y sign -n file -f RELEASE SHA256SUMS", "release", other,
			false},
		{"no signature", "rm SHA256SUMS.sig", "release", "are not signed", false},
		{"no sums", "rm SHA256SUMS", "release", "there is no SHA256SUMS", false},
		{"nothing but the sums", "rm NAME", "release", "there is no file", false},
		{"another file", "echo >more", "release", "more is not what was released", false},
		{"a hidden file", "echo >.more", "release", "more is not what was released", false},
		{"a link to another file", "ln -s SCRIPT more", "release", "more is a link", false},
		{"a link to the sums", "mv SHA256SUMS KEYS/SUMS; ln -s KEYS/SUMS SHA256SUMS", "release", "SHA256SUMS is a link", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{archive, filepath.Join(out(t), "SHA256SUMS")} {
				write(t, filepath.Join(dir, filepath.Base(name)), read(t, name), 0o644)
			}
			must(t, sign(dir, release))
			sh(t, dir, in.Replace(c.change))
			must(t, os.MkdirAll(filepath.Join(elsewhere, filepath.Base(dir)), 0o755))
			args := []string{script, filepath.Base(dir)}
			if c.signer != "" {
				args = append(args, filepath.Join(keys, c.signer+".signers"))
			}
			cmd := exec.Command("sh", args...)
			cmd.Dir = filepath.Dir(dir)
			text, err := cmd.CombinedOutput()
			if (err == nil) != c.accepted || !strings.Contains(string(text), c.says) ||
				c.accepted && !strings.HasPrefix(string(text), c.says) {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

func sign(dir, key string) error {
	text, err := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", "till-release", "-f", key,
		filepath.Join(dir, "SHA256SUMS")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
