package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// unpackSource writes the files of the source archive to a directory, and returns it and the version in its
// name.
func unpackSource(t *testing.T) (dir, version string) {
	t.Helper()
	archive := find(t, "-source.tar.gz")
	dir = t.TempDir()
	run1(t, "tar", "-xzf", archive, "-C", dir, "--strip-components=1")
	version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "till-"), "-source.tar.gz")
	return dir, version
}

func TestSourceArchiveHasTheCommit(t *testing.T) {
	dir, version := unpackSource(t)
	repository := filepath.Join(out(t), "../tree")
	// What the archive has is compared with the commit as git compares a working tree: names, contents and modes.
	status := run1(t, "git", "-c", "core.fileMode=true", "--git-dir="+repository+"/.git", "--work-tree="+dir, "status",
		"--porcelain", "--untracked-files=all", "--ignored", "--no-renames")
	if want := "?? COMMIT\n?? THIRD_PARTY_NOTICES\n?? VERSION\n"; status != want {
		t.Errorf("the archive and the commit differ by\n%sand not by\n%s", status, want)
	}
	if text := read(t, dir, "VERSION"); text != version+"\n" {
		t.Errorf("VERSION is %q, and the version in its name %q", text, version)
	}
	commit := strings.TrimSpace(run1(t, "git", "-C", repository, "rev-parse", "HEAD"))
	if text := read(t, dir, "COMMIT"); text != commit+" 2026-01-02T03:04:05Z\n" {
		t.Errorf("COMMIT is %q, and the commit %s", text, commit)
	}
}

// TestInstallFromSource builds and installs from the source archive, and removes what it has installed.
func TestInstallFromSource(t *testing.T) {
	need(t, "make")
	dir, version := unpackSource(t)
	root := filepath.Join(t.TempDir(), "somebody's root")
	install := func(target string) (string, error) {
		text, err := exec.Command("make", "-C", dir, target, "GO=false", "DESTDIR="+root, "PREFIX=/usr").CombinedOutput()
		return string(text), err
	}
	if text, err := install("install"); err == nil ||
		!strings.Contains(text, "there is no bin/till: run make build first") {
		t.Errorf("it installed what is not there: %s", text)
	}

	run1(t, "make", "-C", dir, "build")
	want12 := version[len(version)-12:] // the commit, because there is no tag
	if text := run1(t, filepath.Join(dir, "bin/till"), "version"); !strings.HasPrefix(text,
		"till v"+version+" ("+want12+", 2026-01-02, go") {
		t.Errorf("it says %q, and is %s", text, version)
	}
	if text, err := install("install"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := map[string]fs.FileMode{"/usr/bin/till": 0o755}
	for _, name := range []string{"bash-completion/completions/till", "zsh/site-functions/_till",
		"fish/vendor_completions.d/till.fish", "licenses/till/LICENSE", "licenses/till/THIRD_PARTY_NOTICES"} {
		want["/usr/share/"+name] = 0o644
	}
	pages, err := os.ReadDir(filepath.Join(dir, "man"))
	if err != nil || len(pages) < 100 {
		t.Fatalf("%d man pages: %v", len(pages), err)
	}
	for _, page := range pages {
		want["/usr/share/man/man"+page.Name()[len(page.Name())-1:]+"/"+page.Name()] = 0o644
	}
	for _, name := range tree(t, root) {
		info, err := os.Lstat(filepath.Join(root, name))
		must(t, err)
		switch mode, known := want[name]; {
		case info.IsDir():
		case !known:
			t.Errorf("it installed %s too", name)
		case info.Mode() != mode:
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("it did not install %v", want)
	}

	if text, err := install("uninstall"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, name := range tree(t, root) {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.IsDir() || filepath.Base(name) == "till" {
			t.Errorf("it left %s", name)
		}
	}
}

// release returns a directory with what was made and a signature, and the line of the key for
// ALLOWED_SIGNERS.
func release(t *testing.T) (dir, signer string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(out(t))))
	key := newKey(t)
	must(t, sign(dir, key))
	return dir, read(t, key+".pub")
}

func newKey(t *testing.T) string {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	run1(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", key)
	return key
}

// TestInstallPage runs the commands of docs/install.md. Those that it does not run have a reason here.
func TestInstallPage(t *testing.T) {
	need(t, "make", "ssh-keygen", "sha256sum")
	page := read(t, "../../docs/install.md")
	source, version := unpackSource(t)
	downloads, key := release(t)
	const changes, noDocker = "it changes this machine", "there is no Docker here"
	unrun := map[string]string{
		"sudo apt install ./till_VERSION_linux_amd64.deb":                    changes + ": TestDebInstallsAndLeavesNoTrace",
		"sudo dnf install ./till_VERSION_linux_amd64.rpm":                    changes + ": TestRpmInstallsAndLeavesNoTrace",
		"sudo apk add --allow-untrusted ./till_VERSION_linux_amd64.apk":      changes + ": TestPackagesSayTheirProcessorAndWhatTheyNeed",
		"sudo install -d /usr/local/bin":                                     changes,
		"sudo install till_VERSION_darwin_arm64/till /usr/local/bin/":        changes,
		"docker load --input till_VERSION_image.tar":                         noDocker + ": TestImageIsLoaded",
		"docker run --rm till:VERSION --sandbox withdraw list":               noDocker + ": TestImageRunsWithoutRights",
		"docker run --rm --volume till:/home/till till:VERSION journal list": noDocker,
		`make dist SIGN="$HOME/.ssh/release_ed25519"`:                        "it takes minutes: TestDistIsSigned",
		"sudo apt remove till":                                               changes,
	}
	// The line of a key, as the page shows it.
	line := regexp.MustCompile(`(?m)^.*ssh-ed25519 AAAA\.\.\.$`).FindString(page)
	signers := write(t, filepath.Join(t.TempDir(), "signers"), strings.Replace(line, "ssh-ed25519 AAAA...", key, 1), 0o644)
	home := t.TempDir()
	names := strings.NewReplacer("VERSION", version, "ALLOWED_SIGNERS", signers, "DIRECTORY", downloads)
	ran := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		for command := range strings.Lines(block[1]) {
			command = strings.TrimSpace(command)
			if unrun[command] != "" {
				delete(unrun, command)
				continue
			}
			cmd := exec.Command("sh", "-ec", names.Replace(command))
			cmd.Dir = downloads
			if strings.HasPrefix(command, "make ") {
				cmd.Dir = source
			}
			cmd.Env = append(os.Environ(), "HOME="+home, "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOCACHE="+goEnv(t, "GOCACHE"))
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", command, err, text)
			}
			ran++
			if command == `make install PREFIX="$HOME/.local"` {
				run1(t, filepath.Join(home, ".local/bin/till"), "version")
			}
			if strings.HasPrefix(command, "tar ") { // verify.sh wants nothing but the download
				os.RemoveAll(filepath.Join(downloads, strings.TrimSuffix(filepath.Base(find(t, "darwin_arm64.tar.gz")), ".tar.gz")))
			}
		}
	}
	if ran < 7 || len(unrun) > 0 {
		t.Errorf("%d commands were run, and the page has no %v", ran, unrun)
	}
	if !strings.Contains(page, "Go "+strings.TrimPrefix(goVersion, "go")+" ") {
		t.Errorf("the page does not say that a release takes %s", goVersion)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(run1(t, "go", "env", name))
}

// TestDistIsSigned runs make dist with a program in place of Go that makes one file and its sum.
func TestDistIsSigned(t *testing.T) {
	need(t, "make", "ssh-keygen", "sha256sum")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Makefile"), read(t, "../../Makefile"), 0o644)
	maker := write(t, filepath.Join(dir, "tools/dist/maker"), `#!/bin/sh
set -e
[ "$1 $2" = "run ." ]
mkdir "$3"
cd "$3"
echo new >file
sha256sum file >SHA256SUMS
`, 0o755)
	makeDist := func(key string) (string, error) {
		text, err := exec.Command("make", "-C", dir, "dist", "GO="+maker, "SIGN="+key).CombinedOutput()
		return string(text), err
	}
	dist := filepath.Join(dir, "dist")
	must(t, os.Mkdir(dist, 0o755))
	if text, err := makeDist(filepath.Join(dir, "no key")); err == nil {
		t.Errorf("it signed without a key: %s", text)
	}
	if _, err := os.Stat(dist); err != nil {
		t.Errorf("what was made before is gone: %v", err)
	}
	key := newKey(t)
	if text, err := makeDist(key); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	signers := write(t, filepath.Join(t.TempDir(), "signers"),
		`release@example.com namespaces="till-release" `+read(t, key+".pub"), 0o644)
	if text := run1(t, "sh", "../../examples/verify.sh", dist,
		signers); text != "1 file is what release@example.com released\n" {
		t.Errorf("verify.sh says %q", text)
	}
}

func TestOtherGoIsRefused(t *testing.T) {
	if err := (toolchain{version: goVersion}).check(); err != nil {
		t.Error(err)
	}
	path := t.TempDir()
	write(t, filepath.Join(path, "go"), "#!/bin/sh\necho '{\"GOVERSION\":\"go1.20\"}'\n", 0o755)
	t.Setenv("PATH", path)
	to := filepath.Join(t.TempDir(), "out")
	says := "a release is made with " + goVersion + ", and this is go1.20: run GOTOOLCHAIN=" + goVersion + " make dist"
	if err := run([]string{to}); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("it began")
	}
}

// TestLicenceOfGo compares the copy with Go's own, which distributions keep elsewhere.
func TestLicenceOfGo(t *testing.T) {
	for _, name := range []string{"LICENSE", "PATENTS"} {
		text, err := os.ReadFile(filepath.Join(goEnv(t, "GOROOT"), name))
		if err != nil && os.Getenv("TILL_NEEDS_TOOLS") != "" {
			t.Fatal(err)
		}
		if err != nil {
			t.Skip(err)
		}
		if string(text) != read(t, "golang", name) {
			t.Errorf("golang/%s is not the one of this Go: copy it", name)
		}
	}
}

func TestNoBinaryFileIsTracked(t *testing.T) {
	files := strings.Split(strings.TrimSuffix(run1(t, "git", "-C", "../..", "ls-files", "-z"), "\x00"), "\x00")
	if len(files) < 500 {
		t.Fatalf("git has %d files", len(files))
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed, and not committed
		}
		must(t, err)
		picture := strings.HasPrefix(name, "docs/pictures/") && strings.HasSuffix(name, ".png")
		// Users have such files: workbooks, and text in other encodings.
		if strings.HasPrefix(name, "pkg/payout/sheet/testdata/") || name == "examples/freelancers.csv" ||
			name == "internal/cli/testdata/script/hostile.txtar" {
			continue
		}
		binary := bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
		if binary != picture {
			t.Errorf("%s: a binary file: %t, a picture: %t", name, binary, picture)
		}
	}
}

// TestPagesLinkToWhatIsThere follows the links of the pages in an archive and in packages.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	for suffix, dir := range map[string]string{"linux_amd64.tar.gz": "", "windows_amd64.zip": "",
		"linux_amd64.apk": "usr/share/doc/till/", "linux_amd64.deb": "usr/share/doc/till/"} {
		t.Run(suffix, func(t *testing.T) {
			files := unpack(t, suffix)
			have := map[string]bool{} // directories, too
			for name := range files {
				for ; name != "."; name = path.Dir(name) {
					have[name] = true
				}
			}
			links := 0
			for name, page := range files {
				if path.Ext(name) != ".md" || path.Base(name) == "CHANGELOG.md" {
					continue
				}
				for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllSubmatch(page, -1) {
					target, _, _ := strings.Cut(string(m[1]), "#")
					if target == "" || strings.Contains(target, ":") {
						continue
					}
					if links++; !have[path.Join(path.Dir(name), target)] {
						t.Errorf("%s links to %s, which is not there", name, target)
					}
				}
			}
			if links < 60 {
				t.Errorf("there are %d links", links)
			}
			if text := files[dir+"README.md"]; !bytes.Contains(text, []byte("[Guarantees](docs/guarantees.md)")) ||
				!bytes.Contains(text, []byte("MIT licence")) || bytes.Contains(text, []byte("pictures")) {
				t.Errorf("README.md is\n%s", text)
			}
		})
	}
}

// linkedModules returns the modules that a binary says it is made of.
func linkedModules(t *testing.T, binary []byte) (modules []string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(binary))
	must(t, err)
	for _, m := range info.Deps {
		modules = append(modules, fmt.Sprintf("%s %s", m.Path, m.Version))
	}
	return modules
}
